/*
 * ui_demo.c - the screen without the rest of the program: answers come from a script, what the person wants goes to a
 * log.
 *
 * Used by tests/e2e/test_ui.py. Environment: UI_DEMO_LOG names the file events are written to, one a line;
 * UI_DEMO_DELAY is the pause between pieces in milliseconds (default 20).
 */
#include "../../ui/ui.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char answer[] =
    "Here is the plan, **week by week**:\n\n"
    "| week | long run | 备注 |\n|---|--:|---|\n| 1 | 9 km | 轻松跑 |\n| 2 | 11 km | 😀 hills |\n\n"
    "## Advice\n\n- Eat *before* you run, and drink `0.5 l` an hour.\n- Rest. See [this "
    "page](https://example.org).\n\n"
    "```c\nint main(void)\n{\n    return 0;\n}\n```\n\n"
    "今天天气很好，我们去公园散步吧。公园里有很多人，大家都很高兴，孩子们在草地上跑来跑去，老人们在树下下棋。\n";

static const char recipe[] = "五花肉切块，冷水下锅";

static const char *const models[] = {"qwen-b.gguf", "qwen-a.gguf"};

static FILE *event_log;
static struct ui *ui;
static struct ui_status status = {.model = "SmolLM2-135M-Instruct Q4_1",
                                  .progress = -1,
                                  .temperature = 0.7,
                                  .top_p = 0.9,
                                  .window_used = 612,
                                  .window_size = 2048,
                                  .window_soft = 0.7,
                                  .window_hard = 0.85,
                                  .tokens_per_second = 54,
                                  .first_token_s = 0.12};
static int64_t next_id = 100, answering; /* id of the answer being written, 0 = none */
static const char *script = answer;
static size_t written;
static bool quit, stopped;
static char *waiting[16]; /* messages sent while an answer is written */
static size_t n_waiting;

static int64_t now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void set_activity(enum ui_activity activity)
{
    status.activity = activity;
    status.awaited = activity != UI_IDLE;
    ui_set_status(ui, &status);
}

static void set_settings(void)
{
    const struct ui_setting settings[] = {
        {"temperature", "higher is livelier", 0, 2, 0.05, 2, status.temperature, NULL, NULL, NULL,
         status.temperature < 0.7 || status.temperature > 0.7},
        {"top-p", "share of likely words kept", 0, 1, 0.05, 2, status.top_p, NULL, NULL, NULL, false},
        {"top-k", "most words considered", 0, 200, 1, 0, 40, NULL, NULL, "all", false},
        {"system", "what the model is told first", 0, 0, 0, 0, 0, "You are helpful.", NULL, "the model's own", false},
    };
    ui_set_settings(ui, settings, sizeof settings / sizeof *settings);
}

static void set_conversations(void)
{
    int64_t now = now_ms(CLOCK_REALTIME);
    const struct ui_conversation list[] = {
        {1, "Half-marathon plan", now - 60000, NULL, 0, NULL},
        {2, "怎么做红烧肉", now - 3 * 3600000, NULL, 0, NULL},
        {3, "A very long title that does not fit into the panel", now - (int64_t)3 * 86400000, NULL, 0, NULL},
    };
    ui_set_conversations(ui, list, sizeof list / sizeof *list);
}

static void begin_answer(void)
{
    answering = next_id++;
    written = 0;
    ui_add(ui, answering, UI_MODEL_ANSWER, "", 0, now_ms(CLOCK_REALTIME));
    set_activity(UI_READING);
}

static void take_message(const char *text);

static void end_answer(const char *footnote)
{
    if (answering)
        ui_finish(ui, answering, footnote);
    answering = 0;
    set_activity(UI_IDLE);
    if (!n_waiting)
        return;
    char *text = waiting[0];
    memmove(waiting, waiting + 1, --n_waiting * sizeof *waiting);
    ui_set_waiting(ui, (const char *const *)waiting, n_waiting);
    take_message(text);
    free(text);
}

/* A few code points more. */
static void write_piece(void)
{
    size_t n = strlen(script), end = written;
    for (int i = 0; i < 4 && end < n; i++)
        do
            end++;
        while (end < n && ((unsigned char)script[end] & 0xc0) == 0x80);
    if (status.activity != UI_WRITING)
        set_activity(UI_WRITING);
    ui_append(ui, answering, script + written, end - written);
    written = end;
    if (written == n)
        end_answer(NULL);
}

