/* commands.c - see commands.h. */
#include "commands.h"

#include "base/buffer.h"
#include "models.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <unistr.h>

#define STORE_MS 20000 /* longest wait for the store's word */

static const struct {
    const char *name;
    command *run;
    const char *usage, *help;
    const char *options; /* a line for each */
} commands[] = {
    {"tokenize", cmd_tokenize, "-m FILE --jsonl [--special]", "JSON strings in, arrays of token ids out",
     "  -m FILE      the model; its vocabulary will do\n"
     "  --jsonl      a JSON string on each line of standard input, an array of ids on each of standard output\n"
     "  --special    control tokens spelled out in a text become tokens\n"},
    {"logits", cmd_logits, "-m FILE --tokens 1,2,3 [-t N] --raw OUT", "float32 logits of every position",
     "  -m FILE      the model\n"
     "  --tokens IDS the prompt as token ids\n"
     "  -t N         threads\n"
     "  --raw OUT    the file written: positions x vocabulary, little-endian\n"},
    {"bench", cmd_bench, "-m FILE [-p N] [-n N] [-d DEPTH] [-t N] [--no-repack] [--no-mmap] [--fast-head] [--json]",
     "speed and memory",
     "  -m FILE      the model\n"
     "  -p N         tokens of the prompt, 512; 0 = none\n"
     "  -n N         tokens generated, 128; 0 = none\n"
     "  -d DEPTH     tokens in the context before, 0\n"
     "  -t N         threads\n"
     "  --no-repack  keep the file's layout of the weights\n"
     "  --no-mmap    read the file instead of mapping it\n"
     "  --fast-head  sample as in a chat, too, with every logit and with those that can matter, in turns\n"
     "  --json       one JSON object instead of lines\n"},
    {"inspect", cmd_inspect, "[-m] FILE [-c N] [--kv f16|q8_0]", "what is in a model file, and the memory it needs",
     "  -m FILE      the model\n"
     "  -c N         for a context window of N tokens\n"
     "  --kv TYPE    with the context stored as f16 or q8_0\n"},
    {"perplexity", cmd_perplexity, "-m FILE -f TEXT [-c N] [-t N] [--kv f16|q8_0] [--attn-window N]",
     "of a text, as llama-perplexity does",
     "  -m FILE      the model\n"
     "  -f TEXT      the text's file\n"
     "  -c N         tokens of a window, 512\n"
     "  -t N         threads\n"
     "  --kv TYPE    how the context is stored, f16 or q8_0\n"
     "  --attn-window N  attend to the first 4 and the last N tokens, 0 = all\n"},
};

#define N_COMMANDS (sizeof commands / sizeof *commands)

command *command_find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].run;
    return NULL;
}

void command_list(void)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf("  chinwag %s %s   %s\n", commands[i].name, commands[i].usage, commands[i].help);
}

bool command_help(const char *name, int argc, char **argv)
{
    bool asked = false;
    for (int i = 1; i < argc && !asked; i++)
        asked = strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
    for (size_t i = 0; i < N_COMMANDS && asked; i++)
        if (strcmp(commands[i].name, name) == 0)
            printf("Usage: chinwag %s %s\n%s: %s\n\n%s", name, commands[i].usage, name, commands[i].help,
                   commands[i].options);
    return asked;
}

int command_usage(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            command_fail(2, "usage: chinwag %s %s", name, commands[i].usage);
    return 2;
}

void command_say(const char *text)
{
    struct buffer line = BUFFER_INIT;
    buffer_puts(&line, "chinwag: ");
    for (const uint8_t *s = (const uint8_t *)text, *end = s + strlen(text); s < end;) {
        ucs4_t c;
        int n = u8_mbtoucr(&c, s, (size_t)(end - s));
        bool shown = n > 0 && !uc_is_general_category_withtable(c, UC_CATEGORY_MASK_Cc);
        n = n > 0 ? n : 1;
        for (int i = 0; !shown && i < n; i++)
            buffer_printf(&line, "\\x%02x", s[i]);
        if (shown)
            buffer_add(&line, (const char *)s, (size_t)n);
        s += n;
    }
    buffer_puts(&line, "\n");
    fputs(line.s, stderr);
    buffer_free(&line);
}

int command_fail(int status, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    if (vasprintf(&text, format, args) >= 0)
        command_say(text);
    va_end(args);
    free(text);
    return status;
}

long command_number(const char *option, const char *text, long min, long max)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno || end == text || *end || n < min || n > max)
        exit(command_fail(2, "%s wants a whole number from %ld to %ld, not '%s'", option, min, max, text));
    return n;
}

struct store *command_open_store(const char *path, char *err, size_t cap)
{
    char ignored[512];
    struct store *store = store_open(path, NULL, NULL, err, cap);
    bool open = false, failed = !store;
    while (!open && !failed) {
        struct store_event *e = store_wait(store, STORE_MS);
        open = e && e->type == STORE_SETTINGS;
        failed = !e || e->type == STORE_OPEN_FAILED || e->type == STORE_FAILING;
        if (failed)
            snprintf(err, cap, "%s", e ? e->text : "the database does not answer");
        else if (e->type == STORE_NOTICE)
            command_say(e->text);
        store_event_free(e);
    }
    if (open || !store)
        return store;
    store_close(store, ignored, sizeof ignored);
    return NULL;
}

enum engine_kv_type command_kv_type(const char *text)
{
    if (strcmp(text, "f16") != 0 && strcmp(text, "q8_0") != 0)
        exit(command_fail(2, "--kv wants f16 or q8_0, not '%s'", text));
    return strcmp(text, "q8_0") == 0 ? ENGINE_KV_Q8_0 : ENGINE_KV_F16;
}

struct store_event *command_await(struct store *store, uint64_t tag, char *err, size_t cap)
{
    struct store_event *e;
    while ((e = store_wait(store, STORE_MS)) && e->tag != tag)
        store_event_free(e);
    if (e && e->type != STORE_ERROR)
        return e;
    snprintf(err, cap, "%s", e && e->text ? e->text : "the database does not answer");
    store_event_free(e);
    return NULL;
}

engine_model *command_open_model(const struct engine_model_options *options)
{
    char err[512] = "the name of the model's file is empty";
    struct engine_model_options resolved = *options;
    char *path = model_resolve(options->path);
    resolved.path = path;
    engine_model *model = !*options->path ? NULL : engine_model_open(&resolved, err, sizeof err);
    free(path);
    if (!model)
        command_fail(1, "%s", err);
    return model;
}
