/*
 * The k largest products of a Q8_0 matrix in two planes: what is given is bit for bit the whole product, and nothing
 * that belongs among the k largest is missing, in every kernel set this CPU has.
 */
#include "../../../engine/matmul.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const set_names[] = {"avx2", "avxvnni", "avx512", "avx512vnni", "neon", "neondot"};
#define N_SETS (sizeof set_names / sizeof *set_names)
#define BLOCK_BYTES 34

static void *scratch;
static uint32_t state = 1;

static int random_below(int n)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 8) % (uint32_t)n);
}

/* A head, the activations of a token, all logits, and what is asked for. */
struct sample {
    struct matrix w;
    unsigned char *data;
    struct activations a;
    float *x, *whole, *got;
    uint16_t *always;
    struct matmul_top top;
};

static unsigned char *block_at(const struct sample *s, int row, int block)
{
    return s->data + ((size_t)row * (size_t)(s->w.cols / 32) + (size_t)block) * BLOCK_BYTES;
}

static void set_scale(const struct sample *s, int row, float scale)
{
    uint16_t half = f32_to_f16(scale);
    for (int b = 0; b < s->w.cols / 32; b++)
        memcpy(block_at(s, row, b), &half, 2);
}

/* Codes with a peak at 0, as weights have them, and scales that differ. */
static void open_sample(struct sample *s, int rows, int cols)
{
    size_t bytes = (size_t)rows * (size_t)(cols / 32) * BLOCK_BYTES;
    *s = (struct sample){.w = {.format = quant_format(QUANT_Q8_0), .rows = rows, .cols = cols, .planes = true}};
    s->w.data = s->data = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        s->data[i] = (unsigned char)(random_below(86) + random_below(86) + random_below(86) - 127);
    for (int r = 0; r < rows; r++)
        for (int b = 0; b < cols / 32; b++)
            memcpy(block_at(s, r, b), &(uint16_t){(uint16_t)(0x1800 + random_below(0x400))}, 2);
    s->x = malloc((size_t)cols * sizeof *s->x);
    for (int i = 0; i < cols; i++)
        s->x[i] = (float)(random_below(2001) - 1000) / (i % 50 ? 500 : 50);
    s->whole = malloc((size_t)rows * sizeof *s->whole);
    s->got = malloc(((size_t)rows + 1) * sizeof *s->got);
    s->always = calloc((size_t)rows / 16 + 1, sizeof *s->always);
}

static void close_sample(struct sample *s)
{
    free(s->data);
    free(s->x);
    free(s->whole);
    free(s->got);
    free(s->always);
}

static bool is_always(const struct sample *s, int row)
{
    return s->always[row / 16] >> row % 16 & 1;
}

/* The k-th largest of the rows not always computed; -INFINITY where there are fewer. */
static float kth_largest(const struct sample *s, int k)
{
    float *seen = malloc((size_t)s->w.rows * sizeof *seen), least = -INFINITY;
    int n = 0;
    for (int r = 0; r < s->w.rows; r++) {
        if (is_always(s, r) || isnan(s->whole[r]))
            continue;
        int at = n++;
        for (; at > 0 && seen[at - 1] < s->whole[r]; at--)
            seen[at] = seen[at - 1];
        seen[at] = s->whole[r];
    }
    if (n >= k)
        least = seen[k - 1];
    free(seen);
    return least;
}

static void check_rows(const struct sample *s, const char *set)
{
    float least = kth_largest(s, s->top.k);
    int exact = 0;
    for (int r = 0; r < s->w.rows; r++) {
        bool same = memcmp(&s->got[r], &s->whole[r], sizeof *s->got) == 0;
        bool needed = is_always(s, r) || !(s->whole[r] < least);
        exact += same;
        if (!same && (needed || s->got[r] != -INFINITY))
            fail_msg("%s, %d x %d, top %d: row %d is %.9g, not %.9g; the last of them is %.9g", set, s->w.rows,
                     s->w.cols, s->top.k, r, (double)s->got[r], (double)s->whole[r], (double)least);
    }
    assert_true(exact >=
                atomic_load(&s->top.exact)); /* a row that is -INFINITY may be so without having been computed */
    assert_true(isnan(s->got[s->w.rows]));
}

/* All sets that have multiply_top; the rows are multiplied in `parts` parts, one after the other, as members of a pool
 * would. Returns how many were computed exactly by the last of them, 0 where this machine has none. */
static int check(struct sample *s, int k, int parts)
{
    for (size_t i = 0; i < N_SETS; i++) {
        const struct matmul_kernels *kernels = matmul_kernels(set_names[i]);
        if (!kernels || !kernels->multiply_top)
            continue;
        assert_true(matmul_can_split(&s->w));
        s->w.packed = aligned_alloc(64, (kernels->packed_bytes(&s->w) + 63) / 64 * 64);
        kernels->pack(&s->w, s->w.packed, 0, s->w.rows);
        assert_true(activations_alloc(&s->a, 1, s->w.cols));
        s->a.n = 1;
        s->a.cols = s->w.cols;
        s->a.f = s->x;
        kernels->quantize(&s->a, 0, 1);
        kernels->multiply(&s->w, &s->a, 0, s->w.rows, s->whole, (size_t)s->w.rows, scratch);
        memset(s->got, 0xff, ((size_t)s->w.rows + 1) * sizeof *s->got);
        s->top = (struct matmul_top){.k = k, .always = s->always, .bound = -INFINITY};
        int groups = (s->w.rows + 15) / 16;
        for (int p = 0; p < parts; p++) {
            int row0 = groups * p / parts * 16, row1 = groups * (p + 1) / parts * 16;
            kernels->multiply_top(&s->w, &s->a, row0, row1 < s->w.rows ? row1 : s->w.rows, s->got, &s->top, scratch);
        }
        check_rows(s, kernels->name);
        activations_free(&s->a);
        free(s->w.packed);
        s->w.packed = NULL;
    }
    return atomic_load(&s->top.exact);
}

