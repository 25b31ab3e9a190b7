/*
 * vfs.h - SQLite's own file layer, minus one sync per transaction.
 *
 * SQLite opens the rollback journal with O_CREAT for each transaction, and then syncs the directory in case the file is
 * new. Our journal persists (see db.h), so this layer opens an existing one without SQLITE_OPEN_CREATE, which saves
 * that sync. Everything else is the default layer.
 */
#ifndef VFS_H
#define VFS_H

/* The name for sqlite3_open_v2, or NULL (the default layer) where it cannot be registered. Any thread may call it. */
const char *vfs_name(void);

#endif
