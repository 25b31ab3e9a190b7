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
    refused("temperature = warm\n", 1, "temperature wants a number");
    refused("top-k = 3\nnonsense\n", 2, "name = value");
    refused("top-k = 3.5\nnonsense\n", 1, "whole number");
    refused("system = \xff\n", 1, "UTF-8");
}

static void a_line_too_long_is_refused_not_cut(void **state)
{
    (void)state;
    char text[5000] = "top-k = 7\nsystem = ";
    memset(text + strlen(text), 'x', 4000);
    refused(text, 2, "too long");
}

static void no_file_is_an_empty_one(void **state)
{
    (void)state;
    settings_free(&settings);
    assert_true(config_read("/nonexistent/config.ini", &settings, err, sizeof err));
    assert_false(config_read("/tmp", &settings, err, sizeof err));
    assert_non_null(strstr(err, "/tmp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_go_below_the_command_line),   cmocka_unit_test(options_are_known_by_both_names),
        cmocka_unit_test(long_texts_go_on_in_indented_lines), cmocka_unit_test(the_later_of_two_lines_counts),
        cmocka_unit_test(home_is_expanded_in_paths),          cmocka_unit_test(mistakes_name_their_line),
        cmocka_unit_test(a_line_too_long_is_refused_not_cut), cmocka_unit_test(no_file_is_an_empty_one),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
