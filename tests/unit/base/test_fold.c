/* Texts that look alike match alike: src/base/fold.h. */
#include "../../../src/base/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What of the text a term finds first; NULL: nothing. */
static const char *found(const char *term, const char *text)
{
    static char out[256];
    size_t start, end;
    struct fold_term *t = fold_term_new(term, strlen(term));
    bool is = fold_find(t, text, strlen(text), 0, &start, &end);
    fold_term_free(t);
    if (!is)
        return NULL;
    assert_true(start < end && end <= strlen(text));
    snprintf(out, sizeof out, "%.*s", (int)(end - start), text + start);
    return out;
}

static void expect_both(const char *a, const char *b)
{
    assert_string_equal(found(a, b) ? found(a, b) : "(nothing)", b);
    assert_string_equal(found(b, a) ? found(b, a) : "(nothing)", a);
}

static void canonically_equal_texts_find_each_other(void **state)
{
    (void)state;
    expect_both("caf\u00e9", "cafe\u0301");
    expect_both("Z\u00fcrich", "Zu\u0308rich");
    expect_both("\uac10", "\u1100\u1161\u11b7");
    expect_both("\u1ed9", "o\u0302\u0323"); /* two marks, in any order */
    expect_both("o\u0302\u0323", "o\u0323\u0302");
    expect_both("\u304c", "\u304b\u3099"); /* が */
    expect_both("\u8c48", "\uf900");       /* a compatibility ideograph */
    expect_both("\u212b", "\u00c5");       /* the angstrom sign */
}

static void case_is_folded_fully(void **state)
{
    (void)state;
    expect_both("STRASSE", "straße");
    expect_both("ΟΔΟΣ", "οδος");
    expect_both("ΟΔΟΣ", "οδοσ");
    expect_both("ÄPFEL", "äpfel");
    expect_both("ﬁn", "FIN");
    expect_both("ЁЛКА", "ёлка");
}

static void a_term_without_accents_finds_them_but_not_the_reverse(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"cafe", "café"}, {"muller", "Müller"},  {"istanbul", "İstanbul"},
                                           {"елка", "ёлка"}, {"οδος", "οδός"},      {"viet", "Việt"},
                                           {"שלום", "שָׁלוֹם"}, {"cafe", "CAFE\u0301"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_string_equal(found(pairs[i][0], pairs[i][1]), pairs[i][1]);
        assert_null(found(pairs[i][1], pairs[i][0]));
    }
    assert_null(found("è", "é"));
}

static void marks_that_make_another_letter_count(void **state)
{
    (void)state;
    assert_null(found("か", "が"));
    assert_null(found("か", "か\u3099"));
    assert_null(found("가", "각"));
    assert_null(found("\u1100\u1161", "각"));
    assert_string_equal(found("नमस", "नमस्ते"), "नमस"); /* a virama begins nothing new */
}

static void any_bytes_can_be_searched(void **state)
{
    (void)state;
    assert_null(found("", "text"));
    assert_null(found("x", ""));
    assert_string_equal(found("天气", "今天天气"), "天气");
    assert_string_equal(found("\xff天", "a\xff天"), "\xff天");
    assert_string_equal(found("b", "\xf0\x9f\x80"
                                   "b"),
                        "b");
    assert_string_equal(found("\u0301", "e\u0301") ? "found" : "nothing", "found"); /* a mark alone */
    size_t start, end;
    struct fold_term *t = fold_term_new("ab", 2);
    assert_true(fold_find(t, "abAB", 4, 1, &start, &end)); /* from an offset */
    assert_int_equal(start, 2);
    assert_false(fold_find(t, "abAB", 4, 9, &start, &end));
    fold_term_free(t);
}

/* What the index relies on: where a term is found in a text, its units are a substring of the text's. */
static void units_of_a_match_are_a_substring(void **state)
{
    (void)state;
    static const char *const pieces[] = {"e",      "é",  "e\u0301", "Σ",  "ς", "ß",      "ss", "감", "\u1100\u1161",
                                         "\u11b7", "か", "\u3099",  "天", "ﬁ", "\u0323", "x",  "İ",  "\xff"};
    const size_t n_pieces = sizeof pieces / sizeof *pieces;
    uint64_t random = 1;
    int matches = 0;
    for (int round = 0; round < 200000; round++) {
        char texts[2][64] = {"", ""};
        for (int k = 0; k < 2; k++)
            for (size_t i = 0, n = k ? 6 : 2; i < n; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                strcat(texts[k], pieces[(random >> 33) % n_pieces]);
            }
        if (!found(texts[0], texts[1]))
            continue;
        size_t n[2];
        char *units[] = {fold_units(texts[0], strlen(texts[0]), &n[0]),
                         fold_units(texts[1], strlen(texts[1]), &n[1])};
        if (!memmem(units[1], n[1], units[0], n[0]))
            fail_msg("\"%s\" in \"%s\"", texts[0], texts[1]);
        free(units[0]);
        free(units[1]);
        matches++;
    }
    assert_true(matches > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonically_equal_texts_find_each_other),
        cmocka_unit_test(case_is_folded_fully),
        cmocka_unit_test(a_term_without_accents_finds_them_but_not_the_reverse),
        cmocka_unit_test(marks_that_make_another_letter_count),
        cmocka_unit_test(any_bytes_can_be_searched),
        cmocka_unit_test(units_of_a_match_are_a_substring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
