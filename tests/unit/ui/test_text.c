/* Text is made harmless before it is drawn, and characters are what a person calls one. */
#include "../../../ui/text.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_clean(const char *raw, size_t n, const char *expected)
{
    struct cleaned c;
    text_clean(raw, n, &c);
    assert_string_equal(c.s, expected);
    assert_int_equal(c.n, strlen(expected));
    assert_int_equal(c.origin[c.n], n);
    cleaned_free(&c);
}

static void clean(const char *raw, const char *expected)
{
    expect_clean(raw, strlen(raw), expected);
}

static void controls_become_visible_and_harmless(void **state)
{
    (void)state;
    clean("\033[2J\033]52;c;aGk=\007", "␛[2J␛]52;c;aGk=␇");
    clean("a\177b", "a␡b");
    clean("\302\233"
          "31m",
          "�31m"); /* U+009B is CSI in one code point */
    expect_clean("a\0b", 3, "a␀b");
    clean("one\r\ntwo\rthree", "one\ntwo␍three");
    clean("a\xe2\x80\xa8"
          "b",
          "a\nb"); /* line separator */
}

static void invalid_utf8_becomes_a_replacement_character(void **state)
{
    (void)state;
    clean("a\xff"
          "b",
          "a�b");
    clean("\xe4\xb8", "�");     /* cut off */
    clean("\xed\xa0\x80", "�"); /* a surrogate */
    clean("\xc0\xaf/", "��/");  /* overlong */
}

static void what_terminals_disagree_on_is_dropped(void **state)
{
    (void)state;
    clean("👨‍👩‍👧", "👨👩👧"); /* ZWJ family */
    clean("❤️", "❤");               /* variation selector 16 */
    clean("👍🏽", "👍");             /* skin tone */
    clean("a\u00adb", "ab");            /* soft hyphen */
    clean("admin\u202etxt.exe", "admintxt.exe");
    clean("\ufeffa", "a");
}

static void tabs_become_spaces(void **state)
{
    (void)state;
    clean("\ta", "    a");
    clean("ab\tc", "ab  c");
    clean("中\tc", "中  c");
    clean("x\n\ty", "x\n    y");
}

static void marks_stand_on_something(void **state)
{
    (void)state;
    clean("e\u0301", "e\u0301");
    clean("\u0301", "◌\u0301");
    clean("a\n\u0301", "a\n◌\u0301");
    clean("e\u0301\u0302\u0303\u0304\u0305\u0306", "e\u0301\u0302\u0303\u0304"); /* a cell holds four */
}

static void origins_lead_back_to_the_raw_text(void **state)
{
    (void)state;
    const char *raw = "\t中\033x";
    struct cleaned c;
    text_clean(raw, strlen(raw), &c);
    assert_string_equal(c.s, "    中␛x");
    const uint32_t expected[] = {0, 0, 0, 0, 1, 1, 1, 4, 4, 4, 5, 6};
    for (size_t i = 0; i <= c.n; i++)
        assert_int_equal(c.origin[i], expected[i]);
    cleaned_free(&c);
}

static void width_counts_cells(void **state)
{
    (void)state;
    assert_int_equal(text_width("abc", 3), 3);
    assert_int_equal(text_width("中文", 6), 4);
    assert_int_equal(text_width("“é”", strlen("“é”")), 3);
    assert_int_equal(text_width("e\u0301", 3), 1);
    assert_int_equal(text_width("😀", 4), 2);
}

static void fitting_never_cuts_a_cell(void **state)
{
    (void)state;
    int used;
    assert_int_equal(text_fit("中文", 6, 3, &used), 3);
    assert_int_equal(used, 2);
    assert_int_equal(text_fit("e\u0301x", 4, 1, &used), 3);
    assert_int_equal(text_fit("中", 3, 1, &used), 0);
    char out[64];
    assert_int_equal(text_ellipsis("half-marathon", 8, out, sizeof out), 8);
    assert_string_equal(out, "half-ma…");
    assert_int_equal(text_ellipsis("中文标题", 6, out, sizeof out), 5);
    assert_string_equal(out, "中文…");
    assert_int_equal(text_ellipsis("short", 8, out, sizeof out), 5);
    assert_string_equal(out, "short");
    text_ellipsis("中文标题", 40, out, 8); /* the memory is the limit */
    assert_true(strlen(out) < 8);
}

