/* conversation.c - see conversation.h. */
#include "conversation.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <unigbrk.h>
#include <unistr.h>
#include <uniwidth.h>

#define TITLE_COLUMNS 72

/* ---- helpers ---- */

static struct conversation_message *add(struct conversation *c)
{
    if (c->n == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 16;
        c->messages = mem_resize(c->messages, c->cap, sizeof *c->messages);
    }
    struct conversation_message *m = &c->messages[c->n];
    *m = (struct conversation_message){.id = store_new_id(),
                                       .text = BUFFER_INIT,
                                       .parent = c->n ? c->messages[c->n - 1].id : 0,
                                       .created_ms = clock_wall_ms()};
    c->n++;
    return m;
}

static void message_free(struct conversation_message *m)
{
    buffer_free(&m->text);
    free(m->model);
}

/* The number of messages up to and with this id on the path, 0 where it is not there. */
static size_t count_to(const struct conversation *c, store_id message)
{
    for (size_t i = c->n; i > 0; i--)
        if (c->messages[i - 1].id == message)
            return i;
    return 0;
}

static const enum store_end ends[] = {
    [WORKER_END_COMPLETE] = STORE_END_COMPLETE, [WORKER_END_STOPPED] = STORE_END_STOPPED,
    [WORKER_END_LENGTH] = STORE_END_WINDOW,     [WORKER_END_LOOP] = STORE_END_REPEATING,
    [WORKER_END_FAILED] = STORE_END_FAILED,
};

static const char *const footnotes[] = {
    [STORE_END_STOPPED] = "stopped",
    [STORE_END_MAX_TOKENS] = "cut at max-tokens",
    [STORE_END_WINDOW] = "cut at the window",
    [STORE_END_INTERRUPTED] = "interrupted: the program ended",
    [STORE_END_REPEATING] = "repeating itself; Alt-R answers again",
    [STORE_END_FAILED] = "failed",
};

/* ---- life ---- */

struct conversation *conversation_new(const char *system)
{
    struct conversation *c = mem_new(1, sizeof *c);
    c->id = store_new_id();
    c->title = mem_string("New conversation");
    c->system = mem_string(system);
    c->created_ms = clock_wall_ms();
    return c;
}

static void take_message(struct conversation *c, const struct store_message *from)
{
    struct conversation_message *m = add(c);
    m->id = from->id;
    m->parent = from->parent;
    m->role = from->role;
    m->state = from->state;
    m->saved = true;
    buffer_puts(&m->text, from->text ? from->text : "");
    if (m->role == STORE_ASSISTANT)
        engine_thought_read(&m->thought, m->text.s, m->text.len, true);
    m->model = mem_string(from->model);
    m->created_ms = from->created_ms;
    m->number = from->number;
    m->count = from->count;
    m->end = from->end;
    if (m->end == STORE_END_UNKNOWN && from->state == STORE_INTERRUPTED) /* stored before reasons were */
        m->end = STORE_END_STOPPED;
    m->stats = (struct engine_stats){.prompt_tokens = from->prompt_tokens,
                                     .evaluated_tokens = from->evaluated_tokens,
                                     .generated_tokens = from->generated_tokens,
                                     .first_token_ms = from->first_token_ms,
                                     .decode_ms = from->decode_ms};
}

struct conversation *conversation_from_store(const struct store_event *loaded)
{
    struct conversation *c = mem_new(1, sizeof *c);
    c->id = loaded->conversation.id;
    c->title = mem_string(loaded->conversation.title);
    c->system = mem_string(loaded->conversation.system);
    c->created_ms = loaded->conversation.created_ms;
    c->named = c->stored = true;
    c->draft =
        (struct conversation_draft){loaded->draft.id, mem_string(loaded->draft.text), mem_string(loaded->draft.text)};
    for (size_t i = 0; i < loaded->n; i++)
        take_message(c, &loaded->messages[i]);
    for (size_t i = c->n; i > 0 && !c->window_used; i--) { /* one that was cut off has no figures */
        const struct engine_stats *stats = &c->messages[i - 1].stats;
        c->window_used = stats->prompt_tokens + stats->generated_tokens;
    }
    /* A summary made on another branch may cover messages that are not on this path: the latest one that fits
     * counts. */
    for (size_t i = loaded->n_summaries; i > 0; i--)
        if (conversation_summarize(c, loaded->summaries[i - 1].last, loaded->summaries[i - 1].text))
            break;
    return c;
}

