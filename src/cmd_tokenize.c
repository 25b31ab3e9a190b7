/* cmd_tokenize.c - `chinwag tokenize`: one JSON string per input line, one JSON array of ids per output line. */
#include "commands.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_ids(const struct engine_tokens *tokens)
{
    putchar('[');
    for (size_t i = 0; i < tokens->n; i++)
        printf(i ? ", %d" : "%d", tokens->ids[i]);
    puts("]");
}

/* Answers every line of stdin. Returns the exit status. */
static int tokenize_lines(const engine_model *model, bool special)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    int status = 0;
    struct engine_tokens tokens = {0};
    for (size_t number = 1; status == 0 && (len = getline(&line, &cap, stdin)) >= 0; number++) {
        json_error_t error;
        json_t *text = json_loadb(line, (size_t)len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        if (!json_is_string(text)) {
            status = command_fail(1, "line %zu of the input is no JSON string%s%s", number, text ? "" : ": ",
                                  text ? "" : error.text);
        } else {
            tokens.n = 0;
            engine_tokenize(model, json_string_value(text), json_string_length(text), special, &tokens);
            print_ids(&tokens);
        }
        json_decref(text);
    }
    engine_tokens_free(&tokens);
    free(line);
    if (status == 0 && (ferror(stdin) || fflush(stdout) != 0))
        status = command_fail(1, "the texts could not be read, or the ids not written");
    return status;
}

int cmd_tokenize(int argc, char **argv)
{
    static const struct option options[] = {
        {"model", required_argument, NULL, 'm'},
        {"jsonl", no_argument, NULL, 'j'},
        {"special", no_argument, NULL, 's'},
        {0},
    };
    const char *path = NULL;
    bool jsonl = false, special = false;
    for (int c; (c = getopt_long(argc, argv, "m:", options, NULL)) != -1;) {
        if (c == 'm')
            path = optarg;
        else if (c == 'j')
            jsonl = true;
        else if (c == 's')
            special = true;
        else
            return command_usage(argv[0]);
    }
    if (!path || !jsonl || optind < argc)
        return command_usage(argv[0]);

    engine_model *model = command_open_model(&(struct engine_model_options){.path = path, .vocab_only = true});
    if (!model)
        return 1;
    int status = tokenize_lines(model, special);
    engine_model_close(model);
    return status;
}
