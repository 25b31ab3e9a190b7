/*
 * fuzz_gguf.c - mutated GGUF files: whatever a file says, opening it ends in a model or in a sentence.
 *
 * A nano file is mostly weights, so the mutations know the structure: they set counts, lengths, types, dimensions,
 * offsets and values to what hurts readers, and repeat, drop, exchange and cut records. What still opens is used:
 * tokenizer, template, a prompt evaluated.
 *
 *   fuzz_gguf [COUNT [SEED]]            run from the root of the repository
 *   clang -fsanitize=fuzzer,address -DLIBFUZZER ... : the same checks as a libFuzzer target
 */
#include "../../engine/engine.h"
#include "../../engine/gguf.h"
#include "../../engine/template.h"
#include "../unit/engine/make_gguf.h"
#include "fuzz.h"

static char path[300];
static unsigned long opened, refused, models;

/* ---- what is done with a file --------------------------------------------------------------------------- */

static volatile uint64_t sink;

static void touch(const struct gguf *g)
{
    for (size_t i = 0; i < gguf_n_values(g); i++) {
        const struct gguf_value *v = gguf_value_at(g, i);
        uint64_t cursor = 0;
        for (uint64_t k = 0; k < v->n; k++) {
            if (v->type == GGUF_STRING)
                sink += gguf_string_at(v, &cursor).n;
            else if (v->type == GGUF_F32 || v->type == GGUF_F64)
                sink += gguf_float_at(v, k) > 0;
            else
                sink += (uint64_t)gguf_int_at(v, k);
        }
    }
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(g, i);
        sink += t->data[0] + t->data[t->bytes - 1];
    }
    sink += gguf_fingerprint(g);
}

static void use_text(const struct gguf *g)
{
    static const char text[] = "Hello, w\xC3\xB6rld! \xE4\xBD\xA0\xE5\xA5\xBD <|im_start|> 123\n\n  x";
    char err[600];
    struct tokenizer *t = tokenizer_open(g, err, sizeof err);
    if (!t)
        return;
    struct engine_tokens out = {0};
    tokenizer_encode(t, text, sizeof text - 1, false, &out);
    tokenizer_encode(t, text, sizeof text - 1, true, &out);
    struct chat_template *c = template_open(g, t);
    static const char thought[] = "\n<think>\nhm\n</think>\n\nyes ";
    struct engine_message messages[] = {{.role = ENGINE_SYSTEM, .text = "S", .len = 1},
                                        {.role = ENGINE_USER, .text = text, .len = sizeof text - 1},
                                        {.role = ENGINE_ASSISTANT, .text = thought, .len = sizeof thought - 1},
                                        {.role = ENGINE_USER, .text = " ", .len = 1},
                                        {.role = ENGINE_ASSISTANT, .text = thought, .len = sizeof thought - 1}};
    for (size_t i = 0; i < 4; i++)
        template_render(c, messages + i % 2, 5 - i, i < 2, &out, err, sizeof err);
    messages[2].ids = out.ids;
    messages[2].n_ids = out.n;
    struct engine_tokens more = {0};
    template_render(c, messages, 5, true, &more, err, sizeof err);
    engine_tokens_free(&more);
    for (size_t i = 0; i < out.n; i++) {
        size_t n;
        const char *bytes = tokenizer_bytes(t, out.ids[i], true, &n);
        if (out.ids[i] < 0 || out.ids[i] >= tokenizer_n_vocab(t))
            abort();
        for (size_t k = 0; k < n; k++)
            sink += (unsigned char)bytes[k];
    }
    engine_tokens_free(&out);
    template_close(c);
    tokenizer_close(t);
}

static void use_model(bool no_mmap)
{
    char err[600];
    struct engine_model_options options = {.path = path, .no_mmap = no_mmap, .threads = 1, .vocab_only = false};
    engine_model *m = engine_model_open(&options, err, sizeof err);
    if (!m)
        return;
    models++;
    struct engine_session_options session = {.n_ctx = 16, .threads = 1};
    engine_session *s = engine_session_open(m, &session, err, sizeof err);
    static const int32_t ids[] = {1, 0, 2};
    if (s)
        engine_session_prompt(s, ids, 3, NULL, NULL, err, sizeof err);
    engine_session_close(s);
    engine_model_close(m);
}

