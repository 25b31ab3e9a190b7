/*
 * model.h - inside engine_model: the shape of the network and its weights, ready to be multiplied. Private to the
 * engine.
 *
 * What distinguishes one architecture from another is data here: the forward pass asks for "a bias or NULL", "a norm
 * or NULL", "the way of rotation", never for a name.
 */
#ifndef MODEL_H
#define MODEL_H

#include "engine.h"
#include "gguf.h"
#include "matmul.h"
#include "template.h"
#include "tokenizer.h"
#include "vector.h"

struct layer {
    float *attn_norm, *ffn_norm;     /* n_embd */
    struct matrix q, k, v, output;   /* attention */
    float *q_bias, *k_bias, *v_bias; /* or NULL */
    float *output_bias;              /* n_embd, or NULL */
    float *q_norm, *k_norm;          /* head_dim, or NULL */
    struct matrix gate, up, down;    /* feed-forward */
};

struct engine_model {
    struct gguf *file;
    struct tokenizer *tokenizer;
    struct chat_template *chat;
    const struct matmul_kernels *matmul;
    const struct vector_kernels *vector;
    struct engine_model_info info;
    char *name;         /* info.name */
    char *path_name;    /* the file's, for messages */
    char *described[3]; /* info.architecture, tokenizer and unsupported of a file that was only described */

    struct matrix embedding; /* rows are read one by one, from the file */
    int embedding_file; /* where its rows are read from when the mapping should stay untouched; -1: the mapping */
    int64_t embedding_offset; /* of its first row in that file */
    struct matrix head;       /* the same tensor where the file has no output.weight */
    uint16_t *uneven; /* rows of the head that multiply_top cannot judge, as in matmul_top.always; NULL: it cannot be
                         used on the head at all */
    float *output_norm;   /* n_embd */
    float *head_bias;     /* n_vocab, or NULL */
    struct layer *layers; /* info.n_layers */
    float norm_epsilon;
    bool rope_halves;         /* pairs (i, i + half), else neighbours */
    int rope_pairs;           /* pairs of a head that are rotated; the rest stays */
    double *rope_frequencies; /* angle of each pair per position, scaling included */

    unsigned char *packed; /* all repacked matrices, one after the other */
    size_t packed_bytes;
};

/* True where the matrix multiplies quantized activations, false where floats. */
static inline bool matrix_quantizes(const struct matrix *w)
{
    return w->format->block > 1;
}

/* True where the logits that decide a draw can be had without the whole head (forward_run). */
static inline bool model_splits_head(const struct engine_model *m)
{
    return m->uneven != NULL;
}

/* Dequantizes row `id` of the embedding. scratch: MATMUL_SCRATCH_BYTES. */
void model_embedding(const struct engine_model *m, int32_t id, float *out, void *scratch);

/* Bytes of the matrix in the file. */
static inline size_t matrix_bytes(const struct matrix *w)
{
    return (size_t)w->rows * (size_t)(w->cols / w->format->block) * (size_t)w->format->bytes;
}

#endif
