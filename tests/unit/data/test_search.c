/* Search finds substrings in any script and case, follows every change, and never takes a query for a pattern. */
#include "store_test.h"

static void chinese_is_found_by_one_two_and_more_characters(void **state)
{
    (void)state;
    struct store *s = open_at(test_db);
    put_conversation(s, 1, 0, "");
    put_message(s, 10, 1, 0, "今天北京的天气很好，适合跑步。");
    put_message(s, 11, 1, 10, "明天上海会下雨。");
    expect_found(s, "雨", 0, 11, 0);
    expect_found(s, "天", 0, 11, 10, 0);
    expect_found(s, "天气", 0, 10, 0);
    expect_found(s, "的天气", 0, 10, 0);
    expect_found(s, "今天北京的天气很好", 0, 10, 0);
    expect_found(s, "天气 北京", 0, 10, 0);
    expect_found(s, "天气　北京的", 0, 10, 0); /* an ideographic space */
    expect_found(s, "京北", 0, 0);
    expect_found(s, "今天北京的天气很坏", 0, 0);
    expect_found(s, "🦊", 0, 0);
    close_ok(s);
}

static void emoji_and_other_scripts_are_found(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "");
    put_message(s, 10, 1, 0, "family 👩‍👩‍👧 and fox 🦊");
    put_message(s, 11, 1, 10, "Ёлка и ÉCOLE, ΣΊΣΥΦΟΣ, שלום");
    expect_found(s, "🦊", 0, 10, 0);
    expect_found(s, "👩‍👩‍👧", 0, 10, 0);
    expect_found(s, "ёлка", 0, 11, 0);
    expect_found(s, "ёл", 0, 11, 0);
    expect_found(s, "école", 0, 11, 0);
    expect_found(s, "éc", 0, 11, 0);
    expect_found(s, "שלום", 0, 11, 0);
    close_ok(s);
}

static void case_does_not_matter_and_words_may_come_in_any_order(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "");
    put_message(s, 10, 1, 0, "The Quick Brown Fox");
    expect_found(s, "quick", 0, 10, 0);
    expect_found(s, "QUICK fox", 0, 10, 0);
    expect_found(s, "fo bRO", 0, 10, 0);
    expect_found(s, "Q", 0, 10, 0);
    expect_found(s, "uic row", 0, 10, 0); /* substrings */
    expect_found(s, "quick cat", 0, 0);
    expect_found(s, "quick zz", 0, 0);
    expect_found(s, "", 0, 0);
    expect_found(s, " \t\n ", 0, 0);
    close_ok(s);
}

/* Composed letters and letters with combining marks look alike, and match alike. */
static void accents_match_however_they_are_encoded(void **state)
{
    (void)state;
    struct store *s = open_at(test_db);
    put_conversation(s, 1, 0, "Résumé");
    put_message(s, 10, 1, 0, "cafe\u0301 in Zu\u0308rich");
    put_message(s, 11, 1, 10, "café in Zürich");
    put_message(s, 12, 1, 11, "cafe in Zurich");
    put_message(s, 13, 1, 12, "\u1100\u1161\u11b7자");
    put_message(s, 14, 1, 13, "감자");
    expect_found(s, "caf\u00e9", 0, 11, 10, 0);
    expect_found(s, "cafe\u0301", 0, 11, 10, 0);
    expect_found(s, "Z\u00fcri", 0, 11, 10, 0);
    expect_found(s, "Zu\u0308ri", 0, 11, 10, 0);
    expect_found(s, "f\u00e9", 0, 11, 10, 0);  /* too short for the index */
    expect_found(s, "cafe", 0, 12, 11, 10, 0); /* a query without accents finds words with them */
    expect_found(s, "zurich", 0, 12, 11, 10, 0);
    expect_found(s, "fe", 0, 12, 11, 10, 0);
    expect_found(s, "감", 0, 14, 13, 0);
    expect_found(s, "\u1100\u1161\u11b7", 0, 14, 13, 0);
    expect_found(s, "가", 0, 0); /* another syllable */
    expect_found(s, "resume", 0, TITLE, 0);
    expect_found(s, "re\u0301sume\u0301", 0, TITLE, 0);
    close_ok(s);
    expect_sound(test_db);
}

