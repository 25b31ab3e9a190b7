/*
 * oneshot.h - `chinwag -p TEXT`: one answer on standard output, then the end.
 *
 * Standard input that is no terminal is appended to TEXT after a blank line. Standard output gets the answer, piece
 * by piece, and a newline; nothing else, ever. What a model thinks before is no part of its answer: with --thoughts
 * it goes to standard error. No database is touched without --save or --resume.
 */
#ifndef ONESHOT_H
#define ONESHOT_H

#include "options.h"
#include "settings.h"

/* The exit status: 0 (also when the reader of our output has gone, as with `| head`), 1 with one line on stderr (also
 * where the answer ended before its thought did), 2 where there is no question at all, 130 after Ctrl-C. */
int oneshot_run(const struct options *options, struct settings *settings);

/* The question: text, a blank line, piped. NULL where there is none. piped is checked: UTF-8 without NUL, else NULL
 * and err. malloc'd. */
char *oneshot_question(const char *text, const char *piped, size_t n, char *err, size_t cap);

#endif
