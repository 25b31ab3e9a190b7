/*
 * Lookup decoding: the index against a search without one, and sessions with drafts against sessions without. What is
 * said, the random numbers used and what the cache holds must be the same, bit for bit.
 */
#include "../../../engine/lookup.h"
#include "../../../engine/session.h"
#include "session_test.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define N_IDS 200
#define N_ANSWER 150

/* Random weights repeat themselves when greedy, and say all sorts of things when warm: cool ones do some of both. */
static const struct engine_sampling ways[] = {
    {.temperature = 0, .top_p = 1, .repeat_penalty = 1},
    {.temperature = 0, .top_p = 1, .repeat_penalty = 1.3f, .repeat_last_n = 20, .presence_penalty = .1f},
    {.temperature = .05f, .top_k = 40, .top_p = .95f, .repeat_penalty = 1},
    {.temperature = .2f,
     .top_k = 5,
     .top_p = .8f,
     .repeat_penalty = 1.02f,
     .repeat_last_n = 30,
     .frequency_penalty = .01f},
    {.temperature = .3f, .top_p = 1, .min_p = .3f, .repeat_penalty = 1},
};
#define N_WAYS (sizeof ways / sizeof *ways)

static int32_t random_ids[N_IDS], repeating_ids[N_IDS];

enum drafts { NONE, THAT_PAY, ALWAYS };

static engine_session *open_drafting(const engine_model *m, struct engine_session_options o, enum drafts drafts)
{
    engine_session *s = open_session(m, o);
    engine_session_set_lookup(s, drafts != NONE);
    if (drafts == ALWAYS && s->lookup)
        lookup_always(s->lookup, true);
    return s;
}

#define assert_ok(call) assert_int_equal(call, ENGINE_OK)
#define prompt(s, ids, n) engine_session_prompt(s, ids, n, NULL, NULL, err, sizeof err)
#define next(s, how, id) engine_session_next(s, how, id, err, sizeof err)

/* Until the text ends, the window is full or `most` are said. The last status is recorded as a token. */
static size_t answer(engine_session *s, const struct engine_sampling *how, int32_t out[static N_ANSWER + 1],
                     size_t most)
{
    size_t n = 0;
    enum engine_status status = ENGINE_OK;
    while (n < most && (status = next(s, how, &out[n])) == ENGINE_OK)
        n++;
    out[n] = -1 - (int32_t)status;
    assert_true(s->n_evaluated <= s->tokens.n && s->n_evaluated + 1 >= s->tokens.n); /* none is evaluated twice */
    return n;
}

static void same_context(const engine_session *a, const engine_session *b)
{
    size_t n, m;
    const int32_t *x = engine_session_tokens(a, &n), *y = engine_session_tokens(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n * sizeof *x);
}

/* ---- the index ------------------------------------------------------------------------------------------- */

static bool never(const void *ctx, int32_t id)
{
    (void)ctx;
    (void)id;
    return false;
}

static bool is_seven(const void *ctx, int32_t id)
{
    (void)ctx;
    return id == 7;
}

/* The length of the longest match for the end of ids (at most 32 tokens count) that is at least 3 long; 0 = none. */
static int longest_match(const int32_t *ids, int n)
{
    int longest = 0;
    for (int end = 1; end < n; end++) {
        int k = 0;
        while (k < 32 && k < end && ids[end - 1 - k] == ids[n - 1 - k])
            k++;
        longest = k > longest ? k : longest;
    }
    return longest >= 3 ? longest : 0;
}

/* Whether the draft stands in ids after a match of that length, taken round where it reaches the end. */
static bool follows_match(const int32_t *ids, int n, int length, const int32_t *draft, int k)
{
    for (int end = length; end < n; end++) {
        if (memcmp(ids + end - length, ids + n - length, (size_t)length * sizeof *ids) != 0)
            continue;
        int i = 0;
        while (i < k && draft[i] == (end + i < n ? ids[end + i] : draft[end + i - n]))
            i++;
        if (i == k)
            return true;
    }
    return false;
}

