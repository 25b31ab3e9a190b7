/*
 * template.c - see template.h: one table of formats, the recognition of a file's Jinja text, and the rendering.
 *
 * Text is collected until a control token comes and encoded as one run, as it would be if the original tokenizer met
 * the whole prompt: "user\n" and the person's words share words and line ends. Only the table's own strings, never a
 * message, are searched for control tokens.
 */
#include "template.h"
#include "../src/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Within the strings of the table */
#define EOS "\x01"  /* the file's end-of-sequence token */
#define BOS "\x02"  /* its beginning-of-sequence token, but for the one that the prompt begins with anyway */
#define DATE "\x03" /* the date the template falls back to */

enum system_place {
    SYSTEM_OWN,   /* a message of its own */
    SYSTEM_FIRST, /* at the start of the next question */
    SYSTEM_LAST,  /* at the start of the last message, if that is a question */
};

enum trim { TRIM_NONE, TRIM_IF_SAID, TRIM_ALL, TRIM_ANSWERS_IF_SAID };

struct format {
    const char *name;
    const char *marks[3]; /* what the template's text must contain, all of them */
    const char *variant;  /* found in variants that differ from this format: they get it, as a guess; or NULL */
    const char *token;    /* where no template is recognised, a vocabulary with this token has this format; or NULL */
    const char *before[3]; /* a message, by enum engine_role; before[ENGINE_ASSISTANT] asks for an answer too */
    const char *after[3];
    const char *lead;     /* between before[ENGINE_ASSISTANT] and an answer's text (not its ids) */
    const char *preamble; /* begins the system message, which is there even without a text */
    enum system_place system;
    enum trim trim;
    bool thinks;     /* Qwen3: answers begin with a <think> block, which is not sent back */
    bool spelled;    /* before and after of questions, and lead, are taken from the template's literals */
    bool prompts;    /* the template may have a default system prompt */
    bool transcript; /* no token ends a turn: see plain_turns */
    /* The BOS in front of questions is there only where the template's text contains this; or NULL. */
    const char *begins;
};

static const struct format formats[] = {
    {.name = "qwen3",
     .marks = {"<|im_start|>", "</think>", "reasoning_content"},
     .before = {"<|im_start|>system\n", "<|im_start|>user\n", "<|im_start|>assistant\n"},
     .after = {"<|im_end|>\n", "<|im_end|>\n", "<|im_end|>\n"},
     .thinks = true},
    {.name = "chatml",
     .marks = {"<|im_start|>"},
     .token = "<|im_start|>",
     .before = {"<|im_start|>system\n", "<|im_start|>user\n", "<|im_start|>assistant\n"},
     .after = {"<|im_end|>\n", "<|im_end|>\n", "<|im_end|>\n"},
     .trim = TRIM_IF_SAID,
     .prompts = true},
    /* Llama 3.1 to 3.3 */
    {.name = "llama3",
     .marks = {"<|start_header_id|>", "Cutting Knowledge Date: December 2023"},
     .before = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|start_header_id|>user<|end_header_id|>\n\n",
                "<|start_header_id|>assistant<|end_header_id|>\n\n"},
     .after = {"<|eot_id|>", "<|eot_id|>", "<|eot_id|>"},
     .preamble = "Cutting Knowledge Date: December 2023\nToday Date: " DATE "\n\n",
     .trim = TRIM_ALL},
    {.name = "llama3",
     .marks = {"<|start_header_id|>"},
     .before = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|start_header_id|>user<|end_header_id|>\n\n",
                "<|start_header_id|>assistant<|end_header_id|>\n\n"},
     .after = {"<|eot_id|>", "<|eot_id|>", "<|eot_id|>"},
     .trim = TRIM_ALL},
    {.name = "zephyr",
     .marks = {"<|user|>", "<|assistant|>", "content'] + eos_token"},
     .before = {"<|system|>\n", "<|user|>\n", "<|assistant|>\n"},
     .after = {EOS "\n", EOS "\n", EOS "\n"}},
    {.name = "llama2",
     .marks = {"[INST]", "<<SYS>>"},
     .before = {"<<SYS>>\n", BOS "[INST] ", ""},
     .after = {"\n<</SYS>>\n\n", " [/INST]", " " EOS},
     .lead = " ",
     .system = SYSTEM_FIRST,
     .trim = TRIM_ALL,
     .begins = "bos_token + '[INST]"}, /* not so in the conversions of Llama 2's pupils */
    /* Mistral: the versions differ in spaces, and in where the system prompt goes. */
    {.name = "mistral",
     .marks = {"[INST]", "loop.last and system_message"},
     .variant = "[SYSTEM_PROMPT]",
     .before = {"", "[INST] ", ""},
     .after = {"\n\n", "[/INST]", EOS},
     .system = SYSTEM_LAST,
     .trim = TRIM_ANSWERS_IF_SAID,
     .spelled = true},
    {.name = "mistral",
     .marks = {"[INST]"},
     .variant = "[SYSTEM_PROMPT]",
     .before = {"", "[INST] ", ""},
     .after = {"\n\n", "[/INST]", EOS},
     .system = SYSTEM_FIRST,
     .trim = TRIM_ANSWERS_IF_SAID,
     .spelled = true},
};

