/* What was searched for is in view and highlighted, however narrow the line. */
#include "../../../ui/hit.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "lines_text.h"

/* expected: the line, its highlighted parts in square brackets. */
static void expect(const char *text, const char *query, int width, const char *expected)
{
    struct lines l = {0};
    char shown[512] = "";
    hit_layout(text, query, width, STYLE_DIM, &l);
    assert_int_equal(l.n, 1);
    assert_fits(&l, width);
    for (size_t i = 0; i < l.n_spans; i++) {
        const struct text_run *s = &l.spans[i];
        size_t used = strlen(shown);
        snprintf(shown + used, sizeof shown - used, s->style == STYLE_MATCH ? "[%.*s]" : "%.*s", (int)s->len,
                 l.text + s->start);
    }
    assert_string_equal(shown, expected);
    lines_free(&l);
}

static void every_word_of_the_query_is_highlighted(void **state)
{
    (void)state;
    expect("a red Fox, a RED hen", "red fox", 40, "a [red] [Fox], a [RED] hen");
    expect("rere", "re", 40, "[rere]");
    expect("nothing here", "fox", 40, "nothing here");
    expect("nothing here", "  ", 40, "nothing here");
    expect("", "fox", 40, "");
    expect("红烧肉怎么做", "肉", 40, "红烧[肉]怎么做");
    expect("foxes", "fox foxes", 40, "[foxes]");
}

static void a_long_text_is_cut_around_the_first_hit(void **state)
{
    (void)state;
    expect("the hit is early, and the rest of the line is long", "hit", 20, "the [hit] is early, a…");
    expect("…a long way from the beginning there is a hit in the line", "hit", 29, "…there is a [hit] in the line");
    expect("…a long way from the beginning there is a hit in the middle of it", "hit", 24,
           "…is a [hit] in the middle…");
    expect("at its end there is the hit", "hit", 20, "…there is the [hit]");
    expect("今天天气很好我们去公园散步公园里有很多人", "散步", 16, "…园[散步]公园里有…");
    expect("no hit is in this long line", "x", 12, "no hit is i…");
    expect("a verylongwordthatdoesnotfit at all", "verylongwordthatdoesnotfit", 10, "…[verylong]…");
    expect("abc", "abc", 1, "…");
}

static int set_locale(void **state)
{
    (void)state;
    return setlocale(LC_ALL, "C.UTF-8") ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_of_the_query_is_highlighted),
        cmocka_unit_test(a_long_text_is_cut_around_the_first_hit),
    };
    return cmocka_run_group_tests(tests, set_locale, NULL);
}
