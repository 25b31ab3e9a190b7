/* Marks of a thought in what a search found. */
#include "../../../src/excerpt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void expect(const char *excerpt, const char *shown)
{
    char *got = excerpt_of_answer(excerpt);
    assert_string_equal(got, shown);
    free(got);
}

static void an_answer_without_a_thought_stays(void **state)
{
    (void)state;
    expect("", "");
    expect("It is four.", "It is four.");
    expect("…it is four…", "…it is four…");
    expect("The mark </think> ends a thought.", "The mark </think> ends a thought.");
    expect("…> quoted, a <…", "…> quoted, a <…");
}

static void the_marks_are_left_out(void **state)
{
    (void)state;
    expect("<think> Two and two. </think> It is four.", "Two and two. It is four.");
    expect("<think>Two and two.</think>It is four.", "Two and two. It is four.");
    expect("<think> </think> It is four.", "It is four.");
    expect("<think> Two and two. </think>", "Two and two.");
    expect("<think> Two and two, still", "Two and two, still");
    expect("<think> Two. </think> The mark </think> stays.", "Two. The mark </think> stays.");
    expect("…and two. </think> It is four…", "…and two. It is four…");
    expect("…and two. </think>…", "…and two.…");
}

static void a_torn_mark_is_left_out(void **state)
{
    (void)state;
    expect("…hink> Two and two.", "…Two and two.");
    expect("…</think> It is four.", "…It is four.");
    expect("…k> It is four.", "…It is four.");
    expect("…and two. </thi…", "…and two.…");
    expect("<think> Two and two. </…", "Two and two.…");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_without_a_thought_stays),
        cmocka_unit_test(the_marks_are_left_out),
        cmocka_unit_test(a_torn_mark_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