/* Where nothing is known: a plain transcript, which every language model has seen. */
static const struct format plain = {.name = "none",
                                    .before = {"", "User: ", "Assistant:"},
                                    .after = {"\n\n", "\n", "\n"},
                                    .lead = " ",
                                    .transcript = true};

/* What begins a turn of a plain transcript: an answer ends before a line that begins with one of these. */
static const char *const plain_turns[] = {"User:", "Assistant:"};

struct chat_template {
    const struct tokenizer *tokenizer;
    struct format format; /* a row of the table, with the strings taken from the template in place */
    enum engine_template origin;
    int32_t bos;  /* the prompt begins with it; -1 = with none */
    bool trim[3]; /* by role */
    char *system; /* the template's default system prompt, or NULL */
    char *date;
    char *spelled[2];  /* owned strings that format points to */
    int32_t think_end; /* </think>, or -1 */
    bool may_skip;     /* it thinks, and an empty thought asks it not to */
    const char *start; /* what a prompt holds of the answer asked for, or "" */
};

/* ---- reading the template's text ------------------------------------------------------------------------ */

/* Undoes the escapes of a Jinja string literal. */
static char *unescape(const char *s, size_t n)
{
    char *out = mem_alloc(n + 1);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '\\' && i + 1 < n) {
            c = s[++i];
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
        out[at++] = c;
    }
    out[at] = '\0';
    return out;
}

/* The string literal that holds `part`, as it would be rendered; NULL where there is none. */
static char *literal_with(const char *text, const char *part)
{
    const char *at = strstr(text, part);
    if (!at)
        return NULL;
    const char *start = at;
    while (start > text && start[-1] != '\'' && start[-1] != '"' && start[-1] != '\n')
        start--;
    if (start == text || start[-1] == '\n')
        return NULL;
    const char *end = strchr(at, start[-1]);
    return end ? unescape(start, (size_t)(end - start)) : NULL;
}

/* The literal text between <|im_start|>system\n and <|im_end|>: the default system prompt of a ChatML template. */
static char *default_system(const char *text)
{
    static const char head[] = "<|im_start|>system";
    for (const char *at = text; (at = strstr(at, head));) {
        at += sizeof head - 1;
        const char *start = *at == '\n' ? at + 1 : strncmp(at, "\\n", 2) == 0 ? at + 2 : NULL;
        const char *end = strstr(at, "<|im_end|>");
        if (!start || !end || end <= start)
            continue;
        /* What is put together, here with a message, has quotes and braces in it. */
        size_t plain_text = strcspn(start, "'\"{}");
        if (start + plain_text >= end)
            return unescape(start, (size_t)(end - start));
    }
    return NULL;
}

