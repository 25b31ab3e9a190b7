/* test_outbox.c - messages that wait come out in order, or back to be edited. */
#include "../../../src/outbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_and_free(char *text, const char *expected)
{
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void messages_come_out_in_the_order_they_went_in(void **state)
{
    (void)state;
    struct outbox o = {0};
    char text[] = "one";
    outbox_add(&o, text);
    text[0] = 'x'; /* it was copied */
    outbox_add(&o, "two\nlines");
    expect_and_free(outbox_take_first(&o), "one");
    outbox_add(&o, "");
    expect_and_free(outbox_take_first(&o), "two\nlines");
    expect_and_free(outbox_take_first(&o), "");
    assert_null(outbox_take_first(&o));
    outbox_free(&o);
}

static void the_newest_of_equal_messages_is_taken_back(void **state)
{
    (void)state;
    struct outbox o = {0};
    assert_null(outbox_take_last(&o, "again"));
    outbox_add(&o, "again");
    outbox_add(&o, "other");
    outbox_add(&o, "again");
    assert_null(outbox_take_last(&o, "agai"));
    expect_and_free(outbox_take_last(&o, "again"), "again");
    assert_int_equal(o.n, 2);
    assert_string_equal(o.texts[0], "again");
    assert_string_equal(o.texts[1], "other");
    outbox_free(&o);
    assert_int_equal(o.n, 0);
    assert_null(outbox_take_first(&o));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_out_in_the_order_they_went_in),
        cmocka_unit_test(the_newest_of_equal_messages_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
