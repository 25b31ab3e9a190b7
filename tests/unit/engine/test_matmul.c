/*
 * Every kernel set this CPU has, in every format, on odd shapes: the block formats give the scalar set's bits; the
 * scalar set is near a float64 product; one token and many, packed or not, whole or in splits of rows: the same bits.
 */
#include "../../../engine/matmul.h"
#include "../../../engine/matmul_records.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const set_names[] = {"scalar", "avx2", "avxvnni", "avx512", "avx512vnni", "neon", "neondot"};
#define N_SETS (sizeof set_names / sizeof *set_names)

static const struct format {
    enum quant_id id;
    int halves[2]; /* where a block has half floats, -1 = none: random bits there could be infinities */
} formats[] = {
    {QUANT_F32, {-1, -1}},   {QUANT_F16, {0, -1}},    {QUANT_BF16, {-1, -1}},  {QUANT_Q4_0, {0, -1}},
    {QUANT_Q4_1, {0, 2}},    {QUANT_Q5_0, {0, -1}},   {QUANT_Q5_1, {0, 2}},    {QUANT_Q8_0, {0, -1}},
    {QUANT_Q2_K, {80, 82}},  {QUANT_Q3_K, {108, -1}}, {QUANT_Q4_K, {0, 2}},    {QUANT_Q5_K, {0, 2}},
    {QUANT_Q6_K, {208, -1}}, {QUANT_IQ4_NL, {0, -1}}, {QUANT_IQ4_XS, {0, -1}},
};
#define N_FORMATS (sizeof formats / sizeof *formats)

static uint32_t state = 1;

static uint32_t random_bits(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8 ^ state << 16;
}

static float random_float(void) /* -1 .. 1 */
{
    return (float)(random_bits() & 0xffff) / 32768 - 1;
}

/* A weight matrix of random bytes with sane scales, at an odd address. */
struct sample {
    struct matrix w;
    unsigned char *memory;
};

static void fill_block(const struct format *format, const struct quant_format *f, unsigned char *block)
{
    for (int i = 0; i < f->bytes; i++)
        block[i] = (unsigned char)(random_bits() >> 5);
    for (int i = 0; i < 2; i++)
        if (format->halves[i] >= 0) {
            uint16_t h = f32_to_f16(random_float());
            memcpy(block + format->halves[i], &h, 2);
        }
    float x = random_float();
    if (f->id == QUANT_F32)
        memcpy(block, &x, 4);
    if (f->id == QUANT_BF16)
        memcpy(block, (unsigned char *)&x + 2, 2);
}

static struct sample make_sample(const struct format *format, int rows, int cols)
{
    struct sample s = {.w = {.format = quant_format(format->id), .rows = rows, .cols = cols}};
    size_t blocks = (size_t)rows * (size_t)(cols / s.w.format->block), bytes = (size_t)s.w.format->bytes;
    s.memory = malloc(blocks * bytes + 1);
    s.w.data = s.memory + 1;
    for (size_t b = 0; b < blocks; b++)
        fill_block(format, s.w.format, s.memory + 1 + b * bytes);
    return s;
}

static void pack(const struct matmul_kernels *k, struct matrix *w)
{
    size_t bytes = k->packed_bytes(w);
    if (!bytes)
        return;
    w->packed = aligned_alloc(64, (bytes + 63) / 64 * 64);
    int half = w->rows / 2 / k->row_align * k->row_align;
    k->pack(w, w->packed, half, w->rows);
    k->pack(w, w->packed, 0, half);
}

static void free_sample(struct sample *s)
{
    free(s->memory);
    free(s->w.packed);
}

static struct activations make_activations(const struct matmul_kernels *k, const float *x, int n, int cols)
{
    struct activations a;
    assert_true(activations_alloc(&a, n, cols));
    a.n = n;
    a.cols = cols;
    a.f = x;
    if (cols % 32 == 0)
        k->quantize(&a, 0, n);
    return a;
}

static float *random_floats(size_t n)
{
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = random_float() * (i % 7 ? 1 : 4);
    return x;
}

static void *scratch;

