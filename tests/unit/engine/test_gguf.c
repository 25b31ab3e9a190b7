/* test_gguf.c - good files are read as they are, bad ones are refused with a sentence that says why. */
#include "../../../engine/gguf.h"
#include "make_gguf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#define NANO "tests/golden/qwen2-nano-Q4_K_M.gguf"

static char path_buffer[300];
static const char *path;

/* The file is refused, and the sentence names it and says `why`. */
static void assert_refused(const struct maker *m, const char *why)
{
    char err[600] = "";
    make_save(m, path);
    struct gguf *g = gguf_open(path, false, err, sizeof err);
    if (g)
        print_error("accepted, although: %s\n", why);
    assert_null(g);
    if (!strstr(err, why) || strncmp(err, path, strlen(path)) != 0)
        print_error("\"%s\" does not say \"%s\"\n", err, why);
    assert_non_null(strstr(err, why));
    assert_int_equal(strncmp(err, path, strlen(path)), 0);
    assert_null(strchr(err, '\n'));
}

static struct gguf *assert_opens(const struct maker *m)
{
    char err[600] = "";
    make_save(m, path);
    struct gguf *g = gguf_open(path, false, err, sizeof err);
    if (!g)
        print_error("%s\n", err);
    assert_non_null(g);
    return g;
}

