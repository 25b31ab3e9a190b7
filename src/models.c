/* models.c - see models.h. */
#include "models.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unistr.h>

/* Where several models lie in the directory, these come first; then alphabetically. */
static const char *const preferred[] = {"qwen2.5", "SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2"};

static size_t rank(const char *name)
{
    size_t n = sizeof preferred / sizeof *preferred, i = 0;
    while (i < n && strncasecmp(name, preferred[i], strlen(preferred[i])) != 0)
        i++;
    return i;
}

static int by_rank(const struct dirent **a, const struct dirent **b)
{
    size_t ra = rank((*a)->d_name), rb = rank((*b)->d_name);
    return ra != rb ? (ra > rb) - (ra < rb) : strcasecmp((*a)->d_name, (*b)->d_name);
}

/* A model: *.gguf, and of a split one the first part only ("-00001-of-00003.gguf"). */
static int is_model(const struct dirent *entry)
{
    const char *name = entry->d_name;
    size_t n = strlen(name);
    if (n < 6 || name[0] == '.' || strcasecmp(name + n - 5, ".gguf") != 0)
        return 0;
    const char *part = n >= 20 && strncmp(name + n - 11 - 3, "-of-", 4) == 0 ? name + n - 20 : NULL;
    return !part || strncmp(part, "-00001", 6) == 0;
}

/* The models' names, best first: *names and its entries belong to the caller. */
static size_t scan(struct dirent ***names)
{
    char *dir = path_data("models");
    int n = scandir(dir, names, is_model, by_rank);
    free(dir);
    return n > 0 ? (size_t)n : 0;
}

static void scan_free(struct dirent **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    if (n)
        free(names);
}

static bool fail(char *err, size_t cap, const char *path, const char *why)
{
    snprintf(err, cap, "%s: %s", path, why);
    return false;
}

bool model_check(const char *path, char *err, size_t cap)
{
    if (!*path) {
        snprintf(err, cap, "the name of the model's file is empty");
        return false;
    }
    struct stat st;
    char magic[4];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hold us up */
    if (fd < 0)
        return fail(err, cap, path, strerror(errno));
    const char *why = NULL;
    if (fstat(fd, &st) != 0)
        why = strerror(errno);
    else if (S_ISDIR(st.st_mode))
        why = "a directory, not a GGUF file";
    else if (!S_ISREG(st.st_mode))
        why = "not a regular file";
    else if (st.st_size == 0)
        why = "the file is empty";
    else if (read(fd, magic, sizeof magic) != (ssize_t)sizeof magic || memcmp(magic, "GGUF", 4) != 0)
        why = "not a GGUF file: it does not begin with \"GGUF\"";
    close(fd);
    return why ? fail(err, cap, path, why) : true;
}

char *model_resolve(const char *text)
{
    char *path = path_expand(text);
    if (!*path || strchr(path, '/') || access(path, F_OK) == 0)
        return path;
    static const char *const endings[] = {"", ".gguf"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        struct buffer name = BUFFER_INIT;
        buffer_printf(&name, "models/%s%s", path, endings[i]);
        char *in_directory = path_data(name.s);
        buffer_free(&name);
        if (access(in_directory, F_OK) == 0) {
            free(path);
            return in_directory;
        }
        free(in_directory);
    }
    return path;
}

char *model_choose(const struct settings *settings, char *err, size_t cap)
{
    for (int layer = N_LAYERS - 1; layer >= 0; layer--) {
        if (!settings_has(settings, layer, SET_MODEL))
            continue;
        char *path = model_resolve(settings->value[layer][SET_MODEL].text);
        if (model_check(path, err, cap))
            return path;
        free(path);
        if (layer != LAYER_STORE)
            return NULL;
    }
    struct dirent **names;
    size_t n = scan(&names);
    char *dir = path_data("models/");
    char *best = NULL;
    if (n) {
        struct buffer path = BUFFER_INIT;
        buffer_printf(&path, "%s%s", dir, names[0]->d_name);
        best = buffer_take(&path);
    } else {
        snprintf(
            err, cap,
            "there is no model yet: put a GGUF file into %s, name one with -m FILE, or let `make model` fetch the "
            "default one",
            dir);
    }
    scan_free(names, n);
    free(dir);
    return best;
}

