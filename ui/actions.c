/* actions.c - see actions.h */
#include "actions.h"

#include "../src/base/buffer.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CTRL(letter) KEY_CTRL(letter)
#define ALT(key) (KEYS_ALT | (key))
#define CONTROL(key) (KEYS_CONTROL | (key))
#define F(n) (KEYS_F1 + (n)-1)

static const struct action_info actions[ACTION_COUNT] = {
    [ACTION_SEND] = {GROUP_CONVERSATION,
                     ANYWHERE,
                     {KEYS_ENTER},
                     NULL,
                     "",
                     "send the draft; while an answer is written, when it ends"},
    [ACTION_NEWLINE] =
        {GROUP_CONVERSATION, ANYWHERE, {ALT(KEYS_ENTER), CTRL('J')}, NULL, "", "new line in the draft"},
    [ACTION_STOP] =
        {GROUP_CONVERSATION, ANYWHERE, {KEYS_ESC}, "stop", "", "close what is open, else stop the answer"},
    [ACTION_INTERRUPT] = {GROUP_CONVERSATION,
                          ANYWHERE,
                          {CTRL('C')},
                          NULL,
                          "",
                          "stop the answer, then clear the draft, then again to quit"},
    [ACTION_REGENERATE] =
        {GROUP_CONVERSATION, ANYWHERE, {ALT('r')}, "regenerate", "", "answer the last message again"},
    [ACTION_RETRY] = {GROUP_CONVERSATION, ANYWHERE, {0}, "retry", "", "the same"},
    [ACTION_ALTERNATIVE] = {GROUP_CONVERSATION,
                            ANYWHERE,
                            {ALT('n')},
                            "alternative",
                            "[previous]",
                            "show the next of several answers to the last message"},
    [ACTION_ALTERNATIVE_BEFORE] = {GROUP_CONVERSATION, ANYWHERE, {ALT('p')}, NULL, "", "show the one before"},
    [ACTION_UNSEND] = {GROUP_CONVERSATION,
                       ANYWHERE,
                       {0},
                       "unsend",
                       "",
                       "take back the last message that waits (also Up on an empty draft)"},
    [ACTION_NEW] = {GROUP_CONVERSATION, ANYWHERE, {CTRL('N')}, "new", "", "new conversation"},
    [ACTION_CONVERSATIONS] =
        {GROUP_CONVERSATION, ANYWHERE, {F(2), CTRL('O')}, "conversations", "", "list of conversations"},
    [ACTION_OPEN] =
        {GROUP_CONVERSATION, ANYWHERE, {0}, "open", "[TITLE]", "open the conversation with TITLE in its name"},
    [ACTION_RENAME] = {GROUP_CONVERSATION, ANYWHERE, {0}, "rename", "[TITLE]", "rename this conversation"},
    [ACTION_DELETE] = {GROUP_CONVERSATION, ANYWHERE, {0}, "delete", "", "delete this conversation (asks first)"},
    [ACTION_SETTINGS] = {GROUP_CONVERSATION,
                         ANYWHERE,
                         {F(3), CTRL('T')},
                         "settings",
                         "",
                         "settings; they act while an answer is written"},
    [ACTION_SET] =
        {GROUP_CONVERSATION, ANYWHERE, {0}, "set", "NAME VALUE", "change a setting; the value default takes it back"},
    [ACTION_MODEL] = {GROUP_CONVERSATION, ANYWHERE, {F(4)}, "model", "[FILE]", "load another model"},
    [ACTION_SEARCH] = {GROUP_CONVERSATION, ANYWHERE, {CTRL('G')}, "search", "[TEXT]", "search all conversations"},
    [ACTION_FIND] = {GROUP_CONVERSATION, ON_SCREEN, {CTRL('F')}, "find", "[TEXT]", "search this conversation"},
    [ACTION_HISTORY] = {GROUP_CONVERSATION, ON_SCREEN, {CTRL('R')}, "history", "[TEXT]", "search earlier prompts"},
    [ACTION_SUMMARY] =
        {GROUP_CONVERSATION, ANYWHERE, {0}, "summary", "", "show what the model carries as the summary"},
    [ACTION_COPY] = {GROUP_CONVERSATION,
                     ON_SCREEN,
                     {CTRL('Y')},
                     "copy",
                     "[code|NUMBER]",
                     "copy the last answer, its last code block, or that of a number"},
    [ACTION_EDITOR] =
        {GROUP_CONVERSATION, ON_SCREEN, {CTRL('E')}, "editor", "", "write the draft in $VISUAL or $EDITOR"},
    [ACTION_QUIT] = {GROUP_CONVERSATION, ANYWHERE, {0}, "quit", "", "leave (also Ctrl-D on an empty draft)"},

    [ACTION_HELP] = {GROUP_SCREEN, ANYWHERE, {F(1)}, "help", "", "this help"},
    [ACTION_PAGE_UP] = {GROUP_SCREEN, ON_SCREEN, {KEYS_PAGE_UP}, "pageup", "", "scroll back (or the wheel)"},
    [ACTION_PAGE_DOWN] = {GROUP_SCREEN, ON_SCREEN, {KEYS_PAGE_DOWN}, "pagedown", "", "scroll on"},
    [ACTION_TOP] = {GROUP_SCREEN, ON_SCREEN, {CONTROL(KEYS_HOME), ALT('<')}, "top", "", "first line"},
    [ACTION_BOTTOM] = {GROUP_SCREEN,
                       ON_SCREEN,
                       {CONTROL(KEYS_END), ALT('>')},
                       "bottom",
                       "",
                       "last line, and follow the answer again"},
    [ACTION_OLDER] =
        {GROUP_SCREEN, ON_SCREEN, {ALT(KEYS_PAGE_UP), ALT(KEYS_UP)}, "older", "", "to the message before"},
    [ACTION_NEWER] =
        {GROUP_SCREEN, ON_SCREEN, {ALT(KEYS_PAGE_DOWN), ALT(KEYS_DOWN)}, "newer", "", "to the next message"},
    [ACTION_THOUGHTS] = {GROUP_SCREEN,
                         ANYWHERE,
                         {ALT('t')},
                         "thoughts",
                         "[on|off]",
                         "show what a model thought before it answered, or fold it"},
    [ACTION_REDRAW] = {GROUP_SCREEN, ON_SCREEN, {CTRL('L')}, "redraw", "", "draw the screen anew"},
    [ACTION_MOUSE] =
        {GROUP_SCREEN, ON_SCREEN, {0}, "mouse", "on|off", "the wheel; off leaves the mouse to the terminal"},
    [ACTION_SUSPEND] = {GROUP_SCREEN, ON_SCREEN, {CTRL('Z')}, "suspend", "", "back to the shell; fg returns"},

    [ACTION_COMPLETE] = {GROUP_DRAFT, ANYWHERE, {KEYS_TAB}, NULL, "", "complete a slash command or setting"},
    [ACTION_LEFT] = {GROUP_DRAFT, ANYWHERE, {KEYS_LEFT, CTRL('B')}, NULL, "", "a character left"},
    [ACTION_RIGHT] = {GROUP_DRAFT, ANYWHERE, {KEYS_RIGHT}, NULL, "", "a character right"},
    [ACTION_UP] = {GROUP_DRAFT, ANYWHERE, {KEYS_UP, CTRL('P')}, NULL, "", "a line up; at the first, earlier prompts"},
    [ACTION_DOWN] = {GROUP_DRAFT, ANYWHERE, {KEYS_DOWN}, NULL, "", "a line down; at the last, later prompts"},
    [ACTION_WORD_LEFT] =
        {GROUP_DRAFT, ANYWHERE, {CONTROL(KEYS_LEFT), ALT('b'), ALT(KEYS_LEFT)}, NULL, "", "a word left"},
    [ACTION_WORD_RIGHT] =
        {GROUP_DRAFT, ANYWHERE, {CONTROL(KEYS_RIGHT), ALT('f'), ALT(KEYS_RIGHT)}, NULL, "", "a word right"},
    [ACTION_LINE_START] = {GROUP_DRAFT, ANYWHERE, {KEYS_HOME, CTRL('A')}, NULL, "", "beginning of the line"},
    [ACTION_LINE_END] = {GROUP_DRAFT, ANYWHERE, {KEYS_END}, NULL, "", "end of the line"},
    [ACTION_BACKSPACE] = {GROUP_DRAFT, ANYWHERE, {KEYS_BACKSPACE}, NULL, "", "delete the character before"},
    [ACTION_DELETE_CHAR] =
        {GROUP_DRAFT, ANYWHERE, {KEYS_DELETE, CTRL('D')}, NULL, "", "delete the character at the caret"},
    [ACTION_KILL_END] = {GROUP_DRAFT, ANYWHERE, {CTRL('K')}, NULL, "", "cut to the end of the line"},
    [ACTION_KILL_START] = {GROUP_DRAFT, ANYWHERE, {CTRL('U')}, NULL, "", "cut to its beginning"},
    [ACTION_KILL_WORD] = {GROUP_DRAFT, ANYWHERE, {CTRL('W'), ALT(KEYS_BACKSPACE)}, NULL, "", "cut the word before"},
    [ACTION_KILL_WORD_RIGHT] =
        {GROUP_DRAFT, ANYWHERE, {ALT('d'), CONTROL(KEYS_DELETE)}, NULL, "", "cut the word after"},
    [ACTION_YANK] = {GROUP_DRAFT, ANYWHERE, {ALT('y')}, NULL, "", "put back what was cut last"},
};

