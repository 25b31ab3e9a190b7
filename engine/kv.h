/*
 * kv.h - the KV cache: keys and values of every position evaluated, per layer and head in tiles of VECTOR_TILE
 * positions.
 *
 * Tiles lie at absolute positions (position p is in tile p / VECTOR_TILE), so attention adds in the same order
 * whatever was evaluated together. Memory is mapped for the whole window and costs nothing before it is written: the
 * tiles of all layers and heads for the same positions lie together, so that what is written grows from the start of
 * the block, in large pages, as the context does. With an attention window the cache is a ring of tiles: the first
 * tile is kept, the others are overwritten by later ones.
 */
#ifndef KV_H
#define KV_H

#include "engine.h"
#include "vector.h"

/* Positions an attention window never forgets (Xiao et al., "attention sinks", arXiv 2309.17453). */
#define KV_SINKS 4

struct kv_shape {
    int n_layers, n_heads, head_dim;
    int n_ctx;
    int window; /* 0 = all; else a query sees KV_SINKS positions and the last `window` */
    int chunk;  /* most positions written before they are attended to */
    enum engine_kv_type type;
};

struct kv {
    struct kv_shape shape;
    int slots;           /* tiles held per layer and head */
    size_t tile_bytes;   /* of K, and of V */
    unsigned char *data; /* [tile][layer][head]: K, then V; memory grows as tiles are written */
    size_t bytes;
};

size_t kv_bytes(const struct kv_shape *shape);
int kv_slots(const struct kv_shape *shape); /* tiles held per layer and head */
/* False and err, naming the bytes, if they cannot be had or the shape cannot be stored in this type. */
bool kv_open(struct kv *kv, const struct kv_shape *shape, char *err, size_t cap);
void kv_close(struct kv *kv);

bool kv_rings(const struct kv *kv); /* tiles are overwritten by later ones */

unsigned char *kv_k(const struct kv *kv, int layer, int head, int tile);
unsigned char *kv_v(const struct kv *kv, int layer, int head, int tile);

/* Stores the key and value of one position, already rotated. */
void kv_store(const struct kv *kv, const struct vector_kernels *vector, int layer, int head, int position,
              const float *k, const float *v);

/* The tile as floats, in the layout of vector.h. */
void kv_widen(const struct kv *kv, const struct vector_kernels *vector, int layer, int head, int tile, float *k,
              float *v);

/* Whether attention at position n can still see all it needs when positions up to `high` (exclusive) have been
 * written. */
bool kv_holds(const struct kv *kv, int n, int high);

/* What a query at `position` sees of a tile. */
struct vector_span kv_span(const struct kv *kv, int position, int tile);
/* The tiles that positions first..last see: tile 0, and begin..end - 1 (1 <= begin <= end). */
void kv_tiles(const struct kv *kv, int first, int last, int *begin, int *end);

#endif