/* {% set system_message = '...' %}, where the template puts that variable into the system message. */
static char *default_variable(const char *text)
{
    static const char set[] = "set system_message = ";
    for (const char *at = text; strstr(text, "+ system_message +") && (at = strstr(at, set));) {
        at += sizeof set - 1;
        const char *end = *at == '\'' || *at == '"' ? strchr(at + 1, *at) : NULL;
        if (end && end > at + 1)
            return unescape(at + 1, (size_t)(end - at - 1));
    }
    return NULL;
}

/* date_string = "26 Jul 2024": a fixed date, so that the prompt of today extends the one of yesterday. */
static char *default_date(const char *text)
{
    static const char head[] = "set date_string = \"";
    const char *at = strstr(text, head);
    size_t n = at ? strcspn(at + sizeof head - 1, "\"") : 0;
    return n ? unescape(at + sizeof head - 1, n) : mem_copy("26 Jul 2024", 11);
}

static void spell(struct chat_template *c, const char *text)
{
    c->spelled[0] = literal_with(text, "[INST]");
    c->spelled[1] = literal_with(text, "[/INST]");
    if (c->spelled[0] && c->spelled[1]) {
        c->format.before[ENGINE_USER] = c->spelled[0];
        c->format.after[ENGINE_USER] = c->spelled[1];
    }
    if (strstr(text, "' ' + message") || strstr(text, "\" \" + message"))
        c->format.lead = " ";
    if (strstr(text, "eos_token + ' '"))
        c->format.after[ENGINE_ASSISTANT] = EOS " ";
}

/* The byte after the tag that begins at `tag` ("{%", "{{" or "{#"), string literals skipped; NULL where it is not
 * closed. */
static const char *tag_end(const char *tag)
{
    char close = tag[1] == '{' ? '}' : tag[1], quote = 0;
    for (const char *at = tag + 2; *at; at++) {
        if (quote) {
            quote = *at == quote ? 0 : quote;
            at += *at == '\\' && at[1];
        } else if (close != '#' && (*at == '\'' || *at == '"')) {
            quote = *at;
        } else if (*at == close && at[1] == '}') {
            return at + 2;
        }
    }
    return NULL;
}

/* Whether every tag of the Jinja text is closed, and every for, if and macro has its end. A text cut short or
 * damaged by an edit fails; what the statements mean is not looked at. */
static bool blocks_match(const char *text)
{
    static const char *const kinds[] = {"for", "if", "macro"};
    int open[sizeof kinds / sizeof *kinds] = {0};
    for (const char *at = text, *end; (at = strchr(at, '{')); at = end) {
        end = at + 1;
        if (at[1] != '%' && at[1] != '{' && at[1] != '#')
            continue;
        if (!(end = tag_end(at)))
            return false;
        const char *word = at + 2 + strspn(at + 2, "-+ \t\r\n");
        bool ends = at[1] == '%' && strncmp(word, "end", 3) == 0;
        size_t n = strspn(word += ends ? 3 : 0, "abcdefghijklmnopqrstuvwxyz_");
        for (size_t i = 0; at[1] == '%' && i < sizeof kinds / sizeof *kinds; i++) {
            if (n == strlen(kinds[i]) && memcmp(word, kinds[i], n) == 0)
                open[i] += ends ? -1 : 1;
            if (open[i] < 0)
                return false;
        }
    }
    return !open[0] && !open[1] && !open[2];
}

static bool matches(const struct format *f, const char *text)
{
    for (size_t i = 0; i < 3 && f->marks[i]; i++) {
        if (!strstr(text, f->marks[i]))
            return false;
    }
    return true;
}

