/*
 * fuzz_tokenizer.c - random text through the Qwen2.5 vocabulary: decode(encode(x)) is NFC(x), whatever x is.
 *
 *   fuzz_tokenizer [COUNT [SEED]]       run from the root of the repository
 *
 * Texts are weighted to the scripts people write, with marks, spaces, emoji, unassigned code points, spelled control
 * tokens and, one time in five, bytes that are no UTF-8.
 */
#include "../../engine/tokenizer.h"
#include "../../engine/utf8.h"
#include "fuzz.h"

#include <uninorm.h>

#define VOCABULARY "tests/golden/qwen2.5-vocab.gguf"
#define MAX_TEXT 4096

static const struct {
    uint32_t first, last;
    int weight;
} scripts[] = {
    {0x20, 0x7E, 30},       {0xA0, 0x24F, 8},      {0x300, 0x36F, 6},     {0x370, 0x3FF, 3},   {0x400, 0x4FF, 6},
    {0x590, 0x6FF, 6},      {0x900, 0xDFF, 6},     {0xE00, 0xEFF, 4},     {0x1100, 0x11FF, 4}, {0x1E00, 0x1FFF, 3},
    {0x2000, 0x2BFF, 5},    {0x3000, 0x30FF, 6},   {0x4E00, 0x9FFF, 12},  {0xAC00, 0xD7A3, 6}, {0xF900, 0xFAFF, 2},
    {0xFB00, 0xFFFD, 3},    {0x1F000, 0x1FAFF, 6}, {0x20000, 0x323AF, 2}, {0, 0x1F, 3},        {0x10000, 0x1FFFF, 3},
    {0x40000, 0x10FFFF, 1}, {0, 0x10FFFF, 4},
};
static const char *const phrases[] = {"'s",          "'LL",  "\r\n", "\n\n",          "   ",
                                      "\t",          "the ", " and", "<|im_start|>",  "<|endoftext|>",
                                      "<tool_call>", "1234", "你好", "e\u0301\u0327", "\u1100\u1161\u11A8",
                                      "\u00A0"};

static uint32_t random_character(void)
{
    int total = 0;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        total += scripts[i].weight;
    int pick = (int)fuzz_below((size_t)total);
    size_t i = 0;
    while (pick >= scripts[i].weight)
        pick -= scripts[i++].weight;
    uint32_t cp = scripts[i].first + (uint32_t)fuzz_below(scripts[i].last - scripts[i].first + 1);
    return cp >= 0xD800 && cp <= 0xDFFF ? 'x' : cp;
}

static size_t random_text(char *out)
{
    /* Mostly short, as a test should be; sometimes one character over and over, for the long way through a word. */
    size_t n = 0, want = fuzz_below(50) ? fuzz_below(60) : fuzz_below(MAX_TEXT - 32);
    bool same = fuzz_below(40) == 0, bytes = fuzz_below(5) == 0;
    uint32_t cp = random_character();
    while (n < want) {
        if (!same && fuzz_below(6) == 0) {
            const char *phrase = phrases[fuzz_below(sizeof phrases / sizeof *phrases)];
            memcpy(out + n, phrase, strlen(phrase));
            n += strlen(phrase);
        } else if (bytes && fuzz_below(3) == 0) {
            out[n++] = (char)fuzz_random();
        } else {
            n += utf8_encode(same ? cp : (cp = random_character()), out + n);
        }
    }
    return n;
}

static void complain(unsigned long input, const char *what, const char *text, size_t n)
{
    fprintf(stderr, "input %lu: %s:", input, what);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, " %02x", (unsigned char)text[i]);
    fprintf(stderr, "\n");
    exit(1);
}

/* NFC of the text with its invalid bytes replaced: what must come back. */
static char *expected(const char *text, size_t n, size_t *out_n)
{
    size_t repaired_n;
    char *repaired = utf8_repair(text, n, &repaired_n);
    char *normal = (char *)u8_normalize(UNINORM_NFC, (uint8_t *)repaired, repaired_n, NULL, out_n);
    free(repaired);
    return normal;
}