void conversation_draft_free(struct conversation_draft *d)
{
    free(d->typed);
    free(d->stored);
    *d = (struct conversation_draft){0};
}

void conversation_free(struct conversation *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++)
        message_free(&c->messages[i]);
    free(c->messages);
    free(c->title);
    free(c->system);
    free(c->summary);
    outbox_free(&c->outbox);
    conversation_draft_free(&c->draft);
    free(c);
}

/* ---- titles ---- */

/* The first line with something in it: white space squeezed, control characters dropped. */
static void first_line(const char *text, struct buffer *line)
{
    const uint8_t *s = (const uint8_t *)text;
    ucs4_t c;
    bool space = false;
    while ((s = u8_next(&c, s))) {
        if (c == '\n' && line->len)
            break;
        if (uc_is_property_white_space(c)) {
            space = line->len > 0;
            continue;
        }
        if (uc_is_general_category_withtable(c, UC_CATEGORY_MASK_Cc))
            continue;
        if (space)
            buffer_add(line, " ", 1);
        space = false;
        uint8_t encoded[6];
        buffer_add(line, (const char *)encoded, (size_t)u8_uctomb(encoded, c, sizeof encoded));
    }
}

char *conversation_title_of(const char *text)
{
    struct buffer line = BUFFER_INIT;
    first_line(text, &line);
    if (!line.len)
        return mem_string("New conversation");
    const uint8_t *s = (const uint8_t *)line.s, *end = s + line.len;
    if (u8_width(s, line.len, "UTF-8") <= TITLE_COLUMNS)
        return buffer_take(&line);

    const uint8_t *fits = s, *space = NULL; /* the ends of what fits: a grapheme's, the last word's */
    for (const uint8_t *p = s; (p = u8_grapheme_next(p, end)) && p < end; fits = p) {
        if (u8_width(s, (size_t)(p - s), "UTF-8") > TITLE_COLUMNS - 1)
            break;
        if (*p == ' ')
            space = p;
    }
    if (space && u8_width(s, (size_t)(space - s), "UTF-8") >= TITLE_COLUMNS / 2)
        fits = space;
    buffer_truncate(&line, (size_t)(fits - s));
    buffer_puts(&line, "…");
    return buffer_take(&line);
}

/* ---- growing ---- */

struct conversation_message *conversation_ask(struct conversation *c, const char *text, size_t len)
{
    struct conversation_message *m = add(c);
    m->role = STORE_USER;
    m->state = STORE_COMPLETE;
    buffer_add(&m->text, text, len);
    c->n_dropped = 0;
    if (!c->named) {
        free(c->title);
        c->title = conversation_title_of(m->text.s);
        c->named = true;
    }
    return m;
}

struct conversation_message *conversation_answer(struct conversation *c, const char *model)
{
    struct conversation_message *m = add(c);
    m->role = STORE_ASSISTANT;
    m->state = STORE_STREAMING;
    m->number = m->count = c->n_dropped + 1;
    c->n_dropped = 0;
    m->model = mem_string(model);
    buffer_puts(&m->text, "");
    return m;
}

struct conversation_message *conversation_find(struct conversation *c, store_id message)
{
    size_t n = count_to(c, message);
    return n ? &c->messages[n - 1] : NULL;
}

struct conversation_parts conversation_parts(const struct conversation_message *m)
{
    const char *text = m->text.s;
    const struct engine_thought *t = &m->thought; /* of a person's message zeros: all of it is the answer */
    return (struct conversation_parts){text + t->start, text + t->answer, t->end - t->start, m->text.len - t->answer};
}

