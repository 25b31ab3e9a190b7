/*
 * typing.c - tells the program what is being typed, so that it can get ready for it; see state.h.
 *
 * Told is the message that Enter would send, white space at its end included: now and then while it is typed, and
 * when the typing rests. Commands are nobody's business. That there is no message any more is told at once.
 */
#include "state.h"

#include "../src/base/buffer.h"
#include "../src/base/clock.h"
#include "tty.h"

#include <string.h>

#define REST_MS 150 /* longer than between two keys of a practised typist */
#define LATE_MS 600 /* told at last though keys keep coming */

static void tell(struct ui *ui, bool rests)
{
    buffer_set(&ui->draft_told, ui->draft_seen.s, ui->draft_seen.len);
    ui_emit(ui, UI_DRAFT, 0, rests, ui->draft_told.s);
    ui->draft_told_rests = rests;
}

static const char *message_of(const struct ui *ui)
{
    const char *message = command_message(&ui->draft);
    return message ? message : "";
}

void typing_put(struct ui *ui, bool tell_it)
{
    const char *text = message_of(ui);
    buffer_set(&ui->draft_seen, text, strlen(text));
    ui->draft_rest_ms = ui->draft_late_ms = 0;
    if (tell_it)
        tell(ui, true);
    else
        buffer_set(&ui->draft_told, text, strlen(text));
}

void typing_look(struct ui *ui)
{
    const char *text = message_of(ui);
    int64_t now = clock_ms();
    if (strcmp(text, ui->draft_seen.s) != 0) {
        buffer_set(&ui->draft_seen, text, strlen(text));
        ui->draft_rest_ms = now + REST_MS;
        if (!ui->draft_late_ms)
            ui->draft_late_ms = now + LATE_MS;
    }
    if (!*text) {
        if (ui->draft_told.len)
            tell(ui, true);
        ui->draft_rest_ms = ui->draft_late_ms = 0;
    } else if (ui->draft_rest_ms && now >= ui->draft_rest_ms) {
        if (!ui->draft_told_rests || strcmp(text, ui->draft_told.s) != 0)
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
    buffer_free(&ui->draft_seen);
    buffer_free(&ui->draft_told);
}
