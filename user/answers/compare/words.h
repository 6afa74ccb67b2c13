/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words that the parts of a comparison share. */
#ifndef CLEW_ANSWERS_COMPARE_WORDS_H
#define CLEW_ANSWERS_COMPARE_WORDS_H

#include "answers/compare/compare.h"

#define COMPARE_SIGNED_SIZE 40

/* "+1.98 ms". Returns `text`. */
const char *compare_signed(double ns, char text[static COMPARE_SIGNED_SIZE]);
#define COMPARE_SIGNED(ns) compare_signed(ns, (char[COMPARE_SIGNED_SIZE]){0})
/* True for numbers that are called the same: they differ by less than a tenth. */
bool compare_alike(double a, double b);

void compare_print_class_name(FILE *out, const struct clew_compare_answer *answer, uint32_t class);
/* Prints both means, how they differ, and of how many operations they are. */
void compare_print_mean(FILE *out, const struct compare_class *class);
/* Prints all about a class that changed. */
void compare_print_changed(FILE *out, const struct clew_compare_answer *answer,
			   const struct compare_class *class);

/* Prints the causes that differ most of a class of which nothing can be said. */
void compare_print_short(FILE *out, const struct clew_compare_answer *answer,
			 const struct compare_class *class);

#endif
