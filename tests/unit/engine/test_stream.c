/* test_stream.c - tokens split characters anywhere; what is handed out is whole, valid UTF-8. */
#include "../../../engine/utf8.h"
#include "make_gguf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Streams the n bytes in pieces of at most `step`. */
static char *stream(const char *bytes, size_t n, size_t step, int *held)
{
    struct engine_stream s = {0};
    char *out = calloc(1, 3 * n + 9);
    size_t at = 0;
    for (size_t i = 0; i < n; i += step)
        at += utf8_stream(&s, bytes + i, n - i < step ? n - i : step, out + at, 3 * n + 9 - at);
    *held = s.n_held;
    return out;
}

static void assert_streams(const char *bytes, size_t n, const char *expected, int expected_held)
{
    for (size_t step = 1; step <= n; step++) {
        int held;
        char *out = stream(bytes, n, step, &held);
        assert_string_equal(out, expected);
        assert_int_equal(held, expected_held);
        free(out);
    }
}

static void whole_characters_come_out_whatever_the_pieces(void **state)
{
    (void)state;
    static const char text[] = "aé漢🦙 e\xCC\x81 \x7f";
    assert_streams(text, sizeof text - 1, text, 0);
}

static void the_start_of_a_character_is_held_back(void **state)
{
    (void)state;
    assert_streams("a\xF0\x9F\xA6", 4, "a", 3);
    assert_streams("\xE6\xBC", 2, "", 2);
    assert_streams("\xC3", 1, "", 1);
}

static void invalid_bytes_become_replacement_characters(void **state)
{
    (void)state;
    assert_streams("a\x80z", 3, "a\uFFFDz", 0);
    assert_streams("\xC0\xAFx", 3, "\uFFFD\uFFFDx", 0);                     /* overlong */
    assert_streams("\xED\xA0\x80x", 4, "\uFFFD\uFFFD\uFFFDx", 0);           /* a surrogate */
    assert_streams("\xF4\x90\x80\x80x", 5, "\uFFFD\uFFFD\uFFFD\uFFFDx", 0); /* beyond U+10FFFF */
    assert_streams("\xF5\xFFx", 3, "\uFFFD\uFFFDx", 0);
    assert_streams("\xE6\xBCx", 3, "\uFFFDx", 0); /* one for the maximal subpart */
    assert_streams("\xF0\x9F\xA6\xF0\x9F\xA6\x99", 7, "\uFFFD🦙", 0);
    assert_streams("\xE6\xBC\xE6\xBC\xA2", 5, "\uFFFD漢", 0);
}

static void too_little_room_never_overflows(void **state)
{
    (void)state;
    struct engine_stream s = {0};
    char out[8];
    memset(out, 'x', sizeof out);
    assert_int_equal(utf8_stream(&s, "漢漢漢", 9, out, 7), 6);
    assert_string_equal(out, "漢漢");
    assert_int_equal(out[7], 'x');
}

/* ---- whole texts, with the tokens of a model ---- */

enum { END = 2, HI, THERE, SPACE, WORD, BYTE_E6, BYTE_BC, BYTE_A2, N_TOKENS };

/* A SentencePiece vocabulary of a few tokens. add_space_prefix: -1 = the file does not say */
static engine_model *open_pieces(int add_space_prefix)
{
    static const char *const tokens[N_TOKENS] = {"<unk>", "<s>",  "</s>",   "▁Hi",    "▁there",
                                                 "▁",     "word", "<0xE6>", "<0xBC>", "<0xA2>"};
    static const uint32_t types[N_TOKENS] = {2, 3, 3, 1, 1, 1, 1, 6, 6, 6};
    struct maker m;
    make_start(&m, 3);
    make_key_string(&m, "general.architecture", "llama");
    make_key_string(&m, "tokenizer.ggml.model", "llama");
    make_key_strings(&m, "tokenizer.ggml.tokens", tokens, N_TOKENS);
    make_key_array(&m, "tokenizer.ggml.token_type", U32, N_TOKENS);
    make_bytes(&m, types, sizeof types);
    make_key_array(&m, "tokenizer.ggml.scores", F32, N_TOKENS);
    for (int i = 0; i < N_TOKENS; i++)
        make_u32(&m, 0);
    if (add_space_prefix >= 0)
        make_key_bool(&m, "tokenizer.ggml.add_space_prefix", (unsigned char)add_space_prefix);
    char path[300], err[500] = "";
    make_save(&m, make_path(path, sizeof path, "pieces.gguf"));
    make_free(&m);
    engine_model *model =
        engine_model_open(&(struct engine_model_options){.path = path, .vocab_only = true}, err, sizeof err);
    unlink(path);
    if (!model)
        fail_msg("%s", err);
    return model;
}

static void assert_text(const engine_model *model, const int32_t *ids, size_t n, const char *pushed,
                        const char *ended)
{
    struct engine_stream s = {0};
    char piece[ENGINE_PIECE_MAX], text[200] = "";
    for (int round = 0; round < 2; round++) { /* the end makes it ready for another text */
        *text = '\0';
        for (size_t i = 0; i < n; i++) {
            size_t len = engine_stream_push(&s, model, ids[i], piece, sizeof piece);
            assert_int_equal(len, strlen(piece));
            strcat(text, piece);
        }
        assert_string_equal(text, pushed);
        assert_int_equal(engine_stream_end(&s, piece, sizeof piece), strlen(ended));
        assert_string_equal(piece, ended);
    }
}

