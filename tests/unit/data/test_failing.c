/* What the store does where the disk, the file or another program stands in the way; and that a killed program loses
 * nothing. */
#include "store_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define NOBODY 65534

static void expect_refused(const char *path, const char *words)
{
    struct store *s = store_open(path, NULL, NULL, test_err, sizeof test_err);
    struct store_event *e = expect(s, STORE_OPEN_FAILED);
    snprintf(test_err, sizeof test_err, "%s", e->text);
    store_event_free(e);
    char ignored[512];
    assert_true(store_close(s, ignored, sizeof ignored)); /* there was nothing to save */
    if (!strstr(test_err, words))
        fail_msg("\"%s\" instead of \"%s\"", test_err, words);
    assert_null(strchr(test_err, '\n'));
}

static void write_file(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "w");
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static int mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

/* ---- places ---- */

static void the_file_is_private_in_a_private_directory_whatever_the_umask(void **state)
{
    (void)state;
    char path[256], file[300];
    const mode_t masks[] = {0, 022, 0777};
    for (size_t i = 0; i < 3; i++) {
        mode_t before = umask(masks[i]);
        snprintf(path, sizeof path, "%s/%zu/b", test_dir, i);
        snprintf(file, sizeof file, "%s/chinwag.db", path);
        struct store *s = open_at(file);
        put_conversation(s, 1, 0, "");
        close_ok(s);
        umask(before);
        assert_int_equal(mode_of(path), 0700);
        assert_int_equal(mode_of(file), 0600);
        strcat(file, "-journal");
        assert_int_equal(mode_of(file), 0600);
    }
    snprintf(path, sizeof path, "%s/0", test_dir);
    assert_int_equal(mode_of(path), 0700);
}

static void a_directory_that_was_there_keeps_its_mode_and_an_open_file_loses_it(void **state)
{
    (void)state;
    close_ok(open_at(test_db));
    chmod(test_dir, 0755);
    chmod(test_db, 0644);
    close_ok(open_at(test_db));
    assert_int_equal(mode_of(test_dir), 0755);
    assert_int_equal(mode_of(test_db), 0600);
}

static void what_is_no_file_of_ours_is_refused_and_left_alone(void **state)
{
    (void)state;
    char text[] = "Dear diary, this is no database but a text of some length that a person would miss.";
    expect_refused(test_dir, "is a directory");
    expect_refused("/dev/null", "not a database file");
    expect_refused("/dev/null/chinwag.db", "Not a directory");
    expect_refused("/proc/chinwag/chinwag.db", "No such file");
    expect_refused("", "No such file");

    for (size_t n = 2; n < sizeof text; n += 40) { /* SQLite takes one byte for none */
        write_file(test_db, text, n);
        expect_refused(test_db, "is not a chinwag database");
        char back[sizeof text] = "";
        FILE *f = fopen(test_db, "r");
        assert_int_equal(fread(back, 1, sizeof back, f), n);
        fclose(f);
        assert_memory_equal(back, text, n);
    }

    unlink(test_db);
    expect_sql(test_db, "CREATE TABLE bookmarks(url); INSERT INTO bookmarks VALUES('x')", NULL);
    expect_refused(test_db, "another program's database");
    expect_sql(test_db, "SELECT count(*) FROM sqlite_schema", "1");
    expect_sql(test_db, "PRAGMA user_version", "0");
}

static void a_later_version_is_refused_and_left_alone(void **state)
{
    (void)state;
    struct store *s = open_at(test_db);
    put_conversation(s, 1, 0, "from the future");
    close_ok(s);
    expect_sql(test_db, "PRAGMA user_version", "2");
    expect_sql(test_db, "PRAGMA application_id", "1667790695");
    expect_sql(test_db, "PRAGMA user_version = 9", NULL);
    expect_refused(test_db, "later version");
    expect_sql(test_db, "SELECT title FROM conversation", "from the future");
}

