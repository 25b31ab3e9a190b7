/* main.c - the entry point: a command for machines, one answer, or the chat. */
#include "app.h"
#include "cmd_list.h"
#include "commands.h"
#include "config.h"
#include "models.h"
#include "oneshot.h"
#include "options.h"
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A standard stream that the caller closed must not become the number of a file of ours. */
static void fill_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* A page of a mapped file that is no longer there: whoever reads it gets this signal. The chat, which has the terminal
 * to restore, installs a handler of its own. */
static void on_bus_error(int number)
{
    static const char text[] = "chinwag: a file in use, probably the model's, was cut short or could not be read\n";
    (void)number;
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(1);
}

static int finish_output(void)
{
    if (fflush(stdout) == 0)
        return 0;
    return errno == EPIPE ? 0 : command_fail(1, "standard output: %s", strerror(errno));
}

static int print_help(void)
{
    printf("Usage: chinwag [OPTION]... [QUESTION]\n"
           "Talk to a language model that runs inside this program.\n\n");
    options_help(stdout);
    printf("\nCommands for machines:\n");
    command_list();
    char *config = path_config("config.ini"), *data = path_data("");
    printf("\nSettings are read from %s (name = value, as the long options are called);\n"
           "conversations and models are kept in %s.\n"
           "Exit status: 0, 1 after a failure, 2 for wrong usage, 130 after Ctrl-C.\n",
           config, data);
    free(config);
    free(data);
    return finish_output();
}

static int print_version(void)
{
    printf("chinwag " CHINWAG_VERSION "\n"
           "Copyright (C) 2026 the chinwag authors\n"
           "License MIT. This is free software: you may change and pass it on; there is no warranty.\n");
    return finish_output();
}

/* What would end the chat anyway is said before the screen is taken. A database may remember a model we do not know
 * of yet. */
static bool hopeless(const struct settings *settings, char *err, size_t cap)
{
    char *path = model_choose(settings, err, cap);
    char *db = settings_database(settings);
    bool lost = !path && (settings_has(settings, LAYER_ARGUMENTS, SET_MODEL) || access(db, F_OK) != 0);
    free(path);
    free(db);
    return lost;
}

static int chat(const struct options *options, struct settings *settings)
{
    char err[512];
    if (hopeless(settings, err, sizeof err))
        return command_fail(1, "%s", err);
    return app_run(options, settings);
}

static int run(int argc, char **argv, struct settings *settings)
{
    char err[512];
    struct options options;
    if (!options_parse(argc, argv, &options, settings, err, sizeof err))
        return command_fail(2, "%s", err);
    if (options.task == OPTIONS_HELP)
        return print_help();
    if (options.task == OPTIONS_VERSION)
        return print_version();

    char *config = path_config("config.ini");
    bool read = config_read(config, settings, err, sizeof err);
    free(config);
    if (!read)
        return command_fail(1, "%s", err);
    if (options.task == OPTIONS_LIST) {
        int failed = cmd_list(settings);
        return failed ? failed : finish_output();
    }
    return options.task == OPTIONS_ONESHOT ? oneshot_run(&options, settings) : chat(&options, settings);
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    signal(SIGBUS, on_bus_error);
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* numbers are written the same way everywhere */
    command *found = argc > 1 ? command_find(argv[1]) : NULL;
    if (found) {
        opterr = 0;
        int failed = command_help(argv[1], argc - 1, argv + 1) ? 0 : found(argc - 1, argv + 1);
        return failed ? failed : finish_output();
    }
    struct settings settings = {0};
    int status = run(argc, argv, &settings);
    settings_free(&settings);
    return status;
}
