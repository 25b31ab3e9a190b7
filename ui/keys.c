/*
 * keys.c - see screen.h: what the terminal sends, as keys.
 *
 * ncurses knows the sequences of the terminal's description; the modified keys of xterm and the CSI u form, which the
 * description often lacks, are read here. An unknown sequence is swallowed whole: none of it may land in the draft.
 *
 * Characters are put together here too: get_wch loses what follows a byte that is no UTF-8.
 */
#include "screen.h"

#include <curses.h>
#include <string.h>
#include <unistr.h>

/* The first codes past KEY_MAX are given to extended keys. */
#define CODE_PASTE_BEGIN (KEY_MAX + 1000)
#define CODE_PASTE_END (KEY_MAX + 1001)

static const struct {
    int code, key;
} curses_keys[] = {
    {KEY_UP, KEYS_UP},
    {KEY_DOWN, KEYS_DOWN},
    {KEY_LEFT, KEYS_LEFT},
    {KEY_RIGHT, KEYS_RIGHT},
    {KEY_HOME, KEYS_HOME},
    {KEY_END, KEYS_END},
    {KEY_PPAGE, KEYS_PAGE_UP},
    {KEY_NPAGE, KEYS_PAGE_DOWN},
    {KEY_DC, KEYS_DELETE},
    {KEY_IC, KEYS_INSERT},
    {KEY_BACKSPACE, KEYS_BACKSPACE},
    {KEY_ENTER, KEYS_ENTER},
    {KEY_BTAB, KEYS_BACKTAB},
    {KEY_SLEFT, KEYS_LEFT},
    {KEY_SRIGHT, KEYS_RIGHT},
    {KEY_SHOME, KEYS_HOME},
    {KEY_SEND, KEYS_END},
    {KEY_SDC, KEYS_DELETE},
    {KEY_SPREVIOUS, KEYS_PAGE_UP},
    {KEY_SNEXT, KEYS_PAGE_DOWN},
    {KEY_SR, KEYS_UP},
    {KEY_SF, KEYS_DOWN},
    {KEY_RESIZE, KEYS_RESIZE},
    {CODE_PASTE_BEGIN, KEYS_PASTE_BEGIN},
    {CODE_PASTE_END, KEYS_PASTE_END},
};

/* Names of the extended capabilities without their modifier digit (terminfo's user_caps). */
static const struct {
    const char *name;
    int key;
} extended[] = {
    {"kUP", KEYS_UP},   {"kDN", KEYS_DOWN},     {"kLFT", KEYS_LEFT},      {"kRIT", KEYS_RIGHT}, {"kHOM", KEYS_HOME},
    {"kEND", KEYS_END}, {"kPRV", KEYS_PAGE_UP}, {"kNXT", KEYS_PAGE_DOWN}, {"kDC", KEYS_DELETE}, {"kIC", KEYS_INSERT},
};

/* Final byte of CSI and SS3 sequences. */
static const struct {
    char final;
    int key;
} finals[] = {
    {'A', KEYS_UP}, {'B', KEYS_DOWN},   {'C', KEYS_RIGHT},  {'D', KEYS_LEFT},   {'H', KEYS_HOME},    {'F', KEYS_END},
    {'P', KEYS_F1}, {'Q', KEYS_F1 + 1}, {'R', KEYS_F1 + 2}, {'S', KEYS_F1 + 3}, {'Z', KEYS_BACKTAB},
};

/* First parameter of CSI n ~ */
static const struct {
    int number, key;
} numbered[] = {
    {1, KEYS_HOME},      {2, KEYS_INSERT},  {3, KEYS_DELETE},        {4, KEYS_END},         {5, KEYS_PAGE_UP},
    {6, KEYS_PAGE_DOWN}, {7, KEYS_HOME},    {8, KEYS_END},           {11, KEYS_F1},         {12, KEYS_F1 + 1},
    {13, KEYS_F1 + 2},   {14, KEYS_F1 + 3}, {200, KEYS_PASTE_BEGIN}, {201, KEYS_PASTE_END},
};

#define COUNT(table) (sizeof table / sizeof *table)
#define REPLACEMENT 0xfffd /* in place of bytes that are no character */

/* What was read and not given out. */
static uint8_t begun[4]; /* the first bytes of a character: the rest may come later */
static size_t begun_n;
static int held = ERR; /* what came after them or was put back; ERR = none */

void keys_init(void)
{
    define_key("\033[200~", CODE_PASTE_BEGIN);
    define_key("\033[201~", CODE_PASTE_END);
}

/* xterm's modifier parameter is 1 + (1 Shift, 2 Alt, 4 Control). Shift changes no key of ours, but makes Enter a new
 * line. */
static int modified(int key, int parameter)
{
    int bits = parameter > 1 ? parameter - 1 : 0;
    if (bits & 4)
        return key >= 'a' && key <= 'z' ? KEY_CTRL(key) : key > KEYS_SPECIAL ? key | KEYS_CONTROL : key;
    if ((bits & 2) || ((bits & 1) && key == KEYS_ENTER))
        return key | KEYS_ALT;
    return key;
}

