/* record.c - see record.h; also what store.h says of ids and of freeing events. */
#include "record.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* 2^43 ms last until 2248; 2^20 random values keep two programs apart within one millisecond. */
#define RANDOM_BITS 20

static void *checked(void *p)
{
    if (!p) {
        fputs("chinwag: out of memory\n", stderr);
        abort(); /* not exit: its handlers would touch the screen from this thread */
    }
    return p;
}

void *store_calloc(size_t n, size_t size)
{
    return checked(calloc(n ? n : 1, size ? size : 1));
}

char *store_strdup(const char *s)
{
    return s ? checked(strdup(s)) : NULL;
}

char *store_printf(const char *format, ...)
{
    char *s = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&s, format, args) < 0)
        s = NULL;
    va_end(args);
    return checked(s);
}

void *store_grow(void *array, size_t n, size_t size)
{
    if (n == 0 || (n & (n - 1)) == 0) {
        array = checked(reallocarray(array, n ? 2 * n : 1, size));
        memset((char *)array + n * size, 0, (n ? n : 1) * size);
    }
    return array;
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t store_now_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

int64_t store_ticks_ms(void)
{
    return clock_ms(STORE_TICKS);
}

static uint64_t random_bits(void)
{
    uint64_t bits;
    if (getentropy(&bits, sizeof bits) == 0)
        return bits;
    struct timespec now; /* a sandbox without the call: the clock and the process still tell programs apart */
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_nsec * 0x9E3779B97F4A7C15u ^ (uint64_t)getpid() << 7;
}

store_id store_new_id(void)
{
    static _Atomic int64_t newest; /* the last id given out: the clock may stand still or be set back */
    uint64_t bits = random_bits();
    int64_t id = store_now_ms() << RANDOM_BITS | (int64_t)(bits & ((1u << RANDOM_BITS) - 1));
    int64_t seen = atomic_load(&newest), mine;
    do {
        mine = id > seen ? id : seen + 1 + (int64_t)(bits >> 56);
    } while (!atomic_compare_exchange_weak(&newest, &seen, mine));
    return mine;
}

struct store_conversation record_copy_conversation(const struct store_conversation *c)
{
    struct store_conversation copy = *c;
    copy.title = store_strdup(c->title);
    copy.system = store_strdup(c->system);
    return copy;
}

struct store_message record_copy_message(const struct store_message *m)
{
    struct store_message copy = *m;
    copy.text = store_strdup(m->text ? m->text : "");
    copy.model = store_strdup(m->model);
    return copy;
}

struct store_summary record_copy_summary(const struct store_summary *s)
{
    struct store_summary copy = *s;
    copy.text = store_strdup(s->text ? s->text : "");
    copy.method = store_strdup(s->method ? s->method : "");
    return copy;
}

void record_end_conversation(struct store_conversation *c)
{
    free(c->title);
    free(c->system);
}

void record_end_message(struct store_message *m)
{
    free(m->text);
    free(m->model);
}

void record_end_summary(struct store_summary *s)
{
    free(s->text);
    free(s->method);
}

struct store_event *record_event(enum store_event_type type, char *text)
{
    struct store_event *e = store_calloc(1, sizeof *e);
    e->type = type;
    e->text = text;
    return e;
}

void record_end_event(struct store_event *e)
{
    for (size_t i = 0; i < e->n; i++) {
        if (e->settings) {
            free(e->settings[i].key);
            free(e->settings[i].value);
        }
        if (e->conversations)
            record_end_conversation(&e->conversations[i]);
        if (e->messages)
            record_end_message(&e->messages[i]);
        if (e->hits) {
            free(e->hits[i].title);
            free(e->hits[i].excerpt);
        }
    }
    for (size_t i = 0; i < e->n_summaries; i++)
        record_end_summary(&e->summaries[i]);
    record_end_conversation(&e->conversation);
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
    record_end_event(e);
    free(e);
}
