/* test_resume.c - which conversation a number or a title means. */
#include "../../../src/resume.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct store_conversation list[] = {
    {.id = 1876543210001234567, .title = "Half-marathon plan"},
    {.id = 1876543210009994567, .title = "A plan for the garden"},
    {.id = 1876543210000070042, .title = "Zu\xcc\x88rich"},
    {.id = 1876543210000081999, .title = "1999"},
    {.id = 1876543210000000815, .title = "Why is the\n sea  salty?"},
    {.id = 1876543210000005678, .title = "plan"},
    {.id = 1876543210000007777, .title = "twin"},
    {.id = 1876543210000008888, .title = "twin"},
    {.id = 77, .title = "old plan"},
};
enum { N = sizeof list / sizeof *list };
static char err[512];

static void means(const char *text, size_t i)
{
    store_id id = resume_choose(text, list, N, err, sizeof err);
    if (id != list[i].id)
        fail_msg("'%s' means %lld: %s", text, (long long)id, err);
}

static void means_none(const char *text, const char *why)
{
    err[0] = '\0';
    assert_true(resume_choose(text, list, N, err, sizeof err) == 0);
    if (!strstr(err, why))
        fail_msg("'%s': '%s' lacks '%s'", text, err, why);
}

static void numbers_are_short_and_tell_all_apart(void **state)
{
    (void)state;
    char numbers[N][RESUME_NUMBER_MAX];
    resume_numbers(list, N, numbers);
    static const char *const expected[N] = {"34567", "94567", "0042", "1999", "0815", "5678", "7777", "8888", "77"};
    for (size_t i = 0; i < N; i++)
        assert_string_equal(numbers[i], expected[i]);
}

static void every_number_and_id_is_taken_back(void **state)
{
    (void)state;
    char numbers[N][RESUME_NUMBER_MAX], id[32];
    resume_numbers(list, N, numbers);
    for (size_t i = 0; i < N; i++) {
        means(numbers[i], i);
        snprintf(id, sizeof id, "%lld", (long long)list[i].id);
        means(id, i);
    }
}

static void a_number_stays_valid_when_others_come(void **state)
{
    (void)state;
    char numbers[N][RESUME_NUMBER_MAX];
    for (size_t n = 1; n <= N; n++) {
        resume_numbers(list, n, numbers);
        for (size_t i = 0; i < n; i++) /* ambiguous, or still this one */
            if (resume_choose(numbers[i], list, N, err, sizeof err) != list[i].id)
                assert_non_null(strstr(err, "could be 2"));
    }
}

static void a_title_or_a_part_of_it_in_any_case(void **state)
{
    (void)state;
    means("Half-marathon plan", 0);
    means("HALF", 0);
    means("z\xc3\xbcrich", 2);
    means("garden", 1);
    means("why is the sea salty?", 4);
    means("Why is the…", 4);
    means("plan", 5);
}

static void several_are_named(void **state)
{
    (void)state;
    means_none("twin", "'twin' could be 2 conversations: 7777 twin; 8888 twin");
    means_none("la", "34567 Half-marathon plan; 94567 A plan for the garden; 5678 plan");
    means_none("4567", "could be 2 conversations: 34567 Half-marathon plan; 94567 A plan");
    means_none("n", "8888 twin; and 1 more");
}

static void none_is_said(void **state)
{
    (void)state;
    means_none("98", "there is no conversation 98");
    means_none("567", "there is no conversation 567");
    means_none("tomato", "there is no conversation 'tomato'");
    means_none("", "there is no conversation ''");
    assert_true(resume_choose("x", NULL, 0, err, sizeof err) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_short_and_tell_all_apart),
        cmocka_unit_test(every_number_and_id_is_taken_back),
        cmocka_unit_test(a_number_stays_valid_when_others_come),
        cmocka_unit_test(a_title_or_a_part_of_it_in_any_case),
        cmocka_unit_test(several_are_named),
        cmocka_unit_test(none_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
