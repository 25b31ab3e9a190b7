/* test_models.c - finding the model's file, and the directories it may lie in. */
#include "../../../src/models.h"
#include "../../../src/paths.h"

#include <fcntl.h>
#include <ftw.h>
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

static char root[64];
static struct settings settings;
static char err[512];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/chinwag-models-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    setenv("XDG_DATA_HOME", root, 1);
    char command[256];
    snprintf(command, sizeof command, "mkdir -p %s/chinwag/models", root);
    return system(command);
}

static int tear_down(void **state)
{
    (void)state;
    settings_free(&settings);
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file in the model directory; its path is valid until the next call. */
static const char *put(const char *name, const char *content)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/chinwag/models/%s", root, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(content, out);
    fclose(out);
    return path;
}

static void chosen(const char *name)
{
    char *path = model_choose(&settings, err, sizeof err);
    assert_non_null(path);
    assert_string_equal(strrchr(path, '/') + 1, name);
    free(path);
}

static void an_empty_machine_is_told_what_to_do(void **state)
{
    (void)state;
    assert_null(model_choose(&settings, err, sizeof err));
    assert_non_null(strstr(err, root));
    assert_non_null(strstr(err, "make model"));
    assert_non_null(strstr(err, "-m FILE"));
    assert_null(strchr(err, '\n'));
    char *names = model_names();
    assert_string_equal(names, "");
    free(names);
}

static void qwen_comes_first_then_the_default_then_the_alphabet(void **state)
{
    (void)state;
    put("notes.txt", "GGUF");
    put("zebra.gguf", "GGUF");
    put("Apple.gguf", "GGUF");
    chosen("Apple.gguf");
    put("SmolLM2-135M-Instruct.Q4_1.gguf", "GGUF");
    chosen("SmolLM2-135M-Instruct.Q4_1.gguf");
    put("Qwen2.5-0.5B-Instruct-Q4_K_M.gguf", "GGUF");
    chosen("Qwen2.5-0.5B-Instruct-Q4_K_M.gguf");
    char *names = model_names();
    assert_string_equal(names, "Qwen2.5-0.5B-Instruct-Q4_K_M.gguf, SmolLM2-135M-Instruct.Q4_1.gguf, Apple.gguf, "
                               "zebra.gguf");
    free(names);
}

static void a_split_model_is_listed_once(void **state)
{
    (void)state;
    put("big-00001-of-00002.gguf", "GGUF");
    put("big-00002-of-00002.gguf", "GGUF");
    char *names = model_names();
    assert_string_equal(names, "big-00001-of-00002.gguf");
    free(names);
}

static void the_command_line_comes_before_all(void **state)
{
    (void)state;
    put("a.gguf", "GGUF");
    settings_put_text(&settings, LAYER_CONFIG, SET_MODEL, put("config.gguf", "GGUF"));
    chosen("config.gguf");
    settings_put_text(&settings, LAYER_STORE, SET_MODEL, put("store.gguf", "GGUF"));
    chosen("store.gguf");
    settings_put_text(&settings, LAYER_ARGUMENTS, SET_MODEL, put("given.gguf", "GGUF"));
    chosen("given.gguf");
}

static void one_remembered_that_has_gone_is_passed_over(void **state)
{
    (void)state;
    put("a.gguf", "GGUF");
    settings_put_text(&settings, LAYER_STORE, SET_MODEL, "/nonexistent/b.gguf");
    chosen("a.gguf");
    settings_put_text(&settings, LAYER_CONFIG, SET_MODEL, "/nonexistent/c.gguf");
    assert_null(model_choose(&settings, err, sizeof err));
    assert_string_equal(err, "/nonexistent/c.gguf: No such file or directory");
}

