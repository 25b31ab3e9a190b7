/*
 * gguf.h - reads GGUF v2 and v3 files (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), trusting nothing.
 *
 * Every count, type, length, dimension, alignment, offset and extent is checked against the file's size before use,
 * with arithmetic that cannot wrap; memory allocated while parsing is bounded by a small multiple of the header's
 * bytes. An open gguf is immutable. Keys, strings and tensor names point into the file and are not NUL-terminated.
 */
#ifndef GGUF_H
#define GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
};

struct gguf_string {
    const char *s;
    size_t n;
};

struct gguf_value {
    struct gguf_string key;
    enum gguf_type type; /* of the value, or of the array's elements (never GGUF_ARRAY) */
    bool is_array;
    uint64_t n;                /* elements; 1 for a scalar */
    const unsigned char *data; /* first element, little-endian, unaligned */
};

struct gguf_tensor {
    struct gguf_string name;
    uint32_t type; /* ggml type id: quant_layout knows it, quant_format perhaps */
    int n_dims;
    uint64_t dims[4]; /* dims[0] is the row length (contiguous); unused ones are 1 */
    uint64_t bytes;
    const unsigned char *data;
};

struct gguf; /* one file, or all parts of a split one */

/* path may be any part of a split file (name-00001-of-0000N.gguf): all parts are opened. */
struct gguf *gguf_open(const char *path, bool no_mmap, char *err, size_t cap);
void gguf_close(struct gguf *g);

size_t gguf_n_values(const struct gguf *g);
const struct gguf_value *gguf_value_at(const struct gguf *g, size_t i);
const struct gguf_value *gguf_find(const struct gguf *g, const char *key); /* NULL if absent */

size_t gguf_n_tensors(const struct gguf *g);
const struct gguf_tensor *gguf_tensor_at(const struct gguf *g, size_t i);
const struct gguf_tensor *gguf_find_tensor(const struct gguf *g, const char *name); /* NULL if absent */

/* Typed getters. Each returns false and leaves *out alone when the key is absent; a key of another type, or out of
 * range, is an error: false and a sentence in err (err[0] is '\0' otherwise). Any integer type is accepted. */
bool gguf_get_int(const struct gguf *g, const char *key, int64_t min, int64_t max, int64_t *out, char *err,
                  size_t cap);
bool gguf_get_float(const struct gguf *g, const char *key, double *out, char *err, size_t cap); /* finite */
bool gguf_get_bool(const struct gguf *g, const char *key, bool *out, char *err, size_t cap);
bool gguf_get_string(const struct gguf *g, const char *key, struct gguf_string *out, char *err, size_t cap);

/* Element i of an array of strings, in constant amortised time when called with i, i + 1, ...; *cursor starts at
 * 0. */
struct gguf_string gguf_string_at(const struct gguf_value *array, uint64_t *cursor);
int64_t gguf_int_at(const struct gguf_value *array, uint64_t i);  /* any integer type or bool */
double gguf_float_at(const struct gguf_value *array, uint64_t i); /* F32 or F64 */

/* A string of the file as it may be shown (utf8_clean), with "..." where it was cut. Returns out. */
#define GGUF_SHOWN 68
const char *gguf_show(struct gguf_string s, char out[GGUF_SHOWN]);

/* "PATH: " and the formatted sentence into err, for those who find fault with what the file says. Returns false. */
bool gguf_fail(const struct gguf *g, char *err, size_t cap, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

const char *gguf_path(const struct gguf *g);    /* as opened; of a split file its first part */
uint64_t gguf_file_bytes(const struct gguf *g); /* all parts */

/* Where data of a tensor lies: the path of its part and the offset in it. False where the file was read into
 * memory. */
bool gguf_source(const struct gguf *g, const void *data, const char **path, int64_t *offset);
/* Gives the resident pages that lie within these bytes of a tensor back. If mapped, they stay readable (from the
 * file); with no_mmap they are gone. */
void gguf_release(const void *data, size_t bytes);

/* Of the file as it was opened: its size, metadata, tensor table, and 64 KB spread over the data. */
uint64_t gguf_fingerprint(const struct gguf *g);

#endif
