/* tokens.c - struct engine_tokens, the growable array of token ids of engine.h. */
#include "../src/base/mem.h"
#include "engine.h"

#include <stdlib.h>
#include <string.h>

static void reserve(struct engine_tokens *tokens, size_t more)
{
    size_t need = tokens->n + more;
    if (need <= tokens->cap)
        return;
    size_t cap = tokens->cap * 2 > 64 ? tokens->cap * 2 : 64;
    tokens->cap = cap > need ? cap : need;
    tokens->ids = mem_resize(tokens->ids, tokens->cap, sizeof *tokens->ids);
}

void engine_tokens_push(struct engine_tokens *tokens, int32_t id)
{
    reserve(tokens, 1);
    tokens->ids[tokens->n++] = id;
}

void engine_tokens_append(struct engine_tokens *tokens, const int32_t *ids, size_t n)
{
    if (!n)
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
