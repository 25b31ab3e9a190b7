/* oneshot.c - see oneshot.h. */
#include "oneshot.h"

#include "../data/store.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "commands.h"
#include "conversation.h"
#include "input.h"
#include "models.h"
#include "resume.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <unistd.h>
#include <unistr.h>

#define STOP_MS 2000 /* longest wait for an answer's end after Ctrl-C, while a model is still loading */

struct oneshot {
    const struct options *options;
    struct settings *settings;
    struct store *store; /* NULL: nothing is kept */
    struct worker *worker;
    struct conversation *conversation;
    store_id answer;
    int max_tokens;        /* the answer may have, 0 = as the window allows */
    bool unsaved;          /* the answer has grown since saved_ms */
    double saved_ms;       /* clock_ms of its last write to the store */
    bool terminal;         /* standard output is one */
    bool gone;             /* ... nobody reads it any more */
    bool printed, newline; /* it has got something; that ends with a newline */
    bool thinking;         /* a thought has begun, its end was not seen yet */
    char cut[128];         /* why the answer ends early, for stderr after the answer; "" = it does not */
    int window;            /* tokens, once the model is loaded */
    bool interrupted, done;
    int status;
};

static int wake_pipe[2];

/* ---- waking up ---- */

static void wake_with(char what)
{
    int kept = errno;
    ssize_t ignored = write(wake_pipe[1], &what, 1);
    (void)ignored;
    errno = kept;
}

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    wake_with('i');
}

static void on_event(void *ctx)
{
    (void)ctx;
    wake_with('e');
}

/* Sleeps until an event or Ctrl-C comes. */
static void wait_for_something(struct oneshot *o, int timeout_ms)
{
    struct pollfd fd = {.fd = wake_pipe[0], .events = POLLIN};
    poll(&fd, 1, timeout_ms);
    char bytes[256];
    for (ssize_t n; (n = read(wake_pipe[0], bytes, sizeof bytes)) > 0;)
        if (memchr(bytes, 'i', (size_t)n))
            o->interrupted = true;
}

static bool prepare_signals(char *err, size_t cap)
{
    if (pipe(wake_pipe) != 0) {
        snprintf(err, cap, "no pipe: %s", strerror(errno));
        return false;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(wake_pipe[i], F_SETFL, O_NONBLOCK);
        fcntl(wake_pipe[i], F_SETFD, FD_CLOEXEC);
    }
    /* The second Ctrl-C ends the program at once. */
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND}, NULL);
    signal(SIGPIPE, SIG_IGN);
    return true;
}

/* ---- the answer ---- */

/* A terminal must not obey what a model says: control characters but newline and tab are dropped there. */
static void drop_controls(const char *text, size_t len, struct buffer *out)
{
    const uint8_t *s = (const uint8_t *)text, *end = s + len;
    while (s < end) {
        ucs4_t c;
        int n = u8_mbtouc(&c, s, (size_t)(end - s));
        if (c == '\n' || c == '\t' || !uc_is_general_category_withtable(c, UC_CATEGORY_MASK_Cc))
            buffer_add(out, (const char *)s, (size_t)n);
        s += n;
    }
}

static void fail(struct oneshot *o, const char *text)
{
    if (!o->status)
        o->status = command_fail(1, "%s", text);
    o->done = true;
}

/* A text as it may go to a file, or a terminal. */
static struct buffer made_fit(const char *text, size_t len, bool terminal)
{
    struct buffer shown = BUFFER_INIT;
    if (terminal)
        drop_controls(text, len, &shown);
    else
        buffer_add(&shown, text, len);
    return shown;
}

static void print(struct oneshot *o, const char *text, size_t len)
{
    struct buffer shown = made_fit(text, len, o->terminal);
    if (shown.len && !o->gone) {
        o->printed = true;
        o->newline = shown.s[shown.len - 1] == '\n';
        if (fwrite(shown.s, 1, shown.len, stdout) != shown.len || fflush(stdout) != 0) {
            int why = errno;
            o->gone = true;
            worker_stop(o->worker);
            if (why != EPIPE) {
                char line[128];
                snprintf(line, sizeof line, "standard output: %s", strerror(why));
                o->status = command_fail(1, "%s", line);
            }
        }
    }
    buffer_free(&shown);
}

/* Standard error gets it if it is wanted. A person who watches is at least told why nothing comes. */
static void print_thought(struct oneshot *o, const char *text, size_t len)
{
    bool watched = isatty(STDERR_FILENO);
    if (!len)
        return;
    if (o->options->thoughts) {
        struct buffer shown = made_fit(text, len, watched);
        fwrite(shown.s, 1, shown.len, stderr);
        buffer_free(&shown);
    } else if (!o->thinking && watched && o->terminal) {
        command_say("thinking (--thoughts shows it)");
    }
    o->thinking = true;
}

static void end_thought(struct oneshot *o)
{
    if (o->thinking && o->options->thoughts)
        fputs("\n\n", stderr);
    o->thinking = false;
}

static void print_parts(struct oneshot *o, struct conversation_parts grown)
{
    print_thought(o, grown.thought, grown.thought_len);
    if (grown.answer_len)
        end_thought(o);
    print(o, grown.answer, grown.answer_len);
}

