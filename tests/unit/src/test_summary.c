/* test_summary.c - summaries are distrusted, and replaced by an extract that loses no name. */
#include "../../../src/summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <unistr.h>

#define N_OF(table) (sizeof(table) / sizeof *(table))

static struct summary_turn person(const char *text)
{
    return (struct summary_turn){.answer = false, .text = text, .len = strlen(text)};
}

static struct summary_turn answer(const char *text)
{
    return (struct summary_turn){.answer = true, .text = text, .len = strlen(text)};
}

static char *extract(const char *earlier, const struct summary_turn *turns, size_t n, size_t max_bytes)
{
    struct summary_source *source = summary_source_new(earlier, turns, n, NULL, NULL);
    char *text = summary_extract(source, max_bytes), *again = summary_extract(source, max_bytes);
    assert_string_equal(text, again);
    free(again);
    summary_source_free(source);
    return text;
}

static char *complete(const char *summary, const char *earlier, const struct summary_turn *turns, size_t n,
                      size_t max_bytes)
{
    struct summary_source *source = summary_source_new(earlier, turns, n, NULL, NULL);
    char *text = summary_complete(source, summary, max_bytes);
    summary_source_free(source);
    return text;
}

/* ---- the check ---- */

static const char *const trip =
    "My name is Dana and I live in Lisbon. I plan a trip on 14 March 2025 with a budget of $1,500 for three people.";

struct judged {
    const char *summary;
    bool good;
};

static void judge(const char *source, const char *earlier, const struct judged *cases, size_t n)
{
    struct summary_turn turns[] = {person(source), answer("That sounds like a lovely plan, take the train.")};
    for (size_t i = 0; i < n; i++) {
        char reason[128] = "";
        bool good = summary_check(cases[i].summary, earlier, turns, 2, reason, sizeof reason);
        if (good != cases[i].good)
            fail_msg("\"%s\" taken as %s (%s)", cases[i].summary, good ? "good" : "bad", reason);
        assert_int_equal(good, reason[0] == '\0');
    }
}

static void a_faithful_summary_is_good(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {"The user, Dana, lives in Lisbon and plans a trip on March 14, 2025 for three people with a budget of "
         "$1500.",
         true},
        {"Dana's budget for the trip is 1500.00 and there are 3 people.", true},
        {"The trip is on 14/3/2025.", true},
        {"1. Dana plans a trip.\n2. The budget is 1,500.", true},
        {"**Dana** plans a trip. I'm told the plan is lovely.", true},
        {"The trip is on 14 Mar 2025.", true},
    };
    judge(trip, NULL, cases, N_OF(cases));
}

static void an_empty_summary_is_bad(void **state)
{
    (void)state;
    static const struct judged cases[] = {{"", false}, {" \n\t", false}, {"...", false}, {"- \n- ", false}};
    judge(trip, NULL, cases, N_OF(cases));
}

static void a_summary_that_repeats_itself_is_bad(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {"Dana, Dana, Dana, Dana, Dana", false},
        {"The trip is planned. Dana plans a trip and Dana plans a trip and Dana plans a trip", false},
        {"The user plans a trip. The user plans a trip. The user plans a trip. And that is all.", false},
        {"Dana plans the trip to Lisbon. Lisbon, Lisbon, Lisbon, Lisbon. A lovely plan.", false},
        {"Dana plans a trip with a budget. Three people plan a trip with a budget. "
         "People live with a budget. Dana plans a trip with a budget. Three people plan a trip with a budget.",
         false},
        {"Dana plans a trip. The trip has a budget. The budget is for people on the trip.", true},
    };
    judge(trip, NULL, cases, N_OF(cases));
}

static void a_number_that_the_source_lacks_is_bad(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {"Dana plans a trip with a budget of $1,600.", false},
        {"Dana plans a trip on 15 March 2025.", false},
        {"The budget of the trip is 150.", false},
        {"The budget of the trip is 15000.", false},
        {"The trip of Dana takes twenty days.", false},
        {"The budget of the trip is 1.5.", false},
    };
    judge(trip, NULL, cases, N_OF(cases));
}

static void a_month_that_the_source_lacks_is_bad(void **state)
{
    (void)state;
    static const struct judged cases[] = {{"The trip is planned for 14 April 2025.", false},
                                          {"April is when the trip of Dana is planned.", false},
                                          {"The trip may be planned by Dana.", true}};
    judge(trip, NULL, cases, N_OF(cases));
}

