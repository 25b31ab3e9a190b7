/*
 * cmd_bench.c - `chinwag bench`: speed and memory of one model, measured the way llama-bench does.
 *
 * Prefill and decode are timed after one warm-up, on an empty cache or after DEPTH tokens, with random token ids, the
 * logits of the last row only, the whole output head, no sampling and no drafts.
 *
 * --fast-head adds what that leaves out: an answer sampled by the model's own settings, once with and once without
 * engine_session_set_fast_head, in turns of a few tokens, so that both meet the same machine.
 */
#include "base/clock.h"
#include "commands.h"
#include "model_notes.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

struct bench {
    int n_prompt, n_generate, depth, threads; /* tokens; 0 threads = default */
    bool no_repack, no_mmap, fast_head, json;
};

struct result {
    double pp_tps, tg_tps; /* tokens per second, 0 = not measured */
    double ttft_ms;        /* process start to the first sampled token of a prompt of TTFT_PROMPT tokens */
    double sampled_tps[2]; /* tokens per second sampled with the whole head, and with the fast one */
    double exact_share;    /* of the head's rows, with the fast one */
    int threads;
    long rss_kb; /* peak */
};

#define TTFT_PROMPT 30
#define TURN 8          /* tokens sampled before the other head has its turn */
#define MAX_QUESTION 64 /* tokens of the question answered by sampling */

/* When the process started: what it has computed so far (exec, dynamic linking) lies before now. */
static double process_start_ms(void)
{
    return clock_ms() - 1e3 * (double)clock() / CLOCKS_PER_SEC;
}

/* n ids any vocabulary has, the same in every run (a linear congruential generator, Numerical Recipes' constants). */
static int32_t *random_ids(int n, int n_vocab)
{
    int32_t *ids = calloc((size_t)n + 1, sizeof *ids);
    uint32_t state = 1;
    for (int i = 0; ids && i < n; i++) {
        state = state * 1664525u + 1013904223u;
        ids[i] = (int32_t)((state >> 8) % (uint32_t)n_vocab);
    }
    return ids;
}

/* Evaluates n of ids, step at a time, after depth of them; returns tokens per second of the n, or -1 and err. */
static double measure(engine_session *s, const int32_t *ids, int depth, int n, int step, char *err, size_t cap)
{
    engine_session_truncate(s, 0);
    if (depth > 0 && engine_session_eval(s, ids, (size_t)depth, NULL, err, cap) != ENGINE_OK)
        return -1;
    double start = clock_ms();
    for (int i = 0; i < n; i += step)
        if (engine_session_eval(s, ids + i, (size_t)step, NULL, err, cap) != ENGINE_OK)
            return -1;
    return n * 1e3 / (clock_ms() - start);
}

/* The context: depth of ids, then a question in the model's own template. False and err. */
static bool ask(engine_session *s, const engine_model *model, const int32_t *ids, int depth, char *err, size_t cap)
{
    static const char question[] = "Tell me about the history of the printing press.";
    struct engine_message messages[] = {{.role = ENGINE_SYSTEM, .text = ""},
                                        {.role = ENGINE_USER, .text = question, .len = sizeof question - 1}};
    struct engine_tokens prompt = {0};
    engine_tokens_append(&prompt, ids, (size_t)depth);
    bool ok = engine_render_chat(model, messages, 2, true, &prompt, err, cap);
    if (prompt.n > (size_t)(depth + MAX_QUESTION))
        prompt.n = (size_t)(depth + MAX_QUESTION);
    ok = ok && engine_session_prompt(s, prompt.ids, prompt.n, NULL, NULL, err, cap) == ENGINE_OK;
    engine_tokens_free(&prompt);
    return ok;
}

/* n tokens each way. Where an answer ends the question is asked again. Of a turn all but the first token are timed,
 * whose logits may have been there already. */
