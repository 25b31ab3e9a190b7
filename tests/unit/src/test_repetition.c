/* test_repetition.c - answers that loop are recognised, texts that repeat for a reason are not.
 *
 * tests/golden/repetition has both kinds: loops.txt what SmolLM2-135M wrote, texts.txt what people want to read. */
#include "../../../src/repetition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../src/base/buffer.h"
#include "../../../src/base/clock.h"

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

enum { STEP = 64 }; /* bytes between two looks at a text that grows */

/* ---- the corpora: "=== question", the text's lines, and so on ---- */

struct corpus {
    char *text; /* all of the file; records point into it */
    struct record {
        const char *question, *text;
        size_t len;
    } records[128];
    size_t n;
};

static struct corpus read_corpus(const char *path)
{
    struct corpus c = {0};
    struct buffer file = BUFFER_INIT;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(buffer_read(&file, fd, (size_t)16 << 20));
    close(fd);
    c.text = buffer_take(&file);
    for (char *at = c.text; at && *at;) {
        assert_memory_equal(at, "=== ", 4);
        assert_true(c.n < sizeof c.records / sizeof *c.records);
        char *end = strchr(at, '\n'), *next = strstr(end, "\n=== ");
        *end = '\0';
        struct record *r = &c.records[c.n++];
        *r = (struct record){at + 4, end + 1, next ? (size_t)(next - end) : strlen(end + 1)};
        at = next ? next + 1 : NULL;
    }
    return c;
}

/* Where a text that grows was first found to loop; 0 if it never was. */
static size_t first_found(const char *text, size_t len, const char *question)
{
    for (size_t at = STEP; at <= len; at += STEP)
        if (repetition_found(text, at, question))
            return at;
    return repetition_found(text, len, question) ? len : 0;
}

static void every_loop_of_a_real_model_is_found(void **state)
{
    (void)state;
    struct corpus c = read_corpus("tests/golden/repetition/loops.txt");
    assert_true(c.n >= 40);
    for (size_t i = 0; i < c.n; i++)
        if (!first_found(c.records[i].text, c.records[i].len, c.records[i].question))
            fail_msg("loop %zu is not found: %s", i + 1, c.records[i].question);
    free(c.text);
}

static void no_legitimate_text_is_taken_for_a_loop_wherever_it_stands(void **state)
{
    (void)state;
    struct corpus c = read_corpus("tests/golden/repetition/texts.txt");
    assert_true(c.n >= 40);
    for (size_t i = 0; i < c.n; i++)
        for (size_t at = 1; at <= c.records[i].len; at++)
            if (repetition_found(c.records[i].text, at, c.records[i].question))
                fail_msg("text %zu is taken for a loop at byte %zu: %s", i + 1, at, c.records[i].question);
    free(c.text);
}

/* ---- each kind ---- */

static char *repeated(const char *before, const char *unit, int n)
{
    struct buffer b = BUFFER_INIT;
    buffer_puts(&b, before);
    for (int i = 0; i < n; i++)
        buffer_puts(&b, unit);
    return buffer_take(&b);
}

static void assert_found(const char *before, const char *unit, int n, const char *question, bool found)
{
    char *text = repeated(before, unit, n);
    if (repetition_found(text, strlen(text), question) != found)
        fail_msg("%d x \"%s\" %s", n, unit, found ? "is not found" : "is taken for a loop");
    free(text);
}

static void a_unit_repeated_past_reason_is_a_loop(void **state)
{
    (void)state;
    static const char *const units[] = {
        "1.60 ", "Ｈ", "春天！", "and so on ", "The dog is a good dog. ", "|  |  |  |  ", "\U0001F642",
        "** ",   "x",  "０",     "A line.\n\n"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        assert_found("This begins well. ", units[i], 700, NULL, true);
        assert_found("This begins well. ", units[i], 5, NULL, false);
    }
}

