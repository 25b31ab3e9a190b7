/*
 * config.h - the configuration file, $XDG_CONFIG_HOME/chinwag/config.ini.
 *
 *     # a comment; `;` begins one too
 *     [any heading]                   headings are for the reader
 *     temp = 0.5                      ; after a blank, a comment, except after a text or a path
 *     system = You are brief ; polite.
 *         # Rules                     indented lines go on with a text, whatever they begin with
 *         Answer in French.
 *
 * A setting goes by its name or its long option's. A byte order mark at the start of the file is ignored. A line that
 * cannot be understood is an error, not a default.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include "settings.h"

/* Reads the file into LAYER_CONFIG. A file that does not exist is an empty one. Otherwise returns false and fills err
 * ("FILE:LINE: ..." or "FILE: ..."). */
bool config_read(const char *path, struct settings *settings, char *err, size_t cap);

#endif
