/* resume.c - see resume.h. */
#include "resume.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "conversation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <uninorm.h>

#define CANDIDATES 5 /* named in a sentence */

/* ---- numbers ---- */

/* Orders IDs by their digits from the last to the first. */
static int by_last_digits(const void *a, const void *b)
{
    store_id x = *(const store_id *)a, y = *(const store_id *)b;
    while (x && y && x % 10 == y % 10) {
        x /= 10;
        y /= 10;
    }
    return x && y ? (int)(x % 10 - y % 10) : (x > 0) - (y > 0);
}

static int common_digits(store_id x, store_id y)
{
    int n = 0;
    for (; x && y && x % 10 == y % 10; n++) {
        x /= 10;
        y /= 10;
    }
    return n;
}

/* The digits that tell sorted[i] from all others: its neighbours share the most with it. */
static int digits_needed(const store_id *sorted, size_t n, size_t i)
{
    int before = i ? common_digits(sorted[i], sorted[i - 1]) : 0;
    int after = i + 1 < n ? common_digits(sorted[i], sorted[i + 1]) : 0;
    int needed = 1 + (before > after ? before : after);
    return needed > RESUME_DIGITS ? needed : RESUME_DIGITS;
}

void resume_numbers(const struct store_conversation *list, size_t n, char (*numbers)[RESUME_NUMBER_MAX])
{
    store_id *sorted = mem_new(n + 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = list[i].id;
    qsort(sorted, n, sizeof *sorted, by_last_digits);
    for (size_t i = 0; i < n; i++) {
        const store_id *at = bsearch(&list[i].id, sorted, n, sizeof *sorted, by_last_digits);
        char whole[RESUME_NUMBER_MAX];
        int length = snprintf(whole, sizeof whole, "%" PRId64, list[i].id);
        int needed = digits_needed(sorted, n, (size_t)(at - sorted));
        snprintf(numbers[i], RESUME_NUMBER_MAX, "%s", whole + (length > needed ? length - needed : 0));
    }
    free(sorted);
}

/* ---- matching ---- */

/* What is compared of a text: its first line, white space squeezed, case folded, NFC. malloc'd. */
static char *fold(const char *text)
{
    struct buffer line = BUFFER_INIT;
    size_t size = 0;
    for (const char *word = text; *(word += strspn(word, " \t\r\n"));) {
        size_t n = strcspn(word, " \t\r\n");
        if (line.len)
            buffer_puts(&line, " ");
        buffer_add(&line, word, n);
        word += n;
    }
    buffer_add(&line, "", 1); /* the NUL is folded too */
    uint8_t *folded = u8_casefold((const uint8_t *)line.s, line.len, NULL, UNINORM_NFC, NULL, &size);
    buffer_free(&line);
    return folded ? (char *)folded : mem_string("");
}

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

/* How a text may name a conversation, the best first. */
enum match { MATCH_ID, MATCH_NUMBER, MATCH_TITLE, MATCH_PART, N_MATCHES };

struct wanted {
    const char *text;
    char *folded; /* without the "…" that --list cuts a title with */
};

static bool matches(const struct wanted *w, enum match how, const struct store_conversation *c)
{
    char id[RESUME_NUMBER_MAX];
    size_t n = strlen(w->text), length = (size_t)snprintf(id, sizeof id, "%" PRId64, c->id);
    switch (how) {
    case MATCH_ID: return is_number(w->text) && strcmp(id, w->text) == 0;
    case MATCH_NUMBER:
        return is_number(w->text) && n >= RESUME_DIGITS && n <= length && strcmp(id + length - n, w->text) == 0;
    case MATCH_TITLE:
    case MATCH_PART:
    case N_MATCHES: break;
    }
    char *title = fold(c->title);
    bool found =
        *w->folded && (how == MATCH_TITLE ? strcmp(title, w->folded) == 0 : strstr(title, w->folded) != NULL);
    free(title);
    return found;
}

static void name_candidates(const struct wanted *w, enum match how, const struct store_conversation *list, size_t n,
                            size_t found, char *err, size_t cap)
{
    char(*numbers)[RESUME_NUMBER_MAX] = mem_new(n, sizeof *numbers);
    struct buffer text = BUFFER_INIT;
    size_t named = 0;
    resume_numbers(list, n, numbers);
    buffer_printf(&text, "'%.60s' could be %zu conversations: ", w->text, found);
    for (size_t i = 0; i < n && named < CANDIDATES; i++)
        if (matches(w, how, &list[i])) {
            char *title = conversation_title_of(list[i].title);
            buffer_printf(&text, "%s%s %s", named++ ? "; " : "", numbers[i], title);
            free(title);
        }
    if (found > named)
        buffer_printf(&text, "; and %zu more", found - named);
    snprintf(err, cap, "%s", text.s);
    buffer_free(&text);
    free(numbers);
}

store_id resume_choose(const char *text, const struct store_conversation *list, size_t n, char *err, size_t cap)
{
    static const char ellipsis[] = "…";
    struct wanted w = {text, fold(text)};
    size_t length = strlen(w.folded), cut = sizeof ellipsis - 1;
    if (length > cut && strcmp(w.folded + length - cut, ellipsis) == 0)
        w.folded[length - cut] = '\0';
    store_id id = 0;
    size_t found = 0;
    for (int how = 0; how < N_MATCHES && !found; how++) {
        for (size_t i = 0; i < n; i++)
            if (matches(&w, how, &list[i])) {
                found++;
                id = list[i].id;
            }
        if (found > 1)
            name_candidates(&w, how, list, n, found, err, cap);
    }
    if (!found)
        snprintf(err, cap, "there is no conversation %s%.60s%s", is_number(text) ? "" : "'", text,
                 is_number(text) ? "" : "' (chinwag --list prints them)");
    free(w.folded);
    return found == 1 ? id : 0;
}