/* A small sound file: three keys, two tensors of 64 F32 and 64 Q4_0 weights. */
static void make_sound(struct maker *m)
{
    make_start(m, 3);
    make_key_string(m, "general.architecture", "llama");
    make_key_u32(m, "llama.block_count", 2);
    make_key_f32(m, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    make_tensor(m, "a", 1, (uint64_t[]){64}, 0, 0);
    make_tensor(m, "b", 2, (uint64_t[]){32, 2}, 2, 256);
    make_data(m, 32, 256 + 36);
}

/* ---- what is sound -------------------------------------------------------------------------------------- */

static void reads_keys_and_tensors(void **state)
{
    (void)state;
    struct maker m;
    make_sound(&m);
    struct gguf *g = assert_opens(&m);
    char err[300];
    int64_t blocks = 0;
    double epsilon = 0;
    struct gguf_string arch = {0};
    assert_true(gguf_get_int(g, "llama.block_count", 1, 10, &blocks, err, sizeof err));
    assert_int_equal(blocks, 2);
    assert_true(gguf_get_float(g, "llama.attention.layer_norm_rms_epsilon", &epsilon, err, sizeof err));
    assert_true(fabs(epsilon - 1e-5) < 1e-12);
    assert_true(gguf_get_string(g, "general.architecture", &arch, err, sizeof err));
    assert_int_equal(arch.n, 5);
    assert_memory_equal(arch.s, "llama", 5);
    assert_int_equal(gguf_n_values(g), 3);
    assert_int_equal(gguf_n_tensors(g), 2);
    const struct gguf_tensor *b = gguf_find_tensor(g, "b");
    assert_non_null(b);
    assert_int_equal(b->bytes, 36);
    assert_int_equal(b->n_dims, 2);
    assert_int_equal(b->dims[0], 32);
    assert_int_equal(b->dims[1], 2);
    assert_int_equal(b->dims[2], 1);
    for (size_t i = 0; i < 36; i++)
        assert_int_equal(b->data[i], (unsigned char)((i + 256) * 7));
    assert_null(gguf_find_tensor(g, "c"));
    assert_null(gguf_find(g, "llama.block_coun"));
    assert_int_equal(gguf_file_bytes(g), m.n);
    gguf_close(g);
    make_free(&m);
}

static void getters_tell_absent_from_wrong(void **state)
{
    (void)state;
    struct maker m;
    make_start(&m, 2);
    make_key_u32(&m, "n", 7);
    make_key_f32(&m, "nan", NAN);
    make_key_f32(&m, "inf", INFINITY);
    make_key_string(&m, "s", "text");
    make_key_bool(&m, "yes", 1);
    make_key(&m, "huge", U64);
    make_u64(&m, UINT64_MAX);
    make_key_array(&m, "list", I16, 3);
    make_bytes(&m, (int16_t[]){-1, 2, -300}, 6);
    struct gguf *g = assert_opens(&m);
    char err[300];
    int64_t n = 5;
    double d = 5;
    bool yes = false;
    struct gguf_string s = {0};
    assert_false(gguf_get_int(g, "absent", 0, 9, &n, err, sizeof err));
    assert_string_equal(err, "");
    assert_int_equal(n, 5);
    assert_false(gguf_get_int(g, "n", 8, 9, &n, err, sizeof err));
    assert_non_null(strstr(err, "key n is 7, not between 8 and 9"));
    assert_false(gguf_get_int(g, "s", 0, 9, &n, err, sizeof err));
    assert_non_null(strstr(err, "key s is not an integer"));
    assert_false(gguf_get_int(g, "huge", 0, INT64_MAX, &n, err, sizeof err));
    assert_true(err[0]);
    assert_false(gguf_get_int(g, "list", 0, 9, &n, err, sizeof err));
    assert_true(err[0]);
    assert_false(gguf_get_float(g, "nan", &d, err, sizeof err));
    assert_non_null(strstr(err, "not a finite number"));
    assert_false(gguf_get_float(g, "inf", &d, err, sizeof err));
    assert_true(err[0]);
    assert_false(gguf_get_string(g, "n", &s, err, sizeof err));
    assert_true(err[0]);
    assert_true(gguf_get_bool(g, "yes", &yes, err, sizeof err));
    assert_true(yes);
    assert_false(gguf_get_bool(g, "n", &yes, err, sizeof err));
    assert_true(err[0]);
    assert_int_equal(gguf_int_at(gguf_find(g, "list"), 2), -300);
    assert_int_equal(gguf_int_at(gguf_find(g, "list"), 0), -1);
    gguf_close(g);
    make_free(&m);
}

static void strings_of_an_array_come_in_order(void **state)
{
    (void)state;
    struct maker m;
    make_start(&m, 3);
    make_key_strings(&m, "list", (const char *const[]){"one", "", "three"}, 3);
    make_key_array(&m, "empty", STRING, 0);
    struct gguf *g = assert_opens(&m);
    const struct gguf_value *v = gguf_find(g, "list");
    uint64_t cursor = 0;
    assert_int_equal(gguf_string_at(v, &cursor).n, 3);
    assert_int_equal(gguf_string_at(v, &cursor).n, 0);
    struct gguf_string s = gguf_string_at(v, &cursor);
    assert_int_equal(s.n, 5);
    assert_memory_equal(s.s, "three", 5);
    assert_int_equal(gguf_find(g, "empty")->n, 0);
    gguf_close(g);
    make_free(&m);
}

static void mapping_and_reading_give_the_same(void **state)
{
    (void)state;
    char err[300];
    struct gguf *a = gguf_open(NANO, false, err, sizeof err), *b = gguf_open(NANO, true, err, sizeof err);
    assert_non_null(a);
    assert_non_null(b);
    assert_true(gguf_n_tensors(a) > 20);
    assert_int_equal(gguf_n_tensors(a), gguf_n_tensors(b));
    for (size_t i = 0; i < gguf_n_tensors(a); i++) {
        const struct gguf_tensor *x = gguf_tensor_at(a, i), *y = gguf_tensor_at(b, i);
        assert_int_equal(x->bytes, y->bytes);
        assert_memory_equal(x->data, y->data, x->bytes);
    }
    assert_int_equal(gguf_fingerprint(a), gguf_fingerprint(b));
    const struct gguf_tensor *t = gguf_find_tensor(a, "token_embd.weight");
    unsigned char *before = malloc(t->bytes);
    memcpy(before, t->data, t->bytes);
    gguf_release(t->data, t->bytes);
    assert_memory_equal(t->data, before, t->bytes);
    free(before);
    /* What no_mmap read is gone once it is released; the fingerprint is that of the file as it was opened. */
    const struct gguf_tensor *read = gguf_find_tensor(b, "token_embd.weight");
    gguf_release(read->data, read->bytes);
    assert_int_equal(gguf_fingerprint(a), gguf_fingerprint(b));
    const char *part;
    int64_t offset;
    unsigned char row[64];
    assert_true(gguf_source(a, t->data + 128, &part, &offset));
    FILE *f = fopen(part, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)offset, SEEK_SET), 0);
    assert_int_equal(fread(row, 1, sizeof row, f), sizeof row);
    fclose(f);
    assert_memory_equal(row, t->data + 128, sizeof row);
    assert_false(gguf_source(b, gguf_find_tensor(b, "token_embd.weight")->data, &part, &offset)); /* not mapped */
    assert_false(gguf_source(a, row, &part, &offset));
    gguf_close(a);
    gguf_close(b);
}

