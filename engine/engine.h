/*
 * engine.h - a quantized language model on the CPU: file -> tokens -> logits -> text.
 *
 * The one public header of libengine.a. The engine knows models, tokens and roles; it knows nothing of
 * conversations, databases or terminals. Three things are opaque here:
 *
 *   engine_model    a GGUF file: weights, vocabulary, chat template. Immutable once open, so any number of
 *                   sessions and threads may share it. It must outlive its sessions.
 *   engine_session  one context of at most n_ctx tokens: KV cache, sampler state, thread pool. It belongs to
 *                   one thread at a time; only engine_session_cancel may be called from another.
 *   engine_stream   turns token ids into whole UTF-8 sequences (a plain struct; initialise with {0}).
 *
 * Failure: a function that can fail takes (char *err, size_t cap) and writes one sentence for a person, without
 * a trailing newline. The engine never prints and never exits, except when a small allocation fails.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct engine_model engine_model;
typedef struct engine_session engine_session;

enum engine_status {
    ENGINE_OK,
    ENGINE_END,       /* an end-of-generation token was sampled */
    ENGINE_FULL,      /* the window holds n_ctx tokens: nothing more can be evaluated */
    ENGINE_CANCELLED, /* engine_session_cancel; what was evaluated before it stays valid */
    ENGINE_ERROR,     /* see err, which is written in this case only */
};

/* ---- model ---------------------------------------------------------------------------------------------- */

struct engine_model_options {
    const char *path; /* GGUF v2/v3; of a split file any part */
    bool no_mmap;     /* read the file into memory instead of mapping it */
    bool no_repack;   /* keep the file's row layout: slower, but pages stay shared and reclaimable */
    bool vocab_only;  /* tokenizer and template only; the file may hold no tensors */
    bool
        describe; /* for engine_model_info and engine_model_formats: any well-formed file opens, see info.unsupported */
    int threads; /* for repacking; 0 = engine_default_threads() */
    /* Called now and then from the opening thread with the share done, 0..1; returning false gives up. */
    bool (*progress)(void *ctx, float done);
    void *progress_ctx;
};

/* NULL and err on any failure: unreadable, malformed or unsupported files, too little memory. */
engine_model *engine_model_open(const struct engine_model_options *options, char *err, size_t cap);
void engine_model_close(engine_model *model); /* NULL is fine */

enum engine_template {                          /* how the chat format was chosen */
                       ENGINE_TEMPLATE_KNOWN,   /* the file's chat template was recognised */
                       ENGINE_TEMPLATE_MISSING, /* the file has none: a guess, ChatML or the plain transcript */
                       ENGINE_TEMPLATE_UNKNOWN, /* the file's template was not recognised, or is damaged: a guess likewise */
};

struct engine_model_info { /* strings belong to the model */
    const char *name;      /* general.name, or the file's name without ".gguf" */
    const char *architecture;
    const char *quantization; /* the format most bytes of the layers are in, "Q4_1" */
    const char *tokenizer;    /* "smollm", "qwen2", ... */
    const char *chat_format;  /* "chatml", "llama3", ...; "none" is the plain "User: / Assistant:" transcript */
    enum engine_template chat_template;
    const char *cpu; /* kernel set chosen: "avx512vnni", "avx2", "scalar", ... */
    int n_vocab, n_layers, n_embd, n_heads, n_kv_heads, head_dim, n_ff;
    int n_ctx_train; /* 0 where the file does not say */
    uint64_t file_bytes, tensor_bytes, parameters;
    double load_ms;  /* all of engine_model_open */
    double vocab_ms; /* its share for the vocabulary */
    const char
        *unsupported; /* with `describe`: the sentence a plain open would have failed with; else NULL. Then only
                                what the file's keys say is filled in, the rest is 0 or "unknown" */
};
const struct engine_model_info *engine_model_info(const engine_model *model);

/* How many tensors and bytes of the file each weight format has, most bytes first; returns the formats' number, of
 * which at most cap are written to out. */
