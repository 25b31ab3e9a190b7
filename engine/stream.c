/* stream.c - engine_stream of engine.h: tokens split characters, the reader wants them whole. */
#include "engine.h"

#include "model.h"
#include "utf8.h"

size_t engine_stream_push(struct engine_stream *stream, const engine_model *model, int32_t id, char *out, size_t cap)
{
    size_t n;
    const char *bytes = engine_token_bytes(model, id, false, &n);
    bool prefixed = !stream->begun && n && *bytes == ' ' && tokenizer_prefixes_space(model->tokenizer);
    stream->begun = stream->begun || n;
    return utf8_stream(stream, bytes + prefixed, n - prefixed, out, cap);
}

size_t engine_stream_end(struct engine_stream *stream, char *out, size_t cap)
{
    /* What is held is valid as far as it goes: one maximal subpart, one U+FFFD. */
    size_t n = stream->n_held && cap >= 4 ? utf8_encode(UTF8_REPLACEMENT, out) : 0;
    *stream = (struct engine_stream){0};
    if (cap)
        out[n] = '\0';
    return n;
}
