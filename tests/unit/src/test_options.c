/* test_options.c - the command line, and the settings behind it. */
#include "../../../src/options.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct settings settings;
static struct options options;
static char err[512];

/* Parses the words of line (separated by single spaces) after the program's name. */
static bool parse(const char *line)
{
    static char words[512];
    char *argv[64] = {"chinwag"};
    int argc = 1;
    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
        argv[argc++] = w;
    settings_free(&settings);
    err[0] = '\0';
    return options_parse(argc, argv, &options, &settings, err, sizeof err);
}

static void refused(const char *line, const char *why)
{
    assert_false(parse(line));
    if (!strstr(err, why))
        fail_msg("'%s' is refused with '%s', without '%s'", line, err, why);
    assert_null(strchr(err, '\n'));
}

static int free_settings(void **state)
{
    (void)state;
    settings_free(&settings);
    return 0;
}

static void nothing_given_is_the_chat(void **state)
{
    (void)state;
    assert_true(parse(""));
    assert_int_equal(options.task, OPTIONS_CHAT);
    assert_false(options.resume);
    for (int id = 0; id < N_SETTINGS; id++)
        assert_false(settings_has(&settings, LAYER_ARGUMENTS, id));
    assert_null(settings_text(&settings, SET_MODEL));
    assert_null(settings_text(&settings, SET_SYSTEM));
}

static void every_option_of_the_issue(void **state)
{
    (void)state;
    assert_true(
        parse("-m m.gguf -p hello -s be-brief --temp 0.5 --top-p 0.9 --top-k 40 --min-p 0.05 --repeat-penalty 1.2 "
              "--presence-penalty -0.5 --frequency-penalty 0.25 --seed 42 -n 100 -c 2048 -t 3 --no-mmap "
              "--no-repack --kv q8_0 --attn-window 512 --db x.db --save --thoughts --no-stdin"));
    assert_int_equal(options.task, OPTIONS_ONESHOT);
    assert_string_equal(options.prompt, "hello");
    assert_true(options.save);
    assert_true(options.thoughts && options.no_stdin);
    assert_string_equal(settings_text(&settings, SET_MODEL), "m.gguf");
    assert_string_equal(settings_text(&settings, SET_SYSTEM), "be-brief");
    assert_string_equal(settings_text(&settings, SET_DB), "x.db");

    struct engine_sampling s = settings_sampling(&settings, &(struct engine_sampling){.repeat_last_n = 77});
    assert_float_equal(s.temperature, 0.5, 1e-6);
    assert_float_equal(s.top_p, 0.9, 1e-6);
    assert_int_equal(s.top_k, 40);
    assert_float_equal(s.min_p, 0.05, 1e-6);
    assert_float_equal(s.repeat_penalty, 1.2, 1e-6);
    assert_float_equal(s.presence_penalty, -0.5, 1e-6);
    assert_float_equal(s.frequency_penalty, 0.25, 1e-6);
    assert_int_equal(s.repeat_last_n, 77);

    struct worker_options w = settings_worker_options(&settings, "m.gguf");
    assert_int_equal(w.n_ctx, 2048);
    assert_int_equal(w.threads, 3);
    assert_true(w.no_mmap && w.no_repack);
    assert_int_equal(w.kv_type, ENGINE_KV_Q8_0);
    assert_int_equal(w.attn_window, 512);
    assert_true(w.seed == 42);
    assert_float_equal(settings_number(&settings, SET_MAX_TOKENS), 100, 0);
}

static void long_options_take_values_both_ways(void **state)
{
    (void)state;
    assert_true(parse("--temp=0.25 --prompt=why --max-tokens 7"));
    assert_float_equal(settings_number(&settings, SET_TEMPERATURE), 0.25, 0);
    assert_float_equal(settings_number(&settings, SET_MAX_TOKENS), 7, 0);
    assert_string_equal(options.prompt, "why");
}

static void resume_with_and_without_a_conversation(void **state)
{
    (void)state;
    assert_true(parse("--resume"));
    assert_true(options.resume);
    assert_null(options.resumed);
    assert_true(parse("--resume 1234567890123 -t 2"));
    assert_string_equal(options.resumed, "1234567890123");
    assert_float_equal(settings_number(&settings, SET_THREADS), 2, 0);
    assert_true(parse("--resume=17"));
    assert_string_equal(options.resumed, "17");
    assert_true(parse("--resume garden"));
    assert_string_equal(options.resumed, "garden");
    assert_true(parse("--resume -p hello"));
    assert_true(options.resume && !options.resumed && options.task == OPTIONS_ONESHOT);
    refused("--resume=", "number or the title");
    refused("--resume \xff", "UTF-8");
}

