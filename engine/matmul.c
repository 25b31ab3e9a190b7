/*
 * matmul.c - what the kernel sets share: packing, activations, and the loops around the kernels.
 *
 * One token is multiplied by the packed matrix as it streams from memory (matvec). For more, 16 rows x up to 1280 columns
 * are unpacked once into bytes and floats that stay in the first-level cache, and tiles of a few tokens run over them. A matrix that is not
 * packed is packed strip by strip on the way, so all paths end in the same kernels and give the same bits.
 */
#include "matmul.h"

#include "matmul_layout.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

/* Activations of one pass over the matrix; they should stay in the second-level cache beside the strip. */
#define PASS_BYTES (384 << 10)

static const struct matmul_layout *layout_of(enum quant_id id, enum matmul_format *format)
{
    switch (id) {
#define X(name, ...)                                                                                                 \
    case QUANT_##name: *format = MATMUL_##name; return &matmul_layout_##name;
        MATMUL_FORMATS(X)
#undef X
    default: return NULL;
    }
}

/* ---- packing ---------------------------------------------------------------------------------------------- */

static void store32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

/* One row's 32 columns into its lanes of the planes. */
static void pack_codes(const struct matmul_layout *l, const uint8_t *code, unsigned char *dst)
{
    uint32_t step[8];
    memcpy(step, code, sizeof step);
    if (l->low == 8) {
        for (int s = 0; s < 8; s++)
            store32(dst + s * 64, step[s]);
        return;
    }
    if (l->low == 4) {
        for (int s = 0; s < 4; s++)
            store32(dst + s * 64, (step[s] & 0x0f0f0f0f) | (step[s + 4] & 0x0f0f0f0f) << 4);
        dst += 4 * 64;
    } else {
        for (int s = 0; s < 8; s += 4, dst += 64) {
            uint32_t v = 0;
            for (int i = 0; i < 4; i++)
                v |= (step[s + i] & 0x03030303) << 2 * i;
            store32(dst, v);
        }
    }
    uint32_t mask = l->high == 2 ? 0x03030303 : 0x01010101;
    int per_byte = l->high ? 8 / l->high : 8;
    for (int s = 0; l->high && s < 8; s += per_byte, dst += 64) {
        uint32_t v = 0;
        for (int i = 0; i < per_byte; i++)
            v |= (step[s + i] >> l->low & mask) << l->high * i;
        store32(dst, v);
    }
}

static void pack_row_block(const struct matmul_layout *l, const struct quant_format *f, const unsigned char *src,
                           unsigned char *dst, int lane)
{
    struct quant_block b;
    for (int i = 0; i < l->halves; i++, dst += 2 * MATMUL_ROWS)
        memcpy(dst + 2 * lane, src + l->half_at + 2 * i, 2);
    for (int i = 0; i < l->words; i++, dst += 4 * MATMUL_ROWS)
        memcpy(dst + 4 * lane, src + l->word_at + 4 * i, 4);
    f->decode(src, &b);
    int plane_bytes = 2 * (l->low + l->high);
    for (int c = 0; c < l->block; c += 32)
        pack_codes(l, b.code + c, dst + c * plane_bytes + 4 * lane);
}

/* Blocks [b0, b1) of the 16 rows from `row` on; rows beyond the matrix are zeros. */
static void pack_strip(const struct matmul_layout *l, const struct matrix *w, int row, int b0, int b1,
                       unsigned char *dst)
{
    size_t bytes = (size_t)l->bytes, row_bytes = (size_t)(w->cols / l->block) * bytes;
    int rows = w->rows - row < MATMUL_ROWS ? w->rows - row : MATMUL_ROWS;
    if (rows < MATMUL_ROWS)
        memset(dst, 0, (size_t)(b1 - b0) * bytes * MATMUL_ROWS);
    for (int b = b0; b < b1; b++, dst += bytes * MATMUL_ROWS)
        for (int lane = 0; lane < rows; lane++)
            pack_row_block(l, w->format, w->data + (size_t)(row + lane) * row_bytes + (size_t)b * bytes, dst, lane);
}

