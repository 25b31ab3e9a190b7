/* tokenizer.c - see tokenizer.h: which tokenizer a file has, its special tokens, and encoding as a whole. */
#include "tokenizer.h"
#include "../src/base/clock.h"
#include "../src/base/mem.h"
#include "tokenizer_impl.h"
#include "utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uninorm.h>

/* ---- opening -------------------------------------------------------------------------------------------- */

/* The tokens that end an answer, by name: a file's own keys do not list them all. llama.cpp (llama-vocab.cpp)
 * collects the same. Those that a text could contain count only where the file does not call them ordinary. */
static const struct {
    const char *name;
    bool unmistakable;
} end_names[] = {
    {"<|im_end|>", true},      {"<|endoftext|>", true},
    {"<|eot_id|>", true},      {"<|eom_id|>", true},
    {"<|end_of_text|>", true}, {"<|end|>", true},
    {"<|return|>", true},      {"<|call|>", true},
    {"<end_of_turn>", true},   {"<end_of_utterance>", true},
    {"<|fim_pad|>", true},     {"<|repo_name|>", true},
    {"<|file_sep|>", true},    {"<｜end▁of▁sentence｜>", true},
    {"</s>", false},           {"<eos>", false},
    {"<EOT>", false},          {"_<EOT>", false},
    {"[EOT]", false},          {"[EOS]", false},
    {"<reponame>", false},
};

static const char *const end_keys[] = {
    "tokenizer.ggml.eos_token_id",     "tokenizer.ggml.eot_token_id",     "tokenizer.ggml.eom_token_id",
    "tokenizer.ggml.fim_pad_token_id", "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id",
};

