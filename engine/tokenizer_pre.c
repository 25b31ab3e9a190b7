/*
 * tokenizer_pre.c - text -> words, as the regular expression of each tokenizer cuts it, without a regular expression
 * engine.
 *
 * The expressions (Hugging Face tokenizer.json of the models named; OpenAI's encoder.py for gpt-2):
 *
 *   gpt-2      's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *   smollm     \p{N}, and what lies between as gpt-2, each stretch as if it were a text of its own
 *   qwen2      (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *   llama-bpe  the same with \p{N}{1,3}
 *   tekken     H?U*L+|H?U+L*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *              with H = [^\r\n\p{L}\p{N}], U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], L = [\p{Ll}\p{Lm}\p{Lo}\p{M}]
 *   default    what llama.cpp (llama-vocab.cpp) does for files whose converter did not know the model, four times over,
 *              each time the pieces of the last: [\p{P}$+<=>^~|]+, then gpt-2 without its last \s+, then \p{N}+, then
 *              [0-9][0-9][0-9]
 */
#include "tokenizer_impl.h"
#include "utf8.h"

#include <unictype.h>

enum char_class {
    LETTER = 1,
    NUMBER = 2,
    SPACE = 4,
    NEWLINE = 8, /* \r and \n, which are SPACE too */
    OTHER = 16,
};

/* What Unicode 15 and 16 added to the letters and numbers (DerivedGeneralCategory.txt): the originals know them, a
 * libunistring of Unicode 14 does not. */
static const struct {
    uint32_t first, last;
    enum char_class class;
} later[] = {
    {0x1C89, 0x1C8A, LETTER},   {0xA7CB, 0xA7CD, LETTER},   {0xA7DA, 0xA7DC, LETTER},   {0x105C0, 0x105F3, LETTER},
    {0x10D40, 0x10D49, NUMBER}, {0x10D4A, 0x10D65, LETTER}, {0x10D6F, 0x10D85, LETTER}, {0x10EC2, 0x10EC4, LETTER},
    {0x1123F, 0x11240, LETTER}, {0x11380, 0x11389, LETTER}, {0x1138B, 0x1138B, LETTER}, {0x1138E, 0x1138E, LETTER},
    {0x11390, 0x113B5, LETTER}, {0x113B7, 0x113B7, LETTER}, {0x113D1, 0x113D1, LETTER}, {0x113D3, 0x113D3, LETTER},
    {0x116D0, 0x116E3, NUMBER}, {0x11BC0, 0x11BE0, LETTER}, {0x11BF0, 0x11BF9, NUMBER}, {0x11F02, 0x11F02, LETTER},
    {0x11F04, 0x11F10, LETTER}, {0x11F12, 0x11F33, LETTER}, {0x11F50, 0x11F59, NUMBER}, {0x1342F, 0x1342F, LETTER},
    {0x13441, 0x13446, LETTER}, {0x13460, 0x143FA, LETTER}, {0x16100, 0x1611D, LETTER}, {0x16130, 0x16139, NUMBER},
    {0x16D40, 0x16D6C, LETTER}, {0x16D70, 0x16D79, NUMBER}, {0x18CFF, 0x18CFF, LETTER}, {0x1B132, 0x1B132, LETTER},
    {0x1B155, 0x1B155, LETTER}, {0x1CCF0, 0x1CCF9, NUMBER}, {0x1D2C0, 0x1D2D3, NUMBER}, {0x1DF25, 0x1DF2A, LETTER},
    {0x1E030, 0x1E06D, LETTER}, {0x1E4D0, 0x1E4EB, LETTER}, {0x1E4F0, 0x1E4F9, NUMBER}, {0x1E5D0, 0x1E5ED, LETTER},
    {0x1E5F0, 0x1E5F0, LETTER}, {0x1E5F1, 0x1E5FA, NUMBER}, {0x2B739, 0x2B739, LETTER}, {0x2EBF0, 0x2EE5D, LETTER},
    {0x31350, 0x323AF, LETTER},
};

static enum char_class class_of_unassigned(uint32_t c)
{
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        if (c >= later[i].first && c <= later[i].last)
            return later[i].class;
    }
    return OTHER;
}

