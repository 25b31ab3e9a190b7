/* kv.c - see kv.h. */
#include "kv.h"

#include "memory.h"
#include "quant.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define HALF_MAX 65504.0f /* largest finite half float */

static int div_up(int n, int by)
{
    return (n + by - 1) / by;
}

/* With a window: the first tile, those a window of any alignment touches, and those being written ahead of it. */
int kv_slots(const struct kv_shape *s)
{
    int all = div_up(s->n_ctx, VECTOR_TILE);
    if (s->window <= 0 || s->window >= s->n_ctx)
        return all;
    int ring = 1 + div_up(s->window, VECTOR_TILE) + 1 + div_up(s->chunk, VECTOR_TILE) + 1;
    return ring < all ? ring : all;
}

/* Both types round to whole cache lines: head_dim is a multiple of 16, and of 32 in 8 bits. */
static size_t tile_bytes_of(const struct kv_shape *s)
{
    size_t n = (size_t)VECTOR_TILE * (size_t)s->head_dim;
    return s->type == ENGINE_KV_Q8_0 ? n + n / VECTOR_Q8_BLOCK * sizeof(uint16_t) : n * sizeof(uint16_t);
}

size_t kv_bytes(const struct kv_shape *s)
{
    return 2 * tile_bytes_of(s) * (size_t)kv_slots(s) * (size_t)s->n_heads * (size_t)s->n_layers;
}

bool kv_open(struct kv *kv, const struct kv_shape *shape, char *err, size_t cap)
{
    *kv = (struct kv){*shape, kv_slots(shape), tile_bytes_of(shape), NULL, kv_bytes(shape)};
    if (shape->type == ENGINE_KV_Q8_0 && shape->head_dim % VECTOR_Q8_BLOCK != 0) {
        snprintf(err, cap, "a KV cache in q8_0 needs heads that are a multiple of %d long, not %d: use f16",
                 VECTOR_Q8_BLOCK, shape->head_dim);
        return false;
    }
    kv->data = memory_map(kv->bytes);
    memory_huge(kv->data, kv->bytes);
    if (!kv->data)
        snprintf(err, cap, "no memory for the KV cache of %d tokens: %zu bytes", shape->n_ctx, kv->bytes);
    return kv->data != NULL;
}

void kv_close(struct kv *kv)
{
    memory_unmap(kv->data, kv->bytes);
    *kv = (struct kv){0};
}

bool kv_rings(const struct kv *kv)
{
    return kv->slots < div_up(kv->shape.n_ctx, VECTOR_TILE);
}

static unsigned char *slot(const struct kv *kv, int layer, int head, int value, int tile)
{
    int at = kv_rings(kv) && tile > 0 ? 1 + (tile - 1) % (kv->slots - 1) : tile;
    size_t heads = (size_t)kv->shape.n_heads * (size_t)kv->shape.n_layers;
    size_t index =
        ((size_t)at * heads + (size_t)layer * (size_t)kv->shape.n_heads + (size_t)head) * 2 + (size_t)value;
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

static void store_half(const struct kv *kv, const struct vector_kernels *vector, unsigned char *k_tile,
                       unsigned char *v_tile, int at, const float *k, const float *v)
{
    int hd = kv->shape.head_dim;
    uint16_t narrow[VECTOR_HEAD_MAX];
    vector->narrow(k, narrow, hd);
    uint16_t *group =
        (uint16_t *)(void *)k_tile + (size_t)(at / VECTOR_GROUP * hd * VECTOR_GROUP + at % VECTOR_GROUP);
    for (int d = 0; d < hd; d++)
        group[d * VECTOR_GROUP] = narrow[d];
    vector->narrow(v, (uint16_t *)(void *)v_tile + (size_t)at * (size_t)hd, hd);
}

/* A block of Q8_0 as llama.cpp makes it: the scale is the largest magnitude / 127, stored as a half. */
static uint16_t quantize_block(const float *x, int8_t q[static VECTOR_Q8_BLOCK])
{
    float most = 0;
    for (int i = 0; i < VECTOR_Q8_BLOCK; i++)
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    float scale = most < FLT_MAX / 2 ? most / 127 : 0, inverse = scale > 0 ? 1 / scale : 0;
    if (!(inverse <= FLT_MAX)) /* of a subnormal scale, which as a half is 0 anyway */
        inverse = 0;
    for (int i = 0; i < VECTOR_Q8_BLOCK; i++)
        q[i] = (int8_t)lrintf(x[i] * inverse);
    return f32_to_f16(scale < HALF_MAX ? scale : HALF_MAX);
}

static void store_8(const struct kv *kv, unsigned char *k_tile, unsigned char *v_tile, int at, const float *k,
                    const float *v)
{
    size_t hd = (size_t)kv->shape.head_dim, blocks = hd / VECTOR_Q8_BLOCK, group_values = hd * VECTOR_GROUP;
    unsigned char *group = k_tile + (size_t)(at / VECTOR_GROUP) * (group_values + blocks * VECTOR_GROUP * 2);
    for (size_t b = 0; b < blocks; b++) {
        int8_t q[VECTOR_Q8_BLOCK];
        uint16_t scale = quantize_block(k + b * VECTOR_Q8_BLOCK, q);
        for (size_t i = 0; i < VECTOR_Q8_BLOCK; i++)
            group[(b * VECTOR_Q8_BLOCK + i) * VECTOR_GROUP + (size_t)(at % VECTOR_GROUP)] = (unsigned char)q[i];
        memcpy(group + group_values + (b * VECTOR_GROUP + (size_t)(at % VECTOR_GROUP)) * 2, &scale, 2);
        scale = quantize_block(v + b * VECTOR_Q8_BLOCK, q);
        memcpy(v_tile + (size_t)at * hd + b * VECTOR_Q8_BLOCK, q, sizeof q);
        memcpy(v_tile + VECTOR_TILE * hd + ((size_t)at * blocks + b) * 2, &scale, 2);
    }
}

void kv_store(const struct kv *kv, const struct vector_kernels *vector, int layer, int head, int position,
              const float *k, const float *v)
{
    int tile = position / VECTOR_TILE, at = position % VECTOR_TILE;
    unsigned char *k_tile = kv_k(kv, layer, head, tile), *v_tile = kv_v(kv, layer, head, tile);
    if (kv->shape.type == ENGINE_KV_Q8_0)
        store_8(kv, k_tile, v_tile, at, k, v);
    else
        store_half(kv, vector, k_tile, v_tile, at, k, v);
}

void kv_widen(const struct kv *kv, const struct vector_kernels *vector, int layer, int head, int tile, float *k,
              float *v)
{
    const unsigned char *k_tile = kv_k(kv, layer, head, tile), *v_tile = kv_v(kv, layer, head, tile);
    int hd = kv->shape.head_dim;
    if (kv->shape.type == ENGINE_KV_Q8_0) {
        vector->widen_k8(k_tile, k, hd);
        vector->widen_v8(v_tile, v, hd);
    } else {
        vector->widen((const uint16_t *)(const void *)k_tile, k, (size_t)(VECTOR_TILE * hd));
        vector->widen((const uint16_t *)(const void *)v_tile, v, (size_t)(VECTOR_TILE * hd));
    }
}

bool kv_holds(const struct kv *kv, int n, int high)
{
    if (!kv_rings(kv) || n <= 1)
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
