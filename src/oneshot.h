/*
 * oneshot.h - `chinwag -p TEXT`: one answer on standard output, then the end.
 *
 * Standard input that is no terminal is appended to TEXT after a blank line (not with --no-stdin). Standard output gets
 * the answer, piece by piece, and a newline; nothing else, ever. A thought before the answer goes to standard error
 * with --thoughts, else nowhere. An answer cut by -n or by the window is whole to the exit status; a line on standard
 * error says so. No database is touched without --save or --resume.
 */
#ifndef ONESHOT_H
#define ONESHOT_H

#include "options.h"
#include "settings.h"

/* The exit status: 0 (also when the reader of our output has gone, as with `| head`), 1 with one line on stderr (also
 * where the answer ended before its thought did), 2 where there is no question at all, 130 after Ctrl-C. */
int oneshot_run(const struct options *options, struct settings *settings);

#endif