static bool measure_fast_head(engine_session *s, const engine_model *model, const struct bench *b, const int32_t *ids,
                              struct result *r, char *err, size_t cap)
{
    struct engine_sampling how = engine_default_sampling(model);
    double ms[2] = {0}, rows = 0, fast = 0;
    int n[2] = {0};
    bool ended = true;
    engine_session_set_lookup(s, false);
    engine_session_seed(s, 1);
    for (int turn = 0; n[1] < b->n_generate && turn < 4 * b->n_generate; turn++) {
        if (ended && !ask(s, model, ids, b->depth, err, cap))
            return false;
        ended = false;
        struct engine_stats before = engine_session_stats(s);
        engine_session_set_fast_head(s, turn % 2);
        for (int i = 0; i < TURN && !ended; i++) {
            int32_t id;
            double start = clock_ms();
            enum engine_status status = engine_session_next(s, &how, &id, err, cap);
            if (status == ENGINE_CANCELLED || status == ENGINE_ERROR)
                return false;
            ended = status != ENGINE_OK;
            ms[turn % 2] += i > 0 && !ended ? clock_ms() - start : 0;
            n[turn % 2] += i > 0 && !ended;
        }
        struct engine_stats after = engine_session_stats(s);
        rows += (double)(after.fast_rows - before.fast_rows);
        fast += after.fast_tokens - before.fast_tokens;
    }
    for (int i = 0; i < 2; i++)
        r->sampled_tps[i] = ms[i] > 0 ? n[i] * 1e3 / ms[i] : 0;
    r->exact_share = fast > 0 ? rows / fast / engine_model_info(model)->n_vocab : 0;
    return true;
}

static bool run(engine_session *s, const engine_model *model, const struct bench *b, const int32_t *ids,
                double start_ms, struct result *r, char *err, size_t cap)
{
    struct engine_sampling greedy = {.top_p = 1, .repeat_penalty = 1};
    int32_t id;
    if (engine_session_prompt(s, ids, TTFT_PROMPT, NULL, NULL, err, cap) != ENGINE_OK)
        return false;
    enum engine_status status = engine_session_next(s, &greedy, &id, err, cap);
    if (status != ENGINE_OK && status != ENGINE_END)
        return false;
    r->ttft_ms = clock_ms() - start_ms;

    if (b->n_prompt > 0) {
        if (measure(s, ids, 0, b->n_prompt, b->n_prompt, err, cap) < 0)
            return false;
        r->pp_tps = measure(s, ids, b->depth, b->n_prompt, b->n_prompt, err, cap);
    }
    if (b->n_generate > 0 && r->pp_tps >= 0) {
        if (measure(s, ids, 0, 1, 1, err, cap) < 0)
            return false;
        r->tg_tps = measure(s, ids, b->depth, b->n_generate, 1, err, cap);
    }
    if (b->fast_head && !measure_fast_head(s, model, b, ids, r, err, cap))
        return false;
    r->threads = engine_session_threads(s);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    r->rss_kb = usage.ru_maxrss;
    return r->pp_tps >= 0 && r->tg_tps >= 0;
}

static void print_result(const struct engine_model_info *info, const struct bench *b, const struct result *r)
{
    if (!b->json) {
        printf("%s %s, %d threads, %s kernels\n", info->name, info->quantization, r->threads, info->cpu);
        printf("  prefill %7.1f tok/s (%d tokens)\n  decode  %7.1f tok/s (%d tokens)\n", r->pp_tps, b->n_prompt,
               r->tg_tps, b->n_generate);
        if (b->fast_head && r->exact_share <= 0)
            printf("  sampled %7.1f tok/s (no fast head: the output head is not Q8_0, not repacked, or the kernels "
                   "have none)\n",
                   r->sampled_tps[0]);
        else if (b->fast_head)
            printf("  sampled %7.1f tok/s, %7.1f with the fast head (%.2f %% of its rows computed exactly)\n",
                   r->sampled_tps[0], r->sampled_tps[1], 100 * r->exact_share);
        printf("  load %.0f ms (vocabulary %.0f), first token %.0f ms after the start, peak memory %ld KB\n",
               info->load_ms, info->vocab_ms, r->ttft_ms, r->rss_kb);
        return;
    }
    json_t *o =
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:I, s:i, s:s, s:s, s:s, s:i, s:i, s:i}", "pp_tps", r->pp_tps, "tg_tps",
                  r->tg_tps, "load_ms", info->load_ms, "vocab_ms", info->vocab_ms, "ttft_ms", r->ttft_ms, "rss_kb",
                  (json_int_t)r->rss_kb, "threads", r->threads, "cpu", info->cpu, "model", info->name, "quantization",
                  info->quantization, "n_prompt", b->n_prompt, "n_generate", b->n_generate, "depth", b->depth);
    if (b->fast_head) {
        json_object_set_new(o, "sampled_tps", json_real(r->sampled_tps[0]));
        json_object_set_new(o, "fast_head_tps", json_real(r->sampled_tps[1]));
        json_object_set_new(o, "fast_head_share", json_real(r->exact_share));
    }
    json_dumpf(o, stdout, JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(o);
}

