/*
 * test_memory.c - how much memory this process may use: machines and control groups as files of /proc and /sys in a
 * directory of the test's own.
 */
#include "../../../engine/memory.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MB 1000000ull

static char root[200];

static void put(const char *file, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", root, file);
    for (char *slash = path + strlen(root); (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int new_machine(void **state)
{
    (void)state;
    const char *dir = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/chinwag-memory-XXXXXX", dir ? dir : "/tmp");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_machine(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void assert_memory(uint64_t most, uint64_t available)
{
    struct engine_memory memory = memory_limits_below(root);
    assert_int_equal(memory.most, most);
    assert_int_equal(memory.available, available);
}

static void put_machine(void)
{
    put("proc/meminfo", "MemTotal:       8000000 kB\nMemFree:  1 kB\nMemAvailable:   5000000 kB\n"
                        "SwapTotal:      1000000 kB\nSwapFree:        500000 kB\n");
}

static void a_machine_without_files_says_nothing(void **state)
{
    (void)state;
    assert_memory(0, 0);
}

static void the_machine_and_its_swap_count(void **state)
{
    (void)state;
    put_machine();
    assert_memory(9000 * MB * 1024 / 1000, 5500 * MB * 1024 / 1000);
}

static void the_smallest_group_above_counts_and_pages_of_files_give_way(void **state)
{
    (void)state;
    put_machine();
    put("proc/self/cgroup", "0::/user/app\n");
    put("sys/fs/cgroup/user/memory.max", "700000000\n");
    put("sys/fs/cgroup/user/memory.current", "600000000\n");
    put("sys/fs/cgroup/user/memory.stat", "anon 200000000\nfile 350000000\nfile_mapped 1\n");
    put("sys/fs/cgroup/user/app/memory.max", "max\n");
    assert_memory(700 * MB, 450 * MB);
    put("sys/fs/cgroup/user/app/memory.max", "300000000\n");
    put("sys/fs/cgroup/user/app/memory.current", "400000000\n");
    assert_memory(300 * MB, 1);
}

static void version_1_groups_count_too(void **state)
{
    (void)state;
    put_machine();
    put("proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "500000000\n");
    put("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "100000000\n");
    put("sys/fs/cgroup/memory/box/memory.stat", "cache 1\ntotal_cache 50000000\n");
    assert_memory(500 * MB, 450 * MB);
}

static void the_address_space_counts(void **state)
{
    (void)state;
    char pages[64];
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    put_machine();
    snprintf(pages, sizeof pages, "%ld 1 1 1 0 1 0\n", 100000000 / sysconf(_SC_PAGESIZE));
    put("proc/self/statm", pages);
    struct rlimit less = {.rlim_cur = 1ull << 42, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    assert_memory(9000 * MB * 1024 / 1000, 5500 * MB * 1024 / 1000);
    less.rlim_cur = 4000 * MB;
    int set = setrlimit(RLIMIT_AS, &less);
    struct engine_memory memory = memory_limits_below(root);
    setrlimit(RLIMIT_AS, &before);
    assert_int_equal(set, 0);
    assert_int_equal(memory.most, 4000 * MB);
    assert_true(memory.available > 3899 * MB && memory.available < 3901 * MB);
}

static void this_machine_has_memory(void **state)
{
    (void)state;
    struct engine_memory memory = engine_memory();
    assert_true(memory.most == 0 || (memory.available > 0 && memory.available <= memory.most));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_machine_without_files_says_nothing, new_machine, remove_machine),
        cmocka_unit_test_setup_teardown(the_machine_and_its_swap_count, new_machine, remove_machine),
        cmocka_unit_test_setup_teardown(the_smallest_group_above_counts_and_pages_of_files_give_way, new_machine,
                                        remove_machine),
        cmocka_unit_test_setup_teardown(version_1_groups_count_too, new_machine, remove_machine),
        cmocka_unit_test_setup_teardown(the_address_space_counts, new_machine, remove_machine),
        cmocka_unit_test(this_machine_has_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
