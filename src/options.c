/* options.c - see options.h. */
#include "options.h"

#include <getopt.h>
#include <string.h>
#include <unistr.h>

enum action { SETTING, PROMPT, SAVE, THOUGHTS, NO_STDIN, RESUME, LIST, HELP, VERSION };

/* In the order of --help. A setting's long name, argument and help are in settings_table. */
static const struct entry {
    const char *heading; /* printed before this entry */
    char letter;         /* 0 = none */
    enum action action;
    enum setting_id id; /* of SETTING */
    const char *name, *value_name, *help;
} entries[] = {
    {"What to do (without -p: a full-screen chat, which begins with QUESTION if there is one)", 'p', PROMPT, 0,
     "prompt", "TEXT", "answer once; piped input is appended to TEXT"},
    {NULL, 's', SETTING, SET_SYSTEM, NULL, NULL, NULL},
    {NULL, 0, RESUME, 0, "resume", "[WHICH]", "go on with the latest conversation, or one by number or title"},
    {NULL, 0, LIST, 0, "list", NULL, "print the saved conversations with their numbers and leave"},
    {NULL, 0, SAVE, 0, "save", NULL, "with -p: keep the answer as a new conversation"},
    {NULL, 0, THOUGHTS, 0, "thoughts", NULL, "with -p: what the model thinks first, on standard error"},
    {NULL, 0, NO_STDIN, 0, "no-stdin", NULL, "with -p: do not read standard input"},
    {NULL, 0, SETTING, SET_DB, NULL, NULL, NULL},
    {"The model", 'm', SETTING, SET_MODEL, NULL, NULL, NULL},
    {NULL, 'c', SETTING, SET_CONTEXT, NULL, NULL, NULL},
    {NULL, 't', SETTING, SET_THREADS, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_KV, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_ATTN_WINDOW, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_NO_MMAP, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_NO_REPACK, NULL, NULL, NULL},
    {"Choosing words", 0, SETTING, SET_TEMPERATURE, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_TOP_P, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_TOP_K, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_MIN_P, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_REPEAT_PENALTY, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_PRESENCE_PENALTY, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_FREQUENCY_PENALTY, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_SEED, NULL, NULL, NULL},
    {NULL, 'n', SETTING, SET_MAX_TOKENS, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_THINKING, NULL, NULL, NULL},
    {NULL, 0, SETTING, SET_STOP_LOOPS, NULL, NULL, NULL},
    {"The screen", 0, SETTING, SET_MOUSE, NULL, NULL, NULL},
    {"About the program", 'h', HELP, 0, "help", NULL, "print this and leave"},
    {NULL, 'V', VERSION, 0, "version", NULL, "print the version and leave"},
};

#define N_ENTRIES (sizeof entries / sizeof *entries)
#define LONG_ONLY 0x100 /* getopt's value of entry i is LONG_ONLY + i: past every letter */

static const char *entry_name(const struct entry *e)
{
    const struct setting_spec *row = &settings_table[e->id];
    return e->action != SETTING ? e->name : row->option ? row->option : row->name;
}

static const char *entry_value_name(const struct entry *e)
{
    return e->action == SETTING ? settings_table[e->id].value_name : e->value_name;
}

static bool usage(char *err, size_t cap, const char *format, const char *what)
{
    snprintf(err, cap, format, what);
    size_t n = strlen(err);
    snprintf(err + n, cap - n, " (chinwag --help lists the options)");
    return false;
}

/* The text may be a word of its own, which getopt does not know: `--resume TEXT` as well as `--resume=TEXT`. */
static bool take_resume(struct options *o, int argc, char **argv, char *err, size_t cap)
{
    o->resume = true;
    o->resumed = optarg;
    if (!optarg && optind < argc && argv[optind][0] != '-')
        o->resumed = argv[optind++];
    if (o->resumed && u8_check((const uint8_t *)o->resumed, strlen(o->resumed)))
        return usage(err, cap, "%s", "the title after --resume is not valid UTF-8");
    if (o->resumed && !*o->resumed)
        return usage(err, cap, "%s", "--resume wants the number or the title of a conversation, or nothing");
    return true;
}

static bool take(const struct entry *e, struct options *o, struct settings *settings, int argc, char **argv,
                 char *err, size_t cap)
{
    switch (e->action) {
    case SETTING: {
        char why[200], text[256];
        if (settings_read(settings, LAYER_ARGUMENTS, e->id, optarg ? optarg : "yes", why, sizeof why))
            return true;
        snprintf(text, sizeof text, "--%s %s", entry_name(e), why);
        return usage(err, cap, "%s", text);
    }
    case PROMPT:
        o->task = o->task == OPTIONS_LIST ? OPTIONS_LIST : OPTIONS_ONESHOT;
        o->prompt = optarg;
        return true;
    case SAVE: o->save = true; return true;
    case THOUGHTS: o->thoughts = true; return true;
    case NO_STDIN: o->no_stdin = true; return true;
    case LIST: o->task = OPTIONS_LIST; return true;
    case RESUME: return take_resume(o, argc, argv, err, cap);
    case HELP: o->task = OPTIONS_HELP; return true;
    case VERSION: o->task = OPTIONS_VERSION; return true;
    }
    return false;
}

