/* summary_text.c - see summary_text.h. */
#include "summary_text.h"

#include "base/hash.h"

#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <unistr.h>

struct named_value {
    const char *name;
    int value;
};

static const struct named_value number_words[] = {
    {"zero", 0},      {"one", 1},       {"two", 2},       {"three", 3},    {"four", 4},      {"five", 5},
    {"six", 6},       {"seven", 7},     {"eight", 8},     {"nine", 9},     {"ten", 10},      {"eleven", 11},
    {"twelve", 12},   {"thirteen", 13}, {"fourteen", 14}, {"fifteen", 15}, {"sixteen", 16},  {"seventeen", 17},
    {"eighteen", 18}, {"nineteen", 19}, {"twenty", 20},   {"thirty", 30},  {"forty", 40},    {"fifty", 50},
    {"sixty", 60},    {"seventy", 70},  {"eighty", 80},   {"ninety", 90},  {"hundred", 100}, {"thousand", 1000},
    {"first", 1},     {"second", 2},    {"third", 3},     {"fourth", 4},   {"fifth", 5},     {"twelfth", 12},
};

static const struct named_value months[] = {
    {"january", 1}, {"february", 2}, {"march", 3},     {"april", 4},    {"may", 5},       {"june", 6},
    {"july", 7},    {"august", 8},   {"september", 9}, {"october", 10}, {"november", 11}, {"december", 12},
    {"jan", 1},     {"feb", 2},      {"mar", 3},       {"apr", 4},      {"jun", 6},       {"jul", 7},
    {"aug", 8},     {"sep", 9},      {"sept", 9},      {"oct", 10},     {"nov", 11},      {"dec", 12},
};

static const struct named_value chinese_digits[] = {
    {"〇", 0}, {"零", 0}, {"一", 1}, {"二", 2}, {"两", 2},  {"三", 3},   {"四", 4},    {"五", 5},
    {"六", 6}, {"七", 7}, {"八", 8}, {"九", 9}, {"十", 10}, {"百", 100}, {"千", 1000}, {"万", 10000},
};

/* A full stop after one of these ends no sentence. */
static const char *const abbreviations[] = {"mr", "mrs", "ms", "dr", "st", "prof", "vs", "no", "eg", "ie", "approx"};

// clang-format off
static const char *const common_words[] = {
    "about", "above", "after", "again", "against", "also", "always", "another", "anything", "around", "asked", "asking", "asks",
    "assistant", "because", "been", "before", "being", "below", "between", "both", "came", "chat", "chatbot", "come", "comes",
    "conversation", "conversations", "could", "described", "did", "discussed", "discussing", "does", "doing", "done", "down",
    "during", "each", "else", "even", "ever", "every", "everything", "explain", "explained", "few", "first", "from", "further",
    "gave", "get", "gets", "getting", "give", "given", "gives", "goes", "going", "good", "great", "had", "happy", "have", "having",
    "hello", "help", "helped", "helpful", "helps", "here", "hers", "himself", "hope", "into", "itself", "just", "keep", "kind", "know",
    "last", "later", "least", "less", "like", "likes", "little", "look", "made", "make", "makes", "making", "many", "maybe", "mean",
    "means", "mentioned", "message", "messages", "more", "most", "much", "must", "need", "needed", "needs", "never", "next", "nice",
    "nothing", "often", "once", "only", "other", "others", "over", "please", "provided", "provides", "question", "questions",
    "quite", "rather", "really", "replied", "respond", "responded", "response", "said", "same", "says", "shall", "share", "shared",
    "should", "since", "some", "something", "still", "such", "summary", "sure", "talk", "talked", "talking", "tell", "tells", "than",
    "thank", "thanks", "that", "their", "them", "then", "there", "these", "they", "thing", "things", "think", "this", "those",
    "through", "time", "told", "topic", "topics", "under", "until", "used", "user", "uses", "using", "various", "very", "want",
    "wanted", "wants", "well", "went", "were", "what", "when", "where", "which", "while", "will", "with", "within", "without", "word",
    "words", "would", "write", "you're", "your", "yours", "yourself", "glad", "enjoyed",
};
static const char common_characters[] =
    "的一是不了在人有我他这中大来上个们到说为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想"
    "看文无开手十用主行方又如前所本见经头面公同三已老从动两长知什请吗呢吧用户助手问题回答对话";
