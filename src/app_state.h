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

    char *draft;      /* what is being typed, as it was told last; NULL = nothing */
    bool draft_rests; /* nothing was typed for a moment */

    enum app_model model;
    bool model_was_loaded;           /* once at least */
    char *model_path;                /* asked for last */
    struct engine_sampling defaults; /* the file's, for what is no setting */
    enum ui_activity activity;       /* the worker's; status has what of it concerns the conversation shown */
    struct ui_status status;
    bool status_changed;

    store_id opening;         /* conversation the store was asked for, 0 = none */
    store_id opening_message; /* ... on the path that leads through this; 0 = as it is */
    store_id stepping;        /* the last message shown when another in its place was asked for, 0 = none was */
    bool opening_latest;      /* ... or the latest one: --resume */
    bool resuming;            /* the conversation asked for on the command line has not come yet */
    bool history_wanted;      /* the first conversation that comes is for the Up key only */
    char **history;           /* earlier prompts, oldest first */
    size_t n_history;

    bool quit;
    int exit_status;
    char *last_words; /* for stderr, once the screen is closed; NULL = none */
};

/* ---- app.c ---- */
void app_leave(struct app *app, int exit_status, const char *last_words); /* last_words may be NULL */
void app_wake(void *app);                                 /* from any thread: the loop has something to take */
void app_let_go(struct app *app, struct conversation *c); /* frees it unless something holds it; NULL is fine */
struct conversation *app_held(const struct app *app, store_id id); /* the one in memory, or NULL */

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
void app_step(struct app *app, int step);                      /* among the answers to the last message */
/* In the transcript, if c is shown. */
void app_notice(struct app *app, const struct conversation *c, const char *text);
void app_remember_prompt(struct app *app, const char *text);
void app_store_event(struct app *app, const struct store_event *event);

/* ---- app_turns.c: questions and answers ---- */
void app_send(struct app *app, const char *text);
void app_regenerate(struct app *app);
void app_stop(struct app *app);
void app_take_draft(struct app *app, const char *text, bool rests); /* "" = there is none */
/* Where nothing is owed, the worker reads ahead what the next question in the conversation shown will need. */
void app_prepare(struct app *app);
bool app_waits(const struct app *app, const struct conversation *c); /* for its answer to be begun */
void app_enqueue(struct app *app, struct conversation *c);           /* an answer is owed */
void app_forget_waiting(struct app *app, const struct conversation *c);
void app_start_next(struct app *app); /* if the worker is free and something waits */
/* Milliseconds until the growing answer must be written, -1 = nothing to write. */
int app_save_timeout(const struct app *app);
void app_save_answer(struct app *app);

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
