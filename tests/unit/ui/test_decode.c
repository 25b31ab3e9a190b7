/* Bytes become the same keys however they are split in time; replies of the terminal become none; no text is lost. */
#include "../../../src/base/buffer.h"
#include "../../../ui/decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ESCAPE_MS 25
#define ALT(key) (KEYS_ALT | (key))
#define START 1000000

struct typed {
    struct decoder d;
    int64_t now;
    char *keys; /* as names, each with a blank after it */
    size_t n;
    FILE *out;
};

static bool is_bound(int key)
{
    return key == ALT('b') || key == ALT('y') || key == ALT(KEYS_ENTER);
}

static void begin(struct typed *t)
{
    *t = (struct typed){.d = {.escape_ms = ESCAPE_MS, .is_bound = is_bound}, .now = START};
    t->out = open_memstream(&t->keys, &t->n);
    decoder_define(&t->d, "\033OA", KEYS_UP);
    decoder_define(&t->d, "\033[7$", KEYS_HOME);
}

static void name(FILE *out, int key)
{
    static const struct {
        int key;
        const char *name;
    } names[] = {{KEYS_UP, "Up"},
                 {KEYS_DOWN, "Down"},
                 {KEYS_HOME, "Home"},
                 {KEYS_DELETE, "Del"},
                 {KEYS_F1, "F1"},
                 {KEYS_F1 + 4, "F5"},
                 {KEYS_ESC, "Esc"},
                 {KEYS_ENTER, "Enter"},
                 {KEYS_PASTE_BEGIN, "<<"},
                 {KEYS_PASTE_END, ">>"},
                 {KEYS_UNKNOWN, "?"},
                 {KEYS_BACKSPACE, "BS"},
                 {KEYS_WHEEL_UP, "WheelUp"},
                 {KEYS_WHEEL_DOWN, "WheelDown"}};
    if (key & KEYS_ALT)
        fputs("Alt-", out);
    if (key & KEYS_CONTROL)
        fputs("Ctrl-", out);
    key &= ~(KEYS_ALT | KEYS_CONTROL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].key == key) {
            fprintf(out, "%s ", names[i].name);
            return;
        }
    if (key > ' ' && key < 127)
        fprintf(out, "%c ", key);
    else
        fprintf(out, "U+%04X ", (unsigned)key);
}

static void take(struct typed *t)
{
    for (int key; (key = decoder_next(&t->d, t->now)) != KEYS_NONE;)
        name(t->out, key);
}

/* Time passes, and the decoder is asked whenever it wants to be. */
static void wait_ms(struct typed *t, int64_t ms)
{
    int64_t end = t->now + ms, due;
    while ((due = decoder_due(&t->d)) && due <= end) {
        t->now = due > t->now ? due : t->now;
        take(t);
        assert_true(decoder_due(&t->d) != due || due > t->now); /* or the program would spin */
    }
    t->now = end;
}

static void send(struct typed *t, const char *s, size_t n)
{
    decoder_feed(&t->d, s, n, t->now);
    take(t);
}

static void expect(struct typed *t, const char *keys, const char *what)
{
    wait_ms(t, 10000);
    fclose(t->out);
    if (strcmp(t->keys, keys))
        fail_msg("%s: \"%s\", not \"%s\"", what, t->keys, keys);
    free(t->keys);
    decoder_free(&t->d);
}

static void expect_keys(const char *bytes, const char *keys)
{
    struct typed t;
    begin(&t);
    send(&t, bytes, strlen(bytes));
    expect(&t, keys, bytes + 1);
}

/* Split in two at every byte, and byte by byte. The first split is after the Esc. */
static void expect_split(const char *bytes, int64_t pause, size_t first, const char *keys)
{
    struct typed t;
    size_t n = strlen(bytes);
    for (size_t at = first; at < n; at++) {
        char what[64];
        snprintf(what, sizeof what, "%s at %zu after %d ms", bytes + 1, at, (int)pause);
        begin(&t);
        send(&t, bytes, at);
        wait_ms(&t, pause);
        send(&t, bytes + at, n - at);
        expect(&t, keys, what);
    }
    begin(&t);
    send(&t, bytes, first);
    for (size_t at = first; at < n; at++) {
        wait_ms(&t, pause);
        send(&t, bytes + at, 1);
    }
    expect(&t, keys, bytes + 1);
}