static void save(struct oneshot *o, const struct conversation_message *answer)
{
    if (o->store)
        conversation_save(o->conversation, o->store, answer);
    o->saved_ms = clock_ms();
    o->unsaved = false;
}

static int save_timeout(const struct oneshot *o)
{
    return o->unsaved ? clock_timeout(o->saved_ms + CONVERSATION_SAVE_MS) : -1;
}

static void save_growth(struct oneshot *o)
{
    conversation_save_text(o->conversation, o->store, conversation_find(o->conversation, o->answer));
    o->saved_ms = clock_ms();
    o->unsaved = false;
}

static void generate(struct oneshot *o)
{
    struct conversation_job job;
    conversation_job_make(&job, o->conversation, o->answer);
    settings_fill_job(o->settings, &job.job);
    o->max_tokens = job.job.max_tokens;
    worker_generate(o->worker, &job.job);
    conversation_job_free(&job);
}

/* Says which limit ended the answer: -n or the window. */
static void describe_cut(struct oneshot *o, const struct engine_stats *stats)
{
    int max = (int)settings_number(o->settings, SET_MAX_TOKENS);
    if (max && stats->generated_tokens >= max)
        snprintf(o->cut, sizeof o->cut, "the answer was cut at %d token%s (-n sets the limit)", max,
                 max == 1 ? "" : "s");
    else
        snprintf(o->cut, sizeof o->cut, "the answer was cut: the window of %d tokens is full (-c sets its size)",
                 o->window);
}

static void finish(struct oneshot *o, const struct worker_event *event)
{
    struct conversation_message *answer = conversation_find(o->conversation, o->answer);
    bool failed = event->end == WORKER_END_FAILED;
    print_parts(o, conversation_finish(answer, event->end, failed ? NULL : event->text, &event->stats));
    if (event->end == WORKER_END_LENGTH && o->max_tokens && event->stats.generated_tokens >= o->max_tokens)
        answer->end = STORE_END_MAX_TOKENS;
    end_thought(o);
    save(o, answer);
    if (failed)
        fail(o, event->text ? event->text : "the answer failed");
    else if (answer->thought.state == ENGINE_THOUGHT_OPEN && event->end == WORKER_END_LENGTH)
        fail(o, "the model was still thinking when it was cut off: there is no answer (-n, -c set its room)");
    else if (answer->thought.state == ENGINE_THOUGHT_OPEN && event->end == WORKER_END_COMPLETE)
        fail(o, settings_number(o->settings, SET_THINKING)
                    ? "the model ended within its thought: there is no answer (--thinking off may help)"
                    : "the model ended within its thought: there is no answer");
    else if (event->end == WORKER_END_LENGTH)
        describe_cut(o, &event->stats);
    else if (answer->thought.state == ENGINE_THOUGHT_OPEN && event->end == WORKER_END_LOOP)
        fail(o, "the model repeated itself in its thought and was stopped: there is no answer");
    else if (event->end == WORKER_END_LOOP)
        command_say("the answer repeated itself and was ended (--stop-loops off lets it go on)");
    o->done = true;
}

static void loaded(struct oneshot *o, const struct worker_event *event)
{
    settings_take_defaults(o->settings, &event->sampling, event->threads);
    o->window = event->n_ctx;
    struct engine_sampling sampling = settings_sampling(o->settings, &event->sampling);
    worker_set_sampling(o->worker, &sampling);
    struct conversation_message *answer = conversation_answer(o->conversation, event->model);
    o->answer = answer->id;
    save(o, answer);
    generate(o);
}

static void grow(struct oneshot *o, const struct worker_event *event)
{
    struct conversation_message *answer = conversation_find(o->conversation, o->answer);
    print_parts(o, conversation_append(answer, event->text, event->len));
    answer->stats = event->stats; /* stored with it, for a program killed now */
    o->unsaved = o->store != NULL;
}

static void summarized(struct oneshot *o, const struct worker_event *event)
{
    if (o->store && conversation_summarize(o->conversation, event->last, event->text))
        conversation_save_summary(o->conversation, o->store, event);
}

static void take(struct oneshot *o, const struct worker_event *event)
{
    switch (event->type) {
    case WORKER_LOADED: loaded(o, event); break;
    case WORKER_LOAD_FAILED: fail(o, event->text); break;
    case WORKER_PIECE: grow(o, event); break;
    case WORKER_DONE: finish(o, event); break;
    case WORKER_SUMMARY: summarized(o, event); break;
    case WORKER_NOTICE: command_say(event->text); break;
    case WORKER_LOADING:
    case WORKER_STARTED:
    case WORKER_COMPACTING: break;
    }
}

