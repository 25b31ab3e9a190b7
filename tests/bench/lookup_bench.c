/*
 * Lookup decoding's gain: the same answers with and without, on rewrite tasks and on ordinary questions.
 *
 *   lookup_bench [-t THREADS] [-r ROUNDS] [-n TOKENS] [-c] [-v] MODEL.gguf
 *
 * Each question is answered with and without drafts in turns, in the same conversation and with the same seed, so
 * both say the same: that is checked. What is printed is the median, over questions and rounds, of the decode times
 * without / with: above 1 is faster. On a busy machine take -t 1 -c: time of the processor instead of the clock's.
 */
#include "../../engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_TOKENS 1024
#define MAX_ROUNDS 50
#define MAX_QUESTIONS 12
#define TEXT                                                                                                         \
    "The committee met on Tuesday, 14 March 2023, in the town hall of Eastfield. Present were Mrs. Helen Carter, "   \
    "Mr. Paul Jennings, Dr. Amara Okafor and the clerk, Mr. Simon Wells. The chair opened the meeting at 19:05 and " \
    "welcomed the members of the public. The minutes of the last meeting were read and aproved without changes. "    \
    "Mr. Jennings reported that the repair of the bridge on Mill Lane would cost about 48,000 pounds, which is "     \
    "6,000 "                                                                                                         \
    "pounds more than planned, because the northern foundation has been damaged by water. The commitee agreed to "   \
    "ask "                                                                                                           \
    "for two further offers before a decision is made. Dr. Okafor presented the plan for the new library, which is " \
    "to "                                                                                                            \
    "open in September. She explained that 3,200 books have been ordered and that the reading room will have forty " \
    "seats."

struct task {
    const char *name;
    float temperature, repeat_penalty; /* < 0: the model's own */
    bool one_by_one;                   /* each question in a conversation of its own */
    const char *questions[MAX_QUESTIONS];
};

static const struct task tasks[] = {
    {"rewrite, greedy",
     0,
     1,
     true,
     {"Correct the spelling mistakes in this text and repeat the whole text:\n\n" TEXT,
      "Repeat the following text word for word:\n\n" TEXT,
      "Rewrite this text, replacing Tuesday by Wednesday, and leave the rest as it is:\n\n" TEXT}},
    {"rewrite, as set",
     -1,
     -1,
     true,
     {"Correct the spelling mistakes in this text and repeat the whole text:\n\n" TEXT,
      "Repeat the following text word for word:\n\n" TEXT,
      "Rewrite this text, replacing Tuesday by Wednesday, and leave the rest as it is:\n\n" TEXT}},
    {"ten questions",
     -1,
     -1,
     false,
     {"What is the capital of France, and what is it known for?", "Explain how a bicycle stays upright.",
      "Give me five ideas for a healthy breakfast.", "Write a short poem about autumn rain.", "Why is the sky blue?",
      "How do I boil an egg so that the yolk stays soft?", "Tell me about the history of the printing press.",
      "What is the difference between a virus and a bacterium?",
      "Suggest a weekend plan for a family with two children.",
      "Write a polite email asking for a day off next Friday."}},
};
#define N_TASKS (sizeof tasks / sizeof *tasks)

static int n_rounds = 5, n_tokens = 200;
static bool verbose, cpu_time;

struct run { /* one way of answering a task, with a session of its own */
    engine_session *session;
    int32_t ids[MAX_TOKENS];
    size_t n;
    double ms, total_ms; /* of the last answer, of all */
    long drafted, accepted, tokens;
};

