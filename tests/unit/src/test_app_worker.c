/* test_app_worker.c - what the worker sends: models, figures, failures. */
#include "fake_rooms.h"

static void answers_wait_for_the_model_that_was_chosen_last(void **state)
{
    struct app *app = *state;
    app_load_model(app, "/m/a.gguf");
    app_load_model(app, "/m/b.gguf");
    fake_send(app, "one");
    expect_log("model /m/a.gguf\nmodel /m/b.gguf\nstore one\nyou one\ntitle one\n");
    app_worker_event(app, &(struct worker_event){.type = WORKER_LOADED, .model = "a"});
    expect_log("");
    app_worker_event(app, &(struct worker_event){.type = WORKER_LOADED, .model = "b"});
    expect_log("chinwag \ngenerate one\n");
    assert_string_equal(app->shown->messages[1].model, "b");
}

static void the_present_model_answers_where_another_cannot_be_loaded(void **state)
{
    struct app *app = *state;
    app_load_model(app, "/m/a.gguf");
    fake_send(app, "one");
    buffer_clear(&fake_log);
    app_worker_event(app, &(struct worker_event){.type = WORKER_LOAD_FAILED, .text = "no model"});
    assert_non_null(strstr(fake_log.s, "generate one\n"));
}

static void a_model_chosen_during_an_answer_says_that_it_waits(void **state)
{
    struct app *app = *state;
    fake_send(app, "one");
    buffer_clear(&fake_log);
    app_load_model(app, "/m/a.gguf");
    expect_log("model /m/a.gguf\nflash a.gguf is loaded when the answer being written has ended; Esc stops it\n");
}

static void a_growing_answer_is_stored_with_its_figures(void **state)
{
    struct app *app = *state;
    fake_send(app, "one");
    fake_worker(app, WORKER_STARTED, 0, NULL);
    assert_true(app->answer_unsaved);
    fake_worker(app, WORKER_PIECE, 0, "piece");
    app_save_answer(app);
    assert_int_equal(fake_row.role, STORE_ASSISTANT);
    assert_int_equal(fake_row.prompt_tokens, 20);
    assert_int_equal(fake_row.generated_tokens, 3);
}

static void a_failure_in_another_conversation_is_announced(void **state)
{
    struct app *app = *state;
    fake_send(app, "one");
    fake_ui(app, UI_NEW, 0, "");
    buffer_clear(&fake_log);
    fake_worker(app, WORKER_DONE, WORKER_END_FAILED, "no memory");
    expect_log("flash no memory\nnotice The answer in “one” failed: F2 opens it.\n");
}

static void events_of_an_answer_that_is_over_are_ignored(void **state)
{
    struct app *app = *state;
    fake_send(app, "one");
    fake_done(app);
    buffer_clear(&fake_log);
    fake_worker(app, WORKER_PIECE, 0, "late");
    fake_done(app);
    expect_log("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fake_test(answers_wait_for_the_model_that_was_chosen_last),
        fake_test(the_present_model_answers_where_another_cannot_be_loaded),
        fake_test(a_model_chosen_during_an_answer_says_that_it_waits),
        fake_test(a_growing_answer_is_stored_with_its_figures),
        fake_test(a_failure_in_another_conversation_is_announced),
        fake_test(events_of_an_answer_that_is_over_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
