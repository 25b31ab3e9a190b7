/* carve.c - see carve.h. */
#include "carve.h"

#include "../src/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER 100        /* bytes of the file's header, at the start of page 1 */
#define DEFAULT_PAGE 4096 /* SQLite's default, for a header without a valid size */
#define LEAF_TABLE 0x0d   /* page types */
#define LEAF_INDEX 0x0a
#define LEAF_HEADER 8          /* bytes before a leaf's cell pointers */
#define MAX_PAYLOAD (1u << 28) /* bytes of a row; a larger size is damage */

struct file {
    int fd;
    uint32_t page_size;
    uint32_t usable; /* bytes of a page without the reserved ones at its end */
    uint32_t n_pages;
    uint8_t *page;     /* the leaf being parsed */
    uint8_t *overflow; /* one page of a chain */
    uint8_t *payload;  /* of the cell being read */
    size_t payload_cap;
};

static uint32_t be(const uint8_t *p, int n)
{
    uint32_t v = 0;
    for (int i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

/* Parses a varint of at most n bytes. Returns its length, or 0 if it is longer. */
static size_t varint(const uint8_t *p, size_t n, uint64_t *v)
{
    *v = 0;
    for (size_t i = 0; i < n && i < 9; i++) {
        if (i == 8) {
            *v = *v << 8 | p[i];
            return 9;
        }
        *v = *v << 7 | (p[i] & 0x7f);
        if (!(p[i] & 0x80))
            return i + 1;
    }
    return 0;
}

/* Reads page n (from 1); pads it with zeros if the file ends within it. */
static bool read_page(const struct file *f, uint32_t n, uint8_t *page)
{
    size_t used = 0;
    for (ssize_t got; used < f->page_size; used += (size_t)got) {
        got = pread(f->fd, page + used, f->page_size - used, (off_t)(n - 1) * f->page_size + (off_t)used);
        if (got < 0 && errno == EIO && used == 0)
            return false; /* a bad sector: the other pages may be readable */
        if (got <= 0)
            break;
    }
    memset(page + used, 0, f->page_size - used);
    return used > 0;
}

static bool has_magic(const uint8_t *header)
{
    return memcmp(header, "SQLite format 3", 16) == 0;
}

static void read_sizes(struct file *f, const uint8_t *header, off_t size)
{
    uint32_t page = be(header + 16, 2);
    page = page == 1 ? 65536 : page;
    bool sane = page >= 512 && page <= 65536 && !(page & (page - 1)) && header[20] < 64;
    f->page_size = sane ? page : DEFAULT_PAGE;
    f->usable = f->page_size - (sane ? header[20] : 0);
    f->n_pages = (uint32_t)((size + f->page_size - 1) / f->page_size);
}

/* The bytes of a payload that are in the cell itself; the rest is in overflow pages. File format, section 1.6. */
static size_t local_size(const struct file *f, size_t payload, bool table)
{
    size_t u = f->usable, max = table ? u - 35 : (u - 12) * 64 / 255 - 23, min = (u - 12) * 32 / 255 - 23;
    if (payload <= max)
        return payload;
    size_t k = min + (payload - min) % (u - 4);
    return k <= max ? k : min;
}

/* Copies the payload of a cell, its overflow pages included, into f->payload. */
static bool gather(struct file *f, const uint8_t *cell, size_t room, size_t payload, bool table)
{
    size_t local = local_size(f, payload, table), used = local;
    if (payload > MAX_PAYLOAD || local + (local < payload ? 4 : 0) > room ||
        (local < payload && (payload - local) / (f->usable - 4) > f->n_pages))
        return false;
    if (payload > f->payload_cap) {
        free(f->payload);
        f->payload_cap = 2 * payload;
        f->payload = mem_new(f->payload_cap, 1);
    }
    memcpy(f->payload, cell, local);
    for (uint32_t next = local < payload ? be(cell + local, 4) : 0; used < payload;) {
        if (next < 2 || next > f->n_pages || !read_page(f, next, f->overflow))
            return false;
        size_t n = payload - used < f->usable - 4 ? payload - used : f->usable - 4;
        memcpy(f->payload + used, f->overflow + 4, n);
        used += n;
        next = be(f->overflow, 4);
    }
    return true;
}

static int64_t signed_be(const uint8_t *p, size_t n)
{
    uint64_t v = p[0] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[i];
    return (int64_t)v;
}

/* Parses the value of a serial type at p. Returns its length, or SIZE_MAX if the type is unknown or does not fit. */
static size_t read_value(uint64_t type, const uint8_t *p, size_t room, struct carve_value *v)
{
    static const uint8_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
    if (type == 10 || type == 11)
        return SIZE_MAX;
    uint64_t n = type >= 12 ? (type - 12) / 2 : sizes[type];
    if (n > room)
        return SIZE_MAX;
    *v = (struct carve_value){.bytes = (const char *)p, .len = (size_t)n};
    if (type >= 12) {
        v->type = type & 1 ? CARVE_TEXT : CARVE_BLOB;
    } else if (type == 7) {
        uint64_t bits = (uint64_t)signed_be(p, 8);
        v->type = CARVE_REAL;
        memcpy(&v->r, &bits, sizeof v->r);
    } else if (type) {
        v->type = CARVE_INT;
        v->i = type >= 8 ? (int64_t)type - 8 : signed_be(p, (size_t)n);
        v->r = (double)v->i;
    }
    return (size_t)n;
}

/* Parses a record, which must fill the payload exactly. */
static bool read_record(const uint8_t *p, size_t n, struct carve_row *row)
{
    uint64_t header, type;
    size_t at = varint(p, n, &header);
    if (!at || header > n || header < at)
        return false;
    size_t body = (size_t)header;
    for (row->n = 0; at < header; row->n++) {
        size_t used = varint(p + at, (size_t)header - at, &type);
        if (!used || row->n == CARVE_MAX_COLUMNS)
            return false;
        size_t len = read_value(type, p + body, n - body, &row->values[row->n]);
        if (len == SIZE_MAX)
            return false;
        at += used;
        body += len;
    }
    return body == n && row->n > 0;
}

static bool read_cell(struct file *f, size_t at, bool table, struct carve_row *row)
{
    uint64_t payload, rowid = 0;
    size_t used = varint(f->page + at, f->usable - at, &payload);
    if (!used || payload > MAX_PAYLOAD)
        return false;
    at += used;
    used = table ? varint(f->page + at, f->usable - at, &rowid) : 0;
    if (table && !used)
        return false;
    at += used;
    row->has_rowid = table;
    row->rowid = (int64_t)rowid;
    return gather(f, f->page + at, f->usable - at, (size_t)payload, table) &&
           read_record(f->payload, (size_t)payload, row);
}

static void carve_page(struct file *f, uint32_t number, void (*found)(void *, const struct carve_row *), void *ctx)
{
    size_t start = number == 1 ? HEADER : 0;
    const uint8_t *header = f->page + start;
    if (header[0] != LEAF_TABLE && header[0] != LEAF_INDEX)
        return;
    size_t n = be(header + 3, 2), cells = start + LEAF_HEADER;
    if (n > (f->usable - cells) / 2)
        n = (f->usable - cells) / 2;
    for (size_t i = 0; i < n; i++) {
        struct carve_row row;
        size_t at = be(f->page + cells + 2 * i, 2);
        if (at >= cells && at < f->usable && read_cell(f, at, header[0] == LEAF_TABLE, &row))
            found(ctx, &row);
    }
}

bool carve(const char *path, void (*found)(void *ctx, const struct carve_row *row), void *ctx)
{
    uint8_t header[HEADER] = {0};
    struct stat st;
    struct file f = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (f.fd < 0)
        return false;
    if (fstat(f.fd, &st) != 0 || pread(f.fd, header, sizeof header, 0) < 0) {
        close(f.fd);
        return false;
    }
    read_sizes(&f, header, st.st_size);
    f.page = mem_new(f.page_size, 1);
    f.overflow = mem_new(f.page_size, 1);
    for (uint32_t i = 1; i <= f.n_pages; i++)
        if (read_page(&f, i, f.page))
            carve_page(&f, i, found, ctx);
    free(f.page);
    free(f.overflow);
    free(f.payload);
    close(f.fd);
    return true;
}

static bool read_header(const char *path, uint8_t header[HEADER])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool whole = fd >= 0 && pread(fd, header, HEADER, 0) == HEADER;
    if (fd >= 0)
        close(fd);
    return whole;
}

bool carve_can_be_written(const char *path)
{
    uint8_t header[HEADER];
    return !read_header(path, header) || header[18] <= 2;
}

bool carve_has_application(const char *path, uint32_t application)
{
    uint8_t header[HEADER];
    return read_header(path, header) && has_magic(header) && be(header + 68, 4) == application;
}