static void fail(const char *why)
{
    fprintf(stderr, "lookup_bench: %s\n", why);
    exit(1);
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void answer(struct run *r, const struct engine_sampling *how, const struct engine_tokens *prompt)
{
    char err[512];
    engine_session_seed(r->session, 1 + prompt->n);
    if (engine_session_prompt(r->session, prompt->ids, prompt->n, NULL, NULL, err, sizeof err) != ENGINE_OK)
        fail(err);
    enum engine_status status = ENGINE_OK;
    double start = now_ms();
    for (r->n = 0; r->n < (size_t)n_tokens && status == ENGINE_OK; r->n += status == ENGINE_OK)
        status = engine_session_next(r->session, how, &r->ids[r->n], err, sizeof err);
    if (status == ENGINE_ERROR)
        fail(err);
    struct engine_stats stats = engine_session_stats(r->session);
    r->total_ms += r->ms = now_ms() - start;
    r->tokens += stats.generated_tokens;
    r->drafted += stats.drafted_tokens;
    r->accepted += stats.accepted_tokens;
}

static void show_text(const engine_model *model, const int32_t *ids, size_t n)
{
    struct engine_stream stream = {0};
    char piece[ENGINE_PIECE_MAX];
    for (size_t i = 0; i < n; i++)
        if (engine_stream_push(&stream, model, ids[i], piece, sizeof piece))
            fputs(piece, stderr);
    fputs("\n----\n", stderr);
}

/* One round: every question answered both ways, each time the other one first. */
static void round_of(const engine_model *model, const struct task *task, const struct engine_sampling *how,
                     struct run runs[2], int round, double *ratios, int *n_ratios)
{
    struct engine_message messages[2 * MAX_QUESTIONS];
    struct engine_tokens said[MAX_QUESTIONS] = {{0}};
    char err[512];
    size_t n = 0;
    for (size_t q = 0; q < MAX_QUESTIONS && task->questions[q]; q++) {
        if (task->one_by_one)
            n = 0;
        messages[n++] = (struct engine_message){ENGINE_USER, task->questions[q], strlen(task->questions[q]), NULL, 0};
        struct engine_tokens prompt = {0};
        if (!engine_render_chat(model, messages, n, true, &prompt, err, sizeof err))
            fail(err);
        for (int i = 0; i < 2; i++)
            answer(&runs[((size_t)i + q + (size_t)round) % 2], how, &prompt);
        if (runs[0].n != runs[1].n || memcmp(runs[0].ids, runs[1].ids, runs[0].n * sizeof *runs[0].ids) != 0)
            fail("the answers differ");
        ratios[(*n_ratios)++] = runs[0].ms / runs[1].ms;
        if (verbose && round == 0)
            show_text(model, runs[0].ids, runs[0].n);
        engine_tokens_append(&said[q], runs[0].ids, runs[0].n);
        messages[n++] = (struct engine_message){ENGINE_ASSISTANT, "", 0, said[q].ids, said[q].n};
        engine_tokens_free(&prompt);
    }
    for (size_t q = 0; q < MAX_QUESTIONS; q++)
        engine_tokens_free(&said[q]);
}

static void measure(const engine_model *model, const struct task *task, int threads)
{
    static struct run runs[2];
    char err[512];
    memset(runs, 0, sizeof runs);
    for (int i = 0; i < 2; i++) {
        runs[i].session = engine_session_open(
            model, &(struct engine_session_options){.n_ctx = 4096, .threads = threads}, err, sizeof err);
        if (!runs[i].session)
            fail(err);
        engine_session_set_lookup(runs[i].session, i == 1);
    }
    struct engine_sampling how = engine_default_sampling(model);
    if (task->temperature >= 0)
        how.temperature = task->temperature;
    if (task->repeat_penalty >= 0)
        how.repeat_penalty = task->repeat_penalty;
    double ratios[MAX_ROUNDS * MAX_QUESTIONS];
    int n = 0;
    for (int i = 0; i < n_rounds; i++)
        round_of(model, task, &how, runs, i, ratios, &n);
    double ratio = median(ratios, n);
    printf("  %-16s %6.1f tok/s without, %6.1f with; ratio %.3f (half of them %.3f to %.3f)   accepted %ld of %ld "
           "drafted, "
           "of %ld tokens\n",
           task->name, (double)runs[0].tokens * 1e3 / runs[0].total_ms,
           (double)runs[1].tokens * 1e3 / runs[1].total_ms, ratio, ratios[n / 4], ratios[n - 1 - n / 4],
           runs[1].accepted, runs[1].drafted, runs[1].tokens);
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        engine_session_close(runs[i].session);
}

int main(int argc, char **argv)
{
    int threads = 0;
    char err[512];
    for (int c; (c = getopt(argc, argv, "t:r:n:cv")) != -1;)
        switch (c) {
        case 't': threads = atoi(optarg); break;
        case 'r': n_rounds = atoi(optarg); break;
        case 'n': n_tokens = atoi(optarg); break;
        case 'c': cpu_time = true; break;
        case 'v': verbose = true; break;
        default: return 2;
        }
    if (optind >= argc || n_rounds < 1 || n_rounds > MAX_ROUNDS || n_tokens < 2 || n_tokens > MAX_TOKENS)
        fail("usage: lookup_bench [-t THREADS] [-r ROUNDS] [-n TOKENS] [-c] [-v] MODEL.gguf");
    for (; optind < argc; optind++) {
        engine_model *model =
            engine_model_open(&(struct engine_model_options){.path = argv[optind]}, err, sizeof err);
        if (!model)
            fail(err);
        printf("%s, %s\n", engine_model_info(model)->name, engine_model_info(model)->cpu);
        for (size_t i = 0; i < N_TASKS; i++)
            measure(model, &tasks[i], threads);
        engine_model_close(model);
    }
    return 0;
}