static void keys_are_decoded(void **state)
{
    (void)state;
    expect_keys("\033OA\033[A\033[3~\033[1;5A\033[1;3B\033OP\033[15~", "Up Up Del Ctrl-Up Alt-Down F1 F5 ");
    expect_keys("\033[7$\033[7~\033[[E\033[57414u\033[13;2u\033[27;5;97~", "Home Home F5 Enter Alt-Enter U+0001 ");
    expect_keys("\033[97:65;5u", "U+0001 ");
    expect_keys("\033b\033\r\033\177\033\033[A\177\b", "Alt-b Alt-Enter Alt-BS Alt-Up BS BS ");
    expect_keys("\033[<64;10;10M\033[<65;1;1M\033[<68;1;1M\033[<0;1;1m", "WheelUp WheelDown WheelUp ? ");
    expect_keys("\033[200~a\r\033[201~", "<< a Enter >> ");
    expect_keys("\033", "Esc ");
    expect_keys("\033\033", "Esc Esc ");
    expect_keys("\033\003", "Esc U+0003 ");
}

static void old_mouse_events_are_decoded_where_the_terminal_sends_them(void **state)
{
    (void)state;
    struct typed t;
    begin(&t);
    t.d.x10_mouse = true;
    send(&t, "\033[M\x60\xff\x21x\033[M\x61!!", 13);
    expect(&t, "WheelUp x WheelDown ", "X10");
    expect_keys("\033[Mx", "? x ");
}

static void unknown_sequences_are_discarded_whole(void **state)
{
    (void)state;
    expect_keys("a\033[1;99X\033[?12;4$y\033[57415u\033[I\033OwB", "a ? ? ? ? ? B ");
    expect_keys("\033[12\003x", "? U+0003 x ");
    expect_keys("\033[12\344\270\255", "? U+4E2D ");
}

static const char *const replies[] = {
    "\033]11;rgb:ffff/ffff/ffff\007",
    "\033]11;rgb:ffff/ffff/ffff\033\\",
    "\033]4;1;rgb:0/0/0\302\234",
    "\033P1$r0m\033\\",
    "\033P>|xterm(388)\033\\",
    "\033P1+r544e=787465726d\033\\",
    "\033_Gi=31;OK\033\\",
    "\033^private\033\\",
    "\033Xstart\033\\",
    "\033]ltitle\033\\",
    "\033Pq\033\\",
    "\033_any\007",
};

static void replies_of_the_terminal_are_discarded_whole(void **state)
{
    (void)state;
    char bytes[80];
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        snprintf(bytes, sizeof bytes, "%sz", replies[i]);
        expect_keys(bytes, "z ");
        expect_split(bytes, 20, 1, "z ");
        expect_split(bytes, 500, 2, "z ");
    }
    for (size_t i = 0; i < 7; i++) { /* those terminals send; once it is certain what they are, any pause */
        snprintf(bytes, sizeof bytes, "%sz", replies[i]);
        expect_split(bytes, 2500, 8, "z ");
    }
}

static void a_reply_whose_escape_came_alone_costs_only_that_escape(void **state)
{
    (void)state;
    for (size_t i = 0; i < 7; i++) {
        struct typed t;
        begin(&t);
        send(&t, "\033", 1);
        wait_ms(&t, 300);
        send(&t, replies[i] + 1, strlen(replies[i]) - 1);
        send(&t, "z", 1);
        expect(&t, "Esc z ", replies[i] + 1);
    }
}

static void paste_marks_survive_the_lag_of_a_network(void **state)
{
    (void)state;
    for (int64_t pause = 30; pause <= 100; pause += 35) {
        expect_split("\033[200~one\rtwo\033[201~x", pause, 2, "<< o n e Enter t w o >> x ");
        struct typed t; /* after its Esc */
        begin(&t);
        send(&t, "\033", 1);
        wait_ms(&t, pause);
        send(&t, "[200~one\rtwo\033", 13);
        wait_ms(&t, pause);
        send(&t, "[201~x", 6);
        expect(&t, "Esc << o n e Enter t w o >> x ", "after Esc");
    }
}