static size_t strip_bytes(const struct matmul_layout *l, const struct matrix *w)
{
    return (size_t)(w->cols / l->block) * (size_t)l->bytes * MATMUL_ROWS;
}

size_t matmul_packed_bytes(const struct matrix *w)
{
    enum matmul_format format;
    const struct matmul_layout *l = layout_of(w->format->id, &format);
    return l ? (size_t)((w->rows + MATMUL_ROWS - 1) / MATMUL_ROWS) * strip_bytes(l, w) : 0;
}

void matmul_pack(const struct matrix *w, unsigned char *dst, int row0, int row1)
{
    enum matmul_format format;
    const struct matmul_layout *l = layout_of(w->format->id, &format);
    if (!l)
        return;
    for (int row = row0; row < row1; row += MATMUL_ROWS)
        pack_strip(l, w, row, 0, w->cols / l->block, dst + (size_t)(row / MATMUL_ROWS) * strip_bytes(l, w));
}

/* ---- activations ------------------------------------------------------------------------------------------ */

bool activations_alloc(struct activations *a, int max_n, int max_cols)
{
    size_t n = (size_t)max_n * (size_t)max_cols, blocks = (size_t)max_n * (size_t)((max_cols + 31) / 32);
    *a = (struct activations){.cap_n = max_n, .cap_cols = max_cols};
    a->q = malloc(n + 1);
    a->d = malloc((blocks + 1) * sizeof *a->d);
    a->sum = malloc((blocks + 1) * sizeof *a->sum);
    if (a->q && a->d && a->sum)
        return true;
    activations_free(a);
    return false;
}

void activations_free(struct activations *a)
{
    free(a->q);
    free(a->d);
    free(a->sum);
    *a = (struct activations){0};
}

/* ---- the loops around the kernels ------------------------------------------------------------------------- */

/* One call of matmul_drive: what stays the same, and the part of it now at work. */
struct drive {
    const struct matmul_set *set;
    const struct matmul_layout *layout;
    enum matmul_format format;
    const struct matrix *w;
    const struct activations *a;
    float *y;
    size_t stride;
    int zero;   /* of the codes as this set multiplies them */
    int c0, c1; /* columns */
    int j0, j1; /* tokens */
    struct matmul_strip *strip;
    unsigned char *packed; /* a strip packed on the way */
    unsigned char *records;
    size_t records_cap;
};

/* The narrowest tile that takes all n tokens, or the widest there is. */
static int tile_for(const struct matmul_set *set, int n)
{
    int i = 0;
    while (i < MATMUL_TILES - 1 && set->tokens[i] < n)
        i++;
    return i;
}

static int sum_of(const int8_t *q, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += q[i];
    return sum;
}

/* The term t of one token and sub-block. */
static uint32_t record_term(const struct drive *d, const int8_t *q, float scale)
{
    int sum = sum_of(q, d->layout->sub);
    if (!d->layout->has_min)
        return (uint32_t)(-d->zero * sum);
    float term = scale * (float)sum;
    uint32_t bits;
    memcpy(&bits, &term, sizeof bits);
    return bits;
}

/* The records of one tile: tokens [j, j + n), widened to `tokens` with zeros. Returns where they end. */
static unsigned char *make_records(const struct drive *d, int j, int n, int tokens, unsigned char *out)
{
    const struct activations *a = d->a;
    int sub = d->layout->sub, subs = 32 / sub;
    size_t record = MATMUL_RECORD(tokens, sub), cols = (size_t)a->cols, width = 4 * (size_t)tokens;
    if (n < tokens)
        memset(out, 0, record * (size_t)(d->c1 - d->c0) / 32);
    for (int c = d->c0; c < d->c1; c += 32, out += record) {
        for (int t = 0; t < n; t++) {
            const int8_t *q = a->q + (size_t)(j + t) * cols + c;
            float scale = a->d[(size_t)(j + t) * (cols / 32) + (size_t)(c / 32)];
            unsigned char *o = out + 4 * t;
            for (int s = 0; s < 8; s++)
                memcpy(o + (size_t)s * width, q + 4 * s, 4);
            memcpy(o + 8 * width, &scale, 4);
            for (int k = 0; k < subs; k++)
                store32(o + (9 + (size_t)k) * width, record_term(d, q + k * sub, scale));
        }
    }
    return out;
}

