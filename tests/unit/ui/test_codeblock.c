/* The code of an answer as it would be saved in a file. */
#include "../../../src/base/buffer.h"
#include "../../../ui/codeblock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *raw, size_t number, size_t count, const char *code)
{
    struct buffer b = BUFFER_INIT;
    assert_int_equal(codeblock_read(raw, strlen(raw), number, &b), count);
    assert_string_equal(b.s, code);
    buffer_free(&b);
}

static void a_block_has_no_fence_and_no_indentation_of_its_list(void **state)
{
    (void)state;
    expect("```sh\nls\n```\n", 0, 1, "ls\n");
    expect("1. Make it:\n\n   ```sh\n   cat <<EOF > a\n   x\n   EOF\n   ```\nDone.", 0, 1, "cat <<EOF > a\nx\nEOF\n");
    expect("- a\n  - b\n    ~~~\n    if x:\n        y\n    ~~~\n", 0, 1, "if x:\n    y\n");
    expect("> ```\n> a\n>   b\n>\n> c\n> ```\n", 0, 1, "a\n  b\n\nc\n");
    expect("```\n\n  a\n\n\nb\n\n```\n", 0, 1, "\n  a\n\n\nb\n\n");
}

static void tabs_stay(void **state)
{
    (void)state;
    expect("```make\nall:\n\tcc a.c\n\t\tb\n    \tc\n```\n", 0, 1, "all:\n\tcc a.c\n\t\tb\n    \tc\n");
    expect("```\na\tb\n```", 0, 1, "a\tb\n");
    expect("1. x\n\n   ```\n   all:\n   \tcc\n   ```\n", 0, 1, "all:\n\tcc\n");
    expect("1. x\n\n   ```\n   all:\n   \t\tcc\n   ```\n", 0, 1, "all:\n\t\tcc\n");
    expect("1. x\n\n   ```\n\tcc\n   ```\n", 0, 1, " cc\n"); /* most of the tab is the list's */
}

static void nothing_in_a_block_is_markdown(void **state)
{
    (void)state;
    expect("```\n*a* \\_ &amp; <b>$x$ </b>\n```", 0, 1, "*a* \\_ &amp; <b>$x$ </b>\n");
    expect("````\n```\nx\n```\n````", 0, 1, "```\nx\n```\n");
}

static void blocks_are_counted_from_the_first(void **state)
{
    (void)state;
    const char *three = "```\na\n```\ntext `code`\n```\nb\n```\n- ```\n  c\n  ```\n";
    expect(three, 0, 3, "c\n");
    expect(three, 1, 3, "a\n");
    expect(three, 2, 3, "b\n");
    expect(three, 3, 3, "c\n");
    expect(three, 4, 3, "");
    expect("none `at` all", 0, 0, "");
    expect("", 0, 0, "");
    expect("```\nhalf", 0, 1, "half\n");
    expect("```\na\n```\n```\n```\n", 0, 2, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_has_no_fence_and_no_indentation_of_its_list),
        cmocka_unit_test(tabs_stay),
        cmocka_unit_test(nothing_in_a_block_is_markdown),
        cmocka_unit_test(blocks_are_counted_from_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
