/*
 * What opening a model tells, and the sentence for every way a well-formed file can still be none that can be run.
 * The broken files are a good one with some of its bytes changed.
 */
#include "../../../engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define QWEN2 "tests/golden/qwen2-nano-Q4_0.gguf"
#define QWEN3 "tests/golden/qwen3-nano-Q4_0.gguf"

static char err[512];

static unsigned char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    unsigned char *p = malloc(*n);
    assert_int_equal(fread(p, 1, *n, f), *n);
    fclose(f);
    return p;
}

/* Opens `source` with `with` written `skip` bytes after the first occurrence of `text`; NULL and err, or the
 * model. */
static engine_model *open_changed(const char *source, const char *text, size_t skip, const void *with, size_t n_with)
{
    size_t n;
    unsigned char *bytes = read_file(source, &n);
    unsigned char *at = memmem(bytes, n, text, strlen(text));
    assert_non_null(at);
    memcpy(at + skip, with, n_with);
    char path[] = "/tmp/chinwag-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
    err[0] = '\0';
    engine_model *m = engine_model_open(&(struct engine_model_options){.path = path, .threads = 1}, err, sizeof err);
    unlink(path);
    free(bytes);
    return m;
}

static uint64_t kv_bytes(const engine_model *m, int n_ctx, enum engine_kv_type type)
{
    return engine_session_bytes(m, &(struct engine_session_options){.n_ctx = n_ctx, .kv_type = type}).kv;
}

static void refuses(const char *source, const char *text, size_t skip, const void *with, size_t n_with,
                    const char *sentence)
{
    engine_model *m = open_changed(source, text, skip, with, n_with);
    if (m || !strstr(err, sentence) || strchr(err, '\n'))
        fail_msg("changed %s: %s", text, m ? "was opened" : err);
}

/* A key's value lies after the key's text and a type of four bytes. */
static void refuses_int(const char *source, const char *key, uint32_t value, const char *sentence)
{
    refuses(source, key, strlen(key) + 4, &value, 4, sentence);
}

static void a_tensor_that_is_missing_or_not_known_is_named(void **state)
{
    (void)state;
    refuses(QWEN2, "blk.1.ffn_up.weight", 0, "bla.1.ffn_up.weight", 19, "the tensor blk.1.ffn_up.weight is missing");
    refuses(QWEN2, "blk.0.attn_k.bias", 0, "bla.0.attn_k.bias", 17, "the tensor blk.0.attn_k.bias is missing");
    refuses(QWEN2, "output_norm.weight", 0, "autput_norm.weight", 18, "the tensor output_norm.weight is missing");
    refuses(QWEN2, "token_embd.weight", 0, "taken_embd.weight", 17, "the tensor token_embd.weight is missing");
    refuses(QWEN2, "blk.1.ffn_up.weight", 0, "blk.1.ffn_xx.weight", 19, "blk.1.ffn_xx.weight has no place");
    refuses(QWEN3, "blk.1.attn_q_norm.weight", 0, "blk.1.attn_x_norm.weight", 24,
            "blk.1.attn_x_norm.weight has no place");
}

static void a_tensor_of_another_shape_is_named(void **state)
{
    (void)state;
    const uint64_t dims[2] = {128, 512}; /* after the name: the number of dimensions, then these; 256 x 256 before */
    refuses(QWEN2, "blk.1.ffn_up.weight", 19 + 4, dims, sizeof dims,
            "the tensor blk.1.ffn_up.weight is 128 x 512, not 256 x 256");
}

static void a_shape_that_cannot_be_is_refused(void **state)
{
    (void)state;
    refuses_int(QWEN2, "qwen2.attention.head_count_kv", 3, "head_count 4 is no multiple of head_count_kv 3");
    refuses_int(QWEN2, "qwen2.attention.head_count_kv", 0, "head_count_kv");
    refuses_int(QWEN2, "qwen2.block_count", 0, "qwen2.block_count");
    refuses_int(QWEN2, "qwen2.block_count", 3, "blk.2.attn_norm.weight is missing");
    refuses_int(QWEN2, "qwen2.block_count", 4000000000u, "qwen2.block_count");
    refuses_int(QWEN2, "qwen2.embedding_length", 255, "is no multiple of attention.head_count 4");
    refuses_int(QWEN2, "qwen2.feed_forward_length", 1 << 30, "qwen2.feed_forward_length");
    refuses_int(QWEN3, "qwen3.attention.key_length", 40, "differ in length");
    refuses_int(QWEN2, "qwen2.attention.layer_norm_rms_epsilon", 0x7fc00000, "layer_norm_rms_epsilon");
    refuses_int(QWEN2, "qwen2.attention.layer_norm_rms_epsilon", 0xbf800000, "layer_norm_rms_epsilon is -1");
    refuses_int(QWEN2, "qwen2.rope.freq_base", 0, "rope.freq_base is 0");
}

