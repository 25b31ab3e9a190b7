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

/* ---- memory ---------------------------------------------------------------------------------------------- */

static void put_size(char *out, size_t cap, double bytes)
{
    bool giga = bytes >= 0x1p30;
    snprintf(out, cap, "%.1f %s", bytes / (giga ? 0x1p30 : 0x1p20), giga ? "GiB" : "MiB");
}

/* What would help, " with --kv q8_0 it is 2.1 GiB, with -c 4096 0.5 GiB": the window in 8 bits, and the largest that
 * fits into `room` bytes with its compute buffers. */
static void put_ways_out(const engine_model *model, struct engine_session_options options, double room, char *out,
                         size_t cap)
{
    char size[32];
    size_t used = 0;
    *out = '\0';
    if (options.kv_type == ENGINE_KV_F16 && engine_model_info(model)->head_dim % 32 == 0) {
        struct engine_session_options small = options;
        small.kv_type = ENGINE_KV_Q8_0;
        put_size(size, sizeof size, (double)engine_session_bytes(model, &small).kv);
        used += (size_t)snprintf(out, cap, "--kv q8_0 makes it %s, ", size);
    }
    int fits = 1, too_many = options.n_ctx / 1024 + 1; /* x 1024 tokens */
    while (too_many - fits > 1) {
        options.n_ctx = (fits + too_many) / 2 * 1024;
        struct engine_session_bytes bytes = engine_session_bytes(model, &options);
        if ((double)(bytes.kv + bytes.compute) <= room)
            fits = options.n_ctx / 1024;
        else
            too_many = options.n_ctx / 1024;
    }
    snprintf(out + used, cap - used, "-c %d is the largest window that fits", fits * 1024);
}

static struct engine_session_options with_window(const engine_model *model,
                                                 const struct engine_session_options *options)
{
    struct engine_session_options all = *options;
    all.n_ctx = all.n_ctx > 0 ? all.n_ctx : engine_default_context(model);
    return all;
}

bool model_window_fits(const engine_model *model, const struct engine_session_options *options,
                       struct engine_memory memory, char *err, size_t cap)
{
    struct engine_session_options all = with_window(model, options);
    struct engine_session_bytes bytes = engine_session_bytes(model, &all);
    double weights = (double)engine_model_info(model)->tensor_bytes;
    char needs[32], most[32], ways[200];
    if (!memory.most || weights + (double)(bytes.kv + bytes.compute) <= (double)memory.most)
        return true;
    put_size(needs, sizeof needs, (double)bytes.kv);
    put_size(most, sizeof most, (double)memory.most);
    put_ways_out(model, all, (double)memory.most - weights, ways, sizeof ways);
    snprintf(err, cap, "a window of %d tokens needs %s of memory, and this process may use %s in all: %s", all.n_ctx,
             needs, most, ways);
    return false;
}

engine_session *model_open_session(const engine_model *model, const struct engine_session_options *options, char *err,
                                   size_t cap)
{
    return model_window_fits(model, options, engine_memory(), err, cap)
               ? engine_session_open(model, options, err, cap)
               : NULL;
}

static void note_memory(const engine_model *model, const struct engine_session_options *options, model_note *note,
                        void *ctx)
{
    struct engine_session_options all = with_window(model, options);
    double kv = (double)engine_session_bytes(model, &all).kv, available = (double)engine_memory().available;
    char needs[32], free_now[32], ways[200], text[400];
    if (available <= 0 || kv <= available)
        return;
    put_size(needs, sizeof needs, kv);
    put_size(free_now, sizeof free_now, available);
    put_ways_out(model, all, available, ways, sizeof ways);
    snprintf(text, sizeof text, "The window of %d tokens grows to %s of memory as it fills, and %s are free: %s.",
             all.n_ctx, needs, free_now, ways);
    note(ctx, text);
}

/* ---- threads, and all of it ------------------------------------------------------------------------------ */

bool model_threads_note(int threads, int cores, char *out, size_t cap)
{
    if (threads <= cores)
        return false;
    snprintf(out, cap, "%d threads on %d core%s: expect about %d %% of the speed of %d (-t %d).", threads, cores,
             cores == 1 ? "" : "s", 100 * cores / threads, cores, cores);
    return true;
}

void model_notes(const engine_model *model, const engine_session *session,
                 const struct engine_session_options *options, model_note *note, void *ctx)
{
    const struct engine_model_info *info = engine_model_info(model);
    char text[300];
    note_template(info, note, ctx);
    note_window(info, engine_session_n_ctx(session), note, ctx);
    note_memory(model, options, note, ctx);
    if (model_threads_note(engine_session_threads(session), engine_default_threads(), text, sizeof text))
        note(ctx, text);
}