// clang-format on

static const char *const questioners[] = {"what",  "who",  "whose", "whom",  "how",    "why",   "when", "where",
                                          "which", "do",   "does",  "did",   "can",    "could", "is",   "are",
                                          "was",   "were", "will",  "would", "should", "shall", "have", "has"};
static const char *const chinese_questioners[] = {"什么", "谁", "吗", "哪", "怎么", "多少", "为何", "几个", "几点"};

#define N_OF(table) (sizeof(table) / sizeof *(table))

/* ---- characters ---- */

/* The character at the front of a text that is not empty, and its bytes; U+FFFD for what is no UTF-8. */
static int character(struct slice text, ucs4_t *c)
{
    return u8_mbtouc(c, (const uint8_t *)text.s, text.len);
}

static struct slice slice_from(struct slice text, size_t at)
{
    return (struct slice){text.s + at, text.len - at};
}

static bool is_han(ucs4_t c)
{
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x3ffff) ||
           c == 0x3007;
}

static bool is_letter(ucs4_t c)
{
    return !is_han(c) && (uc_is_general_category_withtable(c, UC_CATEGORY_MASK_L | UC_CATEGORY_MASK_M));
}

/* 0..9 for an ASCII or full-width digit, else -1. */
static int digit(ucs4_t c)
{
    if (c >= '0' && c <= '9')
        return (int)(c - '0');
    return c >= 0xff10 && c <= 0xff19 ? (int)(c - 0xff10) : -1;
}

static bool is_apostrophe(ucs4_t c)
{
    return c == '\'' || c == 0x2019;
}

static bool is_space(ucs4_t c)
{
    return c <= ' ' || c == 0xa0 || c == 0x3000;
}

/* Ends a sentence wherever it stands. */
static bool ends_anywhere(ucs4_t c)
{
    return c == 0x3002 || c == 0xff01 || c == 0xff1f || c == 0xff1b || c == '\n';
}

static bool opens_sentence(ucs4_t c)
{
    return ends_anywhere(c) || c == '.' || c == '!' || c == '?' || c == ':' || c == 0xff1a || c == '"' ||
           c == 0x201c || c == 0x300c;
}

/* ---- spans ---- */

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

bool same_letters(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (lower(a[i]) != lower(b[i]))
            return false;
    return true;
}

struct slice slice_of(const char *s)
{
    return (struct slice){s ? s : "", s ? strlen(s) : 0};
}

struct slice slice_trim(struct slice text)
{
    ucs4_t c;
    while (text.len) {
        int n = character(text, &c);
        if (!is_space(c))
            break;
        text = slice_from(text, (size_t)n);
    }
    while (text.len && (unsigned char)text.s[text.len - 1] <= ' ')
        text.len--;
    return text;
}

/* ---- sentences ---- */

static bool listed(const char *const *list, size_t n, const char *s, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i]) == len && same_letters(list[i], s, len))
            return true;
    return false;
}

/* Whether the full stop at text.s[at] belongs to an abbreviation or an initial. */
static bool abbreviates(struct slice text, size_t at)
{
    size_t start = at;
    while (start > 0 && lower(text.s[start - 1]) >= 'a' && lower(text.s[start - 1]) <= 'z')
        start--;
    size_t n = at - start;
    return n == 1 || listed(abbreviations, N_OF(abbreviations), text.s + start, n);
}

/* Bytes of the sentence at the front of text, its end mark included. */
static size_t sentence_bytes(struct slice text)
{
    size_t at = 0;
    while (at < text.len) {
        ucs4_t c, after = ' ';
        size_t end = at + (size_t)character(slice_from(text, at), &c);
        if (end < text.len)
            character(slice_from(text, end), &after);
        if (ends_anywhere(c))
            return end;
        if ((c == '!' || c == '?' || (c == '.' && !abbreviates(text, at))) && is_space(after))
            return end;
        at = end;
    }
    return at;
}

/* A list's bullet or number in front of a line. */
static struct slice without_bullet(struct slice line)
{
    size_t at = 0;
    while (at < line.len && strchr("-*#>+", line.s[at]))
        at++;
    if (!at) {
        while (at < line.len && line.s[at] >= '0' && line.s[at] <= '9')
            at++;
        at = at && at < line.len && (line.s[at] == '.' || line.s[at] == ')') ? at + 1 : 0;
    }
    return at && at < line.len && line.s[at] == ' ' ? slice_trim(slice_from(line, at)) : line;
}

