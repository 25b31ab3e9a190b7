/*
 * cmd_list.h - `chinwag --list`: the saved conversations on standard output, the most recently updated first.
 *
 * One line per conversation: its number, which --resume takes (resume.h), the date and time of the last
 * update, the title, separated by two spaces.
 */
#ifndef CMD_LIST_H
#define CMD_LIST_H

#include "settings.h"

/* Returns the exit status: 0, or 1 with one line on stderr. Without a database the list is empty; none is created. */
int cmd_list(const struct settings *settings);

#endif
