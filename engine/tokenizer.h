/*
 * tokenizer.h - text <-> token ids, as the model's own tokenizer does it.
 *
 * Byte-level BPE (pre-tokenizers "qwen2", "smollm", "llama-bpe", "gpt-2") and SentencePiece ("llama"), from the
 * tokenizer.ggml.* keys of a GGUF file. Immutable once open; any thread may use it. A word cache makes repeated text cheap.
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

#endif