const struct action_info *action_info(enum action a)
{
    return &actions[a];
}

enum action action_of_key(int key)
{
    for (int a = 1; a < ACTION_COUNT; a++)
        for (int k = 0; k < ACTION_KEYS; k++)
            if (key && actions[a].keys[k] == key)
                return (enum action)a;
    return ACTION_NONE;
}

/* ---- names ---- */

size_t action_complete(const char *prefix, size_t n, enum action *out, size_t cap)
{
    size_t found = 0;
    for (int a = 1; a < ACTION_COUNT; a++) {
        const char *name = actions[a].name;
        if (!name || strlen(name) < n || memcmp(name, prefix, n))
            continue;
        if (found < cap)
            out[found] = (enum action)a;
        found++;
    }
    return found;
}

/* What people know from other programs. /system TEXT is /set system TEXT. */
static const struct {
    const char *name;
    enum action action;
    bool is_argument; /* the name is the beginning of the argument, too */
} aliases[] = {
    {"exit", ACTION_QUIT, false}, {"bye", ACTION_QUIT, false},  {"clear", ACTION_NEW, false},
    {"?", ACTION_HELP, false},    {"system", ACTION_SET, true},
};

static enum action action_of_alias(const char *name, size_t n, bool *is_argument)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strlen(aliases[i].name) == n && !memcmp(aliases[i].name, name, n)) {
            *is_argument = aliases[i].is_argument;
            return aliases[i].action;
        }
    *is_argument = false;
    return ACTION_NONE;
}

