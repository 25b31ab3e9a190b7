/*
 * status.h - the status line, and the text for activities, times and ages. Pure functions, no curses.
 */
#ifndef UI_STATUS_H
#define UI_STATUS_H

#include "lines.h"
#include "ui.h"

#include <stdbool.h>
#include <stddef.h>

#define STATUS_SPIN_MS 120

/* "reading 43 %"; "" when idle. */
void status_activity(const struct ui_status *s, char *out, size_t cap);
const char *status_spinner(unsigned frame); /* one cell */

/* "thinking 12 s · 240 words" while it goes on, "thought for 12 s · 240 words", "unfinished thought · 3 words". */
void status_thought(const struct ui_thought *thought, bool goes_on, size_t words, int64_t now_ms, char *out,
                    size_t cap);

/* Lays out one line of at most width cells. Drops the least important parts until the line fits. */
void status_layout(const struct ui_status *s, int width, struct lines *out);

/* A progress bar of `cells` cells: full for each cell used, lighter for one partly used. */
void status_bar(double fraction, int cells, char *out, size_t cap);

/* "14:02" today, "Mon 14:02" within a week, else "2026-03-12 14:02". */
void status_time(int64_t time_ms, int64_t now_ms, char *out, size_t cap);
/* "now", "5 min", "3 h", "yesterday", "Mon", "12 Mar", "2025-03-12". */
void status_age(int64_t time_ms, int64_t now_ms, char *out, size_t cap);

#endif
