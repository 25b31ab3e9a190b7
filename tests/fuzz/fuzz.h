/*
 * fuzz.h - what the harnesses share: reproducible randomness, and the limits of time and memory of each input.
 *
 * A harness is a program: NAME [COUNT [SEED]]. It ends with a line "figure: ..." and status 0, or stops at the first
 * input that crashes, leaks, takes more than a second of CPU time or more than 64 MiB. Memory is counted in builds
 * with AddressSanitizer only.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define FUZZ_ASAN 1
#include <sanitizer/asan_interface.h>
/* sanitizer/allocator_interface.h, which gcc does not install */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *p);
#else
#define FUZZ_ASAN 0
#endif

#define FUZZ_MS 1000.0
#define FUZZ_BYTES (64u << 20)

static uint64_t fuzz_state;

/* splitmix64 (Steele, Lea, Flood 2014) */
static inline uint64_t fuzz_random(void)
{
    uint64_t z = fuzz_state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

static inline size_t fuzz_below(size_t n)
{
    return n ? (size_t)(fuzz_random() % n) : 0;
}

/* Memory in use now and at most since fuzz_begin; the sanitizer calls from any thread. */
static size_t fuzz_bytes, fuzz_peak;
static double fuzz_start, fuzz_worst_ms;
static size_t fuzz_worst_bytes, fuzz_first_bytes;
static unsigned long fuzz_input; /* number of the input at work: COUNT and SEED make it again */

static inline double fuzz_cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

#if FUZZ_ASAN
static void fuzz_malloc(const volatile void *p, size_t n)
{
    (void)p;
    size_t now = __atomic_add_fetch(&fuzz_bytes, n, __ATOMIC_RELAXED);
    if (now > __atomic_load_n(&fuzz_peak, __ATOMIC_RELAXED))
        __atomic_store_n(&fuzz_peak, now, __ATOMIC_RELAXED);
}

static void fuzz_free(const volatile void *p)
{
    if (p)
        __atomic_sub_fetch(&fuzz_bytes, __sanitizer_get_allocated_size(p), __ATOMIC_RELAXED);
}

static void fuzz_died(void)
{
    fprintf(stderr, "input %lu\n", fuzz_input);
}
#endif

static inline void fuzz_open(uint64_t seed)
{
    fuzz_state = seed;
#if FUZZ_ASAN
    __sanitizer_install_malloc_and_free_hooks(fuzz_malloc, fuzz_free);
    __asan_set_death_callback(fuzz_died);
#endif
}

static inline void fuzz_begin(unsigned long input)
{
    fuzz_input = input;
    fuzz_first_bytes = fuzz_bytes;
    fuzz_peak = fuzz_bytes;
    fuzz_start = fuzz_cpu_ms();
}

static inline void fuzz_end(void)
{
    double ms = fuzz_cpu_ms() - fuzz_start;
    size_t bytes = fuzz_peak - fuzz_first_bytes;
    fuzz_worst_ms = ms > fuzz_worst_ms ? ms : fuzz_worst_ms;
    fuzz_worst_bytes = bytes > fuzz_worst_bytes ? bytes : fuzz_worst_bytes;
    if (ms > FUZZ_MS || bytes > FUZZ_BYTES) {
        fprintf(stderr, "input %lu: %.0f ms, %.1f MiB\n", fuzz_input, ms, (double)bytes / (1 << 20));
        exit(1);
    }
    if (FUZZ_ASAN && fuzz_bytes > fuzz_first_bytes + (1 << 20)) {
        fprintf(stderr, "input %lu: %zu bytes were not freed\n", fuzz_input, fuzz_bytes - fuzz_first_bytes);
        exit(1);
    }
}

#endif