static void the_largest_are_exact_and_few(void **unused)
{
    (void)unused;
    static const int ks[] = {1, 2, 20, 40, 200, MATMUL_MAX_TOP};
    for (int round = 0; round < 20; round++) {
        struct sample s;
        open_sample(&s, 3000 + 7 * round, round % 2 ? 576 : 896);
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
            int exact = check(&s, ks[i], 1 + round % 3);
            assert_true(exact == 0 || ks[i] > 40 || exact < s.w.rows / 3); /* 0: no set here */
        }
        close_sample(&s);
    }
}

static void any_shape(void **unused)
{
    (void)unused;
    for (int rows = 1; rows < 70; rows++)
        for (int cols = 32; cols < 2600; cols *= 3) {
            struct sample s;
            open_sample(&s, rows, cols);
            for (int k = 1; k < 80; k *= 3)
                check(&s, k, rows % 4 + 1);
            close_sample(&s);
        }
}

static void rows_always_wanted_are_exact_and_no_bound_for_others(void **unused)
{
    (void)unused;
    for (int round = 0; round < 20; round++) {
        struct sample s;
        open_sample(&s, 1500, 576);
        for (int r = 0; r < s.w.rows; r++)
            if (random_below(30) == 0) {
                matmul_row_set_add(s.always, r);
                set_scale(&s, r, 4); /* far above all others, or below */
            }
        check(&s, 10, 2);
        close_sample(&s);
    }
}

static void equal_rows_are_all_there(void **unused)
{
    (void)unused;
    struct sample s;
    open_sample(&s, 2000, 576);
    size_t row = (size_t)(576 / 32) * BLOCK_BYTES;
    for (int r = 0; r < s.w.rows; r += 9)
        memcpy(block_at(&s, r, 0), block_at(&s, r % 5, 0), row);
    for (int k = 1; k < 300; k += 13)
        check(&s, k, 2);
    close_sample(&s);
}

static void what_is_no_number_is_not_passed_over(void **unused)
{
    (void)unused;
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0, 65504, -65504};
    for (int round = 0; round < 12; round++) {
        struct sample s;
        open_sample(&s, 1000, 576);
        for (int r = 0; r < s.w.rows; r++)
            if (random_below(20) == 0)
                set_scale(&s, r, odd[random_below(6)]);
        if (round >= 8)
            s.x[random_below(576)] = odd[round % 3]; /* then no row is a number */
        else if (round >= 6)
            s.x[random_below(576)] = 1e37f;
        check(&s, 5, 2);
        close_sample(&s);
    }
}

static void tiny_activations_lose_nothing(void **unused)
{
    (void)unused;
    for (float size = 1e-3f; size > 1e-30f; size /= 10) {
        struct sample s;
        open_sample(&s, 500, 96);
        for (int i = 0; i < 96; i++)
            s.x[i] *= size;
        check(&s, 3, 1);
        close_sample(&s);
    }
}

static void rows_of_few_codes_are_uneven(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < N_SETS; i++) {
        const struct matmul_kernels *kernels = matmul_kernels(set_names[i]);
        if (!kernels)
            continue;
        struct sample s;
        open_sample(&s, 64, 576);
        for (int c = 0; c < 576; c++) {
            unsigned char *code = block_at(&s, 0, c / 32) + 2 + c % 32;
            *code = 100;                                                                     /* a constant */
            code[(size_t)(576 / 32) * BLOCK_BYTES] = (unsigned char)(16 * random_below(16)); /* multiples of 16 */
            code[(size_t)(576 / 32) * BLOCK_BYTES * 2] =
                (unsigned char)(16 * random_below(16) +
                                15 * random_below(2)); /* the mean is right, the spread is not */
        }
        s.w.packed = aligned_alloc(64, (kernels->packed_bytes(&s.w) + 63) / 64 * 64);
        kernels->pack(&s.w, s.w.packed, 0, s.w.rows);
        for (int r = 0; r < s.w.rows; r++)
            assert_int_equal(matmul_row_is_even(&s.w, r), r > 2);
        free(s.w.packed);
        close_sample(&s);
    }
}

static void only_what_fits_is_split(void **unused)
{
    (void)unused;
    struct matrix w = {.format = quant_format(QUANT_Q8_0), .rows = 16, .cols = 4096};
    assert_true(matmul_can_split(&w));
    w.cols = 1 << 20;
    assert_false(matmul_can_split(&w));
    w = (struct matrix){.format = quant_format(QUANT_Q6_K), .rows = 16, .cols = 4096};
    assert_false(matmul_can_split(&w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_are_exact_and_few),
        cmocka_unit_test(any_shape),
        cmocka_unit_test(rows_always_wanted_are_exact_and_no_bound_for_others),
        cmocka_unit_test(equal_rows_are_all_there),
        cmocka_unit_test(what_is_no_number_is_not_passed_over),
        cmocka_unit_test(tiny_activations_lose_nothing),
        cmocka_unit_test(rows_of_few_codes_are_uneven),
        cmocka_unit_test(only_what_fits_is_split),
    };
    scratch = aligned_alloc(64, MATMUL_SCRATCH_BYTES);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(scratch);
    return failed;
}
