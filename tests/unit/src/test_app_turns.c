/* test_app_turns.c - questions are answered one after the other, in the conversation they were asked in. */
#include "fake_rooms.h"

static void messages_wait_until_the_answer_before_them_has_ended(void **state)
{
    struct app *app = *state;
    fake_send(app, "one");
    expect_log("store one\nyou one\ntitle one\nchinwag \ngenerate one\n");
    fake_send(app, "two");
    fake_send(app, "three");
    expect_log("");
    assert_int_equal(app->shown->outbox.n, 2);
    fake_done(app);
    expect_log("append answer\nstore two\nyou two\nchinwag \ngenerate two\n");
    fake_done(app);
    expect_log("append answer\nstore three\nyou three\nchinwag \ngenerate three\n");
    fake_done(app);
    expect_log("append answer\n");
    assert_int_equal(app->shown->n, 6);
    assert_false(app_is_awaited(app));
    assert_true(app_is_idle(app));
}

static void a_waiting_message_stays_with_its_conversation(void **state)
{
    struct app *app = *state;
    store_id first = app->shown->id;
    fake_send(app, "one");
    fake_send(app, "two");
    fake_ui(app, UI_NEW, 0, "");
    assert_false(app_is_awaited(app));
    buffer_clear(&fake_log);
    fake_done(app);
    expect_log("store two\ngenerate two\n");
    assert_int_equal(fake_job.conversation, first);
    fake_done(app);
    expect_log("notice “one” has been answered: F2 opens it.\n");
}

static void conversations_take_turns(void **state)
{
    struct app *app = *state;
    fake_send(app, "a1");
    fake_send(app, "a2");
    fake_ui(app, UI_NEW, 0, "");
    buffer_clear(&fake_log);
    fake_send(app, "b1");
    expect_log("store b1\nyou b1\ntitle b1\nflash An answer in another conversation is being finished first; Esc "
               "stops it\n");
    fake_done(app);
    expect_log("store a2\nchinwag \ngenerate b1\n");
    fake_done(app);
    expect_log("append answer\ngenerate a2\n");
}

static void esc_before_the_answer_begins_gives_back_what_waits_behind_it(void **state)
{
    struct app *app = *state;
    app->model = APP_MODEL_LOADING;
    fake_send(app, "one");
    fake_send(app, "two");
    fake_send(app, "three");
    expect_log("store one\nyou one\ntitle one\n");
    fake_ui(app, UI_STOP, 0, "");
    fake_ui(app, UI_TAKE_BACK, 0, "three"); /* the next key, before the loop went on */
    app_give_back_stopped(app);
    expect_log("stop\nflash Not answered; /regenerate asks again\nput back two\n");
    app->n_loads = 1;
    app_worker_event(app, &(struct worker_event){.type = WORKER_LOADED});
    expect_log("");
    fake_ui(app, UI_REGENERATE, 0, "");
    expect_log("chinwag \ngenerate one\n");
}

static void esc_in_one_conversation_leaves_the_others_questions(void **state)
{
    struct app *app = *state;
    app->model = APP_MODEL_LOADING;
    fake_send(app, "one");
    fake_ui(app, UI_NEW, 0, "");
    fake_send(app, "two");
    buffer_clear(&fake_log);
    fake_ui(app, UI_STOP, 0, "");
    app_give_back_stopped(app);
    expect_log("stop\nflash Not answered; /regenerate asks again\n");
    app->n_loads = 1;
    app_worker_event(app, &(struct worker_event){.type = WORKER_LOADED});
    expect_log("generate one\n");
}

static void what_waits_at_the_end_is_stored(void **state)
{
    struct app *app = *state;
    fake_send(app, "one");
    fake_send(app, "two");
    fake_ui(app, UI_NEW, 0, "");
    app_leave(app, 0, NULL);
    app_enqueue(app, app->answering);
    buffer_clear(&fake_log);
    app_store_outboxes(app);
    expect_log("store two\n");
}

static void nothing_of_a_deleted_conversation_is_sent(void **state)
{
    struct app *app = *state;
    fake_send(app, "one");
    fake_send(app, "two");
    buffer_clear(&fake_log);
    fake_ui(app, UI_DELETE, 0, "");
    expect_log("stop\ndelete\nshow New conversation\n");
    fake_worker(app, WORKER_DONE, WORKER_END_STOPPED, "");
    app_store_outboxes(app);
    expect_log("");
    assert_null(app->answering);
}

static void a_busy_conversation_is_not_answered_again(void **state)
{
    struct app *app = *state;
    fake_send(app, "one");
    buffer_clear(&fake_log);
    fake_ui(app, UI_REGENERATE, 0, "");
    expect_log("flash The answer is still being written; Esc stops it\n");
    fake_done(app);
    fake_ui(app, UI_REGENERATE, 0, "");
    expect_log("append answer\nremove\nchinwag \ngenerate one\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fake_test(messages_wait_until_the_answer_before_them_has_ended),
        fake_test(a_waiting_message_stays_with_its_conversation),
        fake_test(conversations_take_turns),
        fake_test(esc_before_the_answer_begins_gives_back_what_waits_behind_it),
        fake_test(esc_in_one_conversation_leaves_the_others_questions),
        fake_test(what_waits_at_the_end_is_stored),
        fake_test(nothing_of_a_deleted_conversation_is_sent),
        fake_test(a_busy_conversation_is_not_answered_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
