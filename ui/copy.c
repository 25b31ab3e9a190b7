/* copy.c - /copy: an answer or its code to the clipboard; see state.h. */
#include "state.h"

#include "../src/base/buffer.h"
#include "clipboard.h"
#include "codeblock.h"
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No terminal confirms a copy, so the flashes name what was done and not what came of it. */
static void say_sent(struct ui *ui, const char *to)
{
    const struct copying *c = &ui->copying;
    if (c->n > CLIPBOARD_SURE_BYTES)
        ui_flash_format(ui, "sent %zu bytes, more than many terminals take, to %s", c->n, to);
    else
        ui_flash_format(ui, "sent %s (%zu bytes) to %s", c->what, c->n, to);
}

static void send_to_terminal(struct ui *ui, const char *s, size_t n, bool screen)
{
    const char *term = getenv("TERM");
    struct buffer b = BUFFER_INIT;
    clipboard_osc52(s, n, screen, &b);
    screen_send(b.s, b.len);
    buffer_free(&b);
    if (ui->copying.to_tmux) /* no tmux command here, as in a container */
        say_sent(ui, "tmux, which needs \"set-clipboard on\" for it");
    else if (!screen && term && !strncmp(term, "tmux", 4)) /* tmux at the other end of ssh */
        say_sent(ui, "the terminal; tmux needs \"set-clipboard on\"");
    else
        say_sent(ui, screen ? "the terminal, through screen" : "the terminal");
}

/* Text sent again by OSC 52 where tmux failed is kept until then. */
static void copy(struct ui *ui, const char *what, const char *s, size_t n)
{
    struct copying *c = &ui->copying;
    enum clipboard_way way = clipboard_way();
    snprintf(c->what, sizeof c->what, "%s", what);
    c->n = n;
    c->to_tmux = way == CLIPBOARD_TMUX;
    if (c->to_tmux && clipboard_begin(&c->transfer, s, n))
        buffer_set(&c->text, s, n);
    else
        send_to_terminal(ui, s, n, way == CLIPBOARD_SCREEN);
}

void copy_check(struct ui *ui)
{
    struct copying *c = &ui->copying;
    if (!c->transfer.pid)
        return;
    switch (clipboard_poll(&c->transfer)) {
    case CLIPBOARD_RUNNING: return;
    case CLIPBOARD_SENT: say_sent(ui, "tmux, for its buffer and its terminal"); break;
    case CLIPBOARD_BUFFER: say_sent(ui, "tmux's buffer (prefix ] pastes it)"); break;
    case CLIPBOARD_FAILED: send_to_terminal(ui, c->text.s, c->text.len, false);
    }
    buffer_free(&c->text);
}

void copy_free(struct ui *ui)
{
    clipboard_abandon(&ui->copying.transfer);
    buffer_free(&ui->copying.text);
}

/* number: of a code block of the last answer that has code, from 1; 0 = its last. */
static void copy_code(struct ui *ui, const char *answer_name, const char *s, size_t n, size_t number)
{
    struct buffer code = BUFFER_INIT;
    char what[64];
    size_t count = codeblock_read(s, n, number, &code);
    if (!count)
        ui_flash_format(ui, "there is no code block in %s", answer_name);
    else if (number > count)
        ui_flash_format(ui, "%s has %zu code block%s", answer_name, count, count == 1 ? "" : "s");
    else if (number)
        snprintf(what, sizeof what, "code block %zu of %zu", number, count);
    else
        snprintf(what, sizeof what, "the last code block");
    if (count && number <= count)
        copy(ui, what, code.s, code.len);
    buffer_free(&code);
}

/* "code": 0; "2", "code 2": 2. False: neither. */
static bool read_number(const char *argument, size_t *number)
{
    if (!strncmp(argument, "code", 4) && (!argument[4] || argument[4] == ' '))
        argument += 4 + strspn(argument + 4, " ");
    char *end;
    *number = strtoul(argument, &end, 10);
    return !*argument || (*argument >= '1' && *argument <= '9' && !end[strspn(end, " ")]);
}

void copy_answer(struct ui *ui, const char *argument)
{
    static const char name[] = "the last answer";
    const struct entry *e = transcript_last(&ui->transcript, UI_MODEL_ANSWER);
    size_t n = e ? e->text.len - e->thought : 0, number; /* a thought is not copied */
    argument += strspn(argument, " \n");
    if (!read_number(argument, &number))
        ui_flash_format(ui, "/copy takes \"code\" or the number of a code block, not \"%.30s\"", argument);
    else if (!n)
        ui_flash(ui, "there is no answer to copy");
    else if (*argument)
        copy_code(ui, name, e->text.s + e->thought, n, number);
    else
        copy(ui, name, e->text.s + e->thought, n);
}
