/* place.h - the file's place: its directory, its modes, whether it can be a database that is written to. */
#ifndef PLACE_H
#define PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* Checks that path is a regular file in a directory that can be written. create: makes the missing directories (0700)
 * and the file (0600, empty), whatever the umask. False and err otherwise. */
bool place_prepare(const char *path, bool create, char *err, size_t cap);

/* Takes group's and others' permissions from a file of ours: a copy made by hand may have come with them. */
void place_make_private(const char *path);

#endif