static void a_character_is_a_grapheme(void **state)
{
    (void)state;
    const char *family = "a👨‍👩‍👧b", *flags = "🇨🇳🇩🇪", *accent = "e\u0301x";
    size_t n = strlen(family);
    assert_int_equal(text_next(family, n, 0), 1);
    assert_int_equal(text_next(family, n, 1), n - 1);
    assert_int_equal(text_prev(family, n, n - 1), 1);
    assert_int_equal(text_prev(flags, 16, 16), 8);
    assert_int_equal(text_prev(flags, 16, 8), 0);
    assert_int_equal(text_next(accent, 4, 0), 3);
    assert_int_equal(text_prev("a\nb", 3, 2), 1);
    assert_int_equal(text_next("a\nb", 3, 1), 2);
    assert_int_equal(text_prev("a", 1, 0), 0);
    assert_int_equal(text_next("a", 1, 1), 1);
}

static void words_are_found_in_both_directions(void **state)
{
    (void)state;
    const char *s = "one, two  three\nfour";
    size_t n = strlen(s);
    assert_int_equal(text_word_next(s, n, 0), 3);
    assert_int_equal(text_word_next(s, n, 3), 8);
    assert_int_equal(text_word_next(s, n, 15), 20);
    assert_int_equal(text_word_prev(s, n, n), 16);
    assert_int_equal(text_word_prev(s, n, 16), 10);
    assert_int_equal(text_word_prev(s, n, 10), 5);
    assert_int_equal(text_word_prev(s, n, 0), 0);
    assert_int_equal(text_word_prev("...", 3, 3), 0);
}

static void valid_text_is_fit_for_the_draft(void **state)
{
    (void)state;
    size_t n;
    char *s = text_valid("a\r\nb\rc\033\xff\td\0e", 12, &n);
    assert_string_equal(s, "a\nb\nc�\tde");
    assert_int_equal(n, strlen(s));
    free(s);
}

static void finding_leaves_letter_case_aside(void **state)
{
    (void)state;
    size_t start, end;
    const char *s = "Der ÄPFEL Baum, äpfel";
    size_t n = strlen(s);
    assert_true(text_find(s, n, "äpfel", 6, 0, &start, &end));
    assert_int_equal(start, 4);
    assert_int_equal(end, 10);
    assert_true(text_find(s, n, "äpfel", 6, end, &start, &end));
    assert_int_equal(end, n);
    assert_false(text_find(s, n, "äpfel", 6, end, &start, &end));
    assert_false(text_find(s, n, "", 0, 0, &start, &end));
    assert_true(text_find("ein cafe\u0301!", 11, "caf\u00e9", 5, 0, &start, &end));
    assert_int_equal(start, 4);
    assert_int_equal(end, 10); /* with its accent */
    assert_true(text_find("caf\u00e9", 5, "CAFE", 4, 0, &start, &end));
    assert_int_equal(end, 5);
    assert_false(text_find("cafe", 4, "caf\u00e9", 5, 0, &start, &end));
    assert_false(text_find("ab", 2, "abc", 3, 0, &start, &end));
}

static size_t words(const char *s)
{
    return text_words(s, strlen(s));
}

static void words_are_counted_as_word_processors_do(void **state)
{
    (void)state;
    assert_int_equal(words(""), 0);
    assert_int_equal(words(" \n - … "), 0);
    assert_int_equal(words("Don't count (well-known) 3.14\ntwice."), 5);
    assert_int_equal(words("二加二，是四。"), 5);
    assert_int_equal(words("用 C语言 写 ひらカナ　天"), 1 + 3 + 1 + 4 + 1);
    assert_int_equal(words("naïve\xff한국어 \xe4\xba"), 1);
}

