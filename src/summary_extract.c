/* summary_extract.c - a summary made without a model: the sentences worth most, each with who said it. See summary.h.
 *
 * A line is "User: My name is Dana." or "Assistant: ...", so that an extract can be taken apart again when the next
 * one is made of it: a fact told in the first turn is ranked anew each time, and stays as long as there is room for
 * it. Lines without a speaker are a model's prose. */
#include "summary.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "language.h"
#include "summary_text.h"
#include "word_set.h"

#include <stdlib.h>
#include <string.h>
#include <unistr.h>

enum speaker { NOBODY, PERSON, ANSWERER };

struct item {   /* a sentence of the source: a line of an extract, if it is chosen */
    char *text; /* clean, owned */
    size_t len;
    enum speaker speaker;
    enum language language;
    int score;    /* what it is worth in an extract */
    int fact;     /* weight of what the person states about themselves; 0: nothing */
    size_t order; /* in the conversation */
    size_t turn;  /* it belongs to: 0 = the earlier summary, then 1, 2, ... */
    bool chosen;  /* by the last call of choose() */
    bool wanted;  /* choose() may take it */
};

struct summary_source {
    struct item *list;
    size_t n, cap;
    struct word_set keys;   /* of the sentences: the same said twice is kept once */
    size_t turn;            /* being read */
    enum language language; /* of the whole */
    bool (*stop)(void *ctx);
    void *stop_ctx;
    bool stopped;
};

struct pattern {
    const char *phrase, *also; /* begins at a word; `also` (may be NULL) follows somewhere in the clause */
    int weight;
};

enum {
    SENTENCE_MAX = 240, /* bytes of a sentence that are kept */
    NAME = 1000,        /* weight of a name: of such facts the oldest is ranked first, of all others the newest */
    WORTH = 10,         /* least score of what is put into an extract: thanks and answerers' questions are below it */
    /* Least score of what must not be lost: what the person says of themselves, or with two names or numbers. */
    FACT = 90,
    LOOK_EVERY = 64, /* sentences between two calls of stop */
};

/* What a person says of themselves, and what they ask to be kept in mind. Written for lower case. */
static const struct pattern patterns[] = {
    {"my name is", NULL, NAME}, {"my name's", NULL, NAME},  {"call me", NULL, NAME},     {"i am called", NULL, NAME},
    {"i'm called", NULL, NAME}, {"我叫", NULL, NAME},       {"我的名字", NULL, NAME},    {"叫我", NULL, NAME},
    {"我姓", NULL, NAME},       {"remember", NULL, 600},    {"don't forget", NULL, 600}, {"记住", NULL, 600},
    {"别忘", NULL, 600},        {"name is", NULL, 500},     {"is named", NULL, 500},     {"allergic", NULL, 500},
    {"过敏", NULL, 500},        {"i live", NULL, 400},      {"i work", NULL, 400},       {"i was born", NULL, 400},
    {"birthday", NULL, 400},    {"我住", NULL, 400},        {"我今年", NULL, 400},       {"生日", NULL, 400},
    {"i am a", NULL, 300},      {"i'm a", NULL, 300},       {"i am from", NULL, 300},    {"i'm from", NULL, 300},
    {"我是", NULL, 300},        {"我来自", NULL, 300},      {"my", "is", 250},           {"my", "are", 250},
    {"my", "called", 250},      {"i have", NULL, 250},      {"i like", NULL, 250},       {"i love", NULL, 250},
    {"i prefer", NULL, 250},    {"i hate", NULL, 250},      {"我有", NULL, 250},         {"我喜欢", NULL, 250},
    {"我的", "是", 250},        {"i want", NULL, 100},      {"i need", NULL, 100},       {"i am", NULL, 100},
    {"i'm", NULL, 100},         {"我想", NULL, 100},        {"我要", NULL, 100},         {"meu nome", NULL, NAME},
    {"me chamo", NULL, NAME},   {"mi nombre", NULL, NAME},  {"me llamo", NULL, NAME},    {"je m'appelle", NULL, NAME},
    {"mon nom", NULL, NAME},    {"ich heiße", NULL, NAME},  {"mein name", NULL, NAME},   {"mi chiamo", NULL, NAME},
    {"ik heet", NULL, NAME},    {"mijn naam", NULL, NAME},  {"mam na imię", NULL, NAME}, {"nazywam się", NULL, NAME},
    {"adım", NULL, NAME},       {"меня зовут", NULL, NAME}, {"Меня зовут", NULL, NAME},  {"мене звати", NULL, NAME},
    {"Мене звати", NULL, NAME}, {"私の名前", NULL, NAME},   {"と申します", NULL, NAME},  {"といいます", NULL, NAME},
    {"제 이름", NULL, NAME},    {"اسمي", NULL, NAME},       {"moro em", NULL, 400},      {"vivo en", NULL, 400},
    {"j'habite", NULL, 400},    {"ich wohne", NULL, 400},   {"abito a", NULL, 400},      {"я живу", NULL, 400},
    {"Я живу", NULL, 400},      {"に住んで", NULL, 400},
};

