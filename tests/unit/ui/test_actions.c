/* One table: no key means two things, every command is complete, and slashes do what was meant. */
#include "../../../ui/actions.h"
#include "../../../ui/paste.h"
#include "../../../ui/screen.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lines_text.h"

static void no_key_has_two_actions(void **state)
{
    (void)state;
    for (int a = 1; a < ACTION_COUNT; a++)
        for (int k = 0; k < ACTION_KEYS; k++)
            if (action_info((enum action)a)->keys[k])
                assert_int_equal(action_of_key(action_info((enum action)a)->keys[k]), a);
    assert_int_equal(action_of_key(KEYS_NONE), ACTION_NONE);
    assert_int_equal(action_of_key('a'), ACTION_NONE);
}

static void every_action_is_explained_and_reachable(void **state)
{
    (void)state;
    for (int a = 1; a < ACTION_COUNT; a++) {
        const struct action_info *info = action_info((enum action)a);
        assert_non_null(info->help);
        assert_non_null(info->args);
        assert_true(info->name || info->keys[0]);
        if (info->name)
            assert_int_equal(action_of_name(info->name, strlen(info->name)), a);
    }
}

static void the_keys_are_those_of_the_design(void **state)
{
    (void)state;
    static const struct {
        int key;
        enum action action;
    } keys[] = {
        {KEYS_ENTER, ACTION_SEND},
        {KEYS_ALT | KEYS_ENTER, ACTION_NEWLINE},
        {KEY_CTRL('J'), ACTION_NEWLINE},
        {KEYS_ESC, ACTION_STOP},
        {KEY_CTRL('C'), ACTION_INTERRUPT},
        {KEYS_F1, ACTION_HELP},
        {KEYS_F1 + 1, ACTION_CONVERSATIONS},
        {KEY_CTRL('O'), ACTION_CONVERSATIONS},
        {KEYS_F1 + 2, ACTION_SETTINGS},
        {KEY_CTRL('T'), ACTION_SETTINGS},
        {KEYS_F1 + 3, ACTION_MODEL},
        {KEY_CTRL('N'), ACTION_NEW},
        {KEYS_PAGE_UP, ACTION_PAGE_UP},
        {KEYS_CONTROL | KEYS_HOME, ACTION_TOP},
        {KEYS_CONTROL | KEYS_END, ACTION_BOTTOM},
        {KEY_CTRL('R'), ACTION_HISTORY},
        {KEY_CTRL('G'), ACTION_SEARCH},
        {KEY_CTRL('F'), ACTION_FIND},
        {KEY_CTRL('E'), ACTION_EDITOR},
        {KEY_CTRL('Y'), ACTION_COPY},
        {KEY_CTRL('L'), ACTION_REDRAW},
        {KEY_CTRL('A'), ACTION_LINE_START},
        {KEY_CTRL('K'), ACTION_KILL_END},
        {KEY_CTRL('U'), ACTION_KILL_START},
        {KEY_CTRL('W'), ACTION_KILL_WORD},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_int_equal(action_of_key(keys[i].key), keys[i].action);
}

static void names_of_keys(void **state)
{
    (void)state;
    char name[32];
    key_name(KEY_CTRL('O'), name, sizeof name);
    assert_string_equal(name, "Ctrl-O");
    key_name(KEYS_ALT | KEYS_ENTER, name, sizeof name);
    assert_string_equal(name, "Alt-Enter");
    key_name(KEYS_F1 + 3, name, sizeof name);
    assert_string_equal(name, "F4");
    key_name(KEYS_CONTROL | KEYS_END, name, sizeof name);
    assert_string_equal(name, "Ctrl-End");
    key_name(KEYS_ALT | 'b', name, sizeof name);
    assert_string_equal(name, "Alt-B");
}

static void slashes_mean_what_was_meant(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum typed typed;
        enum action action;
        const char *rest; /* argument of a command, text of a message */
    } cases[] = {
        {"hello", TYPED_MESSAGE, ACTION_NONE, "hello"},
        {"/quit", TYPED_COMMAND, ACTION_QUIT, ""},
        {"/set temperature 0.5", TYPED_COMMAND, ACTION_SET, "temperature 0.5"},
        {"/rename   A title", TYPED_COMMAND, ACTION_RENAME, "A title"},
        {"/conv", TYPED_COMMAND, ACTION_CONVERSATIONS, ""},
        {"/new", TYPED_COMMAND, ACTION_NEW, ""}, /* though /newer begins so too */
        {"/set", TYPED_COMMAND, ACTION_SET, ""},
        {"/nonsense", TYPED_UNKNOWN, ACTION_NONE, NULL},
        {"/re", TYPED_UNKNOWN, ACTION_NONE, NULL}, /* several */
        {"/", TYPED_UNKNOWN, ACTION_NONE, NULL},
        {"/?", TYPED_COMMAND, ACTION_HELP, ""},
        {"/?!", TYPED_MESSAGE, ACTION_NONE, "/?!"},
        {"/bye", TYPED_COMMAND, ACTION_QUIT, ""},
        {"/clear", TYPED_COMMAND, ACTION_NEW, ""},
        {"/system Be brief.", TYPED_COMMAND, ACTION_SET, "system Be brief."},
        {"//quit", TYPED_MESSAGE, ACTION_NONE, "/quit"},
        {"/usr/bin/env is missing", TYPED_MESSAGE, ACTION_NONE, "/usr/bin/env is missing"},
        {"/etc.", TYPED_MESSAGE, ACTION_NONE, "/etc."},
        {" /quit", TYPED_MESSAGE, ACTION_NONE, " /quit"},
        {"/think why is the sky blue?", TYPED_MESSAGE, ACTION_NONE, "/think why is the sky blue?"},
        {"/no_think hi", TYPED_MESSAGE, ACTION_NONE, "/no_think hi"},
        {"/nothink", TYPED_MESSAGE, ACTION_NONE, "/nothink"},
        {"/help\nis printed by the tool", TYPED_MESSAGE, ACTION_NONE, "/help\nis printed by the tool"},
        {"// returns the sum\nint add();", TYPED_MESSAGE, ACTION_NONE, "// returns the sum\nint add();"},
        {"/etc\n/usr", TYPED_MESSAGE, ACTION_NONE, "/etc\n/usr"},
        {"/help \n ", TYPED_COMMAND, ACTION_HELP, ""}, /* blanks cannot be seen */
        {"/exit code 137 means what?", TYPED_EXTRA, ACTION_QUIT, NULL},
        {"/new year wishes for a baker", TYPED_EXTRA, ACTION_NEW, NULL},
        {"/bye in five languages", TYPED_EXTRA, ACTION_QUIT, NULL},
        {"/clear explanation of monads", TYPED_EXTRA, ACTION_NEW, NULL},
        {"/he said hello", TYPED_EXTRA, ACTION_HELP, NULL},
        {"/thoughts on love", TYPED_EXTRA, ACTION_THOUGHTS, NULL},
        {"/thoughts on ", TYPED_COMMAND, ACTION_THOUGHTS, "on "},
        {"/mouse trap", TYPED_EXTRA, ACTION_MOUSE, NULL},
        {"/mouse o", TYPED_EXTRA, ACTION_MOUSE, NULL}, /* two begin so */
        {"/mouse off", TYPED_COMMAND, ACTION_MOUSE, "off"},
        {"/alternative energy", TYPED_EXTRA, ACTION_ALTERNATIVE, NULL},
        {"/alternative prev", TYPED_COMMAND, ACTION_ALTERNATIVE, "prev"},
        {"/open the pod bay doors", TYPED_COMMAND, ACTION_OPEN, "the pod bay doors"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum action action;
        const char *argument, *message;
        assert_int_equal(action_parse(cases[i].text, &action, &argument, &message), cases[i].typed);
        assert_int_equal(action, cases[i].action);
        if (cases[i].rest)
            assert_string_equal(cases[i].typed == TYPED_COMMAND ? argument : message, cases[i].rest);
    }
}

static void an_escaped_message_is_sent_as_it_is(void **state)
{
    (void)state;
    static const char *const messages[] = {"hello",     "/quit",    "//",    "// a comment",
                                           "/new year", "/usr/bin", "/a\nb", "/nonsense"};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        enum action action;
        const char *argument, *message;
        char *typed = action_escape(messages[i]);
        assert_int_equal(action_parse(typed, &action, &argument, &message), TYPED_MESSAGE);
        assert_string_equal(message, messages[i]);
        free(typed);
    }
}

