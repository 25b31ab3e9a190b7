/*
 * cgroup.h - what the control groups of this process allow it (Linux Documentation/admin-guide/cgroup-v2.rst and
 * cgroup-v1). Where there are none every limit is 0, which means "no limit".
 */
#ifndef CGROUP_H
#define CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#define CGROUP_PATH_BYTES 8192 /* PATH_MAX twice: a root, and a group's path below it */

/* A limit that the files in a group's directory set; 0 or less: none. */
typedef double cgroup_limit(const char *dir);

/* The smallest limit of this process's group and of all groups above it, 0 where there is none. v2 reads the unified
 * hierarchy, v1 that of a version 1 controller ("cpu"). root is put before /proc and /sys: "" but in tests. */
double cgroup_least(const char *root, const char *controller, cgroup_limit *v2, cgroup_limit *v1);

/* The first line of a file, with its newline; false where it cannot be read. */
bool cgroup_read_line(const char *path, char *line, size_t cap);

#endif