static void a_loop_cut_within_its_unit_is_found_as_well(void **state)
{
    (void)state;
    char *text = repeated("So: ", "the cat sat on the mat and ", 60);
    for (size_t cut = 0; cut < 60; cut++)
        assert_true(repetition_found(text, strlen(text) - cut, NULL));
    free(text);
}

static void what_the_question_asks_for_is_no_loop_up_to_its_number(void **state)
{
    (void)state;
    static const char unit[] = "I will be on time.\n";
    assert_found("", unit, 90, NULL, true);
    assert_found("", unit, 90, "Write 'I will be on time' 100 times.", false);
    assert_found("", unit, 90, "Write 'I will be on time' one hundred times.", false);
    assert_found("", unit, 130, "Write 'I will be on time' 100 times.", true);
    assert_found("", unit, 90, "Name 100 animals.", true);
    assert_found("", "我会准时。\n", 90, "请把“我会准时”写一百遍。", false);
    assert_found("1/3 = 0.", "3", 900, "What is 1/3 to 1000 places?", false);
    assert_found("1/3 = 0.", "3", 900, "What is 1/3?", true);
}

static void code_may_repeat_itself_more(void **state)
{
    (void)state;
    assert_found("Here:\n```c\n", "    total += next(list);\n", 40, NULL, false);
    assert_found("Here:\n```c\nint x;\n```\n", "    total += next(list);\n", 40, NULL, true);
    assert_found("Here:\n```c\n", "    total += next(list);\n", 400, NULL, true);
}

static void lines_that_differ_in_their_number_alone_are_a_loop(void **state)
{
    (void)state;
    struct buffer same = BUFFER_INIT, other = BUFFER_INIT;
    for (int i = 1; i < 60; i++) {
        buffer_printf(&same, "%d. Blue-eared octopus\n", i);
        buffer_printf(&other, "%d. %d times 9 is %d\n", i, i, i * 9);
    }
    assert_true(repetition_found(same.s, same.len, "Name fish."));
    assert_false(repetition_found(same.s, same.len, "Write 'octopus' 60 times."));
    assert_false(repetition_found(other.s, other.len, "Multiples of 9?"));
    buffer_free(&same);
    buffer_free(&other);
}

static void anything_at_all_is_taken(void **state)
{
    (void)state;
    char bytes[4096];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)((x = x * 1664525 + 1013904223) >> 24);
    for (size_t len = 0; len <= sizeof bytes; len += 61)
        assert_false(repetition_found(bytes, len, ""));
    memset(bytes, '\xff', sizeof bytes);
    assert_true(repetition_found(bytes, sizeof bytes, ""));
    memset(bytes, '\0', sizeof bytes);
    assert_true(repetition_found(bytes, sizeof bytes, NULL));
    memset(bytes, '\n', sizeof bytes);
    assert_true(repetition_found(bytes, sizeof bytes, NULL));
}

static void a_look_costs_little(void **state)
{
    (void)state;
    char *text = repeated("", "one two three four five six seven, eight and nine; ", 20000); /* 1 MB */
    double start = clock_ms();
    for (int i = 0; i < 20; i++)
        repetition_found(text, strlen(text) - (size_t)i, "x");
    print_message("figure: a look at the end of 1 MB takes %.2f ms\n", (clock_ms() - start) / 20);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_loop_of_a_real_model_is_found),
        cmocka_unit_test(no_legitimate_text_is_taken_for_a_loop_wherever_it_stands),
        cmocka_unit_test(a_unit_repeated_past_reason_is_a_loop),
        cmocka_unit_test(a_loop_cut_within_its_unit_is_found_as_well),
        cmocka_unit_test(what_the_question_asks_for_is_no_loop_up_to_its_number),
        cmocka_unit_test(code_may_repeat_itself_more),
        cmocka_unit_test(lines_that_differ_in_their_number_alone_are_a_loop),
        cmocka_unit_test(anything_at_all_is_taken),
        cmocka_unit_test(a_look_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