static void drafts_follow_the_longest_match_however_the_context_was_changed(void **state)
{
    (void)state;
    enum { CONTEXT = 400 };
    static int32_t ids[CONTEXT];
    int n = 0, found = 0;
    unsigned random = 1;
    struct lookup *l = lookup_open(CONTEXT);
    lookup_always(l, true);
    for (int round = 0; round < 4000; round++) {
        random = random * 1664525 + 1013904223;
        int what = (int)(random >> 24) % 16, by = (int)(random >> 8) % 60;
        if (what == 0 || n + 60 > CONTEXT) {
            n = by < n ? n - by : 0;
            lookup_truncate(l, (size_t)n);
        }
        /* A large alphabet, so that places with the same last three tokens are fewer than the chain is long. */
        int add = what < 4 ? by / 4 : 1;
        for (int i = 0; i < add; i++, n++) {
            random = random * 1664525 + 1013904223;
            bool copy = n > 10 && random >> 29 > 1;
            ids[n] = copy ? ids[n - 3 - (int)(random >> 8) % 2 * 4] : (int32_t)(random >> 20) % 9;
            if (what >= 4)
                lookup_sampled(l, ids[n], false);
        }
        lookup_follow(l, ids, (size_t)n);
        int32_t draft[LOOKUP_MAX];
        int most = by % (LOOKUP_MAX + 3), k = lookup_draft(l, most, never, NULL, draft);
        int length = longest_match(ids, n);
        if (length == 0 || most == 0) {
            assert_int_equal(k, 0);
            continue;
        }
        assert_int_equal(k, most < LOOKUP_MAX ? most : LOOKUP_MAX);
        found++;
        /* Of many places with the same last tokens only the latest are looked at. */
        int at_least = length;
        while (at_least > 2 && !follows_match(ids, n, at_least, draft, k))
            at_least--;
        assert_true(at_least > 2);
    }
    assert_true(found > 1500);
    lookup_close(l);
}

static void the_longest_match_is_found_among_shorter_ones(void **state)
{
    (void)state;
    /* 1 2 3 4 5 -> 6 once, then 3 4 5 -> 9 twice. */
    const int32_t ids[] = {1, 2, 3, 4, 5, 6, 7, 3, 4, 5, 9, 8, 3, 4, 5, 9, 8, 1, 2, 3, 4, 5};
    const int n = sizeof ids / sizeof *ids;
    int32_t draft[LOOKUP_MAX];
    struct lookup *l = lookup_open(100);
    lookup_always(l, true);
    lookup_follow(l, ids, (size_t)n);
    assert_int_equal(lookup_draft(l, 3, never, NULL, draft), 3);
    assert_memory_equal(draft, ((int32_t[]){6, 7, 3}), 3 * sizeof *draft);
    /* None that ends the text, and nothing beyond it. */
    assert_int_equal(lookup_draft(l, 3, is_seven, NULL, draft), 1);
    lookup_sampled(l, 6, true);
    assert_int_equal(lookup_draft(l, 3, is_seven, NULL, draft), 0);
    /* Forgotten is forgotten: the place the match was in, and the latest places of the shorter ones. */
    lookup_truncate(l, 16);
    lookup_truncate(l, 4);
    lookup_follow(l, (int32_t[]){1, 2, 3, 4, 3, 4, 5}, 7);
    assert_int_equal(lookup_draft(l, 3, never, NULL, draft), 0);
    /* What repeats itself goes on. */
    lookup_follow(l, (int32_t[]){1, 2, 3, 4, 3, 4, 5, 3, 4, 5}, 10);
    assert_int_equal(lookup_draft(l, 7, never, NULL, draft), 7);
    assert_memory_equal(draft, ((int32_t[]){3, 4, 5, 3, 4, 5, 3}), 7 * sizeof *draft);
    lookup_close(l);
}

/* ---- what pays ------------------------------------------------------------------------------------------- */

/* A text of two halves: the second repeats the first, or is random; batches cost (1 + each * (n - 1)) ms. */
struct course {
    int drafted, accepted, saved_by_drafts; /* tokens, and evaluations of one token */
    double ms;
};

