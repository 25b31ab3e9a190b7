/*
 * fuzz_session.c - damaged session files: each is refused with a sentence, and the session answers as if it were new.
 *
 *   fuzz_session [COUNT [SEED]]       run from the root of the repository
 *
 * A file saved from a short context is damaged in its head, its token ids, its cache or its sum, cut, or grown; half
 * of the damaged files get a sum that fits again, so that the checks behind the sum are reached. With a sum that
 * fits, a cache of other numbers is a valid file: it may be taken, but must do no harm.
 */
#include "../../engine/engine.h"
#include "fuzz.h"

#include <unistd.h>

#define MODEL "tests/golden/qwen2-nano-Q4_0.gguf"
#define CONTEXT 40    /* tokens of the saved context */
#define HEAD_WORDS 20 /* damage goes here half of the time */

struct file {
    unsigned char *bytes;
    size_t n, cap;
};

static void die(const char *what)
{
    fprintf(stderr, "input %lu: %s\n", fuzz_input, what);
    exit(1);
}

static struct file read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct file out = {.cap = 1 << 20};
    out.bytes = malloc(out.cap);
    if (!f || !out.bytes || (out.n = fread(out.bytes, 1, out.cap, f)) == 0 || out.n == out.cap)
        die("the saved file cannot be read");
    fclose(f);
    return out;
}

static void write_file(const char *path, const struct file *file)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(file->bytes, 1, file->n, f) != file->n || fclose(f) != 0)
        die("the damaged file cannot be written");
}

/* The sum session_file.c ends a file with. */
static void mend_sum(struct file *file)
{
    uint64_t sum = 0;
    size_t end = file->n - sizeof sum;
    for (size_t i = 0; i + 4 <= end; i += 4) {
        uint32_t word;
        memcpy(&word, file->bytes + i, sizeof word);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 32;
    }
    memcpy(file->bytes + end, &sum, sizeof sum);
}

/* Damages a copy of whole in one to four places. */
static void damage(const struct file *whole, struct file *out)
{
    static const uint32_t words[] = {0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, 255, 64};
    memcpy(out->bytes, whole->bytes, whole->n);
    out->n = whole->n;
    for (size_t times = 1 + fuzz_below(4); times > 0; times--) {
        size_t words_in = fuzz_below(2) ? HEAD_WORDS : out->n / 4;
        size_t at = 4 * fuzz_below(words_in < out->n / 4 ? words_in : out->n / 4);
        if (at + 4 > out->n)
            continue;
        uint32_t word = fuzz_below(2) ? words[fuzz_below(sizeof words / sizeof *words)] : (uint32_t)fuzz_random();
        if (fuzz_below(3) == 0)
            out->bytes[at] ^= (unsigned char)(1u << fuzz_below(8));
        else
            memcpy(out->bytes + at, &word, sizeof word);
    }
    if (fuzz_below(6) == 0)
        out->n = fuzz_below(out->n);
    else if (fuzz_below(12) == 0)
        out->n += 1 + fuzz_below(64);
    if (out->n >= 8 && fuzz_below(2))
        mend_sum(out);
}

static void expect_usable(engine_session *session, const int32_t *ids)
{
    char err[256];
    struct engine_sampling greedy = {.top_p = 1, .repeat_penalty = 1};
    int32_t id;
    if (engine_session_prompt(session, ids, 8, NULL, NULL, err, sizeof err) != ENGINE_OK ||
        engine_session_next(session, &greedy, &id, err, sizeof err) == ENGINE_ERROR)
        die(err);
}

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    char err[256], path[64];
    snprintf(path, sizeof path, "/tmp/fuzz_session.%ld", (long)getpid());
    fuzz_open(argc > 2 ? strtoul(argv[2], NULL, 10) : 1);

    engine_model *model = engine_model_open(&(struct engine_model_options){.path = MODEL}, err, sizeof err);
    engine_session *session =
        model ? engine_session_open(model, &(struct engine_session_options){.n_ctx = 128, .threads = 1}, err,
                                    sizeof err)
              : NULL;
    int32_t ids[CONTEXT];
    for (int i = 0; i < CONTEXT; i++)
        ids[i] = i * 7 % 500;
    if (!session || engine_session_prompt(session, ids, CONTEXT, NULL, NULL, err, sizeof err) != ENGINE_OK ||
        !engine_session_save(session, path, err, sizeof err))
        die(err);
    struct file whole = read_file(path), damaged = {.bytes = malloc(whole.cap), .cap = whole.cap};
    struct file same = whole;
    mend_sum(&same); /* the sum computed here is the file's own, or half of the harness would test nothing */
    write_file(path, &same);
    if (!damaged.bytes || !engine_session_restore(session, path, err, sizeof err))
        die(err);

    unsigned long taken = 0;
    for (unsigned long i = 0; i < count; i++) {
        damage(&whole, &damaged);
        write_file(path, &damaged);
        fuzz_begin(i);
        err[0] = '\0';
        size_t n;
        if (engine_session_restore(session, path, err, sizeof err)) {
            taken++;
            int32_t id; /* of numbers that may not be finite: an id or an error, both will do */
            engine_session_next(session, &(struct engine_sampling){.top_p = 1, .repeat_penalty = 1}, &id, err,
                                sizeof err);
            engine_session_truncate(session, 0);
        } else if (err[0] == '\0' || strchr(err, '\n'))
            die("a refusal without its one sentence");
        else if (engine_session_tokens(session, &n), n != 0)
            die("a refused file left tokens behind");
        expect_usable(session, ids);
        fuzz_end();
    }
    printf("figure: %lu damaged session files: %lu refused, %lu taken with other numbers in the cache; worst %.0f "
           "ms, %.1f MiB\n",
           count, count - taken, taken, fuzz_worst_ms, (double)fuzz_worst_bytes / (1 << 20));
    unlink(path);
    free(whole.bytes);
    free(damaged.bytes);
    engine_session_close(session);
    engine_model_close(model);
    return 0;
}
