/*
 * cpu.h - what this machine is: which kernel sets it can run, how many cores are ours.
 */
#ifndef CPU_H
#define CPU_H

#include <stdbool.h>
#include <stddef.h>

/* The kernel sets this CPU and this build have, best first, ended by NULL. "scalar" is always the last. Returns
 * out. */
#define CPU_SETS_MAX 8
const char *const *cpu_sets(const char *out[CPU_SETS_MAX]);

/* Whether this CPU can run the set of that name; false for one that this build does not know. */
bool cpu_has(const char *set);

/* The set to use: CHINWAG_CPU from the environment, else the best. NULL and err where CHINWAG_CPU names one that is
 * unknown, or that this CPU lacks. */
const char *cpu_choose(char *err, size_t cap);

/* Physical cores this process may use: affinity mask, cgroup v1/v2 CPU quota, SMT siblings counted once, performance
 * cores of a hybrid CPU. At least 1. */
int cpu_cores(void);

/* The same for a process that may run on those of CPUs 0 to n_cpus - 1 for which `allowed` is true, on a machine
 * whose files are below root: sys/devices/system/cpu, sys/fs/cgroup, proc/self/cgroup. What a file that is missing
 * would say does not count. */
int cpu_cores_below(const char *root, const bool *allowed, int n_cpus);

#endif
