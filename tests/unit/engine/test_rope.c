/*
 * test_rope.c - by which angle the keys of a token are rotated at each position: plain, scaled linearly, with a
 * factor of its own for each pair. The files are the small models of tests/golden with keys and a tensor added; what
 * the cache must hold is computed here, from the key of the same token at position 0, where nothing is rotated.
 */
#include "../../../engine/gguf.h"
#include "../../../engine/session.h"
#include "make_gguf.h"
#include "session_test.h"

#include <math.h>

#define HEAD 64
#define PAIRS (HEAD / 2)
#define POSITIONS 60 /* all in the cache's first tile */
#define BASE 1e6     /* rope.freq_base of these files */
#define TOKEN 77

struct rope {
    const char *type;   /* rope.scaling.type, or NULL */
    const char *key;    /* the factor's, after "rope.", or NULL */
    float factor;       /* under that key */
    double divisor;     /* what all angles must come divided by */
    bool own;           /* rope_freqs.weight is there, with these factors */
    float wrong_factor; /* the last of them, if not 0 */
};

static float own_factor(int pair)
{
    return pair < 8 ? 1 : 1 + 0.25f * (float)(pair - 7);
}

static unsigned char *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*n);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

/* Where the tensors' data begins. */
static size_t data_start(const char *path)
{
    struct gguf *g = gguf_open(path, false, err, sizeof err);
    assert_non_null(g);
    int64_t least = INT64_MAX, offset;
    const char *part;
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        assert_true(gguf_source(g, gguf_tensor_at(g, i)->data, &part, &offset));
        least = offset < least ? offset : least;
    }
    gguf_close(g);
    return (size_t)least;
}

static void add_keys(struct maker *m, const char *architecture, const struct rope *r)
{
    char key[100];
    snprintf(key, sizeof key, "%s.rope.scaling.type", architecture);
    if (r->type)
        make_key_string(m, key, r->type);
    snprintf(key, sizeof key, "%s.rope.%s", architecture, r->key);
    if (r->key)
        make_key_f32(m, key, r->factor);
}

/* The file at `path` with the keys, and the tensor where it is wanted, of r. All that is put before the data comes in
 * multiples of the alignment, so what is there stays aligned. */
static engine_model *open_with(const char *path, const char *architecture, const struct rope *r)
{
    static const char first_tensor[] = "output_norm.weight", filler[] = "test.filler";
    const size_t header = 24, align = 32;
    size_t n, start = data_start(path);
    unsigned char *old = read_all(path, &n), zeros[32] = {0};
    size_t table = (size_t)((unsigned char *)memmem(old, n, first_tensor, sizeof first_tensor - 1) - old) - 8;
    struct maker m = {0}, keys, tensor;
    make_start(&keys, 3);
    make_start(&tensor, 3);
    add_keys(&keys, architecture, r);
    if (r->own)
        make_tensor(&tensor, "rope_freqs.weight", 1, (const uint64_t[]){PAIRS}, 0,
                    (n - start + align - 1) / align * align);
    make_key(&keys, filler, STRING);
    size_t added = keys.n - header + 8 + tensor.n - header, fill = (align - added % align) % align;
    make_u64(&keys, fill);
    make_bytes(&keys, zeros, fill);

    make_bytes(&m, old, header);
    for (size_t at = COUNT_TENSORS; at <= COUNT_KEYS; at += 8) {
        uint64_t before, more;
        memcpy(&before, old + at, 8);
        memcpy(&more, (at == COUNT_KEYS ? keys.p : tensor.p) + at, 8);
        make_patch(&m, at, before + more);
    }
    make_bytes(&m, keys.p + header, keys.n - header);
    make_bytes(&m, old + header, table - header);
    make_bytes(&m, tensor.p + header, tensor.n - header);
    make_bytes(&m, old + table, n - table);
    make_bytes(&m, zeros, (align - m.n % align) % align);
    for (int i = 0; i < PAIRS && r->own; i++) {
        float factor = i == PAIRS - 1 && r->wrong_factor != 0 ? r->wrong_factor : own_factor(i);
        make_bytes(&m, &factor, 4);
    }
    char changed[300];
    make_save(&m, make_path(changed, sizeof changed, "rope.gguf"));
    engine_model *model = engine_model_open(&(struct engine_model_options){.path = changed}, err, sizeof err);
    unlink(changed);
    make_free(&m);
    make_free(&keys);
    make_free(&tensor);
    free(old);
    return model;
}