static enum char_class class_of(uint32_t c)
{
    if (c < 0x80) {
        if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
            return LETTER;
        if (c >= '0' && c <= '9')
            return NUMBER;
        if (c == '\n' || c == '\r')
            return SPACE | NEWLINE;
        return c == ' ' || (c >= '\t' && c <= '\r') ? SPACE : OTHER;
    }
    /* CJK ideographs and Hangul syllables are most of what is not ASCII; all of these ranges is assigned. */
    if ((c >= 0x4E00 && c <= 0x9FFC) || (c >= 0xAC00 && c <= 0xD7A3))
        return LETTER;
    uint32_t category = uc_general_category(c).bitmask;
    if (category & UC_CATEGORY_MASK_L)
        return LETTER;
    if (category & UC_CATEGORY_MASK_N)
        return NUMBER;
    if (category & UC_CATEGORY_MASK_Cn)
        return class_of_unassigned(c);
    return category & UC_CATEGORY_MASK_Z || c == 0x85 ? SPACE : OTHER; /* White_Space (PropList.txt) */
}

/* The class of the character at text[at] and its length; 0 at the end. */
static unsigned class_at(const unsigned char *text, size_t n, size_t at, size_t *len)
{
    *len = 0;
    return at < n ? class_of(utf8_next(text + at, n - at, len)) : 0;
}

/* Where the run of characters of these classes that begins at `at` ends; max counts characters. */
static size_t run(const unsigned char *text, size_t n, size_t at, unsigned classes, int max)
{
    size_t len;
    while (max-- > 0 && (class_at(text, n, at, &len) & classes))
        at += len;
    return at;
}

#define ANY_NUMBER 0x7FFFFFFF

