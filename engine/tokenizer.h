/*
 * tokenizer.h - text <-> token ids, as the model's own tokenizer does it.
 *
 * Byte-level BPE (with the pre-tokenizers of tokenizer_pre.c, "qwen2", "llama-bpe", ...) and SentencePiece ("llama"),
 * from the tokenizer.ggml.* keys of a GGUF file. Immutable once open; any thread may use it.
 *
 * Text is text: only tokenizer_encode with parse_special ever gives a control or user-defined token, whatever is
 * spelled out.
 */
#ifndef TOKENIZER_H
#define TOKENIZER_H

#include "engine.h"
#include "gguf.h"

struct tokenizer;

/* Reads the vocabulary; g must outlive the tokenizer (token texts point into it). */
struct tokenizer *tokenizer_open(const struct gguf *g, char *err, size_t cap);
void tokenizer_close(struct tokenizer *t);

const char *tokenizer_name(const struct tokenizer *t); /* "smollm", "qwen2", "llama", ... */
int tokenizer_n_vocab(const struct tokenizer *t);

/* engine_tokenize and engine_token_bytes without the model around them. */
void tokenizer_encode(const struct tokenizer *t, const char *text, size_t len, bool parse_special,
                      struct engine_tokens *out);
const char *tokenizer_bytes(const struct tokenizer *t, int32_t id, bool special, size_t *len);

int32_t tokenizer_find(const struct tokenizer *t, const char *token); /* the id of exactly this token, or -1 */
bool tokenizer_is_control(const struct tokenizer *t, int32_t id); /* control or end of generation: never penalised */
bool tokenizer_is_end(const struct tokenizer *t, int32_t id);     /* every end-of-generation token */
int32_t tokenizer_bos(const struct tokenizer *t);                 /* -1 unless the model wants one (add_bos_token) */
int32_t tokenizer_bos_id(const struct tokenizer *t);              /* the same, wanted or not; -1 if there is none */
int32_t tokenizer_eos_id(const struct tokenizer *t); /* tokenizer.ggml.eos_token_id; -1 if there is none */

/* Whether a text is encoded with a space in front of it that is no part of it (SentencePiece's add_space_prefix). */
bool tokenizer_prefixes_space(const struct tokenizer *t);

/* The control or user-defined token that text (len > 0 bytes) begins with, the longest of several, or -1. */
int32_t tokenizer_special_at(const struct tokenizer *t, const char *text, size_t len);

/* tokenizer_encode without parse_special, for text that comes right after other text of the same prompt:
 * SentencePiece puts its leading space only at the start and after a control token. */
void tokenizer_encode_more(const struct tokenizer *t, const char *text, size_t len, struct engine_tokens *out);

#endif
