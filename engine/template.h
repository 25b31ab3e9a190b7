/*
 * template.h - chat templates: a list of (role, text) becomes the model's prompt.
 *
 * The file's Jinja text is recognised, never executed: one table of known formats (ChatML, Llama 3, ...), each the
 * pieces of text around a message. Control tokens come from the table only; a person's text is always encoded as
 * text.
 */
#ifndef TEMPLATE_H
#define TEMPLATE_H

#include "tokenizer.h"

struct chat_template;

/* Recognises tokenizer.chat_template of g. Where there is none, or it is not recognised, a vocabulary with <|im_start|>
 * gets ChatML and any other the plain "User: / Assistant:" transcript. Never fails. */
struct chat_template *template_open(const struct gguf *g, const struct tokenizer *t);
void template_close(struct chat_template *c);

/* "chatml", "llama3", "zephyr", "mistral", "qwen3", "none" */
const char *template_name(const struct chat_template *c);
/* How that format was chosen. A recognised template whose Jinja blocks do not match counts as ENGINE_TEMPLATE_UNKNOWN. */
enum engine_template template_origin(const struct chat_template *c);

/* See engine_render_chat. */
bool template_render(const struct chat_template *c, const struct engine_message *messages, size_t n, bool generate,
                     struct engine_tokens *out, char *err, size_t cap);

/* See engine_answer_span, engine_answer_start and engine_skip_thought. */
struct engine_answer_span template_answer_span(const struct chat_template *c, const char *text, size_t len,
                                               bool whole);
const char *template_answer_start(const struct chat_template *c);
void template_skip_thought(const struct chat_template *c, struct engine_tokens *out);

#endif
