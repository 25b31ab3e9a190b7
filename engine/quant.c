/*
 * quant.c - the formats table. Layouts after ggml-common.h; all multi-byte fields are little-endian and unaligned.
 *
 * A 256-block keeps the codes of columns that are 32 (or 128) apart in one byte, so the decoders walk by groups of 32
 * bytes, each taken at several shifts.
 */
#include "quant.h"

#include <string.h>

const int8_t quant_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/* ---- half precision -------------------------------------------------------------------------------------- */

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = (uint32_t)(h & 0x7fff) << 13;
    if (magnitude >= 0x0f800000) /* infinity, NaN: the exponent is all ones in both */
        return float_of(sign | 0x70000000 | magnitude);
    /* The exponent is rebiased by a multiplication, which also normalizes subnormals: 2^(127 - 15). */
    return float_of(sign | bits_of(float_of(magnitude) * 0x1p112f));
}

uint16_t f32_to_f16(float f)
{
    uint32_t bits = bits_of(f), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (magnitude >= 0x47800000) /* 2^16 and up; what lies between 65520 and it overflows by the rounding below */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) { /* below 2^-14: subnormal. Adding 0.5 leaves multiples of 2^-24 in the low bits. */
        uint32_t rounded = bits_of(float_of(magnitude) + 0.5f);
        return (uint16_t)(sign | (rounded - 0x3f000000));
    }
    uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((rounded - 0x38000000) >> 13));
}

static uint16_t load16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static float load_f16(const uint8_t *p)
{
    return f16_to_f32(load16(p));
}

/* ---- codes ----------------------------------------------------------------------------------------------- */

/* Codes are taken eight at a time, as the bytes of a 64-bit word. */
#define BYTES(x) (0x0101010101010101u * (uint64_t)(x))

static inline uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

/* n bytes' fields of the given bits, in order of columns. */
static inline void field(const uint8_t *from, int shift, int mask, uint8_t *code, int n)
{
    for (int i = 0; i < n; i += 8)
        store64(code + i, load64(from + i) >> shift & BYTES(mask));
}

/* Adds one more bit, or two, above the low ones. */
static inline void field_above(const uint8_t *from, int shift, int mask, int to, uint8_t *code, int n)
{
    for (int i = 0; i < n; i += 8)
        store64(code + i, load64(code + i) | (load64(from + i) >> shift & BYTES(mask)) << to);
}

/* The 16 bytes of a 32-block: low nibbles are columns 0..15, high nibbles 16..31. */
static void nibbles32(const uint8_t *qs, uint8_t *code)
{
    field(qs, 0, 15, code, 16);
    field(qs, 4, 15, code + 16, 16);
}

/* Bit j of the 32 at qh is bit 4 of code j. A byte is copied to 8, each keeps its own bit, and adding 0x7f carries it
 * to the top (little-endian). */
static void fifth_bits32(const uint8_t *qh, uint8_t *code)
{
    for (int i = 0; i < 4; i++) {
        uint64_t bits = BYTES(qh[i]) & 0x8040201008040201u;
        bits = (bits + BYTES(0x7f)) & BYTES(0x80);
        store64(code + 8 * i, load64(code + 8 * i) | bits >> 3);
    }
}

static void decode_q4_0(const void *block, struct quant_block *out)
{
    const uint8_t *p = block;
    out->scale[0] = load_f16(p);
    nibbles32(p + 2, out->code);
}

static void decode_q4_1(const void *block, struct quant_block *out)
{
    const uint8_t *p = block;
    out->scale[0] = load_f16(p);
    out->min[0] = load_f16(p + 2);
    nibbles32(p + 4, out->code);
}

static void decode_q5_0(const void *block, struct quant_block *out)
{
    const uint8_t *p = block;
    out->scale[0] = load_f16(p);
    nibbles32(p + 6, out->code);
    fifth_bits32(p + 2, out->code);
}

static void decode_q5_1(const void *block, struct quant_block *out)
{
    const uint8_t *p = block;
    out->scale[0] = load_f16(p);
    out->min[0] = load_f16(p + 2);
    nibbles32(p + 8, out->code);
    fifth_bits32(p + 4, out->code);
}

static void decode_q8_0(const void *block, struct quant_block *out)
{
    const uint8_t *p = block;
    out->scale[0] = load_f16(p);
    for (int i = 0; i < 32; i += 8)
        store64(out->code + i, load64(p + 2 + i) ^ BYTES(0x80));
}

