/*
 * list.h - `chinwag --list`: the saved conversations on standard output, the most recently updated first.
 *
 * A line for each: the id that --resume takes, the day and time it was last updated, its title, two spaces
 * between.
 */
#ifndef LIST_H
#define LIST_H

#include "settings.h"

/* The exit status: 0, also where nothing was ever saved (no database is made then), or 1 with one line on stderr. */
int list_run(const struct settings *settings);

#endif