bool next_sentence(struct slice *text, struct slice *sentence)
{
    while (text->len) {
        size_t n = sentence_bytes(*text);
        *sentence = without_bullet(slice_trim((struct slice){text->s, n}));
        *text = slice_from(*text, n);
        if (sentence->len)
            return true;
    }
    return false;
}

bool is_question(struct slice sentence)
{
    struct words words = words_of(sentence);
    struct word word;
    if (next_word(&words, &word) && word.kind == WORD_LETTERS &&
        listed(questioners, N_OF(questioners), word.s, word.len))
        return true;
    if (sentence.len && sentence.s[sentence.len - 1] == '?')
        return true;
    if (sentence.len >= 3 && !memcmp(sentence.s + sentence.len - 3, "？", 3))
        return true;
    for (size_t i = 0; i < N_OF(chinese_questioners); i++)
        if (memmem(sentence.s, sentence.len, chinese_questioners[i], strlen(chinese_questioners[i])))
            return true;
    return false;
}

/* ---- words ---- */

struct words words_of(struct slice text)
{
    return (struct words){text, false};
}

static uint64_t hash_start(enum word_kind kind)
{
    return hash_fnv1a(HASH_START, &(unsigned char){(unsigned char)kind}, 1);
}

static uint64_t hash_character(uint64_t hash, ucs4_t c)
{
    const unsigned char bytes[] = {c & 0xff, (c >> 8) & 0xff, (c >> 16) & 0xff};
    return hash_fnv1a(hash, bytes, sizeof bytes);
}

/* "1,500" but not "3,5" or "1,5000": a comma inside a number stands before exactly three digits. */
static bool groups_thousands(struct slice after_comma)
{
    size_t n = 0;
    while (n < after_comma.len && n < 4 && after_comma.s[n] >= '0' && after_comma.s[n] <= '9')
        n++;
    return n == 3;
}

/* Ignores zeros at the end of a fraction: 15.50 is 15.5, 1500.00 is 1500. */
static uint64_t number_value_hash(const char *digits, size_t n)
{
    if (memchr(digits, '.', n)) {
        while (digits[n - 1] == '0')
            n--;
        if (digits[n - 1] == '.')
            n--;
    }
    return hash_fnv1a(hash_start(WORD_NUMBER), digits, n);
}

/* Reads the number at the front of text; of one with more than 40 digits only so many count. */
static void read_number(struct slice text, struct word *word)
{
    char digits[42];
    size_t at = 0, n = 0;
    bool fraction = false;
    while (at < text.len) {
        ucs4_t c, after = 0;
        size_t end = at + (size_t)character(slice_from(text, at), &c);
        if (end < text.len)
            character(slice_from(text, end), &after);
        bool point = c == '.' && !fraction && digit(after) >= 0;
        if (digit(c) < 0 && !point && !(c == ',' && !fraction && groups_thousands(slice_from(text, end))))
            break;
        if (n == 1 && digits[0] == '0' && digit(c) >= 0) /* leading zeros take no room */
            n = 0;
        if (n < sizeof digits && c != ',')
            digits[n++] = (char)(point ? '.' : '0' + digit(c));
        fraction |= point;
        at = end;
    }
    word->len = at;
    word->hash = number_value_hash(digits, n);
}

static void read_letters(struct slice text, struct word *word)
{
    uint64_t hash = hash_start(WORD_LETTERS), hash_before = 0;
    size_t at = 0, len_before = 0;
    while (at < text.len) {
        ucs4_t c, after = 0;
        size_t end = at + (size_t)character(slice_from(text, at), &c);
        if (end < text.len)
            character(slice_from(text, end), &after);
        if (is_apostrophe(c) && is_letter(after)) {
            hash_before = hash;
            len_before = at;
            c = '\'';
        } else if (!is_letter(c)) {
            break;
        }
        hash = hash_character(hash, uc_tolower(c));
        at = end;
    }
    bool possessive = len_before && (text.s[at - 1] == 's' || text.s[at - 1] == 'S') && at - len_before <= 4;
    word->len = possessive ? len_before : at;
    word->hash = possessive ? hash_before : hash;
}