static void fingerprint_sees_metadata_and_data(void **state)
{
    (void)state;
    struct maker m;
    make_sound(&m);
    struct gguf *g = assert_opens(&m);
    uint64_t first = gguf_fingerprint(g);
    gguf_close(g);
    m.p[m.n - 36 - 10] ^= 1; /* within the first tensor */
    g = assert_opens(&m);
    uint64_t second = gguf_fingerprint(g);
    gguf_close(g);
    m.p[m.n - 36 - 10] ^= 1;
    memcpy(memmem(m.p, m.n, "block_count", 11), "block_kount", 11);
    g = assert_opens(&m);
    uint64_t third = gguf_fingerprint(g);
    gguf_close(g);
    assert_true(first != second);
    assert_true(first != third);
    make_free(&m);
}

/* ---- split files ---------------------------------------------------------------------------------------- */

static void make_part(int no, int of, int say, int tensors, const char *name)
{
    struct maker m;
    char part[400], stem[300];
    make_start(&m, 3);
    make_key(&m, "split.no", U16);
    make_bytes(&m, &(uint16_t){(uint16_t)say}, 2);
    make_key(&m, "split.count", U16);
    make_bytes(&m, &(uint16_t){(uint16_t)of}, 2);
    make_key(&m, "split.tensors.count", I32);
    make_u32(&m, (uint32_t)tensors);
    if (no == 0)
        make_key_string(&m, "general.architecture", "llama");
    make_tensor(&m, name, 1, (uint64_t[]){8}, 0, 0);
    make_data(&m, 32, 32);
    snprintf(part, sizeof part, "%s-%05d-of-%05d.gguf", make_path(stem, sizeof stem, "split"), no + 1, of);
    make_save(&m, part);
    make_free(&m);
}

static struct gguf *open_part(int no, int of, char *err, size_t cap)
{
    char part[400], stem[300];
    snprintf(part, sizeof part, "%s-%05d-of-%05d.gguf", make_path(stem, sizeof stem, "split"), no + 1, of);
    return gguf_open(part, false, err, cap);
}

static void remove_parts(int of)
{
    char part[400], stem[300];
    for (int no = 0; no < of; no++) {
        snprintf(part, sizeof part, "%s-%05d-of-%05d.gguf", make_path(stem, sizeof stem, "split"), no + 1, of);
        remove(part);
    }
}

static void any_part_of_a_split_file_opens_all(void **state)
{
    (void)state;
    char err[600];
    make_part(0, 3, 0, 3, "a");
    make_part(1, 3, 1, 3, "b");
    make_part(2, 3, 2, 3, "c");
    for (int no = 0; no < 3; no++) {
        struct gguf *g = open_part(no, 3, err, sizeof err);
        assert_non_null(g);
        assert_int_equal(gguf_n_tensors(g), 3);
        const struct gguf_tensor *c = gguf_find_tensor(g, "c");
        assert_non_null(c);
        const char *part;
        int64_t offset;
        assert_true(gguf_source(g, c->data, &part, &offset));
        assert_non_null(strstr(part, "-00003-of-00003.gguf"));
        assert_non_null(gguf_find(g, "general.architecture"));
        gguf_close(g);
    }
    remove_parts(3);
}

