/*
 * The formats table: what blocks mean is what gguf-py says they mean (quant_golden.py), and half floats round trip.
 */
#include "../../../engine/quant.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BLOCKS 64

static const struct golden {
    enum quant_id id;
    int halves[2]; /* where a block has half floats; their magnitude is kept below 2 */
    uint64_t hash; /* FNV-1a over the bits of all floats, word by word */
    float first[3];
} golden[] = {
    {QUANT_F16, {0, -1}, 0x7f92dd1de48ac825, {0.00608825684f, -0.281494141f, 0.00590515137f}},
    {QUANT_BF16, {-1, -1}, 0x7a87850f75c00825, {9.95263713e-21f, -2.40281224e-07f, 7.41153829e-21f}},
    {QUANT_Q4_0, {0, -1}, 0x330da9cced429325, {-0.0426177979f, -0.0243530273f, 0.0243530273f}},
    {QUANT_Q4_1, {0, 2}, 0xd9360b2e5ca278aa, {-0.208435059f, -0.196258545f, -0.2449646f}},
    {QUANT_Q5_0, {0, -1}, 0x783d4be7a5a19925, {0.036529541f, -0.0121765137f, -0.073059082f}},
    {QUANT_Q5_1, {0, 2}, 0xb5e971f20fd8faa3, {-0.257141113f, -0.26322937f, -0.184082031f}},
    {QUANT_Q8_0, {0, -1}, 0x0522ccc2d5e5afe5, {-0.773208618f, -0.46270752f, 0.073059082f}},
    {QUANT_Q2_K, {80, 82}, 0x9507300941850b79, {-0.00101351738f, -0.041731596f, -0.0281589031f}},
    {QUANT_Q3_K, {108, -1}, 0x09a67ef0d7a0c065, {-0.0016797781f, -0.000559926033f, 0.0016797781f}},
    {QUANT_Q4_K, {0, 2}, 0x8f7831a64a3e716d, {2.00268555f, 1.34515381f, 2.14880371f}},
    {QUANT_Q5_K, {0, 2}, 0x16c877bbabfd44c9, {1.63739014f, 3.39080811f, 1.41821289f}},
    {QUANT_Q6_K, {208, -1}, 0x00803c3757ddada9, {-2096.44531f, 149.746094f, 2321.06445f}},
    {QUANT_IQ4_NL, {0, -1}, 0x9b5a12369a4f0925, {-0.633178711f, -0.298324585f, 0.322677612f}},
    {QUANT_IQ4_XS, {0, -1}, 0x8625c687378d560d, {1.19329834f, 1.58294678f, 3.09283447f}},
};

static void make_blocks(const struct golden *g, unsigned char *p, size_t size)
{
    uint32_t state = 1;
    for (size_t i = 0; i < size * BLOCKS; i++) {
        state = state * 1664525u + 1013904223u;
        p[i] = (unsigned char)(state >> 24);
    }
    for (size_t b = 0; b < BLOCKS; b++) {
        for (int h = 0; h < 2; h++)
            if (g->halves[h] >= 0)
                p[b * size + (size_t)g->halves[h] + 1] &= 0xbf;
        if (g->id == QUANT_BF16)
            p[b * size + 1] &= 0xbf;
    }
}

static void test_dequantize(void **unused)
{
    (void)unused;
    static float out[BLOCKS * QUANT_MAX_BLOCK];
    static unsigned char memory[BLOCKS * QUANT_MAX_BLOCK + 1];
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const struct quant_format *f = quant_format(golden[i].id);
        assert_int_equal(f->id, golden[i].id);
        make_blocks(&golden[i], memory + 1, (size_t)f->bytes);
        f->dequantize(memory + 1, out, (size_t)(BLOCKS * f->block));
        for (int j = 0; j < 3; j++)
            if (out[j] != golden[i].first[j])
                fail_msg("%s: weight %d is %.9g, not %.9g", f->name, j, (double)out[j], (double)golden[i].first[j]);
        uint64_t hash = 0xcbf29ce484222325;
        for (int j = 0; j < BLOCKS * f->block; j++) {
            float v = out[j] + 0.0f; /* no negative zeros */
            uint32_t bits;
            memcpy(&bits, &v, sizeof bits);
            hash = (hash ^ bits) * 0x100000001b3;
        }
        if (hash != golden[i].hash)
            fail_msg("%s: the hash of all weights is 0x%016llx", f->name, (unsigned long long)hash);
    }
}

static void test_f32(void **unused)
{
    (void)unused;
    const float in[3] = {1.5f, -0.0f, 3e38f};
    float out[3];
    quant_format(QUANT_F32)->dequantize(in, out, 3);
    assert_memory_equal(in, out, sizeof in);
}

static void test_table(void **unused)
{
    (void)unused;
    assert_null(quant_format(4)); /* Q4_2, long removed */
    assert_null(quant_format(UINT32_MAX));
    assert_string_equal(quant_format(12)->name, "Q4_K");
    assert_int_equal(quant_format(12)->block, 256);
    assert_int_equal(quant_format(12)->bytes, 144);
}

static void test_half_round_trip(void **unused)
{
    (void)unused;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = f16_to_f32((uint16_t)h);
        int exponent = h >> 10 & 31, fraction = h & 1023;
        if (exponent == 31 && fraction) {
            assert_true(isnan(f));
            assert_true(isnan(f16_to_f32(f32_to_f16(f))));
            continue;
        }
        double value = exponent == 31 ? (double)INFINITY
                       : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                      : ldexp(fraction, -24);
        assert_true((double)f == (h & 0x8000 ? -value : value));
        assert_int_equal(f32_to_f16(f), h);
    }
}

/* Between each two neighbours: the middle goes to the even one, its neighbours to theirs. */
static void test_half_rounding(void **unused)
{
    (void)unused;
    for (uint32_t h = 0; h < 0x7bff; h++) {
        float low = f16_to_f32((uint16_t)h), high = f16_to_f32((uint16_t)(h + 1)), middle = low + (high - low) / 2;
        assert_int_equal(f32_to_f16(middle), h + (h & 1));
        assert_int_equal(f32_to_f16(nextafterf(middle, 0)), h);
        assert_int_equal(f32_to_f16(-nextafterf(middle, high)), 0x8000 | (h + 1));
    }
    assert_int_equal(f32_to_f16(65519.99f), 0x7bff);
    assert_int_equal(f32_to_f16(65520), 0x7c00);
    assert_int_equal(f32_to_f16(1e30f), 0x7c00);
    assert_int_equal(f32_to_f16(1e-30f), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dequantize),      cmocka_unit_test(test_f32),           cmocka_unit_test(test_table),
        cmocka_unit_test(test_half_round_trip), cmocka_unit_test(test_half_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
