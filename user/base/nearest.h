/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Measures how alike two words are, to find the one that a misspelt one was meant to be. */
#ifndef CLEW_BASE_NEAREST_H
#define CLEW_BASE_NEAREST_H

/* The distance of words that are too long to be compared. */
#define WORD_DISTANCE_MOST 64

/* The letters that must be added, dropped or replaced to turn one word into the other. */
unsigned word_distance(const char *a, const char *b);

#endif
