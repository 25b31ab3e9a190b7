/* place.c - see place.h. Never opens an existing database: closing it would drop the POSIX locks that SQLite holds on
 * the same file for another store of this process. */
#include "place.h"
#include "../src/base/mem.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(char *err, size_t cap, const char *path, const char *what)
{
    snprintf(err, cap, "%s: %s: %s", path, what, strerror(errno));
    return false;
}

/* The directory part of path: "." if it has none. malloc'd. */
static char *parent_of(const char *path)
{
    char *directory = mem_string(path);
    char *slash = strrchr(directory, '/');
    if (!slash)
        return free(directory), mem_string(".");
    slash[slash == directory] = '\0';
    return directory;
}

static bool make_directories(char *directory, char *err, size_t cap)
{
    struct stat st;
    if (stat(directory, &st) == 0 || strcmp(directory, ".") == 0 || strcmp(directory, "/") == 0)
        return true;
    char *parent = parent_of(directory);
    bool ok = make_directories(parent, err, cap);
    free(parent);
    if (!ok)
        return false;
    if (mkdir(directory, 0700) != 0)
        return errno == EEXIST || fail(err, cap, directory, "cannot be made"); /* another program was faster */
    chmod(directory, 0700);
    return true;
}

/* Without a descriptor where the system can: see above for what closing it does to a store opened in between. */
static bool make_file(const char *path, char *err, size_t cap)
{
#ifdef __linux__
    int rc = mknod(path, S_IFREG | 0600, 0);
#else
    int rc = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (rc >= 0)
        close(rc);
#endif
    if (rc < 0)
        return errno == EEXIST || fail(err, cap, path, "cannot be made");
    chmod(path, 0600);
    return true;
}

static bool check(const char *path, const char *directory, char *err, size_t cap)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return fail(err, cap, path, "cannot be opened");
    if (S_ISDIR(st.st_mode) || !S_ISREG(st.st_mode)) {
        snprintf(err, cap, "%s: is %s, not a database file", path, S_ISDIR(st.st_mode) ? "a directory" : "a device");
        return false;
    }
    if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0)
        return fail(err, cap, path, "cannot be written");
    if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) != 0) /* the journal is made beside it */
        return fail(err, cap, directory, "directory cannot be written");
    return true;
}

bool place_prepare(const char *path, bool create, char *err, size_t cap)
{
    struct stat st;
    char *directory = parent_of(path);
    bool ok = true;
    if (create && stat(path, &st) != 0)
        ok = make_directories(directory, err, cap) && make_file(path, err, cap);
    ok = ok && check(path, directory, err, cap);
    free(directory);
    return ok;
}

void place_make_private(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077))
        chmod(path, st.st_mode & 0700);
}
