/* test_window.c - the plan of the context window, and the cut of a message too large for it. */
#include "../../../src/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistr.h>

enum { MAX = 64 };

struct chat {
    struct window_costs costs;
    int messages[MAX];
    bool is_answer[MAX];
};

/* A chat of n messages that take turns, of `each` tokens, in a window of 1000. */
static struct chat *chat(struct chat *c, size_t n, int each)
{
    *c = (struct chat){.costs = {.n_ctx = 1000, .fixed = 50, .reserve = 150, .summary_max = 100}};
    c->costs.messages = c->messages;
    c->costs.is_answer = c->is_answer;
    c->costs.n_messages = n;
    for (size_t i = 0; i < n; i++) {
        c->messages[i] = each;
        c->is_answer[i] = i % 2;
    }
    return c;
}

static void a_short_chat_is_kept(void **state)
{
    (void)state;
    struct chat c;
    struct window_plan plan = window_plan(&chat(&c, 7, 50)->costs, false);
    assert_int_equal(plan.action, WINDOW_KEEP);
    assert_int_equal(plan.cover, 0);
    assert_int_equal(plan.used, 400);
}

static void an_empty_chat_is_kept(void **state)
{
    (void)state;
    struct chat c;
    assert_int_equal(window_plan(&chat(&c, 0, 0)->costs, false).action, WINDOW_KEEP);
    assert_int_equal(window_plan(&c.costs, true).action, WINDOW_KEEP);
}

static void between_the_limits_only_an_idle_plan_compacts(void **state)
{
    (void)state;
    struct chat c;
    chat(&c, 14, 50); /* 750 of 1000 */
    assert_int_equal(window_plan(&c.costs, false).action, WINDOW_KEEP);
    assert_int_equal(window_plan(&c.costs, true).action, WINDOW_COMPACT);
}

static void the_limits_are_where_they_are_said_to_be(void **state)
{
    (void)state;
    struct chat c;
    chat(&c, 13, 50);
    c.costs.fixed = 50; /* 700: exactly soft */
    assert_int_equal(window_plan(&c.costs, true).action, WINDOW_KEEP);
    c.costs.fixed = 51;
    assert_int_equal(window_plan(&c.costs, true).action, WINDOW_COMPACT);
    c.costs.fixed = 200; /* 850: exactly hard */
    assert_int_equal(window_plan(&c.costs, false).action, WINDOW_KEEP);
    c.costs.fixed = 201;
    assert_int_equal(window_plan(&c.costs, false).action, WINDOW_COMPACT);
}

static void the_room_for_the_answer_is_kept_free(void **state)
{
    (void)state;
    struct chat c;
    chat(&c, 13, 50);
    c.costs.reserve = 250;
    c.costs.fixed = 100; /* 750 + 250 fit exactly */
    assert_int_equal(window_plan(&c.costs, false).action, WINDOW_KEEP);
    c.costs.fixed = 101;
    assert_int_equal(window_plan(&c.costs, false).action, WINDOW_COMPACT);
}

static void compaction_aims_at_half_and_covers_no_more_than_that_takes(void **state)
{
    (void)state;
    struct chat c;
    struct window_plan plan = window_plan(&chat(&c, 17, 50)->costs, false); /* 900 */
    assert_int_equal(plan.action, WINDOW_COMPACT);
    /* 900 + 100 for the summary - 10 x 50 = 500 */
    assert_int_equal(plan.cover, 10);
}

static void a_present_summary_is_replaced_and_not_added_to(void **state)
{
    (void)state;
    struct chat c;
    chat(&c, 17, 50);
    c.costs.fixed = 150;
    c.costs.summary = 100; /* 1000 - 100 + 100 - 10 x 50 = 500 */
    assert_int_equal(window_plan(&c.costs, false).cover, 10);
}

static void whole_turns_are_covered_and_never_the_last_message(void **state)
{
    (void)state;
    struct chat c;
    for (size_t n = 2; n < MAX; n++) {
        for (int each = 5; each < 400; each += 7) {
            for (int idle = 0; idle < 2; idle++) {
                struct window_plan plan = window_plan(&chat(&c, n, each)->costs, idle);
                assert_true(plan.cover < n);
                assert_int_equal(plan.action == WINDOW_COMPACT, plan.cover > 0);
                if (plan.cover)
                    assert_false(c.is_answer[plan.cover]);
            }
        }
    }
}

static void one_turn_that_is_too_large_is_kept(void **state)
{
    (void)state;
    struct chat c;
    struct window_plan plan = window_plan(&chat(&c, 1, 5000)->costs, false);
    assert_int_equal(plan.action, WINDOW_KEEP);
    assert_int_equal(plan.used, 5050);
    assert_int_equal(window_plan(&chat(&c, 2, 5000)->costs, true).action, WINDOW_KEEP);
}

