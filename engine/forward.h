/*
 * forward.h - token ids at given positions -> logits: the pass through the network, with the threads and the memory
 * it needs.
 *
 * The result of a token is bit-identical however the tokens before it were grouped into runs, and for any number of
 * threads. Belongs to one thread at a time.
 */
#ifndef FORWARD_H
#define FORWARD_H

#include "kv.h"
#include "model.h"

#include <stdatomic.h>

struct forward;

/* threads: as for engine_session; chunk: most tokens of one run. NULL and err: no memory. */
struct forward *forward_open(const struct engine_model *model, const struct kv_shape *shape, int threads, char *err,
                             size_t cap);
void forward_close(struct forward *f); /* NULL is fine */
/* Bytes forward_open reserves beside the KV cache. */
size_t forward_bytes(const struct engine_model *model, const struct kv_shape *shape, int threads);

int forward_threads(const struct forward *f);
bool forward_set_threads(struct forward *f, int threads); /* false: no memory, nothing has changed */
struct kv *forward_kv(struct forward *f);

/* Evaluates n <= shape.chunk tokens at positions position..position + n - 1; the cache must hold those before. logits
 * receives n_vocab floats for each of the last n_logits tokens (0, 1 or n). False as soon as *cancel is seen set: the
 * cache is then undefined from `position` on.
 * With `top`, which needs n_logits == 1 and model_splits_head, the logits are what matmul_kernels.multiply_top
 * says. */
bool forward_run(struct forward *f, const int32_t *ids, int n, int position, float *logits, int n_logits,
                 struct matmul_top *top, const atomic_bool *cancel);

/* logits receives all n_vocab of the last token of the last run that had `top`, whatever was run without since: bit for
 * bit what that run gives without. Undefined if that run was cancelled. False as soon as *cancel is seen set: logits
 * are then undefined. */
bool forward_complete(struct forward *f, float *logits, const atomic_bool *cancel);

#endif
