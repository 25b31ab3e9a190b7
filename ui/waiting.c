/*
 * waiting.c - messages that were sent while an answer is written and wait for their turn; see state.h.
 *
 * The caller owns the queue: ui_set_waiting gives its present state. Here a message is added at Enter already, and
 * removed when the person takes it back, so that the keys that follow find the queue as the caller will have it.
 */
#include "state.h"

#include "../src/base/buffer.h"
#include "../src/base/mem.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

void waiting_add(struct ui *ui, const char *text)
{
    ui->waiting = mem_grow(ui->waiting, &ui->cap_waiting, ui->n_waiting + 1, sizeof *ui->waiting);
    ui->waiting[ui->n_waiting++] = mem_string(text);
    ui->dirty = true;
}

void waiting_free(struct ui *ui)
{
    for (size_t i = 0; i < ui->n_waiting; i++)
        free(ui->waiting[i]);
    free(ui->waiting);
    ui->waiting = NULL;
    ui->n_waiting = ui->cap_waiting = 0;
}

static bool is_known(const struct ui *ui, const char *const *messages, size_t n)
{
    bool same = n == ui->n_waiting;
    for (size_t i = 0; same && i < n; i++)
        same = strcmp(messages[i], ui->waiting[i]) == 0;
    return same;
}

void ui_set_waiting(struct ui *ui, const char *const *messages, size_t n)
{
    if (is_known(ui, messages, n))
        return;
    size_t before = ui->n_waiting;
    waiting_free(ui);
    for (size_t i = 0; i < n; i++)
        waiting_add(ui, messages[i]);
    ui->dirty = true;
    if (ui->plain && n > before)
        plain_say(ui, "sent after the answers before it; /unsend takes it back");
}

void ui_put_back(struct ui *ui, const char *text)
{
    struct buffer whole = BUFFER_INIT;
    if (ui->plain) {
        ui_flash_format(ui, "Not sent: %s", text);
        return;
    }
    buffer_puts(&whole, text);
    if (ui->draft.text.len)
        buffer_printf(&whole, "\n%s", draft_text(&ui->draft));
    char *typed = action_escape(whole.s); /* as a message it may begin with a slash */
    draft_set(&ui->draft, typed);
    free(typed);
    buffer_free(&whole);
    typing_put(ui, true);
    ui->dirty = true;
}

bool waiting_take_back(struct ui *ui)
{
    if (!ui->n_waiting)
        return false;
    char *text = ui->waiting[--ui->n_waiting];
    ui_emit(ui, UI_TAKE_BACK, 0, 0, text);
    ui_put_back(ui, text);
    free(text);
    return true;
}

int waiting_rows(const struct ui *ui, int room)
{
    int n = ui->n_waiting < WAITING_ROWS ? (int)ui->n_waiting : WAITING_ROWS;
    return n < room ? n : room > 0 ? room : 0;
}

void waiting_line(const struct ui *ui, int row, int rows, struct buffer *line)
{
    size_t shown = (size_t)rows < ui->n_waiting ? (size_t)rows - 1 : ui->n_waiting; /* the oldest ones */
    bool hint = row == rows - 1 && !ui->draft.text.len;
    if ((size_t)row < shown) {
        char *clean = text_clean_string(ui->waiting[row], strlen(ui->waiting[row]), true);
        buffer_printf(line, "waiting%s: %s", hint ? " (Up edits it)" : "", clean);
        free(clean);
    } else {
        buffer_printf(line, "… and %zu more%s", ui->n_waiting - shown, hint ? " (Up edits the last)" : "");
    }
}