static int of_mouse(void)
{
    MEVENT event;
    if (getmouse(&event) == ERR)
        return KEYS_UNKNOWN;
    return event.bstate & BUTTON4_PRESSED   ? KEYS_WHEEL_UP
           : event.bstate & BUTTON5_PRESSED ? KEYS_WHEEL_DOWN
                                            : KEYS_UNKNOWN;
}

static int of_code(int code)
{
    if (code == KEY_MOUSE)
        return of_mouse();
    if (code >= KEY_F(1) && code <= KEY_F(12))
        return KEYS_F1 + code - KEY_F(1);
    for (size_t i = 0; i < COUNT(curses_keys); i++)
        if (curses_keys[i].code == code)
            return curses_keys[i].key;
    const char *name = keyname(code);
    for (size_t i = 0; name && i < COUNT(extended); i++) {
        size_t n = strlen(extended[i].name);
        if (!strncmp(name, extended[i].name, n) && name[n] >= '2' && name[n] <= '8' && !name[n + 1])
            return modified(extended[i].key, name[n] - '0');
    }
    return KEYS_UNKNOWN;
}

static int of_sequence(const int *parameters, int final)
{
    if (final == '~') {
        if (parameters[0] == 27) /* xterm's modifyOtherKeys: 27 ; modifier ; character */
            return modified(parameters[2], parameters[1]);
        for (size_t i = 0; i < COUNT(numbered); i++)
            if (numbered[i].number == parameters[0])
                return modified(numbered[i].key, parameters[1]);
        return KEYS_UNKNOWN;
    }
    if (final == 'u') {
        /* Kitty's functional keys lie in the private use area; of them only the keypad's Enter is ours. */
        bool functional = parameters[0] >= 57344 && parameters[0] <= 63743;
        int key = parameters[0] == 57414 ? KEYS_ENTER : parameters[0] == 127 ? KEYS_BACKSPACE : parameters[0];
        return functional && key != KEYS_ENTER ? KEYS_UNKNOWN : modified(key, parameters[1]);
    }
    for (size_t i = 0; i < COUNT(finals); i++)
        if (finals[i].final == final)
            return modified(finals[i].key, parameters[1]);
    return KEYS_UNKNOWN;
}

static int take_code(void)
{
    int code = held != ERR ? held : getch();
    held = ERR;
    return code;
}

/* As get_wch, but each run of bytes that is no character is U+FFFD. */
static int read_character(wint_t *c)
{
    for (;;) {
        int code = take_code();
        if (code == ERR)
            return ERR;
        if (code > 0xff && !begun_n) {
            *c = (wint_t)code;
            return KEY_CODE_YES;
        }
        ucs4_t character = REPLACEMENT;
        int n = -1;
        if (code <= 0xff) {
            begun[begun_n++] = (uint8_t)code;
            n = u8_mbtoucr(&character, begun, begun_n);
        }
        if (n == -2) /* not whole yet */
            continue;
        if (n < 0) {
            character = REPLACEMENT;
            if (code > 0xff || begun_n > 1)
                held = code;
        }
        begun_n = 0;
        *c = (wint_t)character;
        return OK;
    }
}

/* After ESC [ or ESC O: the rest of the sequence. */
static int read_sequence(wint_t introducer)
{
    int parameters[3] = {0}, at = 0, n = 0;
    wint_t c;
    for (; read_character(&c) == OK; n++) {
        if (c >= '0' && c <= '9' && at < 3 && parameters[at] < 10000)
            parameters[at] = parameters[at] * 10 + (int)(c - '0');
        else if (c == ';')
            at += at < 3;
        else if (c == 'M' && introducer == 'O')
            return KEYS_ENTER; /* of the keypad */
        else if (c >= 0x40 && c <= 0x7e)
            return of_sequence(parameters, (int)c);
        else if (c < 0x20)
            break; /* no part of a sequence */
    }
    return n ? KEYS_UNKNOWN : KEYS_ALT | (int)introducer;
}

static int after_escape(void)
{
    wint_t c;
    int kind = read_character(&c);
    if (kind == ERR)
        return KEYS_ESC;
    if (kind == KEY_CODE_YES) { /* Esc before a key is how some terminals send Alt */
        int key = of_code((int)c);
        bool alt = (key >= KEYS_BACKSPACE && key <= KEYS_INSERT) || key == KEYS_ENTER;
        return alt ? key | KEYS_ALT : key;
    }
    if (c == '[' || c == 'O')
        return read_sequence(c);
    if (c == 127 || c == 8)
        return KEYS_ALT | KEYS_BACKSPACE;
    if (c < 32 && c != KEYS_ENTER) { /* Esc, then a control key that came fast: Alt changes none of them */
        held = (int)c;
        return KEYS_ESC;
    }
    return KEYS_ALT | (int)c;
}

int keys_read(void)
{
    wint_t c;
    int kind = read_character(&c);
    if (kind == ERR)
        return KEYS_NONE;
    if (kind == KEY_CODE_YES)
        return of_code((int)c);
    if (c == KEYS_ESC)
        return after_escape();
    if (c == 127 || c == 8)
        return KEYS_BACKSPACE;
    return c ? (int)c : KEYS_UNKNOWN;
}