static void a_name_that_the_source_lacks_is_bad(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {"The user Dana plans a trip with Robert.", false},
        {"A trip to Paris is planned by Dana.", false},
        {"Planning is done by the user.", true}, /* a sentence's first word is no name */
        {"The plan: Take the train to Lisbon.", true},
        {"The user said: \"Plan a trip.\"", true},
        {"A trip of Élodie is planned.", false},
    };
    judge(trip, NULL, cases, N_OF(cases));
}

static void a_summary_of_something_else_is_bad(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {"Unfortunately, helping with requests of such kinds remains impossible; please consult professionals.",
         false}};
    judge(trip, NULL, cases, N_OF(cases));
}

static void a_copy_of_an_answer_is_bad(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {"That sounds like a lovely plan, take the train! A lovely plan, take the train.", false},
        {"That sounds like a lovely plan, take the train.", true}, /* too short to tell */
    };
    judge(trip, NULL, cases, N_OF(cases));
}

static void what_the_earlier_summary_says_is_known(void **state)
{
    (void)state;
    static const struct judged cases[] = {{"Dana and her dog Rex, aged 12, plan a trip.", true}};
    judge(trip, "User: my dog Rex is 12 years old.", cases, 1);
    static const struct judged unknown[] = {{"Dana and her dog Rex, aged 12, plan a trip.", false}};
    judge(trip, NULL, unknown, 1);
}

static void numbers_may_be_written_out_in_the_source(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {"There are 25 eggs and 12 cups of flour.", true},
        {"There are 300 grams of flour and eggs.", true},
        {"There are 26 eggs in the flour.", false},
    };
    judge("I have twenty-five eggs, twelve cups and three hundred grams of flour.", NULL, cases, N_OF(cases));
}

static void chinese_is_checked_too(void **state)
{
    (void)state;
    static const struct judged cases[] = {
        {"用户小明住在北京，计划三月十四日去上海旅行，预算5000元。", true},
        {"用户小明计划3月14日去上海旅行。", true},
        {"用户小明计划三月十五日去上海旅行。", false},
        {"用户小明去上海旅行，预算六千元。", false},
        {"用户小明去上海旅行，预算８０００元。", false},
        {"小明去上海，小明去上海，小明去上海，小明去上海", false},
        {"小明一起去上海旅行，十分高兴。", true},
    };
    judge("我叫小明，住在北京。我计划3月14日去上海旅行，预算五千元，一定十分高兴。一起去。", NULL, cases,
          N_OF(cases));
}

static void a_loop_is_seen_while_it_is_written(void **state)
{
    (void)state;
    static const char *const loops[] = {"So it is Dana, Dana, Dana, Dana", "and then and then and then"};
    static const char *const prose[] = {"", "Dana", "The user asked for a plan, and then the plan was made."};
    for (size_t i = 0; i < N_OF(loops); i++)
        assert_true(summary_loops(loops[i], strlen(loops[i])));
    for (size_t i = 0; i < N_OF(prose); i++)
        assert_false(summary_loops(prose[i], strlen(prose[i])));
}

/* ---- the extract ---- */

static void an_extract_keeps_names_numbers_dates_and_quotes(void **state)
{
    (void)state;
    struct summary_turn turns[] = {
        person("Hello there. My name is Dana. Well, it is a nice day. The budget is 1500 dollars."),
        answer("Nice to meet you. You could visit Porto on 14 March. I like to help."),
        person("The song is called \"Blue Moon\". Tell me something nice about it."),
    };
    char *text = extract(NULL, turns, 3, 190);
    assert_string_equal(text,
                        "User: My name is Dana.\nUser: The budget is 1500 dollars.\n"
                        "Assistant: You could visit Porto on 14 March.\nUser: The song is called \"Blue Moon\".\n"
                        "User: Tell me something nice about it.");
    free(text);
}