/* 16 rows from `row` on, where the kernels can read them. */
static const unsigned char *strip_at(const struct drive *d, int row)
{
    const struct matmul_layout *l = d->layout;
    int b0 = d->c0 / l->block, b1 = d->c1 / l->block;
    if (d->w->packed)
        return d->w->packed + (size_t)(row / MATMUL_ROWS) * strip_bytes(l, d->w) +
               (size_t)b0 * (size_t)l->bytes * MATMUL_ROWS;
    pack_strip(l, d->w, row, b0, b1, d->packed);
    return d->packed;
}

/* Copies the part of a tile that exists between y and a whole tile of 16 rows. */
static void copy_tile(const struct drive *d, int row, int j, int n, float *tile, bool out)
{
    int rows = d->w->rows - row < MATMUL_ROWS ? d->w->rows - row : MATMUL_ROWS;
    for (int t = 0; t < n; t++) {
        float *y = d->y + (size_t)(j + t) * d->stride + row, *x = tile + t * MATMUL_ROWS;
        memcpy(out ? y : x, out ? x : y, (size_t)rows * sizeof *y);
    }
}

static void run_tile(const struct drive *d, int row, int j, int n, int which, const unsigned char *record,
                     const unsigned char *packed)
{
    float whole[16 * MATMUL_ROWS], *y = d->y + (size_t)j * d->stride + row;
    size_t stride = d->stride;
    bool first = d->c0 == 0,
         partial = (d->j1 - d->j0 > 1 && n < d->set->tokens[which]) || d->w->rows - row < MATMUL_ROWS;
    if (partial) {
        y = whole;
        stride = MATMUL_ROWS;
        if (!first)
            copy_tile(d, row, j, n, whole, false);
    }
    if (d->j1 - d->j0 == 1)
        d->set->matvec[d->format](packed, (d->c1 - d->c0) / d->layout->block, record, y, first);
    else
        d->set->tile[d->layout->kind][which](d->strip, d->c1 - d->c0, record, y, stride, first);
    if (partial)
        copy_tile(d, row, j, n, whole, true);
}

/* Tokens [j0, j1) x columns [c0, c1) x rows [row0, row1). */
static void drive_pass(const struct drive *d, int row0, int row1)
{
    int n = d->j1 - d->j0, wide = d->set->tokens[MATMUL_TILES - 1],
        last = tile_for(d->set, n % wide ? n % wide : wide);
    unsigned char *p = d->records;
    if (n == 1)
        make_records(d, d->j0, 1, 1, p);
    for (int j = d->j0; n > 1 && j < d->j1; j += wide)
        p = j + wide <= d->j1 ? make_records(d, j, wide, wide, p)
                              : make_records(d, j, d->j1 - j, d->set->tokens[last], p);
    size_t tile_bytes = MATMUL_RECORD(wide, d->layout->sub) * (size_t)(d->c1 - d->c0) / 32;
    for (int row = row0; row < row1; row += MATMUL_ROWS) {
        const unsigned char *packed = strip_at(d, row);
        if (n > 1)
            d->set->unpack[d->format](packed, (d->c1 - d->c0) / d->layout->block, d->strip);
        p = d->records;
        for (int j = d->j0; j < d->j1; j += wide, p += tile_bytes) {
            int left = d->j1 - j;
            run_tile(d, row, j, left < wide ? left : wide, left < wide ? last : MATMUL_TILES - 1, p, packed);
        }
    }
}