static void check_file(unsigned long input)
{
    char err[600] = "";
    bool no_mmap = input % 5 == 0;
    struct gguf *g = gguf_open(path, no_mmap, err, sizeof err);
    if (!g) {
        refused++;
        if (strncmp(err, path, strlen(path)) != 0 || strchr(err, '\n') || strlen(err) < strlen(path) + 10) {
            fprintf(stderr, "input %lu: no sentence: %s\n", input, err);
            exit(1);
        }
        return;
    }
    opened++;
    touch(g);
    use_text(g);
    gguf_close(g);
    use_model(no_mmap);
}

/* ---- the structure of a sound file ---------------------------------------------------------------------- */

struct field {
    size_t at, size;
};

struct record { /* a key with its value, or a tensor's entry */
    size_t at, end;
};

struct file {
    unsigned char *p;
    size_t n, header;
    struct field fields[4096];
    struct record keys[128], tensors[128];
    size_t n_fields, n_keys, n_tensors;
};

static uint64_t load(const unsigned char *p, size_t size)
{
    uint64_t v = 0;
    memcpy(&v, p, size);
    return v;
}

static size_t add_field(struct file *f, size_t at, size_t size)
{
    if (f->n_fields < sizeof f->fields / sizeof *f->fields)
        f->fields[f->n_fields++] = (struct field){at, size};
    return at + size;
}

static size_t walk_string(struct file *f, size_t at, bool record)
{
    uint64_t n = load(f->p + at, 8);
    if (record) {
        add_field(f, at, 8);
        if (n)
            add_field(f, at + 8 + n / 2, 1);
    }
    return at + 8 + n;
}

/* The first elements of an array are fields, and some of the others. */
static size_t walk_elements(struct file *f, size_t at, uint32_t type, uint64_t n)
{
    static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    for (uint64_t i = 0; i < n; i++) {
        bool record = i < 4 || i + 2 >= n || i % 61 == 0;
        if (type == STRING)
            at = walk_string(f, at, record);
        else if (record)
            at = add_field(f, at, sizes[type]);
        else
            at += sizes[type];
    }
    return at;
}

static void walk(struct file *f)
{
    uint64_t n_tensors = load(f->p + COUNT_TENSORS, 8), n_keys = load(f->p + COUNT_KEYS, 8);
    size_t at = 24;
    for (size_t i = 4; i < 24; i += i == 4 ? 4 : 8)
        add_field(f, i, i == 4 ? 4 : 8);
    for (uint64_t i = 0; i < n_keys; i++) {
        struct record *r = &f->keys[f->n_keys++];
        r->at = at;
        at = walk_string(f, at, true);
        uint32_t type = (uint32_t)load(f->p + at, 4);
        uint64_t n = 1;
        at = add_field(f, at, 4);
        if (type == ARRAY) {
            type = (uint32_t)load(f->p + at, 4);
            at = add_field(f, at, 4);
            n = load(f->p + at, 8);
            at = add_field(f, at, 8);
        }
        r->end = at = walk_elements(f, at, type, n);
    }
    for (uint64_t i = 0; i < n_tensors; i++) {
        struct record *r = &f->tensors[f->n_tensors++];
        r->at = at;
        at = walk_string(f, at, true);
        uint32_t n_dims = (uint32_t)load(f->p + at, 4);
        at = add_field(f, at, 4);
        for (uint32_t k = 0; k < n_dims; k++)
            at = add_field(f, at, 8);
        at = add_field(f, at, 4);
        r->end = at = add_field(f, at, 8);
    }
    f->header = at;
}

/* ---- mutations ------------------------------------------------------------------------------------------ */