static void the_nearest_commands_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *typed;
        enum action nearest;
    } cases[] = {{"quti", ACTION_QUIT},    {"serch", ACTION_SEARCH}, {"regen", ACTION_REGENERATE},
                 {"delet", ACTION_DELETE}, {"hlep", ACTION_HELP},    {"exit", ACTION_QUIT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum action near[3];
        bool among = false;
        size_t n = action_nearest(cases[i].typed, strlen(cases[i].typed), near, 3);
        for (size_t k = 0; k < n; k++)
            among |= near[k] == cases[i].nearest;
        assert_true(among);
        assert_true(n < 2 || near[0] != near[1]);
    }
    enum action none;
    assert_int_equal(action_nearest("xyzzy", 5, &none, 1), 0);
}

static void help_holds_every_command_at_any_width(void **state)
{
    (void)state;
    for (int width = 24; width < 140; width += 13) {
        struct lines l = {0};
        help_layout(width, &l);
        char *text = lines_text(&l);
        for (int a = 1; a < ACTION_COUNT; a++) {
            char command[32] = "/";
            if (!action_info((enum action)a)->name)
                continue;
            strcat(command, action_info((enum action)a)->name);
            assert_non_null(strstr(text, command));
        }
        assert_non_null(strstr(text, "Ctrl-Home"));
        if (width >= 115)
            assert_non_null(strstr(text, "set-clipboard on"));
        if (width >= 40)
            assert_fits(&l, width);
        free(text);
        lines_free(&l);
    }
}

