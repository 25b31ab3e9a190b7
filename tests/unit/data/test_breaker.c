/*
 * Several threads put, change, rename, delete, search and load at random, in two stores on one file, while the disk
 * is full now and then. In the end the file must hold exactly what each thread remembers, and each query must have
 * been answered. CHINWAG_SEED=N repeats a run, CHINWAG_OPERATIONS=N sets its length.
 */
#include "store_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define THREADS 4
#define CONVERSATIONS 5 /* per thread; only it writes there */
#define MESSAGES 400    /* most, per conversation */

struct remembered {
    store_id id;
    bool deleted;
    char title[32];
    store_id messages[MESSAGES], parents[MESSAGES];
    enum store_state states[MESSAGES];
    char *texts[MESSAGES];
    int n;
};

struct breaker {
    pthread_t thread;
    struct store *store;
    uint64_t random;
    int operations;
    struct remembered conversations[CONVERSATIONS];
    char setting[32]; /* last value of the setting named after the thread; "" = removed */
    int number;
};

static atomic_int asked, answered, refused, failures;
static atomic_bool over;

static uint32_t pick(struct breaker *b, uint32_t n)
{
    b->random = b->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(b->random >> 33) % n;
}

/* Words of several scripts; now and then long enough to fill pages of their own. */
static char *random_text(struct breaker *b)
{
    static const char *const words[] = {"rain ", "天气", "🦊 ",      "Ёлка ", "\n",
                                        "100% ", "a_b ", "\"quote\" ", "\xff",  "x"};
    size_t n = pick(b, 10) ? pick(b, 30) : pick(b, 4000);
    char *text = calloc(n + 1, 12), *end = text;
    for (size_t i = 0; i < n; i++)
        end = stpcpy(end, words[pick(b, sizeof words / sizeof *words)]);
    return text;
}

static void write_message(struct breaker *b, struct remembered *c, int i)
{
    put_state(b->store, c->messages[i], c->id, c->parents[i], c->states[i], c->texts[i]);
}

static void add_message(struct breaker *b, struct remembered *c)
{
    if (c->n == MESSAGES || c->deleted)
        return;
    int i = c->n++;
    c->messages[i] = store_new_id();
    c->parents[i] = i && pick(b, 8) ? c->messages[pick(b, (uint32_t)i)] : 0;
    c->states[i] = (enum store_state)pick(b, 3);
    c->texts[i] = random_text(b);
    write_message(b, c, i);
}

static void change_message(struct breaker *b, struct remembered *c)
{
    if (c->n == 0)
        return;
    int i = (int)pick(b, (uint32_t)c->n);
    free(c->texts[i]);
    c->texts[i] = random_text(b);
    c->states[i] = (enum store_state)pick(b, 3);
    write_message(b, c, i); /* also in a deleted one: must be dropped */
}

static void put_title(struct breaker *b, struct remembered *c)
{
    snprintf(c->title, sizeof c->title, "title %u", pick(b, 1000));
    store_rename(b->store, c->id, c->title);
    if (pick(b, 2) && c->n)
        store_set_leaf(b->store, c->id, c->messages[pick(b, (uint32_t)c->n)]);
}

static void ask(struct breaker *b, struct remembered *c)
{
    static const char *const queries[] = {"天",    "rain 天气", "100%",  "_",
                                          "quote", "",          "title", "nothing of the kind"};
    atomic_fetch_add(&asked, 1);
    switch (pick(b, 3)) {
    case 0: store_list(b->store, 0); break;
    case 1: store_load(b->store, pick(b, 4) ? c->id : 0, 0); break;
    default: store_search(b->store, queries[pick(b, sizeof queries / sizeof *queries)], pick(b, 2) ? c->id : 0, 0);
    }
}

static void set(struct breaker *b)
{
    char key[16];
    snprintf(key, sizeof key, "thread%d", b->number);
    snprintf(b->setting, sizeof b->setting, "%s", pick(b, 4) ? "on" : "");
    store_put_setting(b->store, key, *b->setting ? b->setting : NULL);
}

static void *break_it(void *arg)
{
    struct breaker *b = arg;
    for (int i = 0; i < b->operations; i++) {
        struct remembered *c = &b->conversations[pick(b, CONVERSATIONS)];
        uint32_t what = pick(b, 100);
        if (what < 40)
            add_message(b, c);
        else if (what < 65)
            change_message(b, c);
        else if (what < 72)
            put_title(b, c);
        else if (what < 92)
            ask(b, c);
        else if (what < 98)
            set(b);
        else if (!c->deleted && pick(b, 20) == 0) {
            c->deleted = true;
            store_delete(b->store, c->id);
        }
        if (pick(b, 10) == 0)
            usleep(pick(b, 3000));
    }
    return NULL;
}

