/*
 * forward_impl.h - what forward.c (products, the steps of a layer, memory) and forward_attention.c share.
 */
#ifndef FORWARD_IMPL_H
#define FORWARD_IMPL_H

#include "forward.h"
#include "pool.h"

struct own {                 /* what one member has for itself */
    struct activations one;  /* a single token */
    struct activations view; /* many tokens: the shared buffers, as this member passes them on */
    float *row;              /* n_embd: a normalized token */
    float *heads;            /* n_heads x head_dim: a token's merged attention */
    float *queries;          /* TASK_QUERIES or more x head_dim */
    float *states;           /* as many VECTOR_STATEs */
    struct vector_span *see; /* of each query */
    unsigned char *begun;    /* of each query */
    float *k_wide, *v_wide;  /* a tile each */
    void *scratch;           /* for multiply */
    unsigned char *block;    /* the memory behind all of these but `one` */
    size_t block_bytes;
};

struct forward {
    const struct engine_model *model;
    struct kv kv;
    int chunk, max_cols;
    struct pool *pool;
    struct own *own; /* of each member */
    int n_own;

    /* chunk rows each, shared */
    float *x;               /* n_embd: the residual stream */
    float *y;               /* n_embd: what a block adds to it */
    float *normed;          /* n_embd: source of `many` */
    float *q, *k, *v;       /* heads x head_dim, before rotation */
    float *attended;        /* n_heads x head_dim */
    float *gate, *up;       /* n_ff */
    float *final;           /* n_embd, once: what the head multiplied in the last run that had `top` */
    float *cosines, *sines; /* rope_pairs */
    float *partial;         /* decode: [kv head][tile][query of the group] VECTOR_STATE */
    unsigned char *block;   /* the memory behind them */
    size_t block_bytes;
    struct activations many; /* chunk tokens */
    atomic_int *counters;    /* of each phase: the next piece of work nobody has taken */
    int n_counters;

    /* of the present run */
    const int32_t *ids;
    int n, position, n_logits; /* tokens, the first one's position, last tokens whose logits are wanted */
    float *logits;
    struct matmul_top *top; /* or NULL: the whole head */
    const atomic_bool *cancel;
    atomic_bool cancelled;
};

/* A member's walk through a pass. */
struct walk {
    struct forward *f;
    const struct engine_model *m;
    const struct vector_kernels *vector;
    struct own *own;
    int member, members;
    int first, n; /* tokens of the run that are still computed; the last layer may need only the last one */
    int n_run;    /* tokens of the whole run */
    int phase;    /* counters used up */
    bool add_y;   /* x lacks y: added where x is read next (n > 1) */
};

struct product { /* y[token * stride + row] = w x activations */
    const struct matrix *w;
    float *y;
    size_t stride;
};

struct step { /* products of the same activations */
    struct product products[3];
    int n;
};

/* Whether the pass has been cancelled: looked at before every piece of work. */
static inline bool stopped(struct walk *t)
{
    if (atomic_load_explicit(&t->f->cancelled, memory_order_relaxed))
        return true;
    if (!atomic_load_explicit(t->f->cancel, memory_order_relaxed))
        return false;
    atomic_store_explicit(&t->f->cancelled, true, memory_order_relaxed);
    return true;
}

/* Takes the next piece of this phase's work; -1 when none is left. */
static inline int take(struct walk *t, int phase, int pieces)
{
    if (stopped(t))
        return -1;
    int i = atomic_fetch_add_explicit(&t->f->counters[phase], 1, memory_order_relaxed);
    return i < pieces ? i : -1;
}

/* The barrier before these products: of a single token, who waits fetches the first weights of its share. */
void forward_wait_before(struct walk *t, const struct step *next);

/* The keys and values of tokens [j0, j1) of the run, as the products left them, go into the cache. */
void forward_store(struct walk *t, int layer, int j0, int j1);

/* The barrier before the attention of one token: who waits fetches the first keys it will look at. */
void forward_wait_before_keys(const struct walk *t, int layer);

/* Attention of the walk's tokens: heads x head_dim floats each. With one token its key and value are stored first,
 * unless the run had more and they are. Ends with a barrier, the one before `next`. */
const float *forward_attend(struct walk *t, int layer, const struct step *next);

int forward_block_tokens(const struct engine_model *m); /* tokens whose queries own->queries holds */

#endif
