/*
 * search_index.h - the full-text index over the messages: FTS5 with trigrams, kept current by triggers.
 *
 * What is indexed are the units of a text without its accents (../src/base/fold.h), by a tokenizer of our own: a program
 * that does not register it, such as the sqlite3 shell, can read the messages but not change them.
 *
 * The index is derived from the table `message` and may be dropped and built again at any time; it holds no text of
 * its own (external content). It is not part of the schema's versions: an index with another definition is
 * replaced. Streaming answers (state 1) are left out until they end, so that four updates a second do not index the
 * same words again; the search reads them directly.
 *
 * All functions use one connection on one thread and return SQLite result codes.
 */
#ifndef SEARCH_INDEX_H
#define SEARCH_INDEX_H

#include <sqlite3.h>

enum search_index_state {
    SEARCH_INDEX_READY,
    SEARCH_INDEX_MISSING,  /* build it */
    SEARCH_INDEX_OUTDATED, /* of another definition, an earlier version's: drop it, then build it */
    SEARCH_INDEX_DAMAGED,  /* likewise */
};

/* Gives every connection that this process opens from now on the tokenizer. Any thread may call it, any number of
 * times. */
void search_index_register(void);

/* Looks at the index's definition and asks it for one recent message: finds an index that cannot be opened or lost
 * its contents, not every missing word. */
enum search_index_state search_index_check(sqlite3 *db);

/* Removes the index, its triggers and its view in one transaction. The connection must not be defensive
 * (SQLITE_DBCONFIG_DEFENSIVE): an index that SQLite cannot open is removed from the schema directly. */
int search_index_drop(sqlite3 *db);

/* Builds the index from the messages in one transaction; does nothing where another program has built it. */
int search_index_build(sqlite3 *db);

/* Within a transaction that deleted messages: removes what the index still holds of them. FTS5 only marks words as
 * deleted; its option secure-delete (SQLite 3.42) removes them at once, and before that merging the whole index does. */
int search_index_forget(sqlite3 *db);

#endif
