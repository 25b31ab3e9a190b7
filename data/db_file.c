/* db_file.c - see db_file.h. */
#include "db_file.h"

#include "../src/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_LINKS 40 /* symbolic links followed, as the kernel does */

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
        return errno == EEXIST || fail(err, cap, directory, "cannot be made"); /* another program has created it */
    chmod(directory, 0700);
    return true;
}

/* Creates the file without a descriptor if the system can: closing one would drop the POSIX locks of another store of
 * this process that has opened the file meanwhile. */
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

/* Resolves a chain of symbolic links; the final target need not exist. malloc'd; NULL and errno ELOOP for a cycle. */
static char *follow_links(const char *path)
{
    char *at = mem_string(path);
    for (int i = 0; i < MAX_LINKS; i++) {
        char target[4096];
        ssize_t n = readlink(at, target, sizeof target - 1);
        if (n < 0)
            return at;
        target[n] = '\0';
        char *directory = parent_of(at);
        char *next = *target == '/' ? mem_string(target) : mem_printf("%s/%s", directory, target);
        free(directory);
        free(at);
        at = next;
    }
    free(at);
    errno = ELOOP;
    return NULL;
}

/* Creates the target of a dangling link, as editors do, but not the target's directory: a mount may be missing. */
static bool make(const char *path, const char *real, char *err, size_t cap)
{
    struct stat st;
    bool is_link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    char *directory = parent_of(real);
    bool ok = (is_link || make_directories(directory, err, cap)) && make_file(real, err, cap);
    free(directory);
    return ok;
}

static enum db_file_access check(const char *path, const char *real, char *err, size_t cap)
{
    struct stat st;
    if (stat(real, &st) != 0 || (!S_ISDIR(st.st_mode) && faccessat(AT_FDCWD, real, R_OK, AT_EACCESS) != 0)) {
        fail(err, cap, path, "cannot be opened");
        return DB_FILE_UNUSABLE;
    }
    if (!S_ISREG(st.st_mode)) {
        snprintf(err, cap, "%s: is %s, not a database file", path, S_ISDIR(st.st_mode) ? "a directory" : "a device");
        return DB_FILE_UNUSABLE;
    }
    char *directory = parent_of(real);
    bool writable = true;
    if (faccessat(AT_FDCWD, real, W_OK, AT_EACCESS) != 0)
        writable = fail(err, cap, path, "cannot be written");
    else if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) != 0)
        writable = fail(err, cap, directory, "directory cannot be written");
    free(directory);
    return writable ? DB_FILE_WRITABLE : DB_FILE_READ_ONLY;
}

enum db_file_access db_file_prepare(const char *path, bool create, char *err, size_t cap)
{
    struct stat st;
    enum db_file_access access = DB_FILE_UNUSABLE;
    char *real = follow_links(path);
    if (!real)
        fail(err, cap, path, "cannot be opened");
    else if (!create || stat(path, &st) == 0 || errno != ENOENT || make(path, real, err, cap))
        access = check(path, real, err, cap);
    free(real);
    return access;
}

void db_file_make_private(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077))
        chmod(path, st.st_mode & 0700);
}

/* ---- a copy elsewhere ---- */

static const char *const companions[] = {"", "-journal", "-wal"};

/* Copies path + suffix to copy + suffix. Returns false with errno. */
static bool copy_one(const char *path, const char *copy, const char *suffix)
{
    static const int modes[] = {O_RDONLY | O_CLOEXEC, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC};
    char block[65536];
    ssize_t n = -1;
    int fds[2] = {-1, -1};
    for (int i = 0; i < 2; i++) {
        char *name = mem_printf("%s%s", i ? copy : path, suffix);
        if (i == 0 || fds[0] >= 0)
            fds[i] = open(name, modes[i], 0600);
        free(name);
    }
    while (fds[1] >= 0 && (n = read(fds[0], block, sizeof block)) > 0)
        if (write(fds[1], block, (size_t)n) != n) {
            n = -1;
            break;
        }
    int kept = errno;
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    errno = kept;
    return n == 0;
}

char *db_file_copy(const char *path, char *err, size_t cap)
{
    const char *tmp = getenv("TMPDIR");
    char *directory = mem_printf("%s/chinwag-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    char *copy = mkdtemp(directory) ? mem_printf("%s/copy.db", directory) : NULL;
    if (!copy)
        fail(err, cap, directory, "cannot be made");
    bool ok = copy != NULL;
    for (size_t i = 0; ok && i < sizeof companions / sizeof *companions; i++)
        ok = copy_one(path, copy, companions[i]) || *companions[i]; /* a journal may be missing or unreadable */
    if (copy && !ok) {
        fail(err, cap, path, "cannot be copied");
        db_file_remove_copy(copy);
        copy = NULL;
    }
    free(directory);
    return copy;
}

void db_file_remove_copy(char *copy)
{
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++) {
        char *name = mem_printf("%s%s", copy, companions[i]);
        unlink(name);
        free(name);
    }
    char *directory = parent_of(copy);
    rmdir(directory);
    free(directory);
    free(copy);
}

/* ---- replacing it ---- */

char *db_file_create_beside(const char *path, char *err, size_t cap)
{
    char *fresh = mem_printf("%s.new-XXXXXX", path);
    int fd = mkstemp(fresh);
    if (fd >= 0) {
        close(fd);
        return fresh;
    }
    fail(err, cap, fresh, "cannot be made");
    free(fresh);
    return NULL;
}

/* Returns an unused name PATH.damaged-TIME for the damaged file. malloc'd. */
static char *name_aside(const char *path)
{
    char stamp[32];
    struct stat st;
    struct tm local = {0};
    time_t now = time(NULL);
    localtime_r(&now, &local);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
    char *name = mem_printf("%s.damaged-%s", path, stamp);
    for (int i = 2; lstat(name, &st) == 0; i++) {
        free(name);
        name = mem_printf("%s.damaged-%s-%d", path, stamp, i);
    }
    return name;
}

/* Syncs the directory of path; ignores failures, because some network file systems cannot sync directories. */
static void sync_directory(const char *path)
{
    char *directory = parent_of(path);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(directory);
}

/* Links the old file to its second name before renaming the new file to path, so that path always names a database.
 * Moves the journal first: SQLite would roll it back into the new file. Without hard links (FAT), renames the old
 * file. */
bool db_file_replace(const char *path, const char *fresh, char **aside, char *err, size_t cap)
{
    char *journal = mem_printf("%s-journal", path);
    *aside = name_aside(path);
    char *journal_aside = mem_printf("%s-journal", *aside);
    bool linked = link(path, *aside) == 0, ok = linked || rename(path, *aside) == 0;
    if (ok && rename(journal, journal_aside) != 0 && errno != ENOENT)
        ok = false;
    ok = ok && rename(fresh, path) == 0;
    if (!ok) {
        fail(err, cap, path, "cannot be replaced by what was read from it");
        rename(journal_aside, journal);
        if (linked)
            unlink(*aside);
        else
            rename(*aside, path);
        free(*aside);
        *aside = NULL;
    }
    sync_directory(path);
    free(journal);
    free(journal_aside);
    return ok;
}