enum action action_of_name(const char *name, size_t n)
{
    enum action found[ACTION_COUNT];
    size_t matches = action_complete(name, n, found, ACTION_COUNT);
    for (size_t i = 0; i < matches; i++)
        if (strlen(actions[found[i]].name) == n)
            return found[i];
    return matches == 1 && n ? found[0] : ACTION_NONE;
}

/* Levenshtein's distance between two short words. */
static int distance(const char *a, size_t an, const char *b, size_t bn)
{
    enum { MAX = 24 };
    int row[MAX + 1];
    an = an < MAX ? an : MAX;
    bn = bn < MAX ? bn : MAX;
    for (size_t j = 0; j <= bn; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= an; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= bn; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            int other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < other ? change : other;
        }
    }
    return row[bn];
}

/* How unlike a command is to what was typed: a beginning in common counts for more than a letter. */
static int unlikeness(const char *typed, size_t n, const char *name)
{
    size_t common = 0, length = strlen(name);
    while (common < n && common < length && typed[common] == name[common])
        common++;
    return 4 * distance(typed, n, name, length) - 3 * (int)common;
}

/* Half of the letters may be others; what begins alike is near anyway. */
static bool is_near(const char *typed, size_t n, const char *name)
{
    size_t length = strlen(name);
    return (size_t)distance(typed, n, name, length) <= n / 2 || (n >= 3 && length >= 3 && !memcmp(typed, name, 3));
}

size_t action_nearest(const char *name, size_t n, enum action *out, size_t cap)
{
    size_t found = 0;
    for (int a = 1; a < ACTION_COUNT && cap; a++) {
        if (!actions[a].name || !is_near(name, n, actions[a].name))
            continue;
        int score = unlikeness(name, n, actions[a].name);
        size_t at = found < cap ? found : cap;
        while (at && unlikeness(name, n, actions[out[at - 1]].name) > score)
            at--;
        if (at == cap)
            continue;
        found += found < cap;
        memmove(out + at + 1, out + at, (found - at - 1) * sizeof *out);
        out[at] = (enum action)a;
    }
    return found;
}

