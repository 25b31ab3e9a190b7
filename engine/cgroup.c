/* cgroup.c - see cgroup.h. */
#include "cgroup.h"

#include <stdio.h>
#include <string.h>

bool cgroup_read_line(const char *path, char *line, size_t cap)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool ok = fgets(line, (int)cap, f) != NULL;
    fclose(f);
    return ok;
}

static double smaller(double a, double b)
{
    return b > 0 && (a <= 0 || b < a) ? b : a;
}

/* The smallest limit of the group at `path` below the hierarchy's directory and of all groups above it. In a container
 * the path may not exist there, but the directory itself is then the container's group. */
static double least_of_groups(const char *root, const char *hierarchy, const char *path, cgroup_limit *limit)
{
    char dir[CGROUP_PATH_BYTES - 64];
    double least = 0;
    snprintf(dir, sizeof dir, "%s%s%s", root, hierarchy, path);
    for (;;) {
        least = smaller(least, limit(dir));
        char *slash = strrchr(dir, '/');
        if (!slash || strlen(dir) <= strlen(root) + strlen(hierarchy))
            return least;
        *slash = '\0';
    }
}

/* Whether `name` is one of the names in a list separated by commas. */
static bool lists(const char *names, const char *name)
{
    for (const char *at = names; *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (n == strlen(name) && memcmp(at, name, n) == 0)
            return true;
        at += n;
    }
    return false;
}

double cgroup_least(const char *root, const char *controller, cgroup_limit *v2, cgroup_limit *v1)
{
    char line[4096], hierarchy[64];
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    snprintf(hierarchy, sizeof hierarchy, "/sys/fs/cgroup/%s", controller);
    FILE *f = fopen(line, "re");
    if (!f)
        return 0;
    double least = 0;
    while (fgets(line, sizeof line, f)) { /* number:controllers:path, without controllers in version 2 */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        controllers++;
        if (*controllers == '\0')
            least = smaller(least, least_of_groups(root, "/sys/fs/cgroup", path, v2));
        else if (lists(controllers, controller))
            least = smaller(least, least_of_groups(root, hierarchy, path, v1));
    }
    fclose(f);
    return least;
}
