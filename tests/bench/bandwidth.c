/*
 * bandwidth.c - how fast this machine reads memory: the ceiling of token-by-token generation, where every weight is
 * read once per token.
 *
 *   bandwidth THREADS MEGABYTES   -> the median GB/s of PASSES passes, one number on stdout
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PASSES 9
#define MAX_THREADS 64
#define LANES 32 /* independent sums, so that no addition waits for the one before */

struct share {
    const uint64_t *words;
    size_t n;
    uint64_t sum; /* kept, so that the reads are not optimised away */
};

static void *read_share(void *arg)
{
    struct share *s = arg;
    uint64_t sums[LANES] = {0};
    for (size_t i = 0; i + LANES <= s->n; i += LANES)
        for (int k = 0; k < LANES; k++)
            sums[k] += s->words[i + k];
    for (int k = 0; k < LANES; k++)
        s->sum += sums[k];
    return NULL;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    size_t bytes = (argc > 2 ? strtoul(argv[2], NULL, 10) : 400) * 1000000;
    if (threads < 1 || threads > MAX_THREADS || bytes == 0) {
        fputs("usage: bandwidth THREADS MEGABYTES\n", stderr);
        return 2;
    }
    uint64_t *buffer = malloc(bytes);
    if (!buffer) {
        perror("bandwidth");
        return 1;
    }
    memset(buffer, 1, bytes);
    double rates[PASSES];
    for (int pass = 0; pass < PASSES; pass++) {
        struct share shares[MAX_THREADS];
        pthread_t ids[MAX_THREADS];
        size_t n = bytes / sizeof *buffer / (size_t)threads;
        double start = seconds();
        for (int t = 0; t < threads; t++) {
            shares[t] = (struct share){buffer + (size_t)t * n, n, 0};
            if (pthread_create(&ids[t], NULL, read_share, &shares[t]) != 0) {
                perror("bandwidth");
                return 1;
            }
        }
        for (int t = 0; t < threads; t++)
            pthread_join(ids[t], NULL);
        rates[pass] = (double)bytes / (seconds() - start) * 1e-9;
    }
    qsort(rates, PASSES, sizeof *rates, ascending);
    printf("%.2f\n", rates[PASSES / 2]);
    free(buffer);
    return 0;
}
