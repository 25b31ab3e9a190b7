/* utf8.c - see utf8.h. */
#include "utf8.h"
#include "../src/base/mem.h"

#include <string.h>

enum utf8_kind utf8_decode(const unsigned char *s, size_t n, uint32_t *cp, size_t *len)
{
    unsigned char first = s[0];
    *cp = first;
    *len = 1;
    if (first < 0x80)
        return UTF8_VALID;
    *cp = UTF8_REPLACEMENT;
    if (first < 0xC2 || first > 0xF4)
        return UTF8_INVALID;
    size_t want = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    /* The second byte's range excludes overlong forms, surrogates and what lies beyond U+10FFFF. */
    unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    uint32_t value = first & (0x7Fu >> want);
    for (size_t i = 1; i < want; i++) {
        if (i == n) {
            *len = n;
            return UTF8_UNFINISHED;
        }
        if (s[i] < low || s[i] > high) {
            *len = i;
            return UTF8_INVALID;
        }
        value = value << 6 | (s[i] & 0x3F);
        low = 0x80;
        high = 0xBF;
    }
    *cp = value;
    *len = want;
    return UTF8_VALID;
}

uint32_t utf8_next(const unsigned char *s, size_t n, size_t *len)
{
    uint32_t cp;
    utf8_decode(s, n, &cp, len);
    return cp;
}

size_t utf8_encode(uint32_t cp, char *out)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    size_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, cp >>= 6)
        out[i] = (char)(0x80 | (cp & 0x3F));
    out[0] = (char)((0xF00 >> n & 0xFF) | cp);
    return n;
}

bool utf8_is_valid(const char *s, size_t n)
{
    const unsigned char *u = (const unsigned char *)s;
    for (size_t i = 0, len; i < n; i += len) {
        uint32_t cp;
        if (utf8_decode(u + i, n - i, &cp, &len) != UTF8_VALID)
            return false;
    }
    return true;
}

char *utf8_repair(const char *s, size_t n, size_t *out_n)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t total = 0, len;
    char scratch[4];
    for (size_t i = 0; i < n; i += len)
        total += utf8_encode(utf8_next(u + i, n - i, &len), scratch);
    char *out = mem_alloc(total + 1);
    size_t at = 0;
    for (size_t i = 0; i < n; i += len)
        at += utf8_encode(utf8_next(u + i, n - i, &len), out + at);
    out[at] = '\0';
    *out_n = at;
    return out;
}

size_t utf8_clean(const char *s, size_t n, char *out, size_t cap)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t used = 0, at = 0, len;
    while (used < n) {
        uint32_t cp = utf8_next(u + used, n - used, &len);
        char encoded[4];
        size_t encoded_n = utf8_encode(cp < 0x20 || (cp >= 0x7F && cp < 0xA0) ? ' ' : cp, encoded);
        if (encoded_n >= cap - at)
            break;
        memcpy(out + at, encoded, encoded_n);
        at += encoded_n;
        used += len;
    }
    out[at] = '\0';
    return used;
}

size_t utf8_stream(struct engine_stream *stream, const char *bytes, size_t n, char *out, size_t cap)
{
    size_t at = 0, used = 0;
    while (used < n) {
        /* A window of four bytes, what is held first: no sequence is longer. */
        size_t held = (size_t)stream->n_held, take = n - used < 4 - held ? n - used : 4 - held;
        memcpy(stream->held + held, bytes + used, take);
        uint32_t cp;
        size_t len;
        if (utf8_decode(stream->held, held + take, &cp, &len) == UTF8_UNFINISHED) {
            stream->n_held = (int)(held + take);
            break;
        }
        char encoded[4];
        size_t encoded_n = utf8_encode(cp, encoded);
        if (at + encoded_n < cap) {
            memcpy(out + at, encoded, encoded_n);
            at += encoded_n;
        }
        used += len - held; /* what was held was the start of a sequence: only a new byte ends or breaks it */
        stream->n_held = 0;
    }
    if (cap)
        out[at] = '\0';
    return at;
}
