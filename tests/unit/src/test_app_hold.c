/* test_app_hold.c - what is done while a conversation is loaded is meant for that one. */
#include "fake_rooms.h"

static void a_message_sent_while_a_conversation_is_opened_goes_into_it(void **state)
{
    struct app *app = *state;
    fake_ui(app, UI_OPEN, 10, "");
    expect_log("load 10\n");
    fake_send(app, "hello");
    assert_true(app_is_awaited(app));
    expect_log("");
    fake_loaded(app, fake_tag, 10, "ten");
    assert_int_equal(app->shown->id, 10);
    expect_log("show ten\nyou ten\nstore hello\nyou hello\nchinwag \ngenerate ten\n\nhello\n");
    assert_int_equal(fake_job.conversation, 10);
}

static void only_the_conversation_asked_for_last_is_shown(void **state)
{
    struct app *app = *state;
    fake_ui(app, UI_OPEN, 10, "");
    uint64_t first = fake_tag;
    fake_ui(app, UI_OPEN, 20, "");
    expect_log("load 10\nload 20\n");
    fake_loaded(app, first, 10, "ten");
    expect_log("");
    fake_loaded(app, fake_tag, 20, "twenty");
    expect_log("show twenty\nyou twenty\n");
}

static void an_error_of_another_query_does_not_end_the_open(void **state)
{
    struct app *app = *state;
    fake_ui(app, UI_SEARCH, 0, "words");
    uint64_t search = fake_tag;
    fake_ui(app, UI_LIST, 0, "");
    uint64_t list = fake_tag;
    fake_ui(app, UI_OPEN, 10, "");
    fake_send(app, "hello");
    expect_log("load 10\n");
    fake_store(app, STORE_ERROR, search, "broken index");
    fake_store(app, STORE_ERROR, 0, "a summary of nothing");
    fake_store(app, STORE_ERROR, list, "no list");
    expect_log("flash broken index\nflash a summary of nothing\nflash no list\nno list\n");
    fake_loaded(app, fake_tag, 10, "ten");
    assert_int_equal(fake_job.conversation, 10);
}

/* Deleting or renaming is dropped: it would hit the conversation that is shown still. */
static void what_was_meant_for_a_conversation_that_does_not_come_is_given_back(void **state)
{
    struct app *app = *state;
    fake_ui(app, UI_OPEN, 10, "");
    fake_send(app, "one");
    fake_ui(app, UI_RENAME, 0, "a name");
    fake_ui(app, UI_DELETE, 0, "");
    fake_send(app, "two");
    fake_store(app, STORE_ERROR, fake_tag, "cannot be read");
    expect_log("load 10\nflash cannot be read\nput back two\nput back one\n");
    assert_false(app_is_awaited(app));

    fake_ui(app, UI_OPEN, 10, "");
    fake_send(app, "one");
    fake_loaded(app, fake_tag, 0, "");
    expect_log("load 10\nflash This conversation is no longer there\nput back one\n");
}

static void what_follows_another_open_is_meant_for_that_one(void **state)
{
    struct app *app = *state;
    fake_ui(app, UI_OPEN, 10, "");
    fake_send(app, "one");
    fake_ui(app, UI_OPEN, 20, "");
    fake_send(app, "two");
    fake_store(app, STORE_ERROR, fake_tag, "cannot be read");
    expect_log("load 10\nflash cannot be read\nput back one\nload 20\n");
    fake_loaded(app, fake_tag, 20, "twenty");
    expect_log("show twenty\nyou twenty\nstore two\nyou two\nchinwag \ngenerate twenty\n\ntwo\n");
}

static void a_conversation_deleted_while_it_is_opened_is_not_shown(void **state)
{
    struct app *app = *state;
    fake_ui(app, UI_OPEN, 10, "");
    uint64_t tag = fake_tag;
    fake_send(app, "one");
    fake_ui(app, UI_DELETE, 10, "");
    expect_log("load 10\ndelete\nput back one\n");
    fake_loaded(app, tag, 10, "ten");
    expect_log("");
}

static void esc_gives_held_messages_back_once(void **state)
{
    struct app *app = *state;
    fake_ui(app, UI_OPEN, 10, "");
    fake_send(app, "one");
    fake_send(app, "two");
    fake_ui(app, UI_STOP, 0, "");
    fake_ui(app, UI_TAKE_BACK, 0, "two"); /* the next key, before the loop went on */
    app_give_back_stopped(app);
    expect_log("load 10\nput back one\n");
    fake_loaded(app, fake_tag, 10, "ten");
    expect_log("show ten\nyou ten\n");
}

static void leaving_waits_for_held_messages_unless_it_is_asked_twice(void **state)
{
    struct app *app = *state;
    fake_ui(app, UI_OPEN, 10, "");
    fake_ui(app, UI_SEND, 0, "one");
    fake_ui(app, UI_QUIT, 0, "");
    assert_false(app->quit);
    fake_loaded(app, fake_tag, 10, "ten");
    assert_true(app->quit);
    assert_non_null(strstr(fake_log.s, "store one\n"));
}

static void leaving_twice_does_not_wait(void **state)
{
    struct app *app = *state;
    fake_ui(app, UI_OPEN, 10, "");
    fake_ui(app, UI_SEND, 0, "one");
    fake_ui(app, UI_QUIT, 0, "");
    fake_ui(app, UI_QUIT, 0, "");
    assert_true(app->quit);
    app_print_held(app);
    assert_int_equal(app->exit_status, 1);
}

static void settings_do_not_wait_but_the_system_prompt_does(void **state)
{
    struct app *app = *state;
    fake_ui(app, UI_OPEN, 10, "");
    app_ui_event(app, &(struct ui_event){.type = UI_SET, .value = 0.5, .text = "temperature"});
    assert_true(settings_number(app->settings, SET_TEMPERATURE) < 0.6);
    fake_ui(app, UI_SET_TEXT, 0, "system\0Be brief.");
    assert_null(app->shown->system);
    fake_loaded(app, fake_tag, 10, "ten");
    assert_string_equal(app->shown->system, "Be brief.");
}

static void results_of_an_older_search_are_dropped(void **state)
{
    struct app *app = *state;
    fake_ui(app, UI_SEARCH, 0, "old");
    uint64_t old = fake_tag;
    fake_ui(app, UI_SEARCH, 0, "new");
    fake_store(app, STORE_FOUND, old, "old");
    expect_log("");
    assert_false(app_is_idle(app));
    fake_store(app, STORE_FOUND, fake_tag, "new");
    expect_log("found new: 0\n");
    assert_true(app_is_idle(app));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fake_test(a_message_sent_while_a_conversation_is_opened_goes_into_it),
        fake_test(only_the_conversation_asked_for_last_is_shown),
        fake_test(an_error_of_another_query_does_not_end_the_open),
        fake_test(what_was_meant_for_a_conversation_that_does_not_come_is_given_back),
        fake_test(what_follows_another_open_is_meant_for_that_one),
        fake_test(a_conversation_deleted_while_it_is_opened_is_not_shown),
        fake_test(esc_gives_held_messages_back_once),
        fake_test(leaving_waits_for_held_messages_unless_it_is_asked_twice),
        fake_test(leaving_twice_does_not_wait),
        fake_test(settings_do_not_wait_but_the_system_prompt_does),
        fake_test(results_of_an_older_search_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
