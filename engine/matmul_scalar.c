/*
 * matmul_scalar.c - the arithmetic of matmul.h in plain C: what all other kernel sets must equal, bit for bit.
 *
 * It decodes blocks as quant.c does and packs nothing.
 */
#include "matmul_layout.h"
#include "matmul_records.h"

#include <math.h>

#define VECTORS 16
#include "matmul_vector.h"

#define FLOAT_ROWS 2
#define FLOAT_TOKENS 1

static INLINE floats fma_floats(floats a, floats b, floats c)
{
    return (floats){fmaf(a[0], b[0], c[0])};
}

static INLINE floats load_f16(const void *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof half);
    return (floats){f16_to_f32(half)};
}

#include "matmul_floats.h"

static int dot(const struct quant_format *f, const uint8_t *code, const int8_t *q, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += (f->values ? f->values[code[i]] : code[i] - f->zero) * q[i];
    return sum;
}

/* The sub-blocks of one block, added to y in order; record: of the token's columns. */
static float add_block(const struct quant_format *f, const struct quant_block *b, const unsigned char *record,
                       float y)
{
    for (int k = 0; k < f->block / f->sub; k++) {
        const unsigned char *r = record + k * f->sub / 32 * RECORD_TOKEN_BYTES;
        const int8_t *q = (const int8_t *)r + k * f->sub % 32;
        float d = float_at(r + RECORD_D(1));
        y = fmaf((float)dot(f, b->code + k * f->sub, q, f->sub), b->scale[k] * d, y);
        if (f->has_min) {
            int sum = 0;
            for (int i = 0; i < f->sub; i++)
                sum += q[i];
            y = fmaf(b->min[k], d * (float)sum, y);
        }
    }
    return y;
}

static void multiply(const struct matrix *w, const struct activations *a, int row0, int row1, float *y, size_t stride,
                     void *scratch)
{
    const struct quant_format *f = w->format;
    if (f->block == 1) {
        multiply_floats(w, a, row0, row1, y, stride, scratch);
        return;
    }
    size_t blocks = (size_t)(w->cols / f->block), block_records = (size_t)f->block / 32 * RECORD_TOKEN_BYTES;
    const unsigned char *p = w->data + (size_t)row0 * blocks * (size_t)f->bytes;
    for (int r = row0; r < row1; r++) {
        for (int j = 0; j < a->n; j++)
            y[(size_t)j * stride + (size_t)r] = 0;
        for (size_t i = 0; i < blocks; i++, p += f->bytes) {
            struct quant_block b;
            f->decode(p, &b);
            for (size_t j = 0; j < (size_t)a->n; j++) {
                float *out = y + j * stride + r;
                *out = add_block(f, &b, a->records + (j * blocks + i) * block_records, *out);
            }
        }
    }
}

static void quantize(struct activations *a, int j0, int j1)
{
    quantize_tokens(a, (const int[]){1, 0}, j0, j1);
}

static size_t packs_nothing(const struct matrix *w)
{
    (void)w;
    return 0;
}

static void pack(const struct matrix *w, unsigned char *dst, int row0, int row1)
{
    (void)w, (void)dst, (void)row0, (void)row1;
}

const struct matmul_kernels matmul_scalar = {
    .name = "scalar",
    .row_align = 1,
    .packed_bytes = packs_nothing,
    .pack = pack,
    .quantize = quantize,
    .multiply = multiply,
};
