/*
 * model.c - a GGUF file becomes a model: its hyperparameters and tensors are found, checked and repacked.
 * Key and tensor names: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
 */
#include "model.h"

#include "../src/base/clock.h"
#include "../src/base/mem.h"
#include "cpu.h"
#include "memory.h"
#include "pool.h"
#include "utf8.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what differs between architectures ------------------------------------------------------------------ */

enum feature {
    QKV_BIAS = 1 << 0,    /* q, k and v have biases */
    OUTPUT_BIAS = 1 << 1, /* so has the attention's output */
    QK_NORM = 1 << 2,     /* every head of q and k is normalized before it is rotated */
    HEAD_BIAS = 1 << 3,   /* the logits have a bias */
};

struct architecture {
    const char *name; /* general.architecture, and the prefix of its keys */
    bool rope_halves; /* rotates (i, i + half); else neighbours, for which the converter has permuted the rows */
    unsigned required, optional; /* features */
};

static const struct architecture architectures[] = {
    {"llama", false, 0, QKV_BIAS | OUTPUT_BIAS},
    {"qwen2", true, QKV_BIAS, HEAD_BIAS},
    {"qwen3", true, QK_NORM, QKV_BIAS},
};
#define N_ARCHITECTURES (sizeof architectures / sizeof *architectures)

enum dimension { ONE, EMBD, Q, KV, HEAD, FF, N_DIMENSIONS };

struct layer_tensor {
    const char *name; /* after "blk.N." */
    size_t offset;    /* in struct layer: of a struct matrix, or of a float * where rows is ONE */
    enum dimension rows, cols;
    unsigned feature; /* it belongs to, 0: every layer has it */
};

#define FIELD(f) offsetof(struct layer, f)
static const struct layer_tensor layer_tensors[] = {
    {"attn_norm.weight", FIELD(attn_norm), ONE, EMBD, 0},
    {"attn_q.weight", FIELD(q), Q, EMBD, 0},
    {"attn_k.weight", FIELD(k), KV, EMBD, 0},
    {"attn_v.weight", FIELD(v), KV, EMBD, 0},
    {"attn_q.bias", FIELD(q_bias), ONE, Q, QKV_BIAS},
    {"attn_k.bias", FIELD(k_bias), ONE, KV, QKV_BIAS},
    {"attn_v.bias", FIELD(v_bias), ONE, KV, QKV_BIAS},
    {"attn_q_norm.weight", FIELD(q_norm), ONE, HEAD, QK_NORM},
    {"attn_k_norm.weight", FIELD(k_norm), ONE, HEAD, QK_NORM},
    {"attn_output.weight", FIELD(output), EMBD, Q, 0},
    {"attn_output.bias", FIELD(output_bias), ONE, EMBD, OUTPUT_BIAS},
    {"ffn_norm.weight", FIELD(ffn_norm), ONE, EMBD, 0},
    {"ffn_gate.weight", FIELD(gate), FF, EMBD, 0},
    {"ffn_up.weight", FIELD(up), FF, EMBD, 0},
    {"ffn_down.weight", FIELD(down), EMBD, FF, 0},
};
#define N_LAYER_TENSORS (sizeof layer_tensors / sizeof *layer_tensors)

/* Tensors outside of the layers, with the feature they belong to; and one that old converters wrote and nobody
 * reads. */
static const struct {
    const char *name;
    unsigned feature;
} other_tensors[] = {
    {"token_embd.weight", 0}, {"output.weight", 0},       {"output_norm.weight", 0},
    {"rope_freqs.weight", 0}, {"output.bias", HEAD_BIAS},
};
static const char *const ignored_layer_tensors[] = {"attn_rot_embd.weight", "attn_rot_embd", "attn.rot_embd"};

struct loader { /* what only loading needs */
    struct engine_model *m;
    const struct architecture *architecture;
    uint64_t size[N_DIMENSIONS]; /* of each dimension */
    const struct engine_model_options *options;
    char *err;
    size_t cap;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct loader *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(l->err, l->cap, format, args);
    va_end(args);
    return false;
}

/* ---- hyperparameters ------------------------------------------------------------------------------------- */

