/* test_input.c - the question of -p, from the option and from standard input. */
#include "../../../src/base/buffer.h"
#include "../../../src/input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char note[256], err[256];

static void cleaned(const char *bytes, size_t n, const char *expected, const char *noted)
{
    struct buffer text = BUFFER_INIT;
    assert_true(input_clean(&text, bytes, n, "standard input", note, sizeof note, err, sizeof err));
    assert_string_equal(text.s, expected);
    assert_int_equal(text.len, strlen(expected));
    if (noted ? !strstr(note, noted) : note[0])
        fail_msg("the note is '%s', not '%s'", note, noted ? noted : "");
    buffer_free(&text);
}

static void refused(const char *bytes, size_t n, const char *why)
{
    struct buffer text = BUFFER_INIT;
    assert_false(input_clean(&text, bytes, n, "standard input", note, sizeof note, err, sizeof err));
    if (!strstr(err, why))
        fail_msg("refused with '%s', without '%s'", err, why);
    buffer_free(&text);
}

static void valid_text_is_left_alone(void **state)
{
    (void)state;
    cleaned("", 0, "", NULL);
    cleaned("caf\xc3\xa9 \xef\xbf\xbd \xf0\x9f\x98\x80", 14, "caf\xc3\xa9 \xef\xbf\xbd \xf0\x9f\x98\x80", NULL);
}

static void a_byte_order_mark_is_dropped_at_the_start_only(void **state)
{
    (void)state;
    cleaned("\xef\xbb\xbfHello", 8, "Hello", NULL);
    cleaned("\xef\xbb\xbf", 3, "", NULL);
    cleaned("a\xef\xbb\xbf", 4, "a\xef\xbb\xbf", NULL);
}

static void bytes_that_are_not_utf8_become_u_fffd_with_a_note(void **state)
{
    (void)state;
    cleaned("int x;\n// caf\xe9\nint y;\n", 22, "int x;\n// caf\xef\xbf\xbd\nint y;\n", "1 place is");
    assert_non_null(strstr(note, "line 2, byte 7"));
    cleaned("\xe9\xe9", 2, "\xef\xbf\xbd\xef\xbf\xbd", "2 places are");
    assert_non_null(strstr(note, "line 1, byte 1"));
    cleaned("cut \xe4\xbd", 6, "cut \xef\xbf\xbd", "line 1, byte 5");
    cleaned("\xc0\xaf", 2, "\xef\xbf\xbd\xef\xbf\xbd", "places");
    cleaned("\xef\xbb\xbf\n\xff", 5, "\n\xef\xbf\xbd", "line 2, byte 1");
}

static void what_is_no_text_is_refused_with_its_place(void **state)
{
    (void)state;
    refused("a\0b", 3, "NUL byte at line 1, byte 2");
    refused("one\ntwo\n\0", 9, "line 3, byte 1");
    refused("\xff\xfeh\0i\0", 6, "UTF-16");
    refused("\xfe\xff\0h\0i", 6, "iconv -f utf-16");
}

static void question_is(const char *text, const char *piped, const char *expected)
{
    char *question = input_question(text, piped);
    if (expected)
        assert_string_equal(question, expected);
    else
        assert_null(question);
    free(question);
}

static void piped_text_follows_after_a_blank_line(void **state)
{
    (void)state;
    question_is("Sum this up:", "one\ntwo\n", "Sum this up:\n\none\ntwo");
    question_is("Alone", "", "Alone");
    question_is("Alone", "\n", "Alone");
    question_is("", "only this\r\n", "only this");
    question_is("", "", NULL);
    question_is(" ", "\n \n", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_text_is_left_alone),
        cmocka_unit_test(a_byte_order_mark_is_dropped_at_the_start_only),
        cmocka_unit_test(bytes_that_are_not_utf8_become_u_fffd_with_a_note),
        cmocka_unit_test(what_is_no_text_is_refused_with_its_place),
        cmocka_unit_test(piped_text_follows_after_a_blank_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
