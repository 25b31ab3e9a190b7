/*
 * panels.h - what the two panels are made of: panels.c, panel_list.c (conversations) and panel_settings.c. The rest of
 * the room uses the functions in state.h.
 */
#ifndef UI_PANELS_H
#define UI_PANELS_H

#include "screen.h"
#include "state.h"

/* ---- panels.c: parts of a panel ---- */

char *panel_clean(const char *s);                         /* a clean copy on one line; NULL stays NULL */
bool panel_move_key(int key, size_t *selected, size_t n); /* arrow keys and their kin; false: another key */

/* Draw into the first row of an area. */
void panel_draw_row(struct rect row, const char *left, const char *right,
                    unsigned style); /* the left text gives way */
void panel_draw_hint(struct rect row, const char *hint);
void panel_draw_prompt(const struct ui *ui, struct rect row, const char *label, struct caret *caret);

/* ---- panel_list.c ---- */

void panel_list_clear(struct conversation_list *list); /* without its filter */
void panel_list_free(struct conversation_list *list);
bool panel_list_key(struct ui *ui, int key);
void panel_list_draw(struct ui *ui, struct rect area, struct caret *caret);

/* ---- panel_settings.c ---- */

void panel_settings_free(struct setting_list *settings);
bool panel_settings_key(struct ui *ui, int key);
void panel_settings_draw(struct ui *ui, struct rect area, struct caret *caret);

#endif