static const struct format *recognise(const char *text, const struct tokenizer *t, enum engine_template *origin)
{
    bool sound = text && blocks_match(text);
    for (size_t i = 0; text && i < sizeof formats / sizeof *formats; i++) {
        /* A damaged template is a hint, taken where the vocabulary agrees. */
        if (matches(&formats[i], text) && (sound || tokenizer_find(t, formats[i].marks[0]) >= 0)) {
            bool variant = formats[i].variant && strstr(text, formats[i].variant);
            *origin = sound && !variant ? ENGINE_TEMPLATE_KNOWN : ENGINE_TEMPLATE_UNKNOWN;
            return &formats[i];
        }
    }
    *origin = text ? ENGINE_TEMPLATE_UNKNOWN : ENGINE_TEMPLATE_MISSING;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (formats[i].token && tokenizer_find(t, formats[i].token) >= 0)
            return &formats[i];
    }
    return &plain;
}

static void read_details(struct chat_template *c, const char *text)
{
    bool trims = strstr(text, "|trim") || strstr(text, "| trim");
    for (int role = 0; role < 3; role++)
        c->trim[role] = c->format.trim == TRIM_ALL || (c->format.trim == TRIM_IF_SAID && trims);
    if (c->format.trim == TRIM_ANSWERS_IF_SAID)
        c->trim[ENGINE_ASSISTANT] = trims;
    if (c->format.prompts && !(c->system = default_system(text)))
        c->system = default_variable(text);
    if (c->format.preamble)
        c->date = default_date(text);
    if (c->format.spelled)
        spell(c, text);
    if (c->format.begins && !strstr(text, c->format.begins))
        c->format.before[ENGINE_USER] += sizeof BOS - 1;
    if (c->format.thinks && strstr(text, "<|im_start|>assistant\\n<think>\\n'"))
        c->start = "<think>\n";
    c->may_skip = c->format.thinks && strstr(text, "enable_thinking");
    if (strstr(text, "bos_token"))
        c->bos = tokenizer_bos_id(c->tokenizer);
}

struct chat_template *template_open(const struct gguf *g, const struct tokenizer *t)
{
    struct chat_template *c = mem_new(1, sizeof *c);
    struct gguf_string jinja = {0};
    char ignored[200];
    gguf_get_string(g, "tokenizer.chat_template", &jinja, ignored, sizeof ignored);
    char *text = jinja.n ? mem_copy(jinja.s, jinja.n) : NULL;
    c->tokenizer = t;
    c->bos = tokenizer_bos(t);
    c->think_end = tokenizer_find(t, "</think>");
    c->format = *recognise(text, t, &c->origin);
    c->start = "";
    if (text)
        read_details(c, text);
    free(text);
    return c;
}

void template_close(struct chat_template *c)
{
    if (!c)
        return;
    free(c->system);
    free(c->date);
    for (size_t i = 0; i < sizeof c->spelled / sizeof *c->spelled; i++)
        free(c->spelled[i]);
    free(c);
}

const char *template_name(const struct chat_template *c)
{
    return c->format.name;
}

enum engine_template template_origin(const struct chat_template *c)
{
    return c->origin;
}

/* ---- putting a prompt together -------------------------------------------------------------------------- */

struct prompt {
    const struct chat_template *c;
    struct engine_tokens *out;
    char *run; /* text since the last token */
    size_t n, cap;
    bool start; /* the run begins the prompt or follows a control token */
    bool fresh; /* nothing but BOS was put yet */
};

static void flush(struct prompt *p)
{
    if (p->n && p->start)
        tokenizer_encode(p->c->tokenizer, p->run, p->n, false, p->out);
    else if (p->n)
        tokenizer_encode_more(p->c->tokenizer, p->run, p->n, p->out);
    p->start = p->start && !p->n;
    p->n = 0;
}

static void put_text(struct prompt *p, const char *s, size_t n)
{
    if (!n)
        return;
    if (p->cap - p->n < n)
        p->run = mem_resize(p->run, p->cap = (p->cap + n) * 2, 1);
    memcpy(p->run + p->n, s, n);
    p->n += n;
    p->fresh = false;
}

