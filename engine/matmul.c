/*
 * matmul.c - what the kernel sets share: packing, activations, and the loops around the kernels.
 *
 * A few tokens are multiplied by the packed matrix as it streams from memory. For more, 16 rows x up to 1280 columns
 * are unpacked once into bytes and floats that stay in the first-level cache, and tiles of a few tokens run over
 * them. A matrix that is not packed is packed strip by strip on the way, so all paths end in the same kernels.
 */
#include "matmul.h"

#include "cpu.h"
#include "matmul_layout.h"
#include "matmul_records.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- activations ------------------------------------------------------------------------------------------ */

size_t activations_bytes(int max_n, int max_cols)
{
    /* The last tile may be wider than what is left for it. */
    size_t tokens = (size_t)max_n + (max_n > 1 ? MAX_TILE_TOKENS - 1 : 0), records = ((size_t)max_cols + 31) / 32;
    return tokens * records * RECORD_TOKEN_BYTES;
}

bool activations_alloc(struct activations *a, int max_n, int max_cols)
{
    *a = (struct activations){.cap_n = max_n, .cap_cols = max_cols};
    a->records = malloc(activations_bytes(max_n, max_cols));
    return a->records != NULL;
}

void activations_free(struct activations *a)
{
    free(a->records);
    *a = (struct activations){0};
}

/* ---- the loops around the kernels ------------------------------------------------------------------------- */

/* One call of matmul_drive: what stays the same, and the columns at work. */
struct drive {
    const struct matmul_set *set;
    const struct matmul_layout *layout;
    enum matmul_format format;
    const struct matrix *w;
    const struct activations *a;
    float *y;
    size_t stride;
    bool streamed; /* not unpacked */
    bool planes;   /* packed in two planes */
    int c0, c1;
    struct matmul_strip *strip;
    unsigned char *on_the_way;   /* where a strip is packed that is not */
    const unsigned char *packed; /* the 16 rows at work, as the kernels read them */
    struct matmul_planes split;  /* in place of `packed` where there are planes */
};

/* Takes up 16 rows. */
static void begin_strip(struct drive *d, int row)
{
    const struct matmul_layout *l = d->layout;
    int b0 = d->c0 / l->block, b1 = d->c1 / l->block;
    if (d->planes) {
        d->split = matmul_planes_at(d->w, row, b0);
    } else if (d->w->packed) {
        d->packed = d->w->packed + (size_t)(row / MATMUL_ROWS) * matmul_strip_bytes(l, d->w) +
                    (size_t)b0 * (size_t)l->bytes * MATMUL_ROWS;
    } else {
        matmul_pack_strip(d->format, d->w, row, b0, b1, d->on_the_way);
        d->packed = d->on_the_way;
    }
    if (!d->streamed && d->planes)
        d->set->unpack_planes(&d->split, b1 - b0, d->strip);
    else if (!d->streamed)
        d->set->unpack[d->format](d->packed, b1 - b0, d->strip);
}

/* Copies the part of a tile that exists between y and a whole tile of 16 rows. */
static void copy_tile(const struct drive *d, const struct tile *t, int row, float *whole, bool out)
{
    int rows = d->w->rows - row < MATMUL_ROWS ? d->w->rows - row : MATMUL_ROWS;
    for (int i = 0; i < t->n; i++) {
        float *y = d->y + (size_t)(t->j + i) * d->stride + row, *x = whole + i * MATMUL_ROWS;
        memcpy(out ? y : x, out ? x : y, (size_t)rows * sizeof *y);
    }
}

static void run_tile(const struct drive *d, const struct tile *t, int row)
{
    float whole[MAX_TILE_TOKENS * MATMUL_ROWS], *y = d->y + (size_t)t->j * d->stride + row;
    size_t stride = d->stride;
    const unsigned char *records = t->records + (size_t)(t->tokens * (d->c0 / 32)) * RECORD_TOKEN_BYTES;
    bool first = d->c0 == 0, partial = t->n < t->tokens || d->w->rows - row < MATMUL_ROWS;
    if (partial) {
        y = whole;
        stride = MATMUL_ROWS;
        if (!first)
            copy_tile(d, t, row, whole, false);
    }
    int blocks = (d->c1 - d->c0) / d->layout->block;
    if (d->streamed && d->planes)
        d->set->stream_planes[t->kernel](&d->split, blocks, records, y, stride, first);
    else if (d->streamed)
        d->set->stream[d->format][t->kernel](d->packed, blocks, records, y, stride, first);
    else
        d->set->tile[d->layout->kind][t->kernel](d->strip, d->c1 - d->c0, records, y, stride, first);
    if (partial)
        copy_tile(d, t, row, whole, true);
}

