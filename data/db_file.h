/* db_file.h - the database file as a file: its directory, its permissions, and replacing it by another. */
#ifndef DB_FILE_H
#define DB_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum db_file_access {
    DB_FILE_WRITABLE,
    DB_FILE_READ_ONLY, /* the file, its directory (where the journal is created) or the mount */
    DB_FILE_UNUSABLE,
};

/* Checks that path is a regular file that can be read. create: makes the missing directories (0700) and the file
 * (0600, empty) whatever the umask; of a symbolic link, its missing target, but no directory. Unless the result is
 * DB_FILE_WRITABLE, err says why. Never opens an existing file: closing it would drop the POSIX locks that SQLite
 * holds on it for another store of this process. */
enum db_file_access db_file_prepare(const char *path, bool create, char *err, size_t cap);

/* Removes the permissions of group and others from a file owned by the user, such as a copy made by hand. */
void db_file_make_private(const char *path);

/* Copies the file and its journal or write-ahead log into a new private directory in TMPDIR. Returns the path of the
 * copy (malloc'd), or NULL and fills err. */
char *db_file_copy(const char *path, char *err, size_t cap);
void db_file_remove_copy(char *copy); /* with its directory; frees copy */

/* Creates an empty file with a new name beside path, 0600. Returns its path (malloc'd), or NULL and fills err. */
char *db_file_create_beside(const char *path, char *err, size_t cap);

/* Replaces the database at path by the one at fresh (in the same directory). The old file and its journal are kept
 * beside it under a name that *aside gets (malloc'd). After a power loss path names the old or the new file.
 * No program may have the database open. On failure returns false, fills err and leaves path unchanged. */
bool db_file_replace(const char *path, const char *fresh, char **aside, char *err, size_t cap);

#endif