static void wrong_parts_are_refused(void **state)
{
    (void)state;
    char err[600];
    make_part(0, 2, 0, 2, "a");
    assert_null(open_part(0, 2, err, sizeof err));
    assert_non_null(strstr(err, "-00002-of-00002.gguf: cannot be opened"));
    make_part(1, 2, 0, 2, "b");
    assert_null(open_part(0, 2, err, sizeof err));
    assert_non_null(strstr(err, "key split.no is 0, but this is part 1"));
    make_part(1, 2, 1, 2, "a");
    assert_null(open_part(1, 2, err, sizeof err));
    assert_non_null(strstr(err, "tensor a appears twice"));
    make_part(0, 2, 0, 5, "a");
    make_part(1, 2, 1, 5, "b");
    assert_null(open_part(1, 2, err, sizeof err));
    assert_non_null(strstr(err, "key split.tensors.count is 5, but the 2 parts hold 2 tensors"));
    remove_parts(2);
    struct maker m;
    make_start(&m, 3);
    make_key_u32(&m, "split.count", 2);
    assert_refused(&m, "key split.count is 2, so the file must be named");
    make_free(&m);
}

/* ---- what is not sound ---------------------------------------------------------------------------------- */

static void key_bad_type(struct maker *m)
{
    make_key(m, "k", 13);
    make_u64(m, 0);
}

static void key_length(struct maker *m)
{
    make_count(m, COUNT_KEYS);
    make_u64(m, UINT64_MAX);
    make_u64(m, 0);
}

static void key_empty(struct maker *m)
{
    make_key_u32(m, "", 1);
}

static void string_length(struct maker *m)
{
    make_key(m, "k", STRING);
    make_u64(m, UINT64_MAX);
}

static void string_in_array(struct maker *m)
{
    make_key_array(m, "k", STRING, 2);
    make_string(m, "fine");
    make_u64(m, UINT64_MAX - 7);
    make_u64(m, 0);
}

static void array_of_arrays(struct maker *m)
{
    make_key_array(m, "k", ARRAY, 1);
    make_u32(m, U8);
    make_u64(m, 0);
}

static void array_count(struct maker *m)
{
    make_key_array(m, "k", U64, UINT64_MAX / 8 + 2); /* x 8 wraps to 8 */
    make_u64(m, 0);
}

static void array_strings_count(struct maker *m)
{
    make_key_array(m, "k", STRING, UINT64_MAX);
    make_u64(m, 0);
}

static void boolean_two(struct maker *m)
{
    make_key_bool(m, "k", 2);
}

static void keys_count(struct maker *m)
{
    make_patch(m, COUNT_KEYS, UINT64_MAX);
    make_u64(m, 0);
}

static void tensors_count(struct maker *m)
{
    make_patch(m, COUNT_TENSORS, UINT64_MAX / 2);
    make_u64(m, 0);
}

static void duplicate_key(struct maker *m)
{
    make_key_u32(m, "same", 1);
    make_key_u32(m, "other", 1);
    make_key_u32(m, "same", 1);
}

static void alignment(struct maker *m, uint32_t value)
{
    make_key_u32(m, "general.alignment", value);
    make_tensor(m, "t", 1, (uint64_t[]){8}, 0, 0);
    make_data(m, 32, 64);
}

static void alignment_zero(struct maker *m)
{
    alignment(m, 0);
}

static void alignment_odd(struct maker *m)
{
    alignment(m, 48);
}

static void alignment_huge(struct maker *m)
{
    alignment(m, 1u << 31);
}

static void alignment_type(struct maker *m)
{
    make_key_string(m, "general.alignment", "32");
}

static void tensor(struct maker *m, uint32_t n_dims, const uint64_t *dims, uint32_t type, uint64_t offset)
{
    make_tensor(m, "t", n_dims, dims, type, offset);
    make_data(m, 32, 512);
}

static void dims_none(struct maker *m)
{
    tensor(m, 0, NULL, 0, 0);
}