static void a_large_last_message_leaves_all_before_it_covered(void **state)
{
    (void)state;
    struct chat c;
    chat(&c, 9, 50);
    c.messages[8] = 800;
    assert_int_equal(window_plan(&c.costs, false).cover, 8);
}

static void nothing_is_covered_for_a_summary_as_large_as_what_it_replaces(void **state)
{
    (void)state;
    struct chat c;
    chat(&c, 3, 20);
    c.messages[2] = 2000;
    assert_int_equal(window_plan(&c.costs, false).action, WINDOW_KEEP);
}

static void two_messages_without_an_answer_between_them_are_two_turns(void **state)
{
    (void)state;
    struct chat c;
    chat(&c, 2, 450);
    c.is_answer[1] = false;
    assert_int_equal(window_plan(&c.costs, false).cover, 1);
}

static char *repeated(const char *unit, size_t times)
{
    size_t n = strlen(unit);
    char *text = malloc(n * times + 1);
    assert_non_null(text);
    for (size_t i = 0; i < times; i++)
        memcpy(text + i * n, unit, n);
    text[n * times] = '\0';
    return text;
}

static void a_text_that_fits_is_not_cut(void **state)
{
    (void)state;
    char *cut = window_cut_middle("hello", 5, 5);
    assert_string_equal(cut, "hello");
    free(cut);
}

static void a_cut_text_keeps_its_head_and_its_tail(void **state)
{
    (void)state;
    char *middle = repeated("word ", 1000);
    size_t len = strlen(middle);
    memcpy(middle, "FIRST", 5);
    memcpy(middle + len - 4, "LAST", 4);
    char *cut = window_cut_middle(middle, len, 400);
    assert_in_range(strlen(cut), 300, 400);
    assert_memory_equal(cut, "FIRST", 5);
    assert_string_equal(cut + strlen(cut) - 4, "LAST");
    assert_non_null(strstr(cut, "left out"));
    free(cut);
    free(middle);
}

static void a_cut_is_made_at_line_ends_where_they_are_near(void **state)
{
    (void)state;
    char *text = repeated("a line of text\n", 200);
    char *cut = window_cut_middle(text, strlen(text), 500);
    char *mark = strstr(cut, "\n[...");
    assert_non_null(mark);
    assert_int_equal(mark[-1], '\n');
    char *after = strstr(mark, "...]\n");
    assert_non_null(after);
    assert_memory_equal(after + 5, "a line", 6);
    free(cut);
    free(text);
}

static void a_cut_never_splits_a_character(void **state)
{
    (void)state;
    static const char *const units[] = {"天气很好", "é", "🙂", "aé天🙂"};
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        char *text = repeated(units[u], 100);
        size_t len = strlen(text);
        for (size_t max = 0; max <= len; max++) {
            char *cut = window_cut_middle(text, len, max);
            assert_true(strlen(cut) <= max);
            assert_null(u8_check((const uint8_t *)cut, strlen(cut)));
            free(cut);
        }
        free(text);
    }
}

static void bytes_that_are_no_utf8_are_cut_as_well(void **state)
{
    (void)state;
    char *text = repeated("\x80\xbf", 300);
    for (size_t max = 0; max < 600; max += 13) {
        char *cut = window_cut_middle(text, 600, max);
        assert_true(strlen(cut) <= max);
        free(cut);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_chat_is_kept),
        cmocka_unit_test(an_empty_chat_is_kept),
        cmocka_unit_test(between_the_limits_only_an_idle_plan_compacts),
        cmocka_unit_test(the_limits_are_where_they_are_said_to_be),
        cmocka_unit_test(the_room_for_the_answer_is_kept_free),
        cmocka_unit_test(compaction_aims_at_half_and_covers_no_more_than_that_takes),
        cmocka_unit_test(a_present_summary_is_replaced_and_not_added_to),
        cmocka_unit_test(whole_turns_are_covered_and_never_the_last_message),
        cmocka_unit_test(one_turn_that_is_too_large_is_kept),
        cmocka_unit_test(a_large_last_message_leaves_all_before_it_covered),
        cmocka_unit_test(nothing_is_covered_for_a_summary_as_large_as_what_it_replaces),
        cmocka_unit_test(two_messages_without_an_answer_between_them_are_two_turns),
        cmocka_unit_test(a_text_that_fits_is_not_cut),
        cmocka_unit_test(a_cut_text_keeps_its_head_and_its_tail),
        cmocka_unit_test(a_cut_is_made_at_line_ends_where_they_are_near),
        cmocka_unit_test(a_cut_never_splits_a_character),
        cmocka_unit_test(bytes_that_are_no_utf8_are_cut_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