static void what_is_no_model_is_refused_in_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *content, *why;
    } files[] = {{"", "empty"}, {"GG", "not a GGUF file"}, {"<html>", "not a GGUF file"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = put("bad.gguf", files[i].content);
        assert_false(model_check(path, err, sizeof err));
        assert_non_null(strstr(err, path));
        assert_non_null(strstr(err, files[i].why));
    }
    assert_false(model_check("/tmp", err, sizeof err));
    assert_non_null(strstr(err, "a directory"));
    char fifo[512];
    snprintf(fifo, sizeof fifo, "%s/fifo", root);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_false(model_check(fifo, err, sizeof err));
    assert_non_null(strstr(err, "regular"));
    assert_true(model_check(put("good.gguf", "GGUF..."), err, sizeof err));
}

static void a_name_is_looked_for_in_the_model_directory(void **state)
{
    (void)state;
    const char *path = put("tiny.gguf", "GGUF");
    static const char *const names[] = {"tiny.gguf", "tiny"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *found = model_resolve(names[i]);
        assert_string_equal(found, path);
        free(found);
    }
    char *missing = model_resolve("nosuch");
    assert_string_equal(missing, "nosuch");
    free(missing);
    char *elsewhere = model_resolve("./tiny");
    assert_string_equal(elsewhere, "./tiny");
    free(elsewhere);
}

static void a_beginning_tells_what_it_could_become(void **state)
{
    (void)state;
    char **names;
    char slash[300];
    snprintf(slash, sizeof slash, "%s", put("tiny.gguf", "GGUF"));
    put("other.gguf", "GGUF");
    put("notes.txt", "no model");
    size_t n = models_like("ti", &names);
    assert_int_equal(n, 1);
    assert_string_equal(names[0], "tiny.gguf");
    models_free(names, n);
    *(strrchr(slash, '/') + 1) = '\0';
    n = models_like(slash, &names); /* a path: what is in it, models only */
    assert_int_equal(n, 2);
    assert_string_equal(strrchr(names[0], '/'), "/other.gguf");
    models_free(names, n);
    n = models_like("/no/such/directory/", &names);
    assert_int_equal(n, 0);
    models_free(names, n);
}

static void expect_name(const char *path, const char *expected)
{
    char name[40];
    model_display_name(path, "Q4_1", name, sizeof name);
    assert_string_equal(name, expected);
}

static void the_name_shown_is_the_files_without_its_extras(void **state)
{
    (void)state;
    expect_name("/models/SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct Q4_1");
    expect_name("qwen-q4_1-00001-of-00003.gguf", "qwen Q4_1");
    expect_name("/a.b/plain", "plain Q4_1");
    expect_name("", " Q4_1");
}

/* It goes into the database and on the screen as text. */
static void the_name_shown_is_whole_characters(void **state)
{
    (void)state;
    expect_name("模型模型模型模型模型模型模型模型.gguf", "模型模型模型模型模型模 Q4_1"); /* 33 bytes of 48 */
    expect_name("x模型模型模型模型模型模型模型模型.gguf", "x模型模型模型模型模型模 Q4_1");
    expect_name("xx模型模型模型模型模型模型模型模型.gguf", "xx模型模型模型模型模型 Q4_1");
    expect_name("latin-\xe9t\xe9.gguf", "latin-\uFFFDt\uFFFD Q4_1");
}

static void relative_xdg_variables_count_as_absent(void **state)
{
    (void)state;
    setenv("HOME", "/home/someone", 1);
    setenv("XDG_CONFIG_HOME", "relative", 1);
    char *path = path_config("config.ini");
    assert_string_equal(path, "/home/someone/.config/chinwag/config.ini");
    free(path);
}

#define each(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        each(an_empty_machine_is_told_what_to_do),
        each(qwen_comes_first_then_the_default_then_the_alphabet),
        each(a_split_model_is_listed_once),
        each(the_command_line_comes_before_all),
        each(one_remembered_that_has_gone_is_passed_over),
        each(what_is_no_model_is_refused_in_a_sentence),
        each(a_name_is_looked_for_in_the_model_directory),
        each(a_beginning_tells_what_it_could_become),
        each(the_name_shown_is_the_files_without_its_extras),
        each(the_name_shown_is_whole_characters),
        each(relative_xdg_variables_count_as_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
