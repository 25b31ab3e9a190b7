/* Markdown reads well as lines, whole and while it grows; nothing in it reaches the terminal as a command. */
#include "../../../ui/markdown.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../../src/base/buffer.h"
#include "../../../ui/transcript.h"
#include "lines_text.h"

static struct lines laid_out(const char *text, int width)
{
    struct markdown_options options = {.width = width};
    struct lines l = {0};
    markdown_layout(text, 0, strlen(text), &options, &l);
    return l;
}

static void expect(const char *text, int width, const char *expected)
{
    struct lines l = laid_out(text, width);
    assert_lines(&l, expected);
    assert_fits(&l, width);
    lines_free(&l);
}

static void paragraphs_and_line_ends_are_kept(void **state)
{
    (void)state;
    expect("One.\nTwo.\n\nThree.", 20, "One.\nTwo.\n\nThree.\n");
    expect("", 20, "");
    expect("a longer paragraph", 10, "a longer\nparagraph\n");
}

static void spans_have_their_styles(void **state)
{
    (void)state;
    struct lines l = laid_out("plain **bold** *slanted* `code` ~~gone~~ ***both***\n\n# Title", 80);
    assert_lines(&l, "plain bold slanted code gone both\n\nTitle\n");
    assert_int_equal(style_of(&l, "plain"), 0);
    assert_int_equal(style_of(&l, "bold"), STYLE_BOLD);
    assert_int_equal(style_of(&l, "slanted"), STYLE_ITALIC);
    assert_int_equal(style_of(&l, "code"), STYLE_CODE);
    assert_int_equal(style_of(&l, "gone"), STYLE_STRIKE);
    assert_int_equal(style_of(&l, "both"), STYLE_BOLD | STYLE_ITALIC);
    assert_int_equal(style_of(&l, "Title"), STYLE_BOLD | STYLE_HEADING);
    lines_free(&l);
}

static void the_end_of_a_span_restores_the_style_around_it(void **state)
{
    (void)state;
    struct lines l = laid_out("# one `two` three\n\n*four ![five](x) six* [`seven` eight](x)\n\n~~nine ~ten~ 11~~ "
                              "~**12** 13~",
                              80);
    assert_int_equal(style_of(&l, "three"), STYLE_BOLD | STYLE_HEADING);
    assert_int_equal(style_of(&l, "six"), STYLE_ITALIC);
    assert_int_equal(style_of(&l, "eight"), STYLE_UNDERLINE);
    assert_int_equal(style_of(&l, "11"), STYLE_STRIKE);
    assert_int_equal(style_of(&l, "13"), 0);
    lines_free(&l);
}

/* Ranges are written so, in Chinese above all; two tildes on each side strike text through. */
static void a_single_tilde_is_text(void **state)
{
    (void)state;
    expect("5~7 days, 8~9 km", 60, "5~7 days, 8~9 km\n");
    expect("需要3~5分钟，约~100~元", 60, "需要3~5分钟，约~100~元\n");
    expect("~**a** `b`~ **~c~** ~", 60, "~a b~ ~c~ ~\n");
    expect("~![](a)~ b", 60, " (a) b\n"); /* nothing in it to be struck through */
    struct lines l = laid_out("~~a ~b~ c~~ 1~2~ ~~`d`~~ **~~e~~**", 80);
    assert_lines(&l, "a ~b~ c 1~2~ d e\n");
    assert_int_equal(style_of(&l, "a "), STYLE_STRIKE);
    assert_int_equal(style_of(&l, "1~2~"), 0);
    assert_int_equal(style_of(&l, "d"), STYLE_STRIKE | STYLE_CODE);
    assert_int_equal(style_of(&l, "e"), STYLE_STRIKE | STYLE_BOLD);
    lines_free(&l);
}

