/*
 * search_index.h - the full-text index over the messages: FTS5 with trigrams, kept current by triggers.
 *
 * The index holds the units of each text without accents (../src/base/fold.h), produced by our own tokenizer. A program
 * that does not register the tokenizer, such as the sqlite3 shell, can read the messages but not change them.
 *
 * The index is derived from the table `message` and may be dropped and built again at any time; it holds no text of
 * its own (external content). It is not part of the schema's versions: an index with another definition is
 * replaced. Streaming answers (state 1) are not indexed until they end, because they change four times a second; the
 * search reads them directly.
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

/* Registers the tokenizer for every connection that this process opens afterwards. May be called repeatedly, from any
 * thread. */
void search_index_register(void);

/* Compares the index's definition and queries it for one recent message. Detects an index that cannot be opened or is
 * empty, but not every missing word. */
enum search_index_state search_index_check(sqlite3 *db);

/* Removes the index, its triggers and its view in one transaction. The connection must not be defensive
 * (SQLITE_DBCONFIG_DEFENSIVE): an index that SQLite cannot open is removed from the schema directly. */
int search_index_drop(sqlite3 *db);

/* Builds the index from the messages in one transaction; does nothing if another program has already built it. */
int search_index_build(sqlite3 *db);

/* Removes the words of deleted messages from the index; call it within the transaction that deletes them. By default
 * FTS5 only marks words as deleted. Its option secure-delete (SQLite 3.42) removes them immediately; for older versions
 * of SQLite this function merges the whole index. */
int search_index_forget(sqlite3 *db);

#endif
