/* A fault in any thread gives the terminal back before it ends the program. */
#include "../../../src/base/thread.h"
#include "../../../ui/tty.h"

#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#define RESTORED "<restored>"

static int overflow(volatile char *above)
{
    volatile char frame[4096];
    frame[0] = above ? *above : 1;
    return frame[0] ? overflow(frame) + frame[0] : 0;
}

static void *overflowing(void *arg)
{
    (void)arg;
    overflow(NULL);
    return NULL;
}

static void *faulting(void *arg)
{
    (void)arg;
    raise(SIGBUS);
    return NULL;
}

/* The child: a terminal in a mode of ours, then the fault. */
static void run_and_fault(void *(*fault)(void *), bool in_thread)
{
    struct termios raw;
    pthread_t thread;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    tty_save();
    tty_set_restore(RESTORED);
    tcgetattr(STDIN_FILENO, &raw);
    cfmakeraw(&raw);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    tty_signals(false);
    if (!in_thread)
        fault(NULL);
    else if (thread_start(&thread, fault, NULL) == 0)
        pthread_join(thread, NULL);
    _exit(0);
}

static void expect_restored(void *(*fault)(void *), bool in_thread, int signal_number)
{
    int terminal, status;
    char out[4096];
    size_t n = 0;
    struct termios before, after;
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    assert_true(child >= 0);
    if (child == 0)
        run_and_fault(fault, in_thread);
    for (ssize_t got; n < sizeof out - 1 && (got = read(terminal, out + n, sizeof out - 1 - n)) > 0;)
        n += (size_t)got;
    out[n] = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), signal_number);
    assert_non_null(strstr(out, RESTORED));
    assert_int_equal(tcgetattr(terminal, &after), 0);
    before = after;
    cfmakeraw(&before);
    assert_int_not_equal(before.c_lflag, after.c_lflag); /* it is not raw any more */
    close(terminal);
}

static void a_fault_in_a_thread(void **state)
{
    (void)state;
    expect_restored(faulting, false, SIGBUS);
    expect_restored(faulting, true, SIGBUS);
}

static void a_stack_overflow_in_a_thread(void **state)
{
    (void)state;
    expect_restored(overflowing, false, SIGSEGV);
    expect_restored(overflowing, true, SIGSEGV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_in_a_thread),
        cmocka_unit_test(a_stack_overflow_in_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
