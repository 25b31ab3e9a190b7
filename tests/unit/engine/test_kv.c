/* The KV cache: where positions lie, what a query sees, and what a ring of tiles forgets. */
#include "../../../engine/cpu.h"
#include "../../../engine/kv.h"
#include "../../../engine/quant.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct kv_shape shape(int n_ctx, int window, int chunk)
{
    return (struct kv_shape){
        .n_layers = 3, .n_heads = 2, .head_dim = 32, .n_ctx = n_ctx, .window = window, .chunk = chunk};
}

/* By the definition: positions after the query are not seen, nor those before the window, sinks apart. */
static bool sees(int position, int window, int other)
{
    return other <= position && (window == 0 || other < KV_SINKS || other > position - window);
}

static void spans_are_the_definition(void **state)
{
    (void)state;
    const int windows[] = {0, 1, 2, 3, 5, 63, 64, 65, 100, 300};
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
        struct kv kv = {.shape = shape(320, windows[w], 16), .slots = 5};
        for (int position = 0; position < 320; position++)
            for (int tile = 0; tile < 5; tile++) {
                struct vector_span see = kv_span(&kv, position, tile);
                for (int i = 0; i < VECTOR_TILE; i++) {
                    bool seen = i < see.to && (i < see.sinks || i >= see.from);
                    assert_int_equal(seen, sees(position, windows[w], tile * VECTOR_TILE + i));
                }
            }
    }
}

static void tiles_hold_all_that_is_seen(void **state)
{
    (void)state;
    for (int window = 0; window < 200; window += 7)
        for (int first = 0; first < 300; first += 11) {
            struct kv kv = {.shape = shape(512, window, 16)};
            int begin, end, last = first + 15;
            kv_tiles(&kv, first, last, &begin, &end);
            assert_true(begin >= 1 && begin <= end);
            for (int p = first; p <= last; p++)
                for (int other = VECTOR_TILE; other <= p; other++)
                    if (sees(p, window, other)) {
                        assert_true(other / VECTOR_TILE >= begin);
                        assert_true(other / VECTOR_TILE < end);
                    }
        }
}

static void what_is_stored_is_found_where_the_layout_says(void **state)
{
    (void)state;
    struct kv kv;
    char err[256];
    struct kv_shape s = shape(200, 0, 16);
    const struct vector_kernels *vector = vector_kernels("scalar");
    assert_true(kv_open(&kv, &s, err, sizeof err));
    assert_int_equal(kv.bytes, kv_bytes(&s));
    assert_int_equal((uintptr_t)kv.data % 64, 0);
    for (int layer = 0; layer < 3; layer++)
        for (int head = 0; head < 2; head++)
            for (int p = 0; p < 200; p++) {
                float k[32], v[32];
                for (int d = 0; d < 32; d++) {
                    k[d] = (float)(p * 8 + layer * 2 + head) + (float)d / 64;
                    v[d] = -k[d];
                }
                kv_store(&kv, vector, layer, head, p, k, v);
            }
    for (int layer = 0; layer < 3; layer++)
        for (int head = 0; head < 2; head++)
            for (int p = 0; p < 200; p++)
                for (int d = 0; d < 32; d++) {
                    const uint16_t *k = (const uint16_t *)(void *)kv_k(&kv, layer, head, p / 64);
                    const uint16_t *v = (const uint16_t *)(void *)kv_v(&kv, layer, head, p / 64);
                    uint16_t want = f32_to_f16((float)(p * 8 + layer * 2 + head) + (float)d / 64);
                    assert_int_equal(k[(p % 64 / 16 * 32 + d) * 16 + p % 16], want);
                    assert_int_equal(v[p % 64 * 32 + d], want ^ 0x8000);
                }
    kv_close(&kv);
}

