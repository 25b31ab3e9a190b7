/* repetition.c - see repetition.h.
 *
 * The limits were set on two corpora (tests/golden/repetition): loops that small models wrote, and texts that repeat
 * for a reason. */
#include "repetition.h"

#include "base/mem.h"
#include "summary_text.h"

#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <unistr.h>

enum {
    TAIL = 8192,      /* characters at the end of the text that are looked at */
    WORDS = 400,      /* words the phrase check looks at */
    FEW_WORDS = 6,    /* of a unit, of which the question must name one only */
    GRAM = 4,         /* words of a phrase */
    VOCABULARY = 8,   /* distinct words, numbers aside, below which that check says nothing: "heads, tails, heads" */
    PHRASES = 10,     /* at least one in so many phrases is distinct in a text that is no loop */
    LINES = 48,       /* lines the line check looks at */
    FEW_LINES = 6,    /* distinct ones among these in a loop */
    LINE_LETTERS = 8, /* letters of a line that counts */
    LINE_BYTES = 1000 /* of all these lines together */
};

/* A loop of units: how often the unit is repeated at least, and the weight of all repetitions together. A Latin
 * character weighs 1, one of a wide script 2. */
struct limit {
    int repeats, weight;
};

enum place { PROSE, CODE, N_PLACES };

static const struct limit words_often[N_PLACES] = {{12, 400}, {48, 3000}};
static const struct limit words_long[N_PLACES] = {{6, 600}, {10, 2500}};
static const struct limit symbols[N_PLACES] = {{8, 600}, {8, 3000}};       /* no word in the unit */
static const struct limit symbol_rows[N_PLACES] = {{40, 600}, {64, 3000}}; /* ... but the end of a line */
static const struct limit numbered[N_PLACES] = {{16, 400}, {40, 1500}};

struct unit { /* what is repeated */
    const ucs4_t *s;
    size_t n;
    int repeats;
};

struct tail { /* the end of the text as characters */
    ucs4_t *s;
    size_t n;
    enum place place;
};

/* ---- characters ---- */

static bool is_letter(ucs4_t c)
{
    return uc_is_general_category_withtable(c, UC_CATEGORY_MASK_L);
}

static int weight_of(ucs4_t c)
{
    return c >= 0x1100 ? 2 : 1;
}

static bool is_reached(const struct limit *limit, int repeats, int weight)
{
    return repeats >= limit->repeats && weight >= limit->weight;
}

/* Whether the end of the text is inside a code fence that is still open. */
static enum place place_of(const char *text, size_t len)
{
    enum place place = PROSE;
    for (const char *line = text, *end = text + len; line < end;) {
        const char *at = line, *newline = memchr(line, '\n', (size_t)(end - line));
        while (at < end && *at == ' ')
            at++;
        if (end - at >= 3 && (!memcmp(at, "```", 3) || !memcmp(at, "~~~", 3)))
            place = place == PROSE ? CODE : PROSE;
        line = newline ? newline + 1 : end;
    }
    return place;
}

static struct tail tail_of(const char *text, size_t len)
{
    size_t from = len > TAIL * 4 ? len - TAIL * 4 : 0;
    while (from < len && ((unsigned char)text[from] & 0xc0) == 0x80)
        from++;
    struct tail tail = {.s = mem_new(len - from + 1, sizeof *tail.s), .place = place_of(text, len)};
    for (size_t at = from; at < len;) {
        int n = u8_mbtouc(&tail.s[tail.n++], (const uint8_t *)text + at, len - at);
        at += (size_t)n;
    }
    if (tail.n > TAIL) {
        memmove(tail.s, tail.s + tail.n - TAIL, TAIL * sizeof *tail.s);
        tail.n = TAIL;
    }
    return tail;
}

/* ---- what the question asks for ---- */

/* The largest number a question names, 0 where it names none. */
static int largest_number(const char *question)
{
    struct words words = words_of(slice_of(question));
    struct word word;
    int largest = 0;
    while (next_word(&words, &word)) {
        size_t len;
        int value = word_value(&word);
        if (word.kind == WORD_HAN)
            value = chinese_number(slice_of(word.s), &len);
        largest = value > largest ? value : largest;
    }
    return largest;
}