static bool is(struct gguf_string s, const char *literal)
{
    return s.n == strlen(literal) && memcmp(s.s, literal, s.n) == 0;
}

/* The key "<architecture>.<name>". */
static const char *key_of(const struct loader *l, const char *name, char buffer[static 128])
{
    snprintf(buffer, 128, "%s.%s", l->architecture->name, name);
    return buffer;
}

static bool get_int(struct loader *l, const char *name, int64_t min, int64_t max, bool required, int *out)
{
    char key[128];
    int64_t v;
    if (gguf_get_int(l->m->file, key_of(l, name, key), min, max, &v, l->err, l->cap)) {
        *out = (int)v;
        return true;
    }
    if (l->err[0])
        return false;
    return !required || fail(l, "%s: the key %s is missing", l->m->path_name, key);
}

/* A figure of every layer: a number, or an array of numbers that are all the same. */
static bool get_layers_int(struct loader *l, const char *name, int64_t min, int64_t max, bool required, int *out)
{
    char key[128];
    const struct gguf_value *v = gguf_find(l->m->file, key_of(l, name, key));
    bool integers = v && v->is_array && v->n && v->type != GGUF_STRING && v->type != GGUF_BOOL &&
                    v->type != GGUF_F32 && v->type != GGUF_F64;
    if (!integers)
        return get_int(l, name, min, max, required, out);
    int64_t first = gguf_int_at(v, 0);
    for (uint64_t i = 1; i < v->n; i++)
        if (gguf_int_at(v, i) != first)
            return fail(l, "%s: layers that differ in %s (%lld and %lld) are not supported", l->m->path_name, key,
                        (long long)first, (long long)gguf_int_at(v, i));
    if (first < min || first > max)
        return fail(l, "%s: the key %s holds %lld, not between %lld and %lld", l->m->path_name, key, (long long)first,
                    (long long)min, (long long)max);
    *out = (int)first;
    return true;
}

static bool get_float(struct loader *l, const char *name, bool required, double *out)
{
    char key[128];
    if (gguf_get_float(l->m->file, key_of(l, name, key), out, l->err, l->cap))
        return true;
    if (l->err[0])
        return false;
    return !required || fail(l, "%s: the key %s is missing", l->m->path_name, key);
}

static bool find_architecture(struct loader *l)
{
    struct gguf_string name;
    if (!gguf_get_string(l->m->file, "general.architecture", &name, l->err, l->cap))
        return l->err[0] ? false : fail(l, "%s: the key general.architecture is missing", l->m->path_name);
    for (size_t i = 0; i < N_ARCHITECTURES; i++)
        if (is(name, architectures[i].name)) {
            l->architecture = &architectures[i];
            return true;
        }
    int n = snprintf(l->err, l->cap, "%s: the architecture \"%s\" is not supported; these are:", l->m->path_name,
                     gguf_show(name, (char[GGUF_SHOWN]){0}));
    for (size_t i = 0; i < N_ARCHITECTURES && n > 0 && (size_t)n < l->cap; i++)
        n += snprintf(l->err + n, l->cap - (size_t)n, "%s %s", i ? "," : "", architectures[i].name);
    return false;
}

