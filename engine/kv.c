/* kv.c - see kv.h. */
#include "kv.h"

#include "memory.h"

#include <stdio.h>
#include <string.h>

static int div_up(int n, int by)
{
    return (n + by - 1) / by;
}

/* With a window: the first tile, those a window of any alignment touches, and those being written ahead of it. */
static int slots_of(const struct kv_shape *s)
{
    int all = div_up(s->n_ctx, VECTOR_TILE);
    if (s->window <= 0 || s->window >= s->n_ctx)
        return all;
    int ring = 1 + div_up(s->window, VECTOR_TILE) + 1 + div_up(s->chunk, VECTOR_TILE) + 1;
    return ring < all ? ring : all;
}

static size_t tile_bytes_of(const struct kv_shape *s)
{
    return (size_t)VECTOR_TILE * (size_t)s->head_dim * sizeof(uint16_t);
}

size_t kv_bytes(const struct kv_shape *s)
{
    return 2 * tile_bytes_of(s) * (size_t)slots_of(s) * (size_t)s->n_heads * (size_t)s->n_layers;
}

bool kv_open(struct kv *kv, const struct kv_shape *shape, char *err, size_t cap)
{
    *kv = (struct kv){*shape, slots_of(shape), tile_bytes_of(shape), NULL, kv_bytes(shape)};
    if (shape->type != ENGINE_KV_F16) {
        snprintf(err, cap, "a KV cache in q8_0 is not supported");
        return false;
    }
    kv->data = memory_map(kv->bytes);
    if (!kv->data)
        snprintf(err, cap, "no memory for the KV cache of %d tokens: %zu bytes", shape->n_ctx, kv->bytes);
    return kv->data != NULL;
}

void kv_close(struct kv *kv)
{
    memory_unmap(kv->data, kv->bytes);
    *kv = (struct kv){0};
}

static bool is_ring(const struct kv *kv)
{
    return kv->slots < div_up(kv->shape.n_ctx, VECTOR_TILE);
}

static unsigned char *slot(const struct kv *kv, int layer, int head, int value, int tile)
{
    int at = is_ring(kv) && tile > 0 ? 1 + (tile - 1) % (kv->slots - 1) : tile;
    size_t index =
        (((size_t)layer * (size_t)kv->shape.n_heads + (size_t)head) * 2 + (size_t)value) * (size_t)kv->slots +
        (size_t)at;
    return kv->data + index * kv->tile_bytes;
}

unsigned char *kv_k(const struct kv *kv, int layer, int head, int tile)
{
    return slot(kv, layer, head, 0, tile);
}

unsigned char *kv_v(const struct kv *kv, int layer, int head, int tile)
{
    return slot(kv, layer, head, 1, tile);
}

void kv_store(const struct kv *kv, const struct vector_kernels *vector, int layer, int head, int position,
              const float *k, const float *v)
{
    int tile = position / VECTOR_TILE, at = position % VECTOR_TILE, hd = kv->shape.head_dim;
    uint16_t narrow[VECTOR_HEAD_MAX];
    vector->narrow(k, narrow, hd);
    uint16_t *k_tile = (uint16_t *)(void *)kv_k(kv, layer, head, tile);
    uint16_t *group = k_tile + (size_t)(at / VECTOR_GROUP) * (size_t)hd * VECTOR_GROUP + at % VECTOR_GROUP;
    for (int d = 0; d < hd; d++)
        group[(size_t)d * VECTOR_GROUP] = narrow[d];
    vector->narrow(v, (uint16_t *)(void *)kv_v(kv, layer, head, tile) + (size_t)at * (size_t)hd, hd);
}

bool kv_holds(const struct kv *kv, int n, int high)
{
    if (!is_ring(kv) || n <= 1)
        return true;
    int begin, end;
    kv_tiles(kv, n - 1, n - 1, &begin, &end);
    /* The oldest tile needed must not have been overwritten by the newest one. */
    return div_up(high, VECTOR_TILE) - begin <= kv->slots - 1;
}

struct vector_span kv_span(const struct kv *kv, int position, int tile)
{
    int base = tile * VECTOR_TILE;
    struct vector_span see = {0, 0, position - base + 1};
    if (see.to <= 0)
        return (struct vector_span){0, 0, 0};
    if (see.to > VECTOR_TILE)
        see.to = VECTOR_TILE;
    if (kv->shape.window > 0 && position - kv->shape.window + 1 > base) {
        see.from = position - kv->shape.window + 1 - base;
        see.sinks = tile == 0 ? KV_SINKS : 0;
        if (see.from >= see.to)
            see = tile == 0 ? (struct vector_span){0, 0, see.to < KV_SINKS ? see.to : KV_SINKS}
                            : (struct vector_span){0, 0, 0};
    }
    return see;
}

void kv_tiles(const struct kv *kv, int first, int last, int *begin, int *end)
{
    int oldest = kv->shape.window > 0 ? first - kv->shape.window + 1 : 0;
    *begin = oldest / VECTOR_TILE > 1 ? oldest / VECTOR_TILE : 1;
    *end = last / VECTOR_TILE + 1;
    if (*end < *begin)
        *end = *begin;
}
