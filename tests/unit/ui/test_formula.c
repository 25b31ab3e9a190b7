/* Which parts of a text are formulas: what hides them from the Markdown parser covers their punctuation with x. */
#include "../../../ui/formula.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, const char *hidden)
{
    size_t n = strlen(text);
    char *s = malloc(n + 1);
    memcpy(s, text, n + 1);
    formula_hide(s, n);
    assert_string_equal(s, hidden);
    free(s);
}

static void same(const char *text)
{
    expect(text, text);
}

static void each_kind_of_mark_is_known(void **state)
{
    (void)state;
    expect("a $x_1*y_1$ b", "a xxx1xyx1x b");
    expect("$$a_b$$ *c*", "xxaxbxx *c*");
    expect("\\(a_b\\) \\[c*d\\]", "xxaxbxx xxcxdxx");
    expect("\\begin{a}b\\\\c_d\\end{a}_", "xbeginxaxbxxcxdxendxax_");
    expect("**$x$**和$y_1$是", "**xxx**和xyx1x是");
    expect("$a\\$b_$", "xaxxbxx");
    expect("\\[\na &= b \\\\\n- c\n\\]\n*d*", "xx\na xx b xx\nx c\nxx\n*d*");
    expect("| $|x|$ |", "| xxxxx |");
}

static void prices_and_shell_words_are_prose(void **state)
{
    (void)state;
    same("it costs $5 and $10.");
    same("$5, *or* $6/month");
    same("|$5|*$6*|");
    same("US$5_a_ or US$6");
    same("set $A=$B_, $HOME and $PATH *x*");
    same("a $ b_ $ c");
    expect("$5 or $x_1$", "$5 or xxx1x");
    same("$5 and\n*10*$");
    same("\\$5_a$ \\\\(a_b\\\\)");
}

static void code_and_empty_lines_end_it(void **state)
{
    (void)state;
    same("`$x_` and `$y_`");
    same("$$ a\n\n*b* $c");
    same("\\[ a\n```\n*b*\n```\n\\]c");
    same("$$ a\n~~~\n*b*\n~~~\n$$\n\nc");
    same("> \\[ a\n>\n> *b* \\]c");
    expect("\\[\n\na_b\n\n\\]\n", "xx\n\na_b\n\nxx\n");
}

static void one_in_a_quote_leaves_the_quote_marks(void **state)
{
    (void)state;
    expect("> $$\n> a > b\n> $$", "> xx\n> a x b\n> xx");
    expect("\\[ a\n> b \\]", "xx a\nx b xx");
}

static void one_that_is_being_written_is_hidden_as_far_as_it_goes(void **state)
{
    (void)state;
    expect("so \\[ a_{1}*b", "so xx axx1xxb");
    expect("so \\(a_", "so xxax");
    expect("so $\\frac{a", "so xxfracxa");
    expect("so $$\\", "so xxx");
    expect("so \\[", "so xx");
    expect("\\begin{a} b_", "xbeginxax bx");
    same("it costs $5 *or*");
    same("it costs $");
    same("\\");
    same("$");
    expect("$$", "xx");
}

/* A scan that searched to the end for every mark would take minutes here. */
static void a_long_text_of_marks_takes_one_pass(void **state)
{
    (void)state;
    static const char *const marks[] = {"\\[", "\\(", "$$ ", "$a ", "$a$ ", "\\begin{a}"};
    enum { TIMES = 200000 };
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
        size_t n = strlen(marks[k]);
        char *s = malloc(TIMES * n + 16);
        for (size_t i = 0; i < TIMES; i++)
            memcpy(s + i * n, marks[k], n);
        memcpy(s + TIMES * n, "\n\nend", 6);
        formula_hide(s, TIMES * n + 5);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_mark_is_known),
        cmocka_unit_test(prices_and_shell_words_are_prose),
        cmocka_unit_test(code_and_empty_lines_end_it),
        cmocka_unit_test(one_in_a_quote_leaves_the_quote_marks),
        cmocka_unit_test(one_that_is_being_written_is_hidden_as_far_as_it_goes),
        cmocka_unit_test(a_long_text_of_marks_takes_one_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