/* The text has grown, and how: what is new in its parts. */
static struct conversation_parts grow(struct conversation_message *m, const char *more, size_t len, bool whole)
{
    struct conversation_parts before = conversation_parts(m);
    buffer_add(&m->text, more, len);
    engine_thought_read(&m->thought, m->text.s, m->text.len, whole);
    int64_t now = clock_wall_ms();
    if (m->thought.state >= ENGINE_THOUGHT_OPEN && !m->thought_began_ms)
        m->thought_began_ms = now;
    if (m->thought_began_ms && !m->thought_ended_ms && (m->thought.state == ENGINE_THOUGHT_CLOSED || whole))
        m->thought_ended_ms = now;
    struct conversation_parts p = conversation_parts(m);
    p.thought += before.thought_len;
    p.thought_len -= before.thought_len;
    p.answer += before.answer_len;
    p.answer_len -= before.answer_len;
    return p;
}

struct conversation_parts conversation_append(struct conversation_message *answer, const char *piece, size_t len)
{
    return grow(answer, piece, len, false);
}

struct conversation_parts conversation_finish(struct conversation_message *answer, enum worker_end end,
                                              const char *text, const struct engine_stats *stats)
{
    size_t have = answer->text.len, len = text ? strlen(text) : 0;
    bool more = len > have && memcmp(text, answer->text.s, have) == 0;
    bool whole = end == WORKER_END_COMPLETE || end == WORKER_END_LENGTH || end == WORKER_END_LOOP;
    answer->state = whole ? STORE_COMPLETE : STORE_INTERRUPTED;
    answer->end = ends[end];
    answer->stats = *stats;
    return grow(answer, more ? text + have : "", more ? len - have : 0, true);
}

const char *conversation_footnote(const struct conversation_message *m)
{
    return (size_t)m->end < sizeof footnotes / sizeof *footnotes ? footnotes[m->end] : NULL;
}

bool conversation_drop_answer(struct conversation *c)
{
    if (!c->n || c->messages[c->n - 1].role != STORE_ASSISTANT)
        return false;
    c->n_dropped = c->messages[c->n - 1].count;
    message_free(&c->messages[--c->n]);
    if (c->n_summarized > c->n) { /* its summary told of the answer dropped */
        free(c->summary);
        c->summary = NULL;
        c->n_summarized = 0;
    }
    return true;
}

bool conversation_summarize(struct conversation *c, store_id last, const char *text)
{
    size_t n = count_to(c, last);
    if (!n)
        return false;
    free(c->summary);
    c->summary = mem_string(text);
    c->n_summarized = n;
    return true;
}

bool conversation_awaits_answer(const struct conversation *c)
{
    return c->n && c->messages[c->n - 1].role == STORE_USER;
}

/* ---- for the worker ---- */

static void add_to_job(struct conversation_job *job, store_id id, enum engine_role role, const char *text, size_t len)
{
    size_t n = job->job.n_messages;
    if (n && job->messages[n - 1].role == role)
        buffer_puts(&job->texts[n - 1], "\n\n");
    else
        job->messages[n++].role = role;
    job->messages[n - 1].own = job->texts[n - 1].len;
    job->messages[n - 1].id = id; /* of joined ones the last: a summary up to it covers them all */
    buffer_add(&job->texts[n - 1], text, len);
    job->job.n_messages = n;
}

/* With the messages up to `end`; the texts have no address yet, for they may grow. */
static void begin_job(struct conversation_job *job, const struct conversation *c, size_t end)
{
    *job = (struct conversation_job){.messages = mem_new(c->n + 1, sizeof *job->messages),
                                     .texts = mem_new(c->n + 1, sizeof *job->texts),
                                     .system = mem_string(c->system),
                                     .summary = mem_string(c->summary)};
    for (size_t i = 0; i <= c->n; i++)
        buffer_init(&job->texts[i]);
    for (size_t i = c->n_summarized; i < end; i++) {
        const struct conversation_message *m = &c->messages[i];
        enum engine_role role = m->role == STORE_USER ? ENGINE_USER : ENGINE_ASSISTANT;
        struct conversation_parts parts = conversation_parts(m);
        if (m->role != STORE_SYSTEM && (role == ENGINE_USER || parts.answer_len))
            add_to_job(job, m->id, role, parts.answer, parts.answer_len);
    }
}

