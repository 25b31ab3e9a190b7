/*
 * search.c - db_search: queries the index if it can answer, otherwise reads the texts.
 *
 * The trigram index knows substrings of three units (fold.h) and more. Terms that are shorter (most Chinese words) are
 * looked for in the texts that the longer terms found, or in all texts if there are none; in Chinese that is a memmem
 * per message.
 */
#include "../src/base/mem.h"
#include "db.h"
#include "match.h"
#include "store_structs.h"

#include <stdlib.h>
#include <string.h>

#define MAX_HITS 200
#define INDEXED_UNITS 3
#define INDEXED_BYTES                                                                                                \
    192 /* of a term sent to the index, which opens a cursor per trigram; all_found compares the rest */

/* The number of bytes of a term to send to the index: at most INDEXED_BYTES, ending at a whole character. */
static size_t whole_chars(const struct match_term *t)
{
    size_t n = INDEXED_BYTES;
    if (t->len <= n)
        return t->len;
    for (; n > 0 && ((unsigned char)t->start[n] & 0xc0) == 0x80; n--)
        ;
    return n > 0 ? n : INDEXED_BYTES; /* malformed UTF-8 */
}

/* The FTS5 query for the terms that are long enough: "a" AND "b", quotes doubled. NULL if none is. malloc'd. */
static char *index_query(const struct match_query *q, const char *query)
{
    char *match = mem_new(2 * strlen(query) + 8 * q->n + 1, 1), *end = match;
    for (size_t i = 0; i < q->n; i++) {
        const struct match_term *t = &q->terms[i];
        if (t->units < INDEXED_UNITS)
            continue;
        end = stpcpy(end, end > match ? " AND \"" : "\"");
        for (size_t k = 0; k < whole_chars(t); k++) {
            if (t->start[k] == '"')
                *end++ = '"';
            *end++ = t->start[k];
        }
        *end++ = '"';
    }
    if (end > match)
        return match;
    free(match);
    return NULL;
}

/* Whether each term occurs; *at is where the first term does. Also checks what the index finds, because it ignores
 * accents. */
static bool all_found(const struct match_query *q, const char *text, size_t text_len, size_t *at)
{
    for (size_t i = 0; i < q->n; i++) {
        ptrdiff_t found = match_find(&q->terms[i], text, text_len);
        if (found < 0)
            return false;
        if (i == 0)
            *at = (size_t)found;
    }
    return true;
}

/* Adds the rows of a statement (conversation, message, title, text, time, role) that match, until there are
 * enough. */
static int take_hits(sqlite3_stmt *stmt, const struct match_query *q, struct store_event *e)
{
    int rc = SQLITE_OK;
    while (e->n < MAX_HITS && db_row(stmt, &rc)) {
        const char *text = (const char *)sqlite3_column_text(stmt, 3);
        size_t text_len = (size_t)sqlite3_column_bytes(stmt, 3), at = 0;
        if (!text || !all_found(q, text, text_len, &at))
            continue;
        e->hits = mem_append(e->hits, e->n, sizeof *e->hits);
        e->hits[e->n++] = (struct store_hit){
            .conversation = sqlite3_column_int64(stmt, 0),
            .message = sqlite3_column_int64(stmt, 1),
            .title = db_text(stmt, 2),
            .excerpt = match_excerpt(text, text_len, at),
            .created_ms = sqlite3_column_int64(stmt, 4),
            .role = (enum store_role)sqlite3_column_int(stmt, 5),
        };
    }
    sqlite3_reset(stmt);
    return rc;
}

/* Queries the index. Returns false if it is missing or damaged: the caller must then read all messages. */
static bool take_indexed(struct db *db, store_id conversation, const char *match, const struct match_query *q,
                         struct store_event *e, int *rc)
{
    size_t before = e->n;
    if (db->index_missing)
        return false;
    *rc = take_hits(db_bind(db, DB_FIND_INDEXED, "it", conversation, match), q, e);
    if ((*rc & 0xff) != SQLITE_CORRUPT && (*rc & 0xff) != SQLITE_ERROR)
        return true;
    while (e->n > before) {
        e->n--;
        free(e->hits[e->n].title);
        free(e->hits[e->n].excerpt);
    }
    db->index_suspect = true;
    *rc = SQLITE_OK;
    return false;
}

enum db_result db_search(struct db *db, const char *query, store_id conversation, struct store_event *e)
{
    struct match_query q = match_parse(query);
    char *match = index_query(&q, query);
    e->text = mem_string(query);
    int rc = db_begin(db, DB_BEGIN_READ);
    if (rc == SQLITE_OK && q.n > 0 && !conversation)
        rc = take_hits(db_bind(db, DB_TITLES, ""), &q, e);
    if (rc == SQLITE_OK && match && !db->index_missing)
        rc = take_hits(db_bind(db, DB_FIND_STREAMING, "i", conversation), &q, e);
    bool indexed = rc == SQLITE_OK && match && take_indexed(db, conversation, match, &q, e, &rc);
    if (rc == SQLITE_OK && q.n > 0 && !indexed)
        rc = take_hits(db_bind(db, DB_FIND_ALL, "i", conversation), &q, e);
    enum db_result result = db_finish(db, rc);
    free(match);
    match_free(&q);
    return result;
}
