/* settings.c - see settings.h. */
#include "settings.h"

#include "base.h"
#include "buffer.h"
#include "paths.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>

static const char *const thinking_choices[] = {"off", "on", NULL}; /* as a bool */
static const char *const kv_choices[] = {"f16", "q8_0", NULL};     /* in the order of enum engine_kv_type */

/* The initial values are engine.h's defaults, for the panel while the model is still loading. Seeds stop where a
 * double no longer holds every whole number. */
#define SEED_MAX 9007199254740991.0

const struct setting settings_table[N_SETTINGS] = {
    [SET_TEMPERATURE] = {"temperature", "temp", "X", "0 = always the likeliest word", SETTING_NUMBER, 0, 5, 0.05, 2,
                         0.7, NULL, true, false, NULL},
    [SET_TOP_P] = {"top-p", NULL, "X", "the likeliest words up to this share", SETTING_NUMBER, 0, 1, 0.05, 2, 0.8,
                   NULL, true, false, NULL},
    [SET_TOP_K] = {"top-k", NULL, "N", "the N likeliest words, 0 = all", SETTING_NUMBER, 0, 1000, 1, 0, 20, NULL,
                   true, false, "all"},
    [SET_MIN_P] = {"min-p", NULL, "X", "no words below X times the likeliest", SETTING_NUMBER, 0, 1, 0.01, 2, 0, NULL,
                   true, false, NULL},
    [SET_REPEAT_PENALTY] = {"repeat-penalty", NULL, "X", "against words said lately, 1 = off", SETTING_NUMBER, 0.1,
                            10, 0.05, 2, 1.1, NULL, true, false, NULL},
    [SET_PRESENCE_PENALTY] = {"presence-penalty", NULL, "X", "against words said before, 0 = off", SETTING_NUMBER, -2,
                              2, 0.1, 2, 0, NULL, true, false, NULL},
    [SET_FREQUENCY_PENALTY] = {"frequency-penalty", NULL, "X", "against words said often, 0 = off", SETTING_NUMBER,
                               -2, 2, 0.1, 2, 0, NULL, true, false, NULL},
    [SET_MAX_TOKENS] = {"max-tokens", NULL, "N", "longest answer, 0 = the window's end", SETTING_NUMBER, 0, 1048576,
                        64, 0, 0, NULL, true, false, "no limit"},
    [SET_THINKING] = {"thinking", NULL, "on|off", "off: answer without thinking, if the model can", SETTING_CHOICE,
                      .initial = true, .choices = thinking_choices, .in_panel = true},
    [SET_THREADS] = {"threads", NULL, "N", "0 = one for each core", SETTING_NUMBER, 0, 512, 1, 0, 0, NULL, true,
                     false, "one a core"},
    [SET_SYSTEM] = {"system", NULL, "TEXT", "system prompt, empty = none", SETTING_TEXT, .in_panel = true,
                    .blank = "the model's own"},
    [SET_SEED] = {"seed", NULL, "N", "the same numbers, the same answer; 0 = chance", SETTING_NUMBER, 0, SEED_MAX, 1,
                  0, 0, NULL, true, true, "chance"},
    [SET_CONTEXT] = {"context", NULL, "N", "window in tokens, 0 = 4096 or what the model has", SETTING_NUMBER, 0,
                     1048576, 256, 0, 0, NULL, false, false, NULL},
    [SET_KV] = {"kv", NULL, "f16|q8_0", "how the context is stored", SETTING_CHOICE, .choices = kv_choices},
    [SET_ATTN_WINDOW] = {"attn-window", NULL, "N", "attend to the first 4 and the last N tokens, 0 = all",
                         SETTING_NUMBER, 0, 1048576, 256, 0, 0, NULL, false, false, NULL},
    [SET_NO_MMAP] = {"no-mmap", NULL, NULL, "read the model file instead of mapping it", .kind = SETTING_FLAG},
    [SET_NO_REPACK] = {"no-repack", NULL, NULL, "keep the file's layout in memory: slower, pages stay shared",
                       .kind = SETTING_FLAG},
    [SET_MODEL] = {"model", NULL, "FILE", "the model, a GGUF file", .kind = SETTING_TEXT},
    [SET_DB] = {"db", NULL, "FILE", "where conversations are kept", .kind = SETTING_TEXT},
};

/* A number in the C locale's notation, whatever the locale; all of text must be it. */
static bool read_number(const char *text, double *number)
{
    char *end;
    errno = 0;
    *number = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && isfinite(*number) && strpbrk(text, "xXpP") == NULL;
}

