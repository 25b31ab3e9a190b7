/* status.c - see status.h */
#include "status.h"

#include "text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define BAR_CELLS 10

void status_activity(const struct ui_status *s, char *out, size_t cap)
{
    static const char *const words[] = {
        [UI_IDLE] = "",           [UI_LOADING] = "loading the model", [UI_THINKING] = "thinking",
        [UI_READING] = "reading", [UI_WRITING] = "writing",           [UI_SUMMARIZING] = "summarizing",
    };
    enum ui_activity activity = s->activity == UI_IDLE && s->awaited ? UI_THINKING : s->activity;
    bool measured = (activity == UI_LOADING || activity == UI_READING) && s->progress >= 0;
    if (measured)
        snprintf(out, cap, "%s %d %%", words[activity], (int)(s->progress * 100.0f));
    else
        snprintf(out, cap, "%s", words[activity]);
}

static void put_duration(int64_t ms, char *out, size_t cap)
{
    int64_t seconds = ms < 1000 ? 1 : ms / 1000;
    if (seconds < 60)
        snprintf(out, cap, "%d s", (int)seconds);
    else
        snprintf(out, cap, "%d min %d s", (int)(seconds / 60), (int)(seconds % 60));
}

void status_thought(const struct ui_thought *thought, bool goes_on, size_t words, int64_t now_ms, char *out,
                    size_t cap)
{
    char took[40] = "";
    int64_t end = goes_on ? now_ms : thought->ended_ms;
    if (thought->began_ms && end)
        put_duration(end - thought->began_ms, took, sizeof took);
    const char *what = goes_on ? "thinking" : thought->whole ? "thought" : "unfinished thought";
    const char *between = !*took ? "" : goes_on ? " " : " for ";
    snprintf(out, cap, "%s%s%s · %zu word%s", what, between, took, words, words == 1 ? "" : "s");
}

const char *status_spinner(unsigned frame)
{
    static const char *const frames[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
    return frames[frame % (sizeof frames / sizeof *frames)];
}

void status_bar(double fraction, int cells, char *out, size_t cap)
{
    double filled = fraction * cells;
    out[0] = 0;
    for (int i = 0; i < cells; i++) {
        const char *cell = filled >= i + 0.75 ? "▓" : filled >= i + 0.25 ? "▒" : "░";
        size_t n = strlen(out);
        snprintf(out + n, cap - n, "%s", cell);
    }
}

/* ---- the line ---- */

struct piece {
    char text[128];
    int group; /* a bar separates groups */
    int rank;  /* the highest is dropped first if there is no room */
    unsigned style;
};

#define MAX_PIECES 12

struct pieces {
    struct piece v[MAX_PIECES];
    int n;
};

static struct piece *add(struct pieces *p, int group, int rank, unsigned style)
{
    struct piece *piece = &p->v[p->n++];
    *piece = (struct piece){.group = group, .rank = rank, .style = style};
    return piece;
}

#define ADD(pieces, group, rank, style, ...)                                                                         \
    snprintf(add(pieces, group, rank, style)->text, sizeof(struct piece){0}.text, __VA_ARGS__)

static void gather(const struct ui_status *s, struct pieces *p)
{
    ADD(p, 1, 3, 0, "temp %.2f", s->temperature);
    ADD(p, 1, 6, 0, "top-p %.2f", s->top_p);
    if (s->window_size > 0) {
        double fraction = (double)s->window_used / s->window_size;
        unsigned style = fraction >= s->window_hard ? STYLE_WARNING : fraction >= s->window_soft ? STYLE_NOTICE : 0;
        char bar[BAR_CELLS * 3 + 1];
        status_bar(fraction, BAR_CELLS, bar, sizeof bar);
        ADD(p, 2, 9, 0, "window");
        ADD(p, 2, 5, style, "%s", bar);
        ADD(p, 2, 2, style, "%d/%d", s->window_used, s->window_size);
        if (s->summarized > 0)
            ADD(p, 2, 8, 0, "(%d in summary)", s->summarized);
    }
    if (s->tokens_per_second > 0)
        ADD(p, 3, 4, 0, "%.*f tok/s", s->tokens_per_second < 10 ? 1 : 0, s->tokens_per_second);
    if (s->first_token_s > 0)
        ADD(p, 3, 7, 0, "TTFT %.2f s", s->first_token_s);
    ADD(p, 4, 1, 0, "F1 help");
}

/* Returns the width of the pieces whose rank is at most rank. */
static int width_of(const struct pieces *p, int rank)
{
    int width = 0, group = -1;
    for (int i = 0; i < p->n; i++) {
        if (p->v[i].rank > rank)
            continue;
        width += group < 0 ? 0 : group == p->v[i].group ? 1 : 3;
        width += text_width(p->v[i].text, strlen(p->v[i].text));
        group = p->v[i].group;
    }
    return width;
}

void status_layout(const struct ui_status *s, int width, struct lines *out)
{
    struct pieces p = {.n = 0};
    int rank = 9, group = -1;
    gather(s, &p);
    while (rank > 0 && width_of(&p, rank) > width)
        rank--;
    for (int i = 0; i < p.n; i++) {
        const struct piece *piece = &p.v[i];
        if (piece->rank > rank)
            continue;
        if (group >= 0 && group != piece->group)
            lines_put(out, " │ ", 5, STYLE_DIM);
        else if (group >= 0)
            lines_put(out, " ", 1, 0);
        int room = width - (int)out->open.width;
        size_t fit = text_fit(piece->text, strlen(piece->text), room > 0 ? room : 0, NULL);
        lines_put(out, piece->text, fit, piece->style);
        group = piece->group;
    }
    lines_end(out, 0, 0);
}

/* ---- times ---- */

static struct tm local(int64_t ms)
{
    time_t t = (time_t)(ms / 1000);
    struct tm tm = {0}; /* stays so for a year beyond its range */
    localtime_r(&t, &tm);
    return tm;
}

/* Returns the days between two local dates at most a year apart. */
static int days_between(const struct tm *a, const struct tm *b)
{
    return (b->tm_year - a->tm_year) * 365 + b->tm_yday - a->tm_yday;
}

void status_time(int64_t time_ms, int64_t now_ms, char *out, size_t cap)
{
    struct tm then = local(time_ms), now = local(now_ms);
    int days = days_between(&then, &now);
    strftime(out, cap, days == 0 ? "%H:%M" : days > 0 && days < 7 ? "%a %H:%M" : "%Y-%m-%d %H:%M", &then);
}

void status_age(int64_t time_ms, int64_t now_ms, char *out, size_t cap)
{
    struct tm then = local(time_ms), now = local(now_ms);
    int days = days_between(&then, &now);
    int64_t minutes = (now_ms - time_ms) / 60000;
    if (minutes < 1)
        snprintf(out, cap, "now");
    else if (minutes < 60)
        snprintf(out, cap, "%d min ago", (int)minutes);
    else if (days == 0)
        snprintf(out, cap, "%d h ago", (int)(minutes / 60));
    else if (days == 1)
        snprintf(out, cap, "yesterday");
    else
        strftime(out, cap, days < 7 ? "%a" : then.tm_year == now.tm_year ? "%e %b" : "%Y-%m-%d", &then);
}