static const char *const quotes[][2] = {{"\"", "\""}, {"“", "”"}, {"「", "」"}, {"`", "`"}};

#define N_OF(table) (sizeof(table) / sizeof *(table))

/* ---- text ---- */

/* One line of valid UTF-8: white space and control characters become single spaces, ’ becomes '. */
static char *clean(struct slice text)
{
    struct buffer out = BUFFER_INIT;
    bool gap = false;
    while (text.len) {
        ucs4_t c;
        size_t n = (size_t)u8_mbtouc(&c, (const uint8_t *)text.s, text.len);
        text.s += n;
        text.len -= n;
        if (c <= ' ' || (c >= 0x7f && c <= 0xa0)) {
            gap = out.len > 0;
            continue;
        }
        uint8_t bytes[8];
        int len = u8_uctomb(bytes, c == 0x2019 ? '\'' : c, sizeof bytes);
        if (gap)
            buffer_add(&out, " ", 1);
        gap = false;
        buffer_add(&out, (const char *)bytes, (size_t)len);
    }
    return buffer_take(&out);
}

/* The bytes of text that are at most max, at a whole character and, in a text with spaces, a whole word. */
static size_t clipped(const char *text, size_t len, size_t max)
{
    if (len <= max)
        return len;
    while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80)
        max--;
    for (size_t at = max; at > max - max / 4; at--)
        if (text[at] == ' ')
            return at;
    return max;
}

static bool is_ascii_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Where phrase stands in text as whole words, any case; NULL if it does not. */
static const char *find_phrase(const char *text, const char *end, const char *phrase)
{
    size_t n = strlen(phrase);
    bool latin = (unsigned char)phrase[0] < 0x80;
    for (const char *at = text; at + n <= end; at++) {
        if (!same_letters(at, phrase, n))
            continue;
        bool starts = at == text || !latin || !is_ascii_alnum(at[-1]);
        bool ends = at + n == end || !latin || !is_ascii_alnum(at[n]);
        if (starts && ends)
            return at;
    }
    return NULL;
}

/* ---- ranking ---- */

static size_t clause_bytes(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] == ',' || text.s[i] == ';')
            return i + 1;
        if (text.len - i >= 3 && (!memcmp(text.s + i, "，", 3) || !memcmp(text.s + i, "；", 3)))
            return i + 3;
    }
    return text.len;
}

/* "My name is Dana, can you help me?" states a name, and "My name is Dana and what is yours?" too; "do you know what
 * my name is?" does not. */
static int clause_weight(struct slice clause)
{
    const char *end = clause.s + clause.len;
    bool question = is_question(clause);
    int weight = 0;
    for (size_t i = 0; i < N_OF(patterns); i++) {
        const struct pattern *p = &patterns[i];
        const char *at = p->weight > weight ? find_phrase(clause.s, end, p->phrase) : NULL;
        bool asked = question && (at != clause.s || !is_ascii_alnum(p->phrase[0]));
        if (at && !asked && (!p->also || find_phrase(at, end, p->also)))
            weight = p->weight;
    }
    return weight;
}

