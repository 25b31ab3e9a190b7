/*
 * memory.h - large blocks: weights, KV cache, activations. Failure is reported by the caller, with the bytes.
 */
#ifndef ENGINE_MEMORY_H
#define ENGINE_MEMORY_H

#include "engine.h"

#include <stddef.h>

/* Zeroed and page-aligned; pages never touched cost no memory. NULL: refused. */
void *memory_map(size_t bytes);
void memory_unmap(void *p, size_t bytes); /* NULL is fine */

/* A hint that the block will be used whole, or from its start on: huge pages make its first use and its reading
 * cheaper, and would be wasted on what is used here and there. */
void memory_huge(void *p, size_t bytes);

/* engine_memory with root before /proc and /sys, "" but in tests. */
struct engine_memory memory_limits_below(const char *root);

#endif
