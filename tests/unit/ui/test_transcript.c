/* The view follows the tail or stays with its text, whatever arrives and however the size changes. */
#include "../../../ui/transcript.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "../../../src/base/buffer.h"
#include "lines_text.h"

#define MAX_ROWS 64

static void add(struct transcript *t, int64_t id, enum ui_role role, const char *text)
{
    transcript_add(t, id, role, text, strlen(text), 0);
}

/* What the view shows, a row a line: headers as [id], empty rows empty. */
static char *view(struct transcript *t)
{
    struct row rows[MAX_ROWS];
    struct buffer b = BUFFER_INIT;
    transcript_view(t, rows);
    buffer_puts(&b, "");
    for (int i = 0; i < t->height; i++) {
        const struct row *r = &rows[i];
        if (r->entry && r->kind == ROW_HEADER)
            buffer_printf(&b, "[%d]", (int)r->entry->id);
        else if (r->entry && r->kind == ROW_TEXT)
            buffer_add(&b, r->entry->lines.text + r->line->text, r->line->len);
        else if (r->entry && r->kind == ROW_FOOTNOTE)
            buffer_printf(&b, "(%s)", r->entry->footnote.s);
        else if (r->entry && r->kind == ROW_THOUGHT)
            buffer_puts(&b, transcript_is_thinking(r->entry)      ? "thinking"
                            : transcript_is_unfolded(t, r->entry) ? "v"
                                                                  : ">");
        else if (r->entry && r->kind == ROW_WAITING)
            buffer_puts(&b, "...");
        buffer_puts(&b, r->entry ? "\n" : "~\n");
    }
    return b.s;
}

static void expect(struct transcript *t, const char *expected)
{
    char *text = view(t);
    assert_string_equal(text, expected);
    free(text);
}

static void expect_top(struct transcript *t, const char *first_row)
{
    char *text = view(t);
    *strchr(text, '\n') = 0;
    assert_string_equal(text, first_row);
    free(text);
}

static struct transcript make(int width, int height)
{
    struct transcript t;
    transcript_init(&t);
    transcript_resize(&t, width, height);
    return t;
}

/* Ten messages of three lines: "0a", "0b", "0c", ... */
static struct transcript ten(int height)
{
    struct transcript t = make(40, height);
    for (int i = 0; i < 10; i++) {
        char text[64];
        snprintf(text, sizeof text, "%da\n%db\n%dc", i, i, i);
        add(&t, i + 1, i % 2 ? UI_MODEL_ANSWER : UI_PERSON, text);
    }
    return t;
}

static void entries_have_headers_text_and_a_space(void **state)
{
    (void)state;
    struct transcript t = make(20, 12);
    add(&t, 1, UI_PERSON, "*hi*\n");
    add(&t, 0, UI_NOTICE, "loaded");
    add(&t, 2, UI_MODEL_ANSWER, "**hello**");
    transcript_finish(&t, 2, "stopped");
    expect(&t, "[1]\n*hi*\n\nloaded\n\n[2]\nhello\n(stopped)\n\n~\n~\n~\n");
    transcript_free(&t);
}

static void an_answer_is_waited_for(void **state)
{
    (void)state;
    struct transcript t = make(20, 4);
    add(&t, 1, UI_MODEL_ANSWER, "");
    expect(&t, "[1]\n...\n\n~\n");
    transcript_append(&t, 1, "x", 1);
    expect(&t, "[1]\nx\n\n~\n");
    transcript_remove(&t, 1);
    add(&t, 2, UI_MODEL_ANSWER, "");
    transcript_finish(&t, 2, NULL);
    expect(&t, "[2]\n\n~\n~\n");
    transcript_free(&t);
}

static void the_tail_is_followed(void **state)
{
    (void)state;
    struct transcript t = ten(5);
    expect(&t, "[10]\n9a\n9b\n9c\n\n");
    transcript_append(&t, 10, "\n9d", 3);
    expect(&t, "9a\n9b\n9c\n9d\n\n");
    assert_int_equal(transcript_unseen(&t), 0);
    transcript_free(&t);
}

