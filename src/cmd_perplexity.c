/*
 * cmd_perplexity.c - `chinwag perplexity`: how well a model predicts a text, as llama-perplexity measures it.
 *
 * The text's tokens are cut into windows of n_ctx; each is evaluated on its own, and the predictions of its second
 * half are scored: perplexity = exp(mean of -ln p(token | the window before it)). What is left over at the end is not
 * used. Where the file asks for a BOS token, the text begins with it and it replaces the first token of every window.
 */
#include "base/buffer.h"
#include "commands.h"
#include "model_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCORED_AT_ONCE 32 /* positions whose logits are held: n_vocab floats each */

/* A whole file; false and one line on stderr. */
static bool read_file(const char *path, struct buffer *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool whole = fd >= 0 && buffer_read(text, fd, BUFFER_TEXT_MAX);
    if (!whole && fd >= 0 && errno == EFBIG)
        command_fail(1, "%s is longer than %u MB", path, BUFFER_TEXT_MAX >> 20);
    else if (!whole)
        command_fail(1, "%s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return whole;
}

/* -ln of the probability softmax gives to id. */
static double surprise(const float *logits, int n_vocab, int32_t id)
{
    float max = logits[0];
    for (int i = 1; i < n_vocab; i++)
        max = fmaxf(max, logits[i]);
    double sum = 0;
    for (int i = 0; i < n_vocab; i++)
        sum += exp((double)logits[i] - max);
    return log(sum) + max - logits[id];
}

/* Adds the scores of one window's second half to *total; false and err. */
static bool score_window(engine_session *s, int32_t *ids, int n_ctx, int n_vocab, int32_t bos, float *logits,
                         double *total, char *err, size_t cap)
{
    int first = n_ctx / 2;
    if (bos >= 0)
        ids[0] = bos;
    if (engine_session_prompt(s, NULL, 0, NULL, NULL, err, cap) != ENGINE_OK ||
        engine_session_eval(s, ids, (size_t)first, NULL, err, cap) != ENGINE_OK)
        return false;
    for (int i = first; i < n_ctx - 1;) {
        int n = n_ctx - 1 - i < SCORED_AT_ONCE ? n_ctx - 1 - i : SCORED_AT_ONCE;
        if (engine_session_eval(s, ids + i, (size_t)n, logits, err, cap) != ENGINE_OK)
            return false;
        for (int k = 0; k < n; k++, i++)
            *total += surprise(logits + (size_t)k * (size_t)n_vocab, n_vocab, ids[i + 1]);
    }
    return true;
}

static int score(const engine_model *model, const struct engine_tokens *tokens, int32_t bos,
                 const struct engine_session_options *options)
{
    int n_ctx = options->n_ctx;
    char err[512] = "no memory for the logits";
    int n_vocab = engine_model_info(model)->n_vocab;
    int windows = (int)(tokens->n / (size_t)n_ctx);
    if (windows == 0)
        return command_fail(1, "the text has %zu token%s, fewer than one window of %d", tokens->n,
                            tokens->n == 1 ? "" : "s", n_ctx);
    float *logits = malloc(sizeof *logits * SCORED_AT_ONCE * (size_t)n_vocab);
    engine_session *session = model_open_session(model, options, err, sizeof err);
    double total = 0;
    int done = 0;
    while (session && logits && done < windows &&
           score_window(session, tokens->ids + (size_t)done * (size_t)n_ctx, n_ctx, n_vocab, bos, logits, &total, err,
                        sizeof err))
        done++;
    engine_session_close(session);
    free(logits);
    if (done < windows)
        return command_fail(1, "%s", err);
    int scored = windows * (n_ctx - 1 - n_ctx / 2);
    printf("perplexity %.4f over %d tokens in %d windows of %d\n", exp(total / scored), scored, windows, n_ctx);
    return 0;
}

int cmd_perplexity(int argc, char **argv)
{
    enum { KV = 256, ATTN_WINDOW };
    static const struct option options[] = {
        {"model", required_argument, NULL, 'm'},
        {"file", required_argument, NULL, 'f'},
        {"ctx", required_argument, NULL, 'c'},
        {"threads", required_argument, NULL, 't'},
        {"kv", required_argument, NULL, KV},
        {"attn-window", required_argument, NULL, ATTN_WINDOW},
        {0},
    };
    const char *path = NULL, *file = NULL;
    struct engine_session_options session = {.n_ctx = 512};
    for (int c; (c = getopt_long(argc, argv, "m:f:c:t:", options, NULL)) != -1;) {
        switch (c) {
        case 'm': path = optarg; break;
        case 'f': file = optarg; break;
        case 'c': session.n_ctx = (int)command_number("-c", optarg, 4, 1 << 20); break;
        case 't': session.threads = (int)command_number("-t", optarg, 1, 1024); break;
        case KV: session.kv_type = command_kv_type(optarg); break;
        case ATTN_WINDOW: session.attn_window = (int)command_number("--attn-window", optarg, 0, 1 << 20); break;
        default: return command_usage(argv[0]);
        }
    }
    if (!path || !file || optind < argc)
        return command_usage(argv[0]);

    struct buffer text = BUFFER_INIT;
    engine_model *model =
        read_file(file, &text)
            ? command_open_model(&(struct engine_model_options){.path = path, .threads = session.threads})
            : NULL;
    int status = 1;
    if (model) {
        struct engine_tokens tokens = {0};
        int32_t bos = engine_text_start(model);
        if (bos >= 0)
            engine_tokens_push(&tokens, bos);
        engine_tokenize(model, text.s, text.len, false, &tokens);
        status = score(model, &tokens, bos, &session);
        engine_tokens_free(&tokens);
    }
    engine_model_close(model);
    buffer_free(&text);
    return status;
}