static void a_question_is_no_fact(void **state)
{
    (void)state;
    struct summary_turn turns[] = {
        person("Do you know what my name is? What is my name? 我叫什么名字？"),
        person("Hi, my name is Dana, can you help me?"),
        person("我叫小明，你能帮我吗？"),
    };
    char *text = extract(NULL, turns, 3, 90);
    assert_non_null(strstr(text, "Dana"));
    assert_non_null(strstr(text, "小明"));
    assert_null(strstr(text, "know"));
    assert_null(strstr(text, "什么"));
    free(text);
}

static void an_extract_is_an_extract_of_itself(void **state)
{
    (void)state;
    struct summary_turn turns[] = {
        person("My name is Dana. I live in Lisbon, Portugal. 我喜欢喝茶。"),
        answer("Nice to meet you, Dana. Lisbon has 545,000 people."),
    };
    char *once = extract(NULL, turns, 2, 1000);
    char *twice = extract(once, NULL, 0, 1000);
    assert_string_equal(once, twice);
    free(once);
    free(twice);
}

static void the_same_input_gives_the_same_extract_and_nothing_twice(void **state)
{
    (void)state;
    struct summary_turn turns[] = {person("My cat is Tom. My cat is Tom."), person("My cat is  Tom!")};
    char *a = extract("User: My cat is Tom.", turns, 2, 500), *b = extract("User: My cat is Tom.", turns, 2, 500);
    assert_string_equal(a, "User: My cat is Tom.");
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static void an_extract_is_never_empty(void **state)
{
    (void)state;
    static const char *const texts[] = {"ok", "?", "👍", "```\ncode();\n```", "嗯", "1."};
    for (size_t i = 0; i < N_OF(texts); i++) {
        struct summary_turn turns[] = {person(texts[i])};
        char *text = extract(NULL, turns, 1, 16);
        assert_in_range(strlen(text), 1, 16);
        free(text);
    }
    char *none = extract(NULL, NULL, 0, 100);
    assert_string_equal(none, "");
    free(none);
}

static void an_extract_is_bounded_and_valid_utf8(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "我叫小明，今年二十五岁，住在北京市海淀区，喜欢打篮球和看电影，每天早上七点起床去上班，工作很忙但是很开心，周"
        "末和朋友一起爬山。",
        "My name is Dana \xff\xfe and I was born on 3 May 1990 \xe5\xa4 in a small town that nobody knows of.",
        "🙂🙂🙂 one two three four five six seven eight 🙂🙂🙂",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaa",
    };
    struct summary_turn turns[N_OF(texts)];
    for (size_t i = 0; i < N_OF(texts); i++)
        turns[i] = person(texts[i]);
    for (size_t max = 0; max < 600; max++) {
        char *text = extract("User: 天气很好", turns, N_OF(texts), max);
        assert_true(strlen(text) <= max);
        assert_null(u8_check((const uint8_t *)text, strlen(text)));
        if (max >= 16)
            assert_true(text[0] != '\0');
        free(text);
    }
}

/* The chat goes on for a hundred turns that all carry numbers, names and likings, five of them in each extract. */
static void a_name_told_first_survives_twenty_compactions(void **state)
{
    (void)state;
    static const char *const firsts[] = {"Hello! My name is Dana.", "你好，我叫小明。"};
    static const char *const names[] = {"Dana", "小明"};
    for (size_t k = 0; k < N_OF(firsts); k++) {
        char *summary = NULL;
        for (int round = 0; round < 20; round++) {
            char said[5][160], got[5][160];
            struct summary_turn turns[10];
            for (int i = 0; i < 5; i++) {
                int t = round * 5 + i;
                snprintf(said[i], sizeof said[i],
                         "I like the number %d. My friend Bob%d is %d years old. 我喜欢数字%d。", t, t, 20 + t, t);
                snprintf(got[i], sizeof got[i], "The number %d was used in London and Paris in %d.", t, 1900 + t);
                turns[2 * i] = person(t == 0 ? firsts[k] : said[i]);
                turns[2 * i + 1] = answer(got[i]);
            }
            char *next = extract(summary, turns, 10, 200);
            free(summary);
            summary = next;
            assert_true(strlen(summary) <= 200);
            assert_non_null(strstr(summary, names[k]));
        }
        assert_non_null(strstr(summary, "99")); /* and what is new has come in */
        free(summary);
    }
}

