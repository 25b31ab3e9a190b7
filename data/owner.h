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

/* Opens the lock file beside db_path and locks id's byte. The descriptor, or -1 and err. close() gives the lock
 * up. */
int owner_open(const char *db_path, store_id id, char *err, size_t cap);

/* Whether another store holds id's byte. */
bool owner_alive(int fd, store_id id);

/* Whether any other store has the file open. */
bool owner_company(int fd);

#endif