static uint64_t nasty(uint64_t old, size_t n)
{
    static const uint64_t values[] = {
        0,
        1,
        2,
        3,
        4,
        5,
        7,
        8,
        9,
        12,
        13,
        31,
        32,
        48,
        64,
        255,
        256,
        1000,
        65535,
        65536,
        1u << 20,
        0x7FFFFFFF,
        0x80000000,
        0xFFFFFFFF,
        1ull << 32,
        1ull << 40,
        1ull << 42,
        1ull << 61,
        (1ull << 61) + 1,
        1ull << 62,
        1ull << 63,
        UINT64_MAX,
        UINT64_MAX - 1,
        UINT64_MAX - 7,
        UINT64_MAX / 2,
        UINT64_MAX / 3 + 1,
        0x7F800000 /* inf */,
        0x7FC00000 /* nan */,
        0xFF800000,
        0x3F800000,
    };
    switch (fuzz_below(8)) {
    case 0: return old + 1;
    case 1: return old - 1;
    case 2: return old * 2;
    case 3: return old ^ 1ull << fuzz_below(64);
    case 4: return n - fuzz_below(64);
    case 5: return fuzz_random() >> fuzz_below(64);
    default: return values[fuzz_below(sizeof values / sizeof *values)];
    }
}

/* Replaces `old` bytes at `at` by n others. */
static void splice(struct maker *m, size_t at, size_t old, const unsigned char *bytes, size_t n)
{
    if (at > m->n || old > m->n - at)
        return;
    unsigned char *copy = malloc(n + 1);
    memcpy(copy, bytes, n);
    if (m->cap < m->n + n)
        m->p = realloc(m->p, m->cap = m->n + n);
    memmove(m->p + at + n, m->p + at + old, m->n - at - old);
    memcpy(m->p + at, copy, n);
    m->n = m->n - old + n;
    free(copy);
}

static void count(struct maker *m, size_t at, int by)
{
    if (m->n >= at + 8 && fuzz_below(4))
        make_patch(m, at, load(m->p + at, 8) + (uint64_t)(int64_t)by);
}

static void mutate_field(struct maker *m, const struct file *f)
{
    struct field x = f->fields[fuzz_below(f->n_fields)], y = f->fields[fuzz_below(f->n_fields)];
    if (x.at + x.size > m->n || y.at + y.size > m->n)
        return;
    uint64_t v = fuzz_below(6) ? nasty(load(m->p + x.at, x.size), m->n) : load(m->p + y.at, y.size);
    memcpy(m->p + x.at, &v, x.size);
}

static void mutate_records(struct maker *m, const struct file *f)
{
    bool tensors = f->n_tensors && fuzz_below(2);
    const struct record *list = tensors ? f->tensors : f->keys;
    size_t n = tensors ? f->n_tensors : f->n_keys, counter = tensors ? COUNT_TENSORS : COUNT_KEYS;
    struct record a = list[fuzz_below(n)], b = list[fuzz_below(n)];
    if (a.end > m->n || b.end > m->n || b.end - b.at > 100000)
        return;
    switch (fuzz_below(3)) {
    case 0: /* once more */
        splice(m, a.at, 0, f->p + b.at, b.end - b.at);
        count(m, counter, 1);
        break;
    case 1: /* no more */
        splice(m, a.at, a.end - a.at, f->p, 0);
        count(m, counter, -1);
        break;
    default: /* another one in its place */ splice(m, a.at, a.end - a.at, f->p + b.at, b.end - b.at);
    }
}

static void insert_key(struct maker *m, const struct file *f)
{
    static const char *const keys[] = {"general.alignment",
                                       "split.count",
                                       "split.no",
                                       "split.tensors.count",
                                       "tokenizer.ggml.eot_token_id",
                                       "general.architecture",
                                       "llama.rope.scaling.factor",
                                       "qwen2.attention.sliding_window",
                                       "tokenizer.ggml.add_bos_token"};
    struct maker key = {0};
    uint64_t value = nasty(32, m->n);
    make_start(&key, 3);
    make_key(&key, keys[fuzz_below(sizeof keys / sizeof *keys)], (uint32_t)fuzz_below(13));
    make_u64(&key, value);
    splice(m, f->keys[fuzz_below(f->n_keys)].at, 0, key.p + 24, key.n - 24 - fuzz_below(2) * 4);
    count(m, COUNT_KEYS, 1);
    make_free(&key);
}

static void mutate(struct maker *m, const struct file *f)
{
    size_t rounds = 1 + fuzz_below(3);
    for (size_t i = 0; i < rounds; i++) {
        size_t kind = fuzz_below(20);
        if (kind < 13)
            mutate_field(m, f);
        else if (kind < 16)
            mutate_records(m, f);
        else if (kind < 17)
            insert_key(m, f);
        else if (kind < 18 && m->n > f->header)
            m->n = fuzz_below(4) ? fuzz_below(f->header + 64) : fuzz_below(m->n);
        else if (m->n)
            m->p[fuzz_below(f->header < m->n ? f->header : m->n)] = (unsigned char)fuzz_random();
    }
}

