/* summary.c - asking for a summary, carrying it in the prompt, and distrusting it. See summary.h; summary_extract.c
 * has what takes its place. */
#include "summary.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "summary_text.h"
#include "word_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words that begin with a capital letter in a summary whatever its source says. */
static const char *const ordinary[] = {"i",       "user", "assistant", "ai",  "chatbot", "conversation",
                                       "summary", "ok",   "mr",        "mrs", "ms",      "dr"};

/* A Chinese numeral before one of these is a quantity or a date. Before other characters it is often part of a
 * word. */
static const char *const units[] = {"年", "月", "日",   "号",   "点",   "岁",  "元",
                                    "块", "万", "公里", "分钟", "小时", "个月"};

#define N_OF(table) (sizeof(table) / sizeof *(table))

/* ---- the words of the source ---- */

/* "twenty five" and "twenty-five" are 25 besides 20 and 5; "three hundred" is 300. */
static void add_number_word(struct word_set *set, int value, int *before)
{
    word_set_add(set, number_hash(value));
    int together = -1;
    if (*before >= 20 && *before < 100 && *before % 10 == 0 && value > 0 && value < 10)
        together = *before + value;
    else if (*before > 0 && *before < 1000 && (value == 100 || value == 1000))
        together = *before * value;
    if (together > 0)
        word_set_add(set, number_hash(together));
    *before = together > 0 ? together : value;
}

/* The words of a text, and the numbers its number words and months stand for. */
static void add_source(struct word_set *set, struct slice text)
{
    struct words words = words_of(text);
    struct word word;
    int before = -1; /* value of the number word just before */
    while (next_word(&words, &word)) {
        word_set_add(set, word.hash);
        int value = word.kind == WORD_LETTERS ? word_value(&word) : -1;
        if (value >= 0)
            add_number_word(set, value, &before);
        else
            before = -1;
        if (word_month(&word))
            word_set_add(set, number_hash(word_month(&word)));
        size_t len;
        if (word.kind != WORD_HAN)
            continue;
        value = chinese_number((struct slice){word.s, (size_t)(text.s + text.len - word.s)}, &len);
        if (value >= 0)
            word_set_add(set, number_hash(value));
    }
}

static struct word_set source_words(const char *earlier, const struct summary_turn *turns, size_t n)
{
    struct word_set set = {0};
    add_source(&set, slice_of(earlier));
    for (size_t i = 0; i < n; i++)
        add_source(&set, (struct slice){turns[i].text, turns[i].len});
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
    struct words words = words_of((struct slice){word->s, word->len - 1});
    struct word singular;
    return next_word(&words, &singular) && word_set_has(source, singular.hash);
}

/* The bytes of a Chinese quantity at the front of text if the source lacks it, else 0. */
static size_t invented_quantity(struct slice text, const struct word_set *source)
{
    size_t len;
    int value = chinese_number(text, &len);
    for (size_t i = 0; value > 1 && i < N_OF(units); i++) {
        size_t n = strlen(units[i]);
        if (text.len >= len + n && !memcmp(text.s + len, units[i], n))
            return word_set_has(source, number_hash(value)) ? 0 : len + n;
    }
    return 0;
}

/* The list number in front of a line is none of the text's numbers. */
static bool numbers_a_list(struct slice text, const struct word *word)
{
    const char *after = word->s + word->len;
    return word->len <= 2 && after < text.s + text.len && (*after == '.' || *after == ')') &&
           (word->s == text.s || word->s[-1] == '\n');
}

/* What a word of the summary says that its source does not: "number", "name", or NULL. */
static const char *invention(struct slice text, const struct word *word, const struct word_set *source)
{
    bool known = word_set_has(source, word->hash);
    if (word->kind == WORD_NUMBER)
        return known || numbers_a_list(text, word) ? NULL : "number";
    if (known || word->kind == WORD_HAN)
        return NULL;
    if (word->capitalised && word_month(word))
        return word_set_has(source, number_hash(word_month(word))) ? NULL : "date";
    if (word_value(word) > 10) /* small ones are used as pronouns and adjectives */
        return word_set_has(source, number_hash(word_value(word))) ? NULL : "number";
    bool name = word->capitalised && !word->first && word->len > 1 && !is_ordinary(word);
    return name && !has_singular(source, word) ? "name" : NULL;
}

