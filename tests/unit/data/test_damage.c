/* A damaged file is opened all the same: every message that SQLite can read is kept, the damaged file stays beside the
 * new one, and the search index is built again. CHINWAG_SEED=N, CHINWAG_ROUNDS=N repeat or lengthen the random part. */
#include "store_test.h"

#include <dirent.h>

#define PAGE 4096
#define CONVERSATIONS 4
#define MESSAGES 40 /* per conversation; each with a word of its own */

/* ---- files to damage ---- */

static void word_of(int message, char *word)
{
    sprintf(word, "word%04dx", message);
}

/* Conversations 1.. with messages 1000 * c + i, some longer than a page. */
static void write_conversations(void)
{
    struct store *s = open_at(test_db);
    for (int c = 1; c <= CONVERSATIONS; c++) {
        char text[10000], word[16];
        put_conversation(s, c, 0, "a title");
        for (int i = 0; i < MESSAGES; i++) {
            int id = 1000 * c + i;
            size_t n = i % 10 == 9 ? sizeof text - 1 : 300;
            memset(text, 'a' + i % 26, n);
            text[n] = '\0';
            word_of(id, word);
            memcpy(text + n - strlen(word), word, strlen(word));
            put_message(s, id, c, i ? id - 1 : 0, text);
        }
    }
    store_put_setting(s, "temperature", "0.5");
    close_ok(s);
}

static long file_size(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (long)st.st_size;
}

