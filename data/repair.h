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
 * SQLITE_BUSY where another program has the file open; SQLITE_NOTADB where it is no database of ours; otherwise why a
 * new file could not be written. Fills err unless SQLITE_OK, and leaves the file as it was. */
int repair_file(const char *path, char **notice, char *err, size_t cap);

/* Whether a damaged file was a database of ours: by its header, or because rows of ours were found. */
bool repair_is_ours(const char *path, const struct salvage_report *report);

/* What was saved, and where the damaged file is (aside NULL: where it was). malloc'd. */
char *repair_notice(const char *path, const struct salvage_report *report, const char *aside);

#endif
