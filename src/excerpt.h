/*
 * excerpt.h - what a search found, as it is shown: the store cuts a line out of an answer's whole text, marks of a
 * thought included (engine_thought), and these are not for reading.
 */
#ifndef EXCERPT_H
#define EXCERPT_H

/* An answer's excerpt (store_hit) without the marks of a thought, which the cuts, shown as ellipses, may have torn;
 * malloc'd. A mark in the answer proper stays, unless the excerpt begins too late to tell. */
char *excerpt_of_answer(const char *excerpt);

#endif
