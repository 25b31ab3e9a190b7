/* model_notes.c - see model_notes.h. */
#include "model_notes.h"

#include <stdio.h>
#include <string.h>

bool model_template_note(const struct engine_model_info *info, char *out, size_t cap)
{
    const char *why = info->chat_template == ENGINE_TEMPLATE_MISSING ? "the file has no chat template"
                                                                     : "the file's chat template is not understood";
    *out = '\0';
    if (info->chat_template == ENGINE_TEMPLATE_KNOWN)
        return false;
    if (strcmp(info->chat_format, "none") == 0)
        snprintf(out, cap, "%s: a plain \"User: / Assistant:\" transcript is used", why);
    else
        snprintf(out, cap, "%s: the %s format is used instead", why, info->chat_format);
    return true;
}

static void note_template(const struct engine_model_info *info, model_note *note, void *ctx)
{
    char what[200], text[300];
    if (!model_template_note(info, what, sizeof what))
        return;
    snprintf(text, sizeof text, "About this model: %s. %s", what,
             info->chat_template == ENGINE_TEMPLATE_MISSING
                 ? "It may be a base model, which continues a text rather than answering."
                 : "Its answers may be worse than the model can do.");
    note(ctx, text);
}

static void note_window(const struct engine_model_info *info, int n_ctx, model_note *note, void *ctx)
{
    char text[300];
    if (info->n_ctx_train <= 0 || n_ctx <= info->n_ctx_train)
        return;
    snprintf(text, sizeof text,
             "The window of %d tokens is larger than the %d this model was trained on: past those its answers become "
             "nonsense (-c %d).",
             n_ctx, info->n_ctx_train, info->n_ctx_train);
    note(ctx, text);
}

bool model_threads_note(int threads, int cores, char *out, size_t cap)
{
    if (threads <= cores)
        return false;
    snprintf(out, cap, "%d threads on %d core%s: expect about %d %% of the speed of %d (-t %d).", threads, cores,
             cores == 1 ? "" : "s", 100 * cores / threads, cores, cores);
    return true;
}

void model_notes(const engine_model *model, const engine_session *session, model_note *note, void *ctx)
{
    const struct engine_model_info *info = engine_model_info(model);
    char text[300];
    note_template(info, note, ctx);
    note_window(info, engine_session_n_ctx(session), note, ctx);
    if (model_threads_note(engine_session_threads(session), engine_default_threads(), text, sizeof text))
        note(ctx, text);
}
