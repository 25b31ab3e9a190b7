/* summary_extract.c - a summary made without a model: the sentences worth most, each with who said it. See summary.h.
 *
 * A line is "User: My name is Dana." or "Assistant: ...", so that an extract can be taken apart again when the next
 * one is made of it: a fact told in the first turn is ranked anew each time, and stays as long as there is room for
 * it. Lines without a speaker are a model's prose. */
#include "summary.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "summary_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistr.h>

enum speaker { NOBODY, PERSON, ANSWERER };

struct item {   /* one line of an extract */
    char *text; /* clean, owned */
    size_t len;
    enum speaker speaker;
    bool chinese;
    int score;
    int fact;     /* what the person's statement about themselves weighs; 0: it is none */
    size_t order; /* in the conversation */
    uint64_t key; /* of its words: the same said twice is kept once */
    bool chosen;
};

struct items {
    struct item *list;
    size_t n, cap;
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
};

/* What a person says of themselves, and what they ask to be kept in mind. Written for lower case. */
static const struct pattern patterns[] = {
    {"my name is", NULL, NAME}, {"my name's", NULL, NAME}, {"call me", NULL, NAME},     {"i am called", NULL, NAME},
    {"i'm called", NULL, NAME}, {"我叫", NULL, NAME},      {"我的名字", NULL, NAME},    {"叫我", NULL, NAME},
    {"我姓", NULL, NAME},       {"remember", NULL, 600},   {"don't forget", NULL, 600}, {"记住", NULL, 600},
    {"别忘", NULL, 600},        {"name is", NULL, 500},    {"is named", NULL, 500},     {"allergic", NULL, 500},
    {"过敏", NULL, 500},        {"i live", NULL, 400},     {"i work", NULL, 400},       {"i was born", NULL, 400},
    {"birthday", NULL, 400},    {"我住", NULL, 400},       {"我今年", NULL, 400},       {"生日", NULL, 400},
    {"i am a", NULL, 300},      {"i'm a", NULL, 300},      {"i am from", NULL, 300},    {"i'm from", NULL, 300},
    {"我是", NULL, 300},        {"我来自", NULL, 300},     {"my", "is", 250},           {"my", "are", 250},
    {"my", "called", 250},      {"i have", NULL, 250},     {"i like", NULL, 250},       {"i love", NULL, 250},
    {"i prefer", NULL, 250},    {"i hate", NULL, 250},     {"我有", NULL, 250},         {"我喜欢", NULL, 250},
    {"我的", "是", 250},        {"i want", NULL, 100},     {"i need", NULL, 100},       {"i am", NULL, 100},
    {"i'm", NULL, 100},         {"我想", NULL, 100},       {"我要", NULL, 100},
};

static const struct {
    const char *text;
    enum speaker speaker;
    bool chinese;
} markers[] = {
    {"User: ", PERSON, false},
    {"Assistant: ", ANSWERER, false},
    {"用户：", PERSON, true},
    {"助手：", ANSWERER, true},
};

static const char *const quotes[][2] = {{"\"", "\""}, {"“", "”"}, {"「", "」"}, {"`", "`"}};

#define N_OF(table) (sizeof(table) / sizeof *(table))

/* ---- text ---- */

/* One line of valid UTF-8: white space and control characters become single spaces, ’ becomes '. */
static char *clean(struct span text)
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

static size_t clause_bytes(struct span text)
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
static int clause_weight(struct span clause)
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