/* 64 bytes of 2-bit fields: two groups of 32 bytes, each holding 4 x 32 columns. */
static void pairs256(const uint8_t *qs, uint8_t *code)
{
    for (int j = 0; j < 8; j++)
        field(qs + j / 4 * 32, j % 4 * 2, 3, code + j * 32, 32);
}

static void decode_q2_k(const void *block, struct quant_block *out)
{
    const uint8_t *p = block;
    float d = load_f16(p + 80), dmin = load_f16(p + 82);
    for (int j = 0; j < 16; j++) {
        out->scale[j] = d * (float)(p[j] & 15);
        out->min[j] = -(dmin * (float)(p[j] >> 4));
    }
    pairs256(p + 16, out->code);
}

static void decode_q3_k(const void *block, struct quant_block *out)
{
    const uint8_t *hmask = block, *scales = hmask + 96;
    float d = load_f16(hmask + 108);
    for (int j = 0; j < 16; j++) { /* 4 low bits in 8 bytes, 2 high bits in 4 */
        int low = scales[j % 8] >> (j < 8 ? 0 : 4) & 15, high = scales[8 + j % 4] >> j / 4 * 2 & 3;
        out->scale[j] = d * (float)((low | high << 4) - 32);
    }
    pairs256(hmask + 32, out->code);
    for (int j = 0; j < 8; j++)
        field_above(hmask, j, 1, 2, out->code + j * 32, 32);
}

/* The 12 bytes of 8 scales and 8 minimums of 6 bits that Q4_K and Q5_K share. */
static void scales_k4(const uint8_t *p, struct quant_block *out)
{
    float d = load_f16(p), dmin = load_f16(p + 2);
    const uint8_t *s = p + 4;
    for (int j = 0; j < 8; j++) {
        int scale = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
        int min = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | s[j] >> 6 << 4;
        out->scale[j] = d * (float)scale;
        out->min[j] = -(dmin * (float)min);
    }
}

/* 128 bytes of nibbles: each group of 32 bytes holds 2 x 32 columns. */
static void nibbles256(const uint8_t *qs, uint8_t *code)
{
    for (int j = 0; j < 8; j++)
        field(qs + j / 2 * 32, j % 2 * 4, 15, code + j * 32, 32);
}

static void decode_q4_k(const void *block, struct quant_block *out)
{
    const uint8_t *p = block;
    scales_k4(p, out);
    nibbles256(p + 16, out->code);
}

static void decode_q5_k(const void *block, struct quant_block *out)
{
    const uint8_t *p = block;
    scales_k4(p, out);
    nibbles256(p + 48, out->code);
    for (int j = 0; j < 8; j++)
        field_above(p + 16, j, 1, 4, out->code + j * 32, 32);
}

static void decode_q6_k(const void *block, struct quant_block *out)
{
    const uint8_t *ql = block, *qh = ql + 128;
    float d = load_f16(ql + 208);
    for (int j = 0; j < 16; j++)
        out->scale[j] = d * (float)(int8_t)ql[192 + j];
    for (int j = 0; j < 8; j++) { /* each half of 128 columns: 64 bytes of nibbles, 32 bytes of pairs */
        field(ql + j / 4 * 64 + j % 2 * 32, j % 4 / 2 * 4, 15, out->code + j * 32, 32);
        field_above(qh + j / 4 * 32, j % 4 * 2, 3, 4, out->code + j * 32, 32);
    }
}

static void decode_iq4_nl(const void *block, struct quant_block *out)
{
    decode_q4_0(block, out);
}

static void decode_iq4_xs(const void *block, struct quant_block *out)
{
    const uint8_t *p = block;
    float d = load_f16(p);
    for (int j = 0; j < 8; j++) {
        int low = p[4 + j / 2] >> j % 2 * 4 & 15, high = load16(p + 2) >> 2 * j & 3;
        out->scale[j] = d * (float)((low | high << 4) - 32);
        nibbles32(p + 8 + j * 16, out->code + j * 32);
    }
}

/* ---- dequantize ------------------------------------------------------------------------------------------- */

