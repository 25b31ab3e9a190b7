/* test_thought.c - what a model thought and its answer, told apart in a text that grows. */
#include "../../../engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct parts {
    enum engine_thought_state state;
    char thought[200], answer[200];
};

static struct parts parts_of(const struct engine_thought *t, const char *text, size_t len)
{
    struct parts p = {.state = t->state};
    assert_true(t->start <= t->end && t->end <= len && t->answer <= len);
    memcpy(p.thought, text + t->start, t->end - t->start);
    memcpy(p.answer, text + t->answer, len - t->answer);
    return p;
}

/* Reads the text in pieces of step bytes. What was in a part must stay there; pieces of either part, put together as
 * they come, are the part. */
static struct parts read_in_steps(const char *text, size_t step)
{
    struct engine_thought t = {0};
    struct parts before = {0}, now = before;
    size_t len = strlen(text);
    for (size_t n = 0; n <= len; n += step) {
        /* A copy of its own size, so that a sanitizer sees what is read beyond it. */
        char *grown = malloc(n + 1);
        memcpy(grown, text, n);
        engine_thought_read(&t, grown, n, false);
        now = parts_of(&t, grown, n);
        free(grown);
        assert_memory_equal(now.thought, before.thought, strlen(before.thought));
        assert_memory_equal(now.answer, before.answer, strlen(before.answer));
        before = now;
    }
    engine_thought_read(&t, text, len, true);
    now = parts_of(&t, text, len);
    assert_memory_equal(now.thought, before.thought, strlen(before.thought));
    assert_memory_equal(now.answer, before.answer, strlen(before.answer));
    return now;
}

static void assert_parts(const char *text, enum engine_thought_state state, const char *thought, const char *answer)
{
    for (size_t step = 1; step <= strlen(text) + 1; step++) {
        struct parts p = read_in_steps(text, step);
        assert_int_equal(p.state, state);
        assert_string_equal(p.thought, thought);
        assert_string_equal(p.answer, answer);
    }
}

static void a_thought_and_its_answer_are_told_apart(void **state)
{
    (void)state;
    assert_parts("<think>\nTwo and two.\n</think>\n\nFour.", ENGINE_THOUGHT_CLOSED, "Two and two.", "Four.");
    assert_parts(" \n<think>嗯，\n\n二加二。</think>四。\n", ENGINE_THOUGHT_CLOSED, "嗯，\n\n二加二。", "四。\n");
    assert_parts("<think>a</think> \t\n b", ENGINE_THOUGHT_CLOSED, "a", "b");
}

static void an_empty_thought_is_none_to_show(void **state)
{
    (void)state;
    assert_parts("<think>\n\n</think>\n\nFour.", ENGINE_THOUGHT_CLOSED, "", "Four.");
    assert_parts("<think></think>", ENGINE_THOUGHT_CLOSED, "", "");
}

static void a_thought_that_never_ends_has_no_answer(void **state)
{
    (void)state;
    assert_parts("<think>\nTwo and", ENGINE_THOUGHT_OPEN, "Two and", "");
    assert_parts("<think>\nTwo and \n", ENGINE_THOUGHT_OPEN, "Two and", "");
    assert_parts("<think>", ENGINE_THOUGHT_OPEN, "", "");
    assert_parts("<think>a < b, a </thin", ENGINE_THOUGHT_OPEN, "a < b, a </thin", "");
}

static void only_the_beginning_counts(void **state)
{
    (void)state;
    assert_parts("Write <think>x</think> y", ENGINE_THOUGHT_NONE, "", "Write <think>x</think> y");
    assert_parts("<thinking>x", ENGINE_THOUGHT_NONE, "", "<thinking>x");
    assert_parts("<thin", ENGINE_THOUGHT_NONE, "", "<thin");
    assert_parts("  \n", ENGINE_THOUGHT_NONE, "", "  \n");
    assert_parts("", ENGINE_THOUGHT_NONE, "", "");
    assert_parts("x</think>y", ENGINE_THOUGHT_NONE, "", "x</think>y");
}

static void the_first_end_ends_it(void **state)
{
    (void)state;
    assert_parts("<think>a </ </think</think>b <think>c</think>", ENGINE_THOUGHT_CLOSED, "a </ </think",
                 "b <think>c</think>");
}

static void a_beginning_of_a_mark_is_in_neither_part(void **state)
{
    (void)state;
    struct engine_thought t = {0};
    engine_thought_read(&t, "<think", 6, false);
    assert_int_equal(t.state, ENGINE_THOUGHT_UNDECIDED);
    assert_int_equal(t.answer, 6);
    engine_thought_read(&t, "<think>a b </thi", 16, false);
    assert_int_equal(t.state, ENGINE_THOUGHT_OPEN);
    assert_int_equal(t.end, 10);
    assert_int_equal(t.answer, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thought_and_its_answer_are_told_apart),
        cmocka_unit_test(an_empty_thought_is_none_to_show),
        cmocka_unit_test(a_thought_that_never_ends_has_no_answer),
        cmocka_unit_test(only_the_beginning_counts),
        cmocka_unit_test(the_first_end_ends_it),
        cmocka_unit_test(a_beginning_of_a_mark_is_in_neither_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
