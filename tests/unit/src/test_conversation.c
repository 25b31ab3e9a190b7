/* test_conversation.c - the conversation in memory, as the worker sees it and as the store gives it back. */
#include "../../../src/conversation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct conversation *c;

static int set_up(void **state)
{
    (void)state;
    c = conversation_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    conversation_free(c);
    return 0;
}

static store_id ask(const char *text)
{
    return conversation_ask(c, text, strlen(text))->id;
}

static store_id answer(const char *text)
{
    struct conversation_message *m = conversation_answer(c, "model");
    conversation_finish(m, WORKER_END_COMPLETE, text, &(struct engine_stats){.generated_tokens = 1});
    return m->id;
}

/* The job as one line: "summary|user:text|assistant:text". */
static void job_is(store_id before, const char *expected)
{
    char line[4096] = "";
    struct conversation_job job;
    conversation_job_make(&job, c, before);
    snprintf(line, sizeof line, "%s", job.job.summary ? job.job.summary : "-");
    for (size_t i = 0; i < job.job.n_messages; i++) {
        const struct worker_message *m = &job.job.messages[i];
        size_t n = strlen(line);
        snprintf(line + n, sizeof line - n, "|%s:%s", m->role == ENGINE_USER ? "user" : "assistant", m->text);
    }
    conversation_job_free(&job);
    assert_string_equal(line, expected);
}

static void guess_is_what_asking_makes(const char *draft)
{
    struct conversation_job guess, real;
    conversation_job_guess(&guess, c, draft);
    conversation_ask(c, draft, strlen(draft));
    conversation_job_make(&real, c, 0);
    assert_int_equal(guess.job.conversation, real.job.conversation);
    assert_int_equal(guess.job.n_messages, real.job.n_messages);
    for (size_t i = 0; i < real.job.n_messages; i++) {
        assert_int_equal(guess.job.messages[i].role, real.job.messages[i].role);
        assert_string_equal(guess.job.messages[i].text, real.job.messages[i].text);
        if (i + 1 < real.job.n_messages)
            assert_int_equal(guess.job.messages[i].id, real.job.messages[i].id);
    }
    assert_int_equal(guess.job.messages[guess.job.n_messages - 1].id, 0);
    conversation_job_free(&guess);
    conversation_job_free(&real);
}

static void a_guess_is_what_would_be_sent(void **state)
{
    (void)state;
    guess_is_what_asking_makes("Hello");
    guess_is_what_asking_makes("after a question never answered");
    answer("Yes.");
    guess_is_what_asking_makes("And now?");
    answer("No.");
    c->summary = strdup("They said yes and no.");
    c->n_summarized = 2;
    guess_is_what_asking_makes("");
}

/* ---- titles ---- */

static void title_is(const char *text, const char *expected)
{
    char *title = conversation_title_of(text);
    assert_string_equal(title, expected);
    free(title);
}

static void the_title_is_the_first_line_with_something_in_it(void **state)
{
    (void)state;
    title_is("Hello", "Hello");
    title_is("\n \n  two\twords \nmore", "two words");
    title_is("red\x1b[31m\a", "red[31m");
    title_is("", "New conversation");
    title_is(" \n ", "New conversation");
}

static void a_long_title_ends_between_words_or_graphemes(void **state)
{
    (void)state;
#define TEN "123456789 "
#define SEVEN "今天天气怎么样"
    title_is(TEN TEN "three four five six seven eight nine ten eleven twelve thirteen",
             TEN TEN "three four five six seven eight nine ten eleven…");
    title_is(TEN TEN TEN TEN TEN TEN TEN "12", TEN TEN TEN TEN TEN TEN TEN "12");
    /* 72 columns are 36 wide characters; the mark takes one column */
    title_is(SEVEN SEVEN SEVEN SEVEN SEVEN SEVEN, SEVEN SEVEN SEVEN SEVEN SEVEN "…");
    /* a letter and its accent stay together */
    char text[512] = "", expected[512] = "";
    for (int i = 0; i < 90; i++)
        strcat(text, "e\xcc\x81");
    for (int i = 0; i < 71; i++)
        strcat(expected, "e\xcc\x81");
    title_is(text, strcat(expected, "…"));
}