static bool names_word(const char *question, uint64_t hash)
{
    struct words words = words_of(slice_of(question));
    struct word word;
    while (next_word(&words, &word))
        if (word.hash == hash)
            return true;
    return false;
}

/* Whether the question asks for so many repetitions: it names a number that is as large, and half of the unit's words,
 * or any of a few. */
static bool is_asked_for(const char *question, const struct unit *unit)
{
    if (!question || largest_number(question) < unit->repeats)
        return false;
    size_t n = 0;
    uint8_t *text = u32_to_u8(unit->s, unit->n, NULL, &n);
    if (!text)
        return false;
    struct words words = words_of((struct slice){(const char *)text, n});
    struct word word;
    size_t total = 0, named = 0;
    while (next_word(&words, &word)) {
        if (word.kind == WORD_NUMBER)
            continue;
        total++;
        named += (word.kind == WORD_HAN || word.len >= 2) && names_word(question, word.hash);
    }
    free(text);
    return !total || named * 2 >= total || (named && total <= FEW_WORDS);
}

/* ---- exact repetition ---- */

static bool is_loop(const struct tail *tail, const struct unit *unit)
{
    bool word = false, newline = false; /* word: two letters on end, or one of a wide script; "0x00" has none */
    int weight = 0;
    for (size_t i = 0; i < unit->n; i++) {
        ucs4_t next = unit->s[(i + 1) % unit->n];
        word |= is_letter(unit->s[i]) && (weight_of(unit->s[i]) > 1 || is_letter(next));
        newline |= unit->s[i] == '\n';
        weight += weight_of(unit->s[i]);
    }
    weight *= unit->repeats;
    if (word)
        return is_reached(&words_often[tail->place], unit->repeats, weight) ||
               is_reached(&words_long[tail->place], unit->repeats, weight);
    return is_reached(newline ? &symbol_rows[tail->place] : &symbols[tail->place], unit->repeats, weight);
}

/* Finds a unit whose repetitions at the end of the text reach a limit, and counts them all. Uses the failure function
 * of Knuth, Morris and Pratt on the reversed text: its beginning of length n has the period n - border[n]. */
static bool ends_in_a_loop(const struct tail *tail, struct unit *unit)
{
    size_t *border = mem_new(tail->n + 1, sizeof *border), k = 0;
    const ucs4_t *last = tail->s + tail->n - 1;
    bool loop = false;
    for (size_t n = 2; n <= tail->n && !loop; n++) {
        while (k && last[-(ptrdiff_t)(n - 1)] != last[-(ptrdiff_t)k])
            k = border[k];
        k += last[-(ptrdiff_t)(n - 1)] == last[-(ptrdiff_t)k];
        border[n] = k;
        size_t period = n - k;
        if (n / period < 6 || n % period)
            continue;
        *unit = (struct unit){tail->s + tail->n - period, period, (int)(n / period)};
        loop = is_loop(tail, unit);
    }
    free(border);
    if (!loop)
        return false;
    size_t n = unit->n * (size_t)unit->repeats;
    while (n < tail->n && last[-(ptrdiff_t)n] == last[-(ptrdiff_t)(n - unit->n)])
        n++;
    unit->repeats = (int)(n / unit->n);
    return true;
}

/* ---- lines ---- */

struct line {
    const ucs4_t *s;
    size_t n;
    int letters, weight;
};

/* Takes the last line that is not blank off the text's n characters. False at its beginning. */
static bool previous_line(const ucs4_t *s, size_t *n, struct line *line)
{
    do {
        size_t end = *n, start = end;
        while (start && s[start - 1] != '\n')
            start--;
        *n = start ? start - 1 : 0;
        *line = (struct line){.s = s + start, .n = end - start};
        for (size_t i = start; i < end; i++) {
            line->letters += is_letter(s[i]) ? weight_of(s[i]) : 0;
            line->weight += weight_of(s[i]);
        }
    } while (!line->weight && *n);
    return line->weight > 0;
}

/* Cuts the number that a line begins with off, and the marks around it. False where there is none. */
static bool cut_number(struct line *line)
{
    size_t i = 0;
    while (i < line->n && line->s[i] < 0x80 && strchr(" \t|>*#-(", (int)line->s[i]))
        i++;
    size_t digits = i;
    while (i < line->n && line->s[i] >= '0' && line->s[i] <= '9')
        i++;
    if (i == digits)
        return false;
    line->s += i;
    line->n -= i;
    return true;
}

