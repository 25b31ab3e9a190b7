/*
 * vfs.h - SQLite's own file layer, minus one sync per transaction.
 *
 * SQLite opens the rollback journal with O_CREAT for each transaction and then syncs the directory, in case the file
 * is new. Our journal persists (see db.h), so this layer opens an existing journal without SQLITE_OPEN_CREATE, which
 * avoids that sync. It passes everything else to the default layer.
 */
#ifndef VFS_H
#define VFS_H

/* Returns the name for sqlite3_open_v2, or NULL (the default layer) if it cannot be registered. Any thread. */
const char *vfs_name(void);

#endif
