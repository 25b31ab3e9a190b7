/* test_worker_window.c - conversations that outgrow the window: the worker compacts, cuts, and never fails. */
#include "../../../src/base/clock.h"
#include "worker_test.h"

/* A hundred turns that cannot all fit; what is between two compactions extends the cache. */
static void hundred_turns(const char *path, bool idle, bool keeps_no_summaries, int turns)
{
    struct worker *w = open_worker(path, 1024);
    struct chat *c = chat_new(w);
    c->keeps_no_summaries = keeps_no_summaries;
    int longest = 0, n_summaries = 0, n_extending = 0, n_reused = 0;
    double start = clock_ms();
    for (int i = 0; i < turns; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 i ? "Question %d: what is %d plus %d, and why do people in Lisbon ask for it?"
                   : "My name is Dana. Please remember it.",
                 i, i, i + 1);
        struct engine_stats before = c->stats;
        n_summaries = c->n_summaries;
        chat_ask(c, text);
        assert_true(c->stats.prompt_tokens + c->stats.generated_tokens <= 1024);
        assert_true(c->stats.context_tokens <= 1024);
        longest = c->stats.context_tokens > longest ? c->stats.context_tokens : longest;
        if (i && c->n_summaries == n_summaries) {
            /* A random model's answers hold broken characters, whose tokens are not repeated. */
            n_reused += c->stats.cached_tokens >= before.prompt_tokens + before.generated_tokens - 5;
            n_extending++;
            assert_true(c->stats.cached_tokens >= before.prompt_tokens - 5 || idle);
        }
        if (idle)
            chat_compact(c);
    }
    printf("figure: %d turns in %.1f s, longest context %d of 1024, %d summaries, %d by the model\n", turns,
           (clock_ms() - start) / 1e3, longest, c->n_summaries, c->n_by_model);
    assert_true(c->n_summaries >= turns / 30);
    assert_true(idle || n_reused * 10 >= n_extending * 9);
    if (c->summary)
        assert_non_null(strstr(c->summary, "Dana"));
    chat_free(c);
    worker_close(w);
}

static void a_hundred_turns_never_fail(void **state)
{
    (void)state;
    hundred_turns(nano, false, false, 100);
}

static void a_hundred_turns_never_fail_when_compacted_in_idle_time(void **state)
{
    (void)state;
    hundred_turns(nano, true, false, 100);
}

static void a_hundred_turns_never_fail_when_all_messages_are_always_sent(void **state)
{
    (void)state;
    hundred_turns(nano, false, true, 100);
}

static void a_hundred_turns_never_fail_with_the_default_model(void **state)
{
    (void)state;
    hundred_turns(real_model(), false, false, 100);
}

static void a_message_larger_than_the_window_is_cut_with_a_notice(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    char *text = long_text(100000);
    chat_ask(c, text);
    assert_int_equal(c->n_notices, 1);
    assert_true(c->stats.context_tokens <= 512);
    assert_true(c->stats.prompt_tokens > 256); /* and what fits is there */
    for (int i = 0; i < 5; i++)
        chat_ask(c, "And?");
    assert_int_equal(c->n_notices, 1);
    assert_true(c->n_summaries > 0);
    free(text);
    chat_free(c);
    worker_close(w);
}

/* Sent, stopped before its first word, and followed by another: the template wants them as one. */
static void a_huge_message_without_an_answer_makes_way_for_the_next(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    char *text = long_text(100000);
    size_t own = strlen(text);
    text = mem_resize(text, own + 6, 1);
    strcpy(text + own, "Hello");
    int64_t answer = chat_add(c, ENGINE_USER, text) + 1;
    c->messages[0].own = own;
    struct worker_job job = chat_job(c, answer);
    worker_generate(w, &job);
    struct worker_event *e = wait_for(w, WORKER_NOTICE);
    assert_non_null(strstr(e->text, "An earlier message that was not answered"));
    worker_event_free(e);
    e = wait_for(w, WORKER_DONE);
    assert_int_not_equal(e->end, WORKER_END_FAILED);
    assert_in_range(e->stats.prompt_tokens, 1, 128);
    worker_event_free(e);
    free(text);
    chat_free(c);
    worker_close(w);
}

static void a_system_prompt_larger_than_the_window_is_cut_with_a_notice(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    char *system = long_text(20000);
    c->system = system;
    for (int i = 0; i < 5; i++)
        chat_ask(c, "Hello");
    assert_int_equal(c->n_notices, 1);
    assert_true(c->stats.cached_tokens > 100);
    free(system);
    chat_free(c);
    worker_close(w);
}

static void a_summary_from_a_larger_window_is_shortened(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    c->summary = long_text(20000);
    chat_ask(c, "Hello");
    assert_true(c->stats.prompt_tokens < 256);
    chat_free(c);
    worker_close(w);
}

