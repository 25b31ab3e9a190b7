/* The status line tells what matters and fits; times read as a person says them. */
#include "../../../ui/status.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

#include "lines_text.h"

static const struct ui_status full = {.temperature = 0.7,
                                      .top_p = 0.9,
                                      .window_used = 612,
                                      .window_size = 2048,
                                      .window_soft = 0.7,
                                      .window_hard = 0.85,
                                      .tokens_per_second = 54,
                                      .first_token_s = 0.12};

static void expect(const struct ui_status *s, int width, const char *expected)
{
    struct lines l = {0};
    status_layout(s, width, &l);
    assert_lines(&l, expected);
    assert_fits(&l, width);
    lines_free(&l);
}

static void a_wide_line_has_everything(void **state)
{
    (void)state;
    expect(&full, 90, "temp 0.70 top-p 0.90 │ window ▓▓▓░░░░░░░ 612/2048 │ 54 tok/s TTFT 0.12 s │ F1 help\n");
}

static void a_narrow_line_drops_the_least_important(void **state)
{
    (void)state;
    expect(&full, 78, "temp 0.70 top-p 0.90 │ ▓▓▓░░░░░░░ 612/2048 │ 54 tok/s TTFT 0.12 s │ F1 help\n");
    expect(&full, 64, "temp 0.70 top-p 0.90 │ ▓▓▓░░░░░░░ 612/2048 │ 54 tok/s │ F1 help\n");
    expect(&full, 41, "temp 0.70 │ 612/2048 │ 54 tok/s │ F1 help\n");
    expect(&full, 22, "612/2048 │ F1 help\n");
    for (int width = 1; width < 100; width++) {
        struct lines l = {0};
        status_layout(&full, width, &l);
        assert_fits(&l, width);
        lines_free(&l);
    }
}

static void what_is_unknown_is_not_shown(void **state)
{
    (void)state;
    struct ui_status s = {.temperature = 1, .top_p = 1};
    expect(&s, 80, "temp 1.00 top-p 1.00 │ F1 help\n");
}

static void a_full_window_is_conspicuous(void **state)
{
    (void)state;
    struct ui_status s = full;
    struct lines l = {0};
    status_layout(&s, 110, &l);
    assert_int_equal(style_of(&l, "612/2048") & STYLE_ROLE, 0);
    lines_free(&l);
    s.window_used = 1500;
    status_layout(&s, 110, &l);
    assert_int_equal(style_of(&l, "1500/2048") & STYLE_ROLE, STYLE_NOTICE);
    lines_free(&l);
    s.window_used = 1900;
    s.summarized = 8;
    status_layout(&s, 110, &l);
    assert_int_equal(style_of(&l, "1900/2048") & STYLE_ROLE, STYLE_WARNING);
    char *text = lines_text(&l);
    assert_non_null(strstr(text, "(8 in summary)"));
    free(text);
    lines_free(&l);
}

static void activity_has_a_name(void **state)
{
    (void)state;
    struct ui_status s = {.progress = 0.43f};
    char words[64];
    status_activity(&s, words, sizeof words);
    assert_string_equal(words, "");
    s.awaited = true;
    status_activity(&s, words, sizeof words);
    assert_string_equal(words, "thinking");
    s.activity = UI_READING;
    status_activity(&s, words, sizeof words);
    assert_string_equal(words, "reading 43 %");
    s.progress = -1;
    s.activity = UI_LOADING;
    status_activity(&s, words, sizeof words);
    assert_string_equal(words, "loading the model");
}

static void bars_fill(void **state)
{
    (void)state;
    char bar[64];
    status_bar(0, 4, bar, sizeof bar);
    assert_string_equal(bar, "░░░░");
    status_bar(0.4, 4, bar, sizeof bar);
    assert_string_equal(bar, "▓▒░░");
    status_bar(1.5, 4, bar, sizeof bar);
    assert_string_equal(bar, "▓▓▓▓");
}

static void times_are_as_a_person_says_them(void **state)
{
    (void)state;
    const int64_t now = INT64_C(1773324000000); /* 2026-03-12 14:00 UTC */
    char s[64];
    static const struct {
        int64_t ago;
        const char *age, *time;
    } cases[] = {
        {0, "now", "14:00"},
        {5 * 60000, "5 min ago", "13:55"},
        {3 * 3600000, "3 h ago", "11:00"},
        {INT64_C(20) * 3600000, "yesterday", "Wed 18:00"},
        {INT64_C(3) * 86400000, "Mon", "Mon 14:00"},
        {INT64_C(30) * 86400000, "10 Feb", "2026-02-10 14:00"},
        {INT64_C(365) * 86400000, "2025-03-12", "2025-03-12 14:00"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        status_age(now - cases[i].ago, now, s, sizeof s);
        assert_string_equal(s, cases[i].age);
        status_time(now - cases[i].ago, now, s, sizeof s);
        assert_string_equal(s, cases[i].time);
    }
}

static void assert_thought(struct ui_thought t, bool goes_on, size_t words, const char *expected)
{
    char s[96];
    status_thought(&t, goes_on, words, 100000, s, sizeof s);
    assert_string_equal(s, expected);
}

static void a_thought_is_a_line(void **state)
{
    (void)state;
    assert_thought((struct ui_thought){.began_ms = 88000}, true, 240, "thinking 12 s · 240 words");
    assert_thought((struct ui_thought){.began_ms = 88000, .ended_ms = 92900, .whole = true}, false, 1,
                   "thought for 4 s · 1 word");
    assert_thought((struct ui_thought){.began_ms = 1000, .ended_ms = 66000, .whole = true}, false, 2,
                   "thought for 1 min 5 s · 2 words");
    assert_thought((struct ui_thought){.began_ms = 88000, .ended_ms = 88001}, false, 2,
                   "unfinished thought for 1 s · 2 words");
    assert_thought((struct ui_thought){.whole = true}, false, 2, "thought · 2 words");
    assert_thought((struct ui_thought){0}, false, 2, "unfinished thought · 2 words");
    assert_thought((struct ui_thought){0}, true, 2, "thinking · 2 words");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_line_has_everything),
        cmocka_unit_test(a_narrow_line_drops_the_least_important),
        cmocka_unit_test(what_is_unknown_is_not_shown),
        cmocka_unit_test(a_full_window_is_conspicuous),
        cmocka_unit_test(activity_has_a_name),
        cmocka_unit_test(a_thought_is_a_line),
        cmocka_unit_test(bars_fill),
        cmocka_unit_test(times_are_as_a_person_says_them),
    };
    setlocale(LC_ALL, "C.UTF-8");
    setenv("TZ", "UTC", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
