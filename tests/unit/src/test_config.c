/* test_config.c - the configuration file. */
#include "../../../src/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct settings settings;
static char path[] = "/tmp/chinwag-config-XXXXXX";
static char err[512];

static bool read_text(const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    settings_free(&settings);
    err[0] = '\0';
    return config_read(path, &settings, err, sizeof err);
}

static void refused(const char *text, int line, const char *why)
{
    char place[128];
    snprintf(place, sizeof place, "%s:%d: ", path, line);
    assert_false(read_text(text));
    if (strncmp(err, place, strlen(place)) != 0 || !strstr(err, why))
        fail_msg("refused with '%s', not '%s...%s'", err, place, why);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    settings_free(&settings);
    return unlink(path);
}

static void values_go_below_the_command_line(void **state)
{
    (void)state;
    assert_true(read_text("# a comment\n[chinwag]\ntemperature = 0.3\ntop-k=5\nno-mmap = yes\nkv = q8_0\n"));
    assert_float_equal(settings_number(&settings, SET_TEMPERATURE), 0.3, 1e-9);
    assert_float_equal(settings_number(&settings, SET_TOP_K), 5, 0);
    assert_float_equal(settings_number(&settings, SET_NO_MMAP), 1, 0);
    assert_float_equal(settings_number(&settings, SET_KV), ENGINE_KV_Q8_0, 0);
    assert_true(settings_has(&settings, LAYER_CONFIG, SET_TOP_K));
    assert_true(settings_read(&settings, LAYER_ARGUMENTS, SET_TOP_K, "6", err, sizeof err));
    assert_float_equal(settings_number(&settings, SET_TOP_K), 6, 0);
}

static void options_are_known_by_both_names(void **state)
{
    (void)state;
    assert_true(read_text("temp = 0.4\n"));
    assert_float_equal(settings_number(&settings, SET_TEMPERATURE), 0.4, 1e-9);
}

static void long_texts_go_on_in_indented_lines(void **state)
{
    (void)state;
    assert_true(read_text("system = You are brief.\n  You answer in 中文.\ntop-k = 3\n"));
    assert_string_equal(settings_text(&settings, SET_SYSTEM), "You are brief.\nYou answer in 中文.");
    assert_true(read_text("system =\n"));
    assert_string_equal(settings_text(&settings, SET_SYSTEM), "");
}

static void a_text_is_taken_whole(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text;
    } texts[] = {
        {"system = Réponds brièvement ; toujours en français.\n", "Réponds brièvement ; toujours en français."},
        {"system = a # b ;c\n", "a # b ;c"},
        {"system = One\n  # Rules\n  ; note\n\tTwo\ntop-k = 3\n", "One\n# Rules\n; note\nTwo"},
        {"system = One\n\n  Two\n\n\n  Three\n\n# a comment\n\ntop-k = 3\n", "One\n\nTwo\n\n\nThree"},
        {"system = a\n  b = c\n  [d]\n", "a\nb = c\n[d]"},
        {"system = One\r\n  Two\r\n", "One\nTwo"},
        {"system = [a] = b: c", "[a] = b: c"},
        {"system: a = b", "a = b"},
        {"system =\n  Two\n", "\nTwo"},
        {"[chat]\n  # a comment\n  system = One\n", "One"},
        {"system = One\nsystem = Two\n", "Two"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!read_text(texts[i].file))
            fail_msg("'%s' is refused: %s", texts[i].file, err);
        assert_string_equal(settings_text(&settings, SET_SYSTEM), texts[i].text);
    }
    assert_true(read_text("model = a ; b.gguf\n  # a comment\n  top-k = 3 ; a few\n"));
    assert_string_equal(settings_text(&settings, SET_MODEL), "a ; b.gguf");
    assert_float_equal(settings_number(&settings, SET_TOP_K), 3, 0);
}