static void put_control(struct prompt *p, int32_t id)
{
    if (id < 0)
        return;
    flush(p);
    engine_tokens_push(p->out, id);
    p->start = true;
    p->fresh = false;
}

/* A string of the table: its control tokens become tokens, the rest is text. */
static void put(struct prompt *p, const char *s)
{
    const struct tokenizer *t = p->c->tokenizer;
    for (size_t left = s ? strlen(s) : 0; left;) {
        int32_t id = tokenizer_special_at(t, s, left);
        size_t used = 1;
        if (id >= 0) {
            tokenizer_bytes(t, id, true, &used);
            put_control(p, id);
        } else if (*s == *EOS) {
            put_control(p, tokenizer_eos_id(t));
        } else if (*s == *BOS) {
            if (!p->fresh)
                put_control(p, p->c->bos);
        } else if (*s == *DATE) {
            put_text(p, p->c->date, strlen(p->c->date));
        } else {
            put_text(p, s, 1);
        }
        s += used;
        left -= used;
    }
}

/* ---- messages ------------------------------------------------------------------------------------------- */

/* What Python's str.strip takes for a space, as UTF-8. */
static const char *const spaces[] = {
    " ",        "\t",       "\n",     "\v",     "\f",     "\r",     "\x1c",   "\x1d",   "\x1e",   "\x1f",
    "\xC2\x85", "\xC2\xA0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
    "\u2007",   "\u2008",   "\u2009", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000",
};

static void trim(struct gguf_string *s)
{
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        size_t n = strlen(spaces[i]);
        bool at_start = s->n >= n && memcmp(s->s, spaces[i], n) == 0;
        bool at_end = s->n >= n && memcmp(s->s + s->n - n, spaces[i], n) == 0;
        if (at_start || at_end) {
            s->s += at_start ? n : 0;
            s->n -= n;
            i = (size_t)-1; /* from the first kind of space again */
        }
    }
}

static struct gguf_string text_of(const struct prompt *p, const struct engine_message *m)
{
    struct gguf_string s = {m->text, m->len};
    if (p->c->trim[m->role])
        trim(&s);
    return s;
}

static struct gguf_string strip_newlines(struct gguf_string s, bool left, bool right)
{
    for (; left && s.n && s.s[0] == '\n'; s.n--)
        s.s++;
    for (; right && s.n && s.s[s.n - 1] == '\n';)
        s.n--;
    return s;
}

static const char *find(struct gguf_string s, const char *part)
{
    return s.n ? memmem(s.s, s.n, part, strlen(part)) : NULL;
}

static bool is_query(const struct engine_message *m)
{
    static const char head[] = "<tool_response>", tail[] = "</tool_response>";
    if (m->role != ENGINE_USER)
        return false;
    return m->len < sizeof tail || memcmp(m->text, head, sizeof head - 1) != 0 ||
           memcmp(m->text + m->len - (sizeof tail - 1), tail, sizeof tail - 1) != 0;
}

/* An answer's text without its think block, as Qwen3's template cuts it: thought (if `thought`) and what follows. */
static struct gguf_string split_thought(struct gguf_string s, struct gguf_string *thought)
{
    static const char open[] = "<think>", close[] = "</think>";
    *thought = (struct gguf_string){s.s, 0};
    const char *first = find(s, close), *at;
    if (!first)
        return s;
    *thought = strip_newlines((struct gguf_string){s.s, (size_t)(first - s.s)}, false, true);
    while ((at = find(*thought, open))) {
        thought->n -= (size_t)(at - thought->s) + sizeof open - 1;
        thought->s = at + sizeof open - 1;
    }
    *thought = strip_newlines(*thought, true, true);
    while ((at = find(s, close))) {
        s.n -= (size_t)(at - s.s) + sizeof close - 1;
        s.s = at + sizeof close - 1;
    }
    return strip_newlines(s, true, false);
}

