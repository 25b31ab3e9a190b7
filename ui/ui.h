/*
 * ui.h - the user interface: transcript, draft, status line, panels. Only this room uses curses.
 *
 * The ui keeps copies of the data it displays and turns keys into events; it knows neither model nor database. Call all
 * functions from one thread, the one that called ui_open. The caller sleeps in poll() on ui_fd and its own
 * descriptors:
 *
 *     poll(ui_fd(ui), ..., ui_timeout(ui));     // a signal (SIGWINCH) ends it too
 *     ui_read(ui);                              // reads all pending keys
 *     while (ui_next_event(ui, &event)) ...;    // requests of the person
 *     ui_draw(ui);                              // draws if anything changed, at most ~60 times a second
 *
 * Text given to the ui is UTF-8 and is copied; control characters are replaced, never sent to the terminal.
 */
#ifndef UI_H
#define UI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ui;

/* ---- life ---- */

/* Takes over the terminal. Returns NULL and fills err if there is none or terminfo does not know its type. Until
 * ui_close, the terminal is restored on exit, on fatal signals and on SIGTERM/SIGHUP (which arrive as UI_QUIT). It is
 * not restored if a thread that blocks SIGSEGV, SIGBUS, SIGFPE or SIGILL faults. */
struct ui *ui_open(char *err, size_t cap);
void ui_close(struct ui *ui); /* restores the terminal; NULL is allowed */

int ui_fd(const struct ui *ui);
int ui_timeout(const struct ui *ui); /* milliseconds until the next timed change; -1 = none */
void ui_read(struct ui *ui);
void ui_draw(struct ui *ui);

/* ---- events ---- */

/* Before UI_NEW and UI_OPEN the ui emits the draft as UI_DRAFT and clears it: the draft belongs to the conversation
 * being left. ui_put_back restores a draft. */
enum ui_event_type {
    UI_SEND,        /* text: a message. The caller queues it while an answer is awaited: see ui_set_waiting */
    UI_TAKE_BACK,   /* text: remove the newest queued message with this text; the ui has moved it to the draft */
    UI_DRAFT,       /* text: the message being typed, now and then ("" when there is none any more); value: 1 where
                      the typing rests, 0 where it goes on */
    UI_STOP,        /* the answer being written */
    UI_REGENERATE,  /* answer the last message again */
    UI_ALTERNATIVE, /* value: show the next (1) or previous (-1) answer to the last message */
    UI_NEW,         /* a new conversation */
    UI_LIST,        /* the conversation panel opened: wants ui_set_conversations */
    UI_OPEN,        /* id: a conversation; message: one that must be in the branch shown, 0 = any */
    UI_RENAME,      /* id, text (id 0 = the one shown) */
    UI_DELETE,      /* id; confirmed (0 = the one shown) */
    UI_SET,         /* text: name of a setting; value */
    UI_RESET,       /* text: name of a setting to reset to its default */
    UI_SET_TEXT,    /* text: name of a setting, '\0', value as text */
    UI_SEARCH,      /* text: in all conversations */
    UI_MODEL,       /* text: a file to load */
    UI_MODELS,      /* text: the part of a model's name typed so far: wants ui_set_models */
    UI_SUMMARY,     /* show what the model sees in place of the older messages */
    UI_QUIT,        /* value 1: the input has ended (plain mode, piped): leave once all answers have come */
};

struct ui_event {
    enum ui_event_type type;
    int64_t id, message;
    double value;
    const char *text; /* owned by the ui, valid until the next ui_next_event */
};
bool ui_next_event(struct ui *ui, struct ui_event *event); /* false: none left */

/* ---- the transcript ---- */

enum ui_role { UI_PERSON, UI_MODEL_ANSWER, UI_NOTICE };

/* Clears the transcript and sets the conversation shown. */
void ui_show_conversation(struct ui *ui, int64_t id, const char *title);
void ui_set_title(struct ui *ui, const char *title);

/* Appends an entry. One with text counts as complete until ui_append is called. The caller chooses id (0 for notices);
 * time_ms since 1970, 0 = none. */
void ui_add(struct ui *ui, int64_t id, enum ui_role role, const char *text, size_t len, int64_t time_ms);
/* Appends a piece (complete UTF-8 sequences) to the last entry with that id. */
void ui_append(struct ui *ui, int64_t id, const char *piece, size_t len);
/* Thinking before an answer: shown above the answer, folded to one line until the person unfolds it. */
struct ui_thought {
    int64_t began_ms, ended_ms; /* since 1970; began 0 = unknown, ended 0 = not ended or unknown */
    bool whole;                 /* it is complete; otherwise, once the entry is finished, it was broken off */
};
/* Appends a piece (complete UTF-8 sequences; may be "") to the thought of the last entry with that id. */
void ui_append_thought(struct ui *ui, int64_t id, const struct ui_thought *thought, const char *piece, size_t len);
/* Marks the entry as complete and lays it out as complete Markdown. footnote (may be NULL): "stopped", "cut at the
 * window". */
