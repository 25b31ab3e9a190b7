/*
 * config.h - the configuration file, $XDG_CONFIG_HOME/chinwag/config.ini: `name = value` for each name of
 * settings_table.
 *
 * A line that cannot be understood is an error, not a default. Long texts go on in indented lines.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include "settings.h"

/* Reads the file into LAYER_CONFIG. A file that does not exist is an empty one. False and err ("FILE:LINE: ...")
 * otherwise. */
bool config_read(const char *path, struct settings *settings, char *err, size_t cap);

#endif
