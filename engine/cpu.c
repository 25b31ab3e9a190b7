/*
 * cpu.c - see cpu.h. Sources: Intel SDM vol. 2 (cpuid leaf 1 and 7), Linux
 * Documentation/ABI/stable/sysfs-devices-system-cpu, Documentation/admin-guide/cgroup-v2.rst (cpu.max) and cgroup-v1
 * (cpu.cfs_quota_us).
 */
#include "cpu.h"

#include "../src/base/mem.h"
#include "cgroup.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

struct cpu_set {
    const char *name;
    bool (*present)(void);
    /* Its kernels have been run against the scalar ones on such a CPU; others only run when asked for by name. */
    bool proven;
};

static bool always(void)
{
    return true;
}

#if defined(__x86_64__)
static bool has_avx2(void)
{
    unsigned a, b, c, d;
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C); /* older compilers cannot ask for it by name */
    return f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avxvnni(void)
{
    unsigned a, b, c, d;
    return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 4));
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
    return getauxval(AT_HWCAP) & (1ul << 20); /* HWCAP_ASIMDDP */
#elif defined(__APPLE__)
    int yes = 0;
    size_t size = sizeof yes;
    return sysctlbyname("hw.optional.arm.FEAT_DotProd", &yes, &size, NULL, 0) == 0 && yes;
#else
    return false;
#endif
}
#endif

static const struct cpu_set sets[] = {
#if defined(__x86_64__)
    {"avx512vnni", has_avx512vnni, true},
    {"avx512", has_avx512, true},
    {"avxvnni", has_avxvnni, false},
    {"avx2", has_avx2, true},
#elif defined(__aarch64__)
    {"neondot", has_neondot, true},
    {"neon", always, true},
#endif
    {"scalar", always, true},
};
#define N_SETS (sizeof sets / sizeof *sets)

static_assert(N_SETS < CPU_SETS_MAX, "all sets and a NULL fit");

const char *const *cpu_sets(const char *out[CPU_SETS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < N_SETS; i++)
        if (sets[i].present())
            out[n++] = sets[i].name;
    out[n] = NULL;
    return out;
}

bool cpu_has(const char *set)
{
    for (size_t i = 0; i < N_SETS; i++)
        if (strcmp(sets[i].name, set) == 0)
            return sets[i].present();
    return false;
}

const char *cpu_choose(char *err, size_t cap)
{
    const char *wanted = getenv("CHINWAG_CPU");
    bool forced = wanted && *wanted;
    for (size_t i = 0; i < N_SETS; i++) {
        if (!(forced ? strcmp(sets[i].name, wanted) == 0 : sets[i].proven))
            continue;
        if (sets[i].present())
            return sets[i].name;
        if (forced) {
            snprintf(err, cap, "CHINWAG_CPU asks for %s, which this CPU lacks", wanted);
            return NULL;
        }
    }
    int used = snprintf(err, cap, "CHINWAG_CPU=%.40s is not a kernel set of this build, which has", wanted);
    for (size_t i = 0; i < N_SETS && used > 0 && (size_t)used < cap; i++)
        used += snprintf(err + used, cap - (size_t)used, "%s %s", i ? "," : "", sets[i].name);
    return NULL;
}

/* ---- cores ---------------------------------------------------------------------------------------------- */

static bool read_cpu_number(const char *root, int cpu, const char *file, long *out)
{
    char path[CGROUP_PATH_BYTES], line[256];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/%s", root, cpu, file);
    return cgroup_read_line(path, line, sizeof line) && sscanf(line, "%ld", out) == 1;
}

/* How strong a core is, in units that only compare within one machine; 0 where the kernel does not say. */
static long core_strength(const char *root, int cpu)
{
    long v = 0;
    if (!read_cpu_number(root, cpu, "cpu_capacity", &v) &&
        !read_cpu_number(root, cpu, "cpufreq/cpuinfo_max_freq", &v))
        return 0;
    return v;
}