void ui_finish(struct ui *ui, int64_t id, const char *footnote);
/* Marks the entry as answer `number` (from 1) of `count` to the same question. */
void ui_set_alternative(struct ui *ui, int64_t id, int number, int count);
/* Sets the time of a message that was added without one, once it is saved. */
void ui_set_time(struct ui *ui, int64_t id, int64_t time_ms);
void ui_remove(struct ui *ui, int64_t id); /* the entry and all after it */

/* Sets the queued messages of the conversation shown, oldest first; the ui lists them above the draft. */
void ui_set_waiting(struct ui *ui, const char *const *messages, size_t n);
/* Inserts a message that could not be sent at the start of the draft. */
void ui_put_back(struct ui *ui, const char *text);

/* Shows one line in place of the status line for some seconds: a failure or a confirmation. */
void ui_flash(struct ui *ui, const char *text);

/* Sets a persistent status-line warning; NULL clears it; flashes cover it. Plain mode does not show it: add a notice
 * too. */
void ui_set_warning(struct ui *ui, const char *text);

/* Returns the message in the draft, without an escaping slash; "" if there is none, for a command, and in plain mode.
 * Valid until the next call. */
const char *ui_draft(const struct ui *ui);

/* Replaces the earlier prompts for the Up key, oldest first. */
void ui_set_history(struct ui *ui, const char *const *prompts, size_t n);

/* ---- status, settings, models, conversations ---- */

enum ui_activity { UI_IDLE, UI_LOADING, UI_THINKING, UI_READING, UI_WRITING, UI_SUMMARIZING };

struct ui_status {
    char model[96];            /* "SmolLM2-135M-Instruct Q4_1"; "" while unknown */
    enum ui_activity activity; /* loading the model; between Enter and evaluation; prefill; decode; compaction */
    bool awaited; /* an answer is being generated or will be: a placeholder entry is shown until its entry is added */
    float progress; /* 0..1 of UI_LOADING and UI_READING, < 0 unknown */
    double temperature, top_p;
    int window_used, window_size; /* tokens; size 0 = unknown */
    double window_soft;           /* the share of the window in use at which it is compacted when idle ... */
    double window_hard;           /* ... and at once */
    int summarized;               /* messages the model sees only as a summary */
    double tokens_per_second;     /* 0 = unknown */
    double first_token_s;         /* 0 = unknown */
};
void ui_set_status(struct ui *ui, const struct ui_status *status);

struct ui_setting {   /* one row of the settings panel; adjusted with arrow keys or by typing a value */
    const char *name; /* "temperature": also `/set temperature 0.5` */
    const char *help; /* a few words */
    double min, max, step;
    int decimals; /* digits shown */
    double value;
    const char *text;           /* non-NULL: a text setting (system prompt); min..value unused */
    const char *const *choices; /* NULL: any text. Else the allowed values, NULL-terminated; not copied */
    const char *blank; /* shown in place of the number 0, or of no text: "no limit"; NULL = nothing special */
    bool changed;      /* differs from its default: marked */
};
void ui_set_settings(struct ui *ui, const struct ui_setting *settings, size_t n);

/* Whether the mouse wheel scrolls the transcript, which keeps the terminal from selecting text with the mouse. Off
 * until the first call. `/mouse` changes it at once and emits UI_SET_TEXT "mouse" with "on" or "off". */
void ui_set_mouse(struct ui *ui, bool on);

/* Sets the model names that match the text of UI_MODELS, for the list and for Tab. */
void ui_set_models(struct ui *ui, const char *const *names, size_t n);

struct ui_conversation {
    int64_t id;
    const char *title;
    int64_t updated_ms;
    const char *detail; /* search excerpt, or NULL */
    int64_t message;    /* the message that matched; 0 = the title matched, or no search */
    const char *who;    /* author of that message; NULL = none */
};
void ui_set_conversations(struct ui *ui, const struct ui_conversation *list, size_t n);
void ui_list_failed(struct ui *ui); /* the list requested by UI_LIST could not be read */
/* Opens the conversation panel with search results instead of the list. */
void ui_set_found(struct ui *ui, const char *query, const struct ui_conversation *list, size_t n);

#endif