static void an_unknown_architecture_is_named_with_the_known_ones(void **state)
{
    (void)state;
    refuses(QWEN2, "general.architecture", 20 + 4 + 8, "mamba", 5,
            "\"mamba\" is not supported; these are: llama, qwen2, qwen3");
}

/* The chat template's key becomes that of the scaling type, which is as long; its text is then the type. */
static void rope_scaling_of_an_unknown_kind_is_refused_by_name(void **state)
{
    (void)state;
    refuses(QWEN2, "tokenizer.chat_template", 0, "qwen2.rope.scaling.type", 23,
            "(qwen2.rope.scaling.type) is not supported");
}

static void a_key_that_is_missing_is_named(void **state)
{
    (void)state;
    refuses(QWEN2, "qwen2.block_count", 0, "qwen2.block_caunt", 17, "the key qwen2.block_count is missing");
    refuses(QWEN2, "qwen2.attention.layer_norm", 0, "qwen2.attention.layer_narm", 26,
            "layer_norm_rms_epsilon is missing");
}

static void the_window_is_4096_tokens_or_what_the_model_was_trained_on(void **state)
{
    (void)state;
    const struct {
        uint32_t trained;
        int expected;
    } cases[] = {{2048, 2048}, {4095, 4095}, {4096, 4096}, {131072, 4096}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        engine_model *m = open_changed(QWEN2, "qwen2.context_length", 20 + 4, &cases[i].trained, 4);
        assert_non_null(m);
        assert_int_equal(engine_default_context(m), cases[i].expected);
        assert_int_equal(kv_bytes(m, 0, ENGINE_KV_F16), kv_bytes(m, cases[i].expected, ENGINE_KV_F16));
        engine_session *s = engine_session_open(m, &(struct engine_session_options){0}, err, sizeof err);
        assert_non_null(s);
        assert_int_equal(engine_session_n_ctx(s), cases[i].expected);
        engine_session_close(s);
        engine_model_close(m);
    }
    engine_model *m = open_changed(QWEN2, "qwen2.context_length", 0, "qwen2.cantext_length", 20); /* not said */
    assert_non_null(m);
    assert_int_equal(engine_default_context(m), 4096);
    engine_model_close(m);
}

static void a_vocabulary_alone_serves_as_one(void **state)
{
    (void)state;
    const char *path = "tests/golden/qwen2.5-vocab.gguf";
    assert_null(engine_model_open(&(struct engine_model_options){.path = path}, err, sizeof err));
    assert_non_null(strstr(err, "no weights"));
    engine_model *m =
        engine_model_open(&(struct engine_model_options){.path = path, .vocab_only = true}, err, sizeof err);
    assert_non_null(m);
    assert_int_equal(engine_model_info(m)->n_vocab, 151936);
    assert_null(engine_session_open(m, &(struct engine_session_options){0}, err, sizeof err));
    assert_non_null(strstr(err, "vocabulary only"));
    assert_int_equal(kv_bytes(m, 100, ENGINE_KV_F16), 0);
    engine_model_close(m);
}

static void the_model_tells_what_it_is(void **state)
{
    (void)state;
    engine_model *m = engine_model_open(&(struct engine_model_options){.path = QWEN3}, err, sizeof err);
    assert_non_null(m);
    const struct engine_model_info *i = engine_model_info(m);
    assert_string_equal(i->name, "random weights, qwen3 nano");
    assert_string_equal(i->architecture, "qwen3");
    assert_string_equal(i->quantization, "Q4_0");
    assert_int_equal(i->n_vocab, 544);
    assert_int_equal(i->n_layers, 2);
    assert_int_equal(i->n_embd, 256);
    assert_int_equal(i->n_heads, 4);
    assert_int_equal(i->n_kv_heads, 2);
    assert_int_equal(i->head_dim, 64);
    assert_int_equal(i->n_ff, 256);
    assert_int_equal(i->n_ctx_train, 2048);
    /* embedding, two layers of q k v output gate up down, norms */
    uint64_t layer = 256 * (256 + 128 + 128 + 256 + 3 * 256) + 2 * 256 + 2 * 64;
    assert_int_equal(i->parameters, 544 * 256 + 2 * layer + 256);
    assert_true(i->tensor_bytes < i->file_bytes && i->load_ms > 0 && i->vocab_ms > 0 && i->vocab_ms < i->load_ms);
    /* two layers, K and V, two heads of 64 halves, 100 tokens rounded up to tiles of 64 */
    assert_int_equal(kv_bytes(m, 100, ENGINE_KV_F16), 2ull * 2 * 2 * 64 * 2 * 128);
    engine_model_close(m);
}

