/* The draft is edited in whole characters, over several lines, with earlier prompts at its edges. */
#include "../../../src/base/buffer.h"
#include "../../../ui/draft.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct draft with(const char *text)
{
    struct draft d;
    draft_init(&d);
    draft_set(&d, text);
    return d;
}

/* Compares text and caret; the caret is a bar in what is expected. */
static void expect(struct draft *d, const char *expected)
{
    struct buffer b = BUFFER_INIT;
    buffer_add(&b, draft_text(d), d->caret);
    buffer_puts(&b, "|");
    buffer_puts(&b, draft_text(d) + d->caret);
    assert_string_equal(b.s, expected);
    buffer_free(&b);
}

static void backspace_deletes_a_whole_character(void **state)
{
    (void)state;
    struct draft d = with("a👨‍👩‍👧e\u0301");
    draft_delete(&d, DRAFT_LEFT);
    expect(&d, "a👨‍👩‍👧|");
    draft_delete(&d, DRAFT_LEFT);
    expect(&d, "a|");
    draft_delete(&d, DRAFT_LEFT);
    draft_delete(&d, DRAFT_LEFT);
    expect(&d, "|");
    draft_free(&d);
}

static void words_are_moved_over_and_cut(void **state)
{
    (void)state;
    struct draft d = with("one two three");
    draft_kill(&d, DRAFT_WORD_LEFT);
    expect(&d, "one two |");
    draft_move(&d, DRAFT_WORD_LEFT);
    expect(&d, "one |two ");
    draft_yank(&d);
    expect(&d, "one three|two ");
    draft_kill(&d, DRAFT_LINE_START);
    expect(&d, "|two ");
    draft_kill(&d, DRAFT_LINE_END);
    expect(&d, "|");
    draft_yank(&d);
    expect(&d, "two |");
    draft_free(&d);
}

static void cutting_at_a_line_end_joins_the_lines(void **state)
{
    (void)state;
    struct draft d = with("ab\ncd");
    draft_move(&d, DRAFT_START);
    draft_kill(&d, DRAFT_LINE_END);
    expect(&d, "|\ncd");
    draft_kill(&d, DRAFT_LINE_END);
    expect(&d, "|cd");
    draft_set(&d, "ab\ncd");
    draft_kill(&d, DRAFT_LINE_START);
    expect(&d, "ab\n|");
    draft_kill(&d, DRAFT_LINE_START);
    expect(&d, "ab|");
    draft_free(&d);
}

static void a_single_deletion_is_not_kept(void **state)
{
    (void)state;
    struct draft d = with("one two");
    draft_kill(&d, DRAFT_WORD_LEFT);
    draft_delete(&d, DRAFT_LEFT);
    draft_yank(&d);
    expect(&d, "onetwo|");
    draft_free(&d);
}

static void up_and_down_keep_the_column(void **state)
{
    (void)state;
    struct draft d = with("abcdef\nx\nabcdef");
    assert_true(draft_vertical(&d, -1, 40));
    expect(&d, "abcdef\nx|\nabcdef");
    assert_true(draft_vertical(&d, -1, 40));
    expect(&d, "abcdef|\nx\nabcdef");
    assert_false(draft_vertical(&d, -1, 40));
    assert_true(draft_vertical(&d, 1, 40));
    assert_true(draft_vertical(&d, 1, 40));
    assert_false(draft_vertical(&d, 1, 40));
    expect(&d, "abcdef\nx\nabcdef|");
    draft_free(&d);
}

static void up_and_down_follow_soft_wraps(void **state)
{
    (void)state;
    struct draft d = with("一二三四五六七八"); /* rows of 3 */
    assert_true(draft_vertical(&d, -1, 6));
    expect(&d, "一二三四五|六七八");
    assert_true(draft_vertical(&d, -1, 6));
    expect(&d, "一二|三四五六七八");
    draft_free(&d);
}

static void the_caret_stands_where_the_text_goes_on(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t caret;
        int row, column;
    } cases[] = {
        {"", 0, 0, 0},
        {"ab", 2, 0, 2},
        {"ab\n", 3, 1, 0},
        {"ab\ncd", 2, 0, 2},
        {"中文", 3, 0, 2},
        {"\tx", 1, 0, 4},
        {"aaaa bb", 5, 1, 0},
        {"aaaa bb", 4, 0, 4},
        {"aaaaabb", 5, 1, 0},
        {"aaaa   ", 7, 0, 5},
        {"👨‍👩‍👧x", 18, 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct draft d = with(cases[i].text);
        d.caret = cases[i].caret;
        const struct draft_layout *l = draft_layout(&d, 5);
        assert_int_equal(l->caret_row, cases[i].row);
        assert_int_equal(l->caret_column, cases[i].column);
        assert_true((size_t)l->caret_row < l->lines.n);
        draft_free(&d);
    }
}

