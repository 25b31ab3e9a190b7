/* test_language.c - messages are recognised for the language they are in. */
#include "../../../src/language.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    enum language language;
    const char *text;
} cases[] = {
    {LANGUAGE_ENGLISH, "How long does it take to walk to the station?"},
    {LANGUAGE_ENGLISH, "Please write a poem about the sea."},
    {LANGUAGE_CHINESE, "今天天气怎么样？"},
    {LANGUAGE_CHINESE, "请用 Python 写一个程序。"},
    {LANGUAGE_JAPANESE, "今日の天気はどうですか。"},
    {LANGUAGE_JAPANESE, "東京都庁舎の場所を教えて"},
    {LANGUAGE_JAPANESE, "Pythonのコードを書いて"},
    {LANGUAGE_KOREAN, "오늘 날씨가 어때요?"},
    {LANGUAGE_RUSSIAN, "Какая сегодня погода?"},
    {LANGUAGE_UKRAINIAN, "Яка сьогодні погода в Києві?"},
    {LANGUAGE_ARABIC, "كيف الطقس اليوم؟"},
    {LANGUAGE_PORTUGUESE, "Qual é a melhor receita de bolo para uma festa?"},
    {LANGUAGE_PORTUGUESE, "Moro em Coimbra com a minha irmã e não tenho carro."},
    {LANGUAGE_SPANISH, "¿Cuál es la mejor receta de pastel para una fiesta?"},
    {LANGUAGE_FRENCH, "Quelle est la meilleure recette de gâteau pour une fête ?"},
    {LANGUAGE_GERMAN, "Was ist das beste Rezept für einen Kuchen?"},
    {LANGUAGE_ITALIAN, "Qual è la ricetta migliore per una torta? Non ho il forno."},
    {LANGUAGE_DUTCH, "Wat is het beste recept voor een taart?"},
    {LANGUAGE_POLISH, "Jaki jest najlepszy przepis na ciasto? Nie mam piekarnika i nie wiem, jak to zrobić."},
    {LANGUAGE_TURKISH, "Bu pasta için en iyi tarif hangi kitapta var?"},
    {LANGUAGE_UNKNOWN, ""},
    {LANGUAGE_UNKNOWN, "12345 + 67"},
    {LANGUAGE_UNKNOWN, "OK"},
    {LANGUAGE_UNKNOWN, "Ποιος είναι ο καιρός;"},
};

static void a_message_is_recognised_for_its_language(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum language language = language_of(slice_of(cases[i].text));
        if (language != cases[i].language)
            fail_msg("%s: %d, not %d", cases[i].text, language, cases[i].language);
    }
}

static void every_language_has_all_its_texts(void **state)
{
    (void)state;
    for (int i = 0; i < N_LANGUAGES; i++) {
        const struct language_texts *t = &language_texts[i];
        assert_true(t->function_words && t->request && t->frame[0] && t->frame[1] && t->person && t->answerer);
        if (i != LANGUAGE_UNKNOWN) /* the program would not understand its own request otherwise */
            assert_int_equal(language_of(slice_of(t->request)), i);
    }
}

static void telling_words_are_those_that_name_a_topic(void **state)
{
    (void)state;
    static const struct {
        enum language language;
        const char *word;
        bool telling;
    } words[] = {
        {LANGUAGE_ENGLISH, "linkers", true},    {LANGUAGE_ENGLISH, "would", false},
        {LANGUAGE_ENGLISH, "discussed", false}, {LANGUAGE_ENGLISH, "42", true},
        {LANGUAGE_CHINESE, "京", true},         {LANGUAGE_CHINESE, "的", false},
        {LANGUAGE_PORTUGUESE, "também", false}, {LANGUAGE_PORTUGUESE, "praia", true},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct words all = words_of(slice_of(words[i].word));
        struct word word;
        assert_true(next_word(&all, &word));
        assert_int_equal(word_is_telling(&word, words[i].language), words[i].telling);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_recognised_for_its_language),
        cmocka_unit_test(every_language_has_all_its_texts),
        cmocka_unit_test(telling_words_are_those_that_name_a_topic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