/* ---- seeds ---------------------------------------------------------------------------------------------- */

static const char *const seed_files[] = {"tests/golden/qwen2-nano-odd-Q4_K_M.gguf",
                                         "tests/golden/llama-nano-Q4_0.gguf", "tests/golden/qwen3-nano-Q4_0.gguf"};
#define N_FILES (sizeof seed_files / sizeof *seed_files)

/* Vocabularies without tensors, for what the nano files do not have. */
static const struct {
    bool spm;
    const char *pre, *template;
} seed_vocabs[] = {
    {true, "default", "tests/golden/templates/zephyr.jinja"},
    {true, "default", "tests/golden/templates/mistral-v0.3.jinja"},
    {true, "default", "tests/golden/templates/llama2.jinja"},
    {false, "llama-bpe", "tests/golden/templates/llama3.2.jinja"},
    {false, "smollm", "tests/golden/templates/smollm2.jinja"},
    {false, "qwen2", "tests/golden/templates/qwen3.jinja"},
    {false, "gpt-2", NULL},
};
#define N_VOCABS (sizeof seed_vocabs / sizeof *seed_vocabs)
#define N_SEEDS (N_FILES + N_VOCABS)

static void read_file(struct maker *m, const char *name)
{
    unsigned char buffer[65536];
    FILE *in = fopen(name, "rb");
    if (!in) {
        perror(name);
        exit(1);
    }
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
        make_bytes(m, buffer, n);
    fclose(in);
}

static void load_seed(struct file *f, size_t i)
{
    static const char *const specials[] = {"<s>",        "</s>",     "<|im_start|>",        "<|im_end|>",
                                           "<|eot_id|>", "</think>", "<|start_header_id|>", "<|end_header_id|>"};
    struct maker m = {0}, jinja = {0};
    if (i < N_FILES) {
        read_file(&m, seed_files[i]);
    } else {
        const char *template = seed_vocabs[i - N_FILES].template;
        if (template)
            read_file(&jinja, template);
        make_bytes(&jinja, "", 1);
        make_byte_vocab(&m, seed_vocabs[i - N_FILES].spm, seed_vocabs[i - N_FILES].pre, specials, 8,
                        template ? (const char *)jinja.p : NULL, 1);
    }
    make_free(&jinja);
    f->p = m.p;
    f->n = m.n;
    walk(f);
}

/* ---- the two ways to run -------------------------------------------------------------------------------- */

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned long input;
    struct maker m = {(unsigned char *)(uintptr_t)data, size, size};
    make_path(path, sizeof path, "fuzz.gguf");
    make_save(&m, path);
    check_file(input++);
    return 0;
}
#else
int main(int argc, char **argv)
{
    static struct file seeds[N_SEEDS];
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    make_path(path, sizeof path, "fuzz.gguf");
    for (size_t i = 0; i < N_SEEDS; i++)
        load_seed(&seeds[i], i);
    struct maker m = {0};
    for (unsigned long i = 0; i < n; i++) {
        /* Each input has a seed of its own, so that it can be made again without those before. */
        if (i == 0)
            fuzz_open(seed);
        fuzz_state = seed * 0x100000001B3 + i;
        const struct file *f = &seeds[fuzz_below(N_SEEDS)];
        m.n = 0;
        make_bytes(&m, f->p, f->n);
        if (i >= N_SEEDS)
            mutate(&m, f);
        make_save(&m, path);
        fuzz_begin(i);
        check_file(i);
        fuzz_end();
    }
    printf("figure: %lu mutated files: %lu refused, %lu opened, %lu models run; worst %.0f ms, %.1f MiB\n", n,
           refused, opened, models, fuzz_worst_ms, (double)fuzz_worst_bytes / (1 << 20));
    make_free(&m);
    for (size_t i = 0; i < N_SEEDS; i++)
        free(seeds[i].p);
    remove(path);
    return refused && opened && models ? 0 : 1;
}
#endif