static void earlier_prompts_come_and_the_own_text_returns(void **state)
{
    (void)state;
    struct history h = {0};
    struct draft d = with("mine");
    history_add(&h, "first");
    history_add(&h, "second");
    history_add(&h, "second");
    history_add(&h, "");
    assert_int_equal(h.n, 2);
    assert_true(draft_history(&d, &h, -1));
    expect(&d, "second|");
    assert_true(draft_history(&d, &h, -1));
    assert_false(draft_history(&d, &h, -1));
    expect(&d, "first|");
    assert_true(draft_history(&d, &h, 1));
    assert_true(draft_history(&d, &h, 1));
    expect(&d, "mine|");
    assert_false(draft_history(&d, &h, 1));
    history_clear(&h);
    draft_free(&d);
}

static void edits_of_earlier_prompts_are_kept(void **state)
{
    (void)state;
    struct history h = {0};
    struct draft d = with("mine");
    history_add(&h, "first");
    history_add(&h, "second");
    history_add(&h, "third");
    draft_history(&d, &h, -1);
    draft_insert(&d, "!", 1);
    draft_history(&d, &h, -1);
    draft_insert(&d, "?", 1);
    draft_history(&d, &h, 1);
    expect(&d, "third!|");
    draft_recall(&d, &h, 0);
    expect(&d, "first|");
    draft_history(&d, &h, 1);
    expect(&d, "second?|");
    draft_replace(&d, "from the editor", 15);
    draft_history(&d, &h, 1);
    draft_history(&d, &h, 1);
    expect(&d, "mine|");
    draft_history(&d, &h, -1);
    draft_clear(&d); /* the text being written is not lost with it */
    expect(&d, "mine|");
    draft_move(&d, DRAFT_END);
    draft_yank(&d);
    expect(&d, "minethird!|");
    draft_forget_edits(&d);
    draft_history(&d, &h, -1);
    expect(&d, "third|");
    assert_string_equal(h.v[1], "second");
    history_clear(&h);
    draft_free(&d);
}

static void it_is_known_whether_its_beginning_was_pasted(void **state)
{
    (void)state;
    struct history h = {0};
    struct draft d = with("");
    draft_paste(&d, "/a", 2);
    assert_true(d.literal);
    draft_insert(&d, "b", 1);
    assert_true(d.literal);
    draft_kill(&d, DRAFT_LINE_START);
    assert_false(d.literal);
    draft_yank(&d);
    assert_true(d.literal);
    history_add(&h, "first");
    draft_history(&d, &h, -1);
    assert_false(d.literal);
    draft_history(&d, &h, 1);
    assert_true(d.literal);
    draft_move(&d, DRAFT_START);
    draft_insert(&d, "/", 1);
    assert_false(d.literal);
    draft_set(&d, "/open ");
    draft_paste(&d, "a title", 7);
    assert_false(d.literal);
    history_clear(&h);
    draft_free(&d);
}

static void inserted_bytes_are_made_valid(void **state)
{
    (void)state;
    struct draft d = with("ab");
    draft_move(&d, DRAFT_LEFT);
    draft_insert(&d, "\033\xff\r\n\tx", 6);
    expect(&d, "a�\n\tx|b");
    draft_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backspace_deletes_a_whole_character),
        cmocka_unit_test(words_are_moved_over_and_cut),
        cmocka_unit_test(cutting_at_a_line_end_joins_the_lines),
        cmocka_unit_test(a_single_deletion_is_not_kept),
        cmocka_unit_test(up_and_down_keep_the_column),
        cmocka_unit_test(up_and_down_follow_soft_wraps),
        cmocka_unit_test(the_caret_stands_where_the_text_goes_on),
        cmocka_unit_test(earlier_prompts_come_and_the_own_text_returns),
        cmocka_unit_test(edits_of_earlier_prompts_are_kept),
        cmocka_unit_test(it_is_known_whether_its_beginning_was_pasted),
        cmocka_unit_test(inserted_bytes_are_made_valid),
    };
    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