char *model_names(void)
{
    struct dirent **names;
    size_t n = scan(&names);
    struct buffer list = BUFFER_INIT;
    for (size_t i = 0; i < n; i++)
        buffer_printf(&list, "%s%s", i ? ", " : "", names[i]->d_name);
    scan_free(names, n);
    return buffer_take(&list);
}

static void add_name(char ***names, size_t *n, const char *name, const char *end)
{
    struct buffer whole = BUFFER_INIT;
    buffer_printf(&whole, "%s%s", name, end);
    *names = mem_resize(*names, *n + 1, sizeof **names);
    (*names)[(*n)++] = buffer_take(&whole);
}

static size_t paths_like(const char *typed, char ***out)
{
    size_t n = 0;
    char *path = path_expand(typed);
    const char *last = strrchr(path, '/') + 1;
    struct buffer dir = BUFFER_INIT;
    buffer_add(&dir, path, (size_t)(last - path));
    struct dirent **found;
    int count = scandir(dir.s, &found, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = found[i]->d_name, *end = strrchr(name, '.');
        struct buffer whole = BUFFER_INIT;
        buffer_printf(&whole, "%s%s", dir.s, name);
        struct stat st;
        bool begins = strncmp(name, last, strlen(last)) == 0 && (*name != '.' || *last == '.');
        if (begins && stat(whole.s, &st) == 0 && (S_ISDIR(st.st_mode) || (end && strcmp(end, ".gguf") == 0)))
            add_name(out, &n, whole.s, S_ISDIR(st.st_mode) ? "/" : "");
        buffer_free(&whole);
        free(found[i]);
    }
    if (count >= 0)
        free(found);
    buffer_free(&dir);
    free(path);
    return n;
}

size_t models_like(const char *typed, char ***out)
{
    *out = NULL;
    if (strchr(typed, '/'))
        return paths_like(typed, out);
    struct dirent **names;
    size_t n = 0, count = scan(&names);
    for (size_t i = 0; i < count; i++)
        if (strncmp(names[i]->d_name, typed, strlen(typed)) == 0)
            add_name(out, &n, names[i]->d_name, "");
    scan_free(names, count);
    return n;
}

void models_free(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

/* The part of a file's name that names the model. */
static size_t stem_length(const char *base, const char *quantization)
{
    int n = (int)strlen(base), q = (int)strlen(quantization), parts = 0, end = 0;
    if (n > 5 && strcmp(base + n - 5, ".gguf") == 0)
        n -= 5;
    if (n > 15 && sscanf(base + n - 15, "-%*5d-of-%5d%n", &parts, &end) == 1 && end == 15)
        n -= 15;
    if (n > q + 1 && strncasecmp(base + n - q, quantization, (size_t)q) == 0 && strchr(".-_", base[n - q - 1]))
        n -= q + 1;
    return (size_t)n;
}

void model_display_name(const char *path, const char *quantization, char *out, size_t cap)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const uint8_t *s = (const uint8_t *)base, *end = s + stem_length(base, quantization);
    struct buffer name = BUFFER_INIT;
    size_t used = strlen(quantization) + 2; /* the blank and the NUL */
    while (s < end) {
        ucs4_t c;
        uint8_t encoded[6];
        s += u8_mbtouc(&c, s, (size_t)(end - s)); /* U+FFFD for what is no UTF-8 */
        int n = u8_uctomb(encoded, c, sizeof encoded);
        if (name.len + (size_t)n + used > cap)
            break;
        buffer_add(&name, (const char *)encoded, (size_t)n);
    }
    snprintf(out, cap, "%s %s", name.s, quantization);
    buffer_free(&name);
}