static void formulas_are_shown_as_they_came(void **state)
{
    (void)state;
    static const char text[] = "For all $\\forall\\,\\varepsilon$ \\[ a_{1}*b_{1} \\le \\frac{a}{b} \\] and "
                               "\\(x_i * y_i * z\\); *it* costs $5 and $10.";
    struct lines l = laid_out(text, 200);
    assert_lines(&l, "For all $\\forall\\,\\varepsilon$ \\[ a_{1}*b_{1} \\le \\frac{a}{b} \\] and "
                     "\\(x_i * y_i * z\\); it costs $5 and $10.\n");
    assert_int_equal(style_of(&l, "b_{1}"), 0);
    assert_int_equal(style_of(&l, "y_i"), 0);
    assert_int_equal(style_of(&l, "it"), STYLE_ITALIC);
    lines_free(&l);
    expect("$$\na\n---\n- b \\\\\n# c | d\n$$", 20, "$$\na\n---\n- b \\\\\n# c | d\n$$\n");
    expect("> \\[\n> x_1 > y_1\n> \\]", 20, "▎ \\[\n▎ x_1 > y_1\n▎ \\]\n");
    expect("| a | b |\n|---|---|\n| $|x|$ | *c* |", 20, "a     │ b\n──────┼──\n$|x|$ │ c\n");
    expect("```\n$a\\_b$ \\[\n```", 20, "  $a\\_b$ \\[\n");
    expect("`\\(a\\)` **$x_1$** [$y$](z)", 40, "\\(a\\) $x_1$ $y$ (z)\n");
    /* While it is being written, too. */
    for (size_t n = strlen("For all $\\forall"); n < strlen(text); n++) {
        struct markdown_options options = {.width = 200};
        struct lines part = {0};
        markdown_layout(text, 0, n, &options, &part);
        size_t shown = part.v[0].len;
        while (shown && part.text[shown - 1] == ' ')
            shown--;
        if (n < strlen(text) - strlen("*it* costs $5 and $10."))
            assert_memory_equal(part.text, text, shown);
        lines_free(&part);
    }
}

static void lists_hang(void **state)
{
    (void)state;
    expect("- one two three\n- four\n  - five six seven\n", 12,
           "• one two\n  three\n• four\n  • five six\n    seven\n");
    expect("9. nine\n10. ten", 20, "9. nine\n10. ten\n");
    expect("- [x] done\n- [ ] open", 20, "[x] done\n[ ] open\n");
    expect("1. [x] done now\n2. [ ] open\n3. c", 13, "1. [x] done\n       now\n2. [ ] open\n3. c\n");
    expect("- a\n\n- b", 20, "• a\n\n• b\n");
    expect("- a\n\n  more\n- b", 20, "• a\n\n  more\n\n• b\n");
    expect("-\n- b", 20, "• \n• b\n");
    expect("before\n- a\n\nafter", 20, "before\n\n• a\n\nafter\n");
    expect("1. a\n   ```\n   x\n   ```\n2. b", 20, "1. a\n     x\n2. b\n");
}

/* Deeper than is drawn, then back to a level that is. */
static void levels_too_deep_to_be_drawn_leave_the_others_where_they_are(void **state)
{
    (void)state;
    struct buffer text = {0}, expected = {0};
    for (int i = 0; i < 20; i++) {
        int indent = 2 * (i < 16 ? i : 16);
        buffer_printf(&text, "%*s- %c\n", 2 * i, "", 'a' + i);
        buffer_printf(&expected, "%*s%s%c\n", indent, "", i < 16 ? "• " : "", 'a' + i);
    }
    buffer_printf(&text, "%*s- back\n- first\n", 2 * 10, "");
    buffer_printf(&expected, "%*s• back\n• first\n", 2 * 10, "");
    expect(text.s, 80, expected.s);
    buffer_free(&text);
    buffer_free(&expected);

    expect(">>>>>>>>>>>>>>>>>>>> a\n\nb", 80, "▎ ▎ ▎ ▎ ▎ ▎ ▎ ▎ ▎ ▎ ▎ ▎ ▎ ▎ ▎ ▎ a\n\nb\n");
}

static void quotes_have_a_bar(void **state)
{
    (void)state;
    expect("> wise words here\n>\n> more", 12, "▎ wise words\n▎ here\n▎ \n▎ more\n");
    expect("> - a\n> - b", 12, "▎ • a\n▎ • b\n");
}

