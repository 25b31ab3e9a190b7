/*
 * salvage.h - copies what can still be read from a damaged database into a new one.
 *
 * Two passes: SQLite reads each table from both ends, and row by row through what indexes name; then carve.h looks
 * for further rows in the pages themselves. Rows that SQLite can read win. The tree is mended: a message whose parent
 * is lost hangs below the newest older message of its conversation, a conversation whose row is lost gets a new one.
 */
#ifndef SALVAGE_H
#define SALVAGE_H

#include <sqlite3.h>

struct salvage_report {
    int conversations, messages, settings; /* in the new database */
    int lost;                              /* messages that are known to have existed and could not be read */
};

/* Fills `into`, an empty database of the present schema, in one transaction. The file at path is only read. Returns
 * an SQLite result code of `into`: damage of the file is no error. */
int salvage(const char *path, sqlite3 *into, struct salvage_report *report);

#endif