static void check_round_trip(const struct tokenizer *t, unsigned long input, const char *text, size_t n)
{
    static char decoded[8 * MAX_TEXT], streamed[8 * MAX_TEXT];
    struct engine_tokens tokens = {0};
    struct engine_stream stream = {0};
    size_t decoded_n = 0, streamed_n = 0, normal_n;
    tokenizer_encode(t, text, n, false, &tokens);
    for (size_t i = 0; i < tokens.n; i++) {
        size_t len;
        const char *bytes = tokenizer_bytes(t, tokens.ids[i], false, &len);
        if (tokenizer_is_control(t, tokens.ids[i]))
            complain(input, "text became a control token", text, n);
        memcpy(decoded + decoded_n, bytes, len);
        decoded_n += len;
        streamed_n += utf8_stream(&stream, bytes, len, streamed + streamed_n, sizeof streamed - streamed_n);
    }
    char *normal = expected(text, n, &normal_n);
    if (decoded_n != normal_n || (normal_n && memcmp(decoded, normal, normal_n) != 0))
        complain(input, "did not come back", text, n);
    if (streamed_n != normal_n || (normal_n && memcmp(streamed, normal, normal_n) != 0))
        complain(input, "did not stream back", text, n);
    free(normal);
    engine_tokens_free(&tokens);
}

/* With control tokens parsed, pure ASCII comes back too, the control tokens by their names. */
static void check_special(const struct tokenizer *t, unsigned long input, const char *text, size_t n)
{
    static char decoded[8 * MAX_TEXT];
    struct engine_tokens tokens = {0};
    size_t decoded_n = 0;
    bool ascii = true;
    tokenizer_encode(t, text, n, true, &tokens);
    for (size_t i = 0; i < tokens.n; i++) {
        size_t len;
        const char *bytes = tokenizer_bytes(t, tokens.ids[i], true, &len);
        memcpy(decoded + decoded_n, bytes, len);
        decoded_n += len;
    }
    for (size_t i = 0; i < n; i++)
        ascii = ascii && (unsigned char)text[i] < 0x80;
    if (ascii && (decoded_n != n || (n && memcmp(decoded, text, n) != 0)))
        complain(input, "did not come back with control tokens", text, n);
    engine_tokens_free(&tokens);
}

static struct gguf *vocabulary;
static struct tokenizer *tokenizer;

static void open_vocabulary(void)
{
    char err[600] = "";
    vocabulary = gguf_open(VOCABULARY, false, err, sizeof err);
    tokenizer = vocabulary ? tokenizer_open(vocabulary, err, sizeof err) : NULL;
    if (!tokenizer) {
        fprintf(stderr, "%s\n", err);
        exit(1);
    }
}

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!tokenizer)
        open_vocabulary();
    size_t n = size < MAX_TEXT ? size : MAX_TEXT;
    check_round_trip(tokenizer, 0, (const char *)data, n);
    check_special(tokenizer, 0, (const char *)data, n);
    return 0;
}
#else
int main(int argc, char **argv)
{
    static char text[MAX_TEXT + 64];
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, bytes = 0;
    open_vocabulary();
    fuzz_open(seed);
    for (unsigned long i = 0; i < n; i++) {
        size_t len = random_text(text);
        bytes += len;
        fuzz_begin(i);
        check_round_trip(tokenizer, i, text, len);
        check_special(tokenizer, i, text, len);
        fuzz_end();
    }
    printf("figure: %lu random texts (%.1f MB) came back as their NFC; worst %.0f ms, %.1f MiB\n", n,
           (double)bytes / 1e6, fuzz_worst_ms, (double)fuzz_worst_bytes / (1 << 20));
    tokenizer_close(tokenizer);
    gguf_close(vocabulary);
    return 0;
}
#endif
