/*
 * gguf_parse.c - the header of one GGUF file: every field is checked here, before anything is made of it.
 *
 * A reader walks the bytes once; whatever it hands out lies inside the file. Counts are compared with what the
 * remaining bytes could hold at best, so that memory stays a small multiple of the header whatever a file claims.
 */
#include "../src/base/mem.h"
#include "gguf_impl.h"
#include "quant.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEY 65535                            /* gguf.md */
#define MAX_NAME 64                              /* gguf.md; ggml's GGML_MAX_NAME */
#define MAX_ALIGNMENT (1u << 20)                 /* far above any page size; files have 32 */
#define DEFAULT_ALIGNMENT 32                     /* gguf.md */
#define MIN_VALUE_BYTES (8 + 1 + 4 + 1)          /* key, type, the smallest value */
#define MIN_TENSOR_BYTES (8 + 1 + 4 + 8 + 4 + 8) /* name, number of dimensions, one of them, type, offset */

struct reader {
    const char *path;
    const unsigned char *at, *end;
    char *err;
    size_t cap;
};

static const size_t type_bytes[] = {
    [GGUF_U8] = 1,  [GGUF_I8] = 1,   [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
    [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8,
};

static bool __attribute__((format(printf, 2, 3))) fail(struct reader *r, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(r->err, r->cap, "%s: %s", r->path, text);
    return false;
}

static uint64_t left(const struct reader *r)
{
    return (uint64_t)(r->end - r->at);
}

/* The next n bytes, or NULL where the file has no more. */
static const unsigned char *take(struct reader *r, uint64_t n, const char *what)
{
    if (n > left(r)) {
        fail(r, "the file ends inside %s (%" PRIu64 " bytes needed, %" PRIu64 " left)", what, n, left(r));
        return NULL;
    }
    const unsigned char *p = r->at;
    r->at += n;
    return p;
}

static bool read_u32(struct reader *r, uint32_t *out, const char *what)
{
    const unsigned char *p = take(r, 4, what);
    if (p)
        *out = (uint32_t)gguf_load(p, 4);
    return p != NULL;
}

static bool read_u64(struct reader *r, uint64_t *out, const char *what)
{
    const unsigned char *p = take(r, 8, what);
    if (p)
        *out = gguf_load(p, 8);
    return p != NULL;
}

static bool read_string(struct reader *r, struct gguf_string *out, const char *what)
{
    uint64_t n = 0;
    if (!read_u64(r, &n, what))
        return false;
    if (n > left(r))
        return fail(r, "%s claims %" PRIu64 " bytes, but %" PRIu64 " are left in the file", what, n, left(r));
    *out = (struct gguf_string){(const char *)take(r, n, what), (size_t)n};
    return true;
}

/* ---- metadata ------------------------------------------------------------------------------------------- */

static bool check_bools(struct reader *r, const struct gguf_value *v, const char *what)
{
    for (uint64_t i = 0; i < v->n; i++) {
        if (v->data[i] > 1)
            return fail(r, "%s has a boolean that is neither 0 nor 1 but %d", what, v->data[i]);
    }
    return true;
}

static bool read_elements(struct reader *r, struct gguf_value *v, const char *what)
{
    v->data = r->at;
    if (v->type == GGUF_STRING) {
        if (v->n > left(r) / 8)
            return fail(r, "%s claims %" PRIu64 " strings, but %" PRIu64 " bytes are left in the file", what, v->n,
                        left(r));
        char element[160];
        for (uint64_t i = 0; i < v->n; i++) {
            /* The common case first: naming the element costs more than reading it. */
            if (left(r) >= 8) {
                uint64_t n = gguf_load(r->at, 8);
                if (n <= left(r) - 8) {
                    r->at += 8 + n;
                    continue;
                }
            }
            struct gguf_string ignored;
            snprintf(element, sizeof element, v->is_array ? "%s[%" PRIu64 "]" : "%s", what, i);
            return read_string(r, &ignored, element);
        }
        return true;
    }
    size_t size = type_bytes[v->type];
    if (v->n > left(r) / size)
        return fail(r, "%s claims %" PRIu64 " elements of %zu bytes, but %" PRIu64 " bytes are left in the file",
                    what, v->n, size, left(r));
    v->data = take(r, v->n * size, what);
    return v->type != GGUF_BOOL || check_bools(r, v, what);
}

static bool check_type(struct reader *r, uint32_t type, const char *what)
{
    if (type > GGUF_F64)
        return fail(r, "%s has the unknown type %" PRIu32, what, type);
    return true;
}

static bool read_value(struct reader *r, struct gguf_value *v)
{
    char shown[GGUF_SHOWN], what[GGUF_SHOWN + 8];
    if (!read_string(r, &v->key, "a key's name"))
        return false;
    if (v->key.n == 0 || v->key.n > MAX_KEY)
        return fail(r, "a key's name has %zu bytes (1 to %d are allowed)", v->key.n, MAX_KEY);
    snprintf(what, sizeof what, "key %s", gguf_show(v->key, shown));
    uint32_t type = 0;
    if (!read_u32(r, &type, what) || !check_type(r, type, what))
        return false;
    v->n = 1;
    v->is_array = type == GGUF_ARRAY;
    if (v->is_array) {
        if (!read_u32(r, &type, what) || !check_type(r, type, what) || !read_u64(r, &v->n, what))
            return false;
        if (type == GGUF_ARRAY)
            return fail(r, "%s is an array of arrays, which is not supported", what);
    }
    v->type = (enum gguf_type)type;
    return read_elements(r, v, what);
}

static bool read_values(struct reader *r, uint64_t n, struct gguf_value **out)
{
    if (n > left(r) / MIN_VALUE_BYTES)
        return fail(r, "the header claims %" PRIu64 " keys, but %" PRIu64 " bytes are left in the file", n, left(r));
    size_t cap = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (i == cap)
            *out = mem_resize(*out, cap = cap ? cap * 2 : 64, sizeof **out);
        if (!read_value(r, &(*out)[i]))
            return false;
    }
    return true;
}

static const struct gguf_value *find_value(const struct gguf_value *values, uint64_t n, const char *key)
{
    struct gguf_string wanted = {key, strlen(key)};
    for (uint64_t i = 0; i < n; i++) {
        if (gguf_string_compare(values[i].key, wanted) == 0)
            return &values[i];
    }
    return NULL;
}

static bool find_alignment(struct reader *r, const struct gguf_value *values, uint64_t n, uint64_t *out)
{
    static const char key[] = "general.alignment";
    const struct gguf_value *v = find_value(values, n, key);
    *out = DEFAULT_ALIGNMENT;
    if (!v)
        return true;
    if (v->type != GGUF_U32 || v->is_array)
        return fail(r, "key %s is not an unsigned 32-bit number", key);
    *out = gguf_load(v->data, 4);
    if (*out == 0 || (*out & (*out - 1)) || *out > MAX_ALIGNMENT)
        return fail(r, "key %s is %" PRIu64 ", not a power of two up to %u", key, *out, MAX_ALIGNMENT);
    return true;
}

/* A part that says which one it is must be the one its name promises. */
static bool check_part(struct reader *r, const struct gguf_value *values, uint64_t n, size_t index)
{
    const struct gguf_value *v = find_value(values, n, "split.no");
    if (!v)
        return true;
    if (v->is_array || type_bytes[v->type] == 0 || v->type == GGUF_F32 || v->type == GGUF_F64)
        return fail(r, "key split.no is not an integer");
    uint64_t no = gguf_load(v->data, type_bytes[v->type]);
    if (no != index)
        return fail(r, "key split.no is %" PRIu64 ", but this is part %zu (the first is 0)", no, index);
    return true;
}

/* ---- tensors -------------------------------------------------------------------------------------------- */

struct extent {
    uint64_t offset;
    size_t tensor; /* index into g->tensors */
};

static bool tensor_bytes(struct reader *r, struct gguf_tensor *t, const char *what)
{
    const struct quant_layout *format = quant_layout(t->type);
    if (!format)
        return fail(r, "%s has the unknown format %" PRIu32, what, t->type);
    if (t->dims[0] % (uint64_t)format->block)
        return fail(r, "%s has rows of %" PRIu64 " weights, no multiple of the %d in a block of %s", what, t->dims[0],
                    format->block, format->name);
    uint64_t n = 1;
    for (int i = 0; i < t->n_dims; i++) {
        if (__builtin_mul_overflow(n, t->dims[i], &n) || n > INT64_MAX)
            return fail(r, "%s has dimensions whose product overflows 64 bits", what);
    }
    if (__builtin_mul_overflow(n / (uint64_t)format->block, (uint64_t)format->bytes, &t->bytes))
        return fail(r, "%s has a size that overflows 64 bits", what);
    return true;
}

static bool read_tensor(struct reader *r, struct gguf_tensor *t, uint64_t *offset)
{
    char shown[GGUF_SHOWN], what[GGUF_SHOWN + 8];
    uint32_t n_dims = 0;
    if (!read_string(r, &t->name, "a tensor's name"))
        return false;
    if (t->name.n == 0 || t->name.n > MAX_NAME)
        return fail(r, "a tensor's name has %zu bytes (1 to %d are allowed)", t->name.n, MAX_NAME);
    snprintf(what, sizeof what, "tensor %s", gguf_show(t->name, shown));
    if (!read_u32(r, &n_dims, what))
        return false;
    if (n_dims < 1 || n_dims > 4)
        return fail(r, "%s has %" PRIu32 " dimensions (1 to 4 are allowed)", what, n_dims);
    t->n_dims = (int)n_dims;
    for (int i = 0; i < 4; i++) {
        t->dims[i] = 1;
        if (i < t->n_dims && !read_u64(r, &t->dims[i], what))
            return false;
        if (t->dims[i] == 0)
            return fail(r, "%s has a dimension of 0", what);
    }
    return read_u32(r, &t->type, what) && read_u64(r, offset, what) && tensor_bytes(r, t, what);
}

static int compare_extents(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool check_overlap(struct reader *r, const struct gguf *g, struct extent *extents, size_t n)
{
    if (n)
        qsort(extents, n, sizeof *extents, compare_extents);
    for (size_t i = 1; i < n; i++) {
        const struct gguf_tensor *before = &g->tensors[extents[i - 1].tensor], *t = &g->tensors[extents[i].tensor];
        char a[GGUF_SHOWN], b[GGUF_SHOWN];
        if (extents[i].offset - extents[i - 1].offset < before->bytes)
            return fail(r, "tensors %s and %s overlap", gguf_show(before->name, a), gguf_show(t->name, b));
    }
    return true;
}

/* Turns offsets into pointers: `data` is where the tensors' data begins. */
static bool place_tensors(struct reader *r, struct gguf *g, const struct extent *extents, size_t n,
                          const struct gguf_part *part, uint64_t data, uint64_t alignment)
{
    uint64_t available = data < part->size ? part->size - data : 0;
    for (size_t i = 0; i < n; i++) {
        struct gguf_tensor *t = &g->tensors[extents[i].tensor];
        uint64_t offset = extents[i].offset;
        char shown[GGUF_SHOWN];
        if (offset % alignment)
            return fail(r, "tensor %s has the offset %" PRIu64 ", no multiple of the alignment %" PRIu64,
                        gguf_show(t->name, shown), offset, alignment);
        if (offset > available || t->bytes > available - offset)
            return fail(r, "tensor %s (%" PRIu64 " bytes at offset %" PRIu64 ") ends beyond the end of the file",
                        gguf_show(t->name, shown), t->bytes, offset);
        t->data = part->data + data + offset;
    }
    return true;
}

static bool read_tensors(struct reader *r, struct gguf *g, struct gguf_part *part, uint64_t n, uint64_t alignment)
{
    if (n > left(r) / MIN_TENSOR_BYTES)
        return fail(r, "the header claims %" PRIu64 " tensors, but %" PRIu64 " bytes are left in the file", n,
                    left(r));
    struct extent *extents = mem_new((size_t)n, sizeof *extents);
    g->tensors = mem_resize(g->tensors, g->n_tensors + (size_t)n, sizeof *g->tensors);
    bool ok = true;
    for (uint64_t i = 0; i < n && ok; i++) {
        extents[i].tensor = g->n_tensors + i;
        ok = read_tensor(r, &g->tensors[g->n_tensors + i], &extents[i].offset);
    }
    part->header_bytes = part->size - (size_t)left(r);
    uint64_t data = (part->header_bytes + alignment - 1) & ~(alignment - 1);
    ok = ok && place_tensors(r, g, extents, (size_t)n, part, data, alignment) &&
         check_overlap(r, g, extents, (size_t)n);
    free(extents);
    if (ok)
        g->n_tensors += (size_t)n;
    return ok;
}

/* ---- the whole header ----------------------------------------------------------------------------------- */

static bool read_start(struct reader *r, uint64_t *n_tensors, uint64_t *n_values)
{
    uint32_t version = 0;
    if (r->at == r->end)
        return fail(r, "the file is empty");
    if (left(r) < 4 || memcmp(r->at, "GGUF", 4) != 0)
        return fail(r, "this is not a GGUF file (it does not begin with \"GGUF\")");
    if (!take(r, 4, "the header") || !read_u32(r, &version, "the header"))
        return false;
    if (version != 2 && version != 3) {
        bool swapped = __builtin_bswap32(version) <= 3;
        return swapped ? fail(r, "this is a big-endian GGUF file, which is not supported")
                       : fail(r, "GGUF version %" PRIu32 " is not supported (2 and 3 are)", version);
    }
    return read_u64(r, n_tensors, "the header") && read_u64(r, n_values, "the header");
}

bool gguf_parse_part(struct gguf *g, struct gguf_part *part, char *err, size_t cap)
{
    size_t index = (size_t)(part - g->parts);
    struct reader r = {.path = part->path, .at = part->data, .end = part->data + part->size, .err = err, .cap = cap};
    uint64_t n_tensors = 0, n_values = 0, alignment = DEFAULT_ALIGNMENT;
    if (!read_start(&r, &n_tensors, &n_values))
        return false;
    struct gguf_value *values = NULL;
    bool ok = read_values(&r, n_values, &values) && find_alignment(&r, values, n_values, &alignment) &&
              check_part(&r, values, n_values, index) && read_tensors(&r, g, part, n_tensors, alignment);
    if (ok && index == 0) {
        g->values = values;
        g->n_values = (size_t)n_values;
    } else {
        free(values);
    }
    return ok;
}

/* ---- order ---------------------------------------------------------------------------------------------- */

int gguf_string_compare(struct gguf_string a, struct gguf_string b)
{
    int order = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);
    return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

static int compare_values(const void *a, const void *b)
{
    const struct gguf_value *const *x = a, *const *y = b;
    return gguf_string_compare((*x)->key, (*y)->key);
}

static int compare_tensors(const void *a, const void *b)
{
    const struct gguf_tensor *const *x = a, *const *y = b;
    return gguf_string_compare((*x)->name, (*y)->name);
}

bool gguf_index(struct gguf *g, char *err, size_t cap)
{
    struct reader r = {.path = g->parts[0].path, .err = err, .cap = cap};
    char shown[GGUF_SHOWN];
    free(g->by_key);
    free(g->by_name);
    g->by_name = NULL;
    g->by_key = mem_new(g->n_values, sizeof *g->by_key);
    for (size_t i = 0; i < g->n_values; i++)
        g->by_key[i] = &g->values[i];
    qsort(g->by_key, g->n_values, sizeof *g->by_key, compare_values);
    for (size_t i = 1; i < g->n_values; i++) {
        if (compare_values(&g->by_key[i - 1], &g->by_key[i]) == 0)
            return fail(&r, "key %s appears twice", gguf_show(g->by_key[i]->key, shown));
    }
    g->by_name = mem_new(g->n_tensors, sizeof *g->by_name);
    for (size_t i = 0; i < g->n_tensors; i++)
        g->by_name[i] = &g->tensors[i];
    qsort(g->by_name, g->n_tensors, sizeof *g->by_name, compare_tensors);
    for (size_t i = 1; i < g->n_tensors; i++) {
        if (compare_tensors(&g->by_name[i - 1], &g->by_name[i]) == 0)
            return fail(&r, "tensor %s appears twice", gguf_show(g->by_name[i]->name, shown));
    }
    return true;
}

size_t gguf_type_bytes(enum gguf_type type)
{
    return type_bytes[type];
}