bool next_word(struct words *words, struct word *word)
{
    while (words->rest.len) {
        ucs4_t c;
        struct slice here = words->rest;
        int n = character(here, &c);
        *word = (struct word){.s = here.s, .len = (size_t)n, .first = !words->inside};
        if (digit(c) >= 0) {
            word->kind = WORD_NUMBER;
            read_number(here, word);
        } else if (is_han(c)) {
            word->kind = WORD_HAN;
            word->hash = hash_character(hash_start(WORD_HAN), c);
        } else if (is_letter(c)) {
            word->kind = WORD_LETTERS;
            word->capitalised = uc_is_general_category_withtable(c, UC_CATEGORY_MASK_Lu | UC_CATEGORY_MASK_Lt);
            read_letters(here, word);
        } else {
            if (opens_sentence(c))
                words->inside = false;
            words->rest = slice_from(here, (size_t)n);
            continue;
        }
        words->inside = true;
        words->rest = slice_from(here, word->len);
        return true;
    }
    return false;
}

bool word_is_common(const struct word *word)
{
    if (word->kind == WORD_HAN)
        return word->len == 3 && strstr(common_characters, (char[]){word->s[0], word->s[1], word->s[2], 0});
    return word->kind == WORD_LETTERS && listed(common_words, N_OF(common_words), word->s, word->len);
}

/* The first letters of a word without a plural's s: a stem that is cheap and good enough to find a topic again. */
uint64_t word_stem(const struct word *word)
{
    enum { LETTERS = 5 };
    if (word->kind != WORD_LETTERS)
        return word->hash;
    struct slice rest = {word->s, word->len};
    uint64_t hash = hash_start(WORD_LETTERS);
    if (rest.len > 3 && lower(rest.s[rest.len - 1]) == 's')
        rest.len--;
    for (int i = 0; i < LETTERS && rest.len; i++) {
        ucs4_t c;
        int n = character(rest, &c);
        hash = hash_character(hash, uc_tolower(c));
        rest = slice_from(rest, (size_t)n);
    }
    return hash;
}

static int named(const struct named_value *table, size_t n, const struct word *word)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(table[i].name) == word->len && same_letters(table[i].name, word->s, word->len))
            return table[i].value;
    return -1;
}

int word_value(const struct word *word)
{
    if (word->kind == WORD_LETTERS)
        return named(number_words, N_OF(number_words), word);
    int value = 0;
    for (size_t i = 0; i < word->len; i++) {
        if (word->kind != WORD_NUMBER || word->len > 9 || word->s[i] < '0' || word->s[i] > '9')
            return -1;
        value = value * 10 + (word->s[i] - '0');
    }
    return value;
}

int word_month(const struct word *word)
{
    int month = word->kind == WORD_LETTERS ? named(months, N_OF(months), word) : -1;
    return month > 0 ? month : 0;
}

uint64_t number_hash(int value)
{
    char digits[16];
    size_t n = sizeof digits;
    do {
        digits[--n] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    struct word word = {.kind = WORD_NUMBER};
    read_number((struct slice){digits + n, sizeof digits - n}, &word);
    return word.hash;
}

static int chinese_digit(struct slice text)
{
    for (size_t i = 0; i < N_OF(chinese_digits); i++)
        if (text.len >= 3 && !memcmp(text.s, chinese_digits[i].name, 3)) /* each is three bytes long */
            return chinese_digits[i].value;
    return -1;
}

int chinese_number(struct slice text, size_t *len)
{
    long total = 0, section = 0, pending = -1;
    int last_unit = 1, d;
    size_t at = 0;
    for (; at < 27 && (d = chinese_digit(slice_from(text, at))) >= 0; at += 3) { /* nine characters: no overflow */
        if (d < 10) {
            pending = pending > 0 && last_unit == 1 ? pending * 10 + d : d; /* 二〇二四: digit by digit */
            last_unit = 1;
            continue;
        }
        long digits = pending < 0 ? 1 : pending;
        if (d == 10000) {
            total = (total + section + (pending < 0 ? 0 : pending)) * d;
            section = 0;
        } else {
            section += digits * d;
        }
        pending = -1;
        last_unit = d;
        if (total > 100000000)
            break;
    }
    *len = at;
    long value = total + section + (pending < 0 ? 0 : pending);
    return at && value <= 999999999 ? (int)value : -1;
}
