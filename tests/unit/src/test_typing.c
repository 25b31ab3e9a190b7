/* test_typing.c - what is read ahead while a person types: it saves time, and nothing else can be told from it. */
#include "../../../src/base/clock.h"
#include "../../../src/base/mem.h"
#include "../../../src/worker_state.h"
#include "worker_test.h"

#include <math.h>
#include <time.h>

static const char sixty_tokens[] =
    "Thank you, that was a good overview of the old town and its hills. Now I would like to know which of these "
    "places "
    "are open on a Sunday morning in winter, how long it takes to walk from one to the next, and where along the way "
    "two tired people could sit down for a cup of coffee and something sweet before the next train leaves";

enum {
    LEFT_MAX = 12,     /* tokens that Enter may leave to evaluate */
    GIVE_WAY_MS = 500, /* a few are promised; the machine that tests may be busy, so the measured figure is printed */
};

/* ---- a person at the keyboard ---- */

/* Nothing runs, nothing waits. No event says so: a guess sends none at its end. */
static bool is_idle(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    bool idle = !w->running && !w->commands && !w->guess;
    pthread_mutex_unlock(&w->lock);
    return idle;
}

static void until_idle(struct worker *w)
{
    for (int i = 0; i < WAIT_MS && !is_idle(w); i++)
        usleep(1000);
    assert_true(is_idle(w));
}

static void guess_that(struct chat *c, const char *draft, bool rests)
{
    assert_true(c->n < CHAT_MAX);
    c->messages[c->n] = (struct worker_message){0, ENGINE_USER, draft, 0};
    c->n++;
    struct worker_job job = chat_job(c, 0);
    worker_prepare(c->w, &job, rests);
    c->n--;
}

static void guess(struct chat *c, const char *draft)
{
    guess_that(c, draft, false);
}

/* Tells of the draft at every word, pausing so long, the last word excepted. */
static void type(struct chat *c, const char *text, int pause_ms)
{
    char *draft = mem_string(text);
    for (size_t i = 0; text[i]; i++) {
        if (text[i] != ' ')
            continue;
        draft[i + 1] = '\0';
        guess(c, draft);
        usleep((useconds_t)pause_ms * 1000);
        draft[i + 1] = text[i + 1];
    }
    free(draft);
}

/* A history of at least so many tokens; the last answer was written here. */
static void talk_for(struct chat *c, int tokens)
{
    char text[400];
    c->stats.context_tokens = 0;
    for (int i = 0, about = 120; about < tokens; i++, about += 85) {
        snprintf(text, sizeof text,
                 "Question %d: how far is it from the station to the castle, and is tram %d quicker?", i, i + 10);
        chat_add(c, ENGINE_USER, text);
        snprintf(
            text, sizeof text,
            "It is about %d minutes on foot. Tram %d stops in front of the gate, but on a Sunday it runs only twice "
            "an hour, so that walking is often the better choice; the way leads through the old town.",
            i + 15, i + 10);
        chat_add(c, ENGINE_ASSISTANT, text);
    }
    chat_ask(c, "Please sum up what you said about the trams.");
}

static double decode_step_ms(const struct engine_stats *s)
{
    return s->generated_tokens > 1 ? s->decode_ms / (s->generated_tokens - 1) : 0;
}

static void report(const char *what, const struct engine_stats *s)
{
    double step = decode_step_ms(s);
    printf("figure: %s: prompt %d, left at Enter %d tokens, first token after %.1f ms = %.1f decode steps\n", what,
           s->prompt_tokens, s->evaluated_tokens, s->first_token_ms, step > 0 ? s->first_token_ms / step : 0);
}

/* ---- what it saves ---- */

static void enter_after_typing(const char *path)
{
    struct worker *w = open_worker(path, 8192);
    struct chat *c = chat_new(w);
    c->max_tokens = 32;
    set_temperature(w, 0);
    talk_for(c, 1500);
    assert_in_range(c->stats.prompt_tokens, 1300, 3000); /* the nano vocabulary is small */
    chat_ask(c, "And where is the castle's entrance? Tell me about the whole of the way there, please.");
    report("not prepared", &c->stats);

    type(c, sixty_tokens, 20);
    until_idle(w);
    struct engine_stats before = c->stats;
    chat_ask(c, sixty_tokens);
    assert_in_range(c->stats.prompt_tokens - before.context_tokens, 55, 200);
    assert_in_range(c->stats.evaluated_tokens, 1, LEFT_MAX);
    report("a draft of 60 tokens, and Enter with its last letter", &c->stats);

    guess(c, sixty_tokens);
    guess_that(c, sixty_tokens, true);
    until_idle(w);
    chat_ask(c, sixty_tokens);
    report("a draft of 60 tokens, and Enter after a moment", &c->stats);
    assert_int_equal(c->stats.evaluated_tokens, 0);
    assert_true(c->stats.first_token_ms <=
                fmax(3 * decode_step_ms(&c->stats), 5)); /* a nano step is no time at all */
    chat_free(c);
    worker_close(w);
}

