/* config.c - see config.h. */
#include "config.h"

#include "base.h"
#include "buffer.h"
#include "paths.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct settings *settings;
    FILE *file;
    int line;          /* the one being read */
    int last;          /* setting of the handler's last call: a second call with it is a continuation; -1 = none */
    char problem[256]; /* the first; "" = none */
    int problem_line;
};

static void complain(struct reading *r, const char *format, const char *what)
{
    if (r->problem[0])
        return;
    r->problem_line = r->line;
    snprintf(r->problem, sizeof r->problem, format, what);
}

/* inih hands out a line longer than its buffer in parts, as if they were lines: such a line is refused here. */
static char *read_line(char *line, int size, void *ctx)
{
    struct reading *r = ctx;
    if (!fgets(line, size, r->file))
        return NULL;
    r->line++;
    if ((int)strlen(line) == size - 1 && line[size - 2] != '\n') {
        complain(r, "%s", "the line is too long; go on in further lines, indented");
        for (int c = 0; c != '\n' && c != EOF;)
            c = getc(r->file);
    }
    return line;
}

static int take_value(void *ctx, const char *section, const char *name, const char *value)
{
    (void)section; /* headings are for the reader of the file */
    struct reading *r = ctx;
    int id = settings_find(name);
    if (id < 0) {
        complain(r, "there is no setting '%.60s'", name);
        return 1;
    }
    struct buffer text = {0};
    if (id == r->last && settings_table[id].kind == SETTING_TEXT && settings_has(r->settings, LAYER_CONFIG, id))
        buffer_printf(&text, "%s\n", r->settings->value[LAYER_CONFIG][id].text);
    buffer_puts(&text, value);
    if (id == SET_MODEL || id == SET_DB) {
        char *expanded = path_expand(text.s);
        buffer_cut(&text, 0);
        buffer_puts(&text, expanded);
        free(expanded);
    }
    char why[200], problem[256];
    if (!settings_read(r->settings, LAYER_CONFIG, id, text.s, why, sizeof why)) {
        snprintf(problem, sizeof problem, "%s %s", settings_table[id].name, why);
        complain(r, "%s", problem);
    }
    buffer_free(&text);
    r->last = id;
    return 1;
}

bool config_read(const char *path, struct settings *settings, char *err, size_t cap)
{
    struct reading r = {.settings = settings, .last = -1, .file = fopen(path, "re")};
    if (!r.file && (errno == ENOENT || errno == ENOTDIR))
        return true;
    if (!r.file) {
        snprintf(err, cap, "%s: %s", path, strerror(errno));
        return false;
    }
    int status = ini_parse_stream(read_line, &r, take_value, &r);
    if (ferror(r.file)) /* a directory, for one */
        complain(&r, "%s", strerror(errno));
    fclose(r.file);
    if (status > 0 && (!r.problem[0] || status < r.problem_line)) {
        r.problem_line = status;
        snprintf(r.problem, sizeof r.problem, "'name = value' is expected");
    }
    if (!r.problem[0])
        return true;
    snprintf(err, cap, "%s:%d: %s", path, r.problem_line, r.problem);
    return false;
}
