/*
 * schema.h - the tables, and how a file becomes one of the present version.
 */
#ifndef SCHEMA_H
#define SCHEMA_H

#include <sqlite3.h>
#include <stddef.h>

#define SCHEMA_APPLICATION_ID 0x63687767 /* "chwg" */

/* Checks that the open database is ours or empty, and migrates it. Before it is known to be ours nothing is written.
 * path is for the sentence in err. SQLITE_OK, or a result code; err says why a file is refused, and is empty for
 * others. */
int schema_prepare(sqlite3 *db, const char *path, char *err, size_t cap);

#endif