static bool read_shape(struct loader *l)
{
    struct engine_model_info *s = &l->m->info;
    double epsilon = 0;
    int experts = 0, value_length;
    if (!get_int(l, "block_count", 1, 1024, true, &s->n_layers) ||
        !get_int(l, "embedding_length", 1, 1 << 17, true, &s->n_embd) ||
        !get_layers_int(l, "feed_forward_length", 1, 1 << 20, true, &s->n_ff) ||
        !get_layers_int(l, "attention.head_count", 1, 1024, true, &s->n_heads) ||
        !get_int(l, "context_length", 1, INT_MAX, false, &s->n_ctx_train) ||
        !get_float(l, "attention.layer_norm_rms_epsilon", true, &epsilon) ||
        !get_int(l, "expert_count", 0, INT_MAX, false, &experts))
        return false;
    const char *file = l->m->path_name, *a = l->architecture->name;
    s->n_kv_heads = s->n_heads;
    if (!get_layers_int(l, "attention.head_count_kv", 1, 1024, false, &s->n_kv_heads))
        return false;
    if (s->n_heads % s->n_kv_heads != 0)
        return fail(l, "%s: %s.attention.head_count %d is no multiple of head_count_kv %d", file, a, s->n_heads,
                    s->n_kv_heads);
    if (experts > 0)
        return fail(l, "%s: mixture-of-experts models (%s.expert_count %d) are not supported", file, a, experts);
    if (!(epsilon >= 0 && epsilon < 1))
        return fail(l, "%s: %s.attention.layer_norm_rms_epsilon is %g", file, a, epsilon);
    l->m->norm_epsilon = (float)epsilon;

    s->head_dim = s->n_embd / s->n_heads;
    bool own = gguf_find(l->m->file, key_of(l, "attention.key_length", (char[128]){0})) != NULL;
    if (!own && s->n_embd % s->n_heads != 0)
        return fail(l, "%s: %s.embedding_length %d is no multiple of attention.head_count %d", file, a, s->n_embd,
                    s->n_heads);
    if (!get_int(l, "attention.key_length", 1, 1 << 16, false, &s->head_dim))
        return false;
    value_length = s->head_dim;
    if (!get_int(l, "attention.value_length", 1, 1 << 16, false, &value_length))
        return false;
    if (value_length != s->head_dim)
        return fail(l, "%s: heads whose keys (%d) and values (%d) differ in length are not supported", file,
                    s->head_dim, value_length);
    if (s->head_dim % VECTOR_GROUP != 0 || s->head_dim > VECTOR_HEAD_MAX)
        return fail(l, "%s: a head of %d values is not supported (a multiple of %d up to %d is)", file, s->head_dim,
                    VECTOR_GROUP, VECTOR_HEAD_MAX);
    uint64_t hd = (uint64_t)s->head_dim;
    l->size[ONE] = 1;
    l->size[EMBD] = (uint64_t)s->n_embd;
    l->size[Q] = hd * (uint64_t)s->n_heads;
    l->size[KV] = hd * (uint64_t)s->n_kv_heads;
    l->size[HEAD] = hd;
    l->size[FF] = (uint64_t)s->n_ff;
    return true;
}

/* ---- rope ------------------------------------------------------------------------------------------------ */

/* The factor positions are divided by: of linear scaling, the only kind by a key that is honoured. */
static bool rope_divisor(struct loader *l, double *divisor)
{
    char key[128];
    struct gguf_string type = {"linear", 6}; /* what llama.cpp takes it for where only a factor is given */
    if (!gguf_get_string(l->m->file, key_of(l, "rope.scaling.type", key), &type, l->err, l->cap) && l->err[0])
        return false;
    *divisor = 1;
    if (is(type, "none"))
        return true;
    if (!is(type, "linear"))
        return fail(l, "%s: rope scaling of type \"%s\" (%s) is not supported", l->m->path_name,
                    gguf_show(type, (char[GGUF_SHOWN]){0}), key);
    double factor = 0;
    if (!get_float(l, "rope.scaling.factor", false, &factor))
        return false;
    if (factor == 0 && !get_float(l, "rope.scale_linear", false, &factor))
        return false;
    if (factor < 0)
        return fail(l, "%s: %s.rope.scaling.factor is %g", l->m->path_name, l->architecture->name, factor);
    if (factor > 0)
        *divisor = factor;
    return true;
}

static float *read_vector(struct loader *l, const char *name, uint64_t n);

