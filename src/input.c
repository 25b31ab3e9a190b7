/* input.c - see input.h. */
#include "input.h"

#include "commands.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unistr.h>

#define PATIENCE_MS 1000 /* silence after which a person is told what the program waits for */
#define MARK "\xef\xbb\xbf"
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Describes a byte's place: "line 3, byte 8", both counted from 1, as editors do. */
static void describe_place(const char *bytes, size_t at, char *place, size_t cap)
{
    size_t line = 1, start = 0;
    for (size_t i = 0; i < at; i++)
        if (bytes[i] == '\n') {
            line++;
            start = i + 1;
        }
    snprintf(place, cap, "line %zu, byte %zu", line, at - start + 1);
}

static bool refuse(const char *bytes, size_t n, const char *source, char *err, size_t cap)
{
    char place[64];
    if (n >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0)) {
        snprintf(err, cap, "%s is UTF-16 text: `iconv -f utf-16 -t utf-8` converts it", source);
        return false;
    }
    const char *nul = memchr(bytes, '\0', n);
    if (!nul)
        return true;
    describe_place(bytes, (size_t)(nul - bytes), place, sizeof place);
    snprintf(err, cap, "%s is not text: there is a NUL byte at %s", source, place);
    return false;
}

bool input_clean(struct buffer *text, const char *bytes, size_t n, const char *source, char *note, size_t note_cap,
                 char *err, size_t cap)
{
    size_t i = n >= 3 && memcmp(bytes, MARK, 3) == 0 ? 3 : 0, good = i, replaced = 0, first = 0;
    note[0] = '\0';
    if (!refuse(bytes, n, source, err, cap))
        return false;
    while (i < n) {
        const uint8_t *s = (const uint8_t *)bytes + i;
        ucs4_t c;
        bool valid = u8_mbtoucr(&c, s, n - i) > 0;
        int length = u8_mbtouc(&c, s, n - i);
        if (!valid) {
            first = replaced++ ? first : i;
            buffer_add(text, bytes + good, i - good);
            buffer_puts(text, REPLACEMENT);
            good = i + (size_t)length;
        }
        i += (size_t)length;
    }
    buffer_add(text, bytes + good, n - good);
    if (replaced) {
        char place[64];
        describe_place(bytes, first, place, sizeof place);
        snprintf(note, note_cap,
                 "%s is not all UTF-8: %zu place%s read as U+FFFD, the first at %s (`iconv -f latin1 -t utf-8` "
                 "converts Latin-1)",
                 source, replaced, replaced == 1 ? " is" : "s are", place);
    }
    return true;
}

/* Waits until standard input can be read, or has ended. */
static void wait_for_input(bool *said)
{
    struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
    if (!*said && poll(&fd, 1, PATIENCE_MS) == 0) {
        *said = true;
        command_say("reading standard input to its end before answering (--no-stdin: do not read it)");
    }
}

bool input_read(struct buffer *input, char *err, size_t cap)
{
    char chunk[65536];
    bool said = false;
    if (isatty(STDIN_FILENO))
        return true;
    for (;;) {
        wait_for_input(&said);
        ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
        if (n == 0)
            return true;
        if (n < 0 && errno != EINTR) {
            snprintf(err, cap, "standard input: %s", strerror(errno));
            return false;
        }
        if (n > 0)
            buffer_add(input, chunk, (size_t)n);
        if (input->len > BUFFER_TEXT_MAX) {
            snprintf(err, cap, "standard input is longer than %u MB", BUFFER_TEXT_MAX >> 20);
            return false;
        }
    }
}

char *input_question(const char *text, const char *piped)
{
    size_t n = strlen(piped);
    while (n && (piped[n - 1] == '\n' || piped[n - 1] == '\r'))
        n--;
    struct buffer question = BUFFER_INIT;
    buffer_puts(&question, text);
    if (*text && n)
        buffer_puts(&question, "\n\n");
    buffer_add(&question, piped, n);
    if (question.s[strspn(question.s, " \t\r\n")])
        return buffer_take(&question);
    buffer_free(&question);
    return NULL;
}