static int fact_weight(struct slice sentence)
{
    int weight = 0;
    while (sentence.len) {
        size_t n = clause_bytes(sentence);
        int here = clause_weight(slice_trim((struct slice){sentence.s, n}));
        weight = here > weight ? here : weight;
        sentence = (struct slice){sentence.s + n, sentence.len - n};
    }
    return weight;
}

static bool has_quote(const char *text)
{
    for (size_t i = 0; i < N_OF(quotes); i++) {
        const char *open = strstr(text, quotes[i][0]);
        if (open && strstr(open + strlen(quotes[i][0]), quotes[i][1]))
            return true;
    }
    return false;
}

static int at_most(int value, int max)
{
    return value < max ? value : max;
}

static void rank(struct item *item, bool earlier)
{
    struct slice text = {item->text, item->len};
    struct words words = words_of(text);
    struct word word;
    int n = 0, names = 0, numbers = 0;
    while (next_word(&words, &word)) {
        n++;
        names += word.capitalised && !word.first && word.len > 1;
        numbers += word.kind == WORD_NUMBER || word_value(&word) > 2;
    }
    item->fact = item->speaker == ANSWERER ? 0 : fact_weight(text);
    item->score = 10 + item->fact;
    if (item->fact >= NAME) /* among names nothing else counts, or the first one could be lost to a longer one */
        return;
    item->score += 30 * at_most(names, 3) + 30 * at_most(numbers, 3) + 25 * has_quote(item->text);
    item->score += item->speaker == PERSON ? 25 : 0;
    if (!item->fact && is_question(text))
        item->score -= item->speaker == PERSON ? 20 : 60;
    if (n < 3 && !item->fact)
        item->score -= 30;
    if (earlier && !item->fact) /* what is new comes before what was worth as much then */
        item->score -= 15;
}

/* ---- the source ---- */

static uint64_t key_of(const char *text)
{
    struct words words = words_of(slice_of(text));
    struct word word;
    uint64_t key = 0;
    while (next_word(&words, &word))
        key = key * 31 + word.hash;
    return key;
}

/* A line in Latin script is too short to tell its language: it has that of the whole. */
static enum language line_language(const struct summary_source *s, struct slice line)
{
    enum language language = language_of_script(line);
    if (language != LANGUAGE_UNKNOWN)
        return language;
    return s->language >= LANGUAGE_PORTUGUESE ? s->language : LANGUAGE_ENGLISH;
}

static void add_item(struct summary_source *s, struct slice sentence, enum speaker speaker)
{
    char *text = clean(sentence);
    size_t len = strlen(text);
    if (!len || !word_set_add(&s->keys, key_of(text))) {
        free(text);
        return;
    }
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 32;
        s->list = mem_resize(s->list, s->cap, sizeof *s->list);
    }
    if (len > SENTENCE_MAX) {
        len = clipped(text, len, SENTENCE_MAX - 3);
        memcpy(text + len, "…", 4);
        len += 3;
        text = mem_resize(text, len + 1, 1);
    }
    struct item *item = &s->list[s->n];
    *item = (struct item){.text = text, .len = len, .speaker = speaker, .turn = s->turn, .order = s->n++};
    item->language = line_language(s, (struct slice){text, len});
    rank(item, s->turn == 0);
}

static void add_sentences(struct summary_source *s, struct slice text, enum speaker speaker)
{
    struct slice sentence;
    for (size_t i = 1; !s->stopped && next_sentence(&text, &sentence); i++) {
        add_item(s, sentence, speaker);
        if (i % LOOK_EVERY == 0 && s->stop)
            s->stopped = s->stop(s->stop_ctx);
    }
}

/* Who a line of an extract says spoke, in any language; *n: the bytes that say it. */
static enum speaker speaker_of(struct slice line, size_t *n)
{
    for (int i = 0; i < N_LANGUAGES; i++) {
        const char *const markers[] = {language_texts[i].person, language_texts[i].answerer};
        for (int m = 0; m < 2; m++) {
            *n = strlen(markers[m]);
            if (line.len >= *n && !memcmp(line.s, markers[m], *n))
                return m == 0 ? PERSON : ANSWERER;
        }
    }
    *n = 0;
    return NOBODY;
}