static bool read_rope(struct loader *l)
{
    struct engine_model *m = l->m;
    int dims = m->info.head_dim;
    double base = 10000, divisor;
    if (!get_int(l, "rope.dimension_count", 2, m->info.head_dim, false, &dims) ||
        !get_float(l, "rope.freq_base", false, &base) || !rope_divisor(l, &divisor))
        return false;
    if (dims % 2 != 0)
        return fail(l, "%s: %s.rope.dimension_count %d is odd", m->path_name, l->architecture->name, dims);
    if (!(base > 0))
        return fail(l, "%s: %s.rope.freq_base is %g", m->path_name, l->architecture->name, base);
    m->rope_halves = l->architecture->rope_halves;
    m->rope_pairs = dims / 2;
    m->rope_frequencies = mem_new((size_t)m->rope_pairs, sizeof *m->rope_frequencies);
    float *factors = NULL; /* Llama 3's: each frequency has its own divisor */
    if (gguf_find_tensor(m->file, "rope_freqs.weight")) {
        factors = read_vector(l, "rope_freqs.weight", (uint64_t)m->rope_pairs);
        if (!factors)
            return false;
    }
    bool ok = true;
    for (int i = 0; i < m->rope_pairs; i++) {
        double f = pow(base, -2.0 * i / dims) / divisor;
        if (factors)
            f /= (double)factors[i];
        ok = ok && isfinite(f);
        m->rope_frequencies[i] = f;
    }
    free(factors);
    return ok || fail(l, "%s: rope_freqs.weight holds a factor that is zero or no number", m->path_name);
}

/* ---- tensors --------------------------------------------------------------------------------------------- */

static const struct gguf_tensor *find_tensor(struct loader *l, const char *name, uint64_t rows, uint64_t cols)
{
    const struct gguf_tensor *t = gguf_find_tensor(l->m->file, name);
    const char *file = l->m->path_name;
    if (!t) {
        fail(l, "%s: the tensor %s is missing", file, name);
        return NULL;
    }
    if (t->dims[0] != cols || t->dims[1] != rows || t->dims[2] != 1 || t->dims[3] != 1) {
        fail(l, "%s: the tensor %s is %llu x %llu, not %llu x %llu", file, name, (unsigned long long)t->dims[0],
             (unsigned long long)t->dims[1], (unsigned long long)cols, (unsigned long long)rows);
        return NULL;
    }
    const struct quant_format *format = quant_format(t->type);
    if (!format) {
        fail(l, "%s: the tensor %s is in the format %s, which is not supported", file, name,
             quant_layout(t->type)->name);
        return NULL;
    }
    if (cols % (uint64_t)format->block != 0) {
        fail(l, "%s: the rows of %s are no multiple of %s's block of %d", file, name, format->name, format->block);
        return NULL;
    }
    return t;
}

/* Small tensors are copied, as floats. malloc'd; NULL and err on failure. */
static float *read_vector(struct loader *l, const char *name, uint64_t n)
{
    const struct gguf_tensor *t = find_tensor(l, name, 1, n);
    if (!t)
        return NULL;
    float *v = mem_new((size_t)n, sizeof *v);
    quant_format(t->type)->dequantize(t->data, v, (size_t)n);
    return v;
}

static bool read_matrix(struct loader *l, const char *name, uint64_t rows, uint64_t cols, struct matrix *w)
{
    const struct gguf_tensor *t = find_tensor(l, name, rows, cols);
    if (!t)
        return false;
    *w = (struct matrix){.format = quant_format(t->type), .rows = (int)rows, .cols = (int)cols, .data = t->data};
    return true;
}

static bool read_layer(struct loader *l, int n)
{
    for (size_t i = 0; i < N_LAYER_TENSORS; i++) {
        const struct layer_tensor *spec = &layer_tensors[i];
        char name[80];
        snprintf(name, sizeof name, "blk.%d.%s", n, spec->name);
        if (spec->feature && !(spec->feature & l->architecture->required) &&
            !((spec->feature & l->architecture->optional) && gguf_find_tensor(l->m->file, name)))
            continue;
        void *field = (char *)&l->m->layers[n] + spec->offset;
        uint64_t rows = l->size[spec->rows], cols = l->size[spec->cols];
        if (spec->rows != ONE) {
            if (!read_matrix(l, name, rows, cols, field))
                return false;
            continue;
        }
        float *v = read_vector(l, name, cols);
        if (!v)
            return false;
        memcpy(field, &v, sizeof v);
    }
    return true;
}

static bool is_layer_tensor(struct gguf_string name)
{
    return name.n >= 4 && memcmp(name.s, "blk.", 4) == 0;
}