/* Words at a prompt's beginning by which people switch a model's thinking: Qwen3's, and GLM's. */
static const char *const model_words[] = {"think", "no_think", "nothink"};

static bool is_model_word(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof model_words / sizeof *model_words; i++)
        if (strlen(model_words[i]) == n && !memcmp(model_words[i], word, n))
            return true;
    return false;
}

static bool is_blank(const char *s)
{
    return !s[strspn(s, " \t\n")];
}

/* Whether the one word of argument is, or alone begins like, an alternative of args ("[on|off]"). */
static bool is_alternative(const char *args, const char *argument)
{
    static const char digits[] = "0123456789";
    size_t n = strcspn(argument, " \t\n"), begin_alike = 0;
    if (!is_blank(argument + n))
        return false;
    for (args += strspn(args, "["); *args && *args != ']'; args += *args == '|') {
        size_t length = strcspn(args, "|]");
        if (!memcmp(args, "NUMBER", 6 < length ? 6 : length) && strspn(argument, digits) == n)
            return true;
        if (length == n && !memcmp(args, argument, n))
            return true;
        begin_alike += length > n && !memcmp(args, argument, n);
        args += length;
    }
    return begin_alike == 1;
}

static bool takes(const struct action_info *a, const char *argument)
{
    const char *first = a->args + strspn(a->args, "[");
    if (is_blank(argument))
        return true;
    return *first && (*first < 'a' || *first > 'z' || is_alternative(a->args, argument));
}

enum typed action_parse(const char *text, enum action *action, const char **argument, const char **message)
{
    *action = ACTION_NONE;
    *argument = *message = "";
    bool several_lines = text[0] == '/' && !is_blank(text + strcspn(text, "\n"));
    if (text[0] != '/' || several_lines) {
        *message = text;
        return TYPED_MESSAGE;
    }
    if (text[1] == '/') {
        *message = text + 1;
        return TYPED_MESSAGE;
    }
    size_t n = text[1] == '?';
    while (text[1 + n] >= 'a' && text[1 + n] <= 'z')
        n++;
    char end = text[1 + n];
    bool is_word = !end || end == ' ' || end == '\n';
    if (!is_word || is_model_word(text + 1, n)) { /* not a word: a path, for instance */
        *message = text;
        return TYPED_MESSAGE;
    }
    bool is_argument;
    *action = action_of_alias(text + 1, n, &is_argument);
    if (*action == ACTION_NONE)
        *action = action_of_name(text + 1, n);
    if (*action == ACTION_NONE)
        return TYPED_UNKNOWN;
    *argument = text + 1 + (is_argument ? 0 : n);
    while (**argument == ' ' || **argument == '\n')
        ++*argument;
    return takes(&actions[*action], *argument) ? TYPED_COMMAND : TYPED_EXTRA;
}

char *action_escape(const char *text)
{
    enum action action;
    const char *argument, *message;
    bool verbatim = action_parse(text, &action, &argument, &message) == TYPED_MESSAGE && !strcmp(message, text);
    struct buffer b = BUFFER_INIT;
    buffer_puts(&b, verbatim ? "" : "/");
    buffer_puts(&b, text);
    return b.s;
}

/* ---- help ---- */

static const struct {
    int key;
    const char *name;
} key_names[] = {
    {KEYS_TAB, "Tab"},        {KEYS_ENTER, "Enter"},   {KEYS_ESC, "Esc"},   {KEYS_BACKSPACE, "Backspace"},
    {KEYS_DELETE, "Delete"},  {KEYS_UP, "Up"},         {KEYS_DOWN, "Down"}, {KEYS_LEFT, "Left"},
    {KEYS_RIGHT, "Right"},    {KEYS_HOME, "Home"},     {KEYS_END, "End"},   {KEYS_PAGE_UP, "PgUp"},
    {KEYS_PAGE_DOWN, "PgDn"}, {KEYS_INSERT, "Insert"},
};

void key_name(int key, char *out, size_t cap)
{
    const char *modifier = key & KEYS_ALT ? "Alt-" : key & KEYS_CONTROL ? "Ctrl-" : key & KEYS_SHIFT ? "Shift-" : "";
    int bare = key & ~(KEYS_ALT | KEYS_CONTROL | KEYS_SHIFT);
    for (size_t i = 0; i < sizeof key_names / sizeof *key_names; i++)
        if (key_names[i].key == bare) {
            snprintf(out, cap, "%s%s", modifier, key_names[i].name);
            return;
        }
    if (bare >= KEYS_F1 && bare < KEYS_F1 + 12)
        snprintf(out, cap, "%sF%d", modifier, bare - KEYS_F1 + 1);
    else if (bare < 32)
        snprintf(out, cap, "Ctrl-%c", bare + 64);
    else
        snprintf(out, cap, "%s%c", modifier, bare >= 'a' && bare <= 'z' ? bare - 32 : bare);
}

