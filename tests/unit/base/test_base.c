/* Buffers, allocation, conditions: what src/base promises. */
#include "../../../src/base/buffer.h"
#include "../../../src/base/clock.h"
#include "../../../src/base/mem.h"
#include "../../../src/base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void a_buffer_is_never_null(void **state)
{
    (void)state;
    struct buffer b = BUFFER_INIT, zeroed = {0};
    assert_string_equal(b.s, "");
    buffer_clear(&b);
    buffer_truncate(&b, 5);
    buffer_remove(&b, 0, 0);
    assert_string_equal(b.s, "");
    buffer_free(&b);
    assert_string_equal(b.s, "");
    char *taken = buffer_take(&b);
    assert_string_equal(taken, "");
    free(taken);
    buffer_add(&zeroed, "a", 1);
    assert_string_equal(zeroed.s, "a");
    buffer_free(&zeroed);
    assert_string_equal(buffer_empty, "");
}

static void a_buffer_inserts_and_removes_anywhere(void **state)
{
    (void)state;
    struct buffer b = BUFFER_INIT;
    buffer_insert(&b, 0, "world", 5);
    buffer_insert(&b, 0, "hello ", 6);
    buffer_puts(&b, "!");
    buffer_printf(&b, " %d", 42);
    assert_string_equal(b.s, "hello world! 42");
    buffer_remove(&b, 5, 6);
    assert_string_equal(b.s, "hello! 42");
    buffer_truncate(&b, 5);
    assert_string_equal(b.s, "hello");
    buffer_set(&b, "a\0b", 3);
    assert_int_equal(b.len, 3);
    assert_memory_equal(b.s, "a\0b", 4);
    for (int i = 0; i < 10000; i++)
        buffer_puts(&b, "0123456789");
    assert_int_equal(b.len, 100003);
    assert_int_equal(b.s[b.len], 0);
    buffer_free(&b);
}

static void reading_stops_beyond_the_limit(void **state)
{
    (void)state;
    struct buffer b = BUFFER_INIT;
    int fd = open("/dev/zero", O_RDONLY);
    errno = 0;
    assert_false(buffer_read(&b, fd, 100000));
    assert_int_equal(errno, EFBIG);
    close(fd);
    assert_false(buffer_read(&b, fd, 1000));
    assert_int_equal(errno, EBADF);
    buffer_free(&b);
}

static void arrays_grow_with_zeroed_elements(void **state)
{
    (void)state;
    int *v = NULL;
    for (size_t i = 0; i < 1000; i++) {
        v = mem_append(v, i, sizeof *v);
        assert_int_equal(v[i], 0);
        v[i] = (int)i + 1;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v[i], i + 1);
    free(v);
}

/* What a child that asks for n x size bytes prints before it aborts. */
static void out_of_memory_says(size_t n, size_t size, const char *expected)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(fds[1], STDERR_FILENO);
        free(mem_resize(NULL, n, size));
        _exit(0);
    }
    close(fds[1]);
    struct buffer said = BUFFER_INIT;
    assert_true(buffer_read(&said, fds[0], 4096));
    close(fds[0]);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(said.s, expected);
    buffer_free(&said);
}

static void running_out_of_memory_names_the_bytes_asked_for(void **state)
{
    (void)state;
    out_of_memory_says(SIZE_MAX / 4, 8, "chinwag: out of memory (4611686018427387903 x 8 bytes)\n");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    out_of_memory_says((size_t)1 << 62, 1, "chinwag: out of memory (4611686018427387904 bytes)\n");
#endif
}

static void a_wait_ends_at_its_deadline(void **state)
{
    (void)state;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond;
    cond_init(&cond);
    double start = clock_ms();
    pthread_mutex_lock(&lock);
    while (cond_wait_until(&cond, &lock, start + 30))
        ;
    pthread_mutex_unlock(&lock);
    assert_true(clock_ms() - start >= 30);
    pthread_cond_destroy(&cond);
}

static void *read_mask(void *mask)
{
    pthread_sigmask(SIG_SETMASK, NULL, mask);
    return NULL;
}

static void a_thread_blocks_all_signals_but_faults(void **state)
{
    (void)state;
    sigset_t mask, ours;
    pthread_t thread;
    assert_int_equal(thread_start(&thread, read_mask, &mask), 0);
    pthread_join(thread, NULL);
    assert_true(sigismember(&mask, SIGWINCH) && sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM));
    assert_false(sigismember(&mask, SIGSEGV) || sigismember(&mask, SIGBUS));
    pthread_sigmask(SIG_SETMASK, NULL, &ours);
    assert_false(sigismember(&ours, SIGWINCH));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_is_never_null),
        cmocka_unit_test(a_buffer_inserts_and_removes_anywhere),
        cmocka_unit_test(reading_stops_beyond_the_limit),
        cmocka_unit_test(arrays_grow_with_zeroed_elements),
        cmocka_unit_test(running_out_of_memory_names_the_bytes_asked_for),
        cmocka_unit_test(a_wait_ends_at_its_deadline),
        cmocka_unit_test(a_thread_blocks_all_signals_but_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