/* 's 't 're 've 'm 'll 'd: its length, 0 where there is none. */
static size_t contraction(const unsigned char *text, size_t n, bool fold)
{
    if (n < 2 || text[0] != '\'')
        return 0;
    unsigned a = text[1], b = n > 2 ? text[2] : 0;
    if (fold) {
        if (a == 0xC5 && b == 0xBF) /* U+017F, the long s, folds to s */
            return 3;
        a = a < 0x80 ? a | 0x20 : a;
        b = b < 0x80 ? b | 0x20 : b;
    }
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

/* \s+(?!\S)|\s+ : the run, less its last character where a word follows. `ends` are classes that count as no word. */
static size_t spaces(const unsigned char *text, size_t n, unsigned ends)
{
    size_t at = 0, last = 0, len;
    unsigned class;
    while ((class = class_at(text, n, at, &len)) & SPACE) {
        last = at;
        at += len;
    }
    return class == 0 || (class & ends) || last == 0 ? at : last;
}

/* ---- gpt-2 and smollm ----------------------------------------------------------------------------------- */

static size_t gpt2_word(const unsigned char *text, size_t n, bool numbers_apart)
{
    size_t len = contraction(text, n, false);
    if (len)
        return len;
    unsigned class = class_at(text, n, 0, &len);
    if (numbers_apart && class == NUMBER)
        return len;
    size_t from = 0;
    if (text[0] == ' ') {
        from = 1;
        class = class_at(text, n, 1, &len);
        if (numbers_apart && class == NUMBER)
            return 1;
    }
    if (class & (LETTER | NUMBER | OTHER))
        return run(text, n, from, class, ANY_NUMBER);
    return spaces(text, n, numbers_apart ? NUMBER : 0);
}

static size_t word_gpt2(const unsigned char *text, size_t n)
{
    return gpt2_word(text, n, false);
}

static size_t word_smollm(const unsigned char *text, size_t n)
{
    return gpt2_word(text, n, true);
}

/* ---- qwen2 and llama-bpe -------------------------------------------------------------------------------- */

/* \s*[\r\n]+ : up to the last line end of the run of spaces; 0 where it has none. */
static size_t lines(const unsigned char *text, size_t n)
{
    size_t at = 0, end = 0, len;
    unsigned class;
    while ((class = class_at(text, n, at, &len)) & SPACE) {
        at += len;
        if (class & NEWLINE)
            end = at;
    }
    return end;
}

static size_t cl100k_word(const unsigned char *text, size_t n, int digits)
{
    size_t len, next_len;
    size_t end = contraction(text, n, true);
    if (end)
        return end;
    unsigned class = class_at(text, n, 0, &len);
    if (class == LETTER)
        return run(text, n, len, LETTER, ANY_NUMBER);
    if (class == NUMBER)
        return run(text, n, 0, NUMBER, digits);
    unsigned next = class_at(text, n, len, &next_len);
    if (next == LETTER && !(class & NEWLINE))
        return run(text, n, len, LETTER, ANY_NUMBER);
    if (class == OTHER || (text[0] == ' ' && next == OTHER))
        return run(text, n, run(text, n, class == OTHER ? 0 : 1, OTHER, ANY_NUMBER), NEWLINE, ANY_NUMBER);
    end = lines(text, n);
    return end ? end : spaces(text, n, 0);
}

static size_t word_qwen2(const unsigned char *text, size_t n)
{
    return cl100k_word(text, n, 1);
}

static size_t word_llama(const unsigned char *text, size_t n)
{
    return cl100k_word(text, n, 3);
}

/* ---- tekken --------------------------------------------------------------------------------------------- */

enum letter_case { UPPER = 1, LOWER = 2 }; /* U and L above; letters without case and marks are both */

static unsigned case_at(const unsigned char *text, size_t n, size_t at, size_t *len)
{
    *len = 0;
    if (at >= n)
        return 0;
    uint32_t c = utf8_next(text + at, n - at, len);
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? UPPER : c >= 'a' && c <= 'z' ? LOWER : 0;
    uint32_t category = uc_general_category(c).bitmask;
    if (category & (UC_CATEGORY_MASK_Lu | UC_CATEGORY_MASK_Lt))
        return UPPER;
    if (category & UC_CATEGORY_MASK_Ll)
        return LOWER;
    if (category & (UC_CATEGORY_MASK_Lm | UC_CATEGORY_MASK_Lo | UC_CATEGORY_MASK_M))
        return UPPER | LOWER;
    return category & UC_CATEGORY_MASK_Cn && class_of_unassigned(c) == LETTER ? UPPER | LOWER : 0;
}

/* The runs that the two expressions for words take: U*, then L*. */
struct cased {
    size_t start, upper, lower; /* where it begins, and where each run ends */
    size_t both;                /* where the last character of U* that is an L too ends; 0 = it has none */
};

static struct cased cased_at(const unsigned char *text, size_t n, size_t at)
{
    struct cased c = {at, at, at, 0};
    unsigned cases;
    for (size_t len; (cases = case_at(text, n, c.upper, &len)) & UPPER;) {
        c.upper += len;
        if (cases & LOWER)
            c.both = c.upper;
    }
    c.lower = c.upper;
    for (size_t len; case_at(text, n, c.lower, &len) & LOWER;)
        c.lower += len;
    return c;
}

/* Where U*L+ ends, 0 where it does not match: without an L behind it, U* gives its last one back. */
static size_t upper_lower(struct cased c)
{
    return c.lower > c.upper ? c.lower : c.both;
}

/* Where U+L* ends, 0 where it does not match. */
static size_t upper_some_lower(struct cased c)
{
    return c.upper > c.start ? c.lower : 0;
}

static size_t word_tekken(const unsigned char *text, size_t n)
{
    size_t len, next_len, end;
    unsigned class = class_at(text, n, 0, &len);
    bool led = !(class & (NEWLINE | LETTER | NUMBER)); /* H? takes the first character */
    struct cased plain = cased_at(text, n, 0), after = led ? cased_at(text, n, len) : (struct cased){0};
    if ((end = upper_lower(after)) || (end = upper_lower(plain)) || (end = upper_some_lower(after)) ||
        (end = upper_some_lower(plain)))
        return end;
    if (class == NUMBER)
        return len;
    unsigned next = class_at(text, n, len, &next_len);
    if (class == OTHER || (text[0] == ' ' && next == OTHER)) {
        end = run(text, n, class == OTHER ? 0 : 1, OTHER, ANY_NUMBER);
        while (end < n && (text[end] == '\r' || text[end] == '\n' || text[end] == '/'))
            end++;
        return end;
    }
    end = lines(text, n);
    return end ? end : spaces(text, n, 0);
}

/* ---- default -------------------------------------------------------------------------------------------- */

static bool is_punctuation(const unsigned char *text, size_t n, size_t at, size_t *len)
{
    *len = 0;
    if (at >= n)
        return false;
    uint32_t c = utf8_next(text + at, n - at, len);
    if (c < 0x80)
        return c > ' ' && class_of(c) == OTHER && c != '`' && c != 0x7F;
    return uc_general_category(c).bitmask & UC_CATEGORY_MASK_P;
}

/* Digits in threes, other numbers as long as they go. */
static size_t digits_word(const unsigned char *text, size_t n)
{
    size_t end = run(text, n, 0, NUMBER, ANY_NUMBER), at = 0;
    for (size_t i = 0, digits = 0; i < end; i++) {
        digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
        at = i + 1 - digits;
        if (digits == 3)
            return at ? at : 3;
    }
    return end;
}

static size_t word_default(const unsigned char *text, size_t n)
{
    size_t len, next_len, end = 0;
    while (is_punctuation(text, n, end, &len))
        end += len;
    if (end)
        return end;
    unsigned class = class_at(text, n, 0, &len);
    if (class == NUMBER)
        return digits_word(text, n);
    size_t from = text[0] == ' ';
    if (from)
        class = class_at(text, n, 1, &next_len);
    if (from && (class == NUMBER || is_punctuation(text, n, 1, &next_len)))
        return 1;
    if (class == LETTER)
        return run(text, n, from, LETTER, ANY_NUMBER);
    if (class == OTHER) {
        for (end = from; class_at(text, n, end, &len) == OTHER && !is_punctuation(text, n, end, &next_len);)
            end += len;
        return end;
    }
    end = 0; /* \s+(?!\S), and the one left over; a stretch ends where punctuation begins */
    size_t last = 0;
    while (class_at(text, n, end, &len) & SPACE) {
        last = end;
        end += len;
    }
    return end == n || last == 0 || is_punctuation(text, n, end, &len) ? end : last;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

const struct tokenizer_kind tokenizer_kinds[] = {
    {"qwen2", word_qwen2, .nfc = true},
    {"smollm", word_smollm, .nfc = false},
    {"llama-bpe", word_llama, .whole_words = true, .add_bos = true},
    {"gpt-2", word_gpt2, .nfc = false},
    {"tekken", word_tekken, .whole_words = true, .add_bos = true},
    {"dbrx", word_llama, .nfc = false},
    {"default", word_default, .nfc = false},
    {0},
};

/* Names that converters gave to one of these for another model: llama.cpp (llama-vocab.cpp) treats them alike. */
const struct tokenizer_alias tokenizer_aliases[] = {
    {"deepseek-r1-qwen", "qwen2"},
    {"megrez", "qwen2"},
    {"kormo", "qwen2"},
    {"f2llmv2", "qwen2"},
    {"stablelm2", "qwen2"},
    {"hunyuan", "qwen2"},
    {"solar-open", "qwen2"},
    {"llama3", "llama-bpe"},
    {"llama-v3", "llama-bpe"},
    {"falcon3", "llama-bpe"},
    {"falcon-h1", "llama-bpe"},
    {"pixtral", "llama-bpe"},
    {"midm-2.0", "llama-bpe"},
    {"lfm2", "llama-bpe"},
    {"smaug-bpe", "dbrx"},
    {"phi-2", "gpt-2"},
    {"gigachat", "gpt-2"},
    {"a.x-4.0", "gpt-2"},
    {"mellum", "gpt-2"},
    {"mpt", "gpt-2"},
    {"olmo", "gpt-2"},
    {"jais", "gpt-2"},
    {"trillion", "gpt-2"},
    {"granite-docling", "gpt-2"},
    {"exaone4", "gpt-2"},
    {"modern-bert", "gpt-2"},
    {"starcoder", "smollm"},
    {"refact", "smollm"},
    {"command-r", "smollm"},
    {"codeshell", "smollm"},
    {"exaone", "smollm"},
    {"minerva-7b", "smollm"},
    {"mellum2", "smollm"},
    {0},
};
const struct tokenizer_kind tokenizer_spm_kind = {"llama", .add_bos = true};
