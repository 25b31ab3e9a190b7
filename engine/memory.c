/* memory.c - see memory.h. */
#include "memory.h"

#include "cgroup.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

void *memory_map(size_t bytes)
{
    void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void memory_unmap(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes ? bytes : 1);
}

void memory_huge(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (p)
        madvise(p, bytes, MADV_HUGEPAGE);
#else
    (void)p;
    (void)bytes;
#endif
}

/* ---- limits --------------------------------------------------------------------------------------------- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return b && (!a || b < a) ? b : a;
}

/* The number after `name` in a file of lines "name number", as bytes; 0 where there is none. */
static double field(const char *path, const char *name, double unit)
{
    char line[256];
    double value = 0;
    size_t n = strlen(name);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, n) == 0 && (line[n] == ' ' || line[n] == ':') &&
            sscanf(line + n + 1, "%lf", &value) == 1)
            break;
    if (f)
        fclose(f);
    return value * unit;
}

static double number_in(const char *dir, const char *file)
{
    char path[CGROUP_PATH_BYTES], line[64];
    double value = 0;
    snprintf(path, sizeof path, "%s/%s", dir, file);
    return cgroup_read_line(path, line, sizeof line) && sscanf(line, "%lf", &value) == 1 ? value : 0;
}

static double most_v2(const char *dir)
{
    return number_in(dir, "memory.max"); /* "max" is no number: no limit */
}

static double most_v1(const char *dir)
{
    double most = number_in(dir, "memory.limit_in_bytes");
    return most < 0x1p60 ? most : 0; /* what version 1 writes for "none" is larger */
}

/* What is left below a limit: pages of files count as used there, but give way. */
static double left_below(const char *dir, double most, const char *used, const char *files)
{
    char stat[CGROUP_PATH_BYTES];
    snprintf(stat, sizeof stat, "%s/memory.stat", dir);
    double left = most - number_in(dir, used) + field(stat, files, 1);
    return most <= 0 ? 0 : left > 1 ? left : 1;
}

static double available_v2(const char *dir)
{
    return left_below(dir, most_v2(dir), "memory.current", "file");
}

static double available_v1(const char *dir)
{
    return left_below(dir, most_v1(dir), "memory.usage_in_bytes", "total_cache");
}

/* Of the address space (ulimit -v), and what the process has mapped of it. */
static void limit_addresses(const char *root, struct engine_memory *memory)
{
    char path[CGROUP_PATH_BYTES], line[128];
    struct rlimit limit;
    unsigned long long pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    snprintf(path, sizeof path, "%s/proc/self/statm", root);
    if (cgroup_read_line(path, line, sizeof line))
        sscanf(line, "%llu", &pages);
    uint64_t most = limit.rlim_cur, used = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    memory->most = smaller(memory->most, most);
    memory->available = smaller(memory->available, used < most ? most - used : 1);
}

struct engine_memory memory_limits_below(const char *root)
{
    char path[CGROUP_PATH_BYTES];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    struct engine_memory memory = {
        .most = (uint64_t)(field(path, "MemTotal", 1024) + field(path, "SwapTotal", 1024)),
        .available = (uint64_t)(field(path, "MemAvailable", 1024) + field(path, "SwapFree", 1024)),
    };
    memory.most = smaller(memory.most, (uint64_t)cgroup_least(root, "memory", most_v2, most_v1));
    memory.available = smaller(memory.available, (uint64_t)cgroup_least(root, "memory", available_v2, available_v1));
    limit_addresses(root, &memory);
    return memory;
}

struct engine_memory engine_memory(void)
{
    return memory_limits_below("");
}