static void case_is_folded_fully(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "");
    put_message(s, 10, 1, 0, "die Straße");
    put_message(s, 11, 1, 10, "DIE STRASSE");
    put_message(s, 12, 1, 11, "οδός");
    put_message(s, 13, 1, 12, "ΟΔΟΣ");
    put_message(s, 14, 1, 13, "İstanbul");
    put_message(s, 15, 1, 14, "istanbul");
    expect_found(s, "straße", 0, 11, 10, 0);
    expect_found(s, "strasse", 0, 11, 10, 0);
    expect_found(s, "οδος", 0, 13, 12, 0);
    expect_found(s, "ΟΔΟΣ", 0, 13, 12, 0);
    expect_found(s, "ΟΔΌΣ", 0, 12, 0);
    expect_found(s, "istanbul", 0, 15, 14, 0);
    expect_found(s, "İstanbul", 0, 14, 0);
    close_ok(s);
}

static void a_query_is_text_not_a_pattern(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "");
    put_message(s, 10, 1, 0, "100% of a_b");
    put_message(s, 11, 1, 10, "1000 of axb");
    put_message(s, 12, 1, 11, "say \"hello\" AND NOT (x* OR col:y) ^ - NEAR");
    expect_found(s, "%", 0, 10, 0);
    expect_found(s, "_", 0, 10, 0);
    expect_found(s, "0%", 0, 10, 0);
    expect_found(s, "100%", 0, 10, 0);
    expect_found(s, "a_b", 0, 10, 0);
    expect_found(s, "\"", 0, 12, 0);
    expect_found(s, "\"hello\"", 0, 12, 0);
    expect_found(s, "\"\"\"", 0, 0);
    expect_found(s, "(x* col:y)", 0, 12, 0);
    expect_found(s, "hello^", 0, 0);
    expect_found(s, "AND", 0, 12, 0);
    expect_found(s, "NOT NEAR ^", 0, 12, 0);
    expect_found(s, "*", 0, 12, 0);
    expect_found(s, "'; DROP TABLE message; --", 0, 0);
    close_ok(s);
}

static void queries_of_any_length_are_answered(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    size_t n = 40000;
    char *words = calloc(n + 2, 8), *end = words;
    for (size_t i = 0; i < n; i++)
        end += sprintf(end, "w%05zu ", i);
    put_conversation(s, 1, 0, "");
    put_message(s, 10, 1, 0, words);
    expect_found(s, words, 0, 10, 0);
    memcpy(words, "nowhe", 5);
    expect_found(s, words, 0, 0);
    char *one = calloc(n + 2, 8);
    strcpy(one, words);
    for (char *c = one; *c; c++)
        *c = *c == ' ' ? '-' : *c;
    put_message(s, 11, 1, 10, one);
    expect_found(s, one, 0, 11, 0);
    strcat(one, "nowhere");
    expect_found(s, one, 0, 0);
    free(one);
    free(words);
    close_ok(s);
}

static void one_conversation_can_be_searched_alone(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "fruit");
    put_conversation(s, 2, 0, "more fruit");
    put_message(s, 10, 1, 0, "apples and pears");
    put_message(s, 20, 2, 0, "apples and figs");
    expect_found(s, "apples", 0, 20, 10, 0);
    expect_found(s, "apples", 1, 10, 0);
    expect_found(s, "ap", 2, 20, 0);
    expect_found(s, "apples", 3, 0);
    expect_found(s, "fruit", 0, TITLE, TITLE, 0);
    expect_found(s, "more fru", 0, TITLE, 0);
    expect_found(s, "fruit", 1, 0);
    close_ok(s);
}

