/*
 * carve.h - finds the rows of a damaged SQLite file by reading its pages, without SQLite and without its schema.
 *
 * Parses every page that looks like a leaf of a table or index, whether or not another page points to it, and skips
 * malformed cells. File format: https://www.sqlite.org/fileformat2.html, sections 1.6 and 2.1.
 */
#ifndef CARVE_H
#define CARVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CARVE_MAX_COLUMNS 32

struct carve_value {
    enum { CARVE_NULL, CARVE_INT, CARVE_REAL, CARVE_TEXT, CARVE_BLOB } type;
    int64_t i;
    double r;
    const char *bytes; /* text or blob, valid during the call; not NUL-terminated */
    size_t len;
};

struct carve_row {
    bool has_rowid; /* false: a row of an index or of a WITHOUT ROWID table */
    int64_t rowid;
    size_t n;
    struct carve_value values[CARVE_MAX_COLUMNS];
};

/* Calls found for each row in the file, in page order. Returns false and sets errno if the file cannot be read. Opens
 * and closes the file, which drops this process's POSIX locks on it. */
bool carve(const char *path, void (*found)(void *ctx, const struct carve_row *row), void *ctx);

/* False if the header names a format that SQLite can read but not write (section 1.3.3); chinwag never writes such a
 * header, so the file is damaged. */
bool carve_can_be_written(const char *path);

/* Whether the file begins with an SQLite header with this application_id. */
bool carve_has_application(const char *path, uint32_t application);

#endif
