/* worker_recall.c - see worker_recall.h. */
#include "worker_recall.h"

#include "base/hash.h"
#include "base/mem.h"
#include "summary_text.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_MESSAGES = 4096, /* beyond these the older half is forgotten: nothing but time is lost */
    MAX_SUMMARIES = 256,
};

struct remembered_summary {
    int64_t conversation, last;
    char *text;
};

struct recall {
    struct remembered *messages; /* ascending by id: ids ascend in time, so new ones come at the end */
    size_t n_messages, cap;
    struct remembered_summary summaries[MAX_SUMMARIES]; /* the most recent last */
    size_t n_summaries;
};

static void forget(struct remembered *r)
{
    free(r->ids);
    free(r->cut);
    r->ids = NULL;
    r->n_ids = 0;
    r->cut = NULL;
    r->n_tokens = -1;
}

static uint64_t hash_of(const char *text, size_t len)
{
    struct slice trimmed = slice_trim((struct slice){text, len});
    return hash_fnv1a(HASH_START, trimmed.s, trimmed.len);
}

static size_t position(const struct recall *m, int64_t id)
{
    size_t low = 0, high = m->n_messages;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (m->messages[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct recall *recall_new(void)
{
    return mem_new(1, sizeof(struct recall));
}

void recall_free(struct recall *m)
{
    if (!m)
        return;
    recall_forget_tokens(m);
    free(m->messages);
    for (size_t i = 0; i < m->n_summaries; i++)
        free(m->summaries[i].text);
    free(m);
}

void recall_forget_tokens(struct recall *m)
{
    for (size_t i = 0; i < m->n_messages; i++)
        forget(&m->messages[i]);
    m->n_messages = 0;
}

void recall_trim(struct recall *m)
{
    if (m->n_messages <= MAX_MESSAGES)
        return;
    size_t drop = m->n_messages - MAX_MESSAGES / 2;
    for (size_t i = 0; i < drop; i++)
        forget(&m->messages[i]);
    m->n_messages -= drop;
    memmove(m->messages, m->messages + drop, m->n_messages * sizeof *m->messages);
}

struct remembered *recall_message(struct recall *m, int64_t id, const char *text, size_t len)
{
    uint64_t hash = hash_of(text, len);
    size_t at = position(m, id);
    if (at == m->n_messages || m->messages[at].id != id) {
        if (m->n_messages == m->cap) {
            m->cap = m->cap ? m->cap * 2 : 64;
            m->messages = mem_resize(m->messages, m->cap, sizeof *m->messages);
        }
        memmove(m->messages + at + 1, m->messages + at, (m->n_messages - at) * sizeof *m->messages);
        m->n_messages++;
        m->messages[at] = (struct remembered){.id = id, .text_hash = hash, .n_tokens = -1};
    }
    struct remembered *r = &m->messages[at];
    if (r->text_hash != hash) {
        forget(r);
        r->text_hash = hash;
    }
    return r;
}

void recall_set_ids(struct remembered *r, const int32_t *ids, size_t n)
{
    free(r->ids);
    r->ids = mem_resize(NULL, n, sizeof *r->ids);
    memcpy(r->ids, ids, n * sizeof *r->ids);
    r->n_ids = n;
    r->n_tokens = (int)n;
}

void recall_set_count(struct remembered *r, int n_tokens)
{
    r->n_tokens = n_tokens;
}

void recall_set_cut(struct remembered *r, char *cut, int n_tokens)
{
    free(r->cut);
    r->cut = cut;
    r->n_tokens = n_tokens;
}

const char *recall_summary(const struct recall *m, int64_t conversation, int64_t *last)
{
    for (size_t i = 0; i < m->n_summaries; i++) {
        if (m->summaries[i].conversation != conversation)
            continue;
        *last = m->summaries[i].last;
        return m->summaries[i].text;
    }
    return NULL;
}

void recall_set_summary(struct recall *m, int64_t conversation, int64_t last, const char *text)
{
    size_t at = 0;
    while (at < m->n_summaries && m->summaries[at].conversation != conversation)
        at++;
    if (at == m->n_summaries && at == MAX_SUMMARIES)
        at = 0;
    if (at < m->n_summaries) {
        free(m->summaries[at].text);
        m->n_summaries--;
        memmove(m->summaries + at, m->summaries + at + 1, (m->n_summaries - at) * sizeof *m->summaries);
    }
    m->summaries[m->n_summaries++] =
        (struct remembered_summary){.conversation = conversation, .last = last, .text = mem_string(text)};
}