static void facts_that_a_model_lost_are_put_back(void **state)
{
    (void)state;
    struct summary_turn turns[] = {person("My name is Dana. I live in Lisbon. What is the capital of Peru?"),
                                   answer("It is Lima.")};
    char *text = complete("The user asked for the capital of Peru, which is Lima.", NULL, turns, 2, 300);
    assert_string_equal(text, "User: My name is Dana.\nUser: I live in Lisbon.\n"
                              "The user asked for the capital of Peru, which is Lima.");
    char *again = complete("The user talked about the weather.", text, NULL, 0, 300);
    assert_string_equal(again, "User: My name is Dana.\nUser: I live in Lisbon.\nThe user talked about the weather.");
    free(again);
    free(text);
    text = complete("The user, Dana of Lisbon, asked for the capital of Peru.", NULL, turns, 2, 300);
    assert_string_equal(text, "The user, Dana of Lisbon, asked for the capital of Peru.");
    free(text);
}

static void plans_with_numbers_are_put_back_as_well(void **state)
{
    (void)state;
    struct summary_turn turns[] = {
        person("I want to travel to Porto on 14 March with a budget of 350 euros. Any ideas?"),
        answer("You could take the train at 9:30 from Lisbon.")};
    char *text = complete("The user wants to travel by train.", NULL, turns, 2, 300);
    assert_string_equal(text, "User: I want to travel to Porto on 14 March with a budget of 350 euros.\n"
                              "The user wants to travel by train.");
    free(text);
}

static void thanks_are_not_worth_a_line(void **state)
{
    (void)state;
    struct summary_turn turns[] = {person("Thanks."), person("I live in Lisbon."),
                                   answer("Great! How can I help you?")};
    char *text = extract(NULL, turns, 3, 300);
    assert_string_equal(text, "User: I live in Lisbon.");
    free(text);
}

static void kept_facts_are_bounded(void **state)
{
    (void)state;
    struct summary_turn turns[] = {
        person("My name is Dana. I live in Lisbon. I like tea. I like cake. I have a dog.")};
    for (size_t max = 60; max < 200; max++) {
        char *text =
            complete("Some words. And more words of a long summary. And even more of them.", NULL, turns, 1, max);
        assert_in_range(strlen(text), 1, max);
        assert_non_null(strstr(text, "Dana"));
        assert_non_null(strstr(text, "Some words."));
        free(text);
    }
}

static void a_number_of_many_zeros_has_its_value(void **state)
{
    (void)state;
    char zeros[160], more[160];
    snprintf(zeros, sizeof zeros, "The trip of Dana costs %042d.5 euros.", 0);
    snprintf(more, sizeof more, "The trip of Dana costs %060d.500 euros.", 0);
    const struct judged cases[] = {{zeros, true}, {more, true}, {"The trip of Dana costs .6 euros.", false}};
    judge("The trip of Dana costs 0.5 euros.", NULL, cases, N_OF(cases));
    const struct judged whole[] = {{zeros, false}};
    judge("The trip of Dana costs 0 euros.", NULL, whole, 1);
}

/* ---- topics and chatter ---- */

static void a_topic_that_a_summary_drops_whole_gets_a_line(void **state)
{
    (void)state;
    struct summary_turn turns[] = {person("Explain how compilers work."),
                                   answer("A compiler translates source code."), person("And what does a linker do?"),
                                   answer("It joins object files."), person("Thanks! Please go on.")};
    char *text = complete("The user asked about compilers, which translate source code.", NULL, turns, 5, 400);
    assert_string_equal(text, "User: And what does a linker do?\n"
                              "The user asked about compilers, which translate source code.");
    char *next = complete("They talked about object files.", text, NULL, 0, 400); /* and the next one keeps it */
    assert_non_null(strstr(next, "linker"));
    free(next);
    free(text);
    text = complete("The user asked about compilers and linkers.", NULL, turns, 5, 400);
    assert_string_equal(text, "The user asked about compilers and linkers.");
    free(text);
    struct summary_turn chinese[] = {person("编译器是怎么工作的？"), answer("编译器把源代码翻译成机器码。"),
                                     person("北京有哪些好吃的餐馆？"), answer("前门有很多。")};
    text = complete("用户询问了编译器如何翻译源代码。", NULL, chinese, 4, 400);
    assert_non_null(strstr(text, "用户：北京有哪些好吃的餐馆？"));
    assert_null(strstr(text, "用户：编译器"));
    free(text);
}