static void overwrite(const char *path, long at, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* Fills the pages of a table or index with garbage, but for every keep-th. */
static void destroy_pages(const char *name, int keep)
{
    char sql[160], garbage[PAGE];
    memset(garbage, 0x77, sizeof garbage);
    snprintf(sql, sizeof sql, "SELECT group_concat(pageno) FROM dbstat WHERE name = '%s'", name);
    char *pages = sql_text(test_db, sql);
    assert_non_null(pages);
    int i = 0;
    for (char *page = strtok(pages, ","); page; page = strtok(NULL, ","))
        if (++i % keep == 0)
            overwrite(test_db, (atol(page) - 1) * PAGE, garbage, sizeof garbage);
    free(pages);
}

/* How many databases in the test's directory have this in their name. */
static int files_named(const char *part)
{
    int n = 0;
    DIR *dir = opendir(test_dir);
    for (struct dirent *e; (e = readdir(dir));)
        n += strstr(e->d_name, part) && !strstr(e->d_name, "-journal");
    closedir(dir);
    return n;
}

/* ---- what must hold afterwards ---- */

/* Opens the file; the notices that come before the settings are in notice. */
static struct store *open_damaged(char *notice, size_t cap)
{
    struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    struct store_event *e;
    *notice = '\0';
    while ((e = store_wait(s, PATIENCE_MS)) && e->type != STORE_SETTINGS) {
        if (e->type != STORE_NOTICE)
            fail_msg("event %d: %s", e->type, e->text ? e->text : "");
        snprintf(notice, cap, "%s", e->text);
        store_event_free(e);
    }
    assert_non_null(e);
    store_event_free(e);
    return s;
}

static void expect_all_messages(struct store *s)
{
    for (int c = 1; c <= CONVERSATIONS; c++) {
        store_load(s, c, 5);
        struct store_event *e = await(s, STORE_LOADED);
        assert_int_equal(e->n, MESSAGES);
        for (int i = 0; i < MESSAGES; i++) {
            char word[16];
            word_of(1000 * c + i, word);
            assert_int_equal(e->messages[i].id, 1000 * c + i);
            assert_non_null(strstr(e->messages[i].text, word));
        }
        store_event_free(e);
    }
}

static void expect_searchable(struct store *s, int message)
{
    char word[16];
    word_of(message, word);
    store_search(s, word, 0, 6);
    struct store_event *e = await(s, STORE_FOUND);
    assert_int_equal(e->n, 1);
    assert_int_equal(e->hits[0].message, message);
    store_event_free(e);
}

/* Waits until the index is there again: SQL asks it directly. */
static void wait_for_index(void)
{
    for (int i = 0; i < PATIENCE_MS / 50; i++) {
        char *n = sql_text(test_db, "SELECT count(*) FROM sqlite_schema WHERE name GLOB 'message_index_*'"
                                    " AND type = 'trigger'");
        bool there = strcmp(n, "3") == 0;
        free(n);
        if (there)
            return;
        usleep(50000);
    }
    fail_msg("the index was not built again");
}

/* ---- the index alone ---- */

static void expect_index_repaired(void)
{
    char notice[1024];
    struct store *s = open_damaged(notice, sizeof notice);
    expect_searchable(s, 1005);
    expect_all_messages(s);
    put_message(s, 5000, 1, 1039, "written after the repair");
    expect_searchable(s, 2017);
    wait_for_index();
    expect_found(s, "after the repair", 0, 5000, 0);
    store_delete(s, 1);
    expect_found(s, "after the repair", 0, 0);
    close_ok(s);
    expect_sound(test_db);
    s = open_damaged(notice, sizeof notice); /* once is enough */
    assert_string_equal(notice, "");
    close_ok(s);
}

static void an_index_without_its_structure_is_built_again(void **state)
{
    (void)state;
    write_conversations();
    expect_sql(test_db, "DELETE FROM message_index_data WHERE id = 10", NULL);
    expect_index_repaired();
    assert_int_equal(files_named(".damaged-"), 0);
}

static void an_index_that_lost_any_of_its_tables_is_built_again(void **state)
{
    (void)state;
    static const char *const damages[] = {
        "DELETE FROM message_index_data WHERE id > 10",
        "DELETE FROM message_index_data WHERE id = 1",
        "DELETE FROM message_index_data",
        "DELETE FROM message_index_idx",
        "DELETE FROM message_index_config",
        "UPDATE message_index_data SET block = zeroblob(length(block)) WHERE id > 10",
        "UPDATE message_index_data SET block = x'ffffffff' WHERE id > 10",
        "UPDATE message_index_config SET v = 99",
        "DROP TABLE message_index",
        "DROP TRIGGER message_index_insert",
        "DROP TABLE message_index_data",
        "DROP TABLE message_index_docsize",
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        print_message("%s\n", damages[i]);
        write_conversations();
        expect_sql(test_db, damages[i], NULL);
        expect_index_repaired();
        assert_int_equal(files_named(".damaged-"), 0);
        unlink(test_db);
    }
}

static void garbage_in_the_pages_of_the_index_loses_no_message(void **state)
{
    (void)state;
    for (int keep = 1; keep < 4; keep++) {
        write_conversations();
        destroy_pages("message_index_data", keep);
        char notice[1024];
        struct store *s = open_damaged(notice, sizeof notice);
        expect_searchable(s, 1005);
        expect_all_messages(s);
        put_message(s, 5000, 1, 1039, "written after the repair");
        store_list(s, 9);
        store_event_free(await(s, STORE_LIST));
        expect_searchable(s, 3001);
        wait_for_index();
        close_ok(s);
        expect_sound(test_db);
        unlink(test_db);
    }
}

/* ---- the tables ---- */

static void expect_salvaged(int at_least)
{
    char notice[1024], sql[80];
    struct store *s = open_damaged(notice, sizeof notice);
    for (int c = 1; c <= CONVERSATIONS; c++) {
        store_load(s, c, 5);
        struct store_event *e;
        while ((e = store_wait(s, PATIENCE_MS)) && e->type != STORE_LOADED) {
            assert_int_equal(e->type, STORE_NOTICE);
            snprintf(notice, sizeof notice, "%s", e->text);
            store_event_free(e);
        }
        assert_non_null(e);
        store_event_free(e);
    }
    print_message("%s\n", notice);
    assert_non_null(strstr(notice, "was damaged. Saved: "));
    assert_non_null(strstr(notice, ".damaged-"));
    assert_int_equal(files_named(".damaged-"), 1);
    put_conversation(s, 77, 0, "goes on");
    put_message(s, 78, 77, 0, "in the new file");
    expect_path(s, 77, 78, 0);
    close_ok(s);
    expect_sound(test_db);
    snprintf(sql, sizeof sql, "SELECT count(*) >= %d FROM message", at_least + 1);
    expect_sql(test_db, sql, "1");
}

static void garbage_in_the_pages_of_the_messages_loses_those_alone(void **state)
{
    (void)state;
    write_conversations();
    destroy_pages("message", 3);
    expect_salvaged(CONVERSATIONS * MESSAGES / 3);
}

static void a_lost_schema_loses_no_message(void **state)
{
    (void)state;
    char garbage[PAGE];
    memset(garbage, 0x77, sizeof garbage);
    write_conversations();
    overwrite(test_db, 100, garbage, sizeof garbage - 100);
    expect_salvaged(CONVERSATIONS * MESSAGES);
    expect_sql(test_db, "SELECT value FROM setting", "0.5");
}

static void a_lost_header_loses_no_message(void **state)
{
    (void)state;
    char garbage[100];
    memset(garbage, 0x77, sizeof garbage);
    for (size_t n = 16; n <= sizeof garbage; n += 28) {
        write_conversations();
        overwrite(test_db, 0, garbage, n);
        expect_salvaged(CONVERSATIONS * MESSAGES);
        unlink(test_db);
        char command[200];
        snprintf(command, sizeof command, "rm -f %s/*.damaged-*", test_dir);
        assert_int_equal(system(command), 0);
    }
}

static void a_truncated_file_keeps_what_is_left(void **state)
{
    (void)state;
    write_conversations();
    assert_int_equal(truncate(test_db, file_size(test_db) / 2 / PAGE * PAGE), 0);
    expect_salvaged(1);
}

static void a_file_cut_to_its_first_page_gives_way_to_a_new_one(void **state)
{
    (void)state;
    write_conversations();
    assert_int_equal(truncate(test_db, PAGE), 0);
    expect_salvaged(0);
}

static void a_lost_message_leaves_its_neighbours_on_one_path(void **state)
{
    (void)state;
    write_conversations();
    expect_sql(test_db, "DELETE FROM message WHERE id = 1010", NULL); /* foreign keys are off here */
    char garbage[100];
    memset(garbage, 0x77, sizeof garbage);
    overwrite(test_db, 0, garbage, sizeof garbage);
    char notice[1024];
    struct store *s = open_damaged(notice, sizeof notice);
    assert_non_null(strstr(notice, "1 more could not be read"));
    struct store_event *e = load(s, 1);
    assert_int_equal(e->n, MESSAGES - 1);
    assert_int_equal(e->messages[10].id, 1011);
    assert_int_equal(e->messages[10].parent, 1009);
    store_event_free(e);
    close_ok(s);
}

/* It is another program's until that program closes it. */
static void a_damaged_file_that_another_store_has_open_is_repaired_later(void **state)
{
    (void)state;
    write_conversations();
    struct store *other = open_at(test_db);
    char garbage[100];
    memset(garbage, 0x77, sizeof garbage);
    overwrite(test_db, 0, garbage, sizeof garbage);
    struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    struct store_event *e = expect(s, STORE_FAILING);
    assert_non_null(strstr(e->text, "another program has it open"));
    store_event_free(e);
    close_ok(other);
    drop(s, STORE_RECOVERED);
    drop(s, STORE_NOTICE);
    drop(s, STORE_SETTINGS);
    expect_all_messages(s);
    close_ok(s);
}

/* ---- at random ---- */

static uint64_t random_state;

static uint32_t pick(uint32_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % n;
}

static void damage_at_random(const char *path)
{
    long size = file_size(path);
    char bytes[PAGE];
    for (uint32_t i = 0, n = 1 + pick(4); i < n; i++) {
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (char)pick(256);
        long page = (long)pick((uint32_t)(size / PAGE)) * PAGE;
        switch (pick(5)) {
        case 0: overwrite(path, page, bytes, PAGE); break;
        case 1: overwrite(path, page + pick(PAGE - 64), bytes, 1 + pick(63)); break;
        case 2: overwrite(path, page, bytes, 8 + pick(24)); break; /* its header and cell pointers */
        case 3: overwrite(path, pick(100), bytes, 1 + pick(8)); break;
        case 4:
            if (pick(4) == 0)
                assert_int_equal(truncate(path, size - (long)pick((uint32_t)size / 4)), 0);
            size = file_size(path);
            break;
        }
    }
}

/* The messages that SQLite itself reads from a damaged file by their ids: a bit each. */
static size_t readable(const char *path, bool *can, bool (*same)(int id, const char *text))
{
    sqlite3 *db;
    sqlite3_stmt *stmt = NULL;
    size_t n = 0;
    sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
    int rc = sqlite3_prepare_v2(db, "SELECT text FROM message WHERE id = ?1", -1, &stmt, NULL);
    for (int c = 1; rc == SQLITE_OK && c <= CONVERSATIONS; c++)
        for (int i = 0; i < MESSAGES; i++) {
            int id = 1000 * c + i;
            sqlite3_bind_int(stmt, 1, id);
            can[id] = sqlite3_step(stmt) == SQLITE_ROW && same(id, (const char *)sqlite3_column_text(stmt, 0));
            n += can[id];
            sqlite3_reset(stmt);
        }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return n;
}

static bool is_intact(int id, const char *text)
{
    char word[16];
    word_of(id, word);
    return text && strstr(text, word);
}

/* Uses the store as a program does. */
static void use(int round)
{
    struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    for (int c = 1; c <= CONVERSATIONS; c++)
        store_load(s, c, 1);
    store_search(s, "word1005x", 0, 2);
    store_search(s, "wo", 0, 3);
    put_conversation(s, 90, 0, "new");
    put_message(s, 9000 + round, 90, 0, "written into the damaged file");
    store_list(s, 4);
    struct store_event *e;
    while ((e = store_wait(s, PATIENCE_MS)) && e->type != STORE_LIST && e->type != STORE_OPEN_FAILED &&
           !(e->type == STORE_ERROR && e->tag == 4))
        store_event_free(e);
    assert_non_null(e);
    if (e->type != STORE_LIST)
        fail_msg("round %d: %s", round, e->text);
    store_event_free(e);
    if (!store_close(s, test_err, sizeof test_err))
        fail_msg("round %d: %s", round, test_err);
}

static void random_damage_never_loses_a_message_that_sqlite_can_read(void **state)
{
    (void)state;
    const char *seed = getenv("CHINWAG_SEED"), *count = getenv("CHINWAG_ROUNDS");
    int rounds = count ? atoi(count) : 60;
    size_t total = 0, repaired = 0;
    char whole[160], damaged[160], command[600];
    snprintf(whole, sizeof whole, "%s/whole", test_dir);
    snprintf(damaged, sizeof damaged, "%s/copy", test_dir);
    random_state = seed ? strtoull(seed, NULL, 10) : 1;
    write_conversations();
    copy_file(test_db, whole);
    for (int round = 0; round < rounds; round++) {
        static bool before[1000 * (CONVERSATIONS + 1)], after[1000 * (CONVERSATIONS + 1)];
        memset(before, 0, sizeof before);
        memset(after, 0, sizeof after);
        snprintf(command, sizeof command, "rm -f %s %s-journal %s.damaged-*", test_db, test_db, test_db);
        assert_int_equal(system(command), 0);
        copy_file(whole, test_db);
        damage_at_random(test_db);
        copy_file(test_db, damaged);
        total += readable(damaged, before, is_intact);
        use(round);
        readable(test_db, after, is_intact);
        for (size_t id = 0; id < sizeof before; id++)
            if (before[id] && !after[id])
                fail_msg("round %d: message %zu is lost", round, id);
        expect_sql(test_db, "SELECT text FROM message WHERE id >= 9000", "written into the damaged file");
        repaired += (size_t)files_named(".damaged-");
    }
    print_message("%d rounds, %zu of %d messages readable, %zu files put aside\n", rounds, total,
                  rounds * CONVERSATIONS * MESSAGES, repaired);
    assert_true(repaired > 0);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        T(an_index_without_its_structure_is_built_again),
        T(an_index_that_lost_any_of_its_tables_is_built_again),
        T(garbage_in_the_pages_of_the_index_loses_no_message),
        T(garbage_in_the_pages_of_the_messages_loses_those_alone),
        T(a_lost_schema_loses_no_message),
        T(a_lost_header_loses_no_message),
        T(a_truncated_file_keeps_what_is_left),
        T(a_file_cut_to_its_first_page_gives_way_to_a_new_one),
        T(a_lost_message_leaves_its_neighbours_on_one_path),
        T(a_damaged_file_that_another_store_has_open_is_repaired_later),
        T(random_damage_never_loses_a_message_that_sqlite_can_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
