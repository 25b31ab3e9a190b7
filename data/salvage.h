/*
 * salvage.h - copies what can still be read from a damaged database into a new one.
 *
 * Two passes: SQLite reads each table from both ends, then the rows whose ids it finds in indexes; after that carve.h
 * reads further rows from the pages directly. A row that SQLite can read takes precedence. The tree is repaired: the
 * newest older message of the conversation becomes the parent of a message whose parent is lost, and a conversation
 * whose row is lost gets a new row.
 */
#ifndef SALVAGE_H
#define SALVAGE_H

#include <sqlite3.h>

struct salvage_report {
    int conversations, messages, settings; /* in the new database */
    int lost;                              /* messages named by other rows or indexes that could not be read */
};

/* Fills `into`, an empty database of the present schema, in one transaction. The file at path is only read. Returns
 * an SQLite result code of `into`; damage in the file at path is not an error. */
int salvage(const char *path, sqlite3 *into, struct salvage_report *report);

#endif