/* n x rows results with NaN around them, which must stay. */
static float *multiply(const struct matmul_kernels *k, const struct matrix *w, const float *x, int n, int split)
{
    struct activations a = make_activations(k, x, n, w->cols);
    size_t stride = (size_t)w->rows + 3, size = (size_t)n * stride;
    float *y = malloc(size * sizeof *y);
    memset(y, 0xff, size * sizeof *y);
    for (int r = 0, step; r < w->rows; r += step) {
        step = split ? split * k->row_align : w->rows;
        k->multiply(w, &a, r, r + step < w->rows ? r + step : w->rows, y, stride, scratch);
    }
    for (size_t i = 0; i < size; i++)
        assert_int_equal(isnan(y[i]) != 0, i % stride >= (size_t)w->rows);
    for (int j = 0; j < n; j++)
        memmove(y + (size_t)j * (size_t)w->rows, y + (size_t)j * stride, (size_t)w->rows * sizeof *y);
    activations_free(&a);
    return y;
}

static void assert_same_bits(const float *a, const float *b, size_t n, const char *format, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0)
            fail_msg("%s, %s: element %zu is %.9g, not %.9g", format, what, i, (double)a[i], (double)b[i]);
}

/* Column c of token j as the scalar set quantized it. */
static double quantized(const struct activations *a, int j, int c)
{
    const unsigned char *r =
        a->records + ((size_t)j * (size_t)(a->cols / 32) + (size_t)(c / 32)) * RECORD_TOKEN_BYTES;
    float d;
    memcpy(&d, r + RECORD_D(1), sizeof d);
    return (double)d * ((const int8_t *)r)[c % 32];
}

/* Against the product in double of what the weights mean and what the activations were rounded to. */
static void assert_near_float64(const struct matrix *w, const float *x, int n, const float *y)
{
    const struct matmul_kernels *k = matmul_kernels("scalar");
    struct activations a = make_activations(k, x, n, w->cols);
    float *row = malloc((size_t)w->cols * sizeof *row);
    size_t row_bytes = (size_t)(w->cols / w->format->block) * (size_t)w->format->bytes;
    for (int r = 0; r < w->rows; r++) {
        w->format->dequantize(w->data + (size_t)r * row_bytes, row, (size_t)w->cols);
        for (int j = 0; j < n; j++) {
            double sum = 0, size = 0;
            for (int c = 0; c < w->cols; c++) {
                double v =
                    w->format->block == 1 ? (double)x[(size_t)j * (size_t)w->cols + (size_t)c] : quantized(&a, j, c);
                sum += row[c] * v;
                size += fabs(row[c] * v);
            }
            double got = (double)y[(size_t)j * (size_t)w->rows + (size_t)r];
            if (!(fabs(got - sum) <= 1e-6 * size + 1e-30))
                fail_msg("%s: row %d of %d x %d is %.9g, not %.9g", w->format->name, r, w->rows, w->cols, got, sum);
        }
    }
    free(row);
    activations_free(&a);
}

/* One set's packed forms, of which a matrix that can be split has two, against what is expected. */
static void check_packed(const struct matmul_kernels *k, struct sample *s, const float *x, int n,
                         const float *expected, char *what, size_t end)
{
    size_t size = (size_t)n * (size_t)s->w.rows;
    const char *name = s->w.format->name, *kind = s->w.planes ? "planes" : "packed";
    pack(k, &s->w);
    const unsigned char *data = s->w.data;
    if (s->w.packed)
        s->w.data = NULL; /* it may be gone by then */
    for (int split = 0; split <= 1; split++) {
        float *y = multiply(k, &s->w, x, n, split);
        sprintf(what + end, "%s%s", kind, split ? ", split" : "");
        assert_same_bits(y, expected, size, name, what);
        free(y);
    }
    for (int j = 0; j < n && n > 1; j += n - 1) { /* first and last token alone */
        float *y = multiply(k, &s->w, x + (size_t)j * (size_t)s->w.cols, 1, 0);
        sprintf(what + end, "%s, one of them alone", kind);
        assert_same_bits(y, expected + (size_t)j * (size_t)s->w.rows, (size_t)s->w.rows, name, what);
        free(y);
    }
    s->w.data = data;
    free(s->w.packed);
    s->w.packed = NULL;
}

/* All sets on one shape and number of tokens. */
static void check_shape(const struct format *format, int rows, int cols, int n)
{
    struct sample s = make_sample(format, rows, cols);
    float *x = random_floats((size_t)n * (size_t)cols);
    size_t size = (size_t)n * (size_t)rows;
    float *expected = multiply(matmul_kernels("scalar"), &s.w, x, n, 0);
    assert_near_float64(&s.w, x, n, expected);
    for (size_t i = 0; i < N_SETS; i++) {
        const struct matmul_kernels *k = matmul_kernels(set_names[i]);
        if (!k)
            continue;
        char what[120];
        snprintf(what, sizeof what, "%s, %d x %d, %d tokens, ", k->name, rows, cols, n);
        size_t end = strlen(what);
        const char *name = s.w.format->name;
        float *y = multiply(k, &s.w, x, n, 0);
        strcpy(what + end, "file layout");
        assert_same_bits(y, expected, size, name, what);
        free(y);
        check_packed(k, &s, x, n, expected, what, end);
        s.w.planes = k->multiply_top && matmul_can_split(&s.w);
        if (s.w.planes)
            check_packed(k, &s, x, n, expected, what, end);
        s.w.planes = false;
    }
    free(x);
    free(expected);
    free_sample(&s);
}