static void scrolled_up_the_view_stays(void **state)
{
    (void)state;
    struct transcript t = ten(5);
    transcript_scroll(&t, -3);
    expect(&t, "8b\n8c\n\n[10]\n9a\n");
    transcript_append(&t, 10, "\n9d\n9e", 6);
    expect(&t, "8b\n8c\n\n[10]\n9a\n");
    assert_int_equal(transcript_unseen(&t), 2);
    add(&t, 11, UI_PERSON, "new");
    expect(&t, "8b\n8c\n\n[10]\n9a\n");
    assert_int_equal(transcript_unseen(&t), 4);
    transcript_scroll(&t, 100);
    assert_true(t.following);
    assert_int_equal(transcript_unseen(&t), 0);
    transcript_free(&t);
}

static void scrolling_stops_at_the_ends(void **state)
{
    (void)state;
    struct transcript t = ten(5);
    transcript_scroll(&t, -1000);
    expect_top(&t, "[1]");
    transcript_scroll(&t, -1);
    expect_top(&t, "[1]");
    transcript_home(&t);
    transcript_scroll(&t, 7);
    expect_top(&t, "1b");
    transcript_end(&t);
    expect_top(&t, "[10]");
    struct transcript small = make(40, 20);
    add(&small, 1, UI_PERSON, "x");
    transcript_scroll(&small, -5);
    assert_true(small.following); /* all of it is in view */
    transcript_free(&small);
    transcript_free(&t);
}

static void messages_are_steps(void **state)
{
    (void)state;
    struct transcript t = ten(5);
    transcript_previous(&t, -1);
    expect_top(&t, "[9]");
    transcript_previous(&t, -1);
    expect_top(&t, "[8]");
    transcript_scroll(&t, 2);
    transcript_previous(&t, -1);
    expect_top(&t, "[8]");
    transcript_previous(&t, 1);
    expect_top(&t, "[9]");
    transcript_free(&t);
}

static void resizing_keeps_the_text_at_the_top(void **state)
{
    (void)state;
    struct transcript t = make(42, 6);
    struct buffer text = BUFFER_INIT;
    for (int i = 0; i < 200; i++)
        buffer_printf(&text, "word%d ", i);
    add(&t, 1, UI_PERSON, text.s);
    add(&t, 2, UI_MODEL_ANSWER, text.s);
    transcript_home(&t);
    transcript_scroll(&t, 50);
    char *before = view(&t);
    const int widths[] = {20, 80, 9, 120, 42};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        uint32_t src = t.top.src;
        transcript_resize(&t, widths[i], 6);
        struct row rows[MAX_ROWS];
        transcript_view(&t, rows);
        assert_int_equal(rows[0].index, 1);
        assert_true(rows[0].line->src <= src);
        assert_true(rows[1].kind != ROW_TEXT || rows[1].line->src > src);
    }
    expect(&t, before); /* the anchor did not creep */
    free(before);
    transcript_resize(&t, 42, 3);
    transcript_resize(&t, 42, 12);
    transcript_free(&t);
    buffer_free(&text);
}

static void finding_counts_moves_and_crosses_wraps(void **state)
{
    (void)state;
    struct transcript t = make(14, 8);
    size_t at;
    add(&t, 1, UI_PERSON, "the quick brown fox");
    add(&t, 2, UI_MODEL_ANSWER, "A **quick** brown\n\nand a QUICK one");
    assert_int_equal(transcript_find(&t, "quick", 0, &at), 3);
    assert_int_equal(at, 3);
    assert_int_equal(transcript_find(&t, "quick", -1, &at), 3);
    assert_int_equal(at, 2);
    transcript_find(&t, "quick", -1, &at);
    transcript_find(&t, "quick", -1, &at);
    assert_int_equal(at, 3); /* around */
    transcript_find(&t, "quick", 1, &at);
    assert_int_equal(at, 1);
    assert_int_equal(transcript_find(&t, "quick brown fox", 0, &at), 1);
    size_t start, end;
    assert_true(transcript_match(&t, &t.v[0], 0, 0, &start, &end)); /* "the quick" / "brown fox" */
    assert_int_equal(start, 4);
    assert_int_equal(end, 9);
    assert_false(transcript_match(&t, &t.v[0], 0, end, &start, &end));
    assert_true(transcript_match(&t, &t.v[0], 1, 0, &start, &end));
    assert_int_equal(start, 0);
    assert_int_equal(end, 9);
    assert_int_equal(transcript_find(&t, "absent", 0, &at), 0);
    assert_int_equal(at, 0);
    transcript_find_clear(&t);
    assert_false(transcript_match(&t, &t.v[0], 0, 0, &start, &end));
    transcript_free(&t);
}