static void a_line_of_chatter_is_dropped(void **state)
{
    (void)state;
    struct summary_turn turns[] = {person("My name is Dana. What is the tallest mountain of Peru?"),
                                   answer("The tallest mountain of Peru is Huascaran."),
                                   person("Send me a message.")};
    static const char *const cases[][2] = {
        {"I'm glad you enjoyed my last message! Dana asked about mountains.", "Dana asked about mountains."},
        {"Sure! Here is a summary of our conversation:\nDana asked about Peru.", "Dana asked about Peru."},
        {"Dana asked about Peru. Let me know if you have questions about Peru.", "Dana asked about Peru."},
        {"- Dana asked about Peru.\n- The weather stays pleasant.\n- Huascaran is the tallest.",
         "Dana asked about Peru.\nHuascaran is the tallest."},
        {"Hello! How can I help you?", ""},
        {"I hope this helps.", ""},
        {"", ""},
        {"The tallest mountain is Huascaran.", "The tallest mountain is Huascaran."},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char *text = summary_drop_chatter(cases[i][0], NULL, turns, 3);
        assert_string_equal(text, cases[i][1]);
        free(text);
    }
    char *text = summary_drop_chatter("Rex is a dog.", "User: my dog Rex is old.", turns, 3);
    assert_string_equal(text, "Rex is a dog.");
    free(text);
}

/* ---- a great deal of text ---- */

static bool count_to(void *ctx)
{
    int *left = ctx;
    return --*left < 0;
}

/* About `bytes` of distinct sentences. */
static char *many_sentences(size_t bytes)
{
    char *text = malloc(bytes + 128);
    size_t n = 0;
    for (int i = 0; n < bytes; i++)
        n += (size_t)sprintf(text + n, "Sentence %d says that the number of Bob%d is %d. ", i, i * 7, i * 3);
    return text;
}

static void reading_a_huge_source_can_be_stopped(void **state)
{
    (void)state;
    char *text = many_sentences((size_t)8 << 20);
    struct summary_turn turns[] = {person(text), answer("I see.")};
    int left = 1 << 30;
    clock_t start = clock();
    struct summary_source *source = summary_source_new(NULL, turns, 2, count_to, &left);
    assert_non_null(source);
    assert_true((1 << 30) - left > 1000); /* it was asked often */
    for (int i = 0; i < 8; i++)
        free(summary_extract(source, 1000));
    print_message("figure: an extract of 8 MB, eight times, takes %.2f s\n",
                  (double)(clock() - start) / CLOCKS_PER_SEC);
    summary_source_free(source);
    left = 3;
    assert_null(summary_source_new(NULL, turns, 2, count_to, &left));
    assert_int_equal(left, -1); /* and nothing was read after that */
    free(text);
}

/* ---- request and wrapping ---- */

static void a_summary_in_another_language_is_bad(void **state)
{
    (void)state;
    static const struct judged portuguese[] = {
        {"A utilizadora Dana mora em Lisboa e quer uma viagem para o Porto com a mãe.", true},
        {"The user Dana lives in Lisboa and wants to travel to Porto with her mother.", false},
    };
    judge("O meu nome é Dana e moro em Lisboa. Quero uma viagem para o Porto com a minha mãe. É longe?", NULL,
          portuguese, N_OF(portuguese));
    static const struct judged japanese[] = {{"ダナさんは東京に住んでいて、京都への旅行を計画しています。", true},
                                             {"用户住在东京，计划去京都旅行。", false}};
    judge("私はダナです。東京に住んでいます。京都への旅行を計画しています。", NULL, japanese, N_OF(japanese));
}

