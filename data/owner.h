/*
 * owner.h - which programs that have the file open are still alive.
 *
 * A streaming answer's row holds the owner id of the program that writes it. A store that opens the file must
 * distinguish answers left by a killed program from answers that another program is still writing. Process ids cannot
 * do that (they are reused, and differ between containers), so each store locks one byte of FILE-lock, at the offset of
 * its owner id: the kernel releases the lock when the program ends, even after kill -9. The lock file is empty and is
 * never removed.
 *
 * Losing the lock file is harmless: a streaming answer is shown as interrupted until its next update.
 */
#ifndef OWNER_H
#define OWNER_H

#include "store.h"

/* Opens the lock file beside db_path and locks the byte of id. Returns the descriptor; close() releases the lock. On
 * failure returns -1 and fills err; *busy is true if another program is repairing the file (owner_exclude). */
int owner_open(const char *db_path, store_id id, bool *busy, char *err, size_t cap);

/* Opens an existing lock file for owner_alive only. Returns -1 if it cannot be opened. */
int owner_open_read_only(const char *db_path);

/* Locks all bytes, so that no other store can open the file until fd is closed. Returns false if another store has it
 * open. */
bool owner_exclude(int fd);

/* Whether another store holds the lock of id. False without a lock file (fd < 0). */
bool owner_alive(int fd, store_id id);

/* Whether any other store has the file open. */
bool owner_company(int fd);

#endif