struct engine_format_use {
    const char *name;
    int tensors;
    uint64_t bytes;
};
size_t engine_model_formats(const engine_model *model, struct engine_format_use *out, size_t cap);

/* ---- tokens --------------------------------------------------------------------------------------------- */

struct engine_tokens { /* a growable array; initialise with {0}, free with engine_tokens_free */
    int32_t *ids;
    size_t n, cap;
};
void engine_tokens_push(struct engine_tokens *tokens, int32_t id);
void engine_tokens_append(struct engine_tokens *tokens, const int32_t *ids, size_t n);
void engine_tokens_free(struct engine_tokens *tokens);

/* Appends the ids of text (UTF-8, len bytes, may hold NUL; invalid bytes are taken as U+FFFD). No BOS is added.
 * With parse_special, control tokens spelled out in the text become those tokens; without, they are text. */
void engine_tokenize(const engine_model *model, const char *text, size_t len, bool parse_special,
                     struct engine_tokens *out);

/* The BOS token that the file wants in front of every text, or -1. */
int32_t engine_text_start(const engine_model *model);

/* The bytes a token stands for; a control token gives zero bytes unless `special`. Owned by the model. */
const char *engine_token_bytes(const engine_model *model, int32_t id, bool special, size_t *len);

/* One text, token by token. Holds back the start of a UTF-8 sequence until its last byte comes; invalid bytes become
 * U+FFFD. Where SentencePiece puts a space in front of every text, the one the first token begins with is no part of
 * the text. */
struct engine_stream {
    unsigned char held[4];
    int n_held;
    bool begun; /* a token that stands for something was pushed */
};
/* Writes what id completes, NUL-terminated, into out (cap >= 8 + 3 x the token's bytes; ENGINE_PIECE_MAX always
 * suffices) and returns its length, 0 while a sequence is unfinished. */
#define ENGINE_PIECE_MAX 4096
size_t engine_stream_push(struct engine_stream *stream, const engine_model *model, int32_t id, char *out, size_t cap);
/* The text ends here: writes U+FFFD for what is still held, NUL-terminated, into out (cap >= 4) and returns its
 * length, 0 where nothing is. The stream is then ready for another text. */
size_t engine_stream_end(struct engine_stream *stream, char *out, size_t cap);

/* ---- chat ----------------------------------------------------------------------------------------------- */

enum engine_role { ENGINE_SYSTEM, ENGINE_USER, ENGINE_ASSISTANT };

struct engine_message {
    enum engine_role role;
    const char *text; /* UTF-8; never parsed for control tokens */
    size_t len;
    const int32_t *ids; /* where known (an answer generated here), used in place of the text, so that the prompt */
    size_t n_ids;       /* extends what the KV cache holds; else NULL */
};

/* Appends the prompt for these messages as the model's template renders it, BOS included where the model has one.
 * Where the first message is not ENGINE_SYSTEM the template's own default system prompt is used, if it has one; a
 * system message with empty text sends none. `generate` appends the header of the assistant's next answer.
 * Fails (false, err) only where the template cannot hold the messages. */
bool engine_render_chat(const engine_model *model, const struct engine_message *messages, size_t n, bool generate,
                        struct engine_tokens *out, char *err, size_t cap);

/* What such a prompt already holds of the answer's text: "<think>\n" where the template begins the thought for the
 * model (Qwen3-Thinking), else "". The whole answer is this and what is sampled. Owned by the model. */
const char *engine_answer_start(const engine_model *model);

/* Appends an empty thought to a prompt that asks for an answer, so that a model that thinks answers at once (Qwen3's
 * enable_thinking=false). Nothing where the template has no such switch, or begins the thought itself. */
void engine_skip_thought(const engine_model *model, struct engine_tokens *prompt);