static struct course simulate(bool repeats, double each, int n)
{
    struct course c = {0};
    int32_t *ids = malloc(2 * (size_t)n * sizeof *ids), draft[LOOKUP_MAX];
    unsigned random = 5;
    for (int i = 0; i < 2 * n; i++) {
        random = random * 1664525 + 1013904223;
        /* A few hundred tokens, some frequent: chance matches of three that do not go on. */
        ids[i] = repeats && i >= n ? ids[i - n] : (int32_t)((random >> 20) % ((random >> 10) % 2 ? 5 : 300));
    }
    struct lookup *l = lookup_open(2 * n);
    lookup_follow(l, ids, (size_t)n);
    for (int i = n; i < 2 * n;) {
        int k = lookup_draft(l, 2 * n - i - 1, never, NULL, draft), used = 0;
        double ms = 1 + each * k;
        lookup_measured(l, 1 + k, ms);
        c.ms += ms;
        c.drafted += k;
        bool drafted;
        do {
            drafted = used < k && draft[used] == ids[i];
            lookup_sampled(l, ids[i++], drafted);
            used += drafted;
        } while (drafted);
        c.accepted += used;
    }
    lookup_close(l);
    free(ids);
    return c;
}

static void drafts_are_made_where_they_pay(void **state)
{
    (void)state;
    enum { N = 2000 };
    struct course cheap = simulate(true, .1, N), dear = simulate(true, .35, N), never_pays = simulate(true, 1.1, N);
    printf("figure: a text repeated takes %.2f, %.2f, %.2f of the time where each more token costs 0.1, 0.35, 1.1\n",
           cheap.ms / N, dear.ms / N, never_pays.ms / N);
    assert_true(cheap.ms < N / 4.0);
    assert_true(dear.ms < N / 1.8);
    assert_true(never_pays.ms < N * 1.01);
    for (int each = 1; each < 40; each += 6) {
        struct course nothing = simulate(false, each * .1, N);
        assert_true(nothing.ms < N * 1.01);
    }
}

/* ---- the same answers ------------------------------------------------------------------------------------ */

static void answers_are_the_same_with_drafts_and_without(void **state)
{
    (void)state;
    long drafted = 0, accepted = 0, tokens = 0;
    int32_t want[N_ANSWER + 1], got[N_ANSWER + 1];
    for (size_t f = 0; f < N_FILES; f++) {
        engine_model *m = open_model(files[f]);
        for (int threads = 1; threads <= 3; threads++) {
            const struct engine_session_options o = {.threads = threads, .chunk = threads == 3 ? 5 : 0};
            engine_session *plain = open_drafting(m, o, NONE), *ahead = open_drafting(m, o, ALWAYS),
                           *paying = open_drafting(m, o, THAT_PAY);
            for (size_t w = 0; w < N_WAYS; w++)
                for (int repeats = 0; repeats < 2; repeats++) {
                    engine_session *all[] = {plain, ahead, paying};
                    for (int i = 0; i < 3; i++) {
                        assert_ok(prompt(all[i], repeats ? repeating_ids : random_ids, N_IDS));
                        engine_session_seed(all[i], 1 + w);
                        size_t n = answer(all[i], &ways[w], i ? got : want, N_ANSWER);
                        /* Once more from where it ended: the generator is where it was, too. */
                        if (i)
                            assert_memory_equal(want, got, (n + 1) * sizeof *got);
                        same_context(plain, all[i]);
                    }
                    struct engine_stats stats = engine_session_stats(ahead);
                    assert_int_equal(stats.generated_tokens, engine_session_stats(plain).generated_tokens);
                    assert_true(stats.accepted_tokens <= stats.drafted_tokens);
                    drafted += stats.drafted_tokens;
                    accepted += stats.accepted_tokens;
                    tokens += stats.generated_tokens;
                    assert_int_equal(engine_session_stats(plain).drafted_tokens, 0);
                }
            engine_session_close(paying);
            engine_session_close(ahead);
            engine_session_close(plain);
        }
        engine_model_close(m);
    }
    printf("figure: %ld of %ld drafted tokens accepted, of %ld\n", accepted, drafted, tokens);
    assert_true(accepted > tokens / 10 && accepted < drafted - tokens / 10); /* both ends of drafts are tested */
}

