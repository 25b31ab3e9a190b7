/*
 * ui.h - the screen: a transcript, a draft, a status line, panels. Curses lives behind this header and nowhere else.
 *
 * The ui holds views of what it is told and turns keys into events; it knows no model and no database. All functions
 * are called from one thread, the one that called ui_open. The caller sleeps in poll() on ui_fd and its own
 * descriptors:
 *
 *     poll(ui_fd(ui), ..., ui_timeout(ui));     // a signal (SIGWINCH) ends it too
 *     ui_read(ui);                              // takes all keys there are
 *     while (ui_next_event(ui, &event)) ...;    // what the person wants
 *     ui_draw(ui);                              // draws if anything changed, at most ~60 times a second
 *
 * Text given to the ui is UTF-8 and is copied; control characters are shown harmlessly, never sent to the terminal.
 */
#ifndef UI_H
#define UI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ui;

/* ---- life ---- */

/* Takes the terminal. NULL and err where there is none, or it is unknown to terminfo. From here to ui_close the
 * terminal is restored on exit, on fatal signals and on SIGTERM/SIGHUP (which arrive as UI_QUIT). A thread that
 * blocks SIGSEGV, SIGBUS, SIGFPE or SIGILL and then faults ends the program without that. */
struct ui *ui_open(char *err, size_t cap);
void ui_close(struct ui *ui); /* gives the terminal back as it was; NULL is fine */

int ui_fd(const struct ui *ui);
int ui_timeout(const struct ui *ui); /* milliseconds until something animated changes, -1 = never */
void ui_read(struct ui *ui);
void ui_draw(struct ui *ui);

/* ---- what the person wants ---- */

/* Before UI_NEW and UI_OPEN the message in the draft is reported by a UI_DRAFT and taken off the screen: it belongs to the
 * conversation left. ui_put_back brings a draft back. */
