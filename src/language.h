/*
 * language.h - in which language a text is written, and what the program says to the model in it.
 *
 * One table has a row per language: how it is recognised, and the few texts that go into prompts. Recognition is by
 * script, and for Latin script by function words; it is meant for whole messages, not for single words. Pure functions;
 * all strings are static.
 */
#ifndef LANGUAGE_H
#define LANGUAGE_H

#include "summary_text.h"

#include <stdbool.h>
#include <stddef.h>

enum language {
    LANGUAGE_UNKNOWN, /* too little text, or none of the others */
    LANGUAGE_ENGLISH,
    LANGUAGE_CHINESE,
    LANGUAGE_JAPANESE,
    LANGUAGE_KOREAN,
    LANGUAGE_RUSSIAN,
    LANGUAGE_UKRAINIAN,
    LANGUAGE_ARABIC,
    LANGUAGE_PORTUGUESE,
    LANGUAGE_SPANISH,
    LANGUAGE_FRENCH,
    LANGUAGE_GERMAN,
    LANGUAGE_ITALIAN,
    LANGUAGE_DUTCH,
    LANGUAGE_POLISH,
    LANGUAGE_TURKISH,
    N_LANGUAGES,
};

struct language_texts {
    const char *function_words;    /* lower case, separated by spaces; "" where the script tells enough */
    const char *request;           /* asks the model for a summary in this language */
    const char *frame[2];          /* stand before and after a summary in the prompt */
    const char *person, *answerer; /* begin a line of an extract: "User: " */
};
/* LANGUAGE_UNKNOWN: English texts, whose request asks for the conversation's language. */
extern const struct language_texts language_texts[N_LANGUAGES];

enum language language_of(struct slice text);
enum language language_of_script(struct slice text); /* ... by its script alone: LANGUAGE_UNKNOWN for Latin */
/* Whether a word says what a text in this language is about: long enough, no function word, none of summaries'
 * own ("discussed"). */
bool word_is_telling(const struct word *word, enum language language);

#endif
