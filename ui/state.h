/*
 * state.h - state of the user interface, shared by the files of ui/ (ui.c implements ui.h; input.c handles keys,
 * commands.c commands; draw.c draws; panels.c, editor.c, typing.c, plain.c). Files outside ui/ do not include it.
 */
#ifndef UI_STATE_H
#define UI_STATE_H

#include "../src/base/buffer.h"
#include "actions.h"
#include "clipboard.h"
#include "draft.h"
#include "keycodes.h"
#include "paste.h"
#include "screen.h"
#include "transcript.h"
#include "ui.h"

#include <sys/types.h>

#define MIN_COLUMNS 24
#define MIN_ROWS 6
/* Minimum width at which a panel is drawn beside the transcript; on a narrower screen it covers the transcript, whose
 * lines would be too short to read. The limit is lower for settings, since their effect shows in the transcript. */
#define BESIDE_COLUMNS 100
#define SETTINGS_BESIDE_COLUMNS 64
#define CONVERSATIONS_WIDTH 34
#define SETTINGS_WIDTH 38
#define FLASH_MS 4000
#define STOP_WITHIN_MS 2000 /* an answer stops within this time after UI_STOP */
#define FLASH_LEAST_MS 600  /* then any key ends a flash, so one that appears during typing is seen */
#define FRAME_MS 16
#define PENDING_ID INT64_MIN /* id of the placeholder entry shown while an answer is awaited */

/* A prompt in place of the draft, or in a row of a panel, with its own line editor. */
enum prompt_kind {
    PROMPT_NONE,
    PROMPT_SEARCH,  /* all conversations */
    PROMPT_FIND,    /* this one */
    PROMPT_HISTORY, /* earlier prompts */
    PROMPT_MODEL,
    PROMPT_RENAME, /* target_id; in its row of the panel if that has the focus */
    PROMPT_DELETE, /* target_id; y or n */
    PROMPT_VALUE,  /* setting `row`, in its row of the panel */
    PROMPT_TEXT,   /* text setting `row` */
    PROMPT_FILTER, /* of the conversation list, in the panel */
};

struct prompt {
    enum prompt_kind kind;
    struct draft draft;
    int64_t target_id;
    size_t row;
    size_t selected; /* PROMPT_HISTORY: of the matches, newest first */
    bool moving;     /* PROMPT_FIND: n and N move */
    char **choices;  /* PROMPT_MODEL: model names to choose from */
    size_t n_choices;
    size_t choice; /* the one in the field; SIZE_MAX = none */
};

enum focus { FOCUS_DRAFT, FOCUS_CONVERSATIONS, FOCUS_SETTINGS };

struct list_entry {
    int64_t id, message, updated_ms; /* message: the one that matched, or 0 */
    char *title, *detail, *who;      /* clean; detail and who may be NULL */
};

struct conversation_list {
    bool open;
    struct list_entry *v;
    size_t n, cap;
    bool known;   /* the list has been received */
    char *wanted; /* title or part of it, opened once the list has been received; NULL: none */
    bool found;   /* the entries are search results ... */
    char *query;  /* ... for this query */
    struct buffer filter;
    char *find; /* text to find in conversation find_in when it opens; NULL: none */
    int64_t find_in;
    size_t selected, top; /* indices among the entries that pass the filter */
};

struct setting_row {
    char *name, *help, *text;   /* text: NULL for numbers; raw */
    const char *const *choices; /* of a text setting, as in ui_setting; owned by the caller */
    char *blank;                /* shown in place of 0 or of no text; NULL: nothing special */
    char *label;                /* "system: ", where its text is edited */
    double min, max, step, value;
    int decimals;
    bool changed; /* differs from its default */
};

struct setting_list {
    bool open;
    struct setting_row *v;
    size_t n;
    size_t selected;
};

/* The last copy to the clipboard, for the message about it. */
struct copying {
    char what[64]; /* "the last answer" */
    size_t n;      /* bytes */
    bool to_tmux;
    struct clipboard_transfer transfer;
    struct buffer text; /* while the transfer runs */
};

struct event {
    enum ui_event_type type;
    int64_t id, message;
    double value;
    char *text;
};

struct ui {
    bool plain;          /* plain mode: lines only, no curses */
    struct plain *lines; /* its state */