static void code_is_verbatim(void **state)
{
    (void)state;
    expect("```c\nint  main(void)\n\n{ **x** }\n```\nafter", 40, "  int  main(void)\n  \n  { **x** }\n\nafter\n");
    expect("```\n```", 40, "  \n");
    expect("    not code", 40, "not code\n");
}

static void an_open_fence_is_shown(void **state)
{
    (void)state;
    expect("```c\nint x;", 40, "  int x;\n");
    expect("```c\nint x;\nint", 40, "  int x;\n  int\n");
}

static void tables_line_up(void **state)
{
    (void)state;
    expect("| week | long run |\n|---|--:|\n| 1 | 9 km |\n| 10 | 中文 |", 40,
           "week │ long run\n"
           "─────┼─────────\n"
           "1    │     9 km\n"
           "10   │     中文\n");
    expect("|a|b|\n|:-:|---|\n|xxxxx|y|\n|z|", 40, "  a   │ b\n──────┼──\nxxxxx │ y\n  z   │ \n");
}

static void a_wide_table_wraps_its_cells(void **state)
{
    (void)state;
    expect("| name | text |\n|---|---|\n| a | one two three four |", 20,
           "name │ text\n"
           "─────┼──────────────\n"
           "a    │ one two three\n"
           "     │ four\n");
    struct lines l = laid_out("|a|b|c|\n|-|-|-|\n|一二三四五六七八|一二三四五六七八|一二三四五六七八|", 24);
    assert_fits(&l, 24);
    lines_free(&l);
}

static void links_show_where_they_lead(void **state)
{
    (void)state;
    expect("see [this](https://example.org/x)", 60, "see this (https://example.org/x)\n");
    expect("[![logo](a.png)](https://x.org/y) b", 60, "logo (a.png) (https://x.org/y) b\n");
    expect("![a [b](c) d](e) f", 60, "a b (c) d (e) f\n");
    expect("<https://example.org>", 60, "https://example.org\n");
    expect("at https://example.org now", 60, "at https://example.org now\n");
    expect("at https://example.org/a_b/c~d?q=%20&r=1#top now", 20,
           "at https://example.\norg/a_b/c~d?\nq=%20&r=1#top now\n"); /* not a character is lost */
    expect("![a cat](cat.png)", 60, "a cat (cat.png)\n");
}

static void rules_fill_the_width(void **state)
{
    (void)state;
    expect("a\n\n---\n\nb", 4, "a\n\n────\n\nb\n");
}

static void html_is_text(void **state)
{
    (void)state;
    expect("<b>x</b> <script>", 40, "<b>x</b> <script>\n");
    expect("<div>\nhi\n</div>", 40, "<div>\nhi\n</div>\n");
}

static void entities_cannot_smuggle_controls(void **state)
{
    (void)state;
    expect("a &amp; b &lt; &#65; &#x4e2d; &unknown;", 60, "a & b < A 中 &unknown;\n");
    expect("&#27;[2J &#x9b;31m &#0; &#x202e;x", 60, "␛[2J �31m ␀ x\n");
    expect("\033]0;owned\007", 60, "␛]0;owned␇\n");
    expect("`\033[31m`", 60, "␛[31m\n");
    expect("[x](\033]8;;evil)", 60, "x (␛]8;;evil)\n");
}

static void screen_readers_get_no_boxes(void **state)
{
    (void)state;
    struct markdown_options options = {.width = 40, .ascii = true};
    struct lines l = {0};
    const char *text = "- a\n\n> q\n\n|x|y|\n|-|-|\n|1|2|\n\n---";
    markdown_layout(text, 0, strlen(text), &options, &l);
    for (size_t i = 0; i < l.n_text; i++)
        assert_true((unsigned char)l.text[i] < 128);
    lines_free(&l);
}

static void lines_know_their_source(void **state)
{
    (void)state;
    const char *text = "# One\n\nTwo three four\n\n```\ncode\n```\n\n|a|b|\n|-|-|\n|cell|c|";
    struct lines l = laid_out(text, 10);
    uint32_t last = 0;
    for (size_t i = 0; i < l.n; i++) {
        assert_true(l.v[i].src >= last && l.v[i].src <= strlen(text));
        last = l.v[i].src;
    }
    assert_int_equal(l.v[2].src, strstr(text, "Two") - text);
    assert_int_equal(l.v[3].src, strstr(text, "four") - text);
    assert_int_equal(l.v[5].src, strstr(text, "code") - text);
    lines_free(&l);
}