#define IDS(...) (const int32_t[]){__VA_ARGS__}, sizeof(int32_t[]){__VA_ARGS__} / sizeof(int32_t)

static void the_space_that_sentencepiece_puts_first_is_no_part_of_the_text(void **state)
{
    (void)state;
    for (int said = -1; said <= 1; said += 2) {
        engine_model *model = open_pieces(said);
        assert_text(model, IDS(HI, THERE), "Hi there", "");
        assert_text(model, IDS(WORD, HI), "word Hi", "");
        assert_text(model, IDS(SPACE, HI), " Hi", "");     /* one space, not all */
        assert_text(model, IDS(END, HI, HI), "Hi Hi", ""); /* a control token is no text */
        assert_text(model, IDS(BYTE_E6, BYTE_BC, BYTE_A2, HI), "漢 Hi", "");
        engine_model_close(model);
    }
    engine_model *model = open_pieces(0); /* what it says of itself */
    assert_text(model, IDS(HI, THERE), " Hi there", "");
    engine_model_close(model);
}

static void other_tokenizers_keep_their_first_space(void **state)
{
    (void)state;
    char err[500];
    engine_model *model = engine_model_open(
        &(struct engine_model_options){.path = "tests/golden/qwen2.5-vocab.gguf", .vocab_only = true}, err,
        sizeof err);
    assert_non_null(model);
    struct engine_tokens ids = {0};
    engine_tokenize(model, " Hi there", 9, false, &ids);
    assert_text(model, ids.ids, ids.n, " Hi there", "");
    engine_tokens_free(&ids);
    engine_model_close(model);
}

static void a_text_that_ends_within_a_character_says_so(void **state)
{
    (void)state;
    engine_model *model = open_pieces(-1);
    assert_text(model, IDS(HI, BYTE_E6), "Hi", "\uFFFD");
    assert_text(model, IDS(HI, BYTE_E6, BYTE_BC), "Hi", "\uFFFD"); /* one for both: they are one character's */
    assert_text(model, IDS(BYTE_E6, BYTE_E6), "\uFFFD", "\uFFFD");
    assert_text(model, IDS(HI, BYTE_E6, BYTE_BC, BYTE_A2), "Hi漢", "");
    struct engine_stream s = {.held = {0xE6}, .n_held = 1};
    char out[8] = "xxxxxxx";
    assert_int_equal(engine_stream_end(&s, out, 3), 0); /* too little room */
    assert_string_equal(out, "");
    engine_model_close(model);
}

static void code_points_survive_the_round_trip(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        char bytes[4];
        size_t len;
        if (cp >= 0xD800 && cp <= 0xDFFF)
            continue;
        size_t n = utf8_encode(cp, bytes);
        if (utf8_next((unsigned char *)bytes, n, &len) != cp || len != n)
            fail_msg("U+%04X", (unsigned)cp);
    }
}

static void repair_replaces_what_is_unfinished_too(void **state)
{
    (void)state;
    size_t n;
    char *text = utf8_repair("ok \xE6\xBC", 5, &n);
    assert_string_equal(text, "ok \uFFFD");
    assert_int_equal(n, 6);
    free(text);
    assert_false(utf8_is_valid("ok \xE6\xBC", 5));
    assert_true(utf8_is_valid("a\0漢", 5));
}

static void what_is_shown_is_one_line_without_commands(void **state)
{
    (void)state;
    char out[16];
    assert_int_equal(utf8_clean("a\x1b[m\n\x7f\xC2\x9B\xC2\xA0\x9B漢", 14, out, sizeof out), 14);
    assert_string_equal(out, "a [m   \u00A0\uFFFD漢");
    for (size_t cap = 1; cap <= 7; cap++) { /* cut at a character */
        size_t shown = cap < 4 ? 0 : cap < 7 ? 3 : 6;
        memset(out, 'x', sizeof out);
        assert_int_equal(utf8_clean("漢漢", 6, out, cap), shown);
        assert_int_equal(strlen(out), shown);
        assert_memory_equal(out, "漢漢", shown);
        assert_int_equal(out[cap], 'x');
    }
    assert_int_equal(utf8_clean("a\0b", 3, out, sizeof out), 3);
    assert_string_equal(out, "a b");
    assert_int_equal(utf8_clean("", 0, out, sizeof out), 0);
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_characters_come_out_whatever_the_pieces),
        cmocka_unit_test(the_start_of_a_character_is_held_back),
        cmocka_unit_test(invalid_bytes_become_replacement_characters),
        cmocka_unit_test(too_little_room_never_overflows),
        cmocka_unit_test(the_space_that_sentencepiece_puts_first_is_no_part_of_the_text),
        cmocka_unit_test(other_tokenizers_keep_their_first_space),
        cmocka_unit_test(a_text_that_ends_within_a_character_says_so),
        cmocka_unit_test(code_points_survive_the_round_trip),
        cmocka_unit_test(repair_replaces_what_is_unfinished_too),
        cmocka_unit_test(what_is_shown_is_one_line_without_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
