/*
 * tokenizer_impl.h - what the parts of the tokenizer share.
 *
 *   tokenizer.c        opening, the special tokens, encoding as a whole
 *   tokenizer_vocab.c  the tokens' bytes and a hash over them
 *   tokenizer_pre.c    text -> words, as each model's regular expression cuts it
 *   tokenizer_merge.c  the common core: joins neighbouring pieces of a word, best pair first
 *   tokenizer_bpe.c    byte-level BPE: pairs are merges, by rank
 *   tokenizer_spm.c    SentencePiece: pairs are tokens, by score
 */
#ifndef TOKENIZER_IMPL_H
#define TOKENIZER_IMPL_H

#include "tokenizer.h"

enum token_type { /* llama.cpp's token types, as in tokenizer.ggml.token_type */
                  TOKEN_NORMAL = 1,
                  TOKEN_UNKNOWN,
                  TOKEN_CONTROL,
                  TOKEN_USER, /* "user defined": an added token that is part of the text, as <tool_call> */
                  TOKEN_UNUSED,
                  TOKEN_BYTE,
};
#define TYPE_BIT(type) (1u << (type))
#define TYPES_ANY 0xFFu
#define TYPES_TEXT (TYPE_BIT(TOKEN_NORMAL) | TYPE_BIT(TOKEN_UNUSED))   /* what text may become */
#define TYPES_SPECIAL (TYPE_BIT(TOKEN_CONTROL) | TYPE_BIT(TOKEN_USER)) /* what only parse_special gives */

#define VOCAB_ALPHABET 324   /* the code points of the byte-level alphabet lie below */
#define TOKEN_MAX_BYTES 1024 /* 3 x this + 8 < ENGINE_PIECE_MAX; real tokens stay below 256 */

struct vocab_slot {
    uint32_t tag; /* other bits of the hash than those that choose the slot */
    int32_t id;   /* -1: free */
};

struct merge {
    int32_t left, right; /* left is -1 in a free slot */
    uint32_t rank;
    int32_t id;
};

/* One row per tokenizer.ggml.pre; SentencePiece has one too. */
struct tokenizer_kind {
    const char *name;
    size_t (*word)(const unsigned char *text, size_t n); /* bytes of the first word of text; n > 0, result > 0 */
    bool nfc;                                            /* the original normalizes */
    bool whole_words;                                    /* a word that is a token is not merged ("ignore_merges") */
    bool add_bos;                                        /* where the file does not say */
};

struct tokenizer {
    const struct tokenizer_kind *kind;
    bool spm;
    bool space_prefix; /* SentencePiece: text begins with a space of its own */
    bool add_bos;
    int32_t bos, eos; /* -1 = none */
    int n_vocab;
    uint8_t *type;    /* enum token_type of each token */
    bool *end;        /* end-of-generation tokens */
    char *bytes;      /* what the tokens stand for, one after the other; control tokens: their name */
    uint32_t *offset; /* n_vocab + 1 offsets into bytes */
    size_t longest;   /* bytes of the longest token */
    uint64_t seed;    /* of the hashes: differs from run to run, so that no file can be made to collide */
    struct vocab_slot *slots;
    uint32_t slot_mask;
    uint16_t alphabet[VOCAB_ALPHABET]; /* byte + 1 for each code point of it, 0 for the others */
    int32_t byte_id[256];              /* the token of each single byte, -1 = none */
    struct merge *merges;              /* byte-level BPE */
    uint32_t merge_mask;
    uint32_t *rank;            /* SentencePiece: order of the tokens by falling score */
    bool special_start[256];   /* first bytes of the special tokens */
    uint16_t *special_lengths; /* their lengths, each once, longest first */
    size_t n_special_lengths;
};

/* ---- tokenizer_vocab.c */

/* Reads tokens and types: type, bytes, offset, longest, byte_id, slots. */
bool vocab_open(struct tokenizer *t, const struct gguf *g, char *err, size_t cap);
void vocab_close(struct tokenizer *t);
/* The id of the token with these bytes and one of these types, or -1. */
int32_t vocab_find(const struct tokenizer *t, const char *bytes, size_t n, unsigned types);
/* The same in two steps, for many look-ups at once: hash VOCAB_AHEAD of them, then find (0 < n <= longest). */
#define VOCAB_AHEAD 16
uint64_t vocab_hash(const struct tokenizer *t, const char *bytes, size_t n);
int32_t vocab_find_hashed(const struct tokenizer *t, uint64_t hash, const char *bytes, size_t n, unsigned types);
bool vocab_is(const struct tokenizer *t, int32_t id, const char *bytes, size_t n, unsigned types);
/* The byte-level alphabet of GPT-2 back to bytes, out has room for n; 0 where text has a character outside of it. */
size_t vocab_unmap(const struct tokenizer *t, const char *text, size_t n, char *out);
/* A power of two that leaves room for n entries and at least a third free. */
uint32_t vocab_table_size(uint64_t n);

static inline uint64_t vocab_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* ---- tokenizer_pre.c */

extern const struct tokenizer_kind tokenizer_kinds[]; /* ends with a row without a name */
struct tokenizer_alias {
    const char *name, *kind;
};
extern const struct tokenizer_alias tokenizer_aliases[]; /* likewise */
extern const struct tokenizer_kind tokenizer_spm_kind;

/* ---- tokenizer_merge.c */

struct piece {
    uint32_t start, end; /* of the word's bytes */
    int32_t id;          /* -1: no token (yet) */
    int32_t prev, next;  /* neighbours, -1 at the ends */
};

/* Whether two neighbouring pieces may be joined: the rank (smaller goes first) and the id of the whole. */
typedef bool merge_fn(const struct tokenizer *t, const char *word, const struct piece *a, const struct piece *b,
                      uint32_t *rank, int32_t *id);

/* Joins until no pair is left, in O(n log n). pieces are in order, linked by this function; the survivors are those
 * reached from pieces[0] by next. */
void merge_pieces(const struct tokenizer *t, const char *word, struct piece *pieces, size_t n, merge_fn *can_merge);

/* ---- tokenizer_bpe.c, tokenizer_spm.c: n bytes of valid UTF-8 */

bool bpe_open(struct tokenizer *t, const struct gguf *g, char *err, size_t cap);
void bpe_encode(const struct tokenizer *t, const char *text, size_t n, struct engine_tokens *out);

bool spm_open(struct tokenizer *t, const struct gguf *g, char *err, size_t cap);
void spm_encode(const struct tokenizer *t, const char *text, size_t n, bool space_prefix, struct engine_tokens *out);

#endif