static void answer_it(struct oneshot *o)
{
    double give_up = 0; /* after Ctrl-C */
    while (!o->done) {
        wait_for_something(o, clock_shorter(give_up > 0 ? STOP_MS / 10 : -1, save_timeout(o)));
        if (o->interrupted && give_up == 0) {
            give_up = clock_ms() + STOP_MS;
            worker_stop(o->worker);
            o->done = !o->answer; /* still loading: nothing to wait for */
        }
        for (struct worker_event *e; !o->done && (e = worker_take(o->worker)); worker_event_free(e))
            take(o, e);
        if (save_timeout(o) == 0)
            save_growth(o);
        if (give_up > 0 && clock_ms() > give_up)
            o->done = true;
    }
    if (o->unsaved) /* given up before its end came */
        save_growth(o);
    end_thought(o);
    if (o->printed ? !o->newline : o->status == 0 && !o->interrupted)
        print(o, "\n", 1);
    if (o->cut[0] && !o->gone)
        command_say(o->cut);
    if (o->interrupted && o->status == 0)
        o->status = 130;
}

/* ---- the conversation ---- */

/* The conversation that --resume names. Returns false and fills err where there is none; *id 0 = the latest. */
static bool find_resumed(struct oneshot *o, store_id *id, char *err, size_t cap)
{
    *id = 0;
    if (!o->options->resumed)
        return true;
    store_list(o->store, 1);
    struct store_event *e = command_await(o->store, 1, err, cap);
    if (e)
        *id = resume_choose(o->options->resumed, e->conversations, e->n, err, cap);
    store_event_free(e);
    return *id != 0;
}

static struct conversation *resume(struct oneshot *o, char *err, size_t cap)
{
    store_id id;
    if (!find_resumed(o, &id, err, cap))
        return NULL;
    store_load(o->store, id, 2);
    struct store_event *e = command_await(o->store, 2, err, cap);
    struct conversation *c = NULL;
    if (e && e->conversation.id)
        c = conversation_from_store(e);
    else if (e)
        snprintf(err, cap, id ? "the conversation is no longer there" : "there is no conversation to resume");
    store_event_free(e);
    return c;
}

static bool open_conversation(struct oneshot *o, char *err, size_t cap)
{
    const char *system = settings_text(o->settings, SET_SYSTEM);
    if (!o->store || !o->options->resume) {
        o->conversation = conversation_new(system);
        return true;
    }
    o->conversation = resume(o, err, cap);
    if (o->conversation && settings_has(o->settings, LAYER_ARGUMENTS, SET_SYSTEM)) {
        free(o->conversation->system);
        o->conversation->system = mem_string(system);
        conversation_save_system(o->conversation, o->store);
    }
    return o->conversation != NULL;
}

/* ---- all of it ---- */

static void run(struct oneshot *o, const char *question, const char *db, const char *model)
{
    char err[512];
    bool keeps = o->options->save || o->options->resume;
    if (!prepare_signals(err, sizeof err) || (keeps && !(o->store = command_open_store(db, err, sizeof err))) ||
        !open_conversation(o, err, sizeof err)) {
        fail(o, err);
        return;
    }
    struct conversation_message *m = conversation_ask(o->conversation, question, strlen(question));
    if (o->store)
        conversation_save(o->conversation, o->store, m);
    struct worker_options options = settings_worker_options(o->settings, model);
    o->worker = worker_open(&options, on_event, NULL, err, sizeof err);
    if (!o->worker) {
        fail(o, err);
        return;
    }
    answer_it(o);
    worker_close(o->worker);
}

/* Appends a text of the question to *text, with the note where bytes were replaced. */
static bool clean(struct buffer *text, const char *bytes, size_t n, const char *source, char *err, size_t cap)
{
    char note[256];
    if (!input_clean(text, bytes, n, source, note, sizeof note, err, cap))
        return false;
    if (note[0])
        command_say(note);
    return true;
}

/* The question, malloc'd; NULL where there is none: err is "" or says what is wrong. */
static char *read_question(const struct options *options, char *err, size_t cap)
{
    struct buffer input = BUFFER_INIT, piped = BUFFER_INIT, text = BUFFER_INIT;
    char *question = NULL;
    err[0] = '\0';
    if (clean(&text, options->prompt, strlen(options->prompt), "the text of -p", err, cap) &&
        (options->no_stdin || input_read(&input, err, cap)) &&
        clean(&piped, input.s, input.len, "standard input", err, cap))
        question = input_question(text.s, piped.s);
    buffer_free(&input);
    buffer_free(&piped);
    buffer_free(&text);
    return question;
}

int oneshot_run(const struct options *options, struct settings *settings)
{
    char err[512];
    char *question = read_question(options, err, sizeof err);
    if (!question && err[0])
        return command_fail(1, "%s", err);
    if (!question)
        return command_fail(2, options->no_stdin ? "there is no question: -p is empty"
                                                 : "there is no question: -p is empty and standard input too");

    char *model = model_choose(settings, err, sizeof err);
    if (!model) {
        free(question);
        return command_fail(1, "%s", err);
    }
    char *db = settings_database(settings);
    struct oneshot o = {.options = options, .settings = settings, .terminal = isatty(STDOUT_FILENO)};
    run(&o, question, db, model);
    if (o.store && !store_close(o.store, err, sizeof err))
        o.status = command_fail(1, "the answer could not be saved: %s", err);
    conversation_free(o.conversation);
    free(question);
    free(model);
    free(db);
    return o.status;
}
