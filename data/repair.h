/*
 * repair.h - replaces a damaged database file by a new one that holds all that can be read of it (salvage.h).
 *
 * The damaged file is renamed, never changed and never deleted.
 */
#ifndef REPAIR_H
#define REPAIR_H

#include "salvage.h"

#include <stdbool.h>
#include <stddef.h>

#define REPAIR_NOT_OURS "%s: is not a chinwag database, or is damaged beyond reading; it was left alone"

/* The file must not be open in this process. Returns SQLITE_OK and a sentence for the user in *notice (malloc'd);
 * SQLITE_BUSY if another program has the file open; SQLITE_NOTADB if it is not a chinwag database; otherwise the error
 * of writing the new file. On failure fills err and does not change the file. */
int repair_file(const char *path, char **notice, char *err, size_t cap);

/* Whether a damaged file is a chinwag database, judged by its header or by the rows found in it. */
bool repair_is_ours(const char *path, const struct salvage_report *report);

/* The sentence that says what was saved and where the damaged file is now (aside NULL: still at path). malloc'd. */
char *repair_notice(const char *path, const struct salvage_report *report, const char *aside);

#endif
