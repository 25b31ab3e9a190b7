/*
 * actions.h - the one table of everything a person can do: action, keys, slash command, arguments, help.
 *
 * Keys are looked up, completion and nearest commands found, and the help printed from it, so they cannot disagree.
 */
#ifndef UI_ACTIONS_H
#define UI_ACTIONS_H

#include "keycodes.h"
#include "lines.h"

#include <stdbool.h>
#include <stddef.h>

enum action {
    ACTION_NONE,
    /* the conversation */
    ACTION_SEND,
    ACTION_NEWLINE,
    ACTION_STOP,
    ACTION_INTERRUPT,
    ACTION_REGENERATE,
    ACTION_RETRY,
    ACTION_ALTERNATIVE,
    ACTION_ALTERNATIVE_BEFORE,
    ACTION_UNSEND,
    ACTION_NEW,
    ACTION_CONVERSATIONS,
    ACTION_OPEN,
    ACTION_RENAME,
    ACTION_DELETE,
    ACTION_SETTINGS,
    ACTION_SET,
    ACTION_MODEL,
    ACTION_SEARCH,
    ACTION_FIND,
    ACTION_HISTORY,
    ACTION_SUMMARY,
    ACTION_COPY,
    ACTION_EDITOR,
    ACTION_QUIT,
    /* the screen */
    ACTION_HELP,
    ACTION_PAGE_UP,
    ACTION_PAGE_DOWN,
    ACTION_TOP,
    ACTION_BOTTOM,
    ACTION_OLDER,
    ACTION_NEWER,
    ACTION_THOUGHTS,
    ACTION_REDRAW,
    ACTION_MOUSE,
    ACTION_SUSPEND,
    /* the draft */
    ACTION_COMPLETE,
    ACTION_LEFT,
    ACTION_RIGHT,
    ACTION_UP,
    ACTION_DOWN,
    ACTION_WORD_LEFT,
    ACTION_WORD_RIGHT,
    ACTION_LINE_START,
    ACTION_LINE_END,
    ACTION_BACKSPACE,
    ACTION_DELETE_CHAR,
    ACTION_KILL_END,
    ACTION_KILL_START,
    ACTION_KILL_WORD,
    ACTION_KILL_WORD_RIGHT,
    ACTION_YANK,
    ACTION_COUNT
};

enum action_group { GROUP_CONVERSATION, GROUP_SCREEN, GROUP_DRAFT };
enum action_place { ANYWHERE, ON_SCREEN /* not in the plain dialogue */ };

#define ACTION_KEYS 4

struct action_info {
    enum action_group group;
    enum action_place place;
    int keys[ACTION_KEYS];
    const char *name; /* slash command without the slash, or NULL */
    const char *args; /* as help shows them: "" takes none, lower case is one of these words, "NUMBER" digits, else
                         upper case is any text */
    const char *help;
};

const struct action_info *action_info(enum action a);
enum action action_of_key(int key); /* ACTION_NONE: no action has it */

/* A slash command by its whole name, or by its beginning where only one has it. ACTION_NONE: none or several. */
enum action action_of_name(const char *name, size_t n);
/* Commands whose name begins with prefix, at most cap; returns how many there are. */
size_t action_complete(const char *prefix, size_t n, enum action *out, size_t cap);
/* The commands spelled much like name, the nearest first; at most cap. */
size_t action_nearest(const char *name, size_t n, enum action *out, size_t cap);

/* "Ctrl-O", "F2", "Alt-Enter". */
void key_name(int key, char *out, size_t cap);

/* The whole help: keys, commands and notes, as lines of that width. */
void help_layout(int width, struct lines *out);

/* ---- parsing what was typed ---- */

enum typed {
    TYPED_MESSAGE,
    TYPED_COMMAND,
    TYPED_UNKNOWN, /* a slash and a word that is no command */
    TYPED_EXTRA,   /* a command, followed by what it does not take: probably prose */
};
/* What Enter means for text that was typed. A command: its action, and its argument within text. A message: its text,
 * without the slash that escapes another. Text of several lines, a path ("/usr/bin") and what begins with a switch
 * word of a model ("/no_think") are messages. */
enum typed action_parse(const char *text, enum action *action, const char **argument, const char **message);

/* What to type so that Enter sends exactly this message; malloc'd. */
char *action_escape(const char *message);

#endif