static void a_name_cannot_command_the_terminal(void **state)
{
    (void)state;
    engine_model *m = open_changed(QWEN3, "random weights, qwen3", 7, "\x1b[2J\n", 5);
    assert_non_null(m);
    assert_string_equal(engine_model_info(m)->name, "random  [2J ts, qwen3 nano");
    engine_model_close(m);
    /* CSI as one character, and as the byte of another encoding, which is no UTF-8 */
    m = open_changed(QWEN3, "random weights, qwen3", 7, "\xC2\x9B\x9B漢", 6);
    assert_non_null(m);
    assert_string_equal(engine_model_info(m)->name, "random  \uFFFD漢s, qwen3 nano");
    engine_model_close(m);
}

struct watcher {
    int calls;
    float last;
    bool go_on;
};

static bool watch(void *ctx, float done)
{
    struct watcher *w = ctx;
    w->calls++;
    assert_true(done > w->last && done <= 1);
    w->last = done;
    return w->go_on;
}

static void loading_shows_its_progress_and_can_be_given_up(void **state)
{
    (void)state;
    struct watcher w = {.go_on = true};
    engine_model *m = engine_model_open(
        &(struct engine_model_options){.path = QWEN2, .progress = watch, .progress_ctx = &w}, err, sizeof err);
    assert_non_null(m);
    if (w.calls) /* a set that packs nothing has nothing to show */
        assert_true(w.last == 1);
    engine_model_close(m);
    bool packs = w.calls > 0;
    w = (struct watcher){.go_on = false};
    m = engine_model_open(&(struct engine_model_options){.path = QWEN2, .progress = watch, .progress_ctx = &w}, err,
                          sizeof err);
    assert_true(packs ? m == NULL && strstr(err, "given up") && w.calls == 1 : m != NULL);
    engine_model_close(m);
}

static void a_kernel_set_is_forced_by_name(void **state)
{
    (void)state;
    setenv("CHINWAG_CPU", "scalar", 1);
    engine_model *m = engine_model_open(&(struct engine_model_options){.path = QWEN2}, err, sizeof err);
    assert_non_null(m);
    assert_string_equal(engine_model_info(m)->cpu, "scalar");
    engine_model_close(m);
    setenv("CHINWAG_CPU", "pdp11", 1);
    assert_null(engine_model_open(&(struct engine_model_options){.path = QWEN2}, err, sizeof err));
    assert_non_null(strstr(err, "CHINWAG_CPU=pdp11"));
    unsetenv("CHINWAG_CPU");
}

/* Repacked, read into memory, left as it lies: the same model. */
static void the_ways_of_loading_give_the_same_logits(void **state)
{
    (void)state;
    static float logits[4][8 * 544];
    const int32_t ids[8] = {5, 80, 13, 255, 300, 7, 7, 511};
    for (int i = 0; i < 4; i++) {
        const struct engine_model_options o = {.path = QWEN2, .no_mmap = i & 1, .no_repack = i & 2};
        engine_model *m = engine_model_open(&o, err, sizeof err);
        assert_non_null(m);
        engine_session *s = engine_session_open(m, &(struct engine_session_options){.n_ctx = 64}, err, sizeof err);
        assert_non_null(s);
        assert_int_equal(engine_session_eval(s, ids, 8, logits[i], err, sizeof err), ENGINE_OK);
        assert_memory_equal(logits[i], logits[0], sizeof logits[0]);
        engine_session_close(s);
        engine_model_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_that_is_missing_or_not_known_is_named),
        cmocka_unit_test(a_tensor_of_another_shape_is_named),
        cmocka_unit_test(a_shape_that_cannot_be_is_refused),
        cmocka_unit_test(an_unknown_architecture_is_named_with_the_known_ones),
        cmocka_unit_test(rope_scaling_of_an_unknown_kind_is_refused_by_name),
        cmocka_unit_test(a_key_that_is_missing_is_named),
        cmocka_unit_test(the_window_is_4096_tokens_or_what_the_model_was_trained_on),
        cmocka_unit_test(a_vocabulary_alone_serves_as_one),
        cmocka_unit_test(the_model_tells_what_it_is),
        cmocka_unit_test(a_name_cannot_command_the_terminal),
        cmocka_unit_test(loading_shows_its_progress_and_can_be_given_up),
        cmocka_unit_test(a_kernel_set_is_forced_by_name),
        cmocka_unit_test(the_ways_of_loading_give_the_same_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