static void a_longer_wait_for_escape_is_obeyed(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *keys;
    } all[] = {
        {"\033\r", "Alt-Enter "}, {"\033[A", "Up "}, {"\033OA", "Up "}, {"\033b", "Alt-b "}, {"\033q", "Esc q "}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct typed t;
        begin(&t);
        t.d.escape_ms = 150;
        send(&t, all[i].bytes, 1);
        wait_ms(&t, 60);
        send(&t, all[i].bytes + 1, strlen(all[i].bytes) - 1);
        expect(&t, all[i].keys, all[i].bytes + 1);
    }
}

static void text_after_escape_stays(void **state)
{
    (void)state;
    expect_keys("\033hello", "h e l l o ");
    expect_keys("\033\344\270\255x", "U+4E2D x ");
    expect_keys("\033[", "[ ");
    expect_keys("\033]", "] ");
    expect_keys("\033Oh", "? ");
    expect_keys("\033Xanadu", "X a n a d u ");
    expect_keys("\033Please\r", "P l e a s e Enter ");
    expect_keys("\033]no\r", "] n o Enter ");
    expect_keys("\033[\344\270\255", "[ U+4E2D ");
    static const char *const words[] = {"Please", "X-ray", "[a]", "_ab_", "]1a", "]1", "Ok", "^2"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) { /* soon after the Esc key, in one lump and by hand */
        for (int lump = 0; lump < 2; lump++) {
            struct typed t;
            char keys[64] = "Esc ";
            begin(&t);
            send(&t, "\033", 1);
            wait_ms(&t, 200);
            for (size_t k = 0; words[i][k]; k++) {
                snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%c ", words[i][k]);
                if (!lump) {
                    send(&t, words[i] + k, 1);
                    wait_ms(&t, 90);
                }
            }
            if (lump)
                send(&t, words[i], strlen(words[i]));
            expect(&t, keys, words[i]);
        }
    }
}

static void a_lost_terminator_does_not_take_the_keyboard(void **state)
{
    (void)state;
    struct typed t;
    begin(&t);
    send(&t, "\033]11;rgb:00", 11);
    send(&t, "\003x", 2);
    expect(&t, "U+0003 x ", "a control key");
    begin(&t);
    send(&t, "\033]11;rgb:00", 11);
    wait_ms(&t, 5000);
    send(&t, "x", 1);
    send(&t, "y", 1);
    expect(&t, "x y ", "a pause");
}

static void characters_may_come_in_parts_and_bad_bytes_cost_nothing_else(void **state)
{
    (void)state;
    struct typed t;
    begin(&t);
    send(&t, "\344", 1);
    wait_ms(&t, 9000);
    send(&t, "\270", 1);
    wait_ms(&t, 9000);
    send(&t, "\255", 1);
    expect(&t, "U+4E2D ", "in parts");
    expect_keys("caf\351 A\377\376B \360\237\221 c", "c a f U+FFFD U+0020 A U+FFFD U+FFFD B U+0020 U+FFFD U+0020 c ");
    expect_keys("a\342\200\033[A-", "a U+FFFD Up - ");
}

static void text_without_sequences(void **state)
{
    (void)state;
    static const char raw[] = "\033OPa\033[31mb\033]0;t\007\302\240c\033x\033[3~\t\344\270\255\033";
    struct buffer out = BUFFER_INIT;
    decode_text(raw, sizeof raw - 1, &out);
    assert_string_equal(out.s, "ab\302\240cx\t\344\270\255");
    buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_decoded),
        cmocka_unit_test(old_mouse_events_are_decoded_where_the_terminal_sends_them),
        cmocka_unit_test(unknown_sequences_are_discarded_whole),
        cmocka_unit_test(replies_of_the_terminal_are_discarded_whole),
        cmocka_unit_test(a_reply_whose_escape_came_alone_costs_only_that_escape),
        cmocka_unit_test(paste_marks_survive_the_lag_of_a_network),
        cmocka_unit_test(a_longer_wait_for_escape_is_obeyed),
        cmocka_unit_test(text_after_escape_stays),
        cmocka_unit_test(a_lost_terminator_does_not_take_the_keyboard),
        cmocka_unit_test(characters_may_come_in_parts_and_bad_bytes_cost_nothing_else),
        cmocka_unit_test(text_without_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