/* In 8 bits every value is within half a step of what was stored, on every kernel set. */
static void eight_bits_keep_half_a_step(void **state)
{
    (void)state;
    for (const char *const *set = cpu_sets((const char *[CPU_SETS_MAX]){0}); *set; set++)
        for (int hd = 32; hd <= VECTOR_HEAD_MAX; hd += 32) {
            struct kv kv;
            char err[256];
            struct kv_shape s = {.n_layers = 1, .n_heads = 2, .head_dim = hd, .n_ctx = 130, .type = ENGINE_KV_Q8_0};
            assert_true(kv_open(&kv, &s, err, sizeof err));
            assert_int_equal(kv.bytes, 2 * 2 * 3 * 64 * hd * 34 / 32);
            static float k[130][VECTOR_HEAD_MAX], v[130][VECTOR_HEAD_MAX], kw[64 * VECTOR_HEAD_MAX],
                vw[64 * VECTOR_HEAD_MAX];
            for (int p = 0; p < 130; p++) {
                for (int d = 0; d < hd; d++) {
                    k[p][d] = (float)((p * 37 + d * 101) % 200 - 100) * (float)(1 + d / 32);
                    v[p][d] = (float)((p * 59 + d * 83) % 300 - 150) / (float)(1 + p);
                }
                kv_store(&kv, vector_kernels(*set), 0, 1, p, k[p], v[p]);
            }
            for (int p = 0; p < 130; p++) {
                if (p % 64 == 0)
                    kv_widen(&kv, vector_kernels(*set), 0, 1, p / 64, kw, vw);
                for (int d = 0; d < hd; d++) {
                    float k_step = 100.0f * (float)(1 + d / 32) / 127, v_step = 150 / (float)(1 + p) / 127;
                    assert_true(fabsf(kw[(p % 64 / 16 * hd + d) * 16 + p % 16] - k[p][d]) < k_step * 0.57f);
                    assert_true(fabsf(vw[p % 64 * hd + d] - v[p][d]) < v_step * 0.57f);
                }
            }
            kv_close(&kv);
        }
    struct kv kv;
    char err[256];
    struct kv_shape odd = {.n_layers = 1, .n_heads = 1, .head_dim = 48, .n_ctx = 64, .type = ENGINE_KV_Q8_0};
    assert_false(kv_open(&kv, &odd, err, sizeof err));
    assert_non_null(strstr(err, "use f16"));
}

static void a_window_bounds_the_memory(void **state)
{
    (void)state;
    struct kv_shape all = shape(32768, 0, 64), window = shape(32768, 256, 64), wide = shape(1024, 1024, 64);
    assert_int_equal(kv_bytes(&all), 2ull * 3 * 2 * 32768 * 32 * 2);
    assert_true(kv_bytes(&window) < kv_bytes(&all) / 50);
    assert_int_equal(kv_bytes(&wide), 2ull * 3 * 2 * 1024 * 32 * 2);
}

/* Writing positions in order, chunk by chunk, whatever any query of the chunk sees must still be in the ring. */
static void a_ring_forgets_nothing_that_is_still_seen(void **state)
{
    (void)state;
    const int windows[] = {1, 63, 64, 65, 130}, chunks[] = {1, 50, 64, 100};
    for (size_t w = 0; w < 5; w++)
        for (size_t c = 0; c < 4; c++) {
            struct kv kv;
            char err[256];
            struct kv_shape s = shape(2000, windows[w], chunks[c]);
            int held[2000 / 64 + 1] = {0}; /* by slot: the tile last written there */
            assert_true(kv_open(&kv, &s, err, sizeof err));
            for (int p = 0; p + chunks[c] <= 2000; p += chunks[c]) {
                for (int i = p; i < p + chunks[c]; i++)
                    held[(size_t)(kv_k(&kv, 0, 0, i / 64) - kv.data) / kv.tile_bytes] = i / 64;
                assert_true(kv_holds(&kv, p + 1, p + chunks[c]));
                for (int i = p; i < p + chunks[c]; i++)
                    for (int other = 0; other <= i; other++)
                        if (sees(i, windows[w], other))
                            assert_int_equal(held[(size_t)(kv_k(&kv, 0, 0, other / 64) - kv.data) / kv.tile_bytes],
                                             other / 64);
            }
            assert_false(kv_holds(&kv, 100 + windows[w], 1900)); /* long overwritten */
            assert_true(kv_holds(&kv, 1, 1900));                 /* the first tile never is */
            kv_close(&kv);
        }
}

static void too_much_memory_is_an_error_with_the_bytes(void **state)
{
    (void)state;
    struct kv kv;
    char err[256] = "";
    struct kv_shape s = {.n_layers = 1024, .n_heads = 1024, .head_dim = 256, .n_ctx = 1 << 30, .chunk = 16};
    assert_false(kv_open(&kv, &s, err, sizeof err));
    assert_non_null(strstr(err, "bytes"));
    assert_non_null(strstr(err, "1073741824 tokens"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_the_definition),
        cmocka_unit_test(tiles_hold_all_that_is_seen),
        cmocka_unit_test(what_is_stored_is_found_where_the_layout_says),
        cmocka_unit_test(eight_bits_keep_half_a_step),
        cmocka_unit_test(a_window_bounds_the_memory),
        cmocka_unit_test(a_ring_forgets_nothing_that_is_still_seen),
        cmocka_unit_test(too_much_memory_is_an_error_with_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