static void key_list(const struct action_info *a, char *out, size_t cap)
{
    out[0] = 0;
    for (int k = 0; k < ACTION_KEYS && a->keys[k]; k++) {
        char name[24];
        size_t n = strlen(out);
        key_name(a->keys[k], name, sizeof name);
        snprintf(out + n, cap - n, "%s%s", n ? ", " : "", name);
    }
}

static void put_padded(struct lines *out, const char *s, int width, unsigned style)
{
    int used = text_width(s, strlen(s));
    lines_put(out, s, strlen(s), style);
    for (; used < width; used++)
        lines_put(out, " ", 1, 0);
}

/* Puts text after what the open line has; its further lines begin in the same column. */
static void put_hanging(struct lines *out, const char *s, int width)
{
    struct wrap w;
    struct wrap_piece piece;
    int indent = out->building ? out->open.width : 0;
    wrap_begin(&w, s, strlen(s), false);
    while (wrap_next(&w, width - indent, &piece)) {
        if (!out->building)
            put_padded(out, "", indent, 0);
        lines_put(out, s + piece.start, piece.end - piece.start, 0);
        lines_end(out, 0, 0);
    }
    wrap_end(&w);
}

static void put_heading(struct lines *out, const char *s)
{
    if (out->n)
        lines_end(out, 0, 0);
    lines_put(out, s, strlen(s), STYLE_BOLD | STYLE_HEADING);
    lines_end(out, 0, 0);
}

static void put_action(struct lines *out, const struct action_info *a, int width)
{
    char keys[80], command[48] = "";
    key_list(a, keys, sizeof keys);
    if (a->name)
        snprintf(command, sizeof command, "/%s%s%s", a->name, *a->args ? " " : "", a->args);
    bool columns = width >= 76;
    lines_put(out, "  ", 2, 0);
    put_padded(out, keys, columns ? (a->group == GROUP_DRAFT ? 30 : 20) : 0, STYLE_BOLD);
    lines_put(out, "  ", !columns && *keys && *command ? 2 : 0, 0);
    put_padded(out, command, columns && a->group != GROUP_DRAFT ? 17 : 0, STYLE_CODE);
    if (columns && text_width(command, strlen(command)) >= 17)
        lines_put(out, "  ", 2, 0);
    if (!columns) {
        lines_end(out, 0, 0);
        put_padded(out, "", 6, 0);
    }
    put_hanging(out, a->help, width);
}

static const char *const notes[] = {
    ("A message that begins with a slash: type two (//like this). Sent as they are: a path such as /usr/bin, text "
     "that "
     "was pasted, text of several lines, and /think or /no_think, which some models obey."),
    "/exit and /bye are /quit, /clear is /new, /? is /help, /system TEXT is /set system TEXT.",
    "Panels: arrow keys, Enter, Esc; Tab goes between a panel and the draft.",
    ("In the list of conversations: r rename, d delete, n new; / or any other letter filters. In the settings: left "
     "and right, or type; d takes the default back."),
    "Selecting with the mouse: hold Shift (Option on a Mac), or /mouse off.",
    "Copying goes through the terminal (OSC 52), over ssh too. In tmux: set -g set-clipboard on.",
    "CHINWAG_PLAIN=1 makes it a plain dialogue of lines, for screen readers. NO_COLOR is respected.",
};

void help_layout(int width, struct lines *out)
{
    static const char *const headings[] = {
        [GROUP_CONVERSATION] = "Conversation", [GROUP_SCREEN] = "Screen", [GROUP_DRAFT] = "Draft"};
    for (int group = GROUP_CONVERSATION; group <= GROUP_DRAFT; group++) {
        put_heading(out, headings[group]);
        for (int a = 1; a < ACTION_COUNT; a++)
            if ((int)actions[a].group == group)
                put_action(out, &actions[a], width);
    }
    put_heading(out, "Good to know");
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        lines_put(out, "  ", 2, 0);
        put_hanging(out, notes[i], width);
    }
}
