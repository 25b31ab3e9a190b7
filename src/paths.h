/*
 * paths.h - where files live: the XDG directories (https://specifications.freedesktop.org/basedir-spec/).
 *
 * Paths returned are malloc'd. A variable that is unset, empty or relative counts as absent, as the specification says.
 */
#ifndef PATHS_H
#define PATHS_H

#include <stdbool.h>
#include <stddef.h>

char *path_data(const char *rest);   /* $XDG_DATA_HOME/chinwag/REST */
char *path_config(const char *rest); /* $XDG_CONFIG_HOME/chinwag/REST */
char *path_expand(const char *path); /* a leading "~/" becomes the home directory */

/* Makes the directories above file, 0700 each where missing. False and err when one cannot be made. */
bool path_make_parents(const char *file, char *err, size_t cap);

#endif