static void test_odd_rows(void **unused)
{
    (void)unused;
    for (size_t f = 0; f < N_FORMATS; f++)
        for (int rows = 1; rows <= 17; rows++) {
            int block = quant_format(formats[f].id)->block;
            check_shape(&formats[f], rows, block == 1 ? 37 : block, rows % 3 + 1);
        }
}

static void test_odd_columns(void **unused)
{
    (void)unused;
    static const int columns[] = {32, 64, 96, 576, 896, 1248, 1280, 1312, 1536, 2560, 4864, 4896};
    for (size_t f = 0; f < N_FORMATS; f++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            int block = quant_format(formats[f].id)->block, cols = (columns[c] + block - 1) / block * block;
            check_shape(&formats[f], 19, cols, c % 2 ? 1 : 3);
        }
}

static void test_numbers_of_tokens(void **unused)
{
    (void)unused;
    static const int tokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 20, 24, 33};
    for (size_t f = 0; f < N_FORMATS; f++)
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
            check_shape(&formats[f], 35, 768, tokens[i]);
}

/* More than one pass over the matrix, and a last pass of a single token. */
static void test_long_prompts(void **unused)
{
    (void)unused;
    check_shape(&formats[4], 16, 4864, 420);
    check_shape(&formats[12], 18, 1536, 401);
    for (int n = 205; n < 222; n++)
        check_shape(&formats[7], 3, 1280, n);
}

/* Floats in an odd number of columns: the last ones do not fill a vector. */
static void test_float_tails(void **unused)
{
    (void)unused;
    for (int f = 0; f < 3; f++)
        for (int cols = 1; cols < 40; cols++)
            check_shape(&formats[f], 9, cols, 5);
}

/* The largest integers there can be: nothing may saturate or wrap. */
static void test_extreme_codes(void **unused)
{
    (void)unused;
    static const unsigned char bytes[] = {0x00, 0xff, 0x80, 0x7f, 0x0f, 0xf0};
    float x[2 * 512];
    for (size_t i = 0; i < 2 * 512; i++)
        x[i] = i < 512 ? 1.0f : i % 4 < 2 ? -1.0f : 1.0f;
    for (size_t f = 3; f < N_FORMATS; f++)
        for (size_t b = 0; b < sizeof bytes; b++) {
            struct sample s = make_sample(&formats[f], 16, 512);
            size_t block = (size_t)s.w.format->bytes, size = 16 * (size_t)(512 / s.w.format->block) * block;
            memset(s.memory + 1, bytes[b], size);
            for (size_t at = 0; at < size; at += block)
                for (int i = 0; i < 2; i++)
                    if (formats[f].halves[i] >= 0)
                        memcpy(s.memory + 1 + at + formats[f].halves[i], &(uint16_t){0x3c00}, 2);
            float *expected = multiply(matmul_kernels("scalar"), &s.w, x, 2, 0);
            assert_near_float64(&s.w, x, 2, expected);
            for (size_t i = 0; i < N_SETS; i++) {
                const struct matmul_kernels *k = matmul_kernels(set_names[i]);
                if (!k)
                    continue;
                for (int n = 1; n <= 2; n++) {
                    float *y = multiply(k, &s.w, x + (n == 1) * 512, n, 0);
                    assert_same_bits(y, expected + (n == 1) * 16, (size_t)n * 16, s.w.format->name, k->name);
                    free(y);
                }
            }
            free(expected);
            free_sample(&s);
        }
}

static void test_packed_size_is_the_files(void **unused)
{
    (void)unused;
    for (size_t i = 1; i < N_SETS; i++) {
        const struct matmul_kernels *k = matmul_kernels(set_names[i]);
        for (size_t f = 0; k && f < N_FORMATS; f++) {
            const struct quant_format *q = quant_format(formats[f].id);
            struct matrix w = {.format = q, .rows = 2 * k->row_align, .cols = 512};
            size_t file = (size_t)w.rows * (size_t)(512 / q->block) * (size_t)q->bytes;
            assert_int_equal(k->packed_bytes(&w), q->block == 1 ? 0 : file);
            w.rows--;
            assert_int_equal(k->packed_bytes(&w), q->block == 1 ? 0 : file);
        }
    }
}