static void the_first_question_names_the_conversation_once(void **state)
{
    (void)state;
    ask("The first");
    answer("yes");
    ask("The second");
    assert_string_equal(c->title, "The first");
}

/* ---- jobs ---- */

static void the_job_ends_before_the_answer_to_come(void **state)
{
    (void)state;
    ask("I am Dana.");
    answer("Hello Dana.");
    ask("Who am I?");
    store_id next = conversation_answer(c, "model")->id;
    job_is(next, "-|user:I am Dana.|assistant:Hello Dana.|user:Who am I?");
    job_is(0, "-|user:I am Dana.|assistant:Hello Dana.|user:Who am I?");
}

static void a_question_waiting_behind_the_answer_is_not_in_its_job(void **state)
{
    (void)state;
    ask("one");
    store_id first = conversation_answer(c, "model")->id;
    ask("two");
    job_is(first, "-|user:one");
    assert_true(conversation_awaits_answer(c));
}

static void an_answer_that_never_came_leaves_one_question(void **state)
{
    (void)state;
    ask("one");
    conversation_finish(conversation_answer(c, "model"), WORKER_END_STOPPED, NULL, &(struct engine_stats){0});
    ask("two");
    job_is(0, "-|user:one\n\ntwo");
    struct conversation_job job;
    conversation_job_make(&job, c, 0);
    assert_string_equal(job.messages[0].text + job.messages[0].own, "two");
    conversation_job_free(&job);
}

static void the_system_prompt_is_the_conversations_own(void **state)
{
    (void)state;
    struct conversation *quiet = conversation_new("");
    struct conversation_job job;
    conversation_job_make(&job, quiet, 0);
    assert_string_equal(job.job.system, "");
    conversation_job_free(&job);
    conversation_free(quiet);
    conversation_job_make(&job, c, 0);
    assert_null(job.job.system);
    conversation_job_free(&job);
}

static void a_summary_stands_for_what_it_covers(void **state)
{
    (void)state;
    ask("one");
    store_id covered = answer("first");
    ask("two");
    answer("second");
    assert_true(conversation_summarize(c, covered, "it began"));
    assert_int_equal(c->n_summarized, 2);
    job_is(0, "it began|user:two|assistant:second");
    assert_false(conversation_summarize(c, 12345, "of another branch"));
    job_is(0, "it began|user:two|assistant:second");
}

/* ---- answers ---- */

static void pieces_make_the_answer_and_the_end_its_state(void **state)
{
    (void)state;
    ask("count");
    struct conversation_message *m = conversation_answer(c, "model");
    assert_int_equal(m->state, STORE_STREAMING);
    conversation_append(m, "one, ", 5);
    conversation_append(m, "two", 3);
    assert_string_equal(m->text.s, "one, two");
    conversation_finish(m, WORKER_END_STOPPED, NULL, &(struct engine_stats){.generated_tokens = 4});
    assert_int_equal(m->state, STORE_INTERRUPTED);
    assert_string_equal(conversation_footnote(m), "stopped");
    assert_string_equal(m->text.s, "one, two");
    conversation_finish(m, WORKER_END_LENGTH, "one, two, three", &(struct engine_stats){.generated_tokens = 5});
    assert_int_equal(m->state, STORE_COMPLETE);
    assert_string_equal(conversation_footnote(m), "cut at the window");
    assert_string_equal(m->text.s, "one, two, three");
    assert_int_equal(m->stats.generated_tokens, 5);
}

/* The parts as they come, put together. */
struct grown {
    char thought[200], answer[200];
};

