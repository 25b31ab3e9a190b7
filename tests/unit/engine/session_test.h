/* session_test.h - what tests of sessions share: the small models of tests/golden, random weights in real
 * architectures. */
#ifndef SESSION_TEST_H
#define SESSION_TEST_H

#include "../../../engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GOLDEN "tests/golden/"

static const char *const files[] = {
    GOLDEN "llama-nano-Q4_0.gguf",
    GOLDEN "qwen2-nano-odd-Q4_K_M.gguf",
    GOLDEN "qwen3-nano-Q4_0.gguf",
    GOLDEN "qwen2-nano-Q6_K.gguf",
};
#define N_FILES (sizeof files / sizeof *files)

static char err[512];

static inline engine_model *open_model(const char *path)
{
    engine_model *m = engine_model_open(&(struct engine_model_options){.path = path}, err, sizeof err);
    if (!m)
        fail_msg("%s", err);
    return m;
}

/* A window of 600 tokens where none is asked for. */
static inline engine_session *open_session(const engine_model *m, struct engine_session_options o)
{
    if (o.n_ctx == 0)
        o.n_ctx = 600;
    engine_session *s = engine_session_open(m, &o, err, sizeof err);
    if (!s)
        fail_msg("%s", err);
    return s;
}

#endif