static void dims_five(struct maker *m)
{
    tensor(m, 5, (uint64_t[]){1, 1, 1, 1, 1}, 0, 0);
}

static void dims_zero(struct maker *m)
{
    tensor(m, 2, (uint64_t[]){32, 0}, 0, 0);
}

static void dims_huge(struct maker *m)
{
    tensor(m, 1, (uint64_t[]){1ull << 42}, 0, 0);
}

static void dims_wrap(struct maker *m)
{
    tensor(m, 3, (uint64_t[]){1ull << 32, 1ull << 31, 4}, 0, 0); /* the product wraps to 0 */
}

static void bytes_wrap(struct maker *m)
{
    tensor(m, 2, (uint64_t[]){1ull << 31, 1ull << 31}, 0, 0); /* x 4 bytes wraps to 0 */
}

static void format_unknown(struct maker *m)
{
    tensor(m, 1, (uint64_t[]){32}, 77, 0);
}

static void format_rows(struct maker *m)
{
    tensor(m, 1, (uint64_t[]){48}, 2, 0);
}

static void offset_unaligned(struct maker *m)
{
    tensor(m, 1, (uint64_t[]){8}, 0, 33);
}

static void offset_outside(struct maker *m)
{
    tensor(m, 1, (uint64_t[]){8}, 0, UINT64_MAX - 31);
}

static void extent_outside(struct maker *m)
{
    tensor(m, 1, (uint64_t[]){128}, 0, 32);
}

static void name_long(struct maker *m)
{
    make_tensor(m, "a name of far more than sixty-four bytes, which is what the format allows", 1, (uint64_t[]){8}, 0,
                0);
    make_data(m, 32, 32);
}

static void tensors_overlap(struct maker *m)
{
    make_tensor(m, "u", 1, (uint64_t[]){16}, 0, 0);
    make_tensor(m, "v", 1, (uint64_t[]){16}, 0, 32);
    make_data(m, 32, 96);
}

static void tensors_same(struct maker *m)
{
    make_tensor(m, "u", 1, (uint64_t[]){8}, 0, 0);
    make_tensor(m, "u", 1, (uint64_t[]){8}, 0, 32);
    make_data(m, 32, 64);
}

static void gigabytes(struct maker *m)
{
    make_key_array(m, "tokenizer.ggml.tokens", STRING, 1ull << 32);
    make_data(m, 160, 0);
}

static const struct {
    void (*make)(struct maker *);
    const char *why;
} malformed[] = {
    {key_bad_type, "key k has the unknown type 13"},
    {key_length, "a key's name claims 18446744073709551615 bytes"},
    {key_empty, "a key's name has 0 bytes"},
    {string_length, "key k claims 18446744073709551615 bytes"},
    {string_in_array, "key k[1] claims 18446744073709551608 bytes"},
    {array_of_arrays, "key k is an array of arrays"},
    {array_count, "key k claims 2305843009213693953 elements of 8 bytes"},
    {array_strings_count, "key k claims 18446744073709551615 strings"},
    {boolean_two, "key k has a boolean that is neither 0 nor 1 but 2"},
    {keys_count, "the header claims 18446744073709551615 keys"},
    {tensors_count, "the header claims 9223372036854775807 tensors"},
    {duplicate_key, "key same appears twice"},
    {alignment_zero, "key general.alignment is 0, not a power of two"},
    {alignment_odd, "key general.alignment is 48, not a power of two"},
    {alignment_huge, "key general.alignment is 2147483648, not a power of two up to 1048576"},
    {alignment_type, "key general.alignment is not an unsigned 32-bit number"},
    {dims_none, "tensor t has 0 dimensions"},
    {dims_five, "tensor t has 5 dimensions"},
    {dims_zero, "tensor t has a dimension of 0"},
    {dims_huge, "tensor t (17592186044416 bytes at offset 0) ends beyond the end of the file"},
    {dims_wrap, "tensor t has dimensions whose product overflows"},
    {bytes_wrap, "tensor t has a size that overflows"},
    {format_unknown, "tensor t has the unknown format 77"},
    {format_rows, "tensor t has rows of 48 weights, no multiple of the 32 in a block of Q4_0"},
    {offset_unaligned, "tensor t has the offset 33, no multiple of the alignment 32"},
    {offset_outside, "ends beyond the end of the file"},
    {extent_outside, "tensor t (512 bytes at offset 32) ends beyond the end of the file"},
    {name_long, "a tensor's name has 73 bytes"},
    {tensors_overlap, "tensors u and v overlap"},
    {tensors_same, "tensor u appears twice"},
    {gigabytes, "key tokenizer.ggml.tokens claims 4294967296 strings"},
};