static int fact_weight(struct span sentence)
{
    int weight = 0;
    while (sentence.len) {
        size_t n = clause_bytes(sentence);
        int here = clause_weight(span_trim((struct span){sentence.s, n}));
        weight = here > weight ? here : weight;
        sentence = (struct span){sentence.s + n, sentence.len - n};
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
    struct span text = {item->text, item->len};
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

/* ---- gathering ---- */

static void items_free(struct items *items)
{
    for (size_t i = 0; i < items->n; i++)
        free(items->list[i].text);
    free(items->list);
}

static uint64_t key_of(const char *text)
{
    struct words words = words_of(span_of(text));
    struct word word;
    uint64_t key = 0;
    while (next_word(&words, &word))
        key = key * 31 + word.hash;
    return key;
}

static bool is_known(const struct items *items, uint64_t key)
{
    for (size_t i = 0; i < items->n; i++)
        if (items->list[i].key == key)
            return true;
    return false;
}

static void add_item(struct items *items, struct span sentence, enum speaker speaker, bool earlier)
{
    char *text = clean(sentence);
    size_t len = strlen(text);
    uint64_t key = key_of(text);
    if (!len || is_known(items, key)) {
        free(text);
        return;
    }
    if (items->n == items->cap) {
        items->cap = items->cap ? items->cap * 2 : 32;
        items->list = mem_resize(items->list, items->cap, sizeof *items->list);
    }
    if (len > SENTENCE_MAX) {
        len = clipped(text, len, SENTENCE_MAX - 3);
        memcpy(text + len, "…", 4);
        len += 3;
    }
    struct item *item = &items->list[items->n];
    *item = (struct item){.text = text, .len = len, .key = key, .speaker = speaker, .order = items->n++};
    item->chinese = span_is_chinese((struct span){text, len});
    rank(item, earlier);
}

static void add_sentences(struct items *items, struct span text, enum speaker speaker, bool earlier)
{
    struct span sentence;
    while (next_sentence(&text, &sentence))
        add_item(items, sentence, speaker, earlier);
}

/* The lines of an extract come back as they were made; a model's prose is taken apart. */
static void add_earlier(struct items *items, const char *earlier)
{
    struct span text = span_of(earlier);
    while (text.len) {
        const char *end = memchr(text.s, '\n', text.len);
        struct span line = {text.s, end ? (size_t)(end - text.s) + 1 : text.len};
        text = (struct span){text.s + line.len, text.len - line.len};
        line = span_trim(line);
        size_t m = 0;
        while (m < N_OF(markers) &&
               (line.len < strlen(markers[m].text) || memcmp(line.s, markers[m].text, strlen(markers[m].text)) != 0))
            m++;
        if (m == N_OF(markers)) {
            add_sentences(items, line, NOBODY, true);
            continue;
        }
        size_t n = strlen(markers[m].text);
        add_item(items, (struct span){line.s + n, line.len - n}, markers[m].speaker, true);
    }
}

static struct items gather(const char *earlier, const struct summary_turn *turns, size_t n)
{
    struct items items = {0};
    add_earlier(&items, earlier);
    for (size_t i = 0; i < n; i++)
        add_sentences(&items, (struct span){turns[i].text, turns[i].len}, turns[i].answer ? ANSWERER : PERSON, false);
    return items;
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
    for (size_t i = 0; i < N_OF(markers); i++)
        if (markers[i].speaker == item->speaker && markers[i].chinese == item->chinese)
            return markers[i].text;
    return "";
}

/* Marks the best items that fit into max_bytes together; of those worth less than least, none, unless there is
 * nothing else and `always`. */
static void choose(struct items *items, int least, bool always, size_t max_bytes)
{
    struct item **ranked = mem_new(items->n, sizeof *ranked);
    for (size_t i = 0; i < items->n; i++)
        ranked[i] = &items->list[i];
    qsort(ranked, items->n, sizeof *ranked, by_rank);
    size_t used = 0;
    for (size_t i = 0; i < items->n; i++) {
        size_t bytes = strlen(marker_of(ranked[i])) + ranked[i]->len + (used > 0);
        if ((ranked[i]->score < least && !(always && i == 0)) || used + bytes > max_bytes)
            continue;
        ranked[i]->chosen = true;
        used += bytes;
    }
    if (!used && items->n && always) { /* the best one, as far as it goes */
        ranked[0]->len = clipped(ranked[0]->text, ranked[0]->len, max_bytes);
        ranked[0]->speaker = NOBODY;
        ranked[0]->chosen = ranked[0]->len > 0;
    }
    free(ranked);
}

static void write_chosen(const struct items *items, struct buffer *out)
{
    for (size_t i = 0; i < items->n; i++) {
        const struct item *item = &items->list[i];
        if (!item->chosen)
            continue;
        if (out->len)
            buffer_add(out, "\n", 1);
        buffer_puts(out, marker_of(item));
        buffer_add(out, item->text, item->len);
    }
}

/* Whether a summary says what the item does: all of its names and numbers, or all its longer words where it has
 * none. */
static bool says(const char *summary, const struct item *item)
{
    const char *end = summary + strlen(summary);
    for (int pass = 0; pass < 2; pass++) {
        struct words words = words_of((struct span){item->text, item->len});
        struct word word;
        size_t n = 0, missing = 0;
        while (next_word(&words, &word)) {
            bool telling = word.kind == WORD_NUMBER || (word.capitalised && !word.first && word.len > 1);
            if (!telling && (pass == 0 || (word.kind == WORD_LETTERS && word.len < 4)))
                continue;
            n++;
            char *copy = mem_copy(word.s, word.len);
            missing += word.kind == WORD_HAN ? !strstr(summary, copy) : !find_phrase(summary, end, copy);
            free(copy);
        }
        if (n)
            return missing == 0;
    }
    return true;
}

/* ---- public ---- */

char *summary_extract(const char *earlier, const struct summary_turn *turns, size_t n, size_t max_bytes)
{
    struct items items = gather(earlier, turns, n);
    struct buffer out = BUFFER_INIT;
    choose(&items, WORTH, true, max_bytes);
    write_chosen(&items, &out);
    items_free(&items);
    return buffer_take(&out);
}

char *summary_keep_facts(const char *summary, const char *earlier, const struct summary_turn *turns, size_t n,
                         size_t max_bytes)
{
    struct items items = gather(earlier, turns, n);
    for (size_t i = 0; i < items.n; i++)
        if (items.list[i].speaker == ANSWERER || says(summary, &items.list[i]))
            items.list[i].score = 0;
    struct buffer out = BUFFER_INIT;
    struct span rest = span_trim(span_of(summary)), sentence;
    size_t most = max_bytes / 4 * 3;
    size_t room = rest.len < max_bytes - most ? max_bytes - rest.len - 1 : most;
    choose(&items, FACT, false, room);
    write_chosen(&items, &out);
    items_free(&items);
    for (const char *separator = "\n"; next_sentence(&rest, &sentence); separator = " ") {
        char *text = clean(sentence);
        size_t len = strlen(text), gap = out.len ? 1 : 0;
        if (out.len + gap + len <= max_bytes) {
            buffer_add(&out, separator, gap);
            buffer_add(&out, text, len);
        }
        free(text);
    }
    return buffer_take(&out);
}
