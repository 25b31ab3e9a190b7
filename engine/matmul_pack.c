/*
 * matmul_pack.c - from the file's layout to the packed one of matmul_layout.h.
 *
 * A block is decoded into codes (quant.c), 8 codes are handled as the bytes of a 64-bit word, and each step's 4 bytes
 * go to the row's lane. Little-endian, as GGUF is.
 */
#include "matmul_layout.h"

#include <math.h>
#include <string.h>

#define PACK_INLINE inline __attribute__((always_inline)) /* so that each format's layout is constant */

#define BYTES(x) (0x0101010101010101u * (x))

static PACK_INLINE void store32(unsigned char *p, uint64_t v)
{
    uint32_t low = (uint32_t)v;
    memcpy(p, &low, sizeof low);
}

/* The planes' bytes of one row's 32 codes; each 4 of them are one lane of 64 bytes. */
static PACK_INLINE unsigned char *put_bytes(const uint64_t c[4], unsigned char *dst)
{
    for (int i = 0; i < 8; i++, dst += 64)
        store32(dst, c[i / 2] >> i % 2 * 32);
    return dst;
}

static PACK_INLINE unsigned char *put_nibbles(const uint64_t c[4], unsigned char *dst)
{
    for (int i = 0; i < 2; i++, dst += 128) {
        uint64_t v = (c[i] & BYTES(15)) | (c[i + 2] & BYTES(15)) << 4;
        store32(dst, v);
        store32(dst + 64, v >> 32);
    }
    return dst;
}

static PACK_INLINE unsigned char *put_pairs(const uint64_t c[4], int shift, unsigned char *dst)
{
    for (int i = 0; i < 4; i += 2, dst += 64) {
        uint64_t v = (c[i] >> shift & BYTES(3)) | (c[i + 1] >> shift & BYTES(3))
                                                      << 4; /* steps 0 and 2; above, 1 and 3 */
        store32(dst, v | v >> 32 << 2);
    }
    return dst;
}

static PACK_INLINE unsigned char *put_bits(const uint64_t c[4], int shift, unsigned char *dst)
{
    uint64_t v = 0;
    for (int i = 0; i < 4; i++)
        v |= (c[i] >> shift & BYTES(1)) << 2 * i; /* even steps; above, the odd ones */
    store32(dst, v | v >> 32 << 1);
    return dst + 64;
}

static PACK_INLINE void pack_row_block(struct matmul_layout l, void (*decode)(const void *, struct quant_block *),
                                       const unsigned char *src, unsigned char *dst, int lane)
{
    struct quant_block b;
    for (int i = 0; i < l.halves; i++, dst += 2 * MATMUL_ROWS)
        memcpy(dst + 2 * lane, src + l.half_at + 2 * i, 2);
    for (int i = 0; i < l.words; i++, dst += 4 * MATMUL_ROWS)
        memcpy(dst + 4 * lane, src + l.word_at + 4 * i, 4);
    decode(src, &b);
    dst += 4 * lane;
    for (int i = 0; i < l.block; i += 32) {
        uint64_t c[4];
        memcpy(c, b.code + i, sizeof c);
        dst = l.low == 8 ? put_bytes(c, dst) : l.low == 4 ? put_nibbles(c, dst) : put_pairs(c, 0, dst);
        if (l.high)
            dst = l.high == 1 ? put_bits(c, l.low, dst) : put_pairs(c, l.low, dst);
    }
}

/* `rows` rows of `blocks` blocks each, the next row row_bytes further on. */
static PACK_INLINE void pack_rows(struct matmul_layout l, const struct quant_format *f, const unsigned char *src,
                                  size_t row_bytes, int rows, int blocks, unsigned char *dst)
{
    for (int b = 0; b < blocks; b++, src += l.bytes, dst += l.bytes * MATMUL_ROWS)
        for (int lane = 0; lane < rows; lane++)
            pack_row_block(l, f->decode, src + (size_t)lane * row_bytes, dst, lane);
}

typedef void pack_function(const struct quant_format *f, const unsigned char *src, size_t row_bytes, int rows,
                           int blocks, unsigned char *dst);

