/* Lines break where a reader expects it, and never too late. */
#include "../../../ui/lines.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "lines_text.h"

static void expect_wrapped(const char *text, int width, bool verbatim, const char *expected)
{
    struct flow f = {0};
    struct lines l = {0};
    flow_add_raw(&f, text, strlen(text), 0);
    flow_wrap(&f, width, verbatim, "", 0, &l);
    assert_lines(&l, expected);
    assert_fits(&l, width);
    flow_free(&f);
    lines_free(&l);
}

static void english_breaks_between_words(void **state)
{
    (void)state;
    expect_wrapped("the quick brown fox", 10, false, "the quick\nbrown fox\n");
    expect_wrapped("the quick  brown", 9, false, "the quick\nbrown\n");
    expect_wrapped("well-known", 6, false, "well-\nknown\n");
}

static void chinese_punctuation_begins_no_line(void **state)
{
    (void)state;
    expect_wrapped("今天天气很好，我们去。", 12, false, "今天天气很\n好，我们去。\n");
    expect_wrapped("他说「你好」了", 6, false, "他说\n「你\n好」了\n");
    expect_wrapped("中文English混排", 8, false, "中文\nEnglish\n混排\n");
}

static void a_wide_character_does_not_straddle_the_edge(void **state)
{
    (void)state;
    expect_wrapped("一二三", 5, false, "一二\n三\n");
    expect_wrapped("😀😀😀", 3, false, "😀\n😀\n😀\n");
}

static void long_words_break_between_graphemes(void **state)
{
    (void)state;
    expect_wrapped("abcdefghij", 4, false, "abcd\nefgh\nij\n");
    expect_wrapped("e\u0301e\u0301e\u0301", 2, false, "e\u0301e\u0301\ne\u0301\n");
}

static void newlines_are_kept(void **state)
{
    (void)state;
    expect_wrapped("a\n\nb\n", 10, false, "a\n\nb\n\n");
    expect_wrapped("", 10, false, "\n");
    expect_wrapped("a\r\nb", 10, false, "a\nb\n");
}

static void spaces_hang_at_a_break(void **state)
{
    (void)state;
    expect_wrapped("abcd     efgh", 4, false, "abcd\nefgh\n");
    expect_wrapped("abcd     ", 6, false, "abcd  \n");
    expect_wrapped("  indented", 20, false, "  indented\n");
}

static void code_keeps_its_spaces(void **state)
{
    (void)state;
    expect_wrapped("if (a)   b", 8, true, "if (a)  \n b\n");
}

static void continuations_are_known(void **state)
{
    (void)state;
    struct flow f = {0};
    struct lines l = {0};
    const char *text = "aa bb中文\ncc";
    flow_add_raw(&f, text, strlen(text), 0);
    flow_wrap(&f, 5, false, "  ", 0, &l); /* margin 2, room 3 */
    assert_lines(&l, "  aa\n  bb\n  中\n  文\n  cc\n");
    const unsigned joins[] = {0, 2, 1, 1, 0}, src[] = {0, 3, 5, 8, 12};
    for (size_t i = 0; i < l.n; i++) {
        assert_int_equal(l.v[i].joins, joins[i]);
        assert_int_equal(l.v[i].src, src[i]);
        assert_int_equal(l.v[i].margin, 2);
    }
    flow_free(&f);
    lines_free(&l);
}

static void truncated_lines_can_be_built_on(void **state)
{
    (void)state;
    struct lines l = {0};
    const char *words[] = {"one", "two", "three"};
    for (int i = 0; i < 3; i++) {
        lines_put(&l, words[i], strlen(words[i]), (unsigned)i);
        lines_end(&l, 0, 0);
    }
    lines_truncate(&l, 1);
    lines_put(&l, "four", 4, STYLE_BOLD);
    lines_put(&l, "!", 1, STYLE_BOLD);
    lines_end(&l, 0, 0);
    assert_lines(&l, "one\nfour!\n");
    assert_int_equal(l.v[1].n_spans, 1);
    lines_truncate(&l, 0);
    lines_end(&l, 0, 0);
    assert_lines(&l, "\n");
    lines_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(english_breaks_between_words),
        cmocka_unit_test(chinese_punctuation_begins_no_line),
        cmocka_unit_test(a_wide_character_does_not_straddle_the_edge),
        cmocka_unit_test(long_words_break_between_graphemes),
        cmocka_unit_test(newlines_are_kept),
        cmocka_unit_test(spaces_hang_at_a_break),
        cmocka_unit_test(code_keeps_its_spaces),
        cmocka_unit_test(continuations_are_known),
        cmocka_unit_test(truncated_lines_can_be_built_on),
    };
    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