/* A tensor that would not be used means a network other than the one computed here: better refused than wrong. */
static bool tensor_is_known(const struct loader *l, struct gguf_string name)
{
    unsigned features = l->architecture->required | l->architecture->optional;
    for (size_t i = 0; i < sizeof other_tensors / sizeof *other_tensors; i++)
        if (is(name, other_tensors[i].name))
            return !other_tensors[i].feature || (other_tensors[i].feature & features);
    if (!is_layer_tensor(name))
        return false;
    const char *dot = memchr(name.s + 4, '.', name.n - 4);
    if (!dot)
        return false;
    struct gguf_string suffix = {dot + 1, name.n - (size_t)(dot + 1 - name.s)};
    for (size_t i = 0; i < sizeof ignored_layer_tensors / sizeof *ignored_layer_tensors; i++)
        if (is(suffix, ignored_layer_tensors[i]))
            return true;
    for (size_t i = 0; i < N_LAYER_TENSORS; i++) {
        unsigned f = layer_tensors[i].feature;
        if (is(suffix, layer_tensors[i].name))
            return f == 0 || (f & features);
    }
    return false;
}

static void count_formats(struct engine_model *m)
{
    uint64_t bytes[QUANT_LAYOUTS_MAX] = {0}, most = 0;
    for (size_t i = 0; i < gguf_n_tensors(m->file); i++) {
        const struct gguf_tensor *t = gguf_tensor_at(m->file, i);
        m->info.tensor_bytes += t->bytes;
        m->info.parameters += t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3];
        if (t->name.n < 4 || memcmp(t->name.s, "blk.", 4) != 0)
            continue;
        bytes[t->type] += t->bytes;
        if (bytes[t->type] > most) {
            most = bytes[t->type];
            m->info.quantization = quant_layout(t->type)->name;
        }
    }
}

/* Refuses a file with a tensor that has no place, in the layers or outside of them. The latter come last, so that one
 * under a wrong name is reported as missing. */
static bool refuse_unknown(struct loader *l, bool layers)
{
    for (size_t i = 0; i < gguf_n_tensors(l->m->file); i++) {
        struct gguf_string name = gguf_tensor_at(l->m->file, i)->name;
        if (is_layer_tensor(name) == layers && !tensor_is_known(l, name))
            return fail(l, "%s: the tensor %s has no place in the architecture %s as it is known here",
                        l->m->path_name, gguf_show(name, (char[GGUF_SHOWN]){0}), l->architecture->name);
    }
    return true;
}

static bool read_tensors(struct loader *l)
{
    struct engine_model *m = l->m;
    int n_vocab = tokenizer_n_vocab(m->tokenizer);
    if (gguf_n_tensors(m->file) == 0)
        return fail(l, "%s holds a vocabulary and no weights", m->path_name);
    if (!refuse_unknown(l, true))
        return false;
    if (!read_matrix(l, "token_embd.weight", (uint64_t)n_vocab, l->size[EMBD], &m->embedding))
        return false;
    m->head = m->embedding;
    if (gguf_find_tensor(m->file, "output.weight") &&
        !read_matrix(l, "output.weight", (uint64_t)n_vocab, l->size[EMBD], &m->head))
        return false;
    m->output_norm = read_vector(l, "output_norm.weight", l->size[EMBD]);
    if (!m->output_norm)
        return false;
    if (gguf_find_tensor(m->file, "output.bias") && (l->architecture->optional & HEAD_BIAS) &&
        !(m->head_bias = read_vector(l, "output.bias", (uint64_t)n_vocab)))
        return false;
    m->layers = mem_new((size_t)m->info.n_layers, sizeof *m->layers);
    for (int i = 0; i < m->info.n_layers; i++)
        if (!read_layer(l, i))
            return false;
    return refuse_unknown(l, false);
}

/* ---- repacking ------------------------------------------------------------------------------------------- */

struct packing { /* one matrix, packed by the whole pool */
    const struct matmul_kernels *kernels;
    struct matrix *w;
    unsigned char *dst;
};

static void pack_share(void *ctx, int member, int members)
{
    const struct packing *p = ctx;
    int groups = (p->w->rows + p->kernels->row_align - 1) / p->kernels->row_align;
    int first = (int)((int64_t)groups * member / members), last = (int)((int64_t)groups * (member + 1) / members);
    int end = last * p->kernels->row_align < p->w->rows ? last * p->kernels->row_align : p->w->rows;
    if (first < last)
        p->kernels->pack(p->w, p->dst, first * p->kernels->row_align, end);
}

