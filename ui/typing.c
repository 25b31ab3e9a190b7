/*
 * typing.c - tells the program what is being typed, so that it can get ready for it; see state.h.
 *
 * Told is the message that Enter would send, white space at its end included: now and then while it is typed, and
 * when the typing rests. Commands are nobody's business. That there is no message any more is told at once.
 */
#include "state.h"

#include "tty.h"

#include <string.h>

#define REST_MS 150 /* longer than between two keys of a practised typist */
#define LATE_MS 600 /* told at last though keys keep coming */

static void tell(struct ui *ui, bool rests)
{
    buf_set(&ui->draft_told, buf_cstr(&ui->draft_seen), ui->draft_seen.n);
    ui_emit(ui, UI_DRAFT, 0, rests, buf_cstr(&ui->draft_told));
    ui->draft_told_rests = rests;
}

void typing_look(struct ui *ui)
{
    const char *message = command_message(&ui->draft), *text = message ? message : "";
    int64_t now = tty_now_ms();
    if (strcmp(text, buf_cstr(&ui->draft_seen)) != 0) {
        buf_set(&ui->draft_seen, text, strlen(text));
        ui->draft_rest_ms = now + REST_MS;
        if (!ui->draft_late_ms)
            ui->draft_late_ms = now + LATE_MS;
    }
    if (!*text) {
        if (ui->draft_told.n)
            tell(ui, true);
        ui->draft_rest_ms = ui->draft_late_ms = 0;
    } else if (ui->draft_rest_ms && now >= ui->draft_rest_ms) {
        if (!ui->draft_told_rests || strcmp(text, buf_cstr(&ui->draft_told)) != 0)
            tell(ui, true);
        ui->draft_rest_ms = ui->draft_late_ms = 0;
    } else if (ui->draft_late_ms && now >= ui->draft_late_ms) {
        tell(ui, false);
        ui->draft_late_ms = now + LATE_MS;
    }
}

int64_t typing_due(const struct ui *ui)
{
    return ui->draft_rest_ms < ui->draft_late_ms ? ui->draft_rest_ms : ui->draft_late_ms;
}

void typing_free(struct ui *ui)
{
    buf_free(&ui->draft_seen);
    buf_free(&ui->draft_told);
}