/* ---- quantize --------------------------------------------------------------------------------------------- */

static void assert_record(const unsigned char *r, const float *x)
{
    float max = 0, d, dsum;
    int32_t sum = 0, low = 0, neg, neg_low;
    for (int i = 0; i < 32; i++)
        max = fmaxf(max, fabsf(x[i]));
    if (max < 1e-36f)
        max = 0;
    for (int i = 0; i < 32; i++) {
        int q = ((const int8_t *)r)[i];
        assert_int_equal(q, max > 0 ? (int)nearbyintf(x[i] * (127 / max)) : 0);
        sum += q;
        low += i < 16 ? q : 0;
    }
    memcpy(&d, r + RECORD_D(1), 4);
    memcpy(&neg, r + RECORD_NEG(1), 4);
    memcpy(&neg_low, r + RECORD_NEG_LOW(1), 4);
    memcpy(&dsum, r + RECORD_DSUM(1), 4);
    assert_true(d == max / 127);
    assert_int_equal(neg, -sum);
    assert_int_equal(neg_low, -low);
    assert_true(dsum == d * (float)sum);
}

/* One token is laid out alike in all sets; that many are is shown by their products. */
static void test_quantize(void **unused)
{
    (void)unused;
    enum { COLS = 480 };
    float x[COLS];
    for (size_t i = 0; i < COLS; i++)
        x[i] = random_float() * (float)(1 << i / 32);
    for (int i = 0; i < 32; i++) {
        x[i] = 0;                                    /* a block of zeros */
        x[32 + i] = i == 5 ? -127 : (float)i + 0.5f; /* d = 1: ties go to even */
        x[64 + i] = 1e-40f;                          /* too small to have an inverse */
    }
    for (size_t s = 0; s < N_SETS; s++) {
        const struct matmul_kernels *k = matmul_kernels(set_names[s]);
        if (!k)
            continue;
        struct activations a = make_activations(k, x, 1, COLS);
        for (int b = 0; b < COLS / 32; b++)
            assert_record(a.records + b * RECORD_TOKEN_BYTES, x + 32 * b);
        const int8_t *q = (const int8_t *)a.records + RECORD_TOKEN_BYTES;
        assert_int_equal(q[0], 0);
        assert_int_equal(q[1], 2);
        assert_int_equal(q[5], -127);
        activations_free(&a);
    }
}

/* Ranges of tokens quantized one after another, as threads do it, make what one call makes. */
static void test_quantize_in_ranges(void **unused)
{
    (void)unused;
    enum { COLS = 64 };
    float *x = random_floats(64 * COLS);
    for (size_t s = 0; s < N_SETS; s++) {
        const struct matmul_kernels *k = matmul_kernels(set_names[s]);
        for (int n = 2; k && n < 40; n++) {
            struct activations whole = make_activations(k, x, n, COLS), parts = make_activations(k, x, n, COLS);
            size_t bytes = (size_t)n * COLS / 32 * RECORD_TOKEN_BYTES;
            memset(parts.records, 0x55, bytes);
            for (int j = n - 1; j >= 0; j -= 3)
                k->quantize(&parts, j < 2 ? 0 : j - 2, j + 1);
            assert_memory_equal(whole.records, parts.records, bytes);
            activations_free(&whole);
            activations_free(&parts);
        }
    }
    free(x);
}

static void test_unknown_sets(void **unused)
{
    (void)unused;
    assert_null(matmul_kernels("mmx"));
    assert_null(matmul_kernels(""));
    assert_non_null(matmul_kernels("scalar"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_rows),
        cmocka_unit_test(test_odd_columns),
        cmocka_unit_test(test_numbers_of_tokens),
        cmocka_unit_test(test_long_prompts),
        cmocka_unit_test(test_float_tails),
        cmocka_unit_test(test_extreme_codes),
        cmocka_unit_test(test_packed_size_is_the_files),
        cmocka_unit_test(test_quantize),
        cmocka_unit_test(test_quantize_in_ranges),
        cmocka_unit_test(test_unknown_sets),
    };
    scratch = aligned_alloc(64, MATMUL_SCRATCH_BYTES);
    printf("sets:");
    for (size_t i = 0; i < N_SETS; i++)
        printf(" %s%s", set_names[i], matmul_kernels(set_names[i]) ? "" : " (not here)");
    printf("\n");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(scratch);
    return failed;
}
