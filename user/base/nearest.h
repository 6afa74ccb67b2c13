/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Measures how alike two words are, to find the one that a misspelt one was meant to be. */
#ifndef CLEW_BASE_NEAREST_H
#define CLEW_BASE_NEAREST_H

/* The distance of words that are too long to be compared. */
#define WORD_DISTANCE_MOST 64

/* The letters that must be added, dropped or replaced to turn one word into the other. */
unsigned word_distance(const char *a, const char *b);

/* The known word that a mistyped one most likely is. */
struct word_nearest {
	const char *typed;
	const char *best; /* NULL: none so far */
	unsigned distance;
};
/* Takes a known word, if it is nearer than those so far: at most two letters differ and fewer than
 * half, or two neighbours changed places, or it begins with what was typed. */
void word_nearest_try(struct word_nearest *nearest, const char *known);

#endif
