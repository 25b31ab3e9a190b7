/*
 * summary_text.h - plain text taken apart: sentences, words, numbers. What the summary's check and extract stand on.
 *
 * Nothing here allocates; spans point into the text given. English and Chinese are meant, other languages do no harm.
 */
#ifndef SUMMARY_TEXT_H
#define SUMMARY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slice {
    const char *s;
    size_t len;
};

/* n bytes, ASCII letters in any case, whatever the locale. */
bool same_letters(const char *a, const char *b, size_t n);

struct slice slice_of(const char *s);       /* NULL gives an empty one */
struct slice slice_trim(struct slice text); /* without white space at its ends */

/* Takes the next sentence off *text: up to a sentence's end or the line's, bullets and white space cut off. False at
 * the end. */
bool next_sentence(struct slice *text, struct slice *sentence);
bool is_question(struct slice sentence); /* by its first word, a Chinese question word, or its mark */

enum word_kind {
    WORD_LETTERS, /* a run of letters, with apostrophes inside; an English possessive is cut off */
    WORD_HAN,     /* one character */
    WORD_NUMBER,  /* digits: 1,500 and 1500.0 and full-width 1500 are the same */
};

struct word {
    enum word_kind kind;
    const char *s;
    size_t len;
    uint64_t hash;    /* of its kind and its lower-case letters, or of its value: equal words have equal hashes */
    bool capitalised; /* an upper-case letter first */
    bool first;       /* of a sentence, a line or a quotation */
};

struct words { /* a walk over the words of a text; made by words_of */
    struct slice rest;
    bool inside; /* a word of the present sentence has been seen */
};
struct words words_of(struct slice text);
bool next_word(struct words *words, struct word *word);

/* Words that say nothing of what a text is about: English function words, "user", "discussed", and the commonest Han
 * characters. */
bool word_is_common(const struct word *word);
uint64_t word_stem(const struct word *word); /* equal for most forms of a word: linker, linkers */

/* The value a word says in up to nine digits or as an English number word; -1 where it says none. */
int word_value(const struct word *word);
int word_month(const struct word *word); /* 1..12 for a month's English name or abbreviation; else 0 */
uint64_t number_hash(int value);         /* the hash of the WORD_NUMBER of this value */

/* A Chinese numeral (三, 十二, 二〇二四, 三百五) at the start of text: its value and its bytes; -1 where there is
 * none. */
int chinese_number(struct slice text, size_t *len);

#endif
