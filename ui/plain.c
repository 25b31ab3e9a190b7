/*
 * plain.c - the dialogue as lines, for screen readers and terminals that can do nothing else; see state.h.
 *
 * The terminal stays as it is: it edits the line typed, and Enter hands it over. A line that ends with a backslash is
 * continued by the next one. Nothing moves, nothing is drawn twice. Lines are acted on one at a time, each after the
 * program has handled the one before. What is piped in waits while an answer is written; at its end the program
 * leaves once all of it is answered.
 */
#include "state.h"

#include "../src/base/buffer.h"
#include "../src/base/clock.h"
#include "../src/base/mem.h"
#include "decode.h"
#include "status.h"
#include "text.h"
#include "tty.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELP_WIDTH 72

struct plain {
    struct buffer typed;   /* not ended by a newline yet */
    struct buffer message; /* lines that were continued */
    bool in_line;          /* something was printed since the last newline */
    bool prompted;         /* ... and it was the prompt */
    bool prompt_due;       /* a line was taken: the prompt follows once the program has handled it */
    bool thinking;         /* a thought was announced, its answer has not begun */
    bool interactive;      /* a person types at a terminal, which shows it */
    bool echoed;           /* ... so the message sent last need not be printed */
    bool ended;            /* end of input */
    bool quit;             /* UI_QUIT was said */
};

static void print(struct ui *ui, const char *s, size_t n)
{
    struct cleaned c;
    text_clean(s, n, &c);
    if (c.n) {
        tty_write(c.s, c.n);
        ui->lines->in_line = c.s[c.n - 1] != '\n';
        ui->lines->prompted = false;
    }
    cleaned_free(&c);
}

static void end_line(struct ui *ui)
{
    if (ui->lines->in_line)
        print(ui, "\n", 1);
}

void plain_say(struct ui *ui, const char *text)
{
    if (!ui->lines)
        return;
    end_line(ui);
    print(ui, text, strlen(text));
    end_line(ui);
}

void plain_prompt(struct ui *ui)
{
    struct plain *p = ui->lines;
    if (!p->interactive || p->ended || p->prompted || ui_answering(ui))
        return;
    end_line(ui);
    print(ui, "> ", 2);
    p->prompted = true;
}

void plain_open(struct ui *ui)
{
    tty_locale();
    ui->lines = mem_new(1, sizeof *ui->lines);
    buffer_init(&ui->lines->typed);
    buffer_init(&ui->lines->message);
    ui->transcript.ascii = true;
    ui->lines->interactive = isatty(STDIN_FILENO);
    if (ui->lines->interactive)
        plain_say(ui, "chinwag. Type a message and Enter. /help lists the commands.");
}

void plain_close(struct ui *ui)
{
    if (!ui->lines)
        return;
    end_line(ui);
    buffer_free(&ui->lines->typed);
    buffer_free(&ui->lines->message);
    free(ui->lines);
    ui->lines = NULL;
}

/* ---- input ---- */

static void take_line(struct ui *ui, const char *typed, size_t typed_n)
{
    struct plain *p = ui->lines;
    struct buffer line = BUFFER_INIT;
    size_t n;
    p->in_line = p->prompted = false;   /* the terminal echoed its end */
    decode_text(typed, typed_n, &line); /* keys that edit elsewhere leave nothing behind */
    char *text = text_valid(line.s, line.len, &n);
    buffer_free(&line);
    if (ui->prompt.kind == PROMPT_DELETE) {
        ui->prompt.kind = PROMPT_NONE;
        if (text[0] == 'y' || text[0] == 'Y')
            ui_emit(ui, UI_DELETE, 0, 0, "");
        free(text);
        return;
    }
    bool continued = n && text[n - 1] == '\\';
    buffer_add(&p->message, text, n - continued);
    free(text);
    if (continued) {
        buffer_puts(&p->message, "\n");
        return;
    }
    if (p->message.s[strspn(p->message.s, " \t\n")])
        command_line(ui, p->message.s);
    p->echoed = p->interactive && !ui_answering(ui) && ui->next_event < ui->n_events &&
                ui->events[ui->n_events - 1].type == UI_SEND;
    buffer_clear(&p->message);
}

/* Whether what the last line asked for has not been taken in: the next line may be meant for what comes of it. */
static bool is_behind(const struct ui *ui)
{
    return ui->next_event < ui->n_events || ui->conversations.wanted;
}

/* The length of the next line, if there is a whole one that can be acted on; -1: there is none. What a person types
 * while an answer is written is taken at once: messages wait in the caller's queue, and /stop must not wait. */
static ptrdiff_t next_line(const struct ui *ui)
{
    const struct plain *p = ui->lines;
    bool waits = is_behind(ui) || (ui_answering(ui) && !p->interactive);
    const char *end = p->typed.len && !waits ? memchr(p->typed.s, '\n', p->typed.len) : NULL;
    return end ? end - p->typed.s : -1;
}

/* Whether the input has ended and all of it was acted on. */
static bool is_over(const struct ui *ui)
{
    const struct plain *p = ui->lines;
    return p->ended && !p->quit && !p->typed.len && !p->message.len && !is_behind(ui);
}

bool plain_due(const struct ui *ui)
{
    return next_line(ui) >= 0 || is_over(ui) || (ui->lines->prompt_due && !is_behind(ui));
}

static void end_input(struct ui *ui)
{
    struct plain *p = ui->lines;
    p->ended = true;
    tty_listen(false);
    bool continued = p->message.len || (p->typed.len > 1 && p->typed.s[p->typed.len - 2] == '\\');
    if (p->typed.len && p->typed.s[p->typed.len - 1] != '\n')
        buffer_puts(&p->typed, "\n");
    if (continued)
        buffer_puts(&p->typed, "\n"); /* by nothing */
}

