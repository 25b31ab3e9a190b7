/*
 * Words as the pre-tokenizers cut them. The expected words were made by Python's regex module from the expressions in
 * tokenizer_pre.c; 40,000 random texts were compared in the same way.
 */
#include "../../../engine/tokenizer_impl.h"
#include "make_gguf.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct {
    const char *kind, *text, *words; /* with | between them */
} cases[] = {
    {"tekken", "HelloWorld camelCase HTTPServer iPhone", "Hello|World| camel|Case| HTTPServer| i|Phone"},
    {"tekken", "  two  spaces\012\012\011x", " | two| | spaces|\012\012|\011x"},
    {"tekken", "don't DON'T 1234 \331\24312", "don|'t| DON|'T| |1|2|3|4| |\331\243|1|2"},
    {"tekken", "\302\252BC Ab\312\260 AB\312\260 \307\205A \344\270\255\346\226\207Abc",
     "\302\252|BC| Ab\312\260| AB\312\260| \307\205A| \344\270\255\346\226\207Abc"},
    {"tekken", "\314\201ABC a\314\201b e/\015\012//x", "\314\201|ABC| a\314\201b| e|/\015\012//|x"},
    {"tekken", "$5.00+3=8.00 <a> `b`", "$|5|.|0|0|+|3|=|8|.|0|0| <|a|>| `|b|`"},
    {"tekken", "!\?x ...\012- a", "!\?|x| ...\012|-| a"},
    {"tekken", "a\012\012  b", "a|\012\012| | b"},
    {"tekken", "12345 123\331\2434 \302\275", "1|2|3|4|5| |1|2|3|\331\243|4| |\302\275"},
    {"tekken", " .  ,", " .| | ,"},
    {"tekken", "\302\251\342\230\203 x", "\302\251\342\230\203| x"},
    {"default", "HelloWorld camelCase HTTPServer iPhone", "HelloWorld| camelCase| HTTPServer| iPhone"},
    {"default", "  two  spaces\012\012\011x", " | two| | spaces|\012\012|\011|x"},
    {"default", "don't DON'T 1234 \331\24312", "don|'|t| DON|'|T| |123|4| |\331\24312"},
    {"default", "\302\252BC Ab\312\260 AB\312\260 \307\205A \344\270\255\346\226\207Abc",
     "\302\252BC| Ab\312\260| AB\312\260| \307\205A| \344\270\255\346\226\207Abc"},
    {"default", "\314\201ABC a\314\201b e/\015\012//x", "\314\201|ABC| a|\314\201|b| e|/|\015\012|//|x"},
    {"default", "$5.00+3=8.00 <a> `b`", "$|5|.|00|+|3|=|8|.|00| |<|a|>| `|b|`"},
    {"default", "!\?x ...\012- a", "!\?|x| |...|\012|-| a"},
    {"default", "a\012\012  b", "a|\012\012 | b"},
    {"default", "12345 123\331\2434 \302\275", "123|45| |123|\331\2434| |\302\275"},
    {"default", " .  ,", " |.|  |,"},
    {"default", "\302\251\342\230\203 x", "\302\251\342\230\203| x"},
};

static const struct tokenizer_kind *kind_named(const char *name)
{
    const struct tokenizer_kind *kind = tokenizer_kinds;
    while (kind->name && strcmp(kind->name, name) != 0)
        kind++;
    assert_non_null(kind->name);
    return kind;
}

static void words_are_those_of_the_expression(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tokenizer_kind *kind = kind_named(cases[i].kind);
        size_t n = strlen(cases[i].text), used = 0;
        char words[400];
        for (size_t at = 0, len; at < n; at += len) {
            len = kind->word((const unsigned char *)cases[i].text + at, n - at);
            used += (size_t)snprintf(words + used, sizeof words - used, "%s%.*s", used ? "|" : "", (int)len,
                                     cases[i].text + at);
        }
        assert_string_equal(words, cases[i].words);
    }
}

static void an_alias_is_the_kind_it_stands_for(void **state)
{
    (void)state;
    static const struct {
        const char *pre, *name;
    } names[] = {{"deepseek-r1-qwen", "qwen2"}, {"llama3", "llama-bpe"},  {"llama-v3", "llama-bpe"},
                 {"falcon3", "llama-bpe"},      {"pixtral", "llama-bpe"}, {"smaug-bpe", "dbrx"},
                 {"default", "default"},        {"tekken", "tekken"},     {"starcoder", "smollm"}};
    static const char *const specials[] = {"<s>", "</s>"};
    char buffer[300], err[300];
    const char *path = make_path(buffer, sizeof buffer, "pre.gguf");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct maker m;
        make_byte_vocab(&m, 0, names[i].pre, specials, 2, NULL, 0);
        make_save(&m, path);
        make_free(&m);
        struct gguf *g = gguf_open(path, false, err, sizeof err);
        struct tokenizer *t = tokenizer_open(g, err, sizeof err);
        assert_non_null(t);
        assert_string_equal(tokenizer_name(t), names[i].name);
        tokenizer_close(t);
        gguf_close(g);
    }
    for (const struct tokenizer_alias *alias = tokenizer_aliases; alias->name; alias++)
        kind_named(alias->kind);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_the_expression),
        cmocka_unit_test(an_alias_is_the_kind_it_stands_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