/* Of the allowed CPUs one for each physical core. */
static int list_cores(const char *root, const bool *allowed, int n_cpus, int *cores)
{
    long *keys = mem_new((size_t)n_cpus, sizeof *keys);
    int n = 0;
    for (int cpu = 0; cpu < n_cpus; cpu++) {
        if (!allowed[cpu])
            continue;
        long key = cpu; /* the first CPU of its siblings: the lists begin with the same number on each of them */
        read_cpu_number(root, cpu, "topology/thread_siblings_list", &key);
        int i = 0;
        while (i < n && keys[i] != key)
            i++;
        if (i < n)
            continue;
        keys[n] = key;
        cores[n++] = cpu;
    }
    free(keys);
    return n;
}

/* Of a hybrid CPU only the cores within a fifth of the strongest: at a barrier all wait for the slowest. Efficiency
 * cores of Intel's 12th to 14th generation run at about three quarters of the performance cores' clock. */
static int strong_cores(const char *root, const int *cores, int n)
{
    long best = 0;
    for (int i = 0; i < n; i++)
        if (core_strength(root, cores[i]) > best)
            best = core_strength(root, cores[i]);
    int strong = 0;
    for (int i = 0; i < n; i++)
        strong += core_strength(root, cores[i]) * 5 >= best * 4;
    return strong;
}

static double quota_v2(const char *dir)
{
    char path[CGROUP_PATH_BYTES], line[64];
    double quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", dir);
    if (cgroup_read_line(path, line, sizeof line) && sscanf(line, "%lf %lf", &quota, &period) == 2 && period > 0)
        return quota / period;
    return 0;
}

static double quota_v1(const char *dir)
{
    char path[CGROUP_PATH_BYTES], line[64];
    double quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir);
    if (!cgroup_read_line(path, line, sizeof line) || sscanf(line, "%lf", &quota) != 1 || quota <= 0)
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    if (!cgroup_read_line(path, line, sizeof line) || sscanf(line, "%lf", &period) != 1 || period <= 0)
        return 0;
    return quota / period;
}

/* Which CPUs this process may run on; malloc'd, *n of them. */
static bool *allowed_cpus(int *n)
{
    bool *allowed;
#ifdef __linux__
    for (*n = 1024; *n <= 1 << 20; *n *= 2) { /* the kernel refuses a mask smaller than its own */
        cpu_set_t *mask = mem_check(CPU_ALLOC((size_t)*n), (size_t)*n / 8);
        size_t bytes = CPU_ALLOC_SIZE((size_t)*n);
        bool known = sched_getaffinity(0, bytes, mask) == 0;
        allowed = mem_new((size_t)*n, sizeof *allowed);
        for (int cpu = 0; known && cpu < *n; cpu++)
            allowed[cpu] = CPU_ISSET_S((size_t)cpu, bytes, mask);
        CPU_FREE(mask);
        if (known)
            return allowed;
        free(allowed);
    }
#endif
    /* Nobody says (a sandbox may forbid to ask): all that run. */
    *n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    *n = *n > 0 ? *n : 1;
    allowed = mem_new((size_t)*n, sizeof *allowed);
    memset(allowed, true, (size_t)*n);
    return allowed;
}

int cpu_cores_below(const char *root, const bool *allowed, int n_cpus)
{
    int *cores = mem_new((size_t)n_cpus, sizeof *cores);
    int n = strong_cores(root, cores, list_cores(root, allowed, n_cpus, cores));
    free(cores);
    double quota = cgroup_least(root, "cpu", quota_v2, quota_v1);
    if (quota > 0 && quota < n)
        n = (int)quota;
    return n > 0 ? n : 1;
}

int cpu_cores(void)
{
    int n_cpus;
    bool *allowed = allowed_cpus(&n_cpus);
    int n = cpu_cores_below("", allowed, n_cpus);
    free(allowed);
    return n;
}
