/*
 * cpu.h - what this machine is: which kernel sets it can run, how many cores are ours.
 */
#ifndef CPU_H
#define CPU_H

#include <stdbool.h>
#include <stddef.h>

/* The kernel sets this CPU and this build have, best first, NULL-terminated. "scalar" is always the last. */
const char *const *cpu_sets(void);

/* The set to use: CHINWAG_CPU from the environment, else the best. NULL and err where CHINWAG_CPU names one that is
 * unknown, or that this CPU lacks. */
const char *cpu_choose(char *err, size_t cap);

/* Physical cores this process may use: affinity mask, cgroup v1/v2 CPU quota, SMT siblings counted once, performance
 * cores of a hybrid CPU. At least 1. */
int cpu_cores(void);

#endif
