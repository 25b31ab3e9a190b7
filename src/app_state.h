/*
 * app_state.h - what the files app*.c share: the state of the full-screen program. Private to them.
 */
#ifndef APP_STATE_H
#define APP_STATE_H

#include "../data/store.h"
#include "../ui/ui.h"
#include "app.h"
#include "conversation.h"
#include "worker.h"

#include <stdbool.h>
#include <stddef.h>

enum app_model { APP_MODEL_LOADING, APP_MODEL_READY, APP_MODEL_MISSING };

/* The conversation to be shown next, while the store loads it: which one, and why it was asked for. */
struct app_opening {
    enum {
        APP_OPENING_NOTHING,
        APP_OPENING_RESUMED,     /* --resume: by its id, or the latest one */
        APP_OPENING_CHOSEN,      /* by the person: from the list, a search, /open */
        APP_OPENING_ALTERNATIVE, /* the conversation shown, with another answer at its end */
    } kind;
    uint64_t tag;     /* of the store's query */
    store_id id;      /* 0 = the latest one */
    store_id message; /* the path is to lead through this; 0 = as it is */
};

/* What an event of the ui acts on: decides what becomes of it while a conversation is being opened (app_hold). */
enum app_event_kind {
    APP_EVENT_OF_ALL,   /* the program, or a conversation it names */
    APP_EVENT_OF_SHOWN, /* the conversation shown */
    APP_EVENT_SWITCHES, /* shows another conversation */
    APP_EVENT_LEAVES,   /* the program's end */
};

struct app {
    const struct options *options;
    struct settings *settings;
    struct ui *ui;
    struct store *store;
    struct worker *worker; /* NULL until the store has said which model was used last */
    int wake[2];           /* pipe: the store's and the worker's threads write a byte for each event */

    /* Conversations are freed when none of these holds them any more (app_let_go). */
    struct conversation *shown;      /* never NULL */
    struct conversation *answering;  /* whose answer the worker writes, or NULL */
    struct conversation *compacting; /* whose context the worker was last asked to compact, or NULL */
    struct conversation **waiting;   /* owed an answer, in this order */
    size_t n_waiting;

    store_id answer;        /* the message being written */
    int answer_max;         /* tokens it may have, 0 = as the window allows */
    bool answer_unsaved;    /* it has grown since answer_saved_ms */
    double answer_saved_ms; /* clock_ms of its last write */

    struct conversation_draft new_draft;     /* of a conversation without messages */
    struct conversation_draft opening_draft; /* typed while a conversation is being opened */
    char *draft;                             /* what is being typed, as the ui reported it last; NULL = nothing */
    bool draft_rests;                        /* nothing was typed for a moment */

    enum app_model model;
    int n_loads;                     /* asked of the worker and not answered yet */
    bool model_was_loaded;           /* once at least */
    char *model_path;                /* asked for last */
    struct engine_sampling defaults; /* the file's, for what is no setting */
    enum ui_activity activity;       /* the worker's; status has what of it concerns the conversation shown */
    struct ui_status status;
    bool status_changed;

    struct app_opening opening;
    struct ui_event *held; /* owned copies of the events that wait for it, oldest first: app_hold.c */
    size_t n_held;

    uint64_t last_tag;   /* given to a query of the store */
    size_t n_queries;    /* of the store, not answered yet */
    uint64_t list_tag;   /* of the latest query for the list of conversations */
    uint64_t search_tag; /* of the latest search: results of older ones are dropped */

    char **history; /* earlier prompts, oldest first */
    size_t n_history;

    bool stopped; /* the person pressed Esc, and not all of its effects have been seen to: app_give_back_stopped */
    bool quit_when_idle; /* the input has ended: leave once everything asked for has come */
    bool quit;
    int exit_status;
    char *store_notice; /* about the database file, shown with the conversation to be resumed; NULL = none */
    char *last_words;   /* for stderr, once the screen is closed; NULL = none */
};

/* ---- app.c ---- */
void app_leave(struct app *app, int exit_status, const char *last_words); /* last_words may be NULL */
void app_wake(void *app);                                 /* from any thread: the loop has something to take */
void app_let_go(struct app *app, struct conversation *c); /* frees it unless something holds it; NULL is fine */
struct conversation *app_find(const struct app *app, store_id id); /* the one in memory, or NULL */
uint64_t app_query(struct app *app);                               /* a tag for the next query of the store */

