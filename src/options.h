/*
 * options.h - the command line: `chinwag [options] [question]`. One table gives the parser its options and --help its lines.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum options_task { OPTIONS_CHAT, OPTIONS_ONESHOT, OPTIONS_LIST, OPTIONS_HELP, OPTIONS_VERSION };

struct options {
    enum options_task task;
    const char *prompt;   /* of OPTIONS_ONESHOT; points into argv */
    bool save;            /* keep the one answer as a new conversation */
    bool thoughts;        /* of OPTIONS_ONESHOT: what is thought before the answer goes to standard error */
    bool no_stdin;        /* of OPTIONS_ONESHOT: standard input is left unread */
    const char *question; /* of OPTIONS_CHAT: sent at the start; NULL = none; points into argv */
    bool resume;
    const char *resumed; /* the conversation to resume (resume.h); NULL = the latest; points into argv */
};

/* Settings go into LAYER_ARGUMENTS. False and err, a sentence without the program's name, when the usage is wrong. */
bool options_parse(int argc, char **argv, struct options *options, struct settings *settings, char *err, size_t cap);

/* What --help prints about the options. */
void options_help(FILE *out);

#endif