static void drive_columns(struct drive *d, int row0, int row1)
{
    for (int row = row0; row < row1; row += MATMUL_ROWS) {
        begin_strip(d, row);
        struct tile t;
        for (int j = 0; j < d->a->n; j += t.n) {
            t = tile_of(d->a, d->set->widths, j);
            run_tile(d, &t, row);
        }
    }
}

void matmul_drive(const struct matmul_set *set, const struct matrix *w, const struct activations *a, int row0,
                  int row1, float *y, size_t stride, void *scratch)
{
    struct drive d = {.set = set, .w = w, .a = a, .y = y, .stride = stride, .strip = scratch};
    d.layout = matmul_layout(w->format->id, &d.format);
    if (!d.layout) {
        set->multiply_floats(w, a, row0, row1, y, stride, scratch);
        return;
    }
    d.on_the_way = (unsigned char *)(d.strip + 1);
    d.streamed = a->n <= set->max_streamed;
    d.planes = w->packed && w->planes;
    /* Columns in equal parts that fit a strip; packed rows that are streamed need none. They come first to last, so
     * that every element adds its blocks in order. */
    int block = d.layout->block, parts = (w->cols + MATMUL_STRIP_COLUMNS - 1) / MATMUL_STRIP_COLUMNS;
    if (d.streamed && w->packed)
        parts = 1;
    int step = (w->cols / block + parts - 1) / parts * block;
    for (d.c0 = 0; d.c0 < w->cols; d.c0 = d.c1) {
        d.c1 = d.c0 + step < w->cols ? d.c0 + step : w->cols;
        drive_columns(&d, row0, row1);
    }
}

/* No format has more than 34 bytes for 32 columns. */
static_assert(sizeof(struct matmul_strip) + MATMUL_STRIP_COLUMNS / 32 * 34 * MATMUL_ROWS <= MATMUL_SCRATCH_BYTES,
              "a strip unpacked and packed fits the scratch");

/* ---- the k largest ---------------------------------------------------------------------------------------- */

void matmul_best_add(struct matmul_best *best, float value, _Atomic float *bound)
{
    float *heap = best->heap;
    int i = 0, k = best->k;
    if (best->n < k) {
        for (i = best->n++; i > 0 && value < heap[(i - 1) / 2]; i = (i - 1) / 2)
            heap[i] = heap[(i - 1) / 2];
        heap[i] = value;
    } else if (value > heap[0]) {
        for (int child; (child = 2 * i + 1) < k; i = child) {
            if (child + 1 < k && heap[child + 1] < heap[child])
                child++;
            if (value <= heap[child])
                break;
            heap[i] = heap[child];
        }
        heap[i] = value;
    }
    /* k rows of any member are k rows of the matrix: the best bound any of them has is everyone's. */
    float seen = atomic_load_explicit(bound, memory_order_relaxed);
    while (best->n == k && heap[0] > seen &&
           !atomic_compare_exchange_weak_explicit(bound, &seen, heap[0], memory_order_relaxed, memory_order_relaxed))
        ;
}

const unsigned char *matmul_first_bytes(const struct matmul_kernels *k, const struct matrix *w, int row,
                                        size_t *bytes)
{
    size_t groups = ((size_t)w->rows + (size_t)k->row_align - 1) / (size_t)k->row_align;
    size_t group = (size_t)row / (size_t)k->row_align;
    if (w->packed && w->planes)
        *bytes = (size_t)w->cols / 32 * MATMUL_HIGH_BYTES;
    else
        *bytes = w->packed ? k->packed_bytes(w) / groups
                           : (size_t)k->row_align * (size_t)(w->cols / w->format->block) * (size_t)w->format->bytes;
    return (w->packed ? w->packed : w->data) + group * *bytes;
}

/* ---- the sets of this build ------------------------------------------------------------------------------- */

static const struct matmul_kernels *const sets[] = {
    &matmul_scalar,
#if defined(__x86_64__)
    &matmul_avx2,   &matmul_avxvnni, &matmul_avx512, &matmul_avx512vnni,
#elif defined(__aarch64__)
    &matmul_neon,
    &matmul_neondot,
#endif
};

const struct matmul_kernels *matmul_kernels(const char *name)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strcmp(sets[i]->name, name) == 0)
            return cpu_has(name) ? sets[i] : NULL;
    return NULL;
}