#define X(name, ...)                                                                                                 \
    static void pack_##name(const struct quant_format *f, const unsigned char *src, size_t row_bytes, int rows,      \
                            int blocks, unsigned char *dst)                                                          \
    {                                                                                                                \
        pack_rows(matmul_layout_##name, f, src, row_bytes, rows, blocks, dst);                                       \
    }
MATMUL_FORMATS(X)
#undef X

static const struct {
    enum quant_id id;
    const struct matmul_layout *layout;
    pack_function *pack;
} formats[MATMUL_N_FORMATS] = {
#define X(name, ...) [MATMUL_##name] = {QUANT_##name, &matmul_layout_##name, pack_##name},
    MATMUL_FORMATS(X)
#undef X
};

const struct matmul_layout *matmul_layout(enum quant_id id, enum matmul_format *format)
{
    for (int i = 0; i < MATMUL_N_FORMATS; i++)
        if (formats[i].id == id) {
            *format = (enum matmul_format)i;
            return formats[i].layout;
        }
    return NULL;
}

size_t matmul_strip_bytes(const struct matmul_layout *l, const struct matrix *w)
{
    return (size_t)(w->cols / l->block) * (size_t)l->bytes * MATMUL_ROWS;
}

void matmul_pack_strip(enum matmul_format format, const struct matrix *w, int row, int b0, int b1, unsigned char *dst)
{
    size_t bytes = (size_t)formats[format].layout->bytes;
    size_t row_bytes = (size_t)(w->cols / formats[format].layout->block) * bytes;
    int rows = w->rows - row < MATMUL_ROWS ? w->rows - row : MATMUL_ROWS;
    if (rows < MATMUL_ROWS)
        memset(dst, 0, (size_t)(b1 - b0) * bytes * MATMUL_ROWS);
    formats[format].pack(w->format, w->data + (size_t)row * row_bytes + (size_t)b0 * bytes, row_bytes, rows, b1 - b0,
                         dst);
}

size_t matmul_packed_bytes(const struct matrix *w)
{
    enum matmul_format format;
    const struct matmul_layout *l = matmul_layout(w->format->id, &format);
    return l ? (size_t)((w->rows + MATMUL_ROWS - 1) / MATMUL_ROWS) * matmul_strip_bytes(l, w) : 0;
}

/* ---- planes ------------------------------------------------------------------------------------------------ */

bool matmul_can_split(const struct matrix *w)
{
    size_t scratch = (size_t)w->cols / 32 * MATMUL_TOP_BLOCK_BYTES + MATMUL_MAX_TOP * sizeof(float);
    return w->format->id == QUANT_Q8_0 && scratch <= MATMUL_SCRATCH_BYTES;
}

/* One row's block: its lane of the high plane, and its bytes of the low one. */
static void split_block(const struct quant_format *f, const unsigned char *src, unsigned char *high, int lane,
                        unsigned char *low)
{
    struct quant_block b;
    uint64_t c[4], above[4];
    memcpy(high + 2 * lane, src, 2);
    f->decode(src, &b);
    memcpy(c, b.code, sizeof c);
    for (int i = 0; i < 4; i++)
        above[i] = c[i] >> 4;
    put_nibbles(above, high + 2 * MATMUL_ROWS + 4 * lane);
    for (int i = 0; i < 2; i++, low += 8) {
        uint64_t v = (c[i] & BYTES(15)) | (c[i + 2] & BYTES(15)) << 4;
        memcpy(low, &v, sizeof v);
    }
}

/* w->packed is being written. */
static void split_strip(const struct matrix *w, int row)
{
    struct matmul_planes p = matmul_planes_at(w, row, 0);
    size_t blocks = (size_t)w->cols / 32, src_bytes = blocks * (size_t)w->format->bytes;
    int rows = w->rows - row < MATMUL_ROWS ? w->rows - row : MATMUL_ROWS;
    if (rows < MATMUL_ROWS) {
        memset(p.high, 0, blocks * MATMUL_HIGH_BYTES);
        memset(p.low, 0, MATMUL_ROWS * p.row_bytes);
    }
    const unsigned char *src = w->data + (size_t)row * src_bytes;
    for (size_t b = 0; b < blocks; b++)
        for (int i = 0; i < rows; i++)
            split_block(w->format, src + (size_t)i * src_bytes + b * (size_t)w->format->bytes,
                        p.high + b * MATMUL_HIGH_BYTES, i, p.low + (size_t)i * p.row_bytes + b * MATMUL_LOW_BYTES);
}

bool matmul_row_is_even(const struct matrix *w, int row)
{
    /* v = 2 nibble - 15: of nibbles spread evenly v has the variance 85, and v * v the variance 75.6 squared. Up to 6
     * standard deviations pass for chance. */
    struct matmul_planes p = matmul_planes_at(w, row, 0);
    int64_t sum = 0, squares = 0, n = w->cols;
    for (size_t i = 0; i < p.row_bytes; i++) {
        int v = 2 * (p.low[i] & 15) - 15, u = 2 * (p.low[i] >> 4) - 15;
        sum += v + u;
        squares += v * v + u * u;
    }
    double spread = sqrt((double)n);
    return fabs((double)sum) <= 6 * sqrt(85) * spread && (double)squares <= 85 * (double)n + 6 * 75.6 * spread;
}

void matmul_pack(const struct matrix *w, unsigned char *dst, int row0, int row1)
{
    if (w->planes) {
        struct matrix packed = *w;
        packed.packed = dst;
        for (int row = row0; row < row1; row += MATMUL_ROWS)
            split_strip(&packed, row);
        return;
    }
    enum matmul_format format;
    const struct matmul_layout *l = matmul_layout(w->format->id, &format);
    for (int row = row0; l && row < row1; row += MATMUL_ROWS)
        matmul_pack_strip(format, w, row, 0, w->cols / l->block,
                          dst + (size_t)(row / MATMUL_ROWS) * matmul_strip_bytes(l, w));
}