static void take_grown(struct grown *g, struct conversation_parts p)
{
    strncat(g->thought, p.thought, p.thought_len);
    strncat(g->answer, p.answer, p.answer_len);
}

static void a_thought_grows_apart_from_the_answer(void **state)
{
    (void)state;
    static const char text[] = "<think>\n嗯 x < y\n</think>\n\nSo y.";
    ask("which?");
    for (size_t step = 1; step < sizeof text; step++) {
        struct conversation_message *m = conversation_answer(c, "model");
        struct grown g = {0};
        size_t cut = sizeof text - 4;
        for (size_t i = 0; i < cut; i += step)
            take_grown(&g, conversation_append(m, text + i, cut - i < step ? cut - i : step));
        take_grown(&g, conversation_finish(m, WORKER_END_COMPLETE, text, &(struct engine_stats){0}));
        assert_string_equal(g.thought, "嗯 x < y");
        assert_string_equal(g.answer, "So y.");
        assert_string_equal(m->text.s, text); /* all of it is kept */
        assert_true(m->thought_began_ms && m->thought_ended_ms >= m->thought_began_ms);
        conversation_drop_answer(c);
    }
}

static void thoughts_are_not_told_again(void **state)
{
    (void)state;
    ask("<think>mine</think> 2+2?");
    store_id four = answer("<think>\nTwo and two.\n</think>\n\n4");
    ask("sure?");
    struct conversation_message *m = conversation_answer(c, "model");
    conversation_append(m, "<think>\nAm I", 12);
    conversation_finish(m, WORKER_END_STOPPED, NULL, &(struct engine_stats){0});
    assert_int_equal(m->thought.state, ENGINE_THOUGHT_OPEN);
    ask("well?");
    job_is(0, "-|user:<think>mine</think> 2+2?|assistant:4|user:sure?\n\nwell?");
    job_is(four, "-|user:<think>mine</think> 2+2?");
    assert_string_equal(c->title, "<think>mine</think> 2+2?");
}

static void a_stored_thought_is_told_from_its_answer(void **state)
{
    (void)state;
    struct store_message messages[] = {
        {.id = 1, .role = STORE_USER, .text = (char *)"<think>a</think>b"},
        {.id = 2, .parent = 1, .role = STORE_ASSISTANT, .text = (char *)"<think>a</think>b"},
        {.id = 3, .parent = 2, .role = STORE_ASSISTANT, .state = STORE_STREAMING, .text = (char *)"<think>a </th"},
    };
    struct store_event loaded = {.type = STORE_LOADED, .messages = messages, .n = 3, .conversation = {.id = 7}};
    struct conversation *stored = conversation_from_store(&loaded);
    static const char *const expected[][2] = {{"", "<think>a</think>b"}, {"a", "b"}, {"a </th", ""}};
    for (size_t i = 0; i < 3; i++) {
        struct conversation_parts p = conversation_parts(&stored->messages[i]);
        assert_int_equal(p.thought_len, strlen(expected[i][0]));
        assert_memory_equal(p.thought, expected[i][0], p.thought_len);
        assert_int_equal(p.answer_len, strlen(expected[i][1]));
        assert_memory_equal(p.answer, expected[i][1], p.answer_len);
        assert_int_equal(stored->messages[i].thought_began_ms, 0); /* how long it took is not kept */
    }
    conversation_free(stored);
}

static void answering_again_forks(void **state)
{
    (void)state;
    assert_false(conversation_drop_answer(c));
    store_id question = ask("one");
    assert_false(conversation_drop_answer(c));
    store_id first = answer("bad");
    assert_true(conversation_drop_answer(c));
    assert_true(conversation_awaits_answer(c));
    assert_null(conversation_find(c, first));
    struct conversation_message *second = conversation_answer(c, "model");
    assert_true(second->parent == question);
    assert_true(second->id != first);
}

/* ---- the store ---- */

