/*
 * test_cpu.c - how many threads are worth starting: machines and containers of several kinds, as files of /sys and
 * /proc in a directory of the test's own.
 */
#include "../../../engine/cpu.h"
#include "../../../engine/matmul.h"
#include "../../../engine/vector.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define CPUS 16

static char root[200];
static bool all[CPUS];

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

static void put_cpu(int cpu, const char *file, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/%s", cpu, file);
    put(path, text);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int new_machine(void **state)
{
    (void)state;
    const char *dir = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/chinwag-cpu-XXXXXX", dir ? dir : "/tmp");
    memset(all, true, sizeof all);
    return mkdtemp(root) ? 0 : -1;
}

static int remove_machine(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- kernel sets ----------------------------------------------------------------------------------------- */

static void every_set_has_all_its_kernels(void **state)
{
    (void)state;
    const char *list[CPU_SETS_MAX], *const *set = cpu_sets(list);
    for (; *set; set++) {
        assert_true(cpu_has(*set));
        assert_non_null(matmul_kernels(*set));
        assert_string_equal(matmul_kernels(*set)->name, *set);
        assert_non_null(vector_kernels(*set));
    }
    assert_string_equal(set[-1], "scalar");
    assert_false(cpu_has("pdp11"));
    assert_false(cpu_has(""));
}

static void a_set_that_is_lacking_is_not_forced(void **state)
{
    (void)state;
    static const char *const names[] = {"scalar", "avx2", "avxvnni", "avx512", "avx512vnni", "neon", "neondot"};
    char err[200];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv("CHINWAG_CPU", names[i], 1);
        const char *set = cpu_choose(err, sizeof err);
        if (cpu_has(names[i]))
            assert_string_equal(set, names[i]);
        else
            assert_true(!set && strstr(err, names[i]));
        assert_true(cpu_has(names[i]) == (matmul_kernels(names[i]) != NULL));
    }
    setenv("CHINWAG_CPU", "", 1); /* empty is not set */
    assert_true(cpu_has(cpu_choose(err, sizeof err)));
    assert_string_not_equal(cpu_choose(err, sizeof err), "avxvnni"); /* only when asked for */
    unsetenv("CHINWAG_CPU");
}

/* ---- cores ----------------------------------------------------------------------------------------------- */

static void without_files_every_cpu_is_a_core(void **state)
{
    (void)state;
    assert_int_equal(cpu_cores_below(root, all, CPUS), CPUS);
    assert_int_equal(cpu_cores_below(root, all, 1), 1);
    assert_int_equal(cpu_cores_below(root, (bool[CPUS]){[3] = true, [5] = true}, CPUS), 2);
    assert_int_equal(cpu_cores_below(root, (bool[CPUS]){0}, CPUS), 1); /* at least one */
}

/* Eight cores of two threads: the second ones come after all first ones, or right after their own, as kernels number
 * them. */
static void put_siblings(bool neighbours)
{
    for (int cpu = 0; cpu < CPUS; cpu++) {
        char list[20];
        int first = neighbours ? cpu & ~1 : cpu % 8;
        snprintf(list, sizeof list, neighbours ? "%d-%d\n" : "%d,%d\n", first, neighbours ? first + 1 : first + 8);
        put_cpu(cpu, "topology/thread_siblings_list", list);
    }
}

static void threads_of_a_core_count_once(void **state)
{
    (void)state;
    for (int neighbours = 0; neighbours <= 1; neighbours++) {
        put_siblings(neighbours);
        assert_int_equal(cpu_cores_below(root, all, CPUS), 8);
        bool second[CPUS]; /* the second threads alone are as many cores */
        for (int cpu = 0; cpu < CPUS; cpu++)
            second[cpu] = neighbours ? cpu % 2 : cpu >= 8;
        assert_int_equal(cpu_cores_below(root, second, CPUS), 8);
        assert_int_equal(cpu_cores_below(root, all, 5), neighbours ? 3 : 5);
    }
}

/* Intel's: 4 performance cores of two threads, 8 efficiency cores, told by the clock. */
static void efficiency_cores_do_not_count(void **state)
{
    (void)state;
    for (int cpu = 0; cpu < CPUS; cpu++) {
        char list[20];
        snprintf(list, sizeof list, cpu < 8 ? "%d-%d\n" : "%d\n", cpu < 8 ? cpu & ~1 : cpu, cpu | 1);
        put_cpu(cpu, "topology/thread_siblings_list", list);
        /* two favoured cores are clocked a little higher */
        put_cpu(cpu, "cpufreq/cpuinfo_max_freq", cpu < 4 ? "5200000\n" : cpu < 8 ? "5000000\n" : "3900000\n");
    }
    assert_int_equal(cpu_cores_below(root, all, CPUS), 4);
    bool small[CPUS] = {0}; /* where only they are allowed they are the best there is */
    memset(small + 8, true, 8);
    assert_int_equal(cpu_cores_below(root, small, CPUS), 8);
}

/* ARM's: 1 + 3 + 4 of three kinds, told by their capacity, which goes before the clock. */
static void the_strongest_of_three_kinds_count(void **state)
{
    (void)state;
    for (int cpu = 0; cpu < 8; cpu++) {
        put_cpu(cpu, "cpu_capacity", cpu < 4 ? "325\n" : cpu < 7 ? "880\n" : "1024\n");
        put_cpu(cpu, "cpufreq/cpuinfo_max_freq", "3000000\n");
    }
    assert_int_equal(cpu_cores_below(root, all, 8), 4);
}

/* ---- quotas ---------------------------------------------------------------------------------------------- */

static void a_quota_of_version_2_limits(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/system.slice/chat.service\n");
    put("sys/fs/cgroup/system.slice/chat.service/cpu.max", "max 100000\n");
    assert_int_equal(cpu_cores_below(root, all, CPUS), CPUS);
    put("sys/fs/cgroup/system.slice/chat.service/cpu.max", "350000 100000\n");
    assert_int_equal(cpu_cores_below(root, all, CPUS), 3); /* a fourth thread would be stopped half of the time */
    assert_int_equal(cpu_cores_below(root, all, 2), 2);    /* more quota than CPUs */
    put("sys/fs/cgroup/system.slice/chat.service/cpu.max", "20000 100000\n");
    assert_int_equal(cpu_cores_below(root, all, CPUS), 1);
    put("sys/fs/cgroup/system.slice/chat.service/cpu.max", "1200000 200000\n");
    assert_int_equal(cpu_cores_below(root, all, CPUS), 6);
    put("sys/fs/cgroup/system.slice/cpu.max", "200000 100000\n"); /* the least of all groups above counts */
    assert_int_equal(cpu_cores_below(root, all, CPUS), 2);
}

/* A container sees its own group as the root, whatever path it is told. */
static void a_containers_quota_is_at_the_root(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/docker/0123abcd\n");
    put("sys/fs/cgroup/cpu.max", "400000 100000\n");
    assert_int_equal(cpu_cores_below(root, all, CPUS), 4);
    put("proc/self/cgroup", "0::/\n");
    assert_int_equal(cpu_cores_below(root, all, CPUS), 4);
}

static void a_quota_of_version_1_limits(void **state)
{
    (void)state;
    put("proc/self/cgroup", "12:cpuset:/sets\n11:memory:/user\n4:cpu,cpuacct:/user/job\n1:name=systemd:/\n");
    put("sys/fs/cgroup/cpu/user/job/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/user/job/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu/sets/cpu.cfs_quota_us", "100000\n"); /* another hierarchy's group of that name */
    put("sys/fs/cgroup/cpu/sets/cpu.cfs_period_us", "100000\n");
    assert_int_equal(cpu_cores_below(root, all, CPUS), CPUS);
    put("sys/fs/cgroup/cpu/user/job/cpu.cfs_quota_us", "500000\n");
    assert_int_equal(cpu_cores_below(root, all, CPUS), 5);
    put("proc/self/cgroup", "4:cpuset,cpu,cpuacct:/user/job\n"); /* mounted together */
    assert_int_equal(cpu_cores_below(root, all, CPUS), 5);
    put("proc/self/cgroup", "4:cpuacct:/user/job\n0::/\n"); /* not the controller that limits */
    assert_int_equal(cpu_cores_below(root, all, CPUS), CPUS);
}

static void files_that_make_no_sense_do_not_count(void **state)
{
    (void)state;
    put("proc/self/cgroup", "nonsense\n4:cpu\n0::/a\n");
    put("sys/fs/cgroup/a/cpu.max", "many 100000\n");
    put("sys/fs/cgroup/cpu.max", "100000 0\n");
    put_cpu(0, "topology/thread_siblings_list", "\n");
    put_cpu(1, "cpu_capacity", "");
    assert_int_equal(cpu_cores_below(root, all, CPUS), CPUS);
}

static void this_machine_has_a_core(void **state)
{
    (void)state;
    int n = cpu_cores();
    assert_true(n >= 1 && n <= (int)sysconf(_SC_NPROCESSORS_ONLN));
}

#define on_a_machine(test) cmocka_unit_test_setup_teardown(test, new_machine, remove_machine)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_has_all_its_kernels), cmocka_unit_test(a_set_that_is_lacking_is_not_forced),
        on_a_machine(without_files_every_cpu_is_a_core), on_a_machine(threads_of_a_core_count_once),
        on_a_machine(efficiency_cores_do_not_count),     on_a_machine(the_strongest_of_three_kinds_count),
        on_a_machine(a_quota_of_version_2_limits),       on_a_machine(a_containers_quota_is_at_the_root),
        on_a_machine(a_quota_of_version_1_limits),       on_a_machine(files_that_make_no_sense_do_not_count),
        cmocka_unit_test(this_machine_has_a_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