/* Which bytes of an answer's text belong to it. A plain transcript (chat_format "none") has no token that ends a turn:
 * the model goes on with a line that begins with "User:", and the answer ends before that line. Call it with the whole
 * text each time the text has grown: bytes that may yet become such a line, and white space before them, are left out
 * until they are decided, so `start` and `end` never move back. Other formats: all of the text, at once. */
struct engine_answer_span {
    size_t start, end; /* start: after the white space that follows "Assistant:" */
    bool ended;        /* the next turn has begun: stop sampling */
};
struct engine_answer_span engine_answer_span(const engine_model *model, const char *text, size_t len, bool whole);

/* The thought an answer begins with, where the model is one that reasons (Qwen3, DeepSeek-R1): <think>, what it
 * thinks, </think>, and the answer proper. Only a text that begins with <think>, white space aside, has one; further
 * on it is a word like any other. */
struct engine_thought {
    enum engine_thought_state {
        ENGINE_THOUGHT_UNDECIDED, /* what there is may become <think> */
        ENGINE_THOUGHT_NONE,
        ENGINE_THOUGHT_OPEN, /* </think> has not come */
        ENGINE_THOUGHT_CLOSED,
    } state;
    size_t start, end; /* the thought without marks and the white space at its ends; end == start: nothing yet */
    size_t answer;     /* where the answer proper begins, after white space; 0 without a thought; the length: nowhere
                          yet */
    size_t searched;   /* there is no </think> before this */
};
/* Reads a text of len bytes: initialise with {0}, and give it the text again, from its first byte, as it grows. Until
 * it is whole (no more will come) a beginning of a mark at its end is in neither part, so that what was in one stays
 * there. */
void engine_thought_read(struct engine_thought *thought, const char *text, size_t len, bool whole);

/* ---- session -------------------------------------------------------------------------------------------- */

enum engine_kv_type { ENGINE_KV_F16, ENGINE_KV_Q8_0 };

struct engine_session_options {
    int n_ctx;   /* tokens; 0 = engine_default_context(model) */
    int threads; /* 0 = engine_default_threads() */
    enum engine_kv_type kv_type;
    int attn_window; /* 0 = everything; N: attend to the first 4 and the last N positions */
    int chunk;       /* tokens evaluated at once in prefill; 0 = what is fastest. Results do not depend on it */
};
/* Bytes a session with these options reserves. Pages are used as they are first written: the KV cache's as the context
 * grows. All 0 for a model that no session can be opened for. */
struct engine_session_bytes {
    uint64_t kv;      /* the KV cache of the whole window */
    uint64_t compute; /* activations, logits and what the sampler works with */
};
struct engine_session_bytes engine_session_bytes(const engine_model *model,
                                                 const struct engine_session_options *options);

/* The window of a session that asks for none: 4096 tokens, or what the model was trained on where that is less. */
int engine_default_context(const engine_model *model);

engine_session *engine_session_open(const engine_model *model, const struct engine_session_options *options,
                                    char *err, size_t cap);
void engine_session_close(engine_session *session); /* NULL is fine */

int engine_session_n_ctx(const engine_session *session);
int engine_session_threads(const engine_session *session);
/* 0 = default; between evaluations. Where there is no memory for them the old threads go on. */
void engine_session_set_threads(engine_session *session, int threads);

/* Any thread, async-signal-safe: evaluation returns ENGINE_CANCELLED within a few milliseconds for as long as the
 * flag is set. The caller clears it. */
void engine_session_cancel(engine_session *session, bool cancel);

/* Makes the context equal to ids: keeps the longest common prefix with what the cache holds, evaluates the rest in
 * chunks. After ENGINE_OK the logits of the last id are current. ENGINE_FULL when n > n_ctx (nothing is changed);
 * n == 0 empties the context. progress (may be NULL) is called from this thread after each chunk. */
enum engine_status engine_session_prompt(engine_session *session, const int32_t *ids, size_t n,
                                         void (*progress)(void *ctx, size_t done, size_t total), void *ctx, char *err,
                                         size_t cap);

