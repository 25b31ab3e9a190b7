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
 * on, or may grow beyond the memory that is free; there are more threads than cores. Calls note for each that holds.
 * options: those the session was opened with. */
void model_notes(const engine_model *model, const engine_session *session,
                 const struct engine_session_options *options, model_note *note, void *ctx);

/* Whether this process can ever hold the model with a window of these options (n_ctx 0: the default). If not, err names
 * the memory it takes, what there is, and the options that change it. `memory`: engine_memory(). */
bool model_window_fits(const engine_model *model, const struct engine_session_options *options,
                       struct engine_memory memory, char *err, size_t cap);

/* Opens a session if its window fits; NULL and err. */
engine_session *model_open_session(const engine_model *model, const struct engine_session_options *options, char *err,
                                   size_t cap);

/* Where the chat format is a guess: why, and which it is, as inspect prints it; false, and out is "", where the file's
 * template was recognised. */
bool model_template_note(const struct engine_model_info *info, char *out, size_t cap);

/* The sentence about more threads than cores; false where there are not. */
bool model_threads_note(int threads, int cores, char *out, size_t cap);

#endif