static void put_thinking_text(struct prompt *p, const struct engine_message *m, bool past, bool last)
{
    struct gguf_string thought, answer = split_thought((struct gguf_string){m->text, m->len}, &thought);
    if (!past && (last || thought.n)) {
        put(p, "<think>\n");
        put_text(p, thought.s, thought.n);
        put(p, "\n</think>\n\n");
        answer = strip_newlines(answer, true, false);
    }
    put_text(p, answer.s, answer.n);
}

static void put_ids(struct prompt *p, const int32_t *ids, size_t n)
{
    flush(p);
    engine_tokens_append(p->out, ids, n);
    p->start = p->start && !n;
    p->fresh = p->fresh && !n;
}

/* The ids of an answer that is no longer the current one lose their think block and the line ends behind it. */
static void put_past_ids(struct prompt *p, const struct engine_message *m)
{
    size_t from = 0;
    for (size_t i = 0; i < m->n_ids && p->c->think_end >= 0; i++) {
        if (m->ids[i] == p->c->think_end)
            from = i + 1;
    }
    while (from && from < m->n_ids) {
        size_t n;
        struct gguf_string s = {0};
        s.s = tokenizer_bytes(p->c->tokenizer, m->ids[from], false, &n);
        s.n = n;
        if (n == 0 || strip_newlines(s, true, false).n)
            break;
        from++;
    }
    put_ids(p, m->ids + from, m->n_ids - from);
}

static void put_answer(struct prompt *p, const struct engine_message *m, bool past, bool last)
{
    const struct format *f = &p->c->format;
    put(p, f->before[ENGINE_ASSISTANT]);
    if (m->ids && f->thinks && past) {
        put_past_ids(p, m);
    } else if (m->ids) {
        put_ids(p, m->ids, m->n_ids);
    } else if (f->thinks) {
        put_thinking_text(p, m, past, last);
    } else {
        struct gguf_string s = text_of(p, m);
        put(p, f->lead);
        put_text(p, s.s, s.n);
    }
    put(p, f->after[ENGINE_ASSISTANT]);
}

/* `first`: at the start of the prompt, where a template with a preamble has a system message even without a text. */
static void put_system(struct prompt *p, struct gguf_string text, bool first)
{
    const struct format *f = &p->c->format;
    const char *preamble = first ? f->preamble : NULL;
    if (!text.n && !preamble)
        return;
    put(p, f->before[ENGINE_SYSTEM]);
    put(p, preamble);
    put_text(p, text.s, text.n);
    put(p, f->after[ENGINE_SYSTEM]);
}

/* A question that begins with the system prompt: they are one text, and trimmed as one. */
static void put_joined(struct prompt *p, const struct engine_message *m, struct gguf_string system)
{
    const char *before = p->c->format.before[ENGINE_SYSTEM], *after = p->c->format.after[ENGINE_SYSTEM];
    const struct gguf_string parts[] = {{before, strlen(before)}, system, {after, strlen(after)}, {m->text, m->len}};
    char *text = mem_alloc(parts[0].n + parts[1].n + parts[2].n + parts[3].n);
    struct gguf_string joined = {text, 0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; joined.n += parts[i++].n) {
        if (parts[i].n)
            memcpy(text + joined.n, parts[i].s, parts[i].n);
    }
    if (p->c->trim[ENGINE_USER])
        trim(&joined);
    put_text(p, joined.s, joined.n);
    free(text);
}

/* A question, with the system prompt that waits for one. */
static void put_question(struct prompt *p, const struct engine_message *m, struct gguf_string *waiting)
{
    const struct format *f = &p->c->format;
    struct gguf_string s = text_of(p, m);
    put(p, f->before[ENGINE_USER]);
    if (m->ids) {
        put_system(p, *waiting, false);
        put_ids(p, m->ids, m->n_ids);
    } else if (waiting->n) {
        put_joined(p, m, *waiting);
    } else {
        put_text(p, s.s, s.n);
    }
    put(p, f->after[ENGINE_USER]);
    *waiting = (struct gguf_string){0};
}