static int larger_first(const void *a, const void *b)
{
    size_t x = matrix_bytes(*(struct matrix *const *)a), y = matrix_bytes(*(struct matrix *const *)b);
    return (x < y) - (x > y);
}

/* Every matrix of the model that this kernel set packs, the largest first: source and copy of one are resident
 * together, and while that is the largest the fewest others are. malloc'd. */
static struct matrix **list_packable(struct engine_model *m, size_t *n)
{
    struct matrix **list = mem_new((size_t)m->info.n_layers * N_LAYER_TENSORS + 1, sizeof *list);
    *n = 0;
    if (m->matmul->packed_bytes(&m->head))
        list[(*n)++] = &m->head;
    for (int i = 0; i < m->info.n_layers; i++)
        for (size_t k = 0; k < N_LAYER_TENSORS; k++) {
            struct matrix *w = (struct matrix *)((char *)&m->layers[i] + layer_tensors[k].offset);
            if (layer_tensors[k].rows != ONE && m->matmul->packed_bytes(w))
                list[(*n)++] = w;
        }
    qsort(list, *n, sizeof *list, larger_first);
    return list;
}

static size_t round_up(size_t n)
{
    return (n + 63) / 64 * 64;
}

static size_t row_bytes(const struct matrix *w)
{
    return (size_t)(w->cols / w->format->block) * (size_t)w->format->bytes;
}

/* The rows of a tied head are read as embeddings after it has been packed. Through the mapping each would make a
 * large piece of the file resident again, so they are read from the file, if it can be opened once more and still is
 * the same. */
static void open_embedding_file(struct engine_model *m)
{
    size_t row = row_bytes(&m->embedding);
    unsigned char first[MATMUL_SCRATCH_BYTES];
    const char *path;
    if (row > sizeof first || !gguf_source(m->file, m->embedding.data, &path, &m->embedding_offset))
        return;
    m->embedding_file = open(path, O_RDONLY | O_CLOEXEC);
    if (m->embedding_file >= 0 && (pread(m->embedding_file, first, row, m->embedding_offset) != (ssize_t)row ||
                                   memcmp(first, m->embedding.data, row) != 0)) {
        close(m->embedding_file);
        m->embedding_file = -1;
    }
}

void model_embedding(const struct engine_model *m, int32_t id, float *out, void *scratch)
{
    const struct matrix *w = &m->embedding;
    size_t row = row_bytes(w);
    const void *source = w->data + (size_t)id * row;
    if (m->embedding_file >= 0 &&
        pread(m->embedding_file, scratch, row, m->embedding_offset + (int64_t)id * (int64_t)row) == (ssize_t)row)
        source = scratch;
    w->format->dequantize(source, out, (size_t)w->cols);
}

/* Marks rows of the head, packed in planes, whose low nibbles are not spread as multiply_top takes for granted:
 * constant rows, or weights that had 4 bits before they had 8. */
static void mark_uneven_rows(void *ctx, int member, int members)
{
    struct engine_model *m = ctx;
    int words = (int)matmul_row_set_words(m->head.rows);
    int first = (int)((int64_t)words * member / members), last = (int)((int64_t)words * (member + 1) / members);
    for (int r = 16 * first; r < 16 * last && r < m->head.rows; r++)
        if (!matmul_row_is_even(&m->head, r))
            matmul_row_set_add(m->uneven, r);
}

#define MANY_UNEVEN 64 /* one row in so many: beyond, multiply_top is not used */

static void find_uneven_rows(struct engine_model *m, struct pool *pool)
{
    size_t words = matmul_row_set_words(m->head.rows), n = 0;
    m->uneven = mem_new(words, sizeof *m->uneven);
    pool_run(pool, mark_uneven_rows, m);
    for (size_t i = 0; i < words; i++)
        n += (size_t)__builtin_popcount(m->uneven[i]);
    if (n > (size_t)m->head.rows / MANY_UNEVEN) {
        free(m->uneven);
        m->uneven = NULL;
    }
}

