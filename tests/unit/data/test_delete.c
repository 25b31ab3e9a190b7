/* Deleted text is in no file any more: not in the pages, not in the search index, not in the journal. */
#include "store_test.h"

#include <dirent.h>

#define SECRET "zanzibarquux 918273645"

/* Its trigrams that occur in no other text here, and the text itself. */
static const char *const traces[] = {SECRET, "zanzibar", "anz", "nzi", "zib", "rqu",
                                     "quu",  "uux",      "918", "827", "736"};

/* How often the traces occur in all files of the directory, each counted once per file at least. */
static int traces_left(void)
{
    int n = 0;
    DIR *dir = opendir(test_dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", test_dir, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!f)
            continue;
        struct stat st;
        fstat(fileno(f), &st);
        char *bytes = malloc((size_t)st.st_size + 1);
        size_t size = fread(bytes, 1, (size_t)st.st_size, f);
        for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
            n += memmem(bytes, size, traces[i], strlen(traces[i])) != NULL;
        free(bytes);
        fclose(f);
    }
    closedir(dir);
    return n;
}

static void put_others(struct store *s, int n)
{
    for (int i = 0; i < n; i++) {
        char text[200];
        snprintf(text, sizeof text, "an ordinary message about tea, bread and honey, the letter %c", 'a' + i % 26);
        put_conversation(s, 100 + i, 0, "tea");
        put_message(s, 10000 + 2 * i, 100 + i, 0, text);
        put_message(s, 10001 + 2 * i, 100 + i, 10000 + 2 * i, "yes, with honey");
    }
}

static void put_secret(struct store *s)
{
    put_conversation(s, 1, 0, SECRET);
    put_message(s, 10, 1, 0, "what is " SECRET "?");
    put_state(s, 11, 1, 10, STORE_STREAMING, "it is " SECRET);
    put_state(s, 11, 1, 10, STORE_COMPLETE, "it is " SECRET " indeed");
    put_message(s, 12, 1, 10, "another answer: " SECRET); /* as after asking for the answer again */
    store_put_summary(
        s, &(struct store_summary){.id = 5, .conversation = 1, .last = 12, .text = SECRET, .method = "model"});
}

static void settle(struct store *s)
{
    store_list(s, 1);
    store_event_free(expect(s, STORE_LIST));
}

/* The files are looked at while the store is open: as a killed program would leave them. */
static void delete_among(int before, int after)
{
    struct store *s = open_at(test_db);
    put_others(s, before);
    put_secret(s);
    settle(s);
    assert_true(traces_left() >= (int)(sizeof traces / sizeof *traces));
    for (int i = 0; i < after; i++) {
        put_conversation(s, 50000 + i, 0, "coffee");
        put_message(s, 60000 + i, 50000 + i, 0, "coffee with milk");
    }
    store_delete(s, 1);
    settle(s);
    assert_int_equal(traces_left(), 0);
    put_message(s, 90000, 100, 0, "life goes on");
    close_ok(s);
    assert_int_equal(traces_left(), 0);
    expect_sound(test_db);
}

static void a_deleted_conversation_leaves_no_trace(void **state)
{
    (void)state;
    delete_among(0, 0);
}

static void one_of_two_hundred_leaves_no_trace(void **state)
{
    (void)state;
    delete_among(120, 80);
}

static void one_deleted_in_a_later_run_leaves_no_trace(void **state)
{
    (void)state;
    struct store *s = open_at(test_db);
    put_others(s, 10);
    put_secret(s);
    close_ok(s);
    s = open_at(test_db);
    store_delete(s, 1);
    close_ok(s);
    assert_int_equal(traces_left(), 0);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        T(a_deleted_conversation_leaves_no_trace),
        T(one_of_two_hundred_leaves_no_trace),
        T(one_deleted_in_a_later_run_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