/* ---- thoughts ---- */

static const struct ui_thought going_on = {.began_ms = 1}, over = {.began_ms = 1, .ended_ms = 2, .whole = true};

static void think(struct transcript *t, int64_t id, const struct ui_thought *thought, const char *piece)
{
    assert_true(transcript_append_thought(t, id, thought, piece, strlen(piece)));
}

static void a_thought_is_folded_until_it_is_wanted(void **state)
{
    (void)state;
    struct transcript t = make(22, 9);
    add(&t, 1, UI_MODEL_ANSWER, "");
    assert_false(transcript_unfold(&t, false));
    think(&t, 1, &going_on, "");
    expect(&t, "[1]\n...\n\n~\n~\n~\n~\n~\n~\n");
    think(&t, 1, &going_on, "One *is*\n\n二加二，大家都知道。");
    expect(&t, "[1]\nthinking\n\n~\n~\n~\n~\n~\n~\n");
    assert_true(transcript_unfold(&t, true));
    expect(&t, "[1]\nthinking\n│ One *is*\n│ \n│ 二加二，大家都知\n│ 道。\n\n~\n~\n"); /* no 。 begins a line */
    assert_int_equal(style_of(&t.v[0].lines, "One *is*"), STYLE_DIM);
    assert_fits(&t.v[0].lines, 20);
    think(&t, 1, &over, "");
    transcript_append(&t, 1, "**4**", 5);
    expect(&t, "[1]\nv\n│ One *is*\n│ \n│ 二加二，大家都知\n│ 道。\n\n4\n\n");
    transcript_resize(&t, 40, 9);
    expect(&t, "[1]\nv\n│ One *is*\n│ \n│ 二加二，大家都知道。\n\n4\n\n~\n");
    transcript_unfold(&t, false);
    transcript_finish(&t, 1, NULL);
    expect(&t, "[1]\n>\n4\n\n~\n~\n~\n~\n~\n");
    transcript_free(&t);
}

static void a_thought_without_an_answer_is_all_there_is(void **state)
{
    (void)state;
    struct transcript t = make(40, 5);
    add(&t, 1, UI_MODEL_ANSWER, "");
    think(&t, 1, &going_on, "hm");
    transcript_finish(&t, 1, "stopped");
    expect(&t, "[1]\n>\n(stopped)\n\n~\n");
    assert_false(transcript_is_thinking(&t.v[0]));
    transcript_unfold(&t, true);
    expect(&t, "[1]\nv\n│ hm\n(stopped)\n\n");
    add(&t, 2, UI_MODEL_ANSWER, "");
    think(&t, 2, &over, "so");
    transcript_unfold(&t, false);
    expect(&t, "\n[2]\n>\n...\n\n"); /* the answer is yet to come */
    transcript_free(&t);
}

/* However it came, and whether it was seen growing, it looks the same. */
static void a_growing_thought_is_laid_out_as_a_whole_one(void **state)
{
    (void)state;
    static const char thought[] = "first line of it\n\n- an item\nthe last 行 of it", text[] = "# So\n\nyes\n\nno";
    struct transcript whole = make(20, 30), grown = make(20, 30);
    add(&whole, 1, UI_MODEL_ANSWER, text);
    think(&whole, 1, &over, thought);
    transcript_finish(&whole, 1, NULL);
    transcript_unfold(&whole, true);
    transcript_unfold(&grown, true);
    add(&grown, 1, UI_MODEL_ANSWER, "");
    for (size_t i = 0; i < sizeof thought - 1; i++) {
        transcript_append_thought(&grown, 1, &going_on, thought + i, 1);
        free(view(&grown));
    }
    think(&grown, 1, &over, "");
    for (size_t i = 0; i < sizeof text - 1; i++) {
        transcript_append(&grown, 1, text + i, 1);
        free(view(&grown));
        if (i % 5 == 0) {
            transcript_unfold(&grown, i % 2);
            free(view(&grown));
        }
    }
    transcript_unfold(&grown, true);
    char *expected = view(&whole), *same = view(&grown);
    assert_string_equal(same, expected);
    free(same);
    transcript_finish(&grown, 1, NULL);
    expect(&grown, expected);
    free(expected);
    transcript_free(&whole);
    transcript_free(&grown);
}