/* Ids this program does not use, but that no sound file has beyond its vocabulary. */
static const char *const other_keys[] = {
    "tokenizer.ggml.unknown_token_id",   "tokenizer.ggml.padding_token_id", "tokenizer.ggml.seperator_token_id",
    "tokenizer.ggml.separator_token_id", "tokenizer.ggml.cls_token_id",     "tokenizer.ggml.mask_token_id",
    "tokenizer.ggml.fim_pre_token_id",   "tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.fim_mid_token_id",
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool choose_pre(struct tokenizer *t, const struct gguf *g, char *err, size_t cap)
{
    struct gguf_string pre = {0}, arch = {0};
    char shown[GGUF_SHOWN], list[200] = "";
    if (!gguf_get_string(g, "tokenizer.ggml.pre", &pre, err, cap) && err[0])
        return false;
    if (!pre.s) { /* files of the time before that key */
        gguf_get_string(g, "general.architecture", &arch, err, cap);
        if (arch.n != 5 || memcmp(arch.s, "qwen2", 5) != 0)
            return gguf_fail(g, err, cap, "key tokenizer.ggml.pre is missing: which tokenizer it has cannot be told");
        pre = arch;
    }
    for (const struct tokenizer_alias *alias = tokenizer_aliases; alias->name; alias++) {
        if (pre.n == strlen(alias->name) && memcmp(pre.s, alias->name, pre.n) == 0)
            pre = (struct gguf_string){alias->kind, strlen(alias->kind)};
    }
    for (const struct tokenizer_kind *kind = tokenizer_kinds; kind->name; kind++) {
        size_t n = strlen(kind->name), used = strlen(list);
        if (pre.n == n && memcmp(pre.s, kind->name, n) == 0) {
            t->kind = kind;
            return true;
        }
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", kind->name);
    }
    return gguf_fail(g, err, cap, "the tokenizer %s (key tokenizer.ggml.pre) is not supported; these are: %s",
                     gguf_show(pre, shown), list);
}

static bool choose_kind(struct tokenizer *t, const struct gguf *g, char *err, size_t cap)
{
    struct gguf_string model = {0};
    char shown[GGUF_SHOWN];
    if (!gguf_get_string(g, "tokenizer.ggml.model", &model, err, cap))
        return err[0] ? false : gguf_fail(g, err, cap, "it has no vocabulary (key tokenizer.ggml.model is missing)");
    if (model.n == 4 && memcmp(model.s, "gpt2", 4) == 0)
        return choose_pre(t, g, err, cap);
    if (model.n == 5 && memcmp(model.s, "llama", 5) == 0) {
        t->kind = &tokenizer_spm_kind;
        t->spm = true;
        return true;
    }
    return gguf_fail(g, err, cap,
                     "the tokenizer model %s (key tokenizer.ggml.model) is not supported; gpt2 and llama are",
                     gguf_show(model, shown));
}

/* -1 stays where the key is absent. */
static bool read_id(const struct tokenizer *t, const struct gguf *g, const char *key, int32_t *id, char *err,
                    size_t cap)
{
    int64_t value;
    if (gguf_get_int(g, key, 0, t->n_vocab - 1, &value, err, cap))
        *id = (int32_t)value;
    else if (err[0]) {
        /* Some converters write -1 or 2^32 - 1 for "none". */
        const struct gguf_value *v = gguf_find(g, key);
        bool integer = !v->is_array && v->type != GGUF_STRING && v->type != GGUF_F32 && v->type != GGUF_F64;
        if (!integer || (gguf_int_at(v, 0) != -1 && gguf_int_at(v, 0) != UINT32_MAX))
            return false;
        err[0] = '\0';
    }
    return true;
}

static bool read_ids(struct tokenizer *t, const struct gguf *g, char *err, size_t cap)
{
    t->bos = t->eos = -1;
    if (t->spm && t->n_vocab > 2) { /* SentencePiece's own defaults */
        t->bos = 1;
        t->eos = 2;
    }
    for (size_t i = 0; i < COUNT(other_keys); i++) {
        int32_t ignored;
        if (!read_id(t, g, other_keys[i], &ignored, err, cap))
            return false;
    }
    for (size_t i = 0; i < COUNT(end_keys); i++) {
        int32_t id = i == 0 ? t->eos : -1;
        if (!read_id(t, g, end_keys[i], &id, err, cap))
            return false;
        if (i == 0)
            t->eos = id;
        if (id >= 0)
            t->end[id] = true;
    }
    if (!read_id(t, g, "tokenizer.ggml.bos_token_id", &t->bos, err, cap))
        return false;
    t->add_bos = t->kind->add_bos;
    t->space_prefix = t->spm;
    if (!gguf_get_bool(g, "tokenizer.ggml.add_bos_token", &t->add_bos, err, cap) && err[0])
        return false;
    return gguf_get_bool(g, "tokenizer.ggml.add_space_prefix", &t->space_prefix, err, cap) || !err[0];
}

static void mark_ends(struct tokenizer *t)
{
    for (size_t i = 0; i < COUNT(end_names); i++) {
        const char *name = end_names[i].name;
        int32_t id = vocab_find(t, name, strlen(name), TYPES_ANY & ~TYPE_BIT(TOKEN_NORMAL));
        if (id < 0 && end_names[i].unmistakable)
            id = vocab_find(t, name, strlen(name), TYPES_ANY);
        if (id >= 0)
            t->end[id] = true;
    }
    for (int32_t id = 0; id < t->n_vocab; id++) {
        if (t->end[id] && t->type[id] != TOKEN_UNKNOWN)
            t->type[id] = TOKEN_CONTROL;
    }
    if (t->bos >= 0 && t->type[t->bos] != TOKEN_UNKNOWN)
        t->type[t->bos] = TOKEN_CONTROL;
}

static void collect_specials(struct tokenizer *t)
{
    bool seen[TOKEN_MAX_BYTES + 1] = {0};
    for (int32_t id = 0; id < t->n_vocab; id++) {
        size_t n = t->offset[id + 1] - t->offset[id];
        if (n == 0 || !(TYPE_BIT(t->type[id]) & TYPES_SPECIAL))
            continue;
        t->special_start[(unsigned char)t->bytes[t->offset[id]]] = true;
        t->n_special_lengths += !seen[n];
        seen[n] = true;
    }
    t->special_lengths = mem_new(t->n_special_lengths, sizeof *t->special_lengths);
    for (size_t n = TOKEN_MAX_BYTES, i = 0; n > 0; n--) {
        if (seen[n])
            t->special_lengths[i++] = (uint16_t)n;
    }
}

struct tokenizer *tokenizer_open(const struct gguf *g, char *err, size_t cap)
{
    struct tokenizer *t = mem_new(1, sizeof *t);
    t->seed = ((uint64_t)(uintptr_t)t << 20 ^ (uint64_t)clock_ns()) * 0x9E3779B97F4A7C15;
    err[0] = '\0';
    bool ok = choose_kind(t, g, err, cap) && vocab_open(t, g, err, cap);
    if (ok) {
        t->end = mem_new((size_t)t->n_vocab, sizeof *t->end);
        ok = read_ids(t, g, err, cap);
    }
    if (ok) {
        mark_ends(t);
        collect_specials(t);
        ok = t->spm ? spm_open(t, g, err, cap) : bpe_open(t, g, err, cap);
    }
    if (ok)
        return t;
    tokenizer_close(t);
    return NULL;
}

void tokenizer_close(struct tokenizer *t)
{
    if (!t)
        return;
    vocab_close(t);
    free(t->end);
    free(t->merges);
    free(t->rank);
    free(t->special_lengths);
    free(t);
}

/* ---- encoding ------------------------------------------------------------------------------------------- */

/* Below U+0300 every character is in NFC already: no combining marks, nothing that composes. */
static bool needs_nfc(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)text[i] >= 0xCC)
            return true;
    }
    return false;
}