static void one_word_that_is_no_option_is_the_chats_question(void **state)
{
    (void)state;
    assert_true(parse("hello -t 2"));
    assert_int_equal(options.task, OPTIONS_CHAT);
    assert_string_equal(options.question, "hello");
    assert_true(parse("-t 2 -- -5?"));
    assert_string_equal(options.question, "-5?");
    assert_true(parse("--resume=garden /help"));
    assert_string_equal(options.question, "/help");
    assert_true(parse("hello --resume"));
    assert_true(options.resume && !options.resumed);
    assert_string_equal(options.question, "hello");
    char *spaced[] = {"chinwag", "What is a monad?", NULL}, *blank[] = {"chinwag", " \n", NULL};
    assert_true(options_parse(2, spaced, &options, &settings, err, sizeof err));
    assert_string_equal(options.question, "What is a monad?");
    assert_false(options_parse(2, blank, &options, &settings, err, sizeof err));
    assert_non_null(strstr(err, "question is empty"));
    refused("what is this", "quotes");
    refused("-p x hello", "neither -p nor --list");
    refused("--list hello", "neither -p nor --list");
    refused("models/m.gguf", "-m FILE");
    refused("caf\xe9", "UTF-8");
}

static void numbers_are_checked_whole(void **state)
{
    (void)state;
    refused("--temp 0.5x", "--temp wants a number from 0 to 5, not '0.5x'");
    refused("--temp 5.1", "0 to 5");
    refused("--temp -0.1", "0 to 5");
    refused("--temp nan", "'nan'");
    refused("--temp inf", "'inf'");
    refused("--temp 0x1", "'0x1'");
    refused("--top-p 1.01", "from 0 to 1");
    refused("--top-k 2.5", "a whole number");
    refused("--top-k -2", "from 0 to 1000");
    refused("-t 1000", "threads wants a whole number from 0 to 512");
    refused("-n -2", "max-tokens");
    refused("-c 99999999999999999999", "context");
    refused("--seed -2", "seed");
    refused("--seed 1e400", "seed");
    refused("--kv q4_0", "f16|q8_0");
}

static void minus_one_is_chance_or_no_limit(void **state)
{
    (void)state;
    assert_true(parse("--seed 5 -n 5 --seed -1 -n -1 -t -1 --top-k=-1"));
    assert_float_equal(settings_number(&settings, SET_SEED), 0, 0);
    assert_float_equal(settings_number(&settings, SET_MAX_TOKENS), 0, 0);
    struct worker_options w = settings_worker_options(&settings, "m.gguf");
    assert_true(w.seed == 0 && w.threads == 0);
    refused("--temp -1", "from 0 to 5");
    refused("-c -1", "context");
}

static void wrong_usage_has_one_sentence(void **state)
{
    (void)state;
    refused("--nonsense", "no option --nonsense");
    refused("-x", "no option -x");
    refused("-tx", "'x'");
    refused("-m", "-m wants a value");
    refused("--temp", "--temp wants a value");
    refused("--save=yes", "--save takes no value");
    refused("--save", "goes with -p");
    refused("--list --resume 3", "only lists");
    refused("--list -p x", "only lists");
    refused("-p x --list", "only lists");
    refused("--list=3", "--list takes no value");
    refused("--thoughts", "goes with -p");
    refused("-p x --save --resume 3", "choose");
    refused("--no-stdin", "goes with -p");
    refused("-s \xc3", "UTF-8");
}

static void help_wins_over_what_follows(void **state)
{
    (void)state;
    assert_true(parse("--help --nonsense"));
    assert_int_equal(options.task, OPTIONS_HELP);
    assert_true(parse("-V"));
    assert_int_equal(options.task, OPTIONS_VERSION);
}