/* Settings, threads and the switch itself change between tokens, drafts waiting or not. */
static void settings_act_on_the_next_token(void **state)
{
    (void)state;
    engine_model *m = open_model(files[1]);
    engine_session *plain = open_drafting(m, (struct engine_session_options){.threads = 1}, NONE);
    engine_session *ahead = open_drafting(m, (struct engine_session_options){.threads = 2}, ALWAYS);
    int accepted = 0, differ = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        int32_t a, b;
        assert_ok(prompt(plain, repeating_ids, N_IDS));
        assert_ok(prompt(ahead, repeating_ids, N_IDS));
        engine_session_seed(plain, seed);
        engine_session_seed(ahead, seed);
        for (size_t i = 0; i < 100; i++) {
            const struct engine_sampling *how = &ways[(i / (1 + seed % 7)) % N_WAYS];
            if (seed % 3 == 0)
                engine_session_set_threads(ahead, 1 + (int)i % 3);
            if (seed % 4 == 0)
                engine_session_set_lookup(ahead, i / 5 % 2);
            if (ahead->lookup)
                lookup_always(ahead->lookup, true);
            enum engine_status one = next(plain, how, &a);
            assert_int_equal(next(ahead, how, &b), one);
            if (one != ENGINE_OK)
                break;
            assert_int_equal(a, b);
            differ += a != repeating_ids[i % N_IDS];
        }
        same_context(plain, ahead);
        accepted += engine_session_stats(ahead).accepted_tokens;
    }
    assert_true(accepted > 50 && differ > 50);
    engine_session_close(ahead);
    engine_session_close(plain);
    engine_model_close(m);
}

/* Every length of what is left, so that drafts are cut to each. */
static void the_window_fills_to_the_same_token(void **state)
{
    (void)state;
    engine_model *m = open_model(files[0]);
    int32_t want[N_ANSWER + 1], got[N_ANSWER + 1];
    int accepted = 0;
    for (int room = 0; room <= 40; room++) {
        const struct engine_session_options o = {.n_ctx = N_IDS + room, .threads = 1};
        engine_session *plain = open_drafting(m, o, NONE), *ahead = open_drafting(m, o, ALWAYS);
        assert_ok(prompt(plain, repeating_ids, N_IDS));
        assert_ok(prompt(ahead, repeating_ids, N_IDS));
        size_t n = answer(plain, &ways[0], want, N_ANSWER);
        assert_int_equal(n, room);
        assert_int_equal(want[n], -1 - ENGINE_FULL);
        assert_int_equal(answer(ahead, &ways[0], got, N_ANSWER), n);
        assert_memory_equal(want, got, (n + 1) * sizeof *got);
        accepted += engine_session_stats(ahead).accepted_tokens;
        assert_true(ahead->high <= (size_t)o.n_ctx);
        engine_session_close(ahead);
        engine_session_close(plain);
    }
    assert_true(accepted > 100);
    engine_model_close(m);
}

