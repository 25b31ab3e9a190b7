/* The vector kernels of every set this CPU has, against plain double arithmetic. */
#include "../../../engine/cpu.h"
#include "../../../engine/kv.h"
#include "../../../engine/quant.h"
#include "../../../engine/vector.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct vector_kernels *kernels; /* of the set under test */

static uint32_t seed = 1;

static float uniform(float low, float high)
{
    seed = seed * 1664525 + 1013904223;
    return low + (high - low) * (float)(seed >> 8) / 16777216.0f;
}

static void fill(float *x, size_t n, float low, float high)
{
    for (size_t i = 0; i < n; i++)
        x[i] = uniform(low, high);
}

static void exp_is_accurate_to_two_units(void **state)
{
    (void)state;
    double worst = 0;
    for (int round = 0; round < 2000; round++) {
        float x[67], y[67];
        fill(x, 67, -87.2f, 88.0f);
        kernels->exponentials(x, y, 67, 1, 0);
        for (int i = 0; i < 67; i++) {
            double want = exp((double)x[i]), unit = ldexp(1, ilogb(want) - 23);
            worst = fmax(worst, fabs((double)y[i] - want) / unit);
        }
    }
    assert_true(worst < 2);
    const float edge[] = {0, -0.0f, -88, -1e30f, -INFINITY, 1};
    float y[6];
    kernels->exponentials(edge, y, 6, 1, 0);
    assert_true(y[0] == 1 && y[1] == 1 && y[2] == 0 && y[3] == 0 && y[4] == 0);
    kernels->exponentials(edge + 5, y, 1, 3, 5);
    assert_true(fabs((double)y[0] - exp(-2)) < 1e-8);
}

static void silu_and_norm_are_what_they_mean(void **state)
{
    (void)state;
    for (int n = 1; n < 200; n += 3) {
        float gate[200], up[200], out[200], weight[200], x[200];
        fill(gate, 200, -30, 30);
        fill(up, 200, -3, 3);
        fill(weight, 200, 0.5f, 1.5f);
        memcpy(out, gate, sizeof out);
        kernels->silu_multiply(out, up, n);
        for (int i = 0; i < 200; i++) {
            double want = i < n ? gate[i] / (1 + exp(-(double)gate[i])) * up[i] : gate[i];
            assert_true(fabs((double)out[i] - want) <= 1e-6 * fabs(want) + 1e-12);
        }
        fill(x, 200, -2, 2);
        double squares = 0;
        for (int i = 0; i < n; i++)
            squares += (double)x[i] * x[i];
        kernels->rms_norm(x, weight, out, n, 1e-5f);
        for (int i = 0; i < n; i++) {
            double want = x[i] / sqrt(squares / n + 1e-5) * weight[i];
            assert_true(fabs((double)out[i] - want) <= 2e-6 * fabs(want) + 1e-9);
        }
        float best = x[0];
        for (int i = 1; i < n; i++)
            best = x[i] > best ? x[i] : best;
        assert_true(kernels->largest(x, (size_t)n) == best);
    }
}

static void largest_passes_over_what_is_no_number(void **state)
{
    (void)state;
    float x[100];
    for (int n = 2; n < 100; n++) {
        fill(x, 100, -5, -1);
        x[0] = NAN;
        x[n - 1] = -0.5f;
        assert_true(kernels->largest(x, (size_t)n) == -0.5f);
    }
    assert_true(kernels->largest(x, 0) == -INFINITY);
    x[1] = NAN;
    assert_true(kernels->largest(x, 2) == -INFINITY);
}

static void rope_rotates_the_pairs(void **state)
{
    (void)state;
    for (int pairs = 1; pairs <= 40; pairs++) {
        float x[96], y[96], c[48], s[48];
        fill(x, 96, -1, 1);
        for (int i = 0; i < pairs; i++) {
            c[i] = cosf((float)i);
            s[i] = sinf((float)i);
        }
        for (int halves = 0; halves < 2; halves++) {
            memcpy(y, x, sizeof y);
            (halves ? kernels->rotate_halves : kernels->rotate_neighbours)(y, c, s, pairs);
            for (int i = 0; i < pairs; i++) {
                int a = halves ? i : 2 * i, b = halves ? i + pairs : 2 * i + 1;
                assert_true(fabs((double)y[a] - ((double)x[a] * c[i] - (double)x[b] * s[i])) < 1e-6);
                assert_true(fabs((double)y[b] - ((double)x[a] * s[i] + (double)x[b] * c[i])) < 1e-6);
            }
            for (int i = 2 * pairs; i < 96; i++)
                assert_true(y[i] == x[i]);
        }
    }
}

