/*
 * input.h - what `-p TEXT` asks: TEXT and what is piped in, made into one valid UTF-8 text.
 *
 * A leading byte order mark is dropped. Bytes that are not UTF-8 (a Latin-1 comment in a diff, say) become U+FFFD: a
 * note names the first of them. A NUL byte means that the input is no text: an error names its position.
 */
#ifndef INPUT_H
#define INPUT_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the cleaned bytes to *text. `source` begins the sentences: "standard input", "the text of -p". Returns false
 * and fills err at a NUL byte or for UTF-16. note becomes "" or a sentence about what was replaced. */
bool input_clean(struct buffer *text, const char *bytes, size_t n, const char *source, char *note, size_t note_cap,
                 char *err, size_t cap);

/* Reads standard input to its end, BUFFER_TEXT_MAX bytes at most; nothing where it is a terminal. When nothing has come for
 * a second, one line on stderr says what the program waits for. Returns false and fills err on failure. */
bool input_read(struct buffer *input, char *err, size_t cap);

/* Joins both parts with a blank line, without the line ends the piped one ends with. malloc'd; NULL where there is
 * nothing but white space. */
char *input_question(const char *text, const char *piped);

#endif