/* With drafts waiting, whatever may be done to a session is done to it. */
static void sessions_change_with_drafts_waiting(void **state)
{
    (void)state;
    engine_model *m = open_model(files[2]);
    size_t vocab = (size_t)engine_model_info(m)->n_vocab;
    float *want_row = malloc(3 * vocab * sizeof *want_row), *row = malloc(3 * vocab * sizeof *row);
    engine_session *plain = open_drafting(m, (struct engine_session_options){.threads = 1}, NONE);
    engine_session *ahead = open_drafting(m, (struct engine_session_options){.threads = 2}, ALWAYS);
    int32_t want[N_ANSWER + 1], got[N_ANSWER + 1];
    int waiting = 0;
    unsigned random = 3;
    assert_ok(prompt(plain, repeating_ids, N_IDS));
    assert_ok(prompt(ahead, repeating_ids, N_IDS));
    for (int round = 0; round < 300; round++) {
        random = random * 1664525 + 1013904223;
        size_t by = random >> 28, n;
        const struct engine_sampling *how = &ways[(random >> 8) % N_WAYS];
        engine_session *both[] = {plain, ahead};
        for (int i = 0; i < 2; i++) {
            engine_session *s = both[i];
            engine_session_seed(s, 1 + random);
            answer(s, how, i ? got : want, by);
            waiting += i && s->draft.used < s->draft.n;
            const int32_t *context = engine_session_tokens(s, &n);
            static int32_t ids[600];
            memcpy(ids, context, n * sizeof *ids);
            if (n > 450) {
                assert_ok(prompt(s, random_ids + by, N_IDS - by));
                continue;
            }
            switch (random >> 16 & 7) {
            case 0: engine_session_truncate(s, n - by); break;
            case 1: engine_session_truncate(s, n - 1); break;
            case 2: assert_ok(prompt(s, ids, n)); break;
            case 3: assert_ok(prompt(s, ids, n - by / 2)); break;
            case 4: assert_ok(engine_session_eval(s, repeating_ids, 3, i ? row : want_row, err, sizeof err)); break;
            case 5: assert_ok(engine_session_eval(s, ids + by, 9, NULL, err, sizeof err)); break;
            case 6: {
                char path[] = "/tmp/chinwag-test-lookup-XXXXXX";
                int fd = mkstemp(path);
                assert_true(fd >= 0);
                close(fd);
                assert_true(engine_session_save(s, path, err, sizeof err));
                if (by % 2)
                    answer(s, how, ids, 5);
                bool ok = engine_session_restore(s, path, err, sizeof err);
                unlink(path);
                assert_true(ok);
                break;
            }
            default: break;
            }
        }
        assert_memory_equal(want, got, by * sizeof *got);
        same_context(plain, ahead);
        if ((random >> 16 & 7) == 4 && n <= 450)
            assert_memory_equal(want_row, row, 3 * vocab * sizeof *row);
    }
    assert_true(waiting > 30);
    engine_session_close(ahead);
    engine_session_close(plain);
    free(want_row);
    free(row);
    engine_model_close(m);
}

static void a_context_taken_back_gives_the_same_drafts_again(void **state)
{
    (void)state;
    engine_model *m = open_model(files[0]);
    engine_session *s = open_drafting(m, (struct engine_session_options){.threads = 1}, ALWAYS);
    int32_t ids[N_ANSWER + 1];
    int accepted = 0;
    for (int i = 0; i < 8; i++) {
        assert_ok(prompt(s, repeating_ids, N_IDS));
        answer(s, &ways[0], ids, N_ANSWER);
        struct engine_stats stats = engine_session_stats(s);
        accepted = i ? accepted : stats.accepted_tokens;
        assert_int_equal(stats.accepted_tokens, accepted);
        if (i % 2)
            engine_session_truncate(s, N_IDS);
    }
    assert_true(accepted > N_ANSWER / 2);
    engine_session_close(s);
    engine_model_close(m);
}

/* ---- cancelling ------------------------------------------------------------------------------------------ */

struct stopper {
    engine_session *session;
    long after_ns;
};

static void *stop_later(void *arg)
{
    const struct stopper *s = arg;
    nanosleep(&(struct timespec){.tv_nsec = s->after_ns}, NULL);
    engine_session_cancel(s->session, true);
    return NULL;
}

static void a_stopped_answer_goes_on_as_if_it_had_not_been(void **state)
{
    (void)state;
    engine_model *m = open_model(files[0]);
    engine_session *plain = open_drafting(m, (struct engine_session_options){.threads = 1}, NONE);
    engine_session *ahead = open_drafting(m, (struct engine_session_options){.threads = 2}, ALWAYS);
    int32_t want[N_ANSWER + 1], got[N_ANSWER + 1];
    const struct engine_sampling *how = &ways[2];
    assert_ok(prompt(plain, repeating_ids, N_IDS));
    engine_session_seed(plain, 4);
    size_t n_want = answer(plain, how, want, N_ANSWER), stops = 0;
    for (int i = 0; i < 60; i++) {
        struct stopper stopper = {ahead, 40000L * i};
        pthread_t thread;
        engine_session_truncate(ahead, 0);
        assert_ok(prompt(ahead, repeating_ids, N_IDS));
        engine_session_seed(ahead, 4);
        pthread_create(&thread, NULL, stop_later, &stopper);
        size_t n = 0;
        while (n < n_want) {
            enum engine_status status = next(ahead, how, &got[n]);
            n += status == ENGINE_OK;
            if (status == ENGINE_OK)
                continue;
            assert_int_equal(status, ENGINE_CANCELLED);
            stops++;
            int32_t id; /* for as long as the flag is set, rows waiting or not */
            assert_int_equal(next(ahead, how, &id), ENGINE_CANCELLED);
            engine_session_cancel(ahead, false);
        }
        pthread_join(thread, NULL);
        engine_session_cancel(ahead, false);
        assert_memory_equal(want, got, n * sizeof *got);
    }
    assert_true(stops > 5);
    engine_session_close(ahead);
    engine_session_close(plain);
    engine_model_close(m);
}