static void malformed_files_are_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        struct maker m;
        make_start(&m, 3);
        malformed[i].make(&m);
        assert_refused(&m, malformed[i].why);
        make_free(&m);
    }
}

static void other_files_are_refused(void **state)
{
    (void)state;
    struct maker m = {0};
    assert_refused(&m, "the file is empty");
    make_bytes(&m, "GG", 2);
    assert_refused(&m, "not a GGUF file");
    make_bytes(&m, "ML, something else entirely", 20);
    assert_refused(&m, "not a GGUF file");
    make_free(&m);
    make_start(&m, 1);
    assert_refused(&m, "GGUF version 1 is not supported");
    make_free(&m);
    make_start(&m, 0x03000000);
    assert_refused(&m, "big-endian");
    make_free(&m);
    char err[600];
    assert_null(gguf_open("/nowhere/at all.gguf", false, err, sizeof err));
    assert_non_null(strstr(err, "/nowhere/at all.gguf: cannot be opened: No such file"));
    assert_null(gguf_open("tests", false, err, sizeof err));
    assert_non_null(strstr(err, "not an ordinary file"));
}

static void names_that_are_no_text_are_made_fit_to_show(void **state)
{
    (void)state;
    struct maker m;
    make_start(&m, 3);
    make_key(&m, "\x1b[31mred\n", 99);
    make_u64(&m, 0);
    assert_refused(&m, "key  [31mred  has the unknown type 99");
    make_free(&m);
}

/* Every header byte more or less matters: a file cut anywhere is refused. */
static void truncated_files_are_refused(void **state)
{
    (void)state;
    struct maker whole;
    make_sound(&whole);
    for (size_t n = 0; n < whole.n; n++) {
        struct maker cut = {whole.p, n, n};
        char err[600] = "";
        make_save(&cut, path);
        struct gguf *g = gguf_open(path, n % 2, err, sizeof err);
        assert_null(g);
        assert_non_null(strstr(err, path));
    }
    make_free(&whole);
}

/* Claims cost no memory: a child that may have 64 MiB more than it has now still refuses each of the files
 * politely. */
static void memory_is_bounded(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || !defined(__linux__)
    skip(); /* the sanitizer's own reservations are terabytes */
#endif
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu", &pages), 1);
    fclose(f);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        rlim_t limit = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (64u << 20);
        setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit});
        for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
            struct maker m;
            char err[600];
            make_start(&m, 3);
            malformed[i].make(&m);
            make_save(&m, path);
            if (gguf_open(path, i % 2, err, sizeof err) || !strstr(err, malformed[i].why))
                _exit(1);
            make_free(&m);
        }
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    path = make_path(path_buffer, sizeof path_buffer, "test.gguf");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_keys_and_tensors),
        cmocka_unit_test(getters_tell_absent_from_wrong),
        cmocka_unit_test(strings_of_an_array_come_in_order),
        cmocka_unit_test(mapping_and_reading_give_the_same),
        cmocka_unit_test(fingerprint_sees_metadata_and_data),
        cmocka_unit_test(any_part_of_a_split_file_opens_all),
        cmocka_unit_test(wrong_parts_are_refused),
        cmocka_unit_test(malformed_files_are_refused_by_name),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(names_that_are_no_text_are_made_fit_to_show),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(memory_is_bounded),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    return failed;
}
