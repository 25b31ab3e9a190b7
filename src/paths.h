/*
 * paths.h - where files live: the XDG directories (https://specifications.freedesktop.org/basedir-spec/).
 *
 * Paths returned are malloc'd. A variable that is unset, empty or relative counts as absent, as the specification
 * says.
 */
#ifndef PATHS_H
#define PATHS_H

char *path_data(const char *rest);   /* $XDG_DATA_HOME/chinwag/REST */
char *path_config(const char *rest); /* $XDG_CONFIG_HOME/chinwag/REST */
char *path_expand(const char *path); /* a leading "~/" becomes the home directory */

#endif
