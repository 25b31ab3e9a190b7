/* What is put into the store comes back: after a restart, in any script, as a tree; two programs share one file. */
#include "store_test.h"

#include <pthread.h>

static void everything_comes_back_after_a_restart(void **state)
{
    (void)state;
    store_id conversation = store_new_id(), question = store_new_id(), answer = store_new_id();
    struct store *s = open_at(test_db);
    store_put_conversation(
        s, &(struct store_conversation){
               .id = conversation, .leaf = answer, .title = "天气 🌦", .system = "", .created_ms = 5});
    store_put_message(s,
                      &(struct store_message){.id = question,
                                              .conversation = conversation,
                                              .role = STORE_USER,
                                              .text = "今天天气怎么样？ 👩‍👩‍👧 <|im_end|>\n\ttab",
                                              .created_ms = 1000});
    store_put_message(s, &(struct store_message){.id = answer,
                                                 .conversation = conversation,
                                                 .parent = question,
                                                 .role = STORE_ASSISTANT,
                                                 .state = STORE_INTERRUPTED,
                                                 .text = "晴",
                                                 .model = "nano",
                                                 .created_ms = 2000,
                                                 .prompt_tokens = 12,
                                                 .evaluated_tokens = 7,
                                                 .generated_tokens = 3,
                                                 .first_token_ms = 0.25,
                                                 .decode_ms = 1e9});
    store_put_summary(s, &(struct store_summary){.id = store_new_id(),
                                                 .conversation = conversation,
                                                 .first = question,
                                                 .last = answer,
                                                 .text = "sunny",
                                                 .method = "model",
                                                 .created_ms = 9});
    close_ok(s);

    s = open_at(test_db);
    struct store_event *e = load(s, 0);
    assert_int_equal(e->conversation.id, conversation);
    assert_int_equal(e->conversation.leaf, answer);
    assert_string_equal(e->conversation.title, "天气 🌦");
    assert_string_equal(e->conversation.system, "");
    assert_int_equal(e->conversation.created_ms, 5);
    assert_true(e->conversation.updated_ms > 1600000000000);
    assert_int_equal(e->conversation.n_messages, 2);
    assert_int_equal(e->n, 2);
    assert_int_equal(e->messages[0].id, question);
    assert_int_equal(e->messages[0].parent, 0);
    assert_int_equal(e->messages[0].role, STORE_USER);
    assert_int_equal(e->messages[0].state, STORE_COMPLETE);
    assert_string_equal(e->messages[0].text, "今天天气怎么样？ 👩‍👩‍👧 <|im_end|>\n\ttab");
    assert_null(e->messages[0].model);
    const struct store_message *m = &e->messages[1];
    assert_int_equal(m->id, answer);
    assert_int_equal(m->conversation, conversation);
    assert_int_equal(m->parent, question);
    assert_int_equal(m->role, STORE_ASSISTANT);
    assert_int_equal(m->state, STORE_INTERRUPTED);
    assert_string_equal(m->text, "晴");
    assert_string_equal(m->model, "nano");
    assert_int_equal(m->created_ms, 2000);
    assert_int_equal(m->prompt_tokens, 12);
    assert_int_equal(m->evaluated_tokens, 7);
    assert_int_equal(m->generated_tokens, 3);
    assert_true(m->first_token_ms == 0.25 && m->decode_ms == 1e9);
    assert_int_equal(e->n_summaries, 1);
    assert_string_equal(e->summaries[0].text, "sunny");
    assert_string_equal(e->summaries[0].method, "model");
    assert_int_equal(e->summaries[0].first, question);
    assert_int_equal(e->summaries[0].last, answer);
    assert_int_equal(e->summaries[0].created_ms, 9);
    store_event_free(e);
    close_ok(s);
    expect_sound(test_db);
}

static void a_text_of_a_megabyte_comes_back(void **state)
{
    (void)state;
    size_t n = (1 << 20) / 3;
    char *big = calloc(n, 4);
    for (size_t i = 0; i < n; i++)
        strcat(big + 3 * i, i % 7 ? "语" : &"🙂"[1]); /* and bytes that are no UTF-8 */
    struct store *s = open_at(test_db);
    put_conversation(s, 1, 0, "big");
    put_message(s, 2, 1, 0, big);
    struct store_event *e = load(s, 1);
    assert_int_equal(e->n, 1);
    assert_string_equal(e->messages[0].text, big);
    store_event_free(e);
    close_ok(s);
    s = open_at(test_db);
    e = load(s, 1);
    assert_string_equal(e->messages[0].text, big);
    store_event_free(e);
    close_ok(s);
    free(big);
}