static void halves_are_rounded_to_nearest_and_saturate(void **state)
{
    (void)state;
    float x[5000], back[5008];
    uint16_t h[5008];
    fill(x, 5000, -70000, 70000);
    for (int i = 0; i < 2000; i++)
        x[i] *= 1e-6f; /* subnormal halves too */
    x[0] = INFINITY;
    x[1] = -1e30f;
    x[2] = 65504;
    x[3] = 65519;
    for (int n = 1; n < 40; n++) {
        memset(h, 0x55, sizeof h);
        kernels->narrow(x, h, n);
        assert_int_equal(h[n], 0x5555);
        for (int i = 4; i < n; i++)
            assert_int_equal(h[i], f32_to_f16(x[i]));
    }
    assert_int_equal(h[0], 0x7bff);
    assert_int_equal(h[1], 0xfbff);
    assert_int_equal(h[2], 0x7bff);
    assert_int_equal(h[3], 0x7bff);
    kernels->narrow(x, h, 5000);
    for (int i = 4; i < 5000; i++) {
        float v = x[i] > 65504 ? 65504 : x[i] < -65504 ? -65504 : x[i];
        assert_int_equal(h[i], f32_to_f16(v));
    }
    kernels->widen(h, back, 5008);
    for (int i = 0; i < 5000; i++)
        assert_true(back[i] == f16_to_f32(h[i]));
}

/* ---- attention ------------------------------------------------------------------------------------------- */

#define TILES 3
#define POSITIONS (TILES * VECTOR_TILE)
#define MAX_QUERIES 9

struct scene { /* K and V of some tiles, in the cache's layout, widened, and plain */
    int head_dim, n_queries;
    float q[MAX_QUERIES * VECTOR_HEAD_MAX];
    uint16_t k[POSITIONS * VECTOR_HEAD_MAX], v[POSITIONS * VECTOR_HEAD_MAX];
    float k_wide[POSITIONS * VECTOR_HEAD_MAX], v_wide[POSITIONS * VECTOR_HEAD_MAX];
    int position[MAX_QUERIES];
    struct kv kv; /* for its window only */
};

static struct scene *make_scene(int head_dim, int n_queries, int window)
{
    static struct scene s;
    size_t n = (size_t)(POSITIONS * head_dim);
    s.head_dim = head_dim;
    s.n_queries = n_queries;
    s.kv.shape.window = window;
    fill(s.q, (size_t)(n_queries * head_dim), -1, 1);
    fill(s.k_wide, n, -2, 2);
    fill(s.v_wide, n, -2, 2);
    kernels->narrow(s.k_wide, s.k, (int)n);
    kernels->narrow(s.v_wide, s.v, (int)n);
    kernels->widen(s.k, s.k_wide, n);
    kernels->widen(s.v, s.v_wide, n);
    for (int i = 0; i < n_queries; i++)
        s.position[i] = (int)uniform(0, POSITIONS - 0.01f);
    return &s;
}

static double k_of(const struct scene *s, int p, int d)
{
    return (double)s->k_wide[(p / VECTOR_GROUP * s->head_dim + d) * VECTOR_GROUP + p % VECTOR_GROUP];
}

/* Queries [first, first + n) over all tiles, those of `wide` from floats. */
static void attend_scene(const struct scene *s, int first, int n, bool wide, float *out)
{
    size_t hd = (size_t)s->head_dim, tile = VECTOR_TILE * hd;
    _Alignas(64) static float state[MAX_QUERIES * VECTOR_STATE(VECTOR_HEAD_MAX)];
    unsigned char begun[MAX_QUERIES] = {0};
    for (int t = 0; t < TILES; t++) {
        struct vector_span see[MAX_QUERIES];
        for (int i = 0; i < n; i++)
            see[i] = kv_span(&s->kv, s->position[first + i], t);
        struct vector_attend a = {
            .head_dim = s->head_dim,
            .n_queries = n,
            .q = s->q + (size_t)first * hd,
            .k = wide ? (const void *)(s->k_wide + (size_t)t * tile) : s->k + (size_t)t * tile,
            .v = wide ? (const void *)(s->v_wide + (size_t)t * tile) : s->v + (size_t)t * tile,
            .see = see,
            .state = state,
            .begun = begun,
        };
        (wide ? kernels->attend_wide : kernels->attend)(&a);
        for (int i = 0; i < n; i++)
            begun[i] |= see[i].to > 0;
    }
    for (int i = 0; i < n; i++)
        kernels->finish(state + (size_t)i * VECTOR_STATE(hd), out + (size_t)i * hd, s->head_dim);
}

