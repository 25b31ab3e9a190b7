/* Files of earlier versions are migrated: nothing is lost, and an interrupted migration leaves the old file intact.
 *
 * version1.db was written by the last program with schema version 1: one conversation with a complete answer, one cut
 * by -n 2, one stopped with Esc, and one that was streaming when the program was killed. */
#include "store_test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define VERSION_1 "tests/unit/data/version1.db"
#define KILLS 60

static void copy_version_1(void)
{
    char block[4096];
    FILE *in = fopen(VERSION_1, "rb"), *out = fopen(test_db, "wb");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t n; (n = fread(block, 1, sizeof block, in)) > 0;)
        assert_int_equal(fwrite(block, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* Every word of the fixture, after its migration. */
static void expect_migrated(struct store *s)
{
    static const struct {
        const char *text;
        enum store_state state;
        enum store_end end;
    } messages[] = {
        {"Is the tea ready?", STORE_COMPLETE, STORE_END_UNKNOWN},
        {"The kettle is on.", STORE_COMPLETE, STORE_END_UNKNOWN},
        {"And the toast? 面包", STORE_COMPLETE, STORE_END_UNKNOWN},
        {"The kettle", STORE_COMPLETE, STORE_END_UNKNOWN},
        {"What does the clock say?", STORE_COMPLETE, STORE_END_UNKNOWN},
        {"It's", STORE_INTERRUPTED, STORE_END_UNKNOWN},
        {"And now?", STORE_COMPLETE, STORE_END_UNKNOWN},
        {"The", STORE_INTERRUPTED, STORE_END_INTERRUPTED}, /* it was streaming: its end is seen by this version */
    };
    struct store_event *e = load(s, 0);
    assert_string_equal(e->conversation.title, "Is the tea ready?");
    assert_int_equal(e->n, sizeof messages / sizeof *messages);
    for (size_t i = 0; i < e->n; i++) {
        assert_string_equal(e->messages[i].text, messages[i].text);
        assert_int_equal(e->messages[i].state, messages[i].state);
        assert_int_equal(e->messages[i].end, messages[i].end);
    }
    store_event_free(e);
    store_search(s, "面包", 0, 0);
    e = expect(s, STORE_FOUND);
    assert_int_equal(e->n, 1);
    store_event_free(e);
}

static void a_file_of_version_1_is_migrated_with_every_word(void **state)
{
    (void)state;
    copy_version_1();
    struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    assert_non_null(s);
    struct store_event *e = expect(s, STORE_SETTINGS);
    assert_int_equal(e->n, 1);
    assert_string_equal(e->settings[0].key, "temperature");
    store_event_free(e);
    expect_migrated(s);
    put_state(s, 99, 1, 0, STORE_COMPLETE, "new");
    close_ok(s);
    expect_sql(test_db, "PRAGMA user_version", "2");
    expect_sound(test_db);
}

static void why_an_answer_ended_survives_a_restart(void **state)
{
    (void)state;
    struct store *s = open_at(test_db);
    for (int end = STORE_END_UNKNOWN; end <= STORE_END_FAILED + 1; end++) /* the last: of a later version */
        store_put_message(s, &(struct store_message){.id = 10 + end,
                                                     .conversation = 1,
                                                     .parent = end ? 9 + end : 0,
                                                     .role = STORE_ASSISTANT,
                                                     .end = (enum store_end)end});
    close_ok(s);
    s = open_at(test_db);
    struct store_event *e = load(s, 1);
    assert_int_equal(e->n, STORE_END_FAILED + 2);
    for (size_t i = 0; i < e->n; i++)
        assert_int_equal(e->messages[i].end, i);
    store_event_free(e);
    close_ok(s);
}

/* In a child, where limits and kills hit nobody else: its exit status, or minus the signal that ended it. */
static int open_in_child(rlim_t largest_file, useconds_t kill_after_us)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        if (largest_file)
            setrlimit(RLIMIT_FSIZE, &(struct rlimit){largest_file, largest_file});
        struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
        struct store_event *e = store_wait(s, PATIENCE_MS);
        _exit(e && e->type == STORE_SETTINGS ? 0 : 1);
    }
    if (kill_after_us) {
        usleep(kill_after_us);
        kill(child, SIGKILL);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The index of version 1 is replaced by the store's thread as soon as nothing else is asked of it. */
static void wait_for_index(void)
{
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        char *n = sql_text(test_db, "SELECT count(*) FROM sqlite_schema WHERE name = 'message_index'");
        bool there = strcmp(n, "1") == 0;
        free(n);
        if (there)
            return;
        usleep(1000);
    }
    fail_msg("the index was not built");
}

static void a_migration_that_runs_out_of_space_leaves_the_old_file(void **state)
{
    (void)state;
    struct stat st;
    copy_version_1();
    assert_int_equal(stat(test_db, &st), 0);
    assert_int_equal(open_in_child((rlim_t)st.st_size, 0), 1);
    expect_sql(test_db, "PRAGMA user_version", "1"); /* rolls back what the journal holds */
    expect_sql(test_db, "PRAGMA integrity_check", "ok");
    struct store *s = open_at(test_db);
    expect_migrated(s);
    wait_for_index();
    close_ok(s);
    expect_sound(test_db);
}

static void a_killed_migration_is_whole_or_undone(void **state)
{
    (void)state;
    int killed = 0, undone = 0;
    for (int i = 0; i < KILLS; i++) {
        copy_version_1();
        killed += open_in_child(0, (useconds_t)(1 + i * 100)) == -SIGKILL;
        char *version = sql_text(test_db, "PRAGMA user_version");
        undone += strcmp(version, "1") == 0;
        assert_true(strcmp(version, "1") == 0 || strcmp(version, "2") == 0);
        free(version);
        struct store *s = open_at(test_db);
        expect_migrated(s);
        wait_for_index();
        close_ok(s);
        expect_sound(test_db);
    }
    print_message("killed %d of %d, %d of them before the migration was committed\n", killed, KILLS, undone);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        T(a_file_of_version_1_is_migrated_with_every_word),
        T(why_an_answer_ended_survives_a_restart),
        T(a_migration_that_runs_out_of_space_leaves_the_old_file),
        T(a_killed_migration_is_whole_or_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