/* A row that waits is not handed out while the flag is set, and is when it no longer is. */
static void waiting_rows_are_not_handed_out_when_stopped(void **state)
{
    (void)state;
    engine_model *m = open_model(files[0]);
    engine_session *s = open_drafting(m, (struct engine_session_options){.threads = 1}, ALWAYS);
    int32_t want[N_ANSWER + 1], got, other = -1;
    assert_ok(prompt(s, repeating_ids, N_IDS));
    size_t n = answer(s, &ways[0], want, N_ANSWER);
    engine_session_truncate(s, N_IDS);
    int waiting = 0;
    for (size_t i = 0; i < n; i++) {
        if (s->draft.used > 0) {
            waiting++;
            engine_session_cancel(s, true);
            assert_int_equal(next(s, &ways[0], &other), ENGINE_CANCELLED);
            engine_session_cancel(s, false);
        }
        assert_ok(next(s, &ways[0], &got));
        assert_int_equal(got, want[i]);
    }
    assert_true(waiting > 20);
    engine_session_close(s);
    engine_model_close(m);
}

/* ---- rings ----------------------------------------------------------------------------------------------- */

static void a_ring_is_never_written_on_a_guess(void **state)
{
    (void)state;
    engine_model *m = open_model(files[2]);
    int32_t want[N_ANSWER + 1], got[N_ANSWER + 1];
    /* In 600 tokens a window of 400 needs no ring; one of 40 does. */
    for (int window = 40; window <= 400; window += 360) {
        const struct engine_session_options o = {.threads = 1, .attn_window = window, .chunk = 16};
        engine_session *plain = open_drafting(m, o, NONE), *ahead = open_drafting(m, o, ALWAYS);
        assert_ok(prompt(plain, repeating_ids, N_IDS));
        assert_ok(prompt(ahead, repeating_ids, N_IDS));
        size_t n = answer(plain, &ways[0], want, N_ANSWER);
        answer(ahead, &ways[0], got, N_ANSWER);
        assert_memory_equal(want, got, (n + 1) * sizeof *got);
        assert_int_equal(engine_session_stats(ahead).drafted_tokens > 0, window == 400);
        engine_session_close(ahead);
        engine_session_close(plain);
    }
    engine_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drafts_follow_the_longest_match_however_the_context_was_changed),
        cmocka_unit_test(the_longest_match_is_found_among_shorter_ones),
        cmocka_unit_test(drafts_are_made_where_they_pay),
        cmocka_unit_test(answers_are_the_same_with_drafts_and_without),
        cmocka_unit_test(settings_act_on_the_next_token),
        cmocka_unit_test(the_window_fills_to_the_same_token),
        cmocka_unit_test(sessions_change_with_drafts_waiting),
        cmocka_unit_test(a_context_taken_back_gives_the_same_drafts_again),
        cmocka_unit_test(a_stopped_answer_goes_on_as_if_it_had_not_been),
        cmocka_unit_test(waiting_rows_are_not_handed_out_when_stopped),
        cmocka_unit_test(a_ring_is_never_written_on_a_guess),
    };
    for (int i = 0; i < N_IDS; i++) {
        random_ids[i] = (i * 7919 + i * i * 13) % 500;
        repeating_ids[i] = i < 50 ? (i * 31 + 7) % 500 : repeating_ids[i - 50 + i / 170];
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