static void the_row_of_a_thought_can_be_at_the_top(void **state)
{
    (void)state;
    struct transcript t = ten(5);
    think(&t, 10, &over, "a\nb\nc\nd\ne\nf");
    transcript_finish(&t, 10, NULL);
    transcript_home(&t);
    for (int i = 0; i < 45; i++)
        transcript_scroll(&t, 1);
    expect_top(&t, "[10]");
    transcript_unfold(&t, true); /* what is unfolded is looked at */
    expect(&t, "[10]\nv\n│ a\n│ b\n│ c\n");
    transcript_scroll(&t, 1);
    expect_top(&t, "v");
    transcript_scroll(&t, 1);
    expect_top(&t, "│ a");
    transcript_unfold(&t, false);
    assert_true(t.following);
    expect_top(&t, ">");
    transcript_free(&t);
}

static void finding_unfolds_the_thought_that_has_it(void **state)
{
    (void)state;
    struct transcript t = make(40, 8);
    size_t at;
    add(&t, 1, UI_MODEL_ANSWER, "four");
    think(&t, 1, &over, "two and\ntwo");
    add(&t, 2, UI_MODEL_ANSWER, "five");
    think(&t, 2, &over, "three");
    assert_int_equal(transcript_find(&t, "two", 0, &at), 2);
    expect(&t, "[1]\nv\n│ two and\n│ two\n\nfour\n\n[2]\n");
    assert_int_equal(transcript_find(&t, "f", 0, &at), 2);
    expect(&t, "[1]\n>\nfour\n\n[2]\n>\nfive\n\n");
    transcript_find(&t, "three", 0, &at);
    transcript_find_clear(&t);
    expect(&t, "[1]\n>\nfour\n\n[2]\n>\nfive\n\n");
    transcript_free(&t);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The seconds it takes to show an answer of n paragraphs, a token at a time. */
static double stream(int paragraphs)
{
    struct transcript t = make(80, 30);
    struct row rows[MAX_ROWS];
    static const char *const tokens[] = {"The ", "quick ", "**brown** ", "fox ", "jumps.", "\n", "\n"};
    add(&t, 1, UI_MODEL_ANSWER, "");
    double start = seconds();
    for (int i = 0; i < paragraphs; i++)
        for (size_t k = 0; k < sizeof tokens / sizeof *tokens; k++) {
            transcript_append(&t, 1, tokens[k], strlen(tokens[k]));
            transcript_view(&t, rows);
        }
    double took = seconds() - start;
    transcript_free(&t);
    return took;
}

static void streaming_costs_the_open_block_only(void **state)
{
    (void)state;
    stream(100);
    double small = stream(200), large = stream(1600);
    assert_true(large < 8 * 4 * small + 0.02); /* linear is 8 times; laying all of it out anew would be 64 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_have_headers_text_and_a_space),
        cmocka_unit_test(an_answer_is_waited_for),
        cmocka_unit_test(the_tail_is_followed),
        cmocka_unit_test(scrolled_up_the_view_stays),
        cmocka_unit_test(scrolling_stops_at_the_ends),
        cmocka_unit_test(messages_are_steps),
        cmocka_unit_test(resizing_keeps_the_text_at_the_top),
        cmocka_unit_test(finding_counts_moves_and_crosses_wraps),
        cmocka_unit_test(a_thought_is_folded_until_it_is_wanted),
        cmocka_unit_test(a_thought_without_an_answer_is_all_there_is),
        cmocka_unit_test(a_growing_thought_is_laid_out_as_a_whole_one),
        cmocka_unit_test(the_row_of_a_thought_can_be_at_the_top),
        cmocka_unit_test(finding_unfolds_the_thought_that_has_it),
        cmocka_unit_test(streaming_costs_the_open_block_only),
    };
    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