static void a_long_conversation_without_a_summary_is_taken_up(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    char *text = long_text(300);
    chat_add(c, ENGINE_USER, "Hi, my name is Dana.");
    chat_add(c, ENGINE_ASSISTANT, "Hello Dana!");
    for (int i = 0; i < 200; i++) {
        chat_add(c, ENGINE_USER, text);
        chat_add(c, ENGINE_ASSISTANT, text);
    }
    chat_ask(c, "What is my name?");
    assert_true(c->n_summaries >= 1);
    assert_non_null(strstr(c->summary, "Dana"));
    assert_true(c->stats.context_tokens <= 512);
    free(text);
    chat_free(c);
    worker_close(w);
}

static void a_window_too_small_for_anything_fails_with_a_sentence(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 16);
    struct chat *c = chat_new(w);
    int64_t question = chat_add(c, ENGINE_USER, "Hello, how are you today?");
    struct worker_job job = chat_job(c, question + 1);
    worker_generate(w, &job);
    chat_wait(c, question + 1);
    assert_int_equal(c->end, WORKER_END_FAILED);
    assert_non_null(strstr(c->text, "too small"));
    chat_free(c);
    worker_close(w);
}

/* Fills a window of 1024 to between the soft and the hard limit. */
static void fill(struct chat *c)
{
    c->max_tokens = 12;
    while (c->stats.context_tokens < 1024 * (WINDOW_SOFT + 0.03))
        chat_ask(c, "Tell me more about it.");
    assert_int_equal(c->n_summaries, 0);
}

static void idle_compaction_past_the_soft_limit_makes_room(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 1024);
    struct chat *c = chat_new(w);
    chat_ask(c, "Hello, my name is Dana.");
    chat_compact(c); /* far from the limit: nothing comes of it */
    fill(c);
    int before = c->stats.context_tokens;
    chat_compact(c);
    struct worker_event *e = next_event(w);
    assert_int_equal(e->type, WORKER_COMPACTING);
    worker_event_free(e);
    e = wait_for(w, WORKER_SUMMARY);
    chat_summarized(c, e);
    worker_event_free(e);
    e = wait_for(w, WORKER_DONE);
    assert_int_equal(e->answer, 0);
    assert_int_equal(e->end, WORKER_END_COMPLETE);
    assert_true(e->stats.context_tokens < before);
    worker_event_free(e);
    chat_ask(c, "What is my name?");
    assert_in_range(c->stats.evaluated_tokens, 1, 60); /* the rest was read in idle time */
    chat_free(c);
    worker_close(w);
}

static void idle_compaction_gives_way_to_a_question_and_costs_it_nothing(void **state)
{
    (void)state;
    struct watch watch = {.generate_at = 1};
    struct worker_options options = {.model_path = nano, .n_ctx = 1024, .threads = 1, .seed = 1};
    struct worker *w = start_worker_with(&options, on_event, &watch);
    worker_event_free(wait_for(w, WORKER_LOADED));
    struct chat *c = chat_new(w);
    fill(c);
    struct worker_job compact = chat_job(c, 0);
    chat_add(c, ENGINE_USER, "Another question.");
    watch.job = chat_job(c, c->next_id + 1);
    watch.w = w;
    worker_compact(w, &compact);
    wait_done(&watch, 2);
    assert_int_equal(watch.done[0]->answer, 0);
    assert_int_equal(watch.done[0]->end, WORKER_END_STOPPED);
    assert_int_equal(watch.done[1]->answer, c->next_id + 1);
    assert_int_not_equal(watch.done[1]->end, WORKER_END_STOPPED);
    assert_int_equal(watch.n_summaries, 0);
    assert_true(watch.done[1]->stats.cached_tokens >= c->stats.prompt_tokens);
    worker_close(w);
    for (int i = 0; i < watch.n_done; i++)
        worker_event_free(watch.done[i]);
    chat_free(c);
}

static void a_stopped_compaction_changes_nothing(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 1024);
    struct chat *c = chat_new(w);
    fill(c);
    chat_compact(c);
    worker_stop(w); /* before, while or after it runs */
    chat_ask(c, "And?");
    assert_int_not_equal(c->end, WORKER_END_STOPPED);
    chat_free(c);
    worker_close(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_turns_never_fail),
        cmocka_unit_test(a_hundred_turns_never_fail_when_compacted_in_idle_time),
        cmocka_unit_test(a_hundred_turns_never_fail_when_all_messages_are_always_sent),
        cmocka_unit_test(a_hundred_turns_never_fail_with_the_default_model),
        cmocka_unit_test(a_message_larger_than_the_window_is_cut_with_a_notice),
        cmocka_unit_test(a_huge_message_without_an_answer_makes_way_for_the_next),
        cmocka_unit_test(a_system_prompt_larger_than_the_window_is_cut_with_a_notice),
        cmocka_unit_test(a_summary_from_a_larger_window_is_shortened),
        cmocka_unit_test(a_long_conversation_without_a_summary_is_taken_up),
        cmocka_unit_test(a_window_too_small_for_anything_fails_with_a_sentence),
        cmocka_unit_test(idle_compaction_past_the_soft_limit_makes_room),
        cmocka_unit_test(idle_compaction_gives_way_to_a_question_and_costs_it_nothing),
        cmocka_unit_test(a_stopped_compaction_changes_nothing),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