static void help_lists_every_setting(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    options_help(out);
    fclose(out);
    for (int id = 0; id < N_SETTINGS; id++) {
        char name[64];
        const char *option = settings_table[id].option;
        snprintf(name, sizeof name, "--%s", option ? option : settings_table[id].name);
        if (!strstr(text, name))
            fail_msg("--help lacks %s", name);
    }
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strlen(line) > 100)
            fail_msg("too long for a terminal: %s", line);
    free(text);
}

static void defaults_of_a_file_come_back_as_they_were(void **state)
{
    (void)state;
    const struct engine_sampling file = {.temperature = 1.25f,
                                         .top_k = 50,
                                         .top_p = 0.75f,
                                         .min_p = 0.125f,
                                         .repeat_penalty = 1.5f,
                                         .presence_penalty = -0.5f,
                                         .frequency_penalty = 0.25f};
    assert_true(parse(""));
    settings_take_defaults(&settings, &file, 3);
    assert_float_equal(settings_number(&settings, SET_THREADS), 3, 0);
    struct engine_sampling s = settings_sampling(&settings, &(struct engine_sampling){0});
    assert_memory_equal(&s, &file, sizeof s);
}

static void the_uppermost_layer_counts(void **state)
{
    (void)state;
    assert_true(parse(""));
    assert_float_equal(settings_number(&settings, SET_TOP_K), 20, 0);
    settings_take_defaults(&settings, &(struct engine_sampling){.temperature = 1, .top_k = 50, .top_p = 1}, 2);
    assert_float_equal(settings_number(&settings, SET_TOP_K), 50, 0);
    assert_float_equal(settings_number(&settings, SET_THREADS), 2, 0);
    assert_true(settings_read(&settings, LAYER_CONFIG, SET_TOP_K, "11", err, sizeof err));
    assert_float_equal(settings_number(&settings, SET_TOP_K), 11, 0);
    assert_true(settings_read(&settings, LAYER_ARGUMENTS, SET_TOP_K, "13", err, sizeof err));
    assert_true(settings_read(&settings, LAYER_STORE, SET_TOP_K, "12", err, sizeof err));
    assert_float_equal(settings_number(&settings, SET_TOP_K), 13, 0);
    settings_put_number(&settings, LAYER_LIVE, SET_TOP_K, 14.2);
    assert_float_equal(settings_number(&settings, SET_TOP_K), 14, 0);
    settings_put_number(&settings, LAYER_LIVE, SET_TOP_K, 1e9);
    assert_float_equal(settings_number(&settings, SET_TOP_K), 1000, 0);

    assert_true(settings_read(&settings, LAYER_CONFIG, SET_SYSTEM, "below", err, sizeof err));
    settings_put_text(&settings, LAYER_LIVE, SET_SYSTEM, NULL);
    assert_null(settings_text(&settings, SET_SYSTEM));
}

static void what_is_kept_reads_back(void **state)
{
    (void)state;
    static const struct {
        enum setting_id id;
        const char *text;
    } values[] = {{SET_TEMPERATURE, "0.85"}, {SET_TEMPERATURE, "0"},         {SET_TOP_K, "1000"},
                  {SET_TOP_K, "0"},          {SET_SEED, "9007199254740991"}, {SET_KV, "q8_0"},
                  {SET_NO_MMAP, "yes"},      {SET_SYSTEM, "a b\nc"},         {SET_PRESENCE_PENALTY, "-1.5"}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_true(parse(""));
        assert_true(settings_read(&settings, LAYER_LIVE, values[i].id, values[i].text, err, sizeof err));
        char *text = settings_format(&settings, values[i].id);
        assert_string_equal(text, values[i].text);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_given_is_the_chat),
        cmocka_unit_test(every_option_of_the_issue),
        cmocka_unit_test(long_options_take_values_both_ways),
        cmocka_unit_test(resume_with_and_without_a_conversation),
        cmocka_unit_test(one_word_that_is_no_option_is_the_chats_question),
        cmocka_unit_test(numbers_are_checked_whole),
        cmocka_unit_test(minus_one_is_chance_or_no_limit),
        cmocka_unit_test(wrong_usage_has_one_sentence),
        cmocka_unit_test(help_wins_over_what_follows),
        cmocka_unit_test(help_lists_every_setting),
        cmocka_unit_test(defaults_of_a_file_come_back_as_they_were),
        cmocka_unit_test(the_uppermost_layer_counts),
        cmocka_unit_test(what_is_kept_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, free_settings);
}