static void check_attention(const struct scene *s, const float *out)
{
    int window = s->kv.shape.window;
    for (int i = 0; i < s->n_queries; i++) {
        double weight[POSITIONS], sum = 0, best = -INFINITY;
        for (int p = 0; p <= s->position[i]; p++) {
            bool seen = window == 0 || p < KV_SINKS || p > s->position[i] - window;
            weight[p] = seen ? 0 : -INFINITY;
            for (int d = 0; seen && d < s->head_dim; d++)
                weight[p] += (double)s->q[i * s->head_dim + d] * k_of(s, p, d);
            best = fmax(best, weight[p]);
        }
        for (int p = 0; p <= s->position[i]; p++)
            sum += weight[p] = exp2(weight[p] - best);
        for (int d = 0; d < s->head_dim; d++) {
            double want = 0;
            for (int p = 0; p <= s->position[i]; p++)
                want += weight[p] / sum * (double)s->v_wide[p * s->head_dim + d];
            assert_true(fabs((double)out[i * s->head_dim + d] - want) < 2e-5);
        }
    }
}

static void attention_is_softmax_of_what_is_seen(void **state)
{
    (void)state;
    const int windows[] = {0, 1, 5, 64, 100};
    static float out[MAX_QUERIES * VECTOR_HEAD_MAX], wide[MAX_QUERIES * VECTOR_HEAD_MAX], one[VECTOR_HEAD_MAX];
    for (int hd = 16; hd <= VECTOR_HEAD_MAX; hd += hd < 96 ? 16 : 80)
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
            for (int n = 1; n <= MAX_QUERIES; n++) {
                struct scene *s = make_scene(hd, n, windows[w]);
                attend_scene(s, 0, n, false, out);
                check_attention(s, out);
                /* The same bits from widened tiles, and for each query alone. */
                attend_scene(s, 0, n, true, wide);
                assert_memory_equal(out, wide, (size_t)(n * hd) * sizeof *out);
                for (int i = 0; i < n; i++) {
                    attend_scene(s, i, 1, false, one);
                    assert_memory_equal(out + i * hd, one, (size_t)hd * sizeof *out);
                }
            }
}

/* What decode does: a state for each tile, merged afterwards, is what prefill does: one state carried along. */
static void merged_states_are_the_carried_one(void **state)
{
    (void)state;
    for (int hd = 16; hd <= 128; hd += 16) {
        struct scene *s = make_scene(hd, 1, 0);
        s->position[0] = POSITIONS - 1;
        _Alignas(64) float parts[TILES][VECTOR_STATE(128)], out[128], carried[128];
        for (int t = 0; t < TILES; t++) {
            struct vector_span see = {0, 0, VECTOR_TILE};
            kernels->attend(&(struct vector_attend){
                .head_dim = hd,
                .n_queries = 1,
                .q = s->q,
                .k = s->k + t * VECTOR_TILE * hd,
                .v = s->v + t * VECTOR_TILE * hd,
                .see = &see,
                .state = parts[t],
                .begun = &(unsigned char){0},
                .next_k = s->k,
            });
        }
        for (int t = 1; t < TILES; t++)
            kernels->merge(parts[0], parts[t], hd);
        kernels->finish(parts[0], out, hd);
        attend_scene(s, 0, 1, true, carried);
        assert_memory_equal(out, carried, (size_t)hd * sizeof *out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_accurate_to_two_units),
        cmocka_unit_test(silu_and_norm_are_what_they_mean),
        cmocka_unit_test(largest_passes_over_what_is_no_number),
        cmocka_unit_test(rope_rotates_the_pairs),
        cmocka_unit_test(halves_are_rounded_to_nearest_and_saturate),
        cmocka_unit_test(attention_is_softmax_of_what_is_seen),
        cmocka_unit_test(merged_states_are_the_carried_one),
    };
    int failed = 0;
    for (const char *const *set = cpu_sets((const char *[CPU_SETS_MAX]){0}); *set; set++) {
        kernels = vector_kernels(*set);
        print_message("vector kernels of %s: %s\n", *set, kernels->name);
        failed += cmocka_run_group_tests_name(*set, tests, NULL, NULL);
    }
    return failed;
}
