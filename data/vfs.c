/* vfs.c - see vfs.h. */
#include "vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>
#include <unistd.h>

static sqlite3_vfs *standard, ours;
static int registered = SQLITE_ERROR;

static int open_file(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *out_flags)
{
    const int new_journal = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_CREATE;
    if (name && (flags & new_journal) == new_journal && access(name, F_OK) == 0) {
        int rc = standard->xOpen(vfs, name, file, flags & ~SQLITE_OPEN_CREATE, out_flags);
        if (rc == SQLITE_OK)
            return rc;
    }
    return standard->xOpen(vfs, name, file, flags,
                           out_flags); /* another program deleted it, or it cannot be opened */
}

static void register_ours(void)
{
    if (!(standard = sqlite3_vfs_find(NULL)))
        return;
    ours = *standard; /* the default layer's functions read only fields that the copy has */
    ours.pNext = NULL;
    ours.zName = "chinwag";
    ours.xOpen = open_file;
    registered = sqlite3_vfs_register(&ours, 0);
}

const char *vfs_name(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_ours);
    return registered == SQLITE_OK ? ours.zName : NULL;
}
