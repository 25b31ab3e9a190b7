/*
 * session.h - inside engine_session: a context of tokens and how much of it the KV cache holds. Private to the
 * engine.
 */
#ifndef SESSION_H
#define SESSION_H

#include "engine.h"
#include "forward.h"
#include "lookup.h"
#include "model.h"
#include "sampler.h"

struct engine_session {
    const engine_model *model;
    struct forward *forward;
    struct sampler *sampler;
    int n_ctx, chunk;
    struct engine_tokens tokens; /* the context, at most n_ctx */
    size_t n_evaluated;          /* tokens whose keys and values are in the cache; <= tokens.n */
    size_t high;                 /* positions [0, high) have been written since the cache was last empty */
    size_t logits_of;            /* the logits are those of the context of this length; 0 = of none */
    float *rows;      /* (1 + LOOKUP_MAX) x n_vocab, mapped; of a batch without drafts only the first is touched */
    float *logits;    /* the current row of them */
    bool best_only;   /* of the current row: the largest are right, others may be -INFINITY (matmul_top) */
    bool fast_head;   /* such rows are asked for where they suffice */
    uint16_t *always; /* matmul_top's; between evaluations the model's `uneven` */
    struct lookup *lookup; /* NULL: switched off, or drafts would overwrite the cache's ring */
    struct {               /* evaluated on a guess: the cache holds them after n_evaluated, the rows their logits */
        int32_t ids[LOOKUP_MAX];
        int n, used; /* the first `used` have been sampled and belong to the context */
    } draft;
    atomic_bool cancel;
    struct engine_stats stats;
    double prompt_start, first_token; /* ms, of the last prompt and of its first sampled token; 0 = none yet */
};

#endif
