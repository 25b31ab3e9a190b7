/* tty.c - see tty.h */
#include "tty.h"
#include "../src/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/epoll.h>
#endif

bool tty_locale(void)
{
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C");
    return !strcmp(nl_langinfo(CODESET), "UTF-8") || setlocale(LC_CTYPE, "C.UTF-8") ||
           setlocale(LC_CTYPE, "en_US.UTF-8");
}

/* ---- giving it back ---- */

static struct termios saved;
static volatile sig_atomic_t have_saved;
static char restore_sequence[512];
static volatile sig_atomic_t restore_n;

void tty_save(void)
{
    if (tcgetattr(STDIN_FILENO, &saved) == 0)
        have_saved = 1;
}

void tty_set_restore(const char *sequence)
{
    size_t n = strlen(sequence);
    restore_n = 0;
    if (n > sizeof restore_sequence)
        n = sizeof restore_sequence;
    memcpy(restore_sequence, sequence, n);
    restore_n = (sig_atomic_t)n;
}

void tty_write(const char *s, size_t n)
{
    while (n) {
        ssize_t written = write(STDOUT_FILENO, s, n);
        if (written < 0 && errno == EAGAIN) {
            struct pollfd p = {STDOUT_FILENO, POLLOUT, 0};
            poll(&p, 1, 1000);
        } else if (written < 0 && errno != EINTR) {
            return;
        }
        if (written > 0) {
            s += written;
            n -= (size_t)written;
        }
    }
}

void tty_restore(void)
{
    if (restore_n)
        tty_write(restore_sequence, (size_t)restore_n);
    if (have_saved)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
    restore_n = 0;
    have_saved = 0;
}

void tty_forget(void)
{
    restore_n = 0;
    have_saved = 0;
}

/* ---- signals ---- */

static const struct {
    int number;
    enum tty_signal bit;
    bool plain; /* caught in plain mode too */
} watched[] = {
    {SIGTERM, TTY_QUIT, true},      {SIGHUP, TTY_QUIT, true},      {SIGINT, TTY_INTERRUPT, true},
    {SIGCONT, TTY_CONTINUED, true}, {SIGTSTP, TTY_SUSPEND, false}, {SIGWINCH, TTY_RESIZED, false},
    {SIGCHLD, TTY_CHILD, false},
};
/* What ends the program at once, after the terminal was given back. */
static const int fatal[] = {SIGSEGV, SIGABRT, SIGBUS,  SIGFPE,  SIGILL,    SIGQUIT, SIGTRAP,
                            SIGSYS,  SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU};

#define WATCHED (sizeof watched / sizeof *watched)
#define FATAL (sizeof fatal / sizeof *fatal)

static volatile sig_atomic_t arrived[WATCHED];
static struct sigaction before_watched[WATCHED], before_fatal[FATAL];
static bool caught[WATCHED], installed;
static int wake[2] = {-1, -1};
static int watch_fd = -1;

static void on_signal(int number)
{
    int saved_errno = errno;
    for (size_t i = 0; i < WATCHED; i++) {
        if (watched[i].number != number)
            continue;
        arrived[i] = 1;
        /* ncurses learns of a resize from its own handler. */
        if (number == SIGWINCH && before_watched[i].sa_handler != SIG_DFL && before_watched[i].sa_handler != SIG_IGN)
            before_watched[i].sa_handler(number);
    }
    ssize_t ignored = write(wake[1], "", 1); /* full: it is awake already */
    (void)ignored;
    errno = saved_errno;
}

static void on_fatal(int number)
{
    static const char cut_short[] =
        "chinwag: a file in use, probably the model's, was cut short or could not be read; what was said is kept\n";
    tty_restore();
    if (number == SIGBUS && write(STDERR_FILENO, cut_short, sizeof cut_short - 1) < 0)
        _exit(1); /* nothing is left to say it to */
    signal(number, SIG_DFL);
    raise(number);
}

