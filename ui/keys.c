/* keys.c - see screen.h: reads what the terminal sends and decodes it with the sequences of its description. */
#include "../src/base/clock.h"
#include "actions.h"
#include "decode.h"
#include "screen.h"
#include "tty.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <term.h>
#undef lines /* macros of <term.h> */
#undef columns

#define BLOCK 65536
#define BLOCKS_AT_ONCE 8 /* then the rest of the program has a turn */
#define ESCAPE_MS 25     /* between Esc the key and the first byte of a sequence */
/* Over a network the bytes of one key arrive apart: by a retransmission's time at most, which is rare, or by the
 * scheduling of two machines. Vim waits 100 ms. */
#define ESCAPE_REMOTE_MS 150
#define ESCAPE_MAX_MS 5000

/* Terminfo's names of keys (terminfo(5)). */
static const struct {
    const char *name;
    int key;
} capabilities[] = {
    {"kcuu1", KEYS_UP},     {"kcud1", KEYS_DOWN},     {"kcuf1", KEYS_RIGHT},   {"kcub1", KEYS_LEFT},
    {"khome", KEYS_HOME},   {"kend", KEYS_END},       {"kpp", KEYS_PAGE_UP},   {"knp", KEYS_PAGE_DOWN},
    {"kdch1", KEYS_DELETE}, {"kich1", KEYS_INSERT},   {"kbs", KEYS_BACKSPACE}, {"kent", KEYS_ENTER},
    {"kcbt", KEYS_BACKTAB}, {"kLFT", KEYS_LEFT},      {"kRIT", KEYS_RIGHT},    {"kHOM", KEYS_HOME},
    {"kEND", KEYS_END},     {"kDC", KEYS_DELETE},     {"kIC", KEYS_INSERT},    {"kPRV", KEYS_PAGE_UP},
    {"kri", KEYS_UP},       {"kNXT", KEYS_PAGE_DOWN}, {"kind", KEYS_DOWN},
};

/* Names of the extended capabilities without the digit of their modifiers (terminfo's user_caps(5)). */
static const struct {
    const char *name;
    int key;
} extended[] = {
    {"kUP", KEYS_UP},   {"kDN", KEYS_DOWN},     {"kLFT", KEYS_LEFT},      {"kRIT", KEYS_RIGHT}, {"kHOM", KEYS_HOME},
    {"kEND", KEYS_END}, {"kPRV", KEYS_PAGE_UP}, {"kNXT", KEYS_PAGE_DOWN}, {"kDC", KEYS_DELETE}, {"kIC", KEYS_INSERT},
};

#define COUNT(table) (sizeof table / sizeof *table)

static struct decoder decoder;
static size_t typed_before; /* bytes waiting that another mode of the terminal took: their newlines are Enter */

static void define(const char *capability, int key)
{
    const char *sequence = tigetstr(capability);
    if (sequence && sequence != (char *)-1)
        decoder_define(&decoder, sequence, key);
}

static bool is_bound(int key)
{
    return action_of_key(key) != ACTION_NONE;
}

static int escape_delay(void)
{
    const char *wanted = getenv("ESCDELAY"), *remote[] = {getenv("SSH_CONNECTION"), getenv("SSH_TTY")};
    char *end;
    long ms = wanted ? strtol(wanted, &end, 10) : 0;
    if (wanted && end != wanted && !*end && ms >= 0)
        return ms < 1 ? 1 : ms < ESCAPE_MAX_MS ? (int)ms : ESCAPE_MAX_MS;
    bool is_remote = (remote[0] && *remote[0]) || (remote[1] && *remote[1]);
    return is_remote ? ESCAPE_REMOTE_MS : ESCAPE_MS;
}

void keys_init(void)
{
    char name[16];
    decoder_free(&decoder);
    decoder.escape_ms = escape_delay();
    decoder.is_bound = is_bound;
    for (size_t i = 0; i < COUNT(capabilities); i++)
        define(capabilities[i].name, capabilities[i].key);
    for (int f = 1; f <= 12; f++) {
        snprintf(name, sizeof name, "kf%d", f);
        define(name, KEYS_F1 + f - 1);
    }
    for (size_t i = 0; i < COUNT(extended); i++)
        for (int modifiers = 2; modifiers <= 8; modifiers++) {
            snprintf(name, sizeof name, "%s%d", extended[i].name, modifiers);
            define(name, decode_modified(extended[i].key, modifiers));
        }
    const char *mouse = tigetstr("kmous");
    decoder.x10_mouse = mouse && mouse != (char *)-1 && !strcmp(mouse, "\033[M");
}

void keys_take_over(void)
{
    int waiting = 0;
    if (ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0 && waiting > 0)
        typed_before = (size_t)waiting;
}

bool keys_fill(void)
{
    static char block[BLOCK];
    struct pollfd ready = {STDIN_FILENO, POLLIN, 0};
    bool any = false;
    for (int i = 0; i < BLOCKS_AT_ONCE && poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN); i++) {
        ssize_t n = read(STDIN_FILENO, block, sizeof block);
        if (n <= 0)
            break;
        for (ssize_t k = 0; k < n && typed_before; k++, typed_before--)
            if (block[k] == '\n')
                block[k] = '\r';
        decoder_feed(&decoder, block, (size_t)n, clock_ms());
        any = true;
    }
    return any;
}

int keys_next(void)
{
    return decoder_next(&decoder, clock_ms());
}

int64_t keys_due(void)
{
    return decoder_due(&decoder);
}
