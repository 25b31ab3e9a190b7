/*
 * models.h - finding the model's file.
 */
#ifndef MODELS_H
#define MODELS_H

#include "settings.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the file is there, can be read and begins as a GGUF file does: costs nothing, finds most mistakes. */
bool model_check(const char *path, char *err, size_t cap);

/* The file meant by what a person typed: a path (~/ expanded), or the name of a file in the model directory, with or
 * without ".gguf". malloc'd. */
char *model_resolve(const char *text);

/* The file to load: the one set in the uppermost layer, else the best of $XDG_DATA_HOME/chinwag/models. One
 * remembered by the store that has gone is passed over. NULL and err, one sentence that says what to do, when there
 * is none or the one asked for is no model. malloc'd. */
char *model_choose(const struct settings *settings, char *err, size_t cap);

/* What the beginning of a name or a path could become, for n strings in *out that models_free frees: files of the
 * model directory, or, where it has a slash, GGUF files and directories there. */
size_t models_like(const char *typed, char ***out);
void models_free(char **names, size_t n);

/* The name under which a model is shown and stored: the file's name without its path, part number, ".gguf" and format,
 * and the quantization behind it. Valid UTF-8: a longer name is cut between characters, and bytes that are no UTF-8
 * become U+FFFD. ("general.name" in the file is often something else: "Smollm2 135M 8k Lc100K Mix1 Ep2".) */
void model_display_name(const char *path, const char *quantization, char *out, size_t cap);

/* Names in the model directory, the best first, separated by ", "; malloc'd, "" if there are none. */
char *model_names(void);

#endif