    int64_t conversation;
    char *title; /* clean */
    struct transcript transcript;
    struct ui_status status;

    struct draft draft;
    char **waiting; /* queued messages, oldest first; raw */
    size_t n_waiting, cap_waiting;
    struct history history;
    struct prompt prompt;
    struct paste paste;
    int *keys; /* of one reading */
    size_t cap_keys;
    struct buffer pasted; /* collected from the keys of one ui_read */
    char completing[80];  /* prefix whose completions Tab cycles through; "" = none */
    size_t completion;    /* the one shown */
    bool popup_closed;    /* Esc closed the list of completions; the next key opens it again */

    enum focus focus;
    struct conversation_list conversations;
    struct setting_list settings;
    bool help;
    long help_top;

    char *flash; /* NULL: none */
    int64_t flash_until;
    int64_t quit_asked; /* time of the Ctrl-C after which a second one quits */
    int64_t cleared;    /* time at which Ctrl-C cleared the draft; 0 = never */
    int64_t stop_asked; /* time at which Esc or Ctrl-C stopped the answer being written */
    char *warning;      /* persistent warning in the status line; NULL = none */
    bool mouse;

    struct copying copying;
    pid_t editor; /* 0: none runs */
    char *editor_file;
    struct buffer editor_text; /* the draft as written to editor_file, without trailing newlines */

    struct buffer draft_seen; /* the draft at the last typing_look */
    struct buffer draft_told; /* the draft last reported by UI_DRAFT */
    bool draft_told_rests;    /* it was reported with value 1 (typing rests) */
    int64_t draft_rest_ms;    /* time at which the typing counts as resting; 0 = already reported */
    int64_t draft_late_ms;    /* deadline for the next UI_DRAFT while typing continues */

    bool dirty;        /* the screen is out of date ... */
    bool urgent;       /* ... because of a key: draw at once */
    int frame_wait_ms; /* else: delay before the next drawing, so that slow drawing leaves the processor to the answer */
    int64_t drawn_ms;
    unsigned frame; /* of the spinner */
    int64_t frame_ms;
    bool hung_up;

    struct event *events;
    size_t n_events, cap_events, next_event;
    char *event_text; /* text of the event returned last */
};