void plain_read(struct ui *ui)
{
    struct plain *p = ui->lines;
    struct pollfd ready = {STDIN_FILENO, POLLIN, 0};
    char block[4096];
    if (p->prompt_due && !is_behind(ui)) {
        p->prompt_due = false;
        plain_prompt(ui);
    }
    while (!p->ended && poll(&ready, 1, 0) > 0) {
        ssize_t n = read(STDIN_FILENO, block, sizeof block);
        if (n <= 0) {
            end_input(ui);
            break;
        }
        buffer_add(&p->typed, block, (size_t)n);
    }
    for (ptrdiff_t n; (n = next_line(ui)) >= 0; p->prompt_due = true) {
        take_line(ui, p->typed.s, (size_t)n);
        buffer_remove(&p->typed, 0, (size_t)n + 1);
    }
    if (is_over(ui)) {
        p->quit = true;
        ui_emit(ui, UI_QUIT, 0, !p->interactive, "");
    }
}

/* ---- output ---- */

static void print_header(struct ui *ui, enum ui_role role, int64_t time_ms)
{
    char when[40] = "", line[64];
    if (time_ms)
        status_time(time_ms, clock_wall_ms(), when, sizeof when);
    snprintf(line, sizeof line, "%s%s%s:\n", role == UI_PERSON ? "you" : "chinwag", *when ? " " : "", when);
    end_line(ui);
    print(ui, line, strlen(line));
}

void plain_show(struct ui *ui)
{
    if (*ui->title) {
        char line[256];
        snprintf(line, sizeof line, "Conversation: %s", ui->title);
        plain_say(ui, line);
    } else {
        plain_say(ui, "New conversation");
    }
    plain_prompt(ui);
}

void plain_add(struct ui *ui, enum ui_role role, const char *text, size_t n, int64_t time_ms)
{
    bool echoed = ui->lines->echoed;
    ui->lines->echoed = false;
    if (role == UI_PERSON && echoed)
        return;
    if (role != UI_NOTICE)
        print_header(ui, role, time_ms);
    end_line(ui);
    print(ui, text, n);
    if (role == UI_MODEL_ANSWER && !n)
        return;
    end_line(ui);
    plain_prompt(ui);
}

/* A line says that it thinks; the thought itself comes only if it is wanted. */
void plain_append_thought(struct ui *ui, const struct ui_thought *thought, const char *piece, size_t n)
{
    bool shown = ui->transcript.unfolded;
    bool goes_on = thought->began_ms && !thought->ended_ms;
    if (!n || (!goes_on && !ui->lines->thinking && !shown)) /* one from before is not told of */
        return;
    if (!ui->lines->thinking)
        plain_say(ui, shown ? "thinking:" : "thinking");
    ui->lines->thinking = true;
    if (shown)
        print(ui, piece, n);
}

void plain_append(struct ui *ui, const char *piece, size_t n)
{
    if (ui->lines->thinking && ui->transcript.unfolded)
        plain_say(ui, "answer:");
    ui->lines->thinking = false;
    print(ui, piece, n);
}

void plain_finish(struct ui *ui, const char *footnote)
{
    end_line(ui);
    ui->lines->thinking = false;
    if (footnote && *footnote)
        plain_say(ui, footnote);
}

void plain_status(struct ui *ui, const struct ui_status *before)
{
    char line[160];
    enum ui_activity now = ui->status.activity;
    bool ready = before->activity == UI_LOADING && now != UI_LOADING && *ui->status.model;
    if (now != before->activity && (now == UI_LOADING || now == UI_SUMMARIZING))
        plain_say(ui, now == UI_LOADING ? "loading the model" : "summarizing earlier messages");
    if (ready) {
        snprintf(line, sizeof line, "%s is ready", ui->status.model);
        plain_say(ui, line);
    }
    if (ready || (before->awaited && !ui->status.awaited))
        plain_prompt(ui);
}

void plain_conversations(struct ui *ui)
{
    const struct conversation_list *c = &ui->conversations;
    plain_say(ui, c->found ? "Found:" : "Conversations (/open NUMBER):");
    for (size_t i = 0; i < c->n; i++) {
        char age[64], line[600];
        panel_age(&c->v[i], age, sizeof age);
        snprintf(line, sizeof line, "%zu. %s, %s%s%s", i + 1, *c->v[i].title ? c->v[i].title : "untitled", age,
                 c->v[i].detail ? ": " : "", c->v[i].detail ? c->v[i].detail : "");
        plain_say(ui, line);
    }
    if (!c->n)
        plain_say(ui, "none");
    plain_prompt(ui);
}

void plain_settings(struct ui *ui)
{
    for (size_t i = 0; i < ui->settings.n; i++) {
        const struct setting_row *s = &ui->settings.v[i];
        struct buffer line = BUFFER_INIT;
        if (s->text)
            buffer_printf(&line, "%s: %s (%s)", s->name, *s->text || !s->blank ? s->text : s->blank, s->help);
        else
            buffer_printf(&line, "%s: %.*f, from %.*f to %.*f (%s)", s->name, s->decimals, s->value, s->decimals,
                          s->min, s->decimals, s->max, s->help);
        plain_say(ui, line.s);
        buffer_free(&line);
    }
}

void plain_help(struct ui *ui)
{
    struct lines l = {0};
    help_layout(HELP_WIDTH, &l);
    for (size_t i = 0; i < l.n; i++) {
        print(ui, l.text + l.v[i].text, l.v[i].len);
        print(ui, "\n", 1);
    }
    lines_free(&l);
    ui->help = false;
}
