/* config.c - see config.h. */
#include "config.h"

#include "base/buffer.h"
#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLANKS " \t\r\v\f"
#define COMMENTS "#;"

/* A text is collected from its own line and the indented lines below, and is set at its end. */
struct reading {
    struct settings *settings;
    int line;           /* the one being read, from 1 */
    int text_id;        /* the text being collected; -1 = none */
    int text_line;      /* where it began */
    struct buffer text; /* what there is of it */
    int blank_lines;    /* read since its last line: part of it if it goes on */
    char problem[320];  /* the first; "" = none */
};

static bool complain(struct reading *r, int line, const char *what, const char *why)
{
    snprintf(r->problem, sizeof r->problem, "%d: %s%s", line, what, why);
    return false;
}

static bool set(struct reading *r, int line, int id, const char *name, const char *value)
{
    char why[200], what[80];
    if (settings_read(r->settings, LAYER_CONFIG, id, value, why, sizeof why))
        return true;
    snprintf(what, sizeof what, "%.60s ", name);
    return complain(r, line, what, why);
}

static bool end_text(struct reading *r)
{
    int id = r->text_id;
    r->text_id = -1;
    r->blank_lines = 0;
    return id < 0 || set(r, r->text_line, id, settings_table[id].name, r->text.s);
}

static void add_text(struct reading *r, const char *line)
{
    for (; r->blank_lines > 0; r->blank_lines--)
        buffer_puts(&r->text, "\n");
    buffer_printf(&r->text, "\n%s", line);
}

/* Cuts the blanks at the end of a string and returns where those at its start end. */
static char *trim(char *s)
{
    size_t n = strlen(s);
    while (n && strchr(BLANKS, s[n - 1]))
        s[--n] = '\0';
    return s + strspn(s, BLANKS);
}

/* Cuts a comment: from a `;` after a blank on. */
static char *cut_comment(char *value)
{
    for (char *c = value; *c; c++)
        if (*c == ';' && (c == value || strchr(BLANKS, c[-1])))
            *c = '\0';
    return trim(value);
}

static bool set_path(struct reading *r, int id, const char *name, const char *value)
{
    char *path = path_expand(value);
    bool ok = set(r, r->line, id, name, path);
    free(path);
    return ok;
}

/* A line `name = value`; a colon serves as well. */
static bool take_pair(struct reading *r, char *line)
{
    char *sign = strpbrk(line, "=:"), quoted[80];
    if (!sign)
        return complain(r, r->line, "'name = value' is expected", "");
    *sign = '\0';
    char *name = trim(line), *value = trim(sign + 1);
    int id = settings_find(name);
    if (id < 0) {
        snprintf(quoted, sizeof quoted, "'%.60s'", name);
        return complain(r, r->line, "there is no setting ", quoted);
    }
    switch (settings_table[id].kind) {
    case SETTING_PATH: return set_path(r, id, name, value);
    case SETTING_TEXT:
        r->text_id = id;
        r->text_line = r->line;
        buffer_truncate(&r->text, 0);
        buffer_puts(&r->text, value);
        return true;
    case SETTING_NUMBER:
    case SETTING_FLAG:
    case SETTING_CHOICE: break;
    }
    return set(r, r->line, id, name, cut_comment(value));
}

static bool take_line(struct reading *r, char *line)
{
    bool indented = *line && strchr(BLANKS, *line);
    line = trim(line);
    if (!*line) {
        r->blank_lines++;
        return true;
    }
    if (indented && r->text_id >= 0) {
        add_text(r, line);
        return true;
    }
    if (strchr(COMMENTS, *line))
        return true;
    if (!end_text(r))
        return false;
    return *line == '[' || take_pair(r, line);
}

/* bytes ends with a NUL and may hold more of them. */
static bool take_file(struct reading *r, char *bytes, size_t n)
{
    char *end = bytes + n, *line = strncmp(bytes, "\xef\xbb\xbf", 3) == 0 ? bytes + 3 : bytes;
    while (line < end) {
        char *next = memchr(line, '\n', (size_t)(end - line));
        next = next ? next : end;
        *next = '\0';
        r->line++;
        if (strlen(line) < (size_t)(next - line))
            return complain(r, r->line, "there is a NUL byte in the line", "");
        if (!take_line(r, line))
            return false;
        line = next + 1;
    }
    return end_text(r);
}

/* Returns false and errno. */
static bool read_file(const char *path, struct buffer *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR;
    bool ok = buffer_read(bytes, fd, BUFFER_TEXT_MAX);
    int why = errno;
    close(fd);
    errno = why;
    return ok;
}

bool config_read(const char *path, struct settings *settings, char *err, size_t cap)
{
    struct reading r = {.settings = settings, .text_id = -1, .text = BUFFER_INIT};
    struct buffer bytes = BUFFER_INIT;
    bool ok = read_file(path, &bytes);
    if (!ok)
        snprintf(err, cap, "%s: %s", path, errno == EISDIR ? "this is a directory, not a file" : strerror(errno));
    buffer_add(&bytes, "", 0);
    if (ok && !(ok = take_file(&r, bytes.s, bytes.len)))
        snprintf(err, cap, "%s:%s", path, r.problem);
    buffer_free(&bytes);
    buffer_free(&r.text);
    return ok;
}