static void enter_leaves_only_the_last_tokens(void **state)
{
    (void)state;
    enter_after_typing(nano);
}

static void enter_leaves_only_the_last_tokens_with_the_default_model(void **state)
{
    (void)state;
    enter_after_typing(real_model());
}

/* As at the start with --resume: another program wrote the history, nothing is typed yet. */
static void a_history_is_read_when_it_is_opened(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 8192);
    struct chat *c = chat_new(w);
    talk_for(c, 1500);
    chat_free(c);
    worker_close(w);

    w = open_worker(nano, 8192);
    c = chat_new(w);
    chat_add(c, ENGINE_USER, sixty_tokens);
    chat_add(c, ENGINE_ASSISTANT, sixty_tokens);
    guess(c, "");
    until_idle(w);
    chat_ask(c, "Ok?");
    assert_in_range(c->stats.evaluated_tokens, 1, LEFT_MAX);
    chat_free(c);
    worker_close(w);
}

static void the_end_of_an_answer_is_read_before_anything_is_typed(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 1024);
    struct chat *c = chat_new(w);
    chat_ask(c, "Hello");
    chat_ask(c, "Ok?");
    int without = c->stats.evaluated_tokens;
    guess(c, "");
    until_idle(w);
    chat_ask(c, "Ok?");
    assert_true(c->stats.evaluated_tokens < without);
    chat_free(c);
    worker_close(w);
}

static void chinese_needs_no_spaces(void **state)
{
    (void)state;
    static const char question[] =
        "公园里有很多人，大家都很高兴，孩子们在草地上跑来跑去，老人们在树下下棋，你觉得他们在想什么";
    struct worker *w = open_worker(nano, 1024);
    struct chat *c = chat_new(w);
    chat_ask(c, "你好");
    guess(c, question);
    until_idle(w);
    int before = c->stats.context_tokens;
    chat_ask(c, question);
    printf("figure: Chinese: %d new tokens, left at Enter %d\n", c->stats.prompt_tokens - before,
           c->stats.evaluated_tokens);
    assert_in_range(c->stats.evaluated_tokens, 1,
                    LEFT_MAX + 8); /* a nano vocabulary spells characters out in bytes */
    assert_true(c->stats.prompt_tokens - before > 60);
    chat_free(c);
    worker_close(w);
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void nothing_is_evaluated_twice(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 8192);
    struct chat *c = chat_new(w);
    talk_for(c, 3000);
    c->messages[0].text = "Another beginning, so that nothing is in the cache.";
    double cpu[2];
    for (int i = 0; i < 2; i++) {
        cpu[i] = cpu_ms();
        guess(c, "So");
        until_idle(w);
        cpu[i] = cpu_ms() - cpu[i];
    }
    printf("figure: 3000 tokens read ahead in %.0f ms of processor time, and again in %.1f\n", cpu[0], cpu[1]);
    assert_true(cpu[1] < cpu[0] / 4);
    chat_free(c);
    worker_close(w);
}

/* ---- what it does not do ---- */

static void no_event_comes_of_it(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 512);
    struct chat *c = chat_new(w);
    char *text = long_text(100000);
    c->system = text; /* would be cut, with a notice */
    guess(c, "Hello there");
    until_idle(w);
    guess(c, text); /* so would this */
    until_idle(w);
    assert_null(worker_take(w));
    chat_ask(c, "Hello there");
    assert_int_equal(c->n_notices, 1); /* by the question, as ever */
    c->system = NULL;
    for (int i = 0; c->stats.context_tokens < 512 * WINDOW_HARD - 40; i++)
        chat_ask(c, "Tell me more about it.");
    int n_summaries = c->n_summaries;
    guess(c, sixty_tokens); /* will need a summary */
    until_idle(w);
    assert_null(worker_take(w));
    chat_ask(c, sixty_tokens);
    assert_true(c->n_summaries > n_summaries);
    free(text);
    chat_free(c);
    worker_close(w);
}

/* Drafts written, edited in the middle, thrown away, sent before they are read; with a seed of its own for each
 * run. */