static void encode_text(const struct tokenizer *t, const char *text, size_t n, bool start, struct engine_tokens *out)
{
    if (t->spm) {
        spm_encode(t, text, n, start && t->space_prefix, out);
        return;
    }
    uint8_t *normal = NULL;
    if (t->kind->nfc && needs_nfc(text, n)) {
        size_t normal_n;
        normal = mem_check(u8_normalize(UNINORM_NFC, (const uint8_t *)text, n, NULL, &normal_n), n);
        text = (const char *)normal;
        n = normal_n;
    }
    bpe_encode(t, text, n, out);
    free(normal);
}

static void encode_special(const struct tokenizer *t, const char *text, size_t n, struct engine_tokens *out)
{
    size_t from = 0;
    for (size_t at = 0; at < n;) {
        int32_t id = tokenizer_special_at(t, text + at, n - at);
        if (id < 0) {
            at++;
            continue;
        }
        encode_text(t, text + from, at - from, true, out);
        engine_tokens_push(out, id);
        from = at += t->offset[id + 1] - t->offset[id];
    }
    encode_text(t, text + from, n - from, true, out);
}

static void encode(const struct tokenizer *t, const char *text, size_t len, bool special, bool start,
                   struct engine_tokens *out)
{
    char *repaired = utf8_is_valid(text, len) ? NULL : utf8_repair(text, len, &len);
    const char *valid = repaired ? repaired : text;
    if (special)
        encode_special(t, valid, len, out);
    else
        encode_text(t, valid, len, start, out);
    free(repaired);
}

void tokenizer_encode(const struct tokenizer *t, const char *text, size_t len, bool parse_special,
                      struct engine_tokens *out)
{
    encode(t, text, len, parse_special, true, out);
}

void tokenizer_encode_more(const struct tokenizer *t, const char *text, size_t len, struct engine_tokens *out)
{
    encode(t, text, len, false, false, out);
}

/* ---- tokens --------------------------------------------------------------------------------------------- */

static bool exists(const struct tokenizer *t, int32_t id)
{
    return id >= 0 && id < t->n_vocab;
}

const char *tokenizer_bytes(const struct tokenizer *t, int32_t id, bool special, size_t *len)
{
    *len = 0;
    if (!exists(t, id))
        return "";
    bool shown = t->type[id] == TOKEN_NORMAL || t->type[id] == TOKEN_USER || t->type[id] == TOKEN_BYTE;
    if (shown || special)
        *len = t->offset[id + 1] - t->offset[id];
    return t->bytes + t->offset[id];
}

int32_t tokenizer_find(const struct tokenizer *t, const char *token)
{
    return vocab_find(t, token, strlen(token), TYPES_ANY);
}

int32_t tokenizer_special_at(const struct tokenizer *t, const char *text, size_t n)
{
    if (!t->special_start[(unsigned char)text[0]])
        return -1;
    for (size_t i = 0; i < t->n_special_lengths; i++) {
        size_t len = t->special_lengths[i];
        int32_t id = len <= n ? vocab_find(t, text, len, TYPES_SPECIAL) : -1;
        if (id >= 0)
            return id;
    }
    return -1;
}

bool tokenizer_is_control(const struct tokenizer *t, int32_t id)
{
    return exists(t, id) && (t->type[id] == TOKEN_CONTROL || t->end[id]);
}

bool tokenizer_is_end(const struct tokenizer *t, int32_t id)
{
    return exists(t, id) && t->end[id];
}

int32_t tokenizer_bos(const struct tokenizer *t)
{
    return t->add_bos ? t->bos : -1;
}

int32_t tokenizer_bos_id(const struct tokenizer *t)
{
    return t->bos;
}

int32_t tokenizer_eos_id(const struct tokenizer *t)
{
    return t->eos;
}

bool tokenizer_prefixes_space(const struct tokenizer *t)
{
    return t->spm && t->space_prefix;
}

const char *tokenizer_name(const struct tokenizer *t)
{
    return t->kind->name;
}

int tokenizer_n_vocab(const struct tokenizer *t)
{
    return t->n_vocab;
}