static void end_job(struct conversation_job *job, const struct conversation *c, store_id answer)
{
    size_t n = job->job.n_messages;
    for (size_t i = 0; i < n; i++)
        job->messages[i].text = job->texts[i].s;
    job->job = (struct worker_job){.conversation = c->id,
                                   .answer = answer,
                                   .system = job->system,
                                   .summary = job->summary,
                                   .messages = job->messages,
                                   .n_messages = n};
}

void conversation_job_make(struct conversation_job *job, const struct conversation *c, store_id answer)
{
    size_t end = answer ? count_to(c, answer) : 0;
    begin_job(job, c, end ? end - 1 : c->n);
    end_job(job, c, answer);
    if (end > 1) /* a question and its answer are the first two */
        job->job.draw = (uint64_t)(end - 2) << 16 | (uint64_t)(c->messages[end - 1].number - 1);
}

void conversation_job_guess(struct conversation_job *job, const struct conversation *c, const char *draft)
{
    begin_job(job, c, c->n);
    add_to_job(job, 0, ENGINE_USER, draft, strlen(draft));
    end_job(job, c, 0);
}

void conversation_job_free(struct conversation_job *job)
{
    for (size_t i = 0; i < job->job.n_messages; i++)
        buffer_free(&job->texts[i]);
    free(job->messages);
    free(job->texts);
    free(job->system);
    free(job->summary);
    *job = (struct conversation_job){0};
}

/* ---- for the store ---- */

void conversation_save_text(const struct conversation *c, struct store *store, const struct conversation_message *m)
{
    if (c->deleted)
        return;
    store_put_message(store, &(struct store_message){.id = m->id,
                                                     .conversation = c->id,
                                                     .parent = m->parent,
                                                     .role = m->role,
                                                     .state = m->state,
                                                     .text = m->text.s,
                                                     .model = m->model,
                                                     .created_ms = m->created_ms,
                                                     .prompt_tokens = m->stats.prompt_tokens,
                                                     .evaluated_tokens = m->stats.evaluated_tokens,
                                                     .generated_tokens = m->stats.generated_tokens,
                                                     .first_token_ms = m->stats.first_token_ms,
                                                     .decode_ms = m->stats.decode_ms,
                                                     .end = m->end});
}

void conversation_save_path(const struct conversation *c, struct store *store)
{
    if (!c->deleted && c->stored)
        store_set_leaf(store, c->id, c->n ? c->messages[c->n - 1].id : 0);
}

void conversation_save_system(const struct conversation *c, struct store *store)
{
    if (!c->deleted && c->stored)
        store_set_system(store, c->id, c->system);
}

void conversation_save(struct conversation *c, struct store *store, const struct conversation_message *m)
{
    if (c->deleted)
        return;
    store_hold(store);
    if (!c->stored) /* a message names its conversation, so that comes first */
        store_put_conversation(store,
                               &(struct store_conversation){
                                   .id = c->id, .title = c->title, .system = c->system, .created_ms = c->created_ms});
    c->stored = true;
    conversation_save_text(c, store, m);
    store_release(store);
}

void conversation_save_summary(const struct conversation *c, struct store *store, const struct worker_event *summary)
{
    if (c->deleted)
        return;
    store_put_summary(store, &(struct store_summary){.id = store_new_id(),
                                                     .conversation = c->id,
                                                     .first = summary->first,
                                                     .last = summary->last,
                                                     .text = summary->text,
                                                     .method = (char *)summary->method, /* copied, not changed */
                                                     .created_ms = clock_wall_ms()});
}
