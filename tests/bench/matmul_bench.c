/*
 * matmul_bench.c - what the kernels reach on this machine, apart from any model.
 *
 *     matmul_bench [set] [format] [threads]
 *
 * prints for each format: GB/s of one token times 320 MB of packed weights, the same from the file's layout over a
 * tenth of it, GB/s of packing, and GMAC/s of 512 tokens times the two shapes of Qwen2.5-0.5B's feed-forward
 * matrices. Best of 7.
 */
#include "../../engine/matmul.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STREAM_BYTES 320000000
#define PASSES 7
#define MAX_THREADS 64

struct job {
    const struct matmul_kernels *k;
    struct matrix w;
    struct activations a;
    float *y;
    bool packing;
    int threads;
};

struct member {
    struct job *job;
    int index;
};

static void *scratch[MAX_THREADS];

static void *work(void *arg)
{
    struct member *m = arg;
    struct job *j = m->job;
    int align = j->k->row_align, groups = j->w.rows / align;
    int row0 = groups * m->index / j->threads * align;
    int row1 = m->index + 1 == j->threads ? j->w.rows : groups * (m->index + 1) / j->threads * align;
    if (j->packing)
        j->k->pack(&j->w, j->w.packed, row0, row1);
    else
        j->k->multiply(&j->w, &j->a, row0, row1, j->y, (size_t)j->w.rows, scratch[m->index]);
    return NULL;
}

static double run_once(struct job *j)
{
    pthread_t id[MAX_THREADS];
    struct member members[MAX_THREADS];
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int t = 0; t < j->threads; t++) {
        members[t] = (struct member){j, t};
        pthread_create(&id[t], NULL, work, &members[t]);
    }
    for (int t = 0; t < j->threads; t++)
        pthread_join(id[t], NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

/* The best pass: what the machine can do when nobody else is at work on it. */
static double best_time(struct job *j)
{
    double best = run_once(j);
    for (int i = 1; i < PASSES; i++) {
        double t = run_once(j);
        best = t < best ? t : best;
    }
    return best;
}

static size_t file_bytes(const struct matrix *w)
{
    return (size_t)w->rows * (size_t)(w->cols / w->format->block) * (size_t)w->format->bytes;
}

static void set_up(struct job *j, const struct quant_format *f, int rows, int cols, int n)
{
    j->w = (struct matrix){.format = f, .rows = rows, .cols = cols};
    size_t bytes = file_bytes(&j->w), packed = j->k->packed_bytes(&j->w);
    unsigned char *data = malloc(bytes);
    memset(data, 0x2b, bytes); /* as a half float 0.056 */
    j->w.data = data;
    if (packed) {
        j->w.packed = aligned_alloc(64, (packed + 63) / 64 * 64);
        memset(j->w.packed, 0x2b, packed);
    }
    activations_alloc(&j->a, n, cols);
    float *x = malloc((size_t)n * (size_t)cols * sizeof *x);
    for (size_t i = 0; i < (size_t)n * (size_t)cols; i++)
        x[i] = (float)(i * 7 % 31) - 15;
    j->a.n = n;
    j->a.cols = cols;
    j->a.f = x;
    j->k->quantize(&j->a, 0, n);
    j->y = malloc((size_t)n * (size_t)rows * sizeof *j->y);
    memset(j->y, 0, (size_t)n * (size_t)rows * sizeof *j->y);
}

static void tear_down(struct job *j)
{
    free((void *)j->w.data);
    free(j->w.packed);
    free((void *)j->a.f);
    free(j->y);
    activations_free(&j->a);
}

static double macs(struct job *j, const struct quant_format *f, int rows, int cols, double *seconds)
{
    set_up(j, f, rows, cols, 512);
    *seconds += best_time(j);
    tear_down(j);
    return 512.0 * rows * cols;
}

static void bench(struct job *j, const struct quant_format *f)
{
    int cols = 1024, rows = (int)(STREAM_BYTES / ((size_t)(cols / f->block) * (size_t)f->bytes)) / 64 * 64;
    set_up(j, f, rows, cols, 1);
    double stream = (double)file_bytes(&j->w) / best_time(j) / 1e9, pack = 0;
    if (j->w.packed) {
        j->packing = true;
        pack = (double)file_bytes(&j->w) / best_time(j) / 1e9;
        j->packing = false;
    }
    unsigned char *packed = j->w.packed;
    j->w.packed = NULL;
    j->w.rows = rows / 640 * 64;
    double file = (double)file_bytes(&j->w) / best_time(j) / 1e9;
    j->w.packed = packed;
    tear_down(j);
    int wide = f->block == 256 ? 1024 : 896;
    double seconds = 0, n = macs(j, f, 4864, wide, &seconds) + macs(j, f, wide, 4864, &seconds);
    printf("%-8s %-10s %6.1f GB/s   file layout %6.1f   packing %5.1f   512 tokens %6.1f GMAC/s\n", f->name,
           j->k->name, stream, file, pack, n / seconds / 1e9);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const enum quant_id ids[] = {QUANT_Q4_1,   QUANT_Q8_0,   QUANT_Q4_0, QUANT_Q5_0, QUANT_Q6_K,
                                        QUANT_Q4_K,   QUANT_Q5_K,   QUANT_Q5_1, QUANT_Q2_K, QUANT_Q3_K,
                                        QUANT_IQ4_NL, QUANT_IQ4_XS, QUANT_F16,  QUANT_BF16, QUANT_F32};
    struct job j = {.k = matmul_kernels(argc > 1 ? argv[1] : "scalar"), .threads = argc > 3 ? atoi(argv[3]) : 2};
    if (!j.k || j.threads < 1 || j.threads > MAX_THREADS) {
        fprintf(stderr, "usage: matmul_bench [set] [format] [threads]; this CPU may lack the set\n");
        return 2;
    }
    for (int t = 0; t < j.threads; t++)
        scratch[t] = aligned_alloc(64, MATMUL_SCRATCH_BYTES);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (argc < 3 || !*argv[2] || strcmp(argv[2], quant_format(ids[i])->name) == 0)
            bench(&j, quant_format(ids[i]));
    for (int t = 0; t < j.threads; t++)
        free(scratch[t]);
    return 0;
}
