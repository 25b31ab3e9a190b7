/*
 * model_notes.h - what a person should know about a model before its first answer, each as one sentence.
 *
 * The engine gives the facts (engine.h); the sentences, and the options they name, are here. The chat shows them as
 * notices, -p prints them on standard error, both once for each model loaded.
 */
#ifndef MODEL_NOTES_H
#define MODEL_NOTES_H

#include "../engine/engine.h"

#include <stdbool.h>
#include <stddef.h>

typedef void model_note(void *ctx, const char *sentence);

/* The file has no chat template, or one that is not understood; the window is larger than what the model was trained
 * on; there are more threads than cores. Calls note for each that holds. */
void model_notes(const engine_model *model, const engine_session *session, model_note *note, void *ctx);

/* Where the chat format is a guess: why, and which it is, as inspect prints it; false, and out is "", where the file's
 * template was recognised. */
bool model_template_note(const struct engine_model_info *info, char *out, size_t cap);

/* The sentence about more threads than cores; false where there are not. */
bool model_threads_note(int threads, int cores, char *out, size_t cap);

#endif
