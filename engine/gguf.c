/* gguf.c - see gguf.h: bringing the file into memory, finding and typing what gguf_parse.c has checked. */
#include "gguf.h"
#include "../src/base/mem.h"
#include "gguf_impl.h"
#include "utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PARTS 1024
#define SAMPLE_BYTES 4096 /* of these, SAMPLES are hashed from each part's data for the fingerprint: 64 KB */
#define SAMPLES 16

/* In test builds a step beyond the end of a file is seen, though the last page goes on. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
static void guard_end(const struct gguf_part *part, bool on)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), tail = (page - part->size % page) % page;
    if (on)
        ASAN_POISON_MEMORY_REGION(part->data + part->size, tail);
    else
        ASAN_UNPOISON_MEMORY_REGION(part->data + part->size, tail);
}
#else
static void guard_end(const struct gguf_part *part, bool on)
{
    (void)part;
    (void)on;
}
#endif

/* ---- files ---------------------------------------------------------------------------------------------- */

static bool read_all(int fd, struct gguf_part *part, char *err, size_t cap)
{
    size_t done = 0;
    while (done < part->size) {
        size_t want = part->size - done < (1u << 30) ? part->size - done : 1u << 30;
        ssize_t n = read(fd, part->data + done, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            snprintf(err, cap, "%s: cannot be read: %s", part->path, n ? strerror(errno) : "it became shorter");
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

/* The file's pages, or memory it was read into: both are mappings, so that both can be given back page by page. */
static bool map_part(int fd, struct gguf_part *part, bool no_mmap, char *err, size_t cap)
{
    void *data = no_mmap ? mmap(NULL, part->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                         : mmap(NULL, part->size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
        snprintf(err, cap, "%s: cannot get %zu bytes of memory for it: %s", part->path, part->size, strerror(errno));
        return false;
    }
    part->data = data;
    part->mapped = !no_mmap;
    guard_end(part, true);
    return !no_mmap || read_all(fd, part, err, cap);
}

static bool load_part(struct gguf_part *part, bool no_mmap, char *err, size_t cap)
{
    struct stat st;
    int fd = open(part->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        snprintf(err, cap, "%s: cannot be opened: %s", part->path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool ok = false;
    if (!S_ISREG(st.st_mode))
        snprintf(err, cap, "%s: this is not an ordinary file", part->path);
    else if (st.st_size == 0)
        snprintf(err, cap, "%s: the file is empty", part->path);
    else if ((uintmax_t)st.st_size > SIZE_MAX)
        snprintf(err, cap, "%s: the file is too large for this machine", part->path);
    else {
        part->size = (size_t)st.st_size;
        ok = map_part(fd, part, no_mmap, err, cap);
    }
    close(fd);
    return ok;
}

static bool add_part(struct gguf *g, const char *path, bool no_mmap, char *err, size_t cap)
{
    g->parts = mem_resize(g->parts, g->n_parts + 1, sizeof *g->parts);
    struct gguf_part *part = &g->parts[g->n_parts++];
    *part = (struct gguf_part){.path = mem_copy(path, strlen(path))};
    return load_part(part, no_mmap, err, cap) && gguf_parse_part(g, part, err, cap);
}

/* ---- split files ---------------------------------------------------------------------------------------- */

/* name-00002-of-00003.gguf: the length of "name" and the number of parts, 0 where path is not of that form. */
static int split_name(const char *path, size_t *stem)
{
    static const char pattern[] = "-00000-of-00000.gguf";
    size_t n = strlen(path), tail = sizeof pattern - 1;
    if (n <= tail)
        return 0;
    const char *p = path + n - tail;
    for (size_t i = 0; i < tail; i++) {
        bool digit = p[i] >= '0' && p[i] <= '9';
        if (pattern[i] == '0' ? !digit : p[i] != pattern[i])
            return 0;
    }
    *stem = n - tail;
    return atoi(p + 10);
}

static bool get_split(const struct gguf *g, int64_t *count, int64_t *tensors, char *err, size_t cap)
{
    *count = 1;
    *tensors = -1;
    err[0] = '\0';
    gguf_get_int(g, "split.count", 0, MAX_PARTS, count, err, cap);
    if (!err[0])
        gguf_get_int(g, "split.tensors.count", 0, INT64_MAX, tensors, err, cap);
    return !err[0];
}

/* All parts are opened, the first one first: its metadata is the model's. */
static bool open_parts(struct gguf *g, const char *path, bool no_mmap, char *err, size_t cap)
{
    size_t stem = 0;
    int named = split_name(path, &stem);
    char *part = NULL;
    int64_t count = 1, tensors = -1;
    bool ok = true;
    for (int i = 1; ok && i <= (named ? named : 1); i++) {
        if (named) {
            free(part);
            part = mem_alloc(stem + 32);
            snprintf(part, stem + 32, "%.*s-%05d-of-%05d.gguf", (int)stem, path, i, named);
        }
        ok = add_part(g, named ? part : path, no_mmap, err, cap);
        if (!ok || i > 1)
            continue;
        ok = gguf_index(g, err, cap) && get_split(g, &count, &tensors, err, cap);
        if (ok && count > 1 && count != named)
            ok = gguf_fail(g, err, cap,
                           "key split.count is %" PRId64 ", so the file must be named NAME-00001-of-%05d.gguf", count,
                           (int)count);
        if (ok && count <= 1 && named > 1)
            ok = gguf_fail(g, err, cap, "it is named like a part of a split file, but has no key split.count");
    }
    free(part);
    if (ok && g->n_parts > 1)
        ok = gguf_index(g, err, cap);
    if (ok && tensors >= 0 && (uint64_t)tensors != g->n_tensors)
        ok = gguf_fail(g, err, cap, "key split.tensors.count is %" PRId64 ", but the %zu parts hold %zu tensors",
                       tensors, g->n_parts, g->n_tensors);
    return ok;
}

/* ---- open and close ------------------------------------------------------------------------------------- */

/* Eight bytes a step, folded by multiplication: a header of megabytes costs about a millisecond. */
static uint64_t hash_bytes(uint64_t h, const unsigned char *p, size_t n)
{
    const uint64_t prime = 0x9E3779B97F4A7C15; /* 2^64 / golden ratio */
    h = (h ^ n) * prime;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * prime;
        h ^= h >> 32;
    }
    h = (h ^ gguf_load(p, n)) * prime;
    return h ^ h >> 29;
}

static uint64_t hash_parts(const struct gguf *g)
{
    uint64_t h = 0;
    for (size_t i = 0; i < g->n_parts; i++) {
        const struct gguf_part *part = &g->parts[i];
        size_t data = part->size - part->header_bytes, step = data / SAMPLES;
        h = (h ^ part->size) * 0x9E3779B97F4A7C15;
        h = hash_bytes(h, part->data, part->header_bytes);
        for (size_t k = 0; k < SAMPLES && step; k++)
            h = hash_bytes(h, part->data + part->header_bytes + k * step, step < SAMPLE_BYTES ? step : SAMPLE_BYTES);
    }
    return h;
}

struct gguf *gguf_open(const char *path, bool no_mmap, char *err, size_t cap)
{
    struct gguf *g = mem_new(1, sizeof *g);
    if (open_parts(g, path, no_mmap, err, cap)) {
        g->fingerprint = hash_parts(g); /* now: gguf_release may discard what was read */
        return g;
    }
    gguf_close(g);
    return NULL;
}

void gguf_close(struct gguf *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n_parts; i++) {
        if (g->parts[i].data) {
            guard_end(&g->parts[i], false);
            munmap(g->parts[i].data, g->parts[i].size);
        }
        free(g->parts[i].path);
    }
    free(g->parts);
    free(g->values);
    free(g->by_key);
    free(g->tensors);
    free(g->by_name);
    free(g);
}

/* ---- look-up -------------------------------------------------------------------------------------------- */

static int compare_key(const void *wanted, const void *entry)
{
    const struct gguf_value *const *v = entry;
    return gguf_string_compare(*(const struct gguf_string *)wanted, (*v)->key);
}

static int compare_name(const void *wanted, const void *entry)
{
    const struct gguf_tensor *const *t = entry;
    return gguf_string_compare(*(const struct gguf_string *)wanted, (*t)->name);
}

size_t gguf_n_values(const struct gguf *g)
{
    return g->n_values;
}

const struct gguf_value *gguf_value_at(const struct gguf *g, size_t i)
{
    return &g->values[i];
}

const struct gguf_value *gguf_find(const struct gguf *g, const char *key)
{
    const struct gguf_string wanted = {key, strlen(key)};
    const struct gguf_value *const *found = bsearch(&wanted, g->by_key, g->n_values, sizeof *g->by_key, compare_key);
    return found ? *found : NULL;
}

size_t gguf_n_tensors(const struct gguf *g)
{
    return g->n_tensors;
}

const struct gguf_tensor *gguf_tensor_at(const struct gguf *g, size_t i)
{
    return &g->tensors[i];
}

const struct gguf_tensor *gguf_find_tensor(const struct gguf *g, const char *name)
{
    const struct gguf_string wanted = {name, strlen(name)};
    const struct gguf_tensor *const *found =
        bsearch(&wanted, g->by_name, g->n_tensors, sizeof *g->by_name, compare_name);
    return found ? *found : NULL;
}

/* ---- values --------------------------------------------------------------------------------------------- */

static bool is_integer(enum gguf_type type)
{
    return type <= GGUF_I32 || type == GGUF_BOOL || type == GGUF_U64 || type == GGUF_I64;
}

/* The value under key if its type is one accepted; else NULL, with err[0] telling an absent key from a wrong one. */
static const struct gguf_value *scalar(const struct gguf *g, const char *key, bool (*accepted)(enum gguf_type),
                                       const char *wanted, char *err, size_t cap)
{
    err[0] = '\0';
    const struct gguf_value *v = gguf_find(g, key);
    if (!v || (!v->is_array && accepted(v->type)))
        return v;
    gguf_fail(g, err, cap, "key %s is not %s", key, wanted);
    return NULL;
}

static bool accept_integer(enum gguf_type type)
{
    return is_integer(type) && type != GGUF_BOOL;
}

static bool accept_float(enum gguf_type type)
{
    return type == GGUF_F32 || type == GGUF_F64;
}

static bool accept_bool(enum gguf_type type)
{
    return type == GGUF_BOOL;
}

static bool accept_string(enum gguf_type type)
{
    return type == GGUF_STRING;
}

bool gguf_get_int(const struct gguf *g, const char *key, int64_t min, int64_t max, int64_t *out, char *err,
                  size_t cap)
{
    const struct gguf_value *v = scalar(g, key, accept_integer, "an integer", err, cap);
    if (!v)
        return false;
    int64_t n = gguf_int_at(v, 0);
    if (n < min || n > max || (v->type == GGUF_U64 && gguf_load(v->data, 8) > INT64_MAX))
        return gguf_fail(g, err, cap, "key %s is %" PRId64 ", not between %" PRId64 " and %" PRId64, key, n, min,
                         max);
    *out = n;
    return true;
}

bool gguf_get_float(const struct gguf *g, const char *key, double *out, char *err, size_t cap)
{
    const struct gguf_value *v = scalar(g, key, accept_float, "a floating-point number", err, cap);
    if (!v)
        return false;
    double x = gguf_float_at(v, 0);
    if (!isfinite(x))
        return gguf_fail(g, err, cap, "key %s is not a finite number", key);
    *out = x;
    return true;
}

bool gguf_get_bool(const struct gguf *g, const char *key, bool *out, char *err, size_t cap)
{
    const struct gguf_value *v = scalar(g, key, accept_bool, "a boolean", err, cap);
    if (v)
        *out = v->data[0] != 0;
    return v != NULL;
}

bool gguf_get_string(const struct gguf *g, const char *key, struct gguf_string *out, char *err, size_t cap)
{
    const struct gguf_value *v = scalar(g, key, accept_string, "a string", err, cap);
    uint64_t cursor = 0;
    if (v)
        *out = gguf_string_at(v, &cursor);
    return v != NULL;
}

struct gguf_string gguf_string_at(const struct gguf_value *array, uint64_t *cursor)
{
    const unsigned char *p = array->data + *cursor;
    size_t n = (size_t)gguf_load(p, 8);
    *cursor += 8 + n;
    return (struct gguf_string){(const char *)p + 8, n};
}

int64_t gguf_int_at(const struct gguf_value *array, uint64_t i)
{
    size_t size = gguf_type_bytes(array->type);
    uint64_t v = gguf_load(array->data + i * size, size);
    switch (array->type) {
    case GGUF_I8: return (int8_t)v;
    case GGUF_I16: return (int16_t)v;
    case GGUF_I32: return (int32_t)v;
    case GGUF_U64: return v > INT64_MAX ? INT64_MAX : (int64_t)v;
    default: return (int64_t)v;
    }
}

double gguf_float_at(const struct gguf_value *array, uint64_t i)
{
    size_t size = gguf_type_bytes(array->type);
    uint64_t bits = gguf_load(array->data + i * size, size);
    double d;
    float f;
    if (array->type == GGUF_F64) {
        memcpy(&d, &bits, sizeof d);
        return d;
    }
    uint32_t low = (uint32_t)bits;
    memcpy(&f, &low, sizeof f);
    return (double)f;
}

/* ---- the rest ------------------------------------------------------------------------------------------- */

const char *gguf_show(struct gguf_string s, char out[GGUF_SHOWN])
{
    static const char cut[] = "...";
    if (utf8_clean(s.s, s.n, out, GGUF_SHOWN - (sizeof cut - 1)) < s.n)
        strcat(out, cut);
    return out;
}

bool gguf_fail(const struct gguf *g, char *err, size_t cap, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(err, cap, "%s: %s", gguf_path(g), text);
    return false;
}

const char *gguf_path(const struct gguf *g)
{
    return g->parts[0].path;
}

uint64_t gguf_file_bytes(const struct gguf *g)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < g->n_parts; i++)
        sum += g->parts[i].size;
    return sum;
}

bool gguf_source(const struct gguf *g, const void *data, const char **path, int64_t *offset)
{
    for (size_t i = 0; i < g->n_parts; i++) {
        const struct gguf_part *part = &g->parts[i];
        uintptr_t at =
            (uintptr_t)data - (uintptr_t)part->data; /* of another part: beyond this one, or wrapped round */
        if (!part->mapped || at >= part->size)
            continue;
        *path = part->path;
        *offset = (int64_t)at;
        return true;
    }
    return false;
}

void gguf_release(const void *data, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)data + page - 1) & ~(page - 1), to = ((uintptr_t)data + bytes) & ~(page - 1);
    if (to > from)
        madvise((void *)from, to - from, MADV_DONTNEED);
}

uint64_t gguf_fingerprint(const struct gguf *g)
{
    return g->fingerprint;
}