static void blocks_close_where_nothing_can_change_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t closed;
    } cases[] = {
        {"one", 0},
        {"one\n\ntwo", 0}, /* the line is not whole: it may become a list item */
        {"one\n\ntwo\n", 5},
        {"- a\n\n- b\n", 0}, /* one list */
        {"- a\n\n  more\n", 0},
        {"- a\n\nafter\n", 5},
        {"1. a\n\n2. b\n", 0},
        {"```\n\nx\n\ny\n", 0}, /* within the fence */
        {"```\nx\n```\n\nafter\n", 11},
        {"~~~\n```\n\nx\n", 0},
        {"`a` ```b``` c\n\nx\n", 15}, /* no fence */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(markdown_closed(cases[i].text, strlen(cases[i].text), 0), cases[i].closed);
}

/* An answer that grows a byte at a time ends up laid out exactly as one given whole. */
static void growing_equals_whole(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "# Plan\n\nFirst **bold** words.\nSecond line.\n\n- a\n- b\n\n  more b\n\n- c\n\nAfter.\n\n1. x\n2. "
        "y\n\nEnd.",
        "Code:\n\n```c\nint a;\n\nint b;\n```\n\nThen a table\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nand text.\n",
        "> quote\n\n> another\n\n---\n\n今天天气很好，我们去公园。\n\n```\nopen fence\n\nstill open",
        "para\n\n## Heading\ntext right after\n\n\n\nmuch space\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct transcript whole, grown;
        transcript_init(&whole);
        transcript_init(&grown);
        transcript_resize(&whole, 30, 50);
        transcript_resize(&grown, 30, 50);
        transcript_add(&whole, 1, UI_MODEL_ANSWER, texts[i], strlen(texts[i]), 0);
        transcript_add(&grown, 1, UI_MODEL_ANSWER, "", 0, 0);
        struct row rows[50];
        for (const char *c = texts[i]; *c; c++) {
            transcript_append(&grown, 1, c, 1);
            if (((unsigned char)c[1] & 0xc0) != 0x80)
                transcript_view(&grown, rows);
        }
        assert_true(i == 2 || grown.v[0].closed > 0);
        transcript_view(&whole, rows);
        char *expected = lines_text(&whole.v[0].lines);
        assert_lines(&grown.v[0].lines, expected);
        transcript_finish(&grown, 1, NULL);
        transcript_view(&grown, rows);
        assert_lines(&grown.v[0].lines, expected);
        free(expected);
        transcript_free(&whole);
        transcript_free(&grown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paragraphs_and_line_ends_are_kept),
        cmocka_unit_test(spans_have_their_styles),
        cmocka_unit_test(the_end_of_a_span_restores_the_style_around_it),
        cmocka_unit_test(a_single_tilde_is_text),
        cmocka_unit_test(formulas_are_shown_as_they_came),
        cmocka_unit_test(lists_hang),
        cmocka_unit_test(levels_too_deep_to_be_drawn_leave_the_others_where_they_are),
        cmocka_unit_test(quotes_have_a_bar),
        cmocka_unit_test(code_is_verbatim),
        cmocka_unit_test(an_open_fence_is_shown),
        cmocka_unit_test(tables_line_up),
        cmocka_unit_test(a_wide_table_wraps_its_cells),
        cmocka_unit_test(links_show_where_they_lead),
        cmocka_unit_test(rules_fill_the_width),
        cmocka_unit_test(html_is_text),
        cmocka_unit_test(entities_cannot_smuggle_controls),
        cmocka_unit_test(screen_readers_get_no_boxes),
        cmocka_unit_test(lines_know_their_source),
        cmocka_unit_test(blocks_close_where_nothing_can_change_them),
        cmocka_unit_test(growing_equals_whole),
    };
    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