/* Evaluates n more tokens at the end of the context; logits (may be NULL) receives n x n_vocab floats, otherwise only
 * the last row is computed. */
enum engine_status engine_session_eval(engine_session *session, const int32_t *ids, size_t n, float *logits,
                                       char *err, size_t cap);

struct engine_sampling {                       /* read afresh for every token */
    float temperature;                         /* 0 = greedy */
    int top_k;                                 /* 0 = off */
    float top_p;                               /* 1 = off */
    float min_p;                               /* 0 = off */
    float repeat_penalty;                      /* 1 = off; llama.cpp's meaning */
    int repeat_last_n;                         /* tokens of the context that are penalised, prompt included */
    float presence_penalty, frequency_penalty; /* 0 = off */
    uint64_t seed;                             /* used by engine_session_seed only */
};
/* The file's general.sampling.* where given, else 0.7 / 20 / 0.8 / 0 / 1.1 over 256. */
struct engine_sampling engine_default_sampling(const engine_model *model);
void engine_session_seed(engine_session *session, uint64_t seed); /* 0 = from the operating system */

/* Lookup decoding: where the context repeats itself, several tokens are evaluated at once on a guess. On by default.
 * What is sampled is bit for bit the same without; only the time differs. */
void engine_session_set_lookup(engine_session *session, bool lookup);

/* Fast head: where a few of the largest logits decide what is sampled (top_k, or greedy), rows of the output head that
 * cannot be among them are not computed. On by default; without effect unless the head is Q8_0 and repacked, and the
 * kernel set has multiply_top (matmul.h). What is sampled is bit for bit the same as without, unless a row that
 * belongs to the largest is taken for one that cannot: the chance is below 1e-9 for each of them. */
void engine_session_set_fast_head(engine_session *session, bool fast_head);

/* The next token of the context: evaluates the one sampled before, samples, appends. The id is set for ENGINE_OK and
 * ENGINE_END (an end token is not appended). */
enum engine_status engine_session_next(engine_session *session, const struct engine_sampling *sampling, int32_t *id,
                                       char *err, size_t cap);

/* Forgets all but the first n tokens of the context. */
void engine_session_truncate(engine_session *session, size_t n);

/* The tokens of the context, owned by the session, valid until its next call. */
const int32_t *engine_session_tokens(const engine_session *session, size_t *n);

/* Writes the context and its KV cache to a file, readable by its owner only; an older file of that name is replaced
 * when all is written. restore makes the context what was saved, for the same model, KV type, attention window and
 * layout, and refuses a file that differs in any of these or in a bit of its content: false and err, and the context
 * is then empty. */
bool engine_session_save(const engine_session *session, const char *path, char *err, size_t cap);
bool engine_session_restore(engine_session *session, const char *path, char *err, size_t cap);

struct engine_stats {     /* since the last engine_session_prompt */
    int prompt_tokens;    /* length of the prompt */
    int cached_tokens;    /* of these, taken from the KV cache */
    int evaluated_tokens; /* of these, computed */
    int generated_tokens;
    double prefill_ms;
    double first_token_ms; /* from the call of engine_session_prompt to the first sampled token; 0 before */
    double decode_ms;      /* from the first sampled token to the last */
    int context_tokens;    /* tokens in the context now */
    int drafted_tokens;    /* evaluated on a guess (engine_session_set_lookup) */
    int accepted_tokens;   /* of these, sampled */
    int fast_tokens;       /* evaluated without the whole output head (engine_session_set_fast_head) */
    int64_t fast_rows;     /* rows of the head computed for them */
};
struct engine_stats engine_session_stats(const engine_session *session);

/* ---- machine -------------------------------------------------------------------------------------------- */

/* Memory this process may use in all (of the machine with its swap, the control groups, the address space), and what of
 * it is free now. 0: not known here. */
struct engine_memory {
    uint64_t most, available;
};
struct engine_memory engine_memory(void);

int engine_default_threads(void); /* physical cores this process may use: affinity, cgroup quota, SMT counted once */

#endif