/* Columns and tokens in parts that fit the scratch: columns outermost, so that every element adds its blocks in order. */
static void drive_parts(struct drive *d, int row0, int row1)
{
    int cols = d->w->cols, block = d->layout->block, most = MATMUL_STRIP_COLUMNS, n = d->a->n;
    size_t record = MATMUL_RECORD(1, d->layout->sub);
    if (n == 1 && d->w->packed) /* nothing is unpacked: one part, if it can be */
        most = (int)(d->records_cap / record * 32 / QUANT_MAX_BLOCK * QUANT_MAX_BLOCK);
    int parts = (cols + most - 1) / most, step = (cols / block + parts - 1) / parts * block;
    int wide = d->set->tokens[MATMUL_TILES - 1];
    size_t budget = d->records_cap < PASS_BYTES ? d->records_cap : PASS_BYTES;
    int tokens = (int)(budget / (record * (size_t)step / 32)) / wide * wide;
    for (d->c0 = 0; d->c0 < cols; d->c0 = d->c1) {
        d->c1 = d->c0 + step < cols ? d->c0 + step : cols;
        for (d->j0 = 0; d->j0 < n; d->j0 = d->j1) {
            /* A lone token at the end would take another path than its neighbours; it may, the bits are the same. */
            d->j1 = n > 1 && d->j0 + tokens < n ? d->j0 + tokens : n;
            drive_pass(d, row0, row1);
        }
    }
}

void matmul_drive(const struct matmul_set *set, const struct matrix *w, const struct activations *a, int row0,
                  int row1, float *y, size_t stride, void *scratch)
{
    struct drive d = {.set = set, .w = w, .a = a, .y = y, .stride = stride};
    d.layout = layout_of(w->format->id, &d.format);
    if (!d.layout) {
        set->multiply_floats(w, a, row0, row1, y, stride, scratch);
        return;
    }
    bool wide_codes = d.layout->low == 8 || d.layout->has_values; /* as bytes around 128, or signed ones */
    d.zero = wide_codes ? (set->signed_codes ? 0 : 128) : w->format->zero;
    d.strip = scratch;
    d.packed = (unsigned char *)(d.strip + 1);
    /* No format has more than 34 bytes for 32 columns. */
    d.records = d.packed + MATMUL_STRIP_COLUMNS / 32 * 34 * MATMUL_ROWS;
    d.records_cap = MATMUL_SCRATCH_BYTES - (size_t)(d.records - (unsigned char *)scratch);
    drive_parts(&d, row0, row1);
}

/* ---- the sets of this build ------------------------------------------------------------------------------- */

static bool always(void)
{
    return true;
}

#if defined(__x86_64__)
static bool has_avx2(void)
{
    unsigned a, b, c = 0, d;
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C; /* older compilers cannot ask for it by name */
    return f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

static bool has_avx512vnni(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512vnni");
}
#elif defined(__aarch64__)
static bool has_neondot(void)
{
#if defined(__linux__)
    return getauxval(AT_HWCAP) & 1UL << 20; /* HWCAP_ASIMDDP */
#elif defined(__APPLE__)
    int yes = 0;
    size_t size = sizeof yes;
    return sysctlbyname("hw.optional.arm.FEAT_DotProd", &yes, &size, NULL, 0) == 0 && yes;
#else
    return false;
#endif
}
#endif

static const struct {
    const struct matmul_kernels *kernels;
    bool (*runs_here)(void);
} sets[] = {
    {&matmul_scalar, always},
#if defined(__x86_64__)
    {&matmul_avx2, has_avx2},
    {&matmul_avx512, has_avx512},
    {&matmul_avx512vnni, has_avx512vnni},
#elif defined(__aarch64__)
    {&matmul_neon, always},
    {&matmul_neondot, has_neondot},
#endif
};

const struct matmul_kernels *matmul_kernels(const char *name)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strcmp(sets[i].kernels->name, name) == 0)
            return sets[i].runs_here() ? sets[i].kernels : NULL;
    return NULL;
}