static void a_null_system_prompt_differs_from_an_empty_one(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, NULL);
    struct store_event *e = load(s, 1);
    assert_null(e->conversation.system);
    assert_string_equal(e->conversation.title, "");
    store_event_free(e);
    close_ok(s);
}

static void the_leaf_decides_the_path(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "tree");
    put_message(s, 10, 1, 0, "question");
    put_message(s, 11, 1, 10, "first answer");
    expect_path(s, 1, 10, 11, 0);
    put_message(s, 12, 1, 10, "second answer");
    expect_path(s, 1, 10, 12, 0); /* a new message is shown ... */
    put_message(s, 11, 1, 10, "first answer, longer");
    expect_path(s, 1, 10, 12, 0); /* ... an old one that changes is not */
    put_message(s, 13, 1, 12, "next question");
    expect_path(s, 1, 10, 12, 13, 0);
    put_message(s, 14, 1, 0, "question edited");
    expect_path(s, 1, 14, 0);
    put_conversation(s, 1, 11, NULL);
    expect_path(s, 1, 10, 11, 0);
    put_conversation(s, 1, 0, NULL);
    expect_path(s, 1, 0);
    struct store_event *e = load(s, 1);
    assert_string_equal(e->conversation.title, "tree");
    assert_int_equal(e->conversation.n_messages, 5);
    store_event_free(e);
    close_ok(s);
}

static void expect_through(struct store *s, store_id message, int step, const char *path, int number, int count)
{
    char got[128] = "";
    store_load_through(s, 1, message, step, 0);
    struct store_event *e = expect(s, STORE_LOADED);
    for (size_t i = 0; i < e->n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), " %d", (int)e->messages[i].id);
    assert_string_equal(got, path);
    assert_int_equal(e->conversation.leaf, 12);
    assert_int_equal(e->messages[1].number, number);
    assert_int_equal(e->messages[1].count, count);
    store_event_free(e);
}

static void put_answer(struct store *s, store_id id, store_id parent, enum store_role role)
{
    store_put_message(
        s,
        &(struct store_message){
            .id = id, .conversation = 1, .parent = parent, .role = role, .text = (char[]){"text"}, .created_ms = 1});
}

static void every_answer_can_be_reached(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "");
    put_answer(s, 10, 0, STORE_USER);
    put_answer(s, 11, 10, STORE_ASSISTANT);
    put_answer(s, 12, 10, STORE_ASSISTANT);
    put_answer(s, 13, 11, STORE_USER); /* it went on from the first one */
    put_answer(s, 14, 13, STORE_ASSISTANT);
    put_answer(s, 15, 10, STORE_ASSISTANT);
    put_conversation(s, 1, 12, NULL);
    expect_path(s, 1, 10, 12, 0);
    expect_through(s, 12, 0, " 10 12", 2, 3);
    expect_through(s, 12, 1, " 10 15", 3, 3);
    expect_through(s, 15, 1, " 10 11 13 14", 1, 3);
    expect_through(s, 11, -1, " 10 15", 3, 3);
    expect_through(s, 13, 0, " 10 11 13 14", 1, 3);
    expect_through(s, 13, 1, " 10 11 13 14", 1, 3); /* a question has no others */
    expect_through(s, 99, 0, " 10 12", 2, 3);
    expect_path(s, 1, 10, 12, 0);
    close_ok(s);
}

static void a_leaf_that_was_never_written_gives_way_to_the_newest_message(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 99, "lost");
    expect_path(s, 1, 0);
    put_message(s, 10, 1, 0, "a");
    put_message(s, 11, 1, 10, "b");
    expect_path(s, 1, 10, 11, 0);
    close_ok(s);
}

static void a_message_put_without_text_is_an_empty_one(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "");
    put_state(s, 10, 1, 0, STORE_STREAMING, NULL);
    struct store_event *e = load(s, 1);
    assert_int_equal(e->n, 1);
    assert_string_equal(e->messages[0].text, "");
    store_event_free(e);
    close_ok(s);
}