static void newer_emoji_are_two_columns_wide(void **state)
{
    (void)state;
    clean("a🫨b", "a🫨b"); /* U+1FAE8, Unicode 15 */
    assert_int_equal(text_width("🫨", 4), 2);
    clean("\xf0\x9f\xab\xbf", "\xf0\x9f\xab\xbf"); /* U+1FAFF, reserved for one to come */
    clean("\xf0\xaf\xbf\xbf", "�");
    assert_int_equal(text_width("中a\xcc\x81", 6), 3);
}

static void invisible_characters_take_no_step(void **state)
{
    (void)state;
    static const char *const invisible[] = {"\u200b", "\ufeff", "\u2060", "\u202e", "\u2066", "\u200b\u2069\u200e"};
    for (size_t i = 0; i < sizeof invisible / sizeof *invisible; i++) {
        char s[64];
        size_t n = (size_t)snprintf(s, sizeof s, "a%sb", invisible[i]), gap = strlen(invisible[i]);
        assert_int_equal(text_next(s, n, 0), 1 + gap);
        assert_int_equal(text_next(s, n, 1 + gap), n);
        assert_int_equal(text_prev(s, n, n), 1 + gap);
        assert_int_equal(text_prev(s, n, 1 + gap), 0);
        n = (size_t)snprintf(s, sizeof s, "\n%sb%s\n%s", invisible[i], invisible[i], invisible[i]);
        assert_int_equal(text_next(s, n, 1), 2 + 2 * gap); /* at the beginning of a line */
        assert_int_equal(text_prev(s, n, 2 + 2 * gap), 1);
        assert_int_equal(text_next(s, n, 3 + 2 * gap), n); /* and where nothing else is */
        assert_int_equal(text_prev(s, n, n), 3 + 2 * gap);
    }
}

static void steps_in_a_very_long_line(void **state)
{
    (void)state;
    size_t n = 0, cap = 400000;
    char *s = malloc(cap);
    while (n + 64 < cap)
        n += (size_t)snprintf(s + n, cap - n, "中e\u0301👨‍👩‍👧 word ");
    static const size_t lengths[] = {3, 3, 18, 1, 1, 1, 1, 1, 1};
    size_t at = 0;
    for (size_t i = 0; at < n; i++) { /* back and forth; the same steps at every place */
        size_t next = text_next(s, n, at);
        assert_int_equal(next - at, lengths[i % 9]);
        assert_int_equal(text_prev(s, n, next), at);
        at = next;
    }
    memset(s, 'x', cap);
    assert_int_equal(text_word_next(s, cap, 5), cap);
    assert_int_equal(text_word_prev(s, cap, cap - 5), 0);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controls_become_visible_and_harmless),
        cmocka_unit_test(invalid_utf8_becomes_a_replacement_character),
        cmocka_unit_test(what_terminals_disagree_on_is_dropped),
        cmocka_unit_test(tabs_become_spaces),
        cmocka_unit_test(marks_stand_on_something),
        cmocka_unit_test(origins_lead_back_to_the_raw_text),
        cmocka_unit_test(width_counts_cells),
        cmocka_unit_test(fitting_never_cuts_a_cell),
        cmocka_unit_test(a_character_is_a_grapheme),
        cmocka_unit_test(words_are_found_in_both_directions),
        cmocka_unit_test(words_are_counted_as_word_processors_do),
        cmocka_unit_test(valid_text_is_fit_for_the_draft),
        cmocka_unit_test(finding_leaves_letter_case_aside),
        cmocka_unit_test(newer_emoji_are_two_columns_wide),
        cmocka_unit_test(invisible_characters_take_no_step),
        cmocka_unit_test(steps_in_a_very_long_line),
    };
    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
