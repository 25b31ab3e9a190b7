/*
 * engine.c - what engine.h offers around a model: tokens, chat, defaults.
 */
#include "engine.h"

#include "cpu.h"
#include "model.h"

#define CTX_DEFAULT 4096

/* ---- tokens, chat ----------------------------------------------------------------------------------------- */

void engine_tokenize(const engine_model *model, const char *text, size_t len, bool parse_special,
                     struct engine_tokens *out)
{
    tokenizer_encode(model->tokenizer, text, len, parse_special, out);
}

const char *engine_token_bytes(const engine_model *model, int32_t id, bool special, size_t *len)
{
    return tokenizer_bytes(model->tokenizer, id, special, len);
}

int32_t engine_text_start(const engine_model *model)
{
    return tokenizer_bos(model->tokenizer);
}

bool engine_render_chat(const engine_model *model, const struct engine_message *messages, size_t n, bool generate,
                        struct engine_tokens *out, char *err, size_t cap)
{
    return template_render(model->chat, messages, n, generate, out, err, cap);
}

const char *engine_answer_start(const engine_model *model)
{
    return template_answer_start(model->chat);
}

struct engine_answer_span engine_answer_span(const engine_model *model, const char *text, size_t len, bool whole)
{
    return template_answer_span(model->chat, text, len, whole);
}

void engine_skip_thought(const engine_model *model, struct engine_tokens *prompt)
{
    template_skip_thought(model->chat, prompt);
}

/* ---- defaults -------------------------------------------------------------------------------------------- */

struct engine_sampling engine_default_sampling(const engine_model *model)
{
    struct engine_sampling s = {
        .temperature = 0.7f, .top_k = 20, .top_p = 0.8f, .repeat_penalty = 1.1f, .repeat_last_n = 256};
    const struct {
        const char *key;
        float *value;
        double min, max;
    } floats[] = {
        {"general.sampling.temp", &s.temperature, 0, 100},
        {"general.sampling.top_p", &s.top_p, 0, 1},
        {"general.sampling.min_p", &s.min_p, 0, 1},
        {"general.sampling.penalty_repeat", &s.repeat_penalty, 0.01, 100},
    };
    const struct {
        const char *key;
        int *value;
        int64_t min, max;
    } ints[] = {
        {"general.sampling.top_k", &s.top_k, 0, INT32_MAX},
        {"general.sampling.penalty_last_n", &s.repeat_last_n, 0, INT32_MAX},
    };
    char ignored[256]; /* a default that makes no sense is none */
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        double v;
        if (gguf_get_float(model->file, floats[i].key, &v, ignored, sizeof ignored) && v >= floats[i].min &&
            v <= floats[i].max)
            *floats[i].value = (float)v;
    }
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        int64_t v;
        if (gguf_get_int(model->file, ints[i].key, ints[i].min, ints[i].max, &v, ignored, sizeof ignored))
            *ints[i].value = (int)v;
    }
    return s;
}

int engine_default_context(const engine_model *model)
{
    int trained = model->info.n_ctx_train;
    return trained > 0 && trained < CTX_DEFAULT ? trained : CTX_DEFAULT;
}

int engine_default_threads(void)
{
    return cpu_cores();
}