static void open_wake_pipe(void)
{
    if (wake[0] >= 0 || pipe(wake) < 0)
        return;
    for (int i = 0; i < 2; i++) {
        fcntl(wake[i], F_SETFL, O_NONBLOCK);
        fcntl(wake[i], F_SETFD, FD_CLOEXEC);
    }
#ifdef __linux__
    watch_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event pipe_event = {.events = EPOLLIN, .data.fd = wake[0]};
    if (watch_fd >= 0)
        epoll_ctl(watch_fd, EPOLL_CTL_ADD, wake[0], &pipe_event);
    tty_listen(true);
#endif
}

void tty_signals(bool plain)
{
    static char *alternate; /* a stack that overflowed cannot run a handler */
    stack_t stack = {0};
    sigset_t relied_on;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    open_wake_pipe();
    sigemptyset(&action.sa_mask);
    sigemptyset(&relied_on);
    for (size_t i = 0; i < WATCHED; i++) {
        caught[i] = watched[i].plain || !plain;
        if (!caught[i])
            continue;
        sigaction(watched[i].number, &action, &before_watched[i]);
        sigaddset(&relied_on, watched[i].number);
    }
    stack.ss_size = 64 * 1024;
    if (!alternate)
        alternate = mem_new(1, stack.ss_size);
    stack.ss_sp = alternate;
    sigaltstack(&stack, NULL);
    action.sa_handler = on_fatal;
    action.sa_flags = SA_ONSTACK;
    for (size_t i = 0; i < FATAL; i++)
        if (sigaction(fatal[i], &action, &before_fatal[i]) == 0 && before_fatal[i].sa_handler == SIG_IGN)
            sigaction(fatal[i], &before_fatal[i], NULL);
    for (size_t i = 0; i < FATAL; i++)
        sigaddset(&relied_on, fatal[i]);
    pthread_sigmask(SIG_UNBLOCK, &relied_on, NULL); /* a program that blocks signals passes that on */
    installed = true;
}

void tty_signals_end(void)
{
    if (!installed)
        return;
    for (size_t i = 0; i < WATCHED; i++)
        if (caught[i])
            sigaction(watched[i].number, &before_watched[i], NULL);
    for (size_t i = 0; i < FATAL; i++)
        sigaction(fatal[i], &before_fatal[i], NULL);
    installed = false;
}

unsigned tty_take(void)
{
    char drained[64];
    unsigned bits = 0;
    while (wake[0] >= 0 && read(wake[0], drained, sizeof drained) > 0)
        ;
    for (size_t i = 0; i < WATCHED; i++)
        if (arrived[i]) {
            arrived[i] = 0;
            bits |= watched[i].bit;
        }
    return bits;
}

void tty_discard(unsigned bits)
{
    for (size_t i = 0; i < WATCHED; i++)
        if (watched[i].bit & bits)
            arrived[i] = 0;
}

int tty_fd(void)
{
    return watch_fd >= 0 ? watch_fd : STDIN_FILENO;
}

void tty_listen(bool keys)
{
#ifdef __linux__
    struct epoll_event event = {.events = EPOLLIN, .data.fd = STDIN_FILENO};
    if (watch_fd >= 0 && epoll_ctl(watch_fd, keys ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, STDIN_FILENO, &event) < 0 &&
        keys && errno == EPERM) { /* a plain file cannot be watched; it is always readable */
        close(watch_fd);
        watch_fd = -1;
    }
#else
    (void)keys;
#endif
}

bool tty_hung_up(void)
{
    struct pollfd p = {STDIN_FILENO, POLLIN, 0};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

void tty_stop(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL}, ours;
    sigemptyset(&standard.sa_mask);
    sigaction(SIGTSTP, &standard, &ours);
    kill(0, SIGTSTP); /* the job: `make run` and a pipeline's other parts stop with us */
    sigaction(SIGTSTP, &ours, NULL);
}
