/*
 * engine.c - what engine.h offers around a model: tokens, text streams, chat, defaults.
 */
#include "engine.h"

#include "cpu.h"
#include "model.h"
#include "xalloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- tokens ---------------------------------------------------------------------------------------------- */

static void reserve(struct engine_tokens *t, size_t more)
{
    if (t->cap - t->n >= more)
        return;
    size_t cap = t->cap ? t->cap : 64;
    while (cap - t->n < more)
        cap *= 2;
    t->ids = xrealloc(t->ids, cap, sizeof *t->ids);
    t->cap = cap;
}

void engine_tokens_push(struct engine_tokens *tokens, int32_t id)
{
    reserve(tokens, 1);
    tokens->ids[tokens->n++] = id;
}

void engine_tokens_append(struct engine_tokens *tokens, const int32_t *ids, size_t n)
{
    if (n == 0)
        return;
    reserve(tokens, n);
    memcpy(tokens->ids + tokens->n, ids, n * sizeof *ids);
    tokens->n += n;
}

void engine_tokens_free(struct engine_tokens *tokens)
{
    free(tokens->ids);
    *tokens = (struct engine_tokens){0};
}

void engine_tokenize(const engine_model *model, const char *text, size_t len, bool parse_special,
                     struct engine_tokens *out)
{
    tokenizer_encode(model->tokenizer, text, len, parse_special, out);
}

const char *engine_token_bytes(const engine_model *model, int32_t id, bool special, size_t *len)
{
    return tokenizer_bytes(model->tokenizer, id, special, len);
}

bool engine_token_is_end(const engine_model *model, int32_t id)
{
    return tokenizer_is_end(model->tokenizer, id);
}

/* ---- streams --------------------------------------------------------------------------------------------- */

/* How many bytes the sequence that begins with these n (at least 1) has; 0 if it is no beginning of one (Unicode 15, table
 * 3-7: no overlong forms, no surrogates, nothing above U+10FFFF). */
static int sequence_length(const unsigned char *s, int n)
{
    static const struct {
        unsigned char lead_min, lead_max, second_min, second_max;
        int length;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (s[0] < forms[i].lead_min || s[0] > forms[i].lead_max)
            continue;
        if (n > 1 && forms[i].length > 1 && (s[1] < forms[i].second_min || s[1] > forms[i].second_max))
            return 0;
        for (int k = 2; k < n && k < forms[i].length; k++)
            if ((s[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

/* Takes one byte; writes what it completes or makes invalid at out and returns its end. */
static char *push_byte(struct engine_stream *stream, unsigned char byte, char *out)
{
    stream->held[stream->n_held++] = byte;
    for (;;) {
        int length = sequence_length(stream->held, stream->n_held);
        if (length > stream->n_held)
            return out; /* unfinished */
        if (length > 0) {
            memcpy(out, stream->held, (size_t)length);
            stream->n_held = 0;
            return out + length;
        }
        /* The bytes before the last were a valid beginning: together they become one U+FFFD, and the last starts anew. */
        memcpy(out, "\xef\xbf\xbd", 3);
        out += 3;
        if (stream->n_held == 1) {
            stream->n_held = 0;
            return out;
        }
        stream->held[0] = byte;
        stream->n_held = 1;
    }
}

size_t engine_stream_push(struct engine_stream *stream, const engine_model *model, int32_t id, char *out, size_t cap)
{
    size_t len;
    const char *bytes = tokenizer_bytes(model->tokenizer, id, false, &len);
    char *end = out;
    for (size_t i = 0; i < len && (size_t)(end - out) + 8 <= cap; i++)
        end = push_byte(stream, (unsigned char)bytes[i], end);
    *end = '\0';
    return (size_t)(end - out);
}

/* ---- chat, defaults -------------------------------------------------------------------------------------- */

bool engine_render_chat(const engine_model *model, const struct engine_message *messages, size_t n, bool generate,
                        struct engine_tokens *out, char *err, size_t cap)
{
    return template_render(model->chat, messages, n, generate, out, err, cap);
}

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

int engine_default_threads(void)
{
    return cpu_cores();
}
