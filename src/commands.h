/*
 * commands.h - the commands for machines: `chinwag tokenize`, `logits`, `bench`, `perplexity`, `inspect`. They check
 * the engine from outside.
 *
 * They read and write UTF-8 and little-endian numbers, add no BOS of their own and print nothing else on stdout. Each
 * returns the exit status: 0, 1 for a failure, 2 for wrong usage, with one line on stderr. Their options are stable.
 */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "../data/store.h"
#include "../engine/engine.h"

#include <stdbool.h>
#include <stddef.h>

typedef int command(int argc, char **argv); /* argv[0] is the command's name */

command *command_find(const char *name); /* NULL if there is no such command */
void command_list(void);                 /* prints a line for each to stdout, for --help */

command cmd_tokenize, cmd_logits, cmd_bench, cmd_perplexity, cmd_inspect;

/* Prints how the command of that name is used to stdout, if its arguments hold --help or -h; else returns false. */
bool command_help(const char *name, int argc, char **argv);

/* ---- for the commands themselves ---- */

/* One line on stderr, "chinwag: " before it. Control characters and what is no UTF-8 are spelled out: \x1b. */
void command_say(const char *text);

/* Says that; returns status, so that `return command_fail(1, ...)` reads well. */
int command_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How the command of that name is used, as such a line; returns 2. getopt itself is to say nothing: opterr is 0. */
int command_usage(const char *name);

/* The number an option was given; anything else, or one outside min..max, ends the program with status 2. */
long command_number(const char *option, const char *text, long min, long max);

/* Opens the store and waits until its file is open; prints what the store reports about the file to stderr. Returns
 * NULL and fills err where the file cannot be opened or stays locked by another program. Free with store_close. */
struct store *command_open_store(const char *path, char *err, size_t cap);

/* The type of KV cache that --kv names; any other word ends the program with status 2. */
enum engine_kv_type command_kv_type(const char *text);

/* Waits for the result of the query with this tag (not 0) and skips other events; free it with store_event_free. NULL
 * and err: the query failed, or the store sent nothing for longer than it waits for a lock. */
struct store_event *command_await(struct store *store, uint64_t tag, char *err, size_t cap);

/* Opens a model, by its path or by its name in the model directory, or prints the one line that says why not and returns NULL. */
engine_model *command_open_model(const struct engine_model_options *options);

#endif