/* The keys of the first layer for the same token at every position. */
static void cached_keys(const engine_model *m, float keys[POSITIONS][HEAD])
{
    static float k[VECTOR_TILE * HEAD], v[VECTOR_TILE * HEAD];
    int32_t ids[POSITIONS];
    for (int p = 0; p < POSITIONS; p++)
        ids[p] = TOKEN;
    engine_session *s = open_session(m, (struct engine_session_options){.threads = 1});
    assert_int_equal(engine_session_eval(s, ids, POSITIONS, NULL, err, sizeof err), ENGINE_OK);
    kv_widen(forward_kv(s->forward), s->model->vector, 0, 1, 0, k, v);
    for (int p = 0; p < POSITIONS; p++)
        for (int d = 0; d < HEAD; d++) /* the layout of vector.h */
            keys[p][d] = k[(p / VECTOR_GROUP * HEAD + d) * VECTOR_GROUP + p % VECTOR_GROUP];
    engine_session_close(s);
}

static void check_keys(const char *architecture, bool halves, float keys[POSITIONS][HEAD], const struct rope *r)
{
    double largest = 0;
    for (int d = 0; d < HEAD; d++)
        largest = fmax(largest, fabs((double)keys[0][d]));
    assert_true(largest > 0.01);
    for (int p = 1; p < POSITIONS; p++)
        for (int i = 0; i < PAIRS; i++) {
            int a = halves ? i : 2 * i, b = halves ? i + PAIRS : 2 * i + 1;
            double angle = p / pow(BASE, 2.0 * i / HEAD) / r->divisor / (r->own ? (double)own_factor(i) : 1);
            double x = (double)keys[0][a], y = (double)keys[0][b];
            double ex = x * cos(angle) - y * sin(angle), ey = x * sin(angle) + y * cos(angle);
            /* both are half floats: 11 bits, rounded twice */
            if (fabs(ex - (double)keys[p][a]) > largest / 500 || fabs(ey - (double)keys[p][b]) > largest / 500)
                fail_msg("%s %s: pair %d at position %d is (%g, %g), not (%g, %g)", architecture,
                         r->key ? r->key : "plain", i, p, (double)keys[p][a], (double)keys[p][b], ex, ey);
        }
}

static void keys_are_rotated_by_the_scaled_angles(void **state)
{
    (void)state;
    static const struct {
        const char *file, *architecture;
        bool halves;
    } models[] = {{GOLDEN "llama-nano-Q4_0.gguf", "llama", false}, {GOLDEN "qwen2-nano-Q4_0.gguf", "qwen2", true}};
    static const struct rope ropes[] = {
        {.divisor = 1},
        {.key = "scaling.factor", .factor = 4, .divisor = 4},
        {.type = "linear", .key = "scaling.factor", .factor = 2.5f, .divisor = 2.5},
        {.key = "scale_linear", .factor = 8, .divisor = 8},                   /* the key of old files */
        {.type = "none", .key = "scaling.factor", .factor = 4, .divisor = 1}, /* a factor that is not to be used */
        {.type = "linear",
         .key = "scaling.factor",
         .factor = 0,
         .divisor = 1}, /* none, as some converters write it */
        {.own = true, .divisor = 1},
        {.own = true, .key = "scaling.factor", .factor = 2, .divisor = 2},
    };
    static float keys[POSITIONS][HEAD];
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (size_t k = 0; k < sizeof ropes / sizeof *ropes; k++) {
            engine_model *m = open_with(models[i].file, models[i].architecture, &ropes[k]);
            if (!m)
                fail_msg("%s", err);
            cached_keys(m, keys);
            check_keys(models[i].architecture, models[i].halves, keys, &ropes[k]);
            engine_model_close(m);
        }
}

static void scaling_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct rope rope;
        const char *sentence;
    } cases[] = {
        {{.key = "scaling.factor", .factor = -2}, "llama.rope.scaling.factor is -2"},
        {{.key = "scaling.factor", .factor = NAN}, "llama.rope.scaling.factor is not a finite number"},
        {{.type = "yarn", .key = "scaling.factor", .factor = 4},
         "\"yarn\" (llama.rope.scaling.type) is not supported"},
        {{.own = true, .wrong_factor = NAN}, "rope_freqs.weight holds a factor that is zero or no number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        engine_model *m = open_with(GOLDEN "llama-nano-Q4_0.gguf", "llama", &cases[i].rope);
        if (m || !strstr(err, cases[i].sentence))
            fail_msg("%s: %s", cases[i].sentence, m ? "was opened" : err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_rotated_by_the_scaled_angles),
        cmocka_unit_test(scaling_that_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