static void take_events(struct store *s)
{
    for (struct store_event *e; (e = store_wait(s, 5)); store_event_free(e)) {
        if (e->type == STORE_LIST || e->type == STORE_LOADED || e->type == STORE_FOUND)
            atomic_fetch_add(&answered, 1);
        if (e->type == STORE_FAILING)
            atomic_fetch_add(&failures, 1);
        if (e->type == STORE_ERROR) {
            print_message("error: %s\n", e->text);
            atomic_fetch_add(&refused, 1);
        }
    }
}

static void *take_all_events(void *arg)
{
    struct store **stores = arg;
    while (!atomic_load(&over))
        for (int i = 0; i < 2; i++)
            take_events(stores[i]);
    return NULL;
}

/* Lets files grow no more for a while, again and again. */
static void *fill_the_disk(void *arg)
{
    struct rlimit limit = *(struct rlimit *)arg;
    while (!atomic_load(&over)) {
        struct stat st;
        usleep(50000); /* a fast disk is through with all commands in half a second */
        limit.rlim_cur = stat(test_db, &st) == 0 ? (rlim_t)st.st_size : limit.rlim_max;
        setrlimit(RLIMIT_FSIZE, &limit);
        usleep(300000);
        setrlimit(RLIMIT_FSIZE, arg);
    }
    return NULL;
}

static void check(const struct breaker *b)
{
    struct store *s = open_at(test_db);
    for (int i = 0; i < CONVERSATIONS; i++) {
        const struct remembered *c = &b->conversations[i];
        struct store_event *e = load(s, c->id);
        assert_int_equal(e->conversation.id, c->deleted ? 0 : c->id);
        store_event_free(e);
        if (c->deleted)
            continue;
        for (int k = 0; k < c->n;
             k++) { /* each message made the leaf in turn: its path must be the parents remembered */
            if (k % 7 && k != c->n - 1)
                continue;
            put_conversation(s, c->id, c->messages[k], NULL);
            e = load(s, c->id);
            assert_string_equal(e->conversation.title, c->title);
            assert_int_equal(e->conversation.n_messages, c->n);
            assert_int_equal(e->messages[e->n - 1].id, c->messages[k]);
            assert_string_equal(e->messages[e->n - 1].text, c->texts[k]);
            assert_int_equal(e->messages[e->n - 1].parent, c->parents[k]);
            assert_int_equal(e->messages[e->n - 1].state == STORE_COMPLETE, c->states[k] == STORE_COMPLETE);
            assert_int_equal(e->messages[0].parent, 0);
            store_event_free(e);
        }
    }
    close_ok(s);
    char sql[80];
    snprintf(sql, sizeof sql, "SELECT ifnull((SELECT value FROM setting WHERE key = 'thread%d'), '')", b->number);
    expect_sql(test_db, sql, b->setting);
}

static int from_environment(const char *name, int otherwise)
{
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}

static void random_commands_from_several_threads_end_in_what_was_asked(void **state)
{
    (void)state;
    int seed = from_environment("CHINWAG_SEED", 1), operations = from_environment("CHINWAG_OPERATIONS", 400);
    struct store *stores[2] = {open_at(test_db), open_at(test_db)};
    struct breaker *breakers = calloc(THREADS, sizeof *breakers);
    struct rlimit limit;
    pthread_t taker, filler;
    getrlimit(RLIMIT_FSIZE, &limit);
    pthread_create(&taker, NULL, take_all_events, stores);
    pthread_create(&filler, NULL, fill_the_disk, &limit);
    for (int t = 0; t < THREADS; t++) {
        struct breaker *b = &breakers[t];
        *b = (struct breaker){.store = stores[t % 2],
                              .random = (uint64_t)seed * 1000 + (uint64_t)t,
                              .operations = operations,
                              .number = t};
        for (int i = 0; i < CONVERSATIONS; i++) {
            b->conversations[i].id = store_new_id();
            strcpy(b->conversations[i].title, "first");
            put_conversation(b->store, b->conversations[i].id, 0, "first");
        }
        pthread_create(&b->thread, NULL, break_it, b);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(breakers[t].thread, NULL);
    for (int i = 0; i < 600 && atomic_load(&answered) + atomic_load(&refused) < atomic_load(&asked); i++)
        usleep(100000);
    atomic_store(&over, true);
    pthread_join(filler, NULL);
    pthread_join(taker, NULL);
    assert_int_equal(answered + refused, asked);
    print_message("%d queries answered, %d in vain; the disk was found full %d times\n", answered, refused, failures);
    assert_true(failures > 0);
    for (int i = 0; i < 2; i++)
        close_ok(stores[i]);
    for (int t = 0; t < THREADS; t++) {
        check(&breakers[t]);
        for (int i = 0; i < CONVERSATIONS; i++)
            for (int k = 0; k < breakers[t].conversations[i].n; k++)
                free(breakers[t].conversations[i].texts[k]);
    }
    free(breakers);
    expect_sound(test_db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_commands_from_several_threads_end_in_what_was_asked, make_dir,
                                        remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