static bool repack(struct loader *l)
{
    struct engine_model *m = l->m;
    size_t n, total = 0, done = 0;
    /* A bias decides too which logits are the largest, and multiply_top does not know it. */
    m->head.planes = m->matmul->multiply_top && !m->head_bias && matmul_can_split(&m->head);
    struct matrix **list = list_packable(m, &n);
    for (size_t i = 0; i < n; i++)
        total += round_up(m->matmul->packed_bytes(list[i]));
    m->packed = total ? memory_map(total) : NULL;
    m->packed_bytes = total;
    if (total && !m->packed) {
        free(list);
        return fail(l, "%s: no memory for its %zu bytes of weights", m->path_name, total);
    }
    memory_huge(m->packed, total);
    struct pool *pool = pool_open(l->options->threads > 0 ? l->options->threads : engine_default_threads());
    bool go_on = true;
    for (size_t i = 0; i < n && go_on; i++) {
        struct packing p = {m->matmul, list[i], m->packed + done};
        pool_run(pool, pack_share, &p);
        list[i]->packed = p.dst;
        done += round_up(m->matmul->packed_bytes(list[i]));
        /* Rows of a tied head are still read as embeddings: released memory would be lost where nothing is mapped. */
        if (list[i]->data != m->embedding.data || !l->options->no_mmap)
            gguf_release(list[i]->data, matrix_bytes(list[i]));
        if (l->options->progress)
            go_on = l->options->progress(l->options->progress_ctx, (float)((double)done / (double)total));
    }
    if (m->head.packed && m->head.planes)
        find_uneven_rows(m, pool);
    pool_close(pool);
    free(list);
    if (m->head.packed && m->head.data == m->embedding.data)
        open_embedding_file(m);
    return go_on || fail(l, "%s: loading was given up", m->path_name);
}

/* ---- opening and closing --------------------------------------------------------------------------------- */

static bool choose_kernels(struct loader *l)
{
    struct engine_model *m = l->m;
    const char *set = cpu_choose(l->err, l->cap);
    if (!set)
        return false;
    m->info.cpu = set;
    m->matmul = matmul_kernels(set);
    m->vector = vector_kernels(set);
    return true;
}

/* The file's name without directory, and without ".gguf" if `bare`. malloc'd. */
static char *file_name(const char *path, bool bare)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t n = strlen(name);
    if (bare && n > 5 && strcmp(name + n - 5, ".gguf") == 0)
        n -= 5;
    return mem_copy(name, n);
}

#define NAME_BYTES 256 /* of a name, at most: it is shown in one line */

static void read_name(struct engine_model *m, const char *path)
{
    struct gguf_string name;
    char ignored[256];
    char *own = NULL, shown[NAME_BYTES];
    if (!gguf_get_string(m->file, "general.name", &name, ignored, sizeof ignored) || name.n == 0) {
        own = file_name(path, true);
        name = (struct gguf_string){own, strlen(own)};
    }
    utf8_clean(name.s, name.n, shown, sizeof shown);
    m->name = mem_copy(shown, strlen(shown));
    m->info.name = m->name;
    free(own);
}

