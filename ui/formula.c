/* formula.c - see formula.h */
#include "formula.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define COVER 'x'
#define ENVIRONMENT_MAX 8192 /* bytes to look for \end{x} in */

enum kind { DOLLAR, DOLLARS, PARENTHESIS, BRACKET, ENVIRONMENT, N_KINDS };

struct scanner {
    char *s;
    size_t n;
    size_t none_before[N_KINDS]; /* no end of this kind exists before this offset: keeps the scan linear */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t';
}

static bool starts(const struct scanner *f, size_t at, const char *text)
{
    size_t n = strlen(text);
    return f->n - at >= n && !memcmp(f->s + at, text, n);
}

/* An empty line, code and a code fence end what could be a formula. */
static bool stops(const struct scanner *f, size_t at)
{
    size_t next = at + 1;
    if (f->s[at] == '`' || starts(f, at, "~~~"))
        return true;
    while (f->s[at] == '\n' && next < f->n && (f->s[next] == ' ' || f->s[next] == '\t' || f->s[next] == '>'))
        next++;
    return f->s[at] == '\n' && next < f->n && f->s[next] == '\n';
}

static bool in_quote(const struct scanner *f, size_t at)
{
    size_t line = at;
    while (line && f->s[line - 1] != '\n')
        line--;
    while (line < at && f->s[line] == ' ')
        line++;
    return f->s[line] == '>';
}

/* Covers [from, to). Quote marks that begin a line of a formula within a quote belong to the quote. */
static void cover(struct scanner *f, size_t from, size_t to)
{
    bool quote_marks = false; /* i is among those */
    int quoted = -1;          /* -1: not known yet */
    for (size_t i = from; i < to; i++) {
        char c = f->s[i];
        if (c == '\n' && quoted < 0)
            quoted = in_quote(f, from);
        quote_marks = c == '\n' ? quoted > 0 : quote_marks && (c == '>' || c == ' ');
        if (!quote_marks && ispunct((unsigned char)c))
            f->s[i] = COVER;
    }
}

/* Distinguishes a formula without an end yet from prose. */
static bool looks_like_formula(const struct scanner *f, size_t from)
{
    for (size_t i = from; i < f->n; i++)
        if (strchr("\\_^{", f->s[i]))
            return true;
    return false;
}

static bool closes_dollar(const struct scanner *f, size_t at)
{
    return !is_space(f->s[at - 1]) && (at + 1 == f->n || !isalnum((unsigned char)f->s[at + 1]));
}

/* Covers the formula whose opening mark takes [at, from) and that ends in `end`. Returns the offset behind it, or
 * behind the opening mark where it is no formula. */
static size_t cover_until(struct scanner *f, enum kind kind, size_t at, size_t from, const char *end)
{
    size_t i = from, end_n = strlen(end), limit = f->n;
    bool other_end = false; /* of another environment */
    if (kind == ENVIRONMENT && limit - from > ENVIRONMENT_MAX)
        limit = from + ENVIRONMENT_MAX;
    if (from < f->none_before[kind])
        return from;
    for (; i < limit && !stops(f, i); i++) {
        if (starts(f, i, end)) {
            if (i == from || (kind == DOLLAR && !closes_dollar(f, i)))
                break;
            cover(f, at, i + end_n);
            return i + end_n;
        }
        if (kind == DOLLAR && f->s[i] == '\n')
            break;
        other_end |= kind == ENVIRONMENT && starts(f, i, "\\end{");
        if (f->s[i] == '\\' && i + 1 < limit)
            i++;
    }
    if (i >= f->n) { /* still being written */
        bool is_formula = looks_like_formula(f, from);
        cover(f, at, is_formula ? f->n : kind == DOLLAR ? at : from);
        return is_formula ? f->n : from;
    }
    if (kind != DOLLAR && !other_end)
        f->none_before[kind] = i;
    return from;
}

static size_t cover_environment(struct scanner *f, size_t at)
{
    char end[48];
    size_t name = at + strlen("\\begin{"), n = 0;
    while (name + n < f->n && (isalpha((unsigned char)f->s[name + n]) || f->s[name + n] == '*'))
        n++;
    if (!n || n > 24 || name + n >= f->n || f->s[name + n] != '}')
        return at + 1;
    memcpy(end, "\\end{", 5);
    memcpy(end + 5, f->s + name, n);
    memcpy(end + 5 + n, "}", 2);
    return cover_until(f, ENVIRONMENT, at, name + n + 1, end);
}

/* \[ or \] alone on a line delimits a formula, whatever follows it. */
static bool alone_in_line(const struct scanner *f, size_t at)
{
    size_t before = at, after = at + 2;
    while (before && (f->s[before - 1] == ' ' || f->s[before - 1] == '\t'))
        before--;
    while (after < f->n && (f->s[after] == ' ' || f->s[after] == '\t'))
        after++;
    return (!before || f->s[before - 1] == '\n') && (after == f->n || f->s[after] == '\n');
}

static size_t cover_backslash(struct scanner *f, size_t at)
{
    size_t next;
    if (starts(f, at, "\\begin{"))
        return cover_environment(f, at);
    if (starts(f, at, "\\("))
        return cover_until(f, PARENTHESIS, at, at + 2, "\\)");
    if (!starts(f, at, "\\[") && !starts(f, at, "\\]"))
        return at + 2;
    next = f->s[at + 1] == '[' ? cover_until(f, BRACKET, at, at + 2, "\\]") : at + 2;
    if (next == at + 2 && f->s[at] == '\\' && alone_in_line(f, at))
        cover(f, at, next);
    return next;
}

static size_t cover_dollar(struct scanner *f, size_t at)
{
    bool in_word = at && isalnum((unsigned char)f->s[at - 1]);
    if (starts(f, at, "$$"))
        return cover_until(f, DOLLARS, at, at + 2, "$$");
    if (in_word || at + 1 == f->n || is_space(f->s[at + 1]))
        return at + 1;
    return cover_until(f, DOLLAR, at, at + 1, "$");
}

void formula_hide(char *s, size_t n)
{
    struct scanner f = {.s = s, .n = n};
    for (size_t at = 0; at < n;) {
        if (s[at] == '\\')
            at = cover_backslash(&f, at);
        else if (s[at] == '$')
            at = cover_dollar(&f, at);
        else
            at++;
    }
}