static void numbers_and_words_may_have_a_comment_behind(void **state)
{
    (void)state;
    assert_true(read_text("top-k = 3 ; a few\nkv = q8_0\t; small\nno-mmap = yes ;\n  ; indented\n"));
    assert_float_equal(settings_number(&settings, SET_TOP_K), 3, 0);
    assert_float_equal(settings_number(&settings, SET_KV), ENGINE_KV_Q8_0, 0);
    refused("top-k = 3;4\n", 1, "'3;4'");
}

static void a_byte_order_mark_is_ignored(void **state)
{
    (void)state;
    assert_true(read_text("\xef\xbb\xbftemp = 0.25\n"));
    assert_float_equal(settings_number(&settings, SET_TEMPERATURE), 0.25, 0);
    assert_true(read_text("\xef\xbb\xbf"));
    refused("top-k = 3\n\xef\xbb\xbftemp = 0\n", 2, "there is no setting");
}

static void minus_one_is_chance_or_no_limit(void **state)
{
    (void)state;
    assert_true(read_text("seed = -1\nmax-tokens = -1\nthreads = -1\ntop-k = -1\n"));
    static const enum setting_id ids[] = {SET_SEED, SET_MAX_TOKENS, SET_THREADS, SET_TOP_K};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_float_equal(settings_number(&settings, ids[i]), 0, 0);
    refused("seed = -2\n", 1, "seed wants a whole number from 0 to");
}

static void the_later_of_two_lines_counts(void **state)
{
    (void)state;
    assert_true(read_text("top-k = 3\ntop-k = 4\n"));
    assert_float_equal(settings_number(&settings, SET_TOP_K), 4, 0);
}

static void home_is_expanded_in_paths(void **state)
{
    (void)state;
    setenv("HOME", "/home/someone", 1);
    assert_true(read_text("model = ~/m.gguf\ndb = /x/~/y\n"));
    assert_string_equal(settings_text(&settings, SET_MODEL), "/home/someone/m.gguf");
    assert_string_equal(settings_text(&settings, SET_DB), "/x/~/y");
}

static void mistakes_name_their_line(void **state)
{
    (void)state;
    refused("top-k = 3\n\ntemprature = 1\n", 3, "'temprature'");
    refused("temperature = warm\n", 1, ": temperature wants a number");
    refused("temp = warm\n", 1, ": temp wants a number");
    refused("temp = 1e999\n", 1, "temp wants a number");
    refused("= 3\n", 1, "there is no setting ''");
    refused("top-k = 3\nnonsense\n", 2, "name = value");
    refused("top-k = 3.5\nnonsense\n", 1, "whole number");
    refused("system = \xff\n", 1, "UTF-8");
    refused("\nsystem = a\n  \xff\n", 2, "system wants text in UTF-8");
}

static void a_line_may_be_long(void **state)
{
    (void)state;
    char text[5000] = "system = ";
    memset(text + strlen(text), 'x', 4000);
    assert_true(read_text(text));
    assert_int_equal(strlen(settings_text(&settings, SET_SYSTEM)), 4000);
}

static void no_file_is_an_empty_one(void **state)
{
    (void)state;
    settings_free(&settings);
    assert_true(config_read("/nonexistent/config.ini", &settings, err, sizeof err));
    assert_false(config_read("/tmp", &settings, err, sizeof err));
    assert_string_equal(err, "/tmp: this is a directory, not a file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_go_below_the_command_line),
        cmocka_unit_test(options_are_known_by_both_names),
        cmocka_unit_test(long_texts_go_on_in_indented_lines),
        cmocka_unit_test(the_later_of_two_lines_counts),
        cmocka_unit_test(home_is_expanded_in_paths),
        cmocka_unit_test(mistakes_name_their_line),
        cmocka_unit_test(a_line_may_be_long),
        cmocka_unit_test(a_text_is_taken_whole),
        cmocka_unit_test(numbers_and_words_may_have_a_comment_behind),
        cmocka_unit_test(a_byte_order_mark_is_ignored),
        cmocka_unit_test(minus_one_is_chance_or_no_limit),
        cmocka_unit_test(no_file_is_an_empty_one),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