static void a_paste_is_text_to_its_end_mark(void **state)
{
    (void)state;
    struct paste p = {0};
    assert_int_equal(paste_take(&p, 'a', true, 0), PASTE_KEY);
    assert_int_equal(paste_take(&p, KEYS_PASTE_BEGIN, false, 10), PASTE_MARK);
    assert_int_equal(paste_take(&p, KEYS_ENTER, false, 10), PASTE_TEXT);
    assert_int_equal(paste_take(&p, KEYS_ENTER, false, 5000), PASTE_TEXT); /* a slow line, more of it in one lump */
    assert_int_equal(paste_take(&p, KEYS_PASTE_END, false, 5001), PASTE_MARK);
    assert_int_equal(paste_take(&p, KEYS_ENTER, true, 5002), PASTE_KEY);
}

static void a_paste_without_end_neither_freezes_nor_submits(void **state)
{
    (void)state;
    struct paste p = {0};
    paste_take(&p, KEYS_PASTE_BEGIN, false, 0);
    assert_int_equal(paste_take(&p, 'x', false, 0), PASTE_TEXT);
    assert_int_equal(paste_take(&p, KEYS_ENTER, true, PASTE_PAUSE_MS - 1),
                     PASTE_TEXT);                                               /* its tail, cut into small lumps */
    assert_int_equal(paste_take(&p, 'y', true, 2 * PASTE_PAUSE_MS), PASTE_KEY); /* a person */
    assert_int_equal(paste_take(&p, KEYS_ENTER, true, 2 * PASTE_PAUSE_MS + 1), PASTE_KEY);
}

static size_t unmarked(struct paste *p, const char *text, bool first, int64_t now_ms)
{
    int keys[64];
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        keys[i] = text[i];
    return paste_unmarked(p, keys, n, first, now_ms);
}

static void lines_in_one_reading_are_a_paste(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {{"one\rtwo\rthree\r", 14},
                 {"a\rb", 3},
                 {"a\r\nb\x03\rc", 4},
                 {"\ta\r\rb", 5},
                 {"one\r", 0},
                 {"one\r\n", 0},
                 {"\rtwo", 0},
                 {"one", 0},
                 {"a\nb", 0},
                 {"\x01"
                  "a\rb",
                  0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct paste p = {0};
        assert_int_equal(unmarked(&p, cases[i].text, true, 1000), cases[i].n);
    }
    struct paste p = {0};
    assert_int_equal(unmarked(&p, "a\rb", false, 1000), 0); /* in the midst of other keys */
    assert_int_equal(unmarked(&p, "a\rb", true, 1000), 3);
    assert_int_equal(unmarked(&p, "c\r", true, 1000 + PASTE_CONTINUES_MS), 2); /* its next part */
    assert_int_equal(unmarked(&p, "d\r", true, 1001 + 2 * PASTE_CONTINUES_MS), 0);
    paste_take(&p, KEYS_PASTE_BEGIN, false, 2000);
    assert_int_equal(unmarked(&p, "a\rb", true, 2000), 0); /* that is another kind */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_has_two_actions),
        cmocka_unit_test(every_action_is_explained_and_reachable),
        cmocka_unit_test(the_keys_are_those_of_the_design),
        cmocka_unit_test(names_of_keys),
        cmocka_unit_test(slashes_mean_what_was_meant),
        cmocka_unit_test(an_escaped_message_is_sent_as_it_is),
        cmocka_unit_test(the_nearest_commands_are_found),
        cmocka_unit_test(help_holds_every_command_at_any_width),
        cmocka_unit_test(a_paste_is_text_to_its_end_mark),
        cmocka_unit_test(a_paste_without_end_neither_freezes_nor_submits),
        cmocka_unit_test(lines_in_one_reading_are_a_paste),
    };
    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
