/* summary.c - asking for a summary, carrying it in the prompt, and distrusting it. See summary.h; summary_extract.c
 * has what takes its place. */
#include "summary.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "summary_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char request_english[] = "Summarize our conversation so far in a few short sentences. Keep every name, "
                                      "number, date and decision exactly as it "
                                      "was said, and add nothing that was not said.";
static const char request_chinese[] =
    "请用几句简短的话总结我们到目前为止的对话。人名、数字、日期和决定都要原样保留，不要添加没有说过的内容。";

/* Words that begin with a capital letter in a summary whatever its source says. */
static const char *const ordinary[] = {"i",       "user", "assistant", "ai",  "chatbot", "conversation",
                                       "summary", "ok",   "mr",        "mrs", "ms",      "dr"};

/* A Chinese numeral before one of these is a quantity or a date. Before other characters it is often part of a
 * word. */
static const char *const units[] = {"年", "月", "日",   "号",   "点",   "岁",  "元",
                                    "块", "万", "公里", "分钟", "小时", "个月"};

#define N_OF(table) (sizeof(table) / sizeof *(table))

/* ---- the words of the source ---- */

struct word_set {
    uint64_t *hashes;
    size_t n, cap;
};

static void set_add(struct word_set *set, uint64_t hash)
{
    if (set->n == set->cap) {
        set->cap = set->cap ? set->cap * 2 : 256;
        set->hashes = mem_resize(set->hashes, set->cap, sizeof *set->hashes);
    }
    set->hashes[set->n++] = hash;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static bool set_has(const struct word_set *set, uint64_t hash)
{
    return set->n && bsearch(&hash, set->hashes, set->n, sizeof hash, by_value);
}

/* "twenty five" and "twenty-five" are 25 besides 20 and 5; "three hundred" is 300. */
static void add_number_word(struct word_set *set, int value, int *before)
{
    set_add(set, number_hash(value));
    int together = -1;
    if (*before >= 20 && *before < 100 && *before % 10 == 0 && value > 0 && value < 10)
        together = *before + value;
    else if (*before > 0 && *before < 1000 && (value == 100 || value == 1000))
        together = *before * value;
    if (together > 0)
        set_add(set, number_hash(together));
    *before = together > 0 ? together : value;
}

static void set_add_text(struct word_set *set, struct span text)
{
    struct words words = words_of(text);
    struct word word;
    int before = -1; /* value of the number word just before */
    while (next_word(&words, &word)) {
        set_add(set, word.hash);
        int value = word.kind == WORD_LETTERS ? word_value(&word) : -1;
        if (value >= 0)
            add_number_word(set, value, &before);
        else
            before = -1;
        if (word_month(&word))
            set_add(set, number_hash(word_month(&word)));
        size_t len;
        if (word.kind != WORD_HAN)
            continue;
        value = chinese_number((struct span){word.s, (size_t)(text.s + text.len - word.s)}, &len);
        if (value >= 0)
            set_add(set, number_hash(value));
    }
}

static struct word_set source_words(const char *earlier, const struct summary_turn *turns, size_t n)
{
    struct word_set set = {0};
    set_add_text(&set, span_of(earlier));
    for (size_t i = 0; i < n; i++)
        set_add_text(&set, (struct span){turns[i].text, turns[i].len});
    if (set.n)
        qsort(set.hashes, set.n, sizeof *set.hashes, by_value);
    return set;
}

/* ---- invention ---- */

static bool is_ordinary(const struct word *word)
{
    for (size_t i = 0; i < N_OF(ordinary); i++)
        if (strlen(ordinary[i]) == word->len && same_letters(ordinary[i], word->s, word->len))
            return true;
    return word->len >= 2 && word->s[0] == 'I' && (word->s[1] == '\'' || (unsigned char)word->s[1] == 0xe2); /* I'm */
}

/* "Danas" where the source says "Dana". */
static bool has_singular(const struct word_set *source, const struct word *word)
{
    if (word->len < 3 || word->s[word->len - 1] != 's')
        return false;
    struct words words = words_of((struct span){word->s, word->len - 1});
    struct word singular;
    return next_word(&words, &singular) && set_has(source, singular.hash);
}

/* The bytes of a Chinese quantity at the front of text if the source lacks it, else 0. */
static size_t invented_quantity(struct span text, const struct word_set *source)
{
    size_t len;
    int value = chinese_number(text, &len);
    for (size_t i = 0; value > 1 && i < N_OF(units); i++) {
        size_t n = strlen(units[i]);
        if (text.len >= len + n && !memcmp(text.s + len, units[i], n))
            return set_has(source, number_hash(value)) ? 0 : len + n;
    }
    return 0;
}

/* The list number in front of a line is none of the text's numbers. */
static bool numbers_a_list(struct span text, const struct word *word)
{
    const char *after = word->s + word->len;
    return word->len <= 2 && after < text.s + text.len && (*after == '.' || *after == ')') &&
           (word->s == text.s || word->s[-1] == '\n');
}

/* What a word of the summary says that its source does not: "number", "name", or NULL. */
static const char *invention(struct span text, const struct word *word, const struct word_set *source)
{
    bool known = set_has(source, word->hash);
    if (word->kind == WORD_NUMBER)
        return known || numbers_a_list(text, word) ? NULL : "number";
    if (known || word->kind == WORD_HAN)
        return NULL;
    if (word->capitalised && word_month(word))
        return set_has(source, number_hash(word_month(word))) ? NULL : "date";
    if (word_value(word) > 10) /* small ones are used as pronouns and adjectives */
        return set_has(source, number_hash(word_value(word))) ? NULL : "number";
    bool name = word->capitalised && !word->first && word->len > 1 && !is_ordinary(word);
    return name && !has_singular(source, word) ? "name" : NULL;
}

/* False and a reason where something is made up, or nothing is said of the source at all. */
static bool check_source(struct span text, const struct word_set *source, char *reason, size_t cap)
{
    struct words words = words_of(text);
    struct word word;
    size_t n = 0, shared = 0;
    const char *numeral_end = text.s; /* the characters of a numeral are looked at once, from its start */
    while (next_word(&words, &word)) {
        struct span at = {word.s, word.len};
        const char *what = invention(text, &word, source);
        if (word.kind == WORD_HAN && word.s >= numeral_end) {
            struct span rest = {word.s, (size_t)(text.s + text.len - word.s)};
            size_t len, invented = invented_quantity(rest, source);
            chinese_number(rest, &len);
            numeral_end = word.s + len;
            if (invented) {
                what = "number";
                at.len = invented;
            }
        }
        if (what) {
            snprintf(reason, cap, "the %s %.*s is not in the source", what, (int)(at.len > 60 ? 60 : at.len), at.s);
            return false;
        }
        bool weighs = word.kind == WORD_HAN || word.len > 3;
        n += weighs;
        shared += weighs && set_has(source, word.hash);
    }
    if (n < 6 || shared * 4 >= n) /* too few words are no evidence */
        return true;
    snprintf(reason, cap, "it says nothing of the source");
    return false;
}

/* ---- repetition ---- */

/* Whether the words before `end` are one phrase over and over: four times a single word, three times a longer one. */
static bool ends_in_a_loop(const uint64_t *words, size_t end)
{
    for (size_t period = 1; period <= end / 3; period++) {
        size_t repeated = period == 1 ? 3 : 2 * period, i = 0;
        while (i < repeated && i + period < end && words[end - 1 - i] == words[end - 1 - i - period])
            i++;
        if (i == repeated)
            return true;
    }
    return false;
}

static struct word_set three_word_sequences(const struct word_set *words)
{
    struct word_set grams = {0};
    for (size_t i = 0; i + 2 < words->n; i++)
        set_add(&grams, (words->hashes[i] * 31 + words->hashes[i + 1]) * 31 + words->hashes[i + 2]);
    return grams;
}

static struct word_set words_in_order(struct span text)
{
    struct word_set list = {0};
    struct words words = words_of(text);
    struct word word;
    while (next_word(&words, &word))
        set_add(&list, word.hash);
    return list;
}

/* Whether more than three in ten of the three-word sequences have been there before. Prose of this length stays under
 * one. */
static bool is_repetitive(const struct word_set *words)
{
    struct word_set grams = three_word_sequences(words);
    size_t distinct = grams.n > 0;
    if (grams.n)
        qsort(grams.hashes, grams.n, sizeof *grams.hashes, by_value);
    for (size_t i = 1; i < grams.n; i++)
        distinct += grams.hashes[i] != grams.hashes[i - 1];
    bool repetitive = grams.n >= 10 && distinct * 10 < grams.n * 7;
    free(grams.hashes);
    return repetitive;
}

/* Whether four in five of its three-word sequences stand in one answer: a model that goes on talking instead of
 * summing up. */
static bool copies_an_answer(const struct word_set *words, const struct summary_turn *turns, size_t n)
{
    struct word_set grams = three_word_sequences(words);
    bool copies = false;
    for (size_t i = 0; i < n && !copies && grams.n >= 8; i++) {
        if (!turns[i].answer)
            continue;
        struct word_set turn = words_in_order((struct span){turns[i].text, turns[i].len});
        struct word_set there = three_word_sequences(&turn);
        size_t shared = 0;
        if (there.n)
            qsort(there.hashes, there.n, sizeof *there.hashes, by_value);
        for (size_t g = 0; g < grams.n; g++)
            shared += set_has(&there, grams.hashes[g]);
        copies = shared * 5 >= grams.n * 4;
        free(turn.hashes);
        free(there.hashes);
    }
    free(grams.hashes);
    return copies;
}

static bool repeats(const struct word_set *list)
{
    for (size_t end = 4; end <= list->n; end++)
        if (ends_in_a_loop(list->hashes, end))
            return true;
    return is_repetitive(list);
}

/* ---- public ---- */

const char *summary_request(const struct summary_turn *turns, size_t n)
{
    size_t chinese = 0;
    for (size_t i = 0; i < n; i++)
        chinese += span_is_chinese((struct span){turns[i].text, turns[i].len});
    return chinese * 2 > n ? request_chinese : request_english;
}

bool summary_check(const char *summary, const char *earlier, const struct summary_turn *turns, size_t n, char *reason,
                   size_t cap)
{
    struct span text = span_trim(span_of(summary));
    struct word_set list = words_in_order(text);
    bool good = false;
    if (!list.n) {
        snprintf(reason, cap, "it is empty");
    } else if (repeats(&list)) {
        snprintf(reason, cap, "it repeats itself");
    } else if (copies_an_answer(&list, turns, n)) {
        snprintf(reason, cap, "it copies an answer");
    } else {
        struct word_set source = source_words(earlier, turns, n);
        good = check_source(text, &source, reason, cap);
        free(source.hashes);
    }
    free(list.hashes);
    return good;
}

bool summary_loops(const char *text, size_t len)
{
    struct word_set list = words_in_order((struct span){text, len});
    bool loops = ends_in_a_loop(list.hashes, list.n);
    free(list.hashes);
    return loops;
}

char *summary_wrap(const char *summary)
{
    struct span text = span_trim(span_of(summary));
    struct buffer out = BUFFER_INIT;
    buffer_puts(&out,
                span_is_chinese(text) ? "（此前对话的要点：\n" : "(What was said earlier in this conversation:\n");
    buffer_add(&out, text.s, text.len);
    buffer_puts(&out, span_is_chinese(text) ? "\n）" : "\n)");
    return buffer_take(&out);
}