/* ---- ui.c ---- */
void ui_emit(struct ui *ui, enum ui_event_type type, int64_t id, double value, const char *text);
void ui_emit_open(struct ui *ui, const struct list_entry *c);
void ui_emit_pair(struct ui *ui, enum ui_event_type type, double value, const char *name, const char *text);
void ui_flash_format(struct ui *ui, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Call before requesting another conversation: emits the draft as UI_DRAFT and clears it. Keeps a command that is being
 * typed. */
void ui_leave_draft(struct ui *ui);
void ui_flash_end(struct ui *ui);
bool ui_answering(const struct ui *ui); /* an answer is awaited or being generated */
bool ui_animated(const struct ui *ui);

/* ---- commands.c ---- */
void command_do(struct ui *ui, enum action action, const char *argument);
void command_enter(struct ui *ui);                  /* Enter on the draft */
bool command_line(struct ui *ui, const char *text); /* as Enter on text; false if it was refused and should be kept */
const char *command_message(const struct draft *d); /* the message Enter would send; NULL: none */
void command_complete(struct ui *ui, int direction);
void command_listed(struct ui *ui);          /* call when the list of conversations was received */
bool command_close_innermost(struct ui *ui); /* false: nothing was open */
void command_set(struct ui *ui, size_t setting, double value);
void command_set_text(struct ui *ui, size_t setting, const char *text); /* one of its choices, if any */
void command_reset(struct ui *ui, size_t setting);                      /* to its default */
void command_say_range(struct ui *ui, size_t setting);                  /* shows the range of a number setting */

/* Fills out with completions of the draft; returns their number. */
struct completion {
    const char *name, *help;
};
size_t command_completions(const struct ui *ui, struct completion *out, size_t cap);
bool command_popup(const struct ui *ui); /* whether they are listed above the draft */

/* ---- input.c ---- */
void input_key(struct ui *ui, int key);
bool input_edit(struct draft *d, int key); /* an editing key or a character; false: neither */
void input_paste(struct ui *ui, const char *s, size_t n);

/* ---- prompt.c ---- */
void prompt_open(struct ui *ui, enum prompt_kind kind, const char *text);
void prompt_close(struct ui *ui);
void prompt_set_choices(struct ui *ui, const char *const *choices, size_t n);
void prompt_key(struct ui *ui, int key);
void prompt_changed(struct ui *ui); /* call after its text changed */
const char *prompt_label(const struct ui *ui);
bool prompt_in_panel(const struct ui *ui);
/* The history entries that match, newest first. */
#define PROMPT_HISTORY_MAX 64 /* earlier prompts that are looked through at once */
size_t prompt_history(const struct ui *ui, const char **out, size_t cap);

/* ---- panels.c ---- */
void panel_open(struct ui *ui, enum focus which);
void panel_toggle(struct ui *ui, enum focus which);
void panel_close(struct ui *ui, enum focus which);
bool panel_key(struct ui *ui, int key); /* false: not one of the panel's keys */
void panel_draw(struct ui *ui, enum focus which, struct rect area, struct caret *caret);
size_t panel_visible(const struct ui *ui, size_t *out, size_t cap); /* indices that pass the filter */
const struct list_entry *panel_selected(const struct ui *ui);
void panel_set_list(struct ui *ui, const char *query, const struct ui_conversation *list, size_t n);
void panel_set_settings(struct ui *ui, const struct ui_setting *settings, size_t n);
void panel_renamed(struct ui *ui, int64_t id, const char *title); /* shown at once; 0 = the conversation shown */
void panel_deleted(struct ui *ui, int64_t id);
void panel_age(const struct list_entry *c, char *out, size_t cap); /* "you, 5 min ago" */
void panel_free(struct ui *ui);

/* ---- draw.c ---- */
void draw(struct ui *ui);
void draw_measure(struct ui *ui); /* sets the size of the transcript */
int draw_draft_width(struct ui *ui);
bool draw_is_too_small(void); /* the terminal is too small to show the draft, so the draft takes no keys */

/* ---- copy.c ---- */
void copy_answer(struct ui *ui, const char *argument); /* /copy */
void copy_check(struct ui *ui);                        /* checks whether a running tmux transfer has ended */
void copy_free(struct ui *ui);

/* ---- editor.c ---- */
void editor_start(struct ui *ui);
/* Reads the draft back when the editor has exited; suspends the program if the editor was suspended. */
void editor_check(struct ui *ui);
void editor_abandon(struct ui *ui);

/* ---- typing.c ---- */
void typing_look(struct ui *ui);              /* emits UI_DRAFT when it is due */
void typing_put(struct ui *ui, bool tell_it); /* the draft was replaced; tell_it: by a text new to the caller */
int64_t typing_due(const struct ui *ui);      /* time of the next typing_look if no key arrives; 0 = none */
void typing_free(struct ui *ui);

/* ---- waiting.c: queued messages ---- */
#define WAITING_ROWS 3 /* at most this many rows list them */
void waiting_add(struct ui *ui, const char *text);
bool waiting_take_back(struct ui *ui); /* moves the newest into the draft; false: there is none */
void waiting_free(struct ui *ui);
int waiting_rows(const struct ui *ui, int room); /* rows of the available ones that list the messages */
/* Appends the text of row `row` of `rows` to line. */
void waiting_line(const struct ui *ui, int row, int rows, struct buffer *line);

/* ---- plain.c ---- */
void plain_open(struct ui *ui);
void plain_close(struct ui *ui);
void plain_read(struct ui *ui);
bool plain_due(const struct ui *ui); /* input that was read can be handled now */
void plain_show(struct ui *ui);      /* prints the title of the conversation */
void plain_add(struct ui *ui, enum ui_role role, const char *text, size_t n, int64_t time_ms);
void plain_append(struct ui *ui, const char *piece, size_t n);
void plain_append_thought(struct ui *ui, const struct ui_thought *thought, const char *piece, size_t n);
void plain_finish(struct ui *ui, const char *footnote);
void plain_say(struct ui *ui, const char *text); /* prints a line from the program */
void plain_status(struct ui *ui, const struct ui_status *before);
void plain_conversations(struct ui *ui);
void plain_settings(struct ui *ui);
void plain_help(struct ui *ui);
void plain_prompt(struct ui *ui);

#endif