static void dequantize(const struct quant_format *f, const void *blocks, float *out, size_t n)
{
    const uint8_t *p = blocks;
    struct quant_block b;
    for (size_t i = 0; i < n; i += (size_t)f->block, p += f->bytes) {
        f->decode(p, &b);
        for (int j = 0; j < f->block; j++) {
            int value = f->values ? f->values[b.code[j]] : b.code[j] - f->zero;
            float w = b.scale[j / f->sub] * (float)value;
            out[i + (size_t)j] = f->has_min ? w + b.min[j / f->sub] : w;
        }
    }
}

static void dequantize_f32(const void *blocks, float *out, size_t n)
{
    memcpy(out, blocks, n * sizeof *out);
}

static void dequantize_f16(const void *blocks, float *out, size_t n)
{
    const uint8_t *p = blocks;
    for (size_t i = 0; i < n; i++)
        out[i] = load_f16(p + 2 * i);
}

static void dequantize_bf16(const void *blocks, float *out, size_t n)
{
    const uint8_t *p = blocks;
    for (size_t i = 0; i < n; i++)
        out[i] = float_of((uint32_t)load16(p + 2 * i) << 16);
}

/* ---- the table -------------------------------------------------------------------------------------------- */

/*                    name    block bytes sub bits zero  values           has_min decoder */
#define BLOCK_FORMATS(X)                                                                                             \
    X(Q4_0, 32, 18, 32, 4, 8, NULL, false, decode_q4_0)                                                              \
    X(Q4_1, 32, 20, 32, 4, 0, NULL, true, decode_q4_1)                                                               \
    X(Q5_0, 32, 22, 32, 5, 16, NULL, false, decode_q5_0)                                                             \
    X(Q5_1, 32, 24, 32, 5, 0, NULL, true, decode_q5_1)                                                               \
    X(Q8_0, 32, 34, 32, 8, 128, NULL, false, decode_q8_0)                                                            \
    X(Q2_K, 256, 84, 16, 2, 0, NULL, true, decode_q2_k)                                                              \
    X(Q3_K, 256, 110, 16, 3, 4, NULL, false, decode_q3_k)                                                            \
    X(Q4_K, 256, 144, 32, 4, 0, NULL, true, decode_q4_k)                                                             \
    X(Q5_K, 256, 176, 32, 5, 0, NULL, true, decode_q5_k)                                                             \
    X(Q6_K, 256, 210, 16, 6, 32, NULL, false, decode_q6_k)                                                           \
    X(IQ4_NL, 32, 18, 32, 4, 0, quant_iq4_values, false, decode_iq4_nl)                                              \
    X(IQ4_XS, 256, 136, 32, 4, 0, quant_iq4_values, false, decode_iq4_xs)

enum { /* places in the table */
       AT_F32,
       AT_F16,
       AT_BF16,
#define X(name, ...) AT_##name,
       BLOCK_FORMATS(X)
#undef X
           N_FORMATS,
};

static const struct quant_format formats[N_FORMATS];

#define X(name, ...)                                                                                                 \
    static void dequantize_##name(const void *blocks, float *out, size_t n)                                          \
    {                                                                                                                \
        dequantize(&formats[AT_##name], blocks, out, n);                                                             \
    }
BLOCK_FORMATS(X)
#undef X

static const struct quant_format formats[N_FORMATS] = {
    [AT_F32] = {.id = QUANT_F32, .name = "F32", .block = 1, .bytes = 4, .dequantize = dequantize_f32},
    [AT_F16] = {.id = QUANT_F16, .name = "F16", .block = 1, .bytes = 2, .dequantize = dequantize_f16},
    [AT_BF16] = {.id = QUANT_BF16, .name = "BF16", .block = 1, .bytes = 2, .dequantize = dequantize_bf16},
#define X(n, k, b, s, w, z, v, m, d) [AT_##n] = {QUANT_##n, #n, k, b, dequantize_##n, s, w, z, v, m, d},
    BLOCK_FORMATS(X)
#undef X
};

/* Ids, blocks and sizes of ggml.h and ggml-common.h. Those left out were removed from the file format. */
static const struct quant_layout layouts[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
    {40, "NVFP4", 64, 36},    {41, "Q1_0", 128, 18},    {42, "Q2_0", 64, 18},
};

const struct quant_layout *quant_layout(uint32_t id)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].id == id)
            return &layouts[i];
    return NULL;
}

const struct quant_format *quant_format(uint32_t id)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (formats[i].id == id)
            return &formats[i];
    return NULL;
}