static void disturb(struct chat *c, int kind, const char *next)
{
    struct chat *other = chat_new(c->w);
    other->conversation = 99;
    other->next_id = 5000;
    chat_add(other, ENGINE_USER, "Something else altogether.");
    chat_add(other, ENGINE_ASSISTANT, "Yes.");
    switch (kind % 7) {
    case 0: type(c, next, 1); break;
    case 1:
        type(c, sixty_tokens, 1);
        guess(c, "Thank you, but that was no good overview of the old town and its hills. Now I");
        usleep(3000);
        guess(c, next);
        break;
    case 2:
        guess(c, sixty_tokens);
        usleep(20000);
        guess(c, "");
        break;
    case 3:
        guess(other, sixty_tokens);
        until_idle(c->w);
        break;
    case 4:
        guess(c, sixty_tokens);
        worker_stop(c->w);
        guess(c, next);
        usleep(2000);
        break;
    case 5:
        guess_that(c, next, true);
        until_idle(c->w);
        break;
    case 6:
        guess_that(c, "Thank you. ", true);
        until_idle(c->w);
        guess_that(c, sixty_tokens, true);
        usleep(10000);
        break;
    }
    chat_free(other);
}

static char *conversation_of(const char *path, float temperature, bool disturbed, int turns)
{
    static const char *const questions[] = {"Hello, who are you?",
                                            "What is the capital of France, and what of Spain?",
                                            "你好吗？今天天气很好", "Thank you, that was a good overview of it."};
    struct worker *w = open_worker(path, 8192);
    struct chat *c = chat_new(w);
    c->max_tokens = 16;
    set_temperature(w, temperature);
    char *all = mem_string("");
    for (int i = 0; i < turns; i++) {
        const char *question = questions[i % 4];
        if (disturbed)
            disturb(c, i, question);
        chat_ask(c, question);
        size_t n = strlen(all), more = strlen(c->text);
        all = mem_resize(all, n + more + 2, 1);
        memcpy(all + n, c->text, more);
        memcpy(all + n + more, "|", 2);
    }
    chat_free(c);
    worker_close(w);
    return all;
}

static void same_answers(const char *path, int turns)
{
    static const float temperatures[] = {0, 1};
    for (int i = 0; i < 2; i++) {
        char *without = conversation_of(path, temperatures[i], false, turns);
        char *with = conversation_of(path, temperatures[i], true, turns);
        assert_true(strlen(without) > (size_t)turns * 3);
        assert_string_equal(with, without);
        free(with);
        free(without);
    }
}

static void drafts_edited_and_thrown_away_change_no_answer(void **state)
{
    (void)state;
    same_answers(nano, 28);
}

static void drafts_edited_and_thrown_away_change_no_answer_with_the_default_model(void **state)
{
    (void)state;
    same_answers(real_model(), 7);
}

/* ---- who goes first ---- */

/* A question of another conversation, so that nothing of the guess is of use, comes while it is evaluated. */
static void gives_way(const char *path)
{
    struct worker *w = open_worker(path, 8192);
    struct chat *c = chat_new(w), *other = chat_new(w);
    double slowest = 0;
    talk_for(c, 3000);
    other->conversation = 8;
    other->next_id = 5000;
    other->max_tokens = 4;
    for (int i = 0; i < 8; i++) {
        char *first = mem_new(64, 1);
        snprintf(first, 64, "Beginning number %d, which the cache does not hold.", i);
        free(c->texts[0]);
        c->messages[0].text = c->texts[0] = first;
        guess(c, "So");
        usleep((useconds_t)i * 7000);
        chat_add(other, ENGINE_USER, "Hello");
        int64_t answer = ++other->next_id;
        struct worker_job job = chat_job(other, answer);
        double start = clock_ms();
        worker_generate(w, &job);
        worker_event_free(wait_for(w, WORKER_STARTED));
        double took = clock_ms() - start;
        slowest = took > slowest ? took : slowest;
        chat_wait(other, answer);
        assert_true(other->end == WORKER_END_COMPLETE || other->end == WORKER_END_LENGTH);
        chat_add(other, ENGINE_ASSISTANT, other->text);
        chat_ask(other, "And?"); /* the guess was dropped, not put off: the cache is this conversation's */
        assert_true(other->stats.cached_tokens > 12);
        chat_empty(other);
    }
    printf("figure: a guess gives way to a question in %.1f ms at worst\n", slowest);
    assert_true(slowest < GIVE_WAY_MS);
    chat_free(c);
    chat_free(other);
    worker_close(w);
}

static void a_question_comes_first(void **state)
{
    (void)state;
    gives_way(nano);
}

static void a_question_comes_first_with_the_default_model(void **state)
{
    (void)state;
    gives_way(real_model());
}