/* The lines of an extract come back as they were made; a model's prose is taken apart. */
static void add_earlier(struct summary_source *s, const char *earlier)
{
    struct slice text = slice_of(earlier);
    while (text.len && !s->stopped) {
        const char *end = memchr(text.s, '\n', text.len);
        struct slice line = {text.s, end ? (size_t)(end - text.s) + 1 : text.len};
        text = (struct slice){text.s + line.len, text.len - line.len};
        line = slice_trim(line);
        size_t n;
        enum speaker speaker = speaker_of(line, &n);
        if (speaker == NOBODY)
            add_sentences(s, line, NOBODY);
        else
            add_item(s, (struct slice){line.s + n, line.len - n}, speaker);
    }
}

struct summary_source *summary_source_new(const char *earlier, const struct summary_turn *turns, size_t n,
                                          bool (*stop)(void *ctx), void *ctx)
{
    struct summary_source *s = mem_new(1, sizeof *s);
    s->stop = stop;
    s->stop_ctx = ctx;
    s->language = n ? summary_language(turns, n) : language_of(slice_of(earlier));
    add_earlier(s, earlier);
    for (size_t i = 0; i < n && !s->stopped; i++) {
        s->turn = i + 1;
        add_sentences(s, (struct slice){turns[i].text, turns[i].len}, turns[i].answer ? ANSWERER : PERSON);
        if (stop && !s->stopped)
            s->stopped = stop(ctx);
    }
    if (!s->stopped)
        return s;
    summary_source_free(s);
    return NULL;
}

void summary_source_free(struct summary_source *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        free(s->list[i].text);
    free(s->list);
    word_set_free(&s->keys);
    free(s);
}

/* ---- choosing and writing ---- */

static int by_rank(const void *a, const void *b)
{
    const struct item *x = *(const struct item *const *)a, *y = *(const struct item *const *)b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    bool older_first = x->fact >= NAME && y->fact >= NAME;
    return (x->order < y->order) == older_first ? -1 : 1;
}

static const char *marker_of(const struct item *item)
{
    const struct language_texts *texts = &language_texts[item->language];
    return item->speaker == PERSON ? texts->person : item->speaker == ANSWERER ? texts->answerer : "";
}

/* The bytes of a line in an extract that has `used` bytes already. */
static size_t line_bytes(const struct item *item, size_t used)
{
    return strlen(marker_of(item)) + item->len + (used > 0);
}

/* Chooses the best of the wanted items that fit into max_bytes together with the `used` bytes of those chosen before;
 * returns the bytes of all. */
static size_t choose(struct summary_source *s, size_t used, size_t max_bytes)
{
    struct item **ranked = mem_new(s->n, sizeof *ranked);
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].wanted && !s->list[i].chosen)
            ranked[n++] = &s->list[i];
    if (n)
        qsort(ranked, n, sizeof *ranked, by_rank);
    for (size_t i = 0; i < n && used < max_bytes; i++) {
        size_t bytes = line_bytes(ranked[i], used);
        if (used + bytes > max_bytes)
            continue;
        ranked[i]->chosen = true;
        used += bytes;
    }
    free(ranked);
    return used;
}

static void write_chosen(const struct summary_source *s, struct buffer *out)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct item *item = &s->list[i];
        if (!item->chosen)
            continue;
        if (out->len)
            buffer_add(out, "\n", 1);
        buffer_puts(out, marker_of(item));
        buffer_add(out, item->text, item->len);
    }
}

/* The item of the highest rank, or NULL. */
static const struct item *best_of(const struct summary_source *s)
{
    const struct item *best = s->n ? &s->list[0] : NULL;
    for (size_t i = 1; i < s->n; i++) {
        const struct item *item = &s->list[i];
        if (by_rank(&item, &best) < 0)
            best = item;
    }
    return best;
}

char *summary_extract(struct summary_source *s, size_t max_bytes)
{
    struct buffer out = BUFFER_INIT;
    const struct item *best = best_of(s);
    for (size_t i = 0; i < s->n; i++) {
        s->list[i].chosen = false;
        s->list[i].wanted = s->list[i].score >= WORTH || &s->list[i] == best;
    }
    if (choose(s, 0, max_bytes))
        write_chosen(s, &out);
    else if (best) /* as far as it goes */
        buffer_add(&out, best->text, clipped(best->text, best->len, max_bytes));
    return buffer_take(&out);
}

