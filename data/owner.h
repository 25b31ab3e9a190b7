/*
 * owner.h - which programs that have the file open are still alive.
 *
 * An answer being written carries its program's owner id. When a store opens it must tell answers left by a killed
 * program from those another window is writing right now. Process ids do not answer that (they are reused, and mean
 * nothing across containers), so each store locks one byte of FILE-lock, at the offset of its owner id: the kernel
 * lets the lock go when the program dies, however it dies. The file stays empty, and stays.
 *
 * Losing the lock file is harmless: a living answer is then taken for interrupted until its next update.
 */
#ifndef OWNER_H
#define OWNER_H

#include "store.h"

/* Opens the lock file beside db_path and locks the byte of id. Returns the descriptor; close() releases the lock. On
 * failure returns -1 and fills err; *busy then says that another program repairs the file (owner_exclude). */
int owner_open(const char *db_path, store_id id, bool *busy, char *err, size_t cap);

/* Opens an existing lock file for owner_alive only. Returns -1 where there is none. */
int owner_open_read_only(const char *db_path);

/* Locks all bytes: no other store has the file open then, and none can open it until fd is closed. Returns false
 * where another store has it open. */
bool owner_exclude(int fd);

/* Whether another store holds the byte of id. Without a lock file (fd < 0) none does. */
bool owner_alive(int fd, store_id id);

/* Whether any other store has the file open. */
bool owner_company(int fd);

#endif