static void request_and_frame_are_in_the_language_of_the_conversation(void **state)
{
    (void)state;
    static const struct {
        const char *said, *request, *frame;
    } cases[] = {
        {"O meu nome é Dana e moro em Lisboa. Não tenho carro.", "Resuma em português", "(O que foi dito antes"},
        {"私の名前はダナです。東京に住んでいます。", "日本語で", "（これまでの会話の要点"},
        {"Меня зовут Дана, я живу в Москве.", "по-русски", "(Что было сказано ранее"},
        {"Me llamo Dana y vivo en Madrid. No tengo coche y la playa está lejos.", "en español",
         "(Lo que se dijo antes"},
        {"Ich heiße Dana und wohne in Berlin. Das Museum ist nicht weit.", "auf Deutsch", "(Was in diesem Gespräch"},
        {"제 이름은 다나이고 서울에 살아요.", "한국어로", "(지금까지 대화의 요점"},
        {"我叫小明，住在北京。", "总结", "（此前对话的要点"},
        {"My name is Dana and I live in London.", "Summarize", "(What was said earlier"},
        {"12345", "in the language it was held in", "(What was said earlier"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct summary_turn turns[] = {person(cases[i].said), answer("OK.")};
        assert_non_null(strstr(summary_request(turns, 2), cases[i].request));
        char *text = extract(NULL, turns, 2, 300), *wrapped = summary_wrap(text);
        assert_memory_equal(wrapped, cases[i].frame, strlen(cases[i].frame));
        char *again = extract(text, NULL, 0, 300); /* its lines are known for whose they are */
        assert_string_equal(again, text);
        free(again);
        free(wrapped);
        free(text);
    }
}

static void the_request_is_in_the_language_of_the_turns(void **state)
{
    (void)state;
    struct summary_turn english[] = {person("How do I say 天 in English?"), answer("You say \"sky\"; it is a word.")};
    struct summary_turn chinese[] = {person("今天天气怎么样？"), answer("今天天气很好。"), person("OK")};
    assert_non_null(strstr(summary_request(english, 2), "Summarize"));
    assert_non_null(strstr(summary_request(chinese, 3), "总结"));
}

static void a_wrapped_summary_carries_its_text(void **state)
{
    (void)state;
    char *wrapped = summary_wrap("User: My name is Dana.\n");
    assert_non_null(strstr(wrapped, "User: My name is Dana."));
    assert_true(wrapped[strlen(wrapped) - 1] == ')');
    free(wrapped);
    wrapped = summary_wrap("用户：我叫小明。");
    assert_non_null(strstr(wrapped, "用户：我叫小明。"));
    assert_null(strstr(wrapped, "What was said"));
    free(wrapped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_faithful_summary_is_good),
        cmocka_unit_test(an_empty_summary_is_bad),
        cmocka_unit_test(a_summary_that_repeats_itself_is_bad),
        cmocka_unit_test(a_number_that_the_source_lacks_is_bad),
        cmocka_unit_test(a_month_that_the_source_lacks_is_bad),
        cmocka_unit_test(a_name_that_the_source_lacks_is_bad),
        cmocka_unit_test(a_summary_of_something_else_is_bad),
        cmocka_unit_test(a_copy_of_an_answer_is_bad),
        cmocka_unit_test(what_the_earlier_summary_says_is_known),
        cmocka_unit_test(numbers_may_be_written_out_in_the_source),
        cmocka_unit_test(chinese_is_checked_too),
        cmocka_unit_test(a_loop_is_seen_while_it_is_written),
        cmocka_unit_test(an_extract_keeps_names_numbers_dates_and_quotes),
        cmocka_unit_test(a_question_is_no_fact),
        cmocka_unit_test(an_extract_is_an_extract_of_itself),
        cmocka_unit_test(the_same_input_gives_the_same_extract_and_nothing_twice),
        cmocka_unit_test(an_extract_is_never_empty),
        cmocka_unit_test(an_extract_is_bounded_and_valid_utf8),
        cmocka_unit_test(a_name_told_first_survives_twenty_compactions),
        cmocka_unit_test(facts_that_a_model_lost_are_put_back),
        cmocka_unit_test(plans_with_numbers_are_put_back_as_well),
        cmocka_unit_test(thanks_are_not_worth_a_line),
        cmocka_unit_test(kept_facts_are_bounded),
        cmocka_unit_test(a_number_of_many_zeros_has_its_value),
        cmocka_unit_test(a_topic_that_a_summary_drops_whole_gets_a_line),
        cmocka_unit_test(a_line_of_chatter_is_dropped),
        cmocka_unit_test(reading_a_huge_source_can_be_stopped),
        cmocka_unit_test(a_summary_in_another_language_is_bad),
        cmocka_unit_test(request_and_frame_are_in_the_language_of_the_conversation),
        cmocka_unit_test(the_request_is_in_the_language_of_the_turns),
        cmocka_unit_test(a_wrapped_summary_carries_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
