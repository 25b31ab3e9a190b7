/* test_word_set.c - a set of hashes finds what was put into it, and nothing else. */
#include "../../../src/word_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_was_added_is_found_and_nothing_else(void **state)
{
    (void)state;
    struct word_set set = {0};
    assert_false(word_set_has(&set, 0));
    assert_false(word_set_has(&set, 5));
    for (uint64_t i = 0; i < 5000; i++)
        assert_true(word_set_add(&set, i * i << 32));
    for (uint64_t i = 0; i < 5000; i++) {
        assert_false(word_set_add(&set, i * i << 32));
        assert_true(word_set_has(&set, i * i << 32));
        assert_false(word_set_has(&set, (i * i << 32) + 1));
    }
    word_set_free(&set);
    assert_false(word_set_has(&set, 0));
}

static void words_are_found_in_any_case_and_stems_in_most_forms(void **state)
{
    (void)state;
    struct word_set words = {0}, stems = {0};
    word_set_add_text(&words, slice_of("The linkers joined 1,500 files."));
    word_set_add_stems(&stems, slice_of("The linkers joined 1,500 files."));
    struct words query = words_of(slice_of("LINKERS linker 1500 sea"));
    static const bool there[][2] = {{true, true}, {false, true}, {true, true}, {false, false}};
    struct word word;
    for (size_t i = 0; next_word(&query, &word); i++) {
        assert_int_equal(word_set_has(&words, word.hash), there[i][0]);
        assert_int_equal(word_set_has(&stems, word_stem(&word)), there[i][1]);
    }
    word_set_free(&words);
    word_set_free(&stems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_found_and_nothing_else),
        cmocka_unit_test(words_are_found_in_any_case_and_stems_in_most_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