/* ---- app_show.c: the transcript and what the store sends ---- */
void app_show(struct app *app, struct conversation *c);
void app_show_message(struct app *app, const struct conversation_message *m); /* at the end of the transcript */
/* What has come to the parts of a message that is there, in the conversation shown. */
void app_show_growth(struct app *app, const struct conversation_message *m, struct conversation_parts grown);
/* An answer's figures into the status line. */
void app_show_stats(struct app *app, const struct engine_stats *stats, int window_used);
void app_show_new(struct app *app);
void app_show_summary(struct app *app);                        /* in a notice */
void app_open(struct app *app, store_id id, store_id message); /* which it is to show; 0 = any */
void app_list(struct app *app);                                /* asks the store for the list of conversations */
void app_step(struct app *app, int step);                      /* among the answers to the last message */
/* In the transcript, if c is shown. */
void app_notice(struct app *app, const struct conversation *c, const char *text);
void app_remember_prompt(struct app *app, const char *text);
void app_store_event(struct app *app, const struct store_event *event);

/* ---- app_hold.c: what the person does while a conversation is being opened ---- */
/* Whether the event has to wait for the conversation that is being opened; a copy of it is then kept. */
bool app_hold(struct app *app, const struct ui_event *event, enum app_event_kind kind);
bool app_holds_messages(const struct app *app);
/* The conversation is shown: handles what was held. */
void app_replay_held(struct app *app);
/* The conversation did not come: messages meant for it go back into the draft, its other events are dropped. */
void app_give_back_held(struct app *app);
void app_give_back_messages(struct app *app);                  /* only the messages: the person stopped them */
bool app_drop_held_message(struct app *app, const char *text); /* the newest with this text */
void app_print_held(struct app *app);                          /* the program ends: unsent messages go to stderr */

/* ---- app_turns.c: questions and answers ---- */
void app_send(struct app *app, const char *text);      /* into the conversation shown, or its outbox */
void app_take_back(struct app *app, const char *text); /* the newest waiting message with this text */
void app_regenerate(struct app *app);
void app_stop(struct app *app);
/* Once all events of the ui are handled: messages that a stop left without a turn go back into the draft. Not earlier,
 * for the person may have taken them back with the next key. */
void app_give_back_stopped(struct app *app);
void app_take_draft(struct app *app, const char *text, bool rests); /* "" = there is none */
/* Where nothing is owed, the worker reads ahead what the next question in the conversation shown will need. */
void app_prepare(struct app *app);
bool app_waits(const struct app *app, const struct conversation *c);   /* for its answer to be begun */
bool app_is_busy(const struct app *app, const struct conversation *c); /* its answer is being written, or waits */
/* Whether an answer in the conversation shown is being written or will be: the one place that says so. */
bool app_is_awaited(const struct app *app);
bool app_is_idle(const struct app *app); /* nothing that was asked for, of the model or the store, is to come */
void app_enqueue(struct app *app, struct conversation *c); /* an answer is owed */
void app_forget_waiting(struct app *app, const struct conversation *c);
void app_start_next(struct app *app);                       /* if the worker is free and something waits */
void app_ask_next(struct app *app, struct conversation *c); /* the first message in its outbox, unless it is busy */
void app_store_outboxes(struct app *app);                   /* the program ends: what waits is kept, unanswered */
/* Milliseconds until the growing answer must be written, -1 = nothing to write. */
int app_save_timeout(const struct app *app);
void app_save_answer(struct app *app);

/* ---- app_draft.c: each conversation has its own draft ---- */
void app_draft_changed(struct app *app, const char *text); /* in the conversation shown; "" = there is none */
void app_draft_sent(struct app *app);                      /* call before the message is added */
/* Writes the draft of c if it changed, messages in its outbox included: call when the outbox changes. */
void app_draft_keep(struct app *app, struct conversation *c);
/* Call leave before another conversation is asked for, enter once it is shown: puts its draft on the screen, in front of
 * what was typed in between. The ui has reported the draft of the one before and taken it off the screen. */
void app_draft_leave(struct app *app);
void app_draft_enter(struct app *app);
void app_draft_take_new(struct app *app, const struct store_event *event); /* STORE_DRAFT */
void app_draft_leave_program(struct app *app);

/* ---- app_worker.c: what the worker sends ---- */
void app_worker_event(struct app *app, const struct worker_event *event);
void app_load_model(struct app *app, const char *path);

/* ---- app_settings.c ---- */
void app_take_stored_settings(struct app *app, const struct store_event *event);
void app_set(struct app *app, const char *name, double value);
void app_reset(struct app *app, const char *name);
void app_set_text(struct app *app, const char *name, const char *value);
void app_push_settings(struct app *app); /* to the panel, the status line and the worker */

/* ---- app_events.c ---- */
void app_ui_event(struct app *app, const struct ui_event *event);

#endif