/* Runs a test as a user whom permissions bind: the exit status, 0 for success. */
static int as_nobody(int (*test)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
            _exit(99);
        _exit(test());
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static int cannot_open(const char *path, const char *words)
{
    struct store *s = store_open(path, NULL, NULL, test_err, sizeof test_err);
    struct store_event *e = next_event(s, PATIENCE_MS);
    bool refused =
        e && e->type == STORE_OPEN_FAILED && strstr(e->text, words) && strstr(e->text, "Permission denied");
    if (!refused)
        fprintf(stderr, "%s: \"%s\"\n", path, e && e->text ? e->text : "");
    store_event_free(e);
    store_close(s, test_err, sizeof test_err);
    return !refused;
}

static int open_in_closed_directory(void)
{
    char below[200];
    snprintf(below, sizeof below, "%s/new/chinwag.db", test_dir);
    return cannot_open(test_db, "cannot be made") + cannot_open(below, "cannot be made");
}

/* Everything that can be done with a file that can only be read; what is written is there until the store closes. */
static int use_read_only(const char *words)
{
    struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    struct store_event *e = expect(s, STORE_READ_ONLY);
    if (!strstr(e->text, words))
        fail_msg("\"%s\" instead of \"%s\"", e->text, words);
    store_event_free(e);
    drop(s, STORE_SETTINGS);
    expect_path(s, 1, 10, 11, 0);
    expect_found(s, "question", 0, 10, 0);
    e = load(s, 1);
    assert_int_equal(e->messages[1].state, STORE_INTERRUPTED); /* its program is gone */
    store_event_free(e);
    close_ok(s); /* nothing was written */

    s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    store_event_free(await(s, STORE_SETTINGS));
    put_message(s, 12, 1, 11, "not saved");
    store_put_setting(s, "key", "value");
    expect_path(s, 1, 10, 11, 12, 0);
    expect_found(s, "not saved", 0, 12, 0);
    store_delete(s, 1);
    expect_found(s, "not saved", 0, 0);
    assert_false(store_close(s, test_err, sizeof test_err));
    if (!strstr(test_err, words))
        fail_msg("\"%s\" instead of \"%s\"", test_err, words);
    return 0;
}

static int use_file_in_closed_directory(void)
{
    return use_read_only("directory cannot be written");
}

static int use_closed_file(void)
{
    return use_read_only("cannot be written: Permission denied");
}

static int use_file_on_closed_mount(void)
{
    return use_read_only("Read-only file system");
}

static void put_a_question_and_half_an_answer(const char *path)
{
    struct store *s = open_at(path);
    put_conversation(s, 1, 0, "kept");
    put_message(s, 10, 1, 0, "question");
    put_state(s, 11, 1, 10, STORE_STREAMING, "half");
    close_ok(s);
}

static void a_read_only_file_or_directory_can_be_read(void **state)
{
    (void)state;
    put_a_question_and_half_an_answer(test_db);
    chmod(test_db, 0666);
    chmod(test_dir, 0555);
    assert_int_equal(as_nobody(use_file_in_closed_directory), 0);
    chmod(test_dir, 0777);
    chmod(test_db, 0444);
    assert_int_equal(as_nobody(use_closed_file), 0);
    expect_sql(test_db, "SELECT group_concat(id) FROM message", "10,11");
    expect_sql(test_db, "SELECT state FROM message WHERE id = 11", "1");
}

static void a_file_on_a_read_only_mount_can_be_read(void **state)
{
    (void)state;
    put_a_question_and_half_an_answer(test_db);
    if (mount(test_dir, test_dir, NULL, MS_BIND, NULL) != 0 ||
        mount(test_dir, test_dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0)
        skip(); /* only root may mount */
    assert_int_equal(use_file_on_closed_mount(), 0);
    umount(test_dir);
}

/* A file of an earlier version cannot be migrated where it is. */
static void a_read_only_file_of_an_earlier_version_is_migrated_in_memory(void **state)
{
    (void)state;
    char command[200];
    snprintf(command, sizeof command, "cp tests/unit/data/version1.db %s", test_db);
    assert_int_equal(system(command), 0);
    if (mount(test_dir, test_dir, NULL, MS_BIND, NULL) != 0 ||
        mount(test_dir, test_dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0)
        skip();
    struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    store_event_free(await(s, STORE_SETTINGS));
    struct store_event *e = load(s, 0);
    assert_int_equal(e->n, 8);
    store_event_free(e);
    store_search(s, "kettle is on", 0, 1);
    e = await(s, STORE_FOUND);
    assert_int_equal(e->n, 1);
    store_event_free(e);
    close_ok(s);
    umount(test_dir);
    expect_sql(test_db, "PRAGMA user_version", "1");
}

static void a_damaged_file_on_a_read_only_mount_is_read_into_memory(void **state)
{
    (void)state;
    put_a_question_and_half_an_answer(test_db);
    FILE *f = fopen(test_db, "r+");
    assert_int_equal(fwrite("damaged, damaged", 1, 16, f), 16);
    fclose(f);
    if (mount(test_dir, test_dir, NULL, MS_BIND, NULL) != 0 ||
        mount(test_dir, test_dir, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0)
        skip();
    struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    struct store_event *e = expect(s, STORE_NOTICE);
    assert_non_null(strstr(e->text, "Saved: 2 messages"));
    assert_non_null(strstr(e->text, "left as it was"));
    store_event_free(e);
    drop(s, STORE_READ_ONLY);
    drop(s, STORE_SETTINGS);
    expect_path(s, 1, 10, 11, 0);
    close_ok(s);
    umount(test_dir);
}

static void a_symbolic_link_without_a_target_gets_it(void **state)
{
    (void)state;
    char target[160], link[160];
    snprintf(target, sizeof target, "%s/target.db", test_dir);
    snprintf(link, sizeof link, "%s/link.db", test_dir);
    assert_int_equal(symlink("target.db", link), 0);
    assert_int_equal(symlink("link.db", test_db), 0);
    put_a_question_and_half_an_answer(test_db);
    assert_int_equal(mode_of(target), 0600);
    expect_sql(target, "SELECT count(*) FROM message", "2");
    unlink(link);
    assert_int_equal(symlink("missing/target.db", link), 0); /* a missing mount must not become a directory */
    expect_refused(test_db, "No such file");
    unlink(link);
    assert_int_equal(symlink("chinwag.db", link), 0);
    expect_refused(test_db, "symbolic links");
}

static void permissions_that_forbid_it_are_named(void **state)
{
    (void)state;
    chmod(test_dir, 0555);
    assert_int_equal(as_nobody(open_in_closed_directory), 0);
    chmod(test_dir, 0777);
}

/* ---- writes that fail for a while ---- */

static void expect_text(const struct store_event *e, size_t i, const char *text)
{
    assert_true(i < e->n);
    assert_string_equal(e->messages[i].text, text);
}

static void take_space(const char *path, size_t n)
{
    FILE *f = fopen(path, "w");
    for (size_t i = 0; i < n; i++)
        fputc(0, f);
    fclose(f); /* fails, when there is no space left: that is meant */
}

/* Everything that must hold from the moment the disk is full until there is room again. make_room ends the
 * shortage. */
static void survive(const char *path, struct store *s, void (*make_room)(void))
{
    char *big = calloc(300001, 1);
    memset(big, 'w', 300000);
    put_state(s, 11, 1, 10, STORE_STREAMING, big);
    struct store_event *e = await(s, STORE_FAILING);
    assert_non_null(strstr(e->text, path));
    print_message("%s\n", e->text);
    store_event_free(e);
    put_state(s, 11, 1, 10, STORE_COMPLETE, "the answer in the end");
    put_message(s, 12, 1, 11, big);
    put_message(s, 13, 1, 12, "求救");
    put_conversation(s, 2, 0, "begun meanwhile");
    store_put_setting(s, "key", "value");

    /* Queries are answered as if all had been written. */
    e = load(s, 1);
    assert_int_equal(e->n, 4);
    expect_text(e, 1, "the answer in the end");
    expect_text(e, 2, big);
    expect_text(e, 3, "求救");
    store_event_free(e);
    expect_found(s, "answer in", 0, 11, 0);
    expect_found(s, "求救", 0, 13, 0);
    store_list(s, 0);
    e = expect(s, STORE_LIST);
    assert_int_equal(e->n, 2);
    store_event_free(e);
    e = next_event(s, 2500); /* it is tried again, but said only once */
    assert_null(e);
    expect_sql(path, "SELECT count(*) FROM message WHERE id > 11",
               "0"); /* in order: the small one waits for the big */

    make_room();
    drop(s, STORE_RECOVERED);
    e = load(s, 1);
    assert_int_equal(e->n, 4);
    expect_text(e, 2, big);
    store_event_free(e);
    close_ok(s);
    expect_sql(path, "SELECT group_concat(id) FROM (SELECT id FROM message ORDER BY id)", "10,11,12,13");
    expect_sql(path, "SELECT text FROM message WHERE id = 11", "the answer in the end");
    expect_sql(path, "SELECT text FROM message WHERE id = 12", big);
    expect_sql(path, "SELECT title FROM conversation WHERE id = 2", "begun meanwhile");
    expect_sql(path, "SELECT value FROM setting", "value");
    expect_sound(path);
    free(big);
}

static struct store *open_with_a_question(const char *path)
{
    struct store *s = open_at(path);
    put_conversation(s, 1, 0, "kept");
    put_message(s, 10, 1, 0, "question");
    expect_path(s, 1, 10, 0);
    return s;
}

static char filler[160];

static void remove_filler(void)
{
    unlink(filler);
}

static void a_full_disk_loses_nothing(void **state)
{
    (void)state;
    if (mount("tmpfs", test_dir, "tmpfs", 0, "size=2m") != 0)
        skip();
    snprintf(filler, sizeof filler, "%s/filler", test_dir);
    struct store *s = open_with_a_question(test_db);
    take_space(filler, 2 << 20);
    survive(test_db, s, remove_filler);
    umount(test_dir);
}

/* Even an answer that a killed program left cannot be marked: it is shown as interrupted all the same. */
static void a_full_disk_can_be_opened_and_read(void **state)
{
    (void)state;
    if (mount("tmpfs", test_dir, "tmpfs", 0, "size=1m") != 0)
        skip();
    struct store *s = open_with_a_question(test_db);
    put_state(s, 11, 1, 10, STORE_STREAMING, "half");
    close_ok(s);
    char journal[160];
    snprintf(journal, sizeof journal, "%s-journal", test_db);
    unlink(journal); /* its space would do for a small write */
    snprintf(filler, sizeof filler, "%s/filler", test_dir);
    take_space(filler, 1 << 20);
    s = open_at(test_db);
    struct store_event *e = load(s, 1);
    expect_text(e, 1, "half");
    assert_int_equal(e->messages[1].state, STORE_INTERRUPTED);
    store_event_free(e);
    close_ok(s);
    expect_sql(test_db, "SELECT state FROM message WHERE id = 11", "1");
    unlink(filler);
    close_ok(open_at(test_db));
    expect_sql(test_db, "SELECT state FROM message WHERE id = 11", "2");
    umount(test_dir);
}

static struct rlimit file_limit;

static void lift_file_limit(void)
{
    setrlimit(RLIMIT_FSIZE, &file_limit);
}

/* As an over-full quota behaves: EFBIG, and a SIGXFSZ that must not end the program. */
static void a_limit_of_the_file_size_loses_nothing(void **state)
{
    (void)state;
    struct store *s = open_with_a_question(test_db);
    struct stat st;
    stat(test_db, &st);
    getrlimit(RLIMIT_FSIZE, &file_limit);
    struct rlimit low = {.rlim_cur = (rlim_t)st.st_size, .rlim_max = file_limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &low);
    survive(test_db, s, lift_file_limit);
}

static void a_file_that_is_away_for_a_while_loses_nothing(void **state)
{
    (void)state;
    struct store *s = open_with_a_question(test_db);
    char aside[160];
    snprintf(aside, sizeof aside, "%s.aside", test_db);
    rename(test_db, aside);
    put_message(s, 11, 1, 10, "while the file is away");
    struct store_event *e = expect(s, STORE_FAILING);
    assert_non_null(strstr(e->text, "No such file"));
    store_event_free(e);
    sleep(2);
    assert_int_equal(access(test_db, F_OK), -1); /* no new file is begun in its place */
    rename(aside, test_db);
    drop(s, STORE_RECOVERED);
    close_ok(s);
    expect_sql(test_db, "SELECT count(*) FROM message", "2");
}

/* The mount is pulled away under the store, and comes back with the file as it was. */
static void a_lost_mount_that_comes_back_loses_nothing(void **state)
{
    (void)state;
    char disk[160], path[200];
    snprintf(disk, sizeof disk, "%s/disk", test_dir);
    snprintf(path, sizeof path, "%s/mnt/chinwag.db", test_dir);
    mkdir(disk, 0700);
    struct store *s = NULL;
    char at[160];
    snprintf(at, sizeof at, "%s/mnt", test_dir);
    mkdir(at, 0700);
    if (mount(disk, at, NULL, MS_BIND, NULL) != 0)
        skip();
    s = open_with_a_question(path);
    assert_int_equal(umount2(at, MNT_DETACH), 0);
    put_message(s, 11, 1, 10, "while the mount is lost");
    drop(s, STORE_FAILING);
    expect_path(s, 1, 10, 11, 0);
    sleep(2);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(mount(disk, at, NULL, MS_BIND, NULL), 0);
    drop(s, STORE_RECOVERED);
    close_ok(s);
    expect_sql(path, "SELECT count(*) FROM message", "2");
    umount(at);
}

/* ---- other programs ---- */

static sqlite3 *lock_file(const char *how)
{
    sqlite3 *other;
    assert_int_equal(sqlite3_open(test_db, &other), SQLITE_OK);
    sqlite3_busy_timeout(other, PATIENCE_MS);
    assert_int_equal(sqlite3_exec(other, how, NULL, NULL, NULL), SQLITE_OK);
    return other;
}

static void another_programs_lock_is_waited_out(void **state)
{
    (void)state;
    struct store *s = open_with_a_question(test_db);
    sqlite3 *other = lock_file("BEGIN IMMEDIATE");
    put_message(s, 11, 1, 10, "kept");
    struct store_event *e = expect(s, STORE_FAILING);
    assert_non_null(strstr(e->text, "another program"));
    store_event_free(e);
    expect_path(s, 1, 10, 0); /* what is in the file can be read */
    expect_found(s, "question", 0, 10, 0);
    sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(other);
    drop(s, STORE_RECOVERED);
    expect_path(s, 1, 10, 11, 0);
    close_ok(s);
}

static void a_message_is_saved_when_it_is_in_the_file_and_not_before(void **state)
{
    (void)state;
    struct store *s = open_with_a_question(test_db);
    sqlite3 *other = lock_file("BEGIN IMMEDIATE");
    store_put_message(
        s, &(struct store_message){.id = 12, .conversation = 1, .parent = 10, .role = STORE_USER, .text = "later"});
    struct store_event *e;
    while ((e = store_wait(s, PATIENCE_MS)) && e->type != STORE_FAILING) {
        assert_true(e->type != STORE_SAVED || e->message != 12);
        store_event_free(e);
    }
    store_event_free(e);
    sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(other);
    e = await(s, STORE_SAVED);
    assert_true(e->message == 12 && e->conversation.id == 1);
    store_event_free(e);
    put_message(s, 13, 1, 12, "an answer");
    drop(s, STORE_RECOVERED);
    store_list(s, 5);
    e = store_wait(s, PATIENCE_MS); /* an answer is not announced */
    assert_int_equal(e->type, STORE_LIST);
    store_event_free(e);
    close_ok(s);
}

static void opening_a_locked_file_returns_at_once_and_keeps_what_is_written(void **state)
{
    (void)state;
    close_ok(open_with_a_question(test_db));
    sqlite3 *other = lock_file("BEGIN EXCLUSIVE");
    struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    assert_non_null(s);
    put_message(s, 11, 1, 10, "typed while the file is locked");
    struct store_event *e = expect(s, STORE_FAILING);
    assert_non_null(strstr(e->text, "another program"));
    store_event_free(e);
    store_load(s, 1, 7);
    sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(other);
    drop(s, STORE_RECOVERED);
    drop(s, STORE_SETTINGS);
    e = expect(s, STORE_LOADED);
    assert_int_equal(e->tag, 7);
    assert_int_equal(e->n, 2);
    store_event_free(e);
    close_ok(s);
}

static void closing_a_store_that_never_opened_loses_only_what_was_queued(void **state)
{
    (void)state;
    close_ok(open_with_a_question(test_db));
    sqlite3 *other = lock_file("BEGIN EXCLUSIVE");
    struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    store_list(s, 1);
    close_ok(s);
    s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    put_message(s, 11, 1, 10, "never written");
    assert_false(store_close(s, test_err, sizeof test_err));
    assert_non_null(strstr(test_err, "another program"));
    sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(other);
}

static void closing_while_writes_fail_says_so(void **state)
{
    (void)state;
    struct store *s = open_with_a_question(test_db);
    sqlite3 *other = lock_file("BEGIN IMMEDIATE");
    put_message(s, 11, 1, 10, "never written");
    put_message(s, 12, 1, 11, "nor this");
    store_list(s, 0);
    assert_false(store_close(s, test_err, sizeof test_err));
    assert_non_null(strstr(test_err, "another program"));
    sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(other);
}

/* ---- killed programs ---- */

static void wait_for_byte(int fd)
{
    char c;
    assert_int_equal(read(fd, &c, 1), 1);
}

/* A program that streams an answer, says so on the pipe, and waits to be killed. */
static pid_t start_streaming(int *said)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
        put_conversation(s, 1, 0, "");
        put_message(s, 10, 1, 0, "question");
        put_state(s, 11, 1, 10, STORE_STREAMING, "half an ans");
        store_event_free(await(s, STORE_SETTINGS));
        store_list(s, 0);
        store_event_free(await(s, STORE_LIST));
        if (write(fds[1], "x", 1) == 1)
            pause();
        _exit(0);
    }
    close(fds[1]);
    *said = fds[0];
    return child;
}

static enum store_state answer_state(struct store *s)
{
    struct store_event *e = load(s, 1);
    assert_int_equal(e->n, 2);
    assert_string_equal(e->messages[1].text, "half an ans");
    enum store_state is = e->messages[1].state;
    store_event_free(e);
    return is;
}

static void only_answers_of_killed_programs_are_interrupted(void **state)
{
    (void)state;
    int said;
    pid_t child = start_streaming(&said);
    wait_for_byte(said);
    struct store *s = open_at(test_db);
    assert_int_equal(answer_state(s), STORE_STREAMING); /* its program lives */
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(answer_state(s), STORE_INTERRUPTED); /* seen by those who have the file open */
    close_ok(s);
    expect_sql(test_db, "SELECT state FROM message WHERE id = 11", "1");
    close_ok(open_at(test_db));
    expect_sql(test_db, "SELECT state FROM message WHERE id = 11", "2"); /* and set right by the next to open it */
    expect_sound(test_db);
    close(said);
}

static void a_store_of_the_same_program_is_alive_too(void **state)
{
    (void)state;
    struct store *a = open_at(test_db);
    put_conversation(a, 1, 0, "");
    put_message(a, 10, 1, 0, "question");
    put_state(a, 11, 1, 10, STORE_STREAMING, "half an ans");
    assert_int_equal(answer_state(a), STORE_STREAMING);
    struct store *b = open_at(test_db);
    assert_int_equal(answer_state(b), STORE_STREAMING);
    close_ok(a);
    assert_int_equal(answer_state(b), STORE_INTERRUPTED);
    close_ok(b);
}

/* Writes pieces as fast as it can; reports each length that is durable: when the query behind it has been
 * answered. */
static void write_until_killed(int fd)
{
    static char text[1 << 20];
    struct store *s = store_open(test_db, NULL, NULL, test_err, sizeof test_err);
    store_event_free(await(s, STORE_SETTINGS));
    store_id answer = 0, parent = 0;
    for (uint32_t n = 0;; n++) {
        if (n % 20 == 0) { /* a new answer now and then */
            if (answer)
                put_state(s, answer, 1, parent, STORE_COMPLETE, text);
            parent = answer;
            answer = store_new_id();
            *text = '\0';
        }
        sprintf(text + strlen(text), "%u 字 ", n);
        put_state(s, answer, 1, parent, STORE_STREAMING, text);
        store_list(s, 0);
        store_event_free(await(s, STORE_LIST));
        if (write(fd, &n, sizeof n) != sizeof n)
            _exit(1);
    }
}

static void kill_9_loses_no_acknowledged_word(void **state)
{
    (void)state;
    uint32_t last = 0, n;
    for (int round = 0; round < 12; round++) {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            close(fds[0]);
            write_until_killed(fds[1]);
        }
        close(fds[1]);
        wait_for_byte(fds[0]);
        char rest[sizeof n - 1];
        assert_int_equal(read(fds[0], rest, sizeof rest), sizeof rest);
        usleep(20000 + (useconds_t)(round * 7919 % 60000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(fds[0], &n, sizeof n) == sizeof n)
            last = n;
        close(fds[0]);

        struct store *s = open_at(test_db);
        struct store_event *e = load(s, 1);
        char needle[32];
        uint32_t found = 0;
        for (size_t i = 0; i < e->n; i++) {
            assert_int_not_equal(e->messages[i].state, STORE_STREAMING);
            for (snprintf(needle, sizeof needle, "%u 字 ", found); strstr(e->messages[i].text, needle);
                 snprintf(needle, sizeof needle, "%u 字 ", ++found))
                ;
        }
        assert_true(found > last);
        store_event_free(e);
        store_delete(s, 1);
        close_ok(s);
        expect_sound(test_db);
        last = 0;
    }
}

static void the_thread_takes_no_signals(void **state)
{
    (void)state;
    struct store *s = open_at(NULL);
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    assert_int_equal(sigismember(&now, SIGTERM), 0); /* and the caller's mask is what it was */
    char path[64], line[256];
    int threads = 0, blocked = 0;
    for (int tid = getpid(); tid < getpid() + 2000; tid++) {
        snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
        FILE *f = fopen(path, "r");
        if (!f)
            continue;
        threads++;
        while (fgets(line, sizeof line, f))
            if (strncmp(line, "SigBlk:", 7) == 0)
                blocked += (strtoull(line + 7, NULL, 16) & (1u << (SIGTERM - 1) | 1u << (SIGINT - 1))) != 0;
        fclose(f);
    }
    close_ok(s);
    if (threads == 0)
        skip(); /* no /proc */
    assert_int_equal(blocked, threads - 1);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        T(the_file_is_private_in_a_private_directory_whatever_the_umask),
        T(a_directory_that_was_there_keeps_its_mode_and_an_open_file_loses_it),
        T(what_is_no_file_of_ours_is_refused_and_left_alone),
        T(a_later_version_is_refused_and_left_alone),
        T(permissions_that_forbid_it_are_named),
        T(a_read_only_file_or_directory_can_be_read),
        T(a_file_on_a_read_only_mount_can_be_read),
        T(a_read_only_file_of_an_earlier_version_is_migrated_in_memory),
        T(a_damaged_file_on_a_read_only_mount_is_read_into_memory),
        T(a_symbolic_link_without_a_target_gets_it),
        T(a_full_disk_loses_nothing),
        T(a_full_disk_can_be_opened_and_read),
        T(a_limit_of_the_file_size_loses_nothing),
        T(a_file_that_is_away_for_a_while_loses_nothing),
        T(a_lost_mount_that_comes_back_loses_nothing),
        T(another_programs_lock_is_waited_out),
        T(a_message_is_saved_when_it_is_in_the_file_and_not_before),
        T(opening_a_locked_file_returns_at_once_and_keeps_what_is_written),
        T(closing_a_store_that_never_opened_loses_only_what_was_queued),
        T(closing_while_writes_fail_says_so),
        T(only_answers_of_killed_programs_are_interrupted),
        T(a_store_of_the_same_program_is_alive_too),
        T(kill_9_loses_no_acknowledged_word),
        T(the_thread_takes_no_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