/* False and a reason where something is made up, or nothing is said of the source at all. */
static bool check_source(struct slice text, const struct word_set *source, char *reason, size_t cap)
{
    struct words words = words_of(text);
    struct word word;
    size_t n = 0, shared = 0;
    const char *numeral_end = text.s; /* the characters of a numeral are looked at once, from its start */
    while (next_word(&words, &word)) {
        struct slice at = {word.s, word.len};
        const char *what = invention(text, &word, source);
        if (word.kind == WORD_HAN && word.s >= numeral_end) {
            struct slice rest = {word.s, (size_t)(text.s + text.len - word.s)};
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
        shared += weighs && word_set_has(source, word.hash);
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

/* The words of a text as hashes, in order. */
struct word_list {
    uint64_t *hashes;
    size_t n, cap;
};

static struct word_list words_in_order(struct slice text)
{
    struct word_list list = {0};
    struct words words = words_of(text);
    struct word word;
    while (next_word(&words, &word)) {
        if (list.n == list.cap) {
            list.cap = list.cap ? list.cap * 2 : 256;
            list.hashes = mem_resize(list.hashes, list.cap, sizeof *list.hashes);
        }
        list.hashes[list.n++] = word.hash;
    }
    return list;
}

/* Three-word sequences: 0 for fewer words. */
static size_t n_grams(const struct word_list *words)
{
    return words->n < 3 ? 0 : words->n - 2;
}

static uint64_t gram(const struct word_list *words, size_t i)
{
    return (words->hashes[i] * 31 + words->hashes[i + 1]) * 31 + words->hashes[i + 2];
}

/* Whether more than three in ten of the three-word sequences have been there before. Prose of this length stays under
 * one. */
static bool is_repetitive(const struct word_list *words)
{
    struct word_set grams = {0};
    size_t n = n_grams(words), distinct = 0;
    for (size_t i = 0; i < n; i++)
        distinct += word_set_add(&grams, gram(words, i));
    word_set_free(&grams);
    return n >= 10 && distinct * 10 < n * 7;
}

/* Whether four in five of its three-word sequences stand in one answer: a model that goes on talking instead of
 * summing up. */
static bool copies_an_answer(const struct word_list *words, const struct summary_turn *turns, size_t n)
{
    size_t grams = n_grams(words);
    bool copies = false;
    for (size_t i = 0; i < n && !copies && grams >= 8; i++) {
        if (!turns[i].answer)
            continue;
        struct word_list turn = words_in_order((struct slice){turns[i].text, turns[i].len});
        struct word_set there = {0};
        for (size_t g = 0; g < n_grams(&turn); g++)
            word_set_add(&there, gram(&turn, g));
        size_t shared = 0;
        for (size_t g = 0; g < grams; g++)
            shared += word_set_has(&there, gram(words, g));
        copies = shared * 5 >= grams * 4;
        free(turn.hashes);
        word_set_free(&there);
    }
    return copies;
}

static bool repeats(const struct word_list *list)
{
    for (size_t end = 4; end <= list->n; end++)
        if (ends_in_a_loop(list->hashes, end))
            return true;
    return is_repetitive(list);
}

/* ---- chatter ---- */

/* How a model begins what it says to the person instead of about the conversation. Lower case. */
static const char *const chatter[] = {
    "i'm glad",
    "i am glad",
    "i'm happy",
    "i am happy",
    "i'm here",
    "i am here",
    "i hope",
    "i'd be happy",
    "i would be",
    "i'd love",
    "i'm sorry",
    "i am sorry",
    "i apologize",
    "let me know",
    "feel free",
    "please let",
    "please feel",
    "please note",
    "is there anything",
    "if you have",
    "if you need",
    "if you'd like",
    "thank you",
    "thanks",
    "you're welcome",
    "you are welcome",
    "sure",
    "certainly",
    "of course",
    "here is",
    "here's",
    "here are",
    "have a good",
    "have a great",
    "have a nice",
    "good luck",
    "looking forward",
    "it was nice",
    "it's been",
    "i look forward",
    "nice to meet",
    "what would you",
    "how can i",
    "would you like",
    "do you have",
    "can you",
    "希望",
    "请告诉我",
    "很高兴",
    "以下是",
    "谢谢",
    "感谢",
    "当然",
    "好的",
    "如果您",
    "如果你",
    "ありがとう",
    "もちろん",
    "以下は",
};

static bool begins_with_chatter(struct slice sentence)
{
    for (size_t i = 0; i < N_OF(chatter); i++) {
        size_t n = strlen(chatter[i]);
        if (sentence.len < n || !same_letters(sentence.s, chatter[i], n))
            continue;
        struct words rest = words_of((struct slice){sentence.s + n, sentence.len - n});
        struct word word;
        bool whole = (unsigned char)chatter[i][0] >= 0x80 || !next_word(&rest, &word) || word.s > sentence.s + n;
        if (whole)
            return true;
    }
    return false;
}

/* Whether a sentence has a telling word, and the source has it as well. */
static bool shares_a_word(struct slice sentence, enum language language, const struct word_set *stems)
{
    struct words words = words_of(sentence);
    struct word word;
    while (next_word(&words, &word))
        if (word_is_telling(&word, language) && word_set_has(stems, word_stem(&word)))
            return true;
    return false;
}

char *summary_drop_chatter(const char *summary, const char *earlier, const struct summary_turn *turns, size_t n)
{
    struct slice text = slice_trim(slice_of(summary)), sentence;
    enum language language = summary_language(turns, n);
    struct word_set stems = {0};
    struct buffer out = BUFFER_INIT;
    word_set_add_stems(&stems, slice_of(earlier));
    for (size_t i = 0; i < n; i++)
        word_set_add_stems(&stems, (struct slice){turns[i].text, turns[i].len});
    const char *kept_end = text.s; /* of the last sentence kept, in the summary */
    while (next_sentence(&text, &sentence)) {
        if (begins_with_chatter(sentence) || !shares_a_word(sentence, language, &stems))
            continue;
        if (out.len)
            buffer_puts(&out, memchr(kept_end, '\n', (size_t)(sentence.s - kept_end)) ? "\n" : " ");
        buffer_add(&out, sentence.s, sentence.len);
        kept_end = sentence.s + sentence.len;
    }
    word_set_free(&stems);
    return buffer_take(&out);
}

/* ---- language ---- */

/* Whether a text is surely in another language than this. */
static bool is_foreign(struct slice text, enum language language)
{
    enum language is = language_of(text);
    return is != language && is != LANGUAGE_UNKNOWN && language != LANGUAGE_UNKNOWN;
}

/* ---- public ---- */

enum language summary_language(const struct summary_turn *turns, size_t n)
{
    int votes[N_LANGUAGES] = {0};
    enum language best = LANGUAGE_UNKNOWN;
    for (size_t i = 0; i < n; i++)
        votes[language_of((struct slice){turns[i].text, turns[i].len})] += turns[i].answer ? 1 : 2;
    votes[LANGUAGE_UNKNOWN] = 0;
    for (int i = 1; i < N_LANGUAGES; i++)
        if (votes[i] > votes[best])
            best = (enum language)i;
    return best;
}

const char *summary_request(const struct summary_turn *turns, size_t n)
{
    return language_texts[summary_language(turns, n)].request;
}

bool summary_check(const char *summary, const char *earlier, const struct summary_turn *turns, size_t n, char *reason,
                   size_t cap)
{
    struct slice text = slice_trim(slice_of(summary));
    struct word_list list = words_in_order(text);
    bool good = false;
    if (!list.n) {
        snprintf(reason, cap, "it is empty");
    } else if (is_foreign(text, summary_language(turns, n))) {
        snprintf(reason, cap, "it is in another language");
    } else if (repeats(&list)) {
        snprintf(reason, cap, "it repeats itself");
    } else if (copies_an_answer(&list, turns, n)) {
        snprintf(reason, cap, "it copies an answer");
    } else {
        struct word_set source = source_words(earlier, turns, n);
        good = check_source(text, &source, reason, cap);
        word_set_free(&source);
    }
    free(list.hashes);
    return good;
}

bool summary_loops(const char *text, size_t len)
{
    struct word_list list = words_in_order((struct slice){text, len});
    bool loops = ends_in_a_loop(list.hashes, list.n);
    free(list.hashes);
    return loops;
}

char *summary_wrap(const char *summary)
{
    struct slice text = slice_trim(slice_of(summary));
    const char *const *frame = language_texts[language_of(text)].frame;
    struct buffer out = BUFFER_INIT;
    buffer_puts(&out, frame[0]);
    buffer_add(&out, text.s, text.len);
    buffer_puts(&out, frame[1]);
    return buffer_take(&out);
}