/* getopt_long's own tables. letters: room for ":", two characters for each entry, and the NUL. */
static void build_tables(char *letters, struct option *longs)
{
    *letters++ = ':';
    for (size_t i = 0; i < N_ENTRIES; i++) {
        const char *value = entry_value_name(&entries[i]);
        int takes = !value ? no_argument : value[0] == '[' ? optional_argument : required_argument;
        longs[i] = (struct option){entry_name(&entries[i]), takes, NULL, LONG_ONLY + (int)i};
        if (entries[i].letter) {
            *letters++ = entries[i].letter;
            if (value)
                *letters++ = ':';
        }
    }
    *letters = '\0';
    longs[N_ENTRIES] = (struct option){0};
}

static const struct entry *entry_of(int c)
{
    if (c >= LONG_ONLY)
        return &entries[c - LONG_ONLY];
    for (size_t i = 0; i < N_ENTRIES; i++)
        if (entries[i].letter == c)
            return &entries[i];
    return NULL;
}

/* What getopt refused: optopt is a letter, a long option's value, or 0 for one unknown. */
static bool refuse(int c, char **argv, char *err, size_t cap)
{
    char name[80];
    if (optopt >= LONG_ONLY)
        snprintf(name, sizeof name, "--%s", entry_name(&entries[optopt - LONG_ONLY]));
    else if (optopt)
        snprintf(name, sizeof name, "-%c", optopt);
    else
        snprintf(name, sizeof name, "%s", argv[optind - 1]);
    if (c == ':')
        return usage(err, cap, "%s wants a value", name);
    return usage(err, cap, optopt >= LONG_ONLY ? "%s takes no value" : "there is no option %s", name);
}

/* The one word that is no option: the chat's first message. */
static bool take_question(struct options *o, int argc, char **argv, char *err, size_t cap)
{
    const char *text = argv[optind], *dot = strrchr(text, '.');
    if (optind + 1 < argc)
        return usage(err, cap, "'%.60s' is one word too many: put the question into quotes", argv[optind + 1]);
    if (u8_check((const uint8_t *)text, strlen(text)))
        return usage(err, cap, "%s", "the question is not valid UTF-8");
    if (!text[strspn(text, " \t\r\n")])
        return usage(err, cap, "%s", "the question is empty");
    if (dot && strcmp(dot, ".gguf") == 0 && !strpbrk(text, " \n"))
        return usage(err, cap, "'%.60s' is a model's file, no question: -m FILE names it", text);
    if (o->task != OPTIONS_CHAT)
        return usage(err, cap, "'%.60s' is a question for the chat: it goes with neither -p nor --list", text);
    o->question = text;
    return true;
}

bool options_parse(int argc, char **argv, struct options *options, struct settings *settings, char *err, size_t cap)
{
    char letters[2 * N_ENTRIES + 2];
    struct option longs[N_ENTRIES + 1];
    build_tables(letters, longs);
    *options = (struct options){0};
    optind = 0; /* glibc: scan anew */
#ifdef __APPLE__
    optind = optreset = 1;
#endif
    opterr = 0;

    int c;
    while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct entry *e = c == '?' || c == ':' ? NULL : entry_of(c);
        if (!e)
            return refuse(c, argv, err, cap);
        if (!take(e, options, settings, argc, argv, err, cap))
            return false;
        if (options->task >= OPTIONS_HELP)
            return true;
    }
    if (optind < argc && !take_question(options, argc, argv, err, cap))
        return false;
    if (options->task == OPTIONS_LIST && (options->prompt || options->resume || options->save))
        return usage(err, cap, "%s", "--list only lists: it goes with no -p, --resume or --save");
    if (options->save && options->task != OPTIONS_ONESHOT)
        return usage(err, cap, "%s", "--save goes with -p; the chat keeps everything anyway");
    if (options->thoughts && options->task != OPTIONS_ONESHOT)
        return usage(err, cap, "%s", "--thoughts goes with -p; the chat shows them with Alt-T");
    if (options->no_stdin && options->task != OPTIONS_ONESHOT)
        return usage(err, cap, "%s", "--no-stdin goes with -p; the chat reads the keyboard");
    if (options->save && options->resume)
        return usage(err, cap, "%s", "--save makes a new conversation, --resume goes on with one: choose");
    return true;
}

void options_help(FILE *out)
{
    for (size_t i = 0; i < N_ENTRIES; i++) {
        const struct entry *e = &entries[i];
        const char *value = entry_value_name(e);
        char left[64], letter[8] = "    ";
        if (e->letter)
            snprintf(letter, sizeof letter, "-%c, ", e->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, entry_name(e), value ? " " : "", value ? value : "");
        if (e->heading)
            fprintf(out, "%s%s:\n", i ? "\n" : "", e->heading);
        fprintf(out, "  %-30s %s\n", left, e->action == SETTING ? settings_table[e->id].help : e->help);
    }
}
