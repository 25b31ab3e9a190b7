/* clipboard.c - see clipboard.h */
#include "clipboard.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCREEN_PIECE 240 /* GNU screen drops a DCS string of 256 bytes (768 since 4.2) */

extern char **environ;

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

enum clipboard_way clipboard_way(void)
{
    return is_set("TMUX") ? CLIPBOARD_TMUX : is_set("STY") ? CLIPBOARD_SCREEN : CLIPBOARD_TERMINAL;
}

/* ---- OSC 52 ---- */

static void add_base64(struct buffer *b, const char *s, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        unsigned have = n - i < 3 ? (unsigned)(n - i) : 3, v = 0;
        for (unsigned k = 0; k < 3; k++)
            v = v << 8 | (k < have ? (unsigned char)s[i + k] : 0);
        char out[4] = {digits[v >> 18], digits[v >> 12 & 63], have > 1 ? digits[v >> 6 & 63] : '=',
                       have > 2 ? digits[v & 63] : '='};
        buffer_add(b, out, 4);
    }
}

void clipboard_osc52(const char *s, size_t n, bool screen, struct buffer *out)
{
    struct buffer b = BUFFER_INIT;
    buffer_puts(&b, "\033]52;c;");
    add_base64(&b, s, n);
    buffer_puts(&b, "\a");
    for (size_t at = 0; at < b.len && screen; at += SCREEN_PIECE) {
        buffer_puts(out, "\033P");
        buffer_add(out, b.s + at, b.len - at < SCREEN_PIECE ? b.len - at : SCREEN_PIECE);
        buffer_puts(out, "\033\\");
    }
    if (!screen)
        buffer_add(out, b.s, b.len);
    buffer_free(&b);
}

/* ---- tmux ---- */

/* A file without a name that holds the text: writing to a pipe would wait for tmux. -1: there is no room for it. */
static int file_with(const char *s, size_t n)
{
    FILE *f = tmpfile();
    int fd = -1;
    if (!f)
        return -1;
    if (fwrite(s, 1, n, f) == n && fflush(f) == 0)
        fd = fcntl(fileno(f), F_DUPFD_CLOEXEC, 3);
    fclose(f);
    return fd;
}

static bool start(struct clipboard_transfer *t)
{
    char *with_terminal[] = {"tmux", "load-buffer", "-w", "-", NULL}, *alone[] = {"tmux", "load-buffer", "-", NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, ignored;
    sigemptyset(&none);
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE); /* a signal ignored here would stay ignored there */
    lseek(t->file, 0, SEEK_SET);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, t->file, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &ignored);
    bool ok =
        posix_spawnp(&t->pid, "tmux", &files, &attributes, t->buffer_only ? alone : with_terminal, environ) == 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (!ok)
        t->pid = 0;
    return ok;
}

static void forget(struct clipboard_transfer *t)
{
    close(t->file);
    *t = (struct clipboard_transfer){0};
}

bool clipboard_begin(struct clipboard_transfer *t, const char *s, size_t n)
{
    if (t->pid) {
        kill(t->pid, SIGKILL);
        waitpid(t->pid, NULL, 0);
        forget(t);
    }
    t->file = file_with(s, n);
    if (t->file < 0)
        return false;
    if (!start(t)) {
        forget(t);
        return false;
    }
    return true;
}

enum clipboard_state clipboard_poll(struct clipboard_transfer *t)
{
    int status;
    pid_t ended = waitpid(t->pid, &status, WNOHANG);
    if (ended == 0)
        return CLIPBOARD_RUNNING;
    bool ok = ended == t->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0, buffer_only = t->buffer_only;
    if (!ok && !buffer_only) {
        t->buffer_only = true;
        if (start(t))
            return CLIPBOARD_RUNNING;
    }
    forget(t);
    return !ok ? CLIPBOARD_FAILED : buffer_only ? CLIPBOARD_BUFFER : CLIPBOARD_SENT;
}

void clipboard_abandon(struct clipboard_transfer *t)
{
    if (t->pid)
        forget(t);
}