static int bench(const struct bench *b, const char *path, double start_ms)
{
    char err[512] = "the measurement was cut short";
    engine_model *model = command_open_model(&(struct engine_model_options){
        .path = path, .threads = b->threads, .no_repack = b->no_repack, .no_mmap = b->no_mmap});
    if (!model)
        return 1;
    int longest = b->n_prompt > b->n_generate ? b->n_prompt : b->n_generate;
    int n_ctx = b->depth + longest > TTFT_PROMPT ? b->depth + longest : TTFT_PROMPT;
    n_ctx += b->fast_head ? MAX_QUESTION : 0;
    engine_session *session = model_open_session(
        model, &(struct engine_session_options){.n_ctx = n_ctx + 1, .threads = b->threads}, err, sizeof err);
    int32_t *ids = random_ids(n_ctx, engine_model_info(model)->n_vocab);
    struct result result = {0};
    int status = 0;
    if (session && ids && run(session, model, b, ids, start_ms, &result, err, sizeof err))
        print_result(engine_model_info(model), b, &result);
    else
        status = command_fail(1, "%s", err);
    free(ids);
    engine_session_close(session);
    engine_model_close(model);
    return status;
}

int cmd_bench(int argc, char **argv)
{
    double start_ms = process_start_ms();
    enum { NO_REPACK = 256, NO_MMAP, FAST_HEAD, JSON };
    static const struct option options[] = {
        {"model", required_argument, NULL, 'm'},    {"prompt", required_argument, NULL, 'p'},
        {"generate", required_argument, NULL, 'n'}, {"depth", required_argument, NULL, 'd'},
        {"threads", required_argument, NULL, 't'},  {"no-repack", no_argument, NULL, NO_REPACK},
        {"no-mmap", no_argument, NULL, NO_MMAP},    {"fast-head", no_argument, NULL, FAST_HEAD},
        {"json", no_argument, NULL, JSON},          {0},
    };
    struct bench b = {.n_prompt = 512, .n_generate = 128};
    const char *path = NULL;
    for (int c; (c = getopt_long(argc, argv, "m:p:n:d:t:", options, NULL)) != -1;) {
        switch (c) {
        case 'm': path = optarg; break;
        case 'p': b.n_prompt = (int)command_number("-p", optarg, 0, 1 << 20); break;
        case 'n': b.n_generate = (int)command_number("-n", optarg, 0, 1 << 20); break;
        case 'd': b.depth = (int)command_number("-d", optarg, 0, 1 << 20); break;
        case 't': b.threads = (int)command_number("-t", optarg, 1, 1024); break;
        case NO_REPACK: b.no_repack = true; break;
        case NO_MMAP: b.no_mmap = true; break;
        case FAST_HEAD: b.fast_head = true; break;
        case JSON: b.json = true; break;
        default: return command_usage(argv[0]);
        }
    }
    if (!path || optind < argc)
        return command_usage(argv[0]);
    return bench(&b, path, start_ms);
}
