/* cmd_logits.c - `chinwag logits`: the logits of every position of one prefill, positions x vocabulary, float32. */
#include "commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads "1,2,3" into tokens; false unless every part is an id below n_vocab. */
static bool parse_ids(const char *text, int n_vocab, struct engine_tokens *tokens)
{
    for (const char *p = text;; p++) {
        char *end;
        errno = 0;
        long id = strtol(p, &end, 10);
        if (errno || end == p || id < 0 || id >= n_vocab)
            return false;
        engine_tokens_push(tokens, (int32_t)id);
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        p = end;
    }
}

static int evaluate(const engine_model *model, const struct engine_tokens *tokens, int threads, const char *out_path)
{
    char err[512];
    size_t n_floats = tokens->n * (size_t)engine_model_info(model)->n_vocab;
    float *logits = malloc(n_floats * sizeof *logits);
    if (!logits)
        return command_fail(1, "no memory for %zu bytes of logits", n_floats * sizeof *logits);

    int status = 0;
    FILE *out = NULL;
    engine_session *session = engine_session_open(
        model, &(struct engine_session_options){.n_ctx = (int)tokens->n, .threads = threads}, err, sizeof err);
    if (!session || engine_session_eval(session, tokens->ids, tokens->n, logits, err, sizeof err) != ENGINE_OK)
        status = command_fail(1, "%s", err);
    else if (!(out = fopen(out_path, "wb")) || fwrite(logits, sizeof *logits, n_floats, out) != n_floats)
        status = command_fail(1, "%s: %s", out_path, strerror(errno));
    if (out && fclose(out) != 0 && status == 0)
        status = command_fail(1, "%s: %s", out_path, strerror(errno));
    engine_session_close(session);
    free(logits);
    return status;
}

int cmd_logits(int argc, char **argv)
{
    static const struct option options[] = {
        {"model", required_argument, NULL, 'm'},
        {"tokens", required_argument, NULL, 'i'},
        {"threads", required_argument, NULL, 't'},
        {"raw", required_argument, NULL, 'o'},
        {0},
    };
    const char *path = NULL, *ids = NULL, *out = NULL;
    int threads = 0;
    for (int c; (c = getopt_long(argc, argv, "m:t:", options, NULL)) != -1;) {
        if (c == 'm')
            path = optarg;
        else if (c == 'i')
            ids = optarg;
        else if (c == 'o')
            out = optarg;
        else if (c == 't')
            threads = (int)command_number("-t", optarg, 1, 1024);
        else
            return command_usage(argv[0]);
    }
    if (!path || !ids || !out || optind < argc)
        return command_usage(argv[0]);

    engine_model *model = command_open_model(&(struct engine_model_options){.path = path, .threads = threads});
    if (!model)
        return 1;
    struct engine_tokens tokens = {0};
    int n_vocab = engine_model_info(model)->n_vocab;
    int status = parse_ids(ids, n_vocab, &tokens)
                     ? evaluate(model, &tokens, threads, out)
                     : command_fail(2, "--tokens wants ids from 0 to %d with commas between them", n_vocab - 1);
    engine_tokens_free(&tokens);
    engine_model_close(model);
    return status;
}