static void take_message(const char *text)
{
    if (status.awaited && n_waiting < sizeof waiting / sizeof *waiting) {
        waiting[n_waiting++] = strdup(text);
        ui_set_waiting(ui, (const char *const *)waiting, n_waiting);
        return;
    }
    ui_add(ui, next_id++, UI_PERSON, text, strlen(text), now_ms(CLOCK_REALTIME));
    if (strcmp(text, "crash") == 0)
        abort();
    if (strcmp(text, "exit") == 0)
        exit(3);
    script = strcmp(text, "evil") == 0 ? "before \033[31m\033]0;owned\007 after &#27;[2J end" : answer;
    if (strcmp(text, "silence") == 0)
        set_activity(UI_THINKING);
    else
        begin_answer();
}

static void open_conversation(int64_t id)
{
    ui_show_conversation(ui, id, "Opened");
    for (int i = 0; i < 9; i++) {
        const char *text = i == 3 ? recipe : "one\ntwo\nthree";
        ui_add(ui, next_id++, UI_PERSON, text, strlen(text), 0);
    }
}

static void take(const struct ui_event *e)
{
    static const char *const names[] = {"SEND",        "TAKE_BACK", "DRAFT",   "STOP",     "REGENERATE",
                                        "ALTERNATIVE", "NEW",       "LIST",    "OPEN",     "RENAME",
                                        "DELETE",      "SET",       "RESET",   "SET_TEXT", "SEARCH",
                                        "MODEL",       "MODELS",    "SUMMARY", "QUIT"};
    const char *second = e->type == UI_SET_TEXT ? e->text + strlen(e->text) + 1 : "";
    if (event_log) {
        fprintf(event_log, "%s %lld %.2f %s|%s\n", names[e->type], (long long)e->id, e->value, e->text, second);
        fflush(event_log);
    }
    const struct ui_conversation found = {2, "怎么做红烧肉", now_ms(CLOCK_REALTIME), recipe, 0, "you"};
    switch (e->type) {
    case UI_SEND: take_message(e->text); break;
    case UI_STOP: stopped = true; break; /* it ends once all events are taken, as a worker would */
    case UI_TAKE_BACK:
        free(waiting[--n_waiting]);
        ui_set_waiting(ui, (const char *const *)waiting, n_waiting);
        break;
    case UI_LIST: set_conversations(); break;
    case UI_SET:
        if (strcmp(e->text, "temperature") == 0)
            status.temperature = e->value;
        ui_set_status(ui, &status);
        break;
    case UI_SEARCH: ui_set_found(ui, e->text, &found, 1); break;
    case UI_MODELS: ui_set_models(ui, models, *e->text ? 1 : 2); break;
    case UI_NEW: ui_show_conversation(ui, 0, ""); break;
    case UI_OPEN: open_conversation(e->id); break;
    case UI_QUIT: quit = true; break;
    default: break;
    }
}

int main(void)
{
    char err[256];
    const char *log_name = getenv("UI_DEMO_LOG"), *delay_text = getenv("UI_DEMO_DELAY");
    int delay = delay_text ? atoi(delay_text) : 20;
    if (log_name)
        event_log = fopen(log_name, "w");
    ui = ui_open(err, sizeof err);
    if (!ui) {
        fprintf(stderr, "chinwag: %s\n", err);
        return 1;
    }
    ui_show_conversation(ui, 1, "Half-marathon plan");
    ui_set_status(ui, &status);
    set_settings();
    ui_set_mouse(ui, true);
    int64_t next_piece = 0;
    while (!quit) {
        struct ui_event event;
        struct pollfd p = {ui_fd(ui), POLLIN, 0};
        ui_draw(ui);
        int timeout = ui_timeout(ui);
        if (answering && (timeout < 0 || timeout > delay))
            timeout = delay;
        poll(&p, 1, timeout);
        ui_read(ui);
        while (ui_next_event(ui, &event))
            take(&event);
        if (stopped)
            end_answer("stopped");
        stopped = false;
        int64_t now = now_ms(CLOCK_MONOTONIC);
        if (answering && now >= next_piece) {
            write_piece();
            next_piece = now + delay;
        }
    }
    ui_close(ui);
    if (event_log)
        fclose(event_log);
    return 0;
}
