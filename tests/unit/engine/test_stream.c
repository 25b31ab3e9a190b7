/* test_stream.c - tokens split characters anywhere; what is handed out is whole, valid UTF-8. */
#include "../../../engine/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Streams the n bytes in pieces of at most `step`. */
static char *stream(const char *bytes, size_t n, size_t step, int *held)
{
    struct engine_stream s = {0};
    char *out = calloc(1, 3 * n + 9);
    size_t at = 0;
    for (size_t i = 0; i < n; i += step)
        at += utf8_stream(&s, bytes + i, n - i < step ? n - i : step, out + at, 3 * n + 9 - at);
    *held = s.n_held;
    return out;
}

static void assert_streams(const char *bytes, size_t n, const char *expected, int expected_held)
{
    for (size_t step = 1; step <= n; step++) {
        int held;
        char *out = stream(bytes, n, step, &held);
        assert_string_equal(out, expected);
        assert_int_equal(held, expected_held);
        free(out);
    }
}

static void whole_characters_come_out_whatever_the_pieces(void **state)
{
    (void)state;
    static const char text[] = "aé漢🦙 e\xCC\x81 \x7f";
    assert_streams(text, sizeof text - 1, text, 0);
}

static void the_start_of_a_character_is_held_back(void **state)
{
    (void)state;
    assert_streams("a\xF0\x9F\xA6", 4, "a", 3);
    assert_streams("\xE6\xBC", 2, "", 2);
    assert_streams("\xC3", 1, "", 1);
}

static void invalid_bytes_become_replacement_characters(void **state)
{
    (void)state;
    assert_streams("a\x80z", 3, "a\uFFFDz", 0);
    assert_streams("\xC0\xAFx", 3, "\uFFFD\uFFFDx", 0);                     /* overlong */
    assert_streams("\xED\xA0\x80x", 4, "\uFFFD\uFFFD\uFFFDx", 0);           /* a surrogate */
    assert_streams("\xF4\x90\x80\x80x", 5, "\uFFFD\uFFFD\uFFFD\uFFFDx", 0); /* beyond U+10FFFF */
    assert_streams("\xF5\xFFx", 3, "\uFFFD\uFFFDx", 0);
    assert_streams("\xE6\xBCx", 3, "\uFFFDx", 0); /* one for the maximal subpart */
    assert_streams("\xF0\x9F\xA6\xF0\x9F\xA6\x99", 7, "\uFFFD🦙", 0);
    assert_streams("\xE6\xBC\xE6\xBC\xA2", 5, "\uFFFD漢", 0);
}

static void too_little_room_never_overflows(void **state)
{
    (void)state;
    struct engine_stream s = {0};
    char out[8];
    memset(out, 'x', sizeof out);
    assert_int_equal(utf8_stream(&s, "漢漢漢", 9, out, 7), 6);
    assert_string_equal(out, "漢漢");
    assert_int_equal(out[7], 'x');
}

static void code_points_survive_the_round_trip(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        char bytes[4];
        size_t len;
        if (cp >= 0xD800 && cp <= 0xDFFF)
            continue;
        size_t n = utf8_encode(cp, bytes);
        if (utf8_next((unsigned char *)bytes, n, &len) != cp || len != n)
            fail_msg("U+%04X", (unsigned)cp);
    }
}

static void repair_replaces_what_is_unfinished_too(void **state)
{
    (void)state;
    size_t n;
    char *text = utf8_repair("ok \xE6\xBC", 5, &n);
    assert_string_equal(text, "ok \uFFFD");
    assert_int_equal(n, 6);
    free(text);
    assert_false(utf8_is_valid("ok \xE6\xBC", 5));
    assert_true(utf8_is_valid("a\0漢", 5));
}

static void what_is_shown_is_one_line_without_commands(void **state)
{
    (void)state;
    char out[16];
    assert_int_equal(utf8_clean("a\x1b[m\n\x7f\xC2\x9B\xC2\xA0\x9B漢", 14, out, sizeof out), 14);
    assert_string_equal(out, "a [m   \u00A0\uFFFD漢");
    for (size_t cap = 1; cap <= 7; cap++) { /* cut at a character */
        size_t shown = cap < 4 ? 0 : cap < 7 ? 3 : 6;
        memset(out, 'x', sizeof out);
        assert_int_equal(utf8_clean("漢漢", 6, out, cap), shown);
        assert_int_equal(strlen(out), shown);
        assert_memory_equal(out, "漢漢", shown);
        assert_int_equal(out[cap], 'x');
    }
    assert_int_equal(utf8_clean("a\0b", 3, out, sizeof out), 3);
    assert_string_equal(out, "a b");
    assert_int_equal(utf8_clean("", 0, out, sizeof out), 0);
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_characters_come_out_whatever_the_pieces),
        cmocka_unit_test(the_start_of_a_character_is_held_back),
        cmocka_unit_test(invalid_bytes_become_replacement_characters),
        cmocka_unit_test(too_little_room_never_overflows),
        cmocka_unit_test(code_points_survive_the_round_trip),
        cmocka_unit_test(repair_replaces_what_is_unfinished_too),
        cmocka_unit_test(what_is_shown_is_one_line_without_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
