/* store_structs.c - see store_structs.h; also store_new_id and store_event_free of store.h. */
#include "store_structs.h"
#include "../src/base/clock.h"
#include "../src/base/mem.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* 2^43 ms last until 2248; 2^20 random values keep two programs apart within one millisecond. */
#define RANDOM_BITS 20

static uint64_t random_bits(void)
{
    uint64_t bits;
    if (getentropy(&bits, sizeof bits) == 0)
        return bits;
    /* a sandbox may forbid getentropy: the clock and the process id still differ between programs */
    return (uint64_t)clock_ns() * 0x9E3779B97F4A7C15u ^ (uint64_t)getpid() << 7;
}

store_id store_new_id(void)
{
    static _Atomic int64_t newest; /* the last id returned: the clock may stand still or be set back */
    uint64_t bits = random_bits();
    int64_t id = clock_wall_ms() << RANDOM_BITS | (int64_t)(bits & ((1u << RANDOM_BITS) - 1));
    int64_t seen = atomic_load(&newest), mine;
    do {
        mine = id > seen ? id : seen + 1 + (int64_t)(bits >> 56);
    } while (!atomic_compare_exchange_weak(&newest, &seen, mine));
    return mine;
}

struct store_conversation store_copy_conversation(const struct store_conversation *c)
{
    struct store_conversation copy = *c;
    copy.title = mem_string(c->title);
    copy.system = mem_string(c->system);
    return copy;
}

struct store_message store_copy_message(const struct store_message *m)
{
    struct store_message copy = *m;
    copy.text = mem_string(m->text ? m->text : "");
    copy.model = mem_string(m->model);
    return copy;
}

struct store_summary store_copy_summary(const struct store_summary *s)
{
    struct store_summary copy = *s;
    copy.text = mem_string(s->text ? s->text : "");
    copy.method = mem_string(s->method ? s->method : "");
    return copy;
}

struct store_draft store_copy_draft(const struct store_draft *d)
{
    struct store_draft copy = *d;
    copy.text = mem_string(d->text);
    return copy;
}

void store_clear_conversation(struct store_conversation *c)
{
    free(c->title);
    free(c->system);
}

void store_clear_message(struct store_message *m)
{
    free(m->text);
    free(m->model);
}

void store_clear_summary(struct store_summary *s)
{
    free(s->text);
    free(s->method);
}

void store_clear_draft(struct store_draft *d)
{
    free(d->text);
}

struct store_event *store_event_new(enum store_event_type type, char *text)
{
    struct store_event *e = mem_new(1, sizeof *e);
    e->type = type;
    e->text = text;
    return e;
}

void store_event_clear(struct store_event *e)
{
    for (size_t i = 0; i < e->n; i++) {
        if (e->settings) {
            free(e->settings[i].key);
            free(e->settings[i].value);
        }
        if (e->conversations)
            store_clear_conversation(&e->conversations[i]);
        if (e->messages)
            store_clear_message(&e->messages[i]);
        if (e->hits) {
            free(e->hits[i].title);
            free(e->hits[i].excerpt);
        }
    }
    for (size_t i = 0; i < e->n_summaries; i++)
        store_clear_summary(&e->summaries[i]);
    for (size_t i = 0; e->prompts && i < e->n; i++)
        free(e->prompts[i]);
    for (size_t i = 0; i < e->n_commands; i++)
        free(e->commands[i]);
    free(e->prompts);
    free(e->commands);
    store_clear_draft(&e->draft);
    store_clear_conversation(&e->conversation);
    free(e->settings);
    free(e->conversations);
    free(e->messages);
    free(e->summaries);
    free(e->hits);
    free(e->text);
    *e = (struct store_event){.type = e->type};
}

void store_event_free(struct store_event *e)
{
    if (!e)
        return;
    store_event_clear(e);
    free(e);
}