static void a_stop_ends_a_guess_and_the_next_one_runs(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 8192);
    struct chat *c = chat_new(w);
    talk_for(c, 3000);
    for (int i = 0; i < 100; i++) {
        c->messages[0].text = i % 2 ? "One beginning." : "Another.";
        guess(c, "So");
        usleep((useconds_t)(i % 10) * 500);
        double start = clock_ms();
        worker_stop(w);
        until_idle(w);
        assert_true(clock_ms() - start < GIVE_WAY_MS);
    }
    guess(c, "So");
    until_idle(w);
    c->max_tokens = 4;
    chat_ask(c, "So?");
    assert_in_range(c->stats.evaluated_tokens, 1, LEFT_MAX);
    chat_free(c);
    worker_close(w);
}

static void the_newest_guess_takes_the_place_of_those_before(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 8192);
    struct chat *c = chat_new(w);
    chat_ask(c, "Hello");
    char *text = long_text(4000);
    for (int i = 0; i < 50; i++) {
        text[i] = 'x'; /* none begins as the one before */
        guess(c, text);
    }
    guess(c, sixty_tokens);
    until_idle(w);
    chat_ask(c, sixty_tokens);
    assert_in_range(c->stats.evaluated_tokens, 1, LEFT_MAX);
    free(text);
    chat_free(c);
    worker_close(w);
}

static void compaction_comes_before_a_guess_and_is_not_given_up_for_it(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 1024);
    struct chat *c = chat_new(w);
    c->max_tokens = 12;
    while (c->stats.context_tokens < 1024 * (WINDOW_SOFT + 0.03))
        chat_ask(c, "Tell me more about it.");
    chat_compact(c);
    guess(c, "Another question, which"); /* while, or before, the compaction runs */
    struct worker_event *e = wait_for(w, WORKER_SUMMARY);
    chat_summarized(c, e);
    worker_event_free(e);
    e = wait_for(w, WORKER_DONE);
    assert_int_equal(e->end, WORKER_END_COMPLETE);
    worker_event_free(e);
    until_idle(w);
    chat_ask(c, "Another question, which");
    assert_in_range(c->stats.evaluated_tokens, 1, LEFT_MAX);
    chat_free(c);
    worker_close(w);
}

static void a_guess_before_there_is_a_model_is_harmless(void **state)
{
    (void)state;
    struct worker_options options = {.model_path = "no/such.gguf", .n_ctx = 512};
    struct worker *w = start_worker(&options);
    struct chat *c = chat_new(w);
    guess(c, "Hello");
    worker_event_free(wait_for(w, WORKER_LOAD_FAILED));
    guess(c, "Hello");
    until_idle(w);
    worker_load(w, nano);
    guess(c, "Hello you");
    worker_event_free(wait_for(w, WORKER_LOADED));
    chat_ask(c, "Hello you");
    guess(c, "And then");
    worker_close(w); /* at once */
    chat_free(c);
}

/* ---- the time to the first token ---- */

static void the_time_to_the_first_token_counts_from_enter(void **state)
{
    (void)state;
    struct worker *w = open_worker(nano, 2048);
    struct chat *c = chat_new(w);
    set_temperature(w, 1.5f);
    c->max_tokens = 200;
    chat_add(c, ENGINE_USER, "Hello");
    struct worker_job first = chat_job(c, 1), second = chat_job(c, 2);
    double start = clock_ms();
    worker_generate(w, &first);
    worker_generate(w, &second);
    double giving = clock_ms() - start; /* at most so much later than the first */
    chat_wait(c, 1);
    double waited = c->stats.first_token_ms + c->stats.decode_ms;
    chat_wait(c, 2);
    assert_true(c->stats.first_token_ms >= waited - giving);
    assert_true(c->stats.first_token_ms <= clock_ms() - start);
    chat_free(c);
    worker_close(w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enter_leaves_only_the_last_tokens),
        cmocka_unit_test(enter_leaves_only_the_last_tokens_with_the_default_model),
        cmocka_unit_test(a_history_is_read_when_it_is_opened),
        cmocka_unit_test(the_end_of_an_answer_is_read_before_anything_is_typed),
        cmocka_unit_test(chinese_needs_no_spaces),
        cmocka_unit_test(nothing_is_evaluated_twice),
        cmocka_unit_test(no_event_comes_of_it),
        cmocka_unit_test(drafts_edited_and_thrown_away_change_no_answer),
        cmocka_unit_test(drafts_edited_and_thrown_away_change_no_answer_with_the_default_model),
        cmocka_unit_test(a_question_comes_first),
        cmocka_unit_test(a_question_comes_first_with_the_default_model),
        cmocka_unit_test(a_stop_ends_a_guess_and_the_next_one_runs),
        cmocka_unit_test(the_newest_guess_takes_the_place_of_those_before),
        cmocka_unit_test(compaction_comes_before_a_guess_and_is_not_given_up_for_it),
        cmocka_unit_test(a_guess_before_there_is_a_model_is_harmless),
        cmocka_unit_test(the_time_to_the_first_token_counts_from_enter),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