/* ---- completing a model's summary ---- */

/* Whether a summary says what the item does: all of its names and numbers, or all its longer words where it has
 * none. */
static bool says(const struct word_set *summary, const struct item *item)
{
    for (int pass = 0; pass < 2; pass++) {
        struct words words = words_of((struct slice){item->text, item->len});
        struct word word;
        size_t n = 0, missing = 0;
        while (next_word(&words, &word)) {
            bool telling = word.kind == WORD_NUMBER || (word.capitalised && !word.first && word.len > 1);
            if (!telling && (pass == 0 || (word.kind == WORD_LETTERS && word.len < 4)))
                continue;
            n++;
            missing += !word_set_has(summary, word.hash);
        }
        if (n)
            return missing == 0;
    }
    return true;
}

/* Whether all telling words of the items are missing from the summary. Of Han characters two in three are enough, for
 * any two texts share some. False where there are none. */
static bool is_dropped(const struct summary_source *s, const struct item *items, size_t n_items,
                       const struct word_set *stems)
{
    size_t n = 0, known = 0, han = 0;
    for (size_t i = 0; i < n_items; i++) {
        struct words words = words_of((struct slice){items[i].text, items[i].len});
        struct word word;
        while (next_word(&words, &word)) {
            if (!word_is_telling(&word, s->language))
                continue;
            n++;
            han += word.kind == WORD_HAN;
            known += word_set_has(stems, word_stem(&word));
        }
    }
    return n && (han * 2 > n ? known * 3 < n : !known);
}

/* The number of items of one topic from `first` on: those of its turn, or one line of the earlier summary. */
static size_t topic_items(const struct summary_source *s, const struct item *first)
{
    size_t n = 1, left = (size_t)(s->list + s->n - first);
    while (first->turn && n < left && first[n].turn == first->turn)
        n++;
    return n;
}

/* Wants the best sentence of each of the person's topics that the summary drops whole. */
static void want_dropped_topics(struct summary_source *s, const struct word_set *stems)
{
    for (size_t i = 0, n; i < s->n; i += n) {
        struct item *first = &s->list[i], *best = first;
        n = topic_items(s, first);
        for (size_t k = 0; k < n; k++) {
            first[k].wanted = false;
            if (first[k].score > best->score)
                best = &first[k];
        }
        best->wanted = first->speaker == PERSON && best->score >= 0 && is_dropped(s, first, n, stems);
    }
}

/* Appends the sentences of the model's text that still fit. */
static void write_prose(struct slice text, size_t max_bytes, struct buffer *out)
{
    struct slice sentence;
    for (const char *separator = "\n"; next_sentence(&text, &sentence); separator = " ") {
        char *line = clean(sentence);
        size_t len = strlen(line), gap = out->len ? 1 : 0;
        if (out->len + gap + len <= max_bytes) {
            buffer_add(out, separator, gap);
            buffer_add(out, line, len);
        }
        free(line);
    }
}

char *summary_complete(struct summary_source *s, const char *summary, size_t max_bytes)
{
    struct slice text = slice_trim(slice_of(summary));
    struct word_set said = {0}, stems = {0};
    struct buffer out = BUFFER_INIT;
    word_set_add_text(&said, text);
    word_set_add_stems(&stems, text);
    for (size_t i = 0; i < s->n; i++) {
        struct item *item = &s->list[i];
        item->chosen = false;
        item->wanted = item->speaker != ANSWERER && item->score >= FACT && !says(&said, item);
    }
    size_t most = max_bytes / 4 * 3, room = text.len < max_bytes - most ? max_bytes - text.len - 1 : most;
    size_t used = choose(s, 0, room);
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].chosen)
            word_set_add_stems(&stems, (struct slice){s->list[i].text, s->list[i].len});
    want_dropped_topics(s, &stems);
    choose(s, used, room);
    write_chosen(s, &out);
    write_prose(text, max_bytes, &out);
    word_set_free(&said);
    word_set_free(&stems);
    return buffer_take(&out);
}
