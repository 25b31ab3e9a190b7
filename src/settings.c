/* settings.c - see settings.h. */
#include "settings.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "paths.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>

static const char *const switch_choices[] = {"off", "on", NULL}; /* the index is a bool */
static const char *const kv_choices[] = {"f16", "q8_0", NULL};   /* in the order of enum engine_kv_type */

/* Doubles represent every whole number up to this one. */
#define SEED_MAX 9007199254740991.0

/* The initial values repeat engine.h's defaults: the panel shows them until the model is loaded. */
// clang-format off
const struct setting_spec settings_table[N_SETTINGS] = {
    [SET_TEMPERATURE] = {.name = "temperature", .option = "temp", .value_name = "X", .max = 5, .step = 0.05, .decimals = 2, .initial = 0.7, .in_panel = true, .help = "0 = always the likeliest word"},
    [SET_TOP_P] = {.name = "top-p", .value_name = "X", .max = 1, .step = 0.05, .decimals = 2, .initial = 0.8, .in_panel = true, .help = "the likeliest words up to this share"},
    [SET_TOP_K] = {.name = "top-k", .value_name = "N", .max = 1000, .step = 1, .minus_one = true, .initial = 20, .in_panel = true, .blank = "all", .help = "the N likeliest words, 0 = all"},
    [SET_MIN_P] = {.name = "min-p", .value_name = "X", .max = 1, .step = 0.01, .decimals = 2, .in_panel = true, .help = "no words below X times the likeliest"},
    [SET_REPEAT_PENALTY] = {.name = "repeat-penalty", .value_name = "X", .min = 0.1, .max = 10, .step = 0.05, .decimals = 2, .initial = 1.1, .in_panel = true, .help = "against words said lately, 1 = off"},
    [SET_PRESENCE_PENALTY] = {.name = "presence-penalty", .value_name = "X", .min = -2, .max = 2, .step = 0.1, .decimals = 2, .in_panel = true, .help = "against words said before, 0 = off"},
    [SET_FREQUENCY_PENALTY] = {.name = "frequency-penalty", .value_name = "X", .min = -2, .max = 2, .step = 0.1, .decimals = 2, .in_panel = true, .help = "against words said often, 0 = off"},
    [SET_MAX_TOKENS] = {.name = "max-tokens", .value_name = "N", .max = 1048576, .step = 64, .minus_one = true, .in_panel = true, .blank = "no limit", .help = "longest answer, 0 = the window's end"},
    [SET_THINKING] = {.kind = SETTING_CHOICE, .name = "thinking", .value_name = "on|off", .choices = switch_choices, .initial = true, .in_panel = true, .help = "off: answer without thinking, if the model can"},
    [SET_STOP_LOOPS] = {.kind = SETTING_CHOICE, .name = "stop-loops", .value_name = "on|off", .choices = switch_choices, .initial = true, .in_panel = true, .help = "on: an answer that repeats itself ends"},
    [SET_THREADS] = {.name = "threads", .value_name = "N", .max = 512, .step = 1, .minus_one = true, .in_panel = true, .blank = "one a core", .help = "0 = one for each core"},
    [SET_SYSTEM] = {.kind = SETTING_TEXT, .name = "system", .value_name = "TEXT", .in_panel = true, .blank = "the model's own", .help = "system prompt, empty = none"},
    [SET_MOUSE] = {.kind = SETTING_CHOICE, .name = "mouse", .value_name = "on|off", .choices = switch_choices, .initial = true, .in_panel = true, .help = "on: the wheel scrolls, off: the mouse selects"},
    [SET_SEED] = {.name = "seed", .value_name = "N", .max = SEED_MAX, .step = 1, .minus_one = true, .in_panel = true, .for_now = true, .blank = "chance", .help = "the same numbers, the same answer; 0 = chance"},
    [SET_CONTEXT] = {.name = "context", .value_name = "N", .max = 1048576, .step = 256, .help = "window in tokens, 0 = 4096 or what the model has"},
    [SET_KV] = {.kind = SETTING_CHOICE, .name = "kv", .value_name = "f16|q8_0", .choices = kv_choices, .help = "how the context is stored"},
    [SET_ATTN_WINDOW] = {.name = "attn-window", .value_name = "N", .max = 1048576, .step = 256, .help = "attend to the first 4 and the last N tokens, 0 = all"},
    [SET_NO_MMAP] = {.kind = SETTING_FLAG, .name = "no-mmap", .help = "read the model file instead of mapping it"},
    [SET_NO_REPACK] = {.kind = SETTING_FLAG, .name = "no-repack", .help = "keep the file's layout in memory: slower, pages stay shared"},
    [SET_MODEL] = {.kind = SETTING_PATH, .name = "model", .value_name = "FILE", .help = "the model, a GGUF file"},
    [SET_DB] = {.kind = SETTING_PATH, .name = "db", .value_name = "FILE", .help = "where conversations are kept"},
};
// clang-format on

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

static bool refuse(const struct setting_spec *row, const char *text, char *err, size_t cap)
{
    struct buffer want = BUFFER_INIT;
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
    const struct setting_spec *row = &settings_table[id];
    double number = 0;
    bool ok = true;
    switch (row->kind) {
    case SETTING_NUMBER:
        ok = read_number(text, &number);
        number = row->minus_one && number == -1 ? 0 : number;
        ok = ok && number >= row->min && number <= row->max && (row->decimals > 0 || number == floor(number));
        break;
    case SETTING_FLAG: ok = read_flag(text, &number); break;
    case SETTING_CHOICE: ok = read_choice(row->choices, text, &number); break;
    case SETTING_TEXT:
    case SETTING_PATH:
        if (row->kind == SETTING_TEXT && u8_check((const uint8_t *)text, strlen(text))) {
            snprintf(err, cap, "wants text in UTF-8");
            return false;
        }
        if (id == SET_DB && !*text) {
            snprintf(err, cap, "wants the name of a file");
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
    const struct setting_spec *row = &settings_table[id];
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

static bool is_text(enum setting_id id)
{
    return settings_table[id].kind == SETTING_TEXT || settings_table[id].kind == SETTING_PATH;
}

bool settings_changed(const struct settings *s, enum setting_id id)
{
    int below = layer_from(s, id, LAYER_CONFIG);
    const char *text = settings_text(s, id), *text_below = below < 0 ? NULL : s->value[below][id].text;
    double number = below < 0 ? settings_table[id].initial : s->value[below][id].number;
    if (is_text(id))
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
    const struct setting_spec *row = &settings_table[id];
    struct buffer text = BUFFER_INIT;
    double number = settings_number(s, id);
    const char *own = settings_text(s, id);
    switch (row->kind) {
    case SETTING_NUMBER: write_number(&text, number, row->decimals); break;
    case SETTING_FLAG: buffer_puts(&text, number != 0 ? "yes" : "no"); break;
    case SETTING_CHOICE: buffer_puts(&text, row->choices[(int)number]); break;
    case SETTING_TEXT:
    case SETTING_PATH: buffer_puts(&text, own ? own : "");
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
    job->stop_loops = settings_number(s, SET_STOP_LOOPS) != 0;
}