static struct store_event *load(struct store *store, store_id id)
{
    store_load(store, id, 0);
    struct store_event *e;
    while ((e = store_wait(store, 5000)) && e->type != STORE_LOADED)
        store_event_free(e);
    assert_non_null(e);
    return e;
}

static void a_reopened_conversation_reaches_the_model(void **state)
{
    (void)state;
    char dir[] = "/tmp/chinwag-conversation-XXXXXX", path[64], err[256];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/test.db", dir);
    struct store *store = store_open(path, NULL, NULL, err, sizeof err);
    assert_non_null(store);
    static const char *const texts[] = {"My name is Dana.", "Nice to meet you, Dana.", "I live in Lisbon.",
                                        "Lovely."};
    store_id covered = 0;
    for (size_t i = 0; i < 4; i++) {
        store_id id = i % 2 ? answer(texts[i]) : ask(texts[i]);
        conversation_save(c, store, conversation_find(c, id));
        covered = i == 1 ? id : covered;
    }
    store_id id = c->id;
    assert_true(store_close(store, err, sizeof err));

    assert_non_null(store = store_open(path, NULL, NULL, err, sizeof err));
    struct store_event *e = load(store, id);
    conversation_free(c);
    c = conversation_from_store(e);
    store_event_free(e);
    assert_string_equal(c->title, "My name is Dana.");
    ask("What is my name?");
    job_is(0, "-|user:My name is Dana.|assistant:Nice to meet you, Dana.|user:I live in Lisbon.|assistant:Lovely."
              "|user:What is my name?");

    store_put_summary(store, &(struct store_summary){.id = store_new_id(),
                                                     .conversation = id,
                                                     .first = c->messages[0].id,
                                                     .last = covered,
                                                     .text = "The person is Dana.",
                                                     .method = "model",
                                                     .created_ms = 1});
    e = load(store, 0);
    conversation_free(c);
    c = conversation_from_store(e);
    store_event_free(e);
    job_is(0, "The person is Dana.|user:I live in Lisbon.|assistant:Lovely.");
    assert_int_equal(c->n_summarized, 2);
    assert_true(store_close(store, err, sizeof err));
    static const char *const files[] = {"", "-journal", "-lock"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char file[96];
        snprintf(file, sizeof file, "%s%s", path, files[i]);
        unlink(file);
    }
    assert_int_equal(rmdir(dir), 0);
}

static void nothing_is_written_of_a_deleted_conversation(void **state)
{
    (void)state;
    char err[256];
    struct store *store = store_open(NULL, NULL, NULL, err, sizeof err);
    assert_non_null(store);
    store_id id = ask("gone");
    conversation_save(c, store, conversation_find(c, id));
    c->deleted = true;
    store_delete(store, c->id);
    conversation_save(c, store, conversation_find(c, answer("late")));
    struct store_event *e = load(store, c->id);
    assert_true(e->conversation.id == 0);
    store_event_free(e);
    assert_true(store_close(store, err, sizeof err));
}

#define each(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(a_guess_is_what_would_be_sent),
        each(the_title_is_the_first_line_with_something_in_it),
        each(a_long_title_ends_between_words_or_graphemes),
        each(the_first_question_names_the_conversation_once),
        each(the_job_ends_before_the_answer_to_come),
        each(a_question_waiting_behind_the_answer_is_not_in_its_job),
        each(an_answer_that_never_came_leaves_one_question),
        each(the_system_prompt_is_the_conversations_own),
        each(a_summary_stands_for_what_it_covers),
        each(pieces_make_the_answer_and_the_end_its_state),
        each(a_thought_grows_apart_from_the_answer),
        each(thoughts_are_not_told_again),
        each(a_stored_thought_is_told_from_its_answer),
        each(answering_again_forks),
        each(a_reopened_conversation_reaches_the_model),
        each(nothing_is_written_of_a_deleted_conversation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