/* What the file's keys say of itself, whether or not it can be run: those of its architecture, and its tokenizer's name. */
static void describe(struct loader *l)
{
    struct engine_model *m = l->m;
    struct engine_model_info *s = &m->info;
    struct gguf_string name;
    char err[256];
    const struct {
        const char *key;
        int *value;
    } keys[] = {
        {"block_count", &s->n_layers},          {"embedding_length", &s->n_embd},
        {"feed_forward_length", &s->n_ff},      {"attention.head_count", &s->n_heads},
        {"context_length", &s->n_ctx_train},    {"attention.head_count_kv", &s->n_kv_heads},
        {"attention.key_length", &s->head_dim},
    };
    if (gguf_get_string(m->file, "general.architecture", &name, err, sizeof err)) {
        char shown[GGUF_SHOWN];
        s->architecture = m->described[0] = mem_copy(gguf_show(name, shown), strlen(gguf_show(name, shown)));
        struct loader quiet = {
            .m = m, .architecture = &(struct architecture){.name = s->architecture}, .err = err, .cap = sizeof err};
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            get_layers_int(&quiet, keys[i].key, 0, INT_MAX, false, keys[i].value);
    }
    if (!s->n_kv_heads)
        s->n_kv_heads = s->n_heads;
    if (!s->head_dim && s->n_heads)
        s->head_dim = s->n_embd / s->n_heads;
    if (m->tokenizer)
        return;
    s->chat_format = "unknown";
    if (gguf_get_string(m->file, "tokenizer.ggml.pre", &name, err, sizeof err) ||
        gguf_get_string(m->file, "tokenizer.ggml.model", &name, err, sizeof err)) {
        char shown[GGUF_SHOWN];
        s->tokenizer = m->described[1] = mem_copy(gguf_show(name, shown), strlen(gguf_show(name, shown)));
    }
    const struct gguf_value *tokens = gguf_find(m->file, "tokenizer.ggml.tokens");
    if (tokens && tokens->is_array && tokens->n <= INT_MAX)
        s->n_vocab = (int)tokens->n;
}

static bool load_parts(struct loader *l)
{
    struct engine_model *m = l->m;
    double vocab_start = clock_ms();
    m->tokenizer = tokenizer_open(m->file, l->err, l->cap);
    if (!m->tokenizer)
        return false;
    m->chat = template_open(m->file, m->tokenizer);
    m->info.vocab_ms = clock_ms() - vocab_start;
    m->info.tokenizer = tokenizer_name(m->tokenizer);
    m->info.chat_format = template_name(m->chat);
    m->info.chat_template = template_origin(m->chat);
    m->info.n_vocab = tokenizer_n_vocab(m->tokenizer);
    if (l->options->vocab_only)
        return true;
    if (!choose_kernels(l) || !find_architecture(l))
        return false;
    m->info.architecture = l->architecture->name;
    return read_shape(l) && read_rope(l) && read_tensors(l) && (l->options->no_repack || repack(l));
}

static bool load(struct loader *l)
{
    struct engine_model *m = l->m;
    double start = clock_ms();
    m->info.architecture = m->info.quantization = m->info.cpu = m->info.tokenizer = "none";
    m->file = gguf_open(l->options->path, l->options->no_mmap, l->err, l->cap);
    if (!m->file)
        return false;
    m->info.file_bytes = gguf_file_bytes(m->file);
    read_name(m, l->options->path);
    count_formats(m);
    bool ok = load_parts(l);
    if (!ok && l->options->describe) {
        m->info.unsupported = m->described[2] = mem_copy(l->err, strlen(l->err));
        describe(l);
        ok = true;
    }
    m->info.load_ms = clock_ms() - start;
    return ok;
}

engine_model *engine_model_open(const struct engine_model_options *options, char *err, size_t cap)
{
    struct loader l = {.m = mem_new(1, sizeof *l.m), .options = options, .err = err, .cap = cap};
    err[0] = '\0';
    l.m->embedding_file = -1;
    l.m->path_name = file_name(options->path, false);
    if (load(&l))
        return l.m;
    engine_model_close(l.m);
    return NULL;
}

void engine_model_close(engine_model *m)
{
    if (!m)
        return;
    for (int i = 0; m->layers && i < m->info.n_layers; i++)
        for (size_t k = 0; k < N_LAYER_TENSORS; k++)
            if (layer_tensors[k].rows == ONE)
                free(*(float **)((char *)&m->layers[i] + layer_tensors[k].offset));
    memory_unmap(m->packed, m->packed_bytes);
    if (m->embedding_file >= 0)
        close(m->embedding_file);
    free(m->uneven);
    free(m->layers);
    free(m->output_norm);
    free(m->head_bias);
    free(m->rope_frequencies);
    free(m->name);
    free(m->path_name);
    for (size_t i = 0; i < sizeof m->described / sizeof *m->described; i++)
        free(m->described[i]);
    template_close(m->chat);
    tokenizer_close(m->tokenizer);
    gguf_close(m->file);
    free(m);
}

const struct engine_model_info *engine_model_info(const engine_model *model)
{
    return &model->info;
}
