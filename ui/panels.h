/*
 * panels.h - shared by panels.c, panel_list.c (conversations) and panel_settings.c. Other files of ui/ use the panel
 * functions declared in state.h.
 */
#ifndef UI_PANELS_H
#define UI_PANELS_H

#include "screen.h"
#include "state.h"

/* ---- panels.c: parts of a panel ---- */

char *panel_clean(const char *s);                         /* a clean copy on one line; NULL stays NULL */
bool panel_move_key(int key, size_t *selected, size_t n); /* arrow, page, vi keys; false: another */

/* Draw into the first row of an area. */
void panel_draw_row(struct rect row, const char *left, const char *right,
                    unsigned style); /* truncates the left text if both do not fit */
void panel_draw_hint(struct rect row, const char *hint);
void panel_draw_prompt(const struct ui *ui, struct rect row, const char *label, struct caret *caret);

/* ---- panel_list.c ---- */

void panel_list_clear(struct conversation_list *list); /* frees the entries and the query; keeps the filter */
void panel_list_free(struct conversation_list *list);
bool panel_list_key(struct ui *ui, int key);
void panel_list_draw(struct ui *ui, struct rect area, struct caret *caret);

/* ---- panel_settings.c ---- */

void panel_settings_free(struct setting_list *settings);
bool panel_settings_key(struct ui *ui, int key);
void panel_settings_draw(struct ui *ui, struct rect area, struct caret *caret);

#endif