static void only_summaries_of_the_path_are_given(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "");
    put_message(s, 10, 1, 0, "a");
    put_message(s, 11, 1, 10, "b");
    put_message(s, 12, 1, 10, "c");
    store_set_leaf(s, 1, 11);
    store_put_summary(
        s, &(struct store_summary){
               .id = 22, .conversation = 1, .last = 11, .text = "of b", .method = "model", .created_ms = 2});
    store_put_summary(s, &(struct store_summary){.id = 21,
                                                 .conversation = 1,
                                                 .first = 10,
                                                 .last = 10,
                                                 .text = "old",
                                                 .method = "extract",
                                                 .created_ms = 1});
    store_put_summary(s, &(struct store_summary){.id = 21,
                                                 .conversation = 1,
                                                 .first = 10,
                                                 .last = 10,
                                                 .text = "of a",
                                                 .method = "extract",
                                                 .created_ms = 1});
    struct store_event *e = load(s, 1);
    assert_int_equal(e->n_summaries, 2);
    assert_string_equal(e->summaries[0].text, "of a");
    assert_string_equal(e->summaries[1].text, "of b");
    store_event_free(e);
    put_conversation(s, 1, 12, NULL);
    e = load(s, 1);
    assert_int_equal(e->n_summaries, 1);
    assert_string_equal(e->summaries[0].text, "of a");
    store_event_free(e);
    close_ok(s);
}

static void settings_come_first_and_can_be_removed(void **state)
{
    (void)state;
    struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    struct store_event *e = expect(s, STORE_SETTINGS);
    assert_int_equal(e->n, 0);
    store_event_free(e);
    store_put_setting(s, "温度", "0.7");
    store_put_setting(s, "a", "1");
    store_put_setting(s, "a", "");
    store_put_setting(s, "gone", "x");
    store_put_setting(s, "gone", NULL);
    close_ok(s);
    s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    store_list(s, 0);
    e = expect(s, STORE_SETTINGS);
    assert_int_equal(e->n, 2);
    assert_string_equal(e->settings[0].key, "a");
    assert_string_equal(e->settings[0].value, "");
    assert_string_equal(e->settings[1].key, "温度");
    assert_string_equal(e->settings[1].value, "0.7");
    store_event_free(e);
    drop(s, STORE_LIST);
    close_ok(s);
}

static void the_list_has_the_most_recently_updated_first(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "one");
    usleep(3000);
    put_conversation(s, 2, 0, "two");
    usleep(3000);
    put_message(s, 10, 1, 0, "text");
    usleep(3000);
    store_rename(s, 2, "二");
    store_list(s, 0);
    struct store_event *e = expect(s, STORE_LIST);
    assert_int_equal(e->n, 2);
    assert_int_equal(e->conversations[0].id, 1);
    assert_int_equal(e->conversations[0].n_messages, 1);
    assert_string_equal(e->conversations[1].title, "二"); /* renaming does not move it */
    store_event_free(e);
    e = load(s, 0);
    assert_int_equal(e->conversation.id, 1);
    store_event_free(e);
    close_ok(s);
}

static void loading_what_is_not_there_says_so(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    struct store_event *e = load(s, 0);
    assert_int_equal(e->conversation.id, 0);
    store_event_free(e);
    e = load(s, 77);
    assert_int_equal(e->conversation.id, 0);
    assert_int_equal(e->n, 0);
    store_event_free(e);
    close_ok(s);
}

static void deleting_takes_messages_and_summaries_of_that_conversation_alone(void **state)
{
    (void)state;
    struct store *s = open_at(test_db);
    for (int c = 1; c <= 2; c++) {
        put_conversation(s, c, 0, "title");
        put_message(s, c * 10, c, 0, "a word");
        put_message(s, c * 10 + 1, c, c * 10, "another word");
        put_message(s, c * 10 + 2, c, c * 10, "a sibling");
        store_put_summary(
            s, &(struct store_summary){.id = c, .conversation = c, .last = c * 10, .text = "", .method = "model"});
    }
    store_delete(s, 1);
    put_message(s, 13, 1, 11, "an answer that was still on its way");
    put_conversation(s, 1, 13, "title");
    struct store_event *e = load(s, 1);
    assert_int_equal(e->conversation.id, 0);
    store_event_free(e);
    expect_path(s, 2, 20, 22, 0);
    expect_found(s, "word", 0, 21, 20, 0);
    close_ok(s);
    expect_sql(test_db, "SELECT count(*) FROM message", "3");
    expect_sql(test_db, "SELECT count(*) FROM summary", "1");
    expect_sound(test_db);
}