static bool read_flag(const char *text, double *number)
{
    static const char *const words[][2] = {{"no", "yes"}, {"false", "true"}, {"off", "on"}, {"0", "1"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int value = 0; value < 2; value++)
            if (strcmp(text, words[i][value]) == 0) {
                *number = value;
                return true;
            }
    return false;
}

static bool read_choice(const char *const *choices, const char *text, double *number)
{
    for (int i = 0; choices[i]; i++)
        if (strcmp(choices[i], text) == 0) {
            *number = i;
            return true;
        }
    return false;
}

/* "%g" would write 1e+06. */
static void write_number(struct buffer *out, double number, int decimals)
{
    char text[64];
    snprintf(text, sizeof text, "%.*f", decimals, number);
    if (decimals) {
        char *end = text + strlen(text);
        while (end[-1] == '0')
            *--end = '\0';
        if (end[-1] == '.')
            *--end = '\0';
    }
    buffer_puts(out, text);
}

static bool refuse(const struct setting *row, const char *text, char *err, size_t cap)
{
    struct buffer want = {0};
    if (row->kind == SETTING_NUMBER) {
        buffer_puts(&want, row->decimals ? "a number from " : "a whole number from ");
        write_number(&want, row->min, row->decimals);
        buffer_puts(&want, " to ");
        write_number(&want, row->max, row->decimals);
    } else if (row->kind == SETTING_FLAG) {
        buffer_puts(&want, "yes or no");
    } else {
        buffer_puts(&want, row->value_name);
    }
    snprintf(err, cap, "wants %s, not '%.60s'", want.s, text);
    buffer_free(&want);
    return false;
}

/* The layer that counts for id where none above `layer` does, or -1. */
static int layer_from(const struct settings *s, enum setting_id id, int layer)
{
    while (layer >= 0 && !s->value[layer][id].set)
        layer--;
    return layer;
}

static int layer_of(const struct settings *s, enum setting_id id)
{
    return layer_from(s, id, N_LAYERS - 1);
}

int settings_find(const char *name)
{
    for (int id = 0; id < N_SETTINGS; id++)
        if (strcmp(settings_table[id].name, name) == 0 ||
            (settings_table[id].option && strcmp(settings_table[id].option, name) == 0))
            return id;
    return -1;
}

bool settings_read(struct settings *s, enum setting_layer layer, enum setting_id id, const char *text, char *err,
                   size_t cap)
{
    const struct setting *row = &settings_table[id];
    double number = 0;
    bool ok = true;
    switch (row->kind) {
    case SETTING_NUMBER:
        ok = read_number(text, &number) && number >= row->min && number <= row->max &&
             (row->decimals > 0 || number == floor(number));
        break;
    case SETTING_FLAG: ok = read_flag(text, &number); break;
    case SETTING_CHOICE: ok = read_choice(row->choices, text, &number); break;
    case SETTING_TEXT:
        if (id == SET_SYSTEM && u8_check((const uint8_t *)text, strlen(text))) {
            snprintf(err, cap, "wants text in UTF-8");
            return false;
        }
        free(s->value[layer][id].text);
        s->value[layer][id].text = mem_string(text);
    }
    if (!ok)
        return refuse(row, text, err, cap);
    s->value[layer][id].number = number;
    s->value[layer][id].set = true;
    return true;
}

void settings_put_number(struct settings *s, enum setting_layer layer, enum setting_id id, double number)
{
    const struct setting *row = &settings_table[id];
    number = row->decimals ? number : round(number);
    s->value[layer][id].number = fmin(fmax(number, row->min), row->max);
    s->value[layer][id].set = true;
}

void settings_put_text(struct settings *s, enum setting_layer layer, enum setting_id id, const char *text)
{
    free(s->value[layer][id].text);
    s->value[layer][id].text = mem_string(text);
    s->value[layer][id].set = true;
}

void settings_reset(struct settings *s, enum setting_id id)
{
    for (int layer = LAYER_CONFIG + 1; layer < N_LAYERS; layer++) {
        free(s->value[layer][id].text);
        s->value[layer][id].text = NULL;
        s->value[layer][id].set = false;
    }
}

bool settings_changed(const struct settings *s, enum setting_id id)
{
    int below = layer_from(s, id, LAYER_CONFIG);
    const char *text = settings_text(s, id), *text_below = below < 0 ? NULL : s->value[below][id].text;
    double number = below < 0 ? settings_table[id].initial : s->value[below][id].number;
    if (settings_table[id].kind == SETTING_TEXT)
        return text && text_below ? strcmp(text, text_below) != 0 : text != text_below;
    return fabs(settings_number(s, id) - number) > 1e-6; /* the model's are floats */
}

void settings_free(struct settings *s)
{
    for (int layer = 0; layer < N_LAYERS; layer++)
        for (int id = 0; id < N_SETTINGS; id++)
            free(s->value[layer][id].text);
    memset(s, 0, sizeof *s);
}

bool settings_has(const struct settings *s, enum setting_layer layer, enum setting_id id)
{
    return s->value[layer][id].set;
}

double settings_number(const struct settings *s, enum setting_id id)
{
    int layer = layer_of(s, id);
    return layer < 0 ? settings_table[id].initial : s->value[layer][id].number;
}

const char *settings_text(const struct settings *s, enum setting_id id)
{
    int layer = layer_of(s, id);
    return layer < 0 ? NULL : s->value[layer][id].text;
}

char *settings_format(const struct settings *s, enum setting_id id)
{
    const struct setting *row = &settings_table[id];
    struct buffer text = {0};
    double number = settings_number(s, id);
    const char *own = settings_text(s, id);
    switch (row->kind) {
    case SETTING_NUMBER: write_number(&text, number, row->decimals); break;
    case SETTING_FLAG: buffer_puts(&text, number != 0 ? "yes" : "no"); break;
    case SETTING_CHOICE: buffer_puts(&text, row->choices[(int)number]); break;
    case SETTING_TEXT: buffer_puts(&text, own ? own : "");
    }
    return buffer_take(&text);
}

/* The settings that are fields of the engine's sampling. */
static const struct {
    enum setting_id id;
    size_t offset;
    bool whole; /* an int, else a float */
} sampling_fields[] = {
    {SET_TEMPERATURE, offsetof(struct engine_sampling, temperature), false},
    {SET_TOP_K, offsetof(struct engine_sampling, top_k), true},
    {SET_TOP_P, offsetof(struct engine_sampling, top_p), false},
    {SET_MIN_P, offsetof(struct engine_sampling, min_p), false},
    {SET_REPEAT_PENALTY, offsetof(struct engine_sampling, repeat_penalty), false},
    {SET_PRESENCE_PENALTY, offsetof(struct engine_sampling, presence_penalty), false},
    {SET_FREQUENCY_PENALTY, offsetof(struct engine_sampling, frequency_penalty), false},
};

#define N_SAMPLING_FIELDS (sizeof sampling_fields / sizeof *sampling_fields)

struct engine_sampling settings_sampling(const struct settings *s, const struct engine_sampling *base)
{
    struct engine_sampling sampling = *base;
    sampling.seed = (uint64_t)settings_number(s, SET_SEED);
    for (size_t i = 0; i < N_SAMPLING_FIELDS; i++) {
        void *field = (char *)&sampling + sampling_fields[i].offset;
        double number = settings_number(s, sampling_fields[i].id);
        if (sampling_fields[i].whole)
            *(int *)field = (int)number;
        else
            *(float *)field = (float)number;
    }
    return sampling;
}

void settings_take_defaults(struct settings *s, const struct engine_sampling *sampling, int threads)
{
    for (size_t i = 0; i < N_SAMPLING_FIELDS; i++) {
        const void *field = (const char *)sampling + sampling_fields[i].offset;
        double number = sampling_fields[i].whole ? *(const int *)field : *(const float *)field;
        settings_put_number(s, LAYER_MODEL, sampling_fields[i].id, number);
    }
    if (settings_number(s, SET_THREADS) <= 0 || !settings_changed(s, SET_THREADS)) /* else they are the person's */
        settings_put_number(s, LAYER_MODEL, SET_THREADS, threads);
}

char *settings_database(const struct settings *s)
{
    const char *given = settings_text(s, SET_DB);
    return given ? mem_string(given) : path_data("chinwag.db");
}

struct worker_options settings_worker_options(const struct settings *s, const char *model_path)
{
    return (struct worker_options){.model_path = model_path,
                                   .n_ctx = (int)settings_number(s, SET_CONTEXT),
                                   .threads = (int)settings_number(s, SET_THREADS),
                                   .no_mmap = settings_number(s, SET_NO_MMAP) != 0,
                                   .no_repack = settings_number(s, SET_NO_REPACK) != 0,
                                   .kv_type = (enum engine_kv_type)settings_number(s, SET_KV),
                                   .attn_window = (int)settings_number(s, SET_ATTN_WINDOW),
                                   .seed = (uint64_t)settings_number(s, SET_SEED)};
}

void settings_fill_job(const struct settings *s, struct worker_job *job)
{
    job->max_tokens = (int)settings_number(s, SET_MAX_TOKENS);
    job->skip_thought = !settings_number(s, SET_THINKING);
}