static bool same_line(const struct line *a, const struct line *b)
{
    return a->n == b->n && !memcmp(a->s, b->s, a->n * sizeof *a->s);
}

/* The text without its last line, which is still being written. */
static size_t whole_lines(const struct tail *tail)
{
    size_t n = tail->n;
    while (n && tail->s[n - 1] != '\n')
        n--;
    return n;
}

static bool ends_in_numbered_lines(const struct tail *tail, struct unit *unit)
{
    size_t n = whole_lines(tail);
    struct line last, line;
    int repeats = 1;
    if (!previous_line(tail->s, &n, &last) || !cut_number(&last) || last.letters < LINE_LETTERS)
        return false;
    while (previous_line(tail->s, &n, &line) && cut_number(&line) && same_line(&line, &last))
        repeats++;
    *unit = (struct unit){last.s, last.n, repeats};
    return is_reached(&numbered[tail->place], repeats, repeats * last.weight);
}

static bool ends_in_few_lines(const struct tail *tail)
{
    struct line distinct[FEW_LINES], line;
    size_t n = whole_lines(tail), n_distinct = 0;
    int weight = 0;
    for (int i = 0; i < LINES; i++) {
        do
            if (!previous_line(tail->s, &n, &line))
                return false;
        while (line.letters < LINE_LETTERS);
        weight += line.weight;
        size_t d = 0;
        while (d < n_distinct && !same_line(&line, &distinct[d]))
            d++;
        if (d == FEW_LINES)
            return false;
        if (d == n_distinct)
            distinct[n_distinct++] = line;
    }
    return weight >= LINE_BYTES;
}

/* ---- phrases ---- */

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t count_distinct(uint64_t *hashes, size_t n)
{
    size_t distinct = n > 0;
    qsort(hashes, n, sizeof *hashes, by_value);
    for (size_t i = 1; i < n; i++)
        distinct += hashes[i] != hashes[i - 1];
    return distinct;
}

/* The last WORDS words of the text outside tables, as hashes in a ring; false where there are not so many. */
static bool last_words(const char *text, size_t len, uint64_t *hashes, bool *is_number)
{
    size_t from = len > TAIL ? len - TAIL : 0, n = 0;
    struct slice rest = {text + from, len - from};
    while (rest.len) {
        const char *newline = memchr(rest.s, '\n', rest.len);
        struct slice line = {rest.s, newline ? (size_t)(newline - rest.s) + 1 : rest.len};
        rest = (struct slice){rest.s + line.len, rest.len - line.len};
        if (memchr(line.s, '|', line.len))
            continue;
        struct words words = words_of(line);
        for (struct word word; next_word(&words, &word); n++) {
            hashes[n % WORDS] = word.hash;
            is_number[n % WORDS] = word.kind == WORD_NUMBER;
        }
    }
    return n >= WORDS;
}

static bool ends_in_few_phrases(const char *text, size_t len)
{
    uint64_t words[WORDS], phrases[WORDS]; /* the seam of the ring makes three phrases that are none */
    bool is_number[WORDS];
    if (!last_words(text, len, words, is_number))
        return false;
    for (size_t i = 0; i < WORDS; i++) {
        phrases[i] = 0;
        for (size_t k = 0; k < GRAM; k++)
            phrases[i] = phrases[i] * 31 + words[(i + k) % WORDS];
    }
    size_t n = 0;
    for (size_t i = 0; i < WORDS; i++)
        if (!is_number[i])
            words[n++] = words[i];
    return count_distinct(phrases, WORDS) * PHRASES <= WORDS && count_distinct(words, n) >= VOCABULARY;
}

/* ---- public ---- */

bool repetition_found(const char *text, size_t len, const char *question)
{
    struct tail tail = tail_of(text, len);
    struct unit unit;
    bool found = false;
    if (tail.n && (ends_in_a_loop(&tail, &unit) || ends_in_numbered_lines(&tail, &unit)))
        found = !is_asked_for(question, &unit);
    else if (tail.n && tail.place == PROSE)
        found = ends_in_few_lines(&tail) || ends_in_few_phrases(text, len);
    free(tail.s);
    return found;
}