/* A cascade along parents would meet SQLite's limit of 1000 nested triggers. */
static void a_conversation_of_thousands_of_messages_can_be_loaded_and_deleted(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    put_conversation(s, 1, 0, "long");
    for (int i = 0; i < 3000; i++)
        put_message(s, 10 + i, 1, i ? 9 + i : 0, "x");
    struct store_event *e = load(s, 1);
    assert_int_equal(e->n, 3000);
    assert_int_equal(e->messages[0].id, 10);
    assert_int_equal(e->messages[2999].id, 3009);
    store_event_free(e);
    store_delete(s, 1);
    e = load(s, 1);
    assert_int_equal(e->conversation.id, 0);
    store_event_free(e);
    close_ok(s);
}

/* A load fails once its table is gone; the list and the failed summary next to it must not be mistaken for it. */
static void each_query_is_answered_by_one_event_with_its_tag(void **state)
{
    (void)state;
    struct store *s = open_at(test_db);
    put_conversation(s, 1, 0, "one");
    close_ok(s);
    s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    assert_non_null(s);
    struct store_event *e = expect(s, STORE_SETTINGS);
    assert_int_equal(e->tag, 0);
    store_event_free(e);
    store_put_summary(
        s, &(struct store_summary){.id = 5, .conversation = 404, .last = 1, .text = "", .method = "model"});
    e = expect(s, STORE_ERROR);
    assert_int_equal(e->tag, 0);
    store_event_free(e);
    sqlite3 *other; /* while it holds the file, queries fail */
    assert_int_equal(sqlite3_open(test_db, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    const struct {
        uint64_t tag;
        enum store_event_type type;
    } answers[] = {
        {7, STORE_ERROR}, {UINT64_MAX, STORE_ERROR}, {9, STORE_FOUND}, {10, STORE_LOADED}, {7, STORE_LIST}};
    store_list(s, 7);
    store_load(s, 1, UINT64_MAX);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (i == 2) {
            sqlite3_close(other);
            store_search(s, "one", 0, 9);
            store_load_through(s, 1, 0, 0, 10);
            store_list(s, 7);
        }
        e = expect(s, answers[i].type);
        assert_true(e->tag == answers[i].tag);
        store_event_free(e);
    }
    close_ok(s);
}

static void what_can_never_be_written_is_given_up_with_an_error(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    store_put_summary(
        s, &(struct store_summary){.id = 5, .conversation = 404, .last = 1, .text = "", .method = "model"});
    struct store_event *e = expect(s, STORE_ERROR);
    assert_non_null(strstr(e->text, "no longer exists"));
    store_event_free(e);
    put_conversation(s, 1, 0, "still working");
    struct store_event *loaded = load(s, 1);
    assert_int_equal(loaded->conversation.id, 1);
    store_event_free(loaded);
    close_ok(s);
}

static void new_ids_ascend_and_tell_the_time(void **state)
{
    (void)state;
    store_id last = 0;
    for (int i = 0; i < 100000; i++) {
        store_id id = store_new_id();
        assert_true(id > last);
        last = id;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    assert_in_range((last >> 20) - ms + 60000, 0, 120000);
}

static void *many_ids(void *arg)
{
    store_id *ids = arg;
    for (int i = 0; i < 20000; i++)
        ids[i] = store_new_id();
    return NULL;
}

static int compare_ids(const void *a, const void *b)
{
    store_id l = *(const store_id *)a, r = *(const store_id *)b;
    return (l > r) - (l < r);
}

static void ids_of_several_threads_differ(void **state)
{
    (void)state;
    store_id *ids = calloc(4 * 20000, sizeof *ids);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, many_ids, ids + i * 20000);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    qsort(ids, 4 * 20000, sizeof *ids, compare_ids);
    for (int i = 1; i < 4 * 20000; i++)
        assert_true(ids[i] != ids[i - 1]);
    free(ids);
}

static void count_call(void *ctx)
{
    __atomic_add_fetch((int *)ctx, 1, __ATOMIC_SEQ_CST);
}

static void a_write_changes_only_what_its_program_changed(void **state)
{
    (void)state;
    struct store *a = open_at(test_db), *b = open_at(test_db);
    struct store_conversation c = {.id = 1, .title = "first", .system = "Be brief."};
    store_put_conversation(a, &c);
    put_message(a, 10, 1, 0, "question");
    expect_path(a, 1, 10, 0);
    store_rename(b, 1, "renamed by b");
    store_set_system(b, 1, NULL);
    expect_path(b, 1, 10, 0);
    store_put_conversation(a, &c); /* what a remembers is older */
    put_message(a, 11, 1, 10, "answer");
    expect_path(a, 1, 10, 11, 0);
    store_set_leaf(a, 1, 10);
    struct store_event *e = load(a, 1);
    assert_string_equal(e->conversation.title, "renamed by b");
    assert_null(e->conversation.system);
    assert_int_equal(e->conversation.leaf, 10);
    store_event_free(e);
    close_ok(a);
    close_ok(b);
}

static void held_writes_are_one_transaction(void **state)
{
    (void)state;
    struct store *s = open_at(test_db);
    store_hold(s);
    put_conversation(s, 1, 0, "held");
    put_message(s, 10, 1, 0, "one");
    store_hold(s);
    put_message(s, 11, 1, 10, "two");
    store_release(s);
    usleep(QUIET_MS * 1000);
    expect_sql(test_db, "SELECT count(*) FROM message", "0"); /* nothing before the last release */
    store_release(s);
    expect_path(s, 1, 10, 11, 0);
    /* One that is refused takes none of the others with it. */
    store_hold(s);
    put_message(s, 12, 1, 11, "three");
    store_put_summary(
        s, &(struct store_summary){.id = 5, .conversation = 404, .last = 1, .text = "", .method = "model"});
    put_message(s, 13, 1, 12, "four");
    store_delete(s, 2);
    put_message(s, 14, 1, 13, "five");
    store_release(s);
    drop(s, STORE_ERROR);
    expect_path(s, 1, 10, 11, 12, 13, 14, 0);
    close_ok(s);
    expect_sound(test_db);
}

static void settings_are_written_when_they_rest(void **state)
{
    (void)state;
    struct store *s = open_at(test_db);
    char value[16];
    char *before = sql_text(test_db, "PRAGMA data_version; SELECT 1");
    free(before);
    sqlite3 *watcher;
    assert_int_equal(sqlite3_open(test_db, &watcher), SQLITE_OK);
    sqlite3_stmt *version;
    assert_int_equal(sqlite3_prepare_v2(watcher, "PRAGMA data_version", -1, &version, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(version), SQLITE_ROW);
    int seen = sqlite3_column_int(version, 0), commits = 0;
    sqlite3_reset(version);
    for (int i = 0; i < 50; i++) { /* as an arrow key that is held down */
        snprintf(value, sizeof value, "%d", i);
        store_put_setting(s, "temperature", value);
        store_put_setting(s, "top-p", value);
        usleep(2000);
        assert_int_equal(sqlite3_step(version), SQLITE_ROW);
        commits += sqlite3_column_int(version, 0) != seen;
        seen = sqlite3_column_int(version, 0);
        sqlite3_reset(version);
    }
    assert_true(commits <= 2);
    for (char *now = NULL; !now || strcmp(now, "49");) { /* without anything else happening */
        free(now);
        usleep(10000);
        now = sql_text(test_db, "SELECT ''; SELECT value FROM setting WHERE key = 'top-p'");
        if (now && strcmp(now, "49") == 0) {
            free(now);
            break;
        }
    }
    store_put_setting(s, "temperature", "last");
    put_conversation(s, 1, 0, "");
    store_event_free(load(s, 1)); /* a query sees what was put before it */
    expect_sql(test_db, "SELECT value FROM setting WHERE key = 'temperature'", "last");
    store_put_setting(s, "temperature", NULL);
    close_ok(s);
    expect_sql(test_db, "SELECT count(*) FROM setting", "1");
    sqlite3_finalize(version);
    sqlite3_close(watcher);
}

static void put_draft(struct store *s, store_id id, store_id conversation, const char *text)
{
    store_put_draft(s, &(struct store_draft){.id = id, .conversation = conversation, .text = (char *)text});
}

static void expect_draft(struct store *s, store_id conversation, store_id id, const char *text)
{
    if (conversation)
        store_load(s, conversation, 7);
    else
        store_new_draft(s, 7);
    struct store_event *e = expect(s, conversation ? STORE_LOADED : STORE_DRAFT);
    assert_int_equal(e->tag, 7);
    assert_int_equal(e->draft.id, id);
    if (id)
        assert_string_equal(e->draft.text, text);
    store_event_free(e);
}

static void drafts_belong_to_conversations_and_to_the_program_that_types_them(void **state)
{
    (void)state;
    struct store *a = open_at(test_db), *b = open_at(test_db);
    put_conversation(a, 1, 0, "one");
    put_conversation(a, 2, 0, "two");
    put_draft(a, 100, 1, "to on");
    put_draft(a, 100, 1, "to one");
    put_draft(a, 101, 0, "a new one, 你好");
    expect_draft(a, 1, 100, "to one");
    expect_draft(a, 2, 0, NULL);
    expect_draft(a, 0, 101, "a new one, 你好");
    expect_draft(b, 1, 0, NULL); /* a is typing them */
    expect_draft(b, 0, 0, NULL);
    put_draft(b, 102, 0, "b's own");
    expect_draft(b, 0, 102, "b's own");
    expect_draft(a, 0, 101, "a new one, 你好");
    put_draft(a, 103, 2, "of a conversation that b deletes");
    close_ok(a);
    expect_draft(b, 1, 100, "to one"); /* a is gone */
    put_draft(b, 102, 0, NULL);
    store_delete(b, 1);
    expect_draft(b, 1, 0, NULL);
    expect_draft(b, 0, 101, "a new one, 你好");
    put_draft(b, 101, 0, "");
    expect_draft(b, 0, 0, NULL);
    close_ok(b);
    expect_sql(test_db, "SELECT group_concat(id) FROM draft", "103");
    b = open_at(test_db);
    expect_sql(test_db, "PRAGMA foreign_keys = ON; DELETE FROM conversation WHERE id = 2; SELECT 1", "1");
    expect_draft(b, 0, 103, "of a conversation that b deletes"); /* its words are kept */
    close_ok(b);
}

static void a_draft_is_on_disk_within_a_second(void **state)
{
    (void)state;
    struct store *s = open_at(test_db);
    put_draft(s, 100, 0, "half a thought");
    for (int i = 0; i < 100; i++) { /* typing goes on */
        usleep(10000);
        put_draft(s, 100, 0, "half a thought and more");
    }
    char *text = sql_text(test_db, "SELECT text FROM draft");
    assert_non_null(text);
    free(text);
    close_ok(s);
    expect_sql(test_db, "SELECT text FROM draft", "half a thought and more");
}

static void the_history_is_all_that_was_typed_newest_first(void **state)
{
    (void)state;
    struct store *s = open_at(test_db);
    for (int i = 0; i < 1500; i++) {
        char text[32], command[32];
        snprintf(text, sizeof text, "prompt %d", i);
        snprintf(command, sizeof command, "/set seed %d", i % 300);
        store_put_message(
            s, &(struct store_message){.id = 2 * i + 1, .conversation = 1 + i % 7, .role = STORE_USER, .text = text});
        put_message(s, 2 * i + 2, 1 + i % 7, 2 * i + 1, "an answer");
        if (i < 400)
            store_put_command(s, command);
    }
    store_history(s, 9);
    struct store_event *e = expect(s, STORE_HISTORY);
    assert_int_equal(e->tag, 9);
    assert_int_equal(e->n, 1000);
    assert_string_equal(e->prompts[0], "prompt 1499");
    assert_string_equal(e->prompts[999], "prompt 500");
    assert_int_equal(e->n_commands, 200);
    assert_string_equal(e->commands[0], "/set seed 99");
    assert_string_equal(e->commands[100], "/set seed 299"); /* one that was typed again counts once, as the newest */
    store_event_free(e);
    close_ok(s);
}

static void each_event_is_notified(void **state)
{
    (void)state;
    int calls = 0;
    struct store *s = store_open(NULL, count_call, &calls, test_err, sizeof test_err);
    store_list(s, 0);
    store_load(s, 0, 0);
    drop(s, STORE_SETTINGS);
    drop(s, STORE_LIST);
    drop(s, STORE_LOADED);
    assert_null(store_take(s));
    assert_null(store_wait(s, QUIET_MS));
    close_ok(s); /* the last call may come after its event was taken */
    assert_int_equal(calls, 3);
}

static void two_programs_share_a_file(void **state)
{
    (void)state;
    struct store *a = open_at(test_db), *b = open_at(test_db);
    put_conversation(a, 1, 0, "ours");
    put_message(a, 10, 1, 0, "question");
    expect_path(a, 1, 10, 0);
    expect_path(b, 1, 10, 0);
    /* Both go on from there: both branches stay, the last leaf put is shown. */
    put_message(a, 11, 1, 10, "by a");
    expect_path(a, 1, 10, 11, 0);
    put_message(b, 12, 1, 10, "by b");
    expect_path(b, 1, 10, 12, 0);
    expect_path(a, 1, 10, 12, 0);
    expect_found(a, "by ", 0, 12, 11, 0);
    /* One deletes it, the other does not know: its words are kept. */
    store_delete(a, 1);
    struct store_event *e = load(a, 1);
    assert_int_equal(e->conversation.id, 0);
    store_event_free(e);
    put_message(b, 13, 1, 12, "written after the deletion\nin two lines");
    expect_path(b, 1, 13, 0);
    e = load(b, 1);
    assert_string_equal(e->conversation.title, "written after the deletion");
    store_event_free(e);
    put_message(a, 14, 1, 13, "not seen again by a yet: dropped");
    expect_path(a, 1, 13, 0);
    put_message(a, 15, 1, 13, "written by a, who has seen it is back");
    expect_path(a, 1, 13, 15, 0);
    expect_path(b, 1, 13, 15, 0);
    close_ok(a);
    close_ok(b);
    expect_sound(test_db);
}

struct writer {
    pthread_t thread;
    const char *path;
    int first, n;
    char err[512];
};

static void *write_many(void *arg)
{
    struct writer *w = arg;
    struct store *s = store_open(w->path, NULL, NULL, w->err, sizeof w->err);
    if (!s)
        return NULL;
    for (int i = 0; i < w->n; i++)
        put_message(s, w->first + i, 1, 0, "one of many");
    return store_close(s, w->err, sizeof w->err) ? w : NULL;
}

static void programs_that_write_at_the_same_time_lose_nothing(void **state)
{
    (void)state;
    struct writer writers[3];
    for (int i = 0; i < 3; i++) {
        writers[i] = (struct writer){.path = test_db, .first = 1000 * (i + 1), .n = 100};
        pthread_create(&writers[i].thread, NULL, write_many, &writers[i]);
    }
    for (int i = 0; i < 3; i++) {
        void *ok;
        pthread_join(writers[i].thread, &ok);
        assert_string_equal(writers[i].err, "");
        assert_non_null(ok);
    }
    expect_sql(test_db, "SELECT count(*) FROM message", "300");
    expect_sound(test_db);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        T(everything_comes_back_after_a_restart),
        T(a_text_of_a_megabyte_comes_back),
        T(a_null_system_prompt_differs_from_an_empty_one),
        T(the_leaf_decides_the_path),
        T(every_answer_can_be_reached),
        T(a_leaf_that_was_never_written_gives_way_to_the_newest_message),
        T(a_message_put_without_text_is_an_empty_one),
        T(only_summaries_of_the_path_are_given),
        T(settings_come_first_and_can_be_removed),
        T(the_list_has_the_most_recently_updated_first),
        T(loading_what_is_not_there_says_so),
        T(deleting_takes_messages_and_summaries_of_that_conversation_alone),
        T(a_conversation_of_thousands_of_messages_can_be_loaded_and_deleted),
        T(each_query_is_answered_by_one_event_with_its_tag),
        T(what_can_never_be_written_is_given_up_with_an_error),
        T(new_ids_ascend_and_tell_the_time),
        T(ids_of_several_threads_differ),
        T(a_write_changes_only_what_its_program_changed),
        T(held_writes_are_one_transaction),
        T(settings_are_written_when_they_rest),
        T(drafts_belong_to_conversations_and_to_the_program_that_types_them),
        T(a_draft_is_on_disk_within_a_second),
        T(the_history_is_all_that_was_typed_newest_first),
        T(each_event_is_notified),
        T(two_programs_share_a_file),
        T(programs_that_write_at_the_same_time_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