static size_t last_query(const struct engine_message *messages, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        if (is_query(&messages[i]))
            return i;
    }
    return n ? n - 1 : 0;
}

static void put_messages(struct prompt *p, const struct engine_message *messages, size_t n,
                         struct gguf_string *waiting)
{
    enum system_place place = p->c->format.system;
    size_t query = last_query(messages, n);
    for (size_t i = 0; i < n; i++) {
        const struct engine_message *m = &messages[i];
        struct gguf_string none = {0};
        if (m->role == ENGINE_ASSISTANT)
            put_answer(p, m, i <= query, i + 1 == n);
        else if (m->role == ENGINE_USER)
            put_question(p, m, place == SYSTEM_LAST && i + 1 < n ? &none : waiting);
        else if (place == SYSTEM_OWN)
            put_system(p, text_of(p, m), i == 0);
        else
            *waiting = (struct gguf_string){m->text, m->len};
    }
}

bool template_render(const struct chat_template *c, const struct engine_message *messages, size_t n, bool generate,
                     struct engine_tokens *out, char *err, size_t cap)
{
    struct prompt p = {.c = c, .out = out, .start = true};
    struct gguf_string waiting = {0};
    put_control(&p, c->bos);
    p.fresh = true;
    if (n == 0 || messages[0].role != ENGINE_SYSTEM) {
        struct gguf_string text = {c->system, c->system ? strlen(c->system) : 0};
        put_system(&p, text, true);
    }
    put_messages(&p, messages, n, &waiting);
    if (generate) {
        put(&p, c->format.before[ENGINE_ASSISTANT]);
        put(&p, c->start);
    }
    flush(&p);
    free(p.run);
    if (waiting.n && c->format.system == SYSTEM_FIRST) {
        snprintf(err, cap, "the chat template (%s) has a place for a system prompt only before a question",
                 c->format.name);
        return false;
    }
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t without_spaces_at_end(const char *text, size_t from, size_t to)
{
    while (to > from && is_space(text[to - 1]))
        to--;
    return to;
}

/* What text[from..len), the rest of a text from the start of a line, has of a turn's label: all of it (`whole`), or
 * so far. */
static bool begins_turn(const char *text, size_t from, size_t len, bool whole)
{
    for (size_t i = 0; i < sizeof plain_turns / sizeof *plain_turns; i++) {
        size_t n = strlen(plain_turns[i]), some = len - from < n ? len - from : n;
        if (memcmp(text + from, plain_turns[i], some) == 0 && (some == n || !whole))
            return true;
    }
    return false;
}

struct engine_answer_span template_answer_span(const struct chat_template *c, const char *text, size_t len,
                                               bool whole)
{
    struct engine_answer_span span = {0, len, false};
    if (!c->format.transcript)
        return span;
    while (span.start < len && is_space(text[span.start]))
        span.start++;
    for (size_t line = span.start; line < len;) {
        span.ended = begins_turn(text, line, len, true);
        if (span.ended || (!whole && begins_turn(text, line, len, false))) {
            span.end = line;
            break;
        }
        const char *newline = memchr(text + line, '\n', len - line);
        line = newline ? (size_t)(newline - text) + 1 : len;
    }
    span.end = without_spaces_at_end(text, span.start, span.end);
    return span;
}

const char *template_answer_start(const struct chat_template *c)
{
    return c->start;
}

void template_skip_thought(const struct chat_template *c, struct engine_tokens *out)
{
    struct prompt p = {.c = c, .out = out};
    if (!c->may_skip || *c->start)
        return;
    put(&p, "<think>\n\n</think>\n\n");
    flush(&p);
    free(p.run);
}