enum ui_event_type {
    UI_SEND,        /* text: a message. While an answer is awaited it waits for its turn: see ui_set_waiting */
    UI_TAKE_BACK,   /* text: the newest waiting message with this text: it is in the draft again, not to be sent */
    UI_DRAFT,       /* text: the message being typed, now and then ("" when there is none any more); value: 1 where
                      the typing rests, 0 where it goes on */
    UI_STOP,        /* the answer being written */
    UI_REGENERATE,  /* answer the last message again */
    UI_ALTERNATIVE, /* value: so many places on among the answers to the last message, 1 or -1 */
    UI_NEW,         /* a new conversation */
    UI_LIST,        /* the conversation panel opened: wants ui_set_conversations */
    UI_OPEN,        /* id: a conversation; message: which is to be in it, 0 = any */
    UI_RENAME,      /* id, text (id 0 = the one shown) */
    UI_DELETE,      /* id; confirmed (0 = the one shown) */
    UI_SET,         /* text: name of a setting; value */
    UI_RESET,       /* text: name of a setting that is to have its default again */
    UI_SET_TEXT,    /* text: name of a setting, '\0', value as text */
    UI_SEARCH,      /* text: in all conversations */
    UI_MODEL,       /* text: a file to load */
    UI_MODELS,      /* text: as much of a model's name as is typed: wants ui_set_models */
    UI_SUMMARY,     /* what the model sees in place of the older messages */
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

/* Empties the transcript and names the conversation now shown. */
void ui_show_conversation(struct ui *ui, int64_t id, const char *title);
void ui_set_title(struct ui *ui, const char *title);

/* Adds an entry at the end, whole if it has text, until it is appended to. id is the caller's (0 for notices);
 * time_ms since 1970, 0 = none. */
void ui_add(struct ui *ui, int64_t id, enum ui_role role, const char *text, size_t len, int64_t time_ms);
/* Grows the last entry of that id by a piece (whole UTF-8 sequences). */
void ui_append(struct ui *ui, int64_t id, const char *piece, size_t len);
/* What a model thought before it answered: above the answer, folded to a line until the person unfolds it. */
struct ui_thought {
    int64_t began_ms, ended_ms; /* since 1970; 0 = unknown, and the end's: it goes on */
    bool whole;                 /* it came to its end; one whose entry is finished before was broken off */
};
/* Grows the thought of the last entry of that id by a piece (whole UTF-8 sequences; may be ""). */
void ui_append_thought(struct ui *ui, int64_t id, const struct ui_thought *thought, const char *piece, size_t len);
/* The entry is whole: laid out once more as complete Markdown. footnote (may be NULL): "stopped", "cut at the
 * window". */
void ui_finish(struct ui *ui, int64_t id, const char *footnote);
/* The entry is one of several answers to the same question: which, from 1, and of how many. */
void ui_set_alternative(struct ui *ui, int64_t id, int number, int count);
/* A message that was added without a time has one now: it is saved. */
void ui_set_time(struct ui *ui, int64_t id, int64_t time_ms);
void ui_remove(struct ui *ui, int64_t id); /* the entry and all after it */

/* The messages that wait for their turn in the conversation shown, oldest first: listed above the draft. */
void ui_set_waiting(struct ui *ui, const char *const *messages, size_t n);
/* A message that could not be sent goes back into the draft, in front of what is being typed. */
void ui_put_back(struct ui *ui, const char *text);

/* One line for some seconds in the status line's place: failures and confirmations. */
void ui_flash(struct ui *ui, const char *text);

/* What stands there as long as it holds, flashes apart; NULL ends it. Plain mode shows none of it: add a notice
 * too. */
void ui_set_warning(struct ui *ui, const char *text);

/* The message in the draft, without the slash that escapes another; "" where there is none, for a command, and in plain
 * mode. Valid until the next call. */
const char *ui_draft(const struct ui *ui);

/* Earlier prompts for the Up key, oldest first; replaces those known. */
void ui_set_history(struct ui *ui, const char *const *prompts, size_t n);

/* ---- the state of things ---- */

enum ui_activity { UI_IDLE, UI_LOADING, UI_THINKING, UI_READING, UI_WRITING, UI_SUMMARIZING };

struct ui_status {
    char model[96];            /* "SmolLM2-135M-Instruct Q4_1"; "" while unknown */
    enum ui_activity activity; /* loading the model; between Enter and evaluation; prefill; decode; compaction */
    bool awaited;   /* an answer is being written or will be: until it has an entry, one at the end stands for it */
    float progress; /* 0..1 of UI_LOADING and UI_READING, < 0 unknown */
    double temperature, top_p;
    int window_used, window_size; /* tokens; size 0 = unknown */
    double window_soft;           /* the share of it from which it is compacted when idle ... */
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
    const char *const *choices; /* NULL: any text. Else all it takes, NULL-terminated, text one of them; not copied */
    const char *blank; /* shown in place of the number 0, or of no text: "no limit"; NULL = nothing special */
    bool changed;      /* it is not what it would be by default: marked */
};
void ui_set_settings(struct ui *ui, const struct ui_setting *settings, size_t n);

/* Whether the mouse wheel scrolls the transcript, which keeps the terminal from selecting text with the mouse. Off until
 * the first call. `/mouse` changes it at once and emits UI_SET_TEXT "mouse" with "on" or "off". */
void ui_set_mouse(struct ui *ui, bool on);

/* What the model's file asked for could be, given what is typed: offered for choice, and to Tab. */
void ui_set_models(struct ui *ui, const char *const *names, size_t n);

struct ui_conversation {
    int64_t id;
    const char *title;
    int64_t updated_ms;
    const char *detail; /* search excerpt, or NULL */
    int64_t message;    /* where it was found; 0 = in the title, or no search */
    const char *who;    /* said it there; NULL = nobody */
};
void ui_set_conversations(struct ui *ui, const struct ui_conversation *list, size_t n);
void ui_list_failed(struct ui *ui); /* the list wanted by UI_LIST will not come */
/* Opens the conversation panel with search results in place of the list. */
void ui_set_found(struct ui *ui, const char *query, const struct ui_conversation *list, size_t n);

#endif
