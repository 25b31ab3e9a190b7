/* stream.c - engine_stream_push of engine.h: tokens split characters, the reader wants them whole. */
#include "engine.h"
#include "utf8.h"

size_t engine_stream_push(struct engine_stream *stream, const engine_model *model, int32_t id, char *out, size_t cap)
{
    size_t n;
    const char *bytes = engine_token_bytes(model, id, false, &n);
    return utf8_stream(stream, bytes, n, out, cap);
}
