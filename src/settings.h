/*
 * settings.h - everything that can be set, in one table, and what it is set to.
 *
 * From the table come the options of the command line, the keys of the configuration file, the rows of the settings
 * panel and what is kept in the store. A value can be given in several layers; the uppermost one that has it counts.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "worker.h"

#include <stdbool.h>
#include <stddef.h>

enum setting_id {
    SET_TEMPERATURE,
    SET_TOP_P,
    SET_TOP_K,
    SET_MIN_P,
    SET_REPEAT_PENALTY,
    SET_PRESENCE_PENALTY,
    SET_FREQUENCY_PENALTY,
    SET_MAX_TOKENS,
    SET_THINKING,
    SET_STOP_LOOPS,
    SET_THREADS,
    SET_SYSTEM,
    SET_MOUSE,
    SET_SEED,
    SET_CONTEXT,
    SET_KV,
    SET_ATTN_WINDOW,
    SET_NO_MMAP,
    SET_NO_REPACK,
    SET_MODEL,
    SET_DB,
    N_SETTINGS,
};

enum setting_kind { SETTING_NUMBER, SETTING_TEXT, SETTING_PATH, SETTING_FLAG, SETTING_CHOICE }; /* 0: a number */

struct setting_spec { /* a row of settings_table; fields not named there are 0 or NULL */
    enum setting_kind kind;
    const char *name;       /* in the panel, the configuration file and the store */
    const char *option;     /* the long option, if it differs from name; else NULL */
    const char *value_name; /* in --help; NULL for a flag */
    const char *help;       /* a few words */
    double min, max, step;  /* SETTING_NUMBER: the range, and what an arrow key adds */
    int decimals;           /* SETTING_NUMBER: digits after the point; 0 = whole numbers only */
    bool minus_one; /* SETTING_NUMBER: -1 is read as 0, as llama.cpp and Ollama write "no limit" or "random" */
    double initial; /* the value when no layer sets one */
    const char *const *choices; /* SETTING_CHOICE: NULL-terminated; the value is an index into it */
    const char *blank;          /* what the panel shows for 0 or an empty text; NULL = the value itself */
    bool in_panel;              /* can be changed while the program runs */
    bool for_now;               /* a change is not stored: it ends with this run */
};
extern const struct setting_spec settings_table[N_SETTINGS];

/* Lowest first. */
enum setting_layer {
    LAYER_MODEL,     /* the model file's own defaults */
    LAYER_CONFIG,    /* the configuration file */
    LAYER_STORE,     /* changed in the panel, in an earlier run */
    LAYER_ARGUMENTS, /* the command line */
    LAYER_LIVE,      /* changed in this run */
    N_LAYERS,
};

struct settings {
    struct {
        bool set;
        double number;
        char *text; /* owned; of SETTING_TEXT and SETTING_PATH */
    } value[N_LAYERS][N_SETTINGS];
};

int settings_find(const char *name); /* by name or option: its id, or -1 */

/* Reads a value from text, for numbers checking the whole of it and the range. False and err ("wants a number from
 * ...") otherwise. */
bool settings_read(struct settings *s, enum setting_layer layer, enum setting_id id, const char *text, char *err,
                   size_t cap);
/* Clamped to the setting's range. */
void settings_put_number(struct settings *s, enum setting_layer layer, enum setting_id id, double number);
/* NULL hides what lower layers have: as if nobody had set it. */
void settings_put_text(struct settings *s, enum setting_layer layer, enum setting_id id, const char *text);
void settings_free(struct settings *s);

/* Takes back what was set above the model's file and the configuration: by the panel and the command line. */
void settings_reset(struct settings *s, enum setting_id id);
/* Whether that would change anything. */
bool settings_changed(const struct settings *s, enum setting_id id);

bool settings_has(const struct settings *s, enum setting_layer layer, enum setting_id id);
double settings_number(const struct settings *s, enum setting_id id);
const char *settings_text(const struct settings *s, enum setting_id id); /* NULL where nobody has set it */
char *settings_format(const struct settings *s, enum setting_id id);     /* as settings_read takes it; malloc'd */

/* What the engine calls sampling: `base` for what is no setting. */
struct engine_sampling settings_sampling(const struct settings *s, const struct engine_sampling *base);
/* Takes a model file's defaults into LAYER_MODEL, and the threads the engine chose. */
void settings_take_defaults(struct settings *s, const struct engine_sampling *sampling, int threads);
char *settings_database(const struct settings *s); /* the path of the store's file; malloc'd */

/* How the worker is to be opened; model_path is not copied. */
struct worker_options settings_worker_options(const struct settings *s, const char *model_path);
/* Fills in what settings decide of an answer's job, max_tokens, skip_thought and stop_loops; the rest is left alone. */
void settings_fill_job(const struct settings *s, struct worker_job *job);

#endif