static void the_index_follows_every_change(void **state)
{
    (void)state;
    struct store *s = open_at(test_db);
    put_conversation(s, 1, 0, "");
    put_state(s, 10, 1, 0, STORE_STREAMING, "elephants are");
    expect_found(s, "elephant", 0, 10, 0); /* while it is being written, too */
    expect_found(s, "el", 0, 10, 0);
    put_state(s, 10, 1, 0, STORE_STREAMING, "giraffes are tall");
    expect_found(s, "elephant", 0, 0);
    expect_found(s, "giraffe", 0, 10, 0);
    put_state(s, 10, 1, 0, STORE_COMPLETE, "giraffes are very tall");
    expect_found(s, "very tall", 0, 10, 0);
    put_state(s, 10, 1, 0, STORE_COMPLETE, "zebras have stripes");
    expect_found(s, "giraffe", 0, 0);
    expect_found(s, "stripes", 0, 10, 0);
    put_state(s, 10, 1, 0, STORE_STREAMING, "zebras again");
    expect_found(s, "stripes", 0, 0);
    expect_found(s, "again", 0, 10, 0);
    put_state(s, 10, 1, 0, STORE_INTERRUPTED, "zebras again");
    expect_found(s, "zebras", 0, 10, 0);
    put_message(s, 11, 1, 10, "zebras too");
    expect_found(s, "zebras", 0, 11, 10, 0);
    store_delete(s, 1);
    expect_found(s, "zebras", 0, 0);
    expect_found(s, "ze", 0, 0);
    close_ok(s);
    expect_sound(test_db);
}

static void at_most_two_hundred_newest_are_found(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "");
    for (int i = 1; i <= 250; i++)
        put_message(s, i, 1, 0, "the same words");
    for (int i = 0; i < 2; i++) {
        store_search(s, i ? "words" : "wo", 0, 0);
        struct store_event *e = expect(s, STORE_FOUND);
        assert_int_equal(e->n, 200);
        assert_int_equal(e->hits[0].message, 250);
        assert_int_equal(e->hits[199].message, 51);
        store_event_free(e);
    }
    close_ok(s);
}

/* The excerpt of the one hit. */
static void expect_excerpt(const char *text, const char *query, const char *excerpt)
{
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "the title");
    put_message(s, 10, 1, 0, text);
    store_search(s, query, 1, 0);
    struct store_event *e = expect(s, STORE_FOUND);
    assert_int_equal(e->n, 1);
    assert_string_equal(e->hits[0].title, "the title");
    assert_int_equal(e->hits[0].conversation, 1);
    assert_string_equal(e->hits[0].excerpt, excerpt);
    store_event_free(e);
    close_ok(s);
}

static void the_excerpt_is_one_line_around_the_match(void **state)
{
    (void)state;
    char filler[301], query[] = "needle", text[1000], expected[1000];
    memset(filler, 'x', 300);
    filler[300] = '\0';
    expect_excerpt("  a\n\n\tneedle\x1b[31m in\r\nlines ", query, "a needle [31m in lines");
    snprintf(text, sizeof text, "%s%s%s", filler, "needle", filler);
    snprintf(expected, sizeof expected, "…%.24s%s%.90s…", filler, "needle", filler);
    expect_excerpt(text, query, expected);
    expect_excerpt("一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十终点", "终点",
                   "…七八九十一二三四五六七八九十一二三四五六七八九十终点");
    /* Not cut within a family. */
    expect_excerpt("ab👩‍👩‍👧12345678901234567890123needle", query,
                   "…👩‍👩‍👧12345678901234567890123needle");
    expect_excerpt("\xff天needle", "天", "\xff天needle");
    expect_excerpt("\x80\x80\x80\x80\x80\x80needle\xf0\x9f", query, "\x80\x80\x80\x80\x80\x80needle\xf0\x9f");
    expect_excerpt("\xff\xfe needle \xe4\xb8", query, "\xff\xfe needle \xe4\xb8");
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        T(chinese_is_found_by_one_two_and_more_characters),
        T(emoji_and_other_scripts_are_found),
        T(case_does_not_matter_and_words_may_come_in_any_order),
        T(accents_match_however_they_are_encoded),
        T(case_is_folded_fully),
        T(a_query_is_text_not_a_pattern),
        T(queries_of_any_length_are_answered),
        T(one_conversation_can_be_searched_alone),
        T(the_index_follows_every_change),
        T(at_most_two_hundred_newest_are_found),
        T(the_excerpt_is_one_line_around_the_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
