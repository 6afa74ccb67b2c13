/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Colours of text on a terminal. They are off until the program says that standard
 * output takes them; then all functions that print text to people use them. Texts
 * that also become JSON have none.
 */
#ifndef CLEW_FORMAT_STYLE_H
#define CLEW_FORMAT_STYLE_H

#include <stdbool.h>
#include <stdio.h>

enum clew_style {
	CLEW_STYLE_PLAIN,
	CLEW_STYLE_HEADING,
	CLEW_STYLE_QUIET, /* the ledger, the cost, hints */
	CLEW_STYLE_RUNNING,
	CLEW_STYLE_READY,
	CLEW_STYLE_QUOTA,
	CLEW_STYLE_LOCK,
	CLEW_STYLE_DISK,
	CLEW_STYLE_NETWORK,
	CLEW_STYLE_MEMORY,
	CLEW_STYLE_UNKNOWN,
	CLEW_STYLE_COUNT
};

void clew_style_turn(bool on);

/* The escape sequence that begins or ends a style; "" while colours are off. */
const char *clew_style_begin(enum clew_style style);
const char *clew_style_end(enum clew_style style);

/* Prints a text in a style, then blanks up to that many columns, as "%-*s" does. */
void clew_print_styled(FILE *out, enum clew_style style, int columns, const char *text);

/* The style of a dependency's type, enum clew_edge_type. */
enum clew_style clew_style_of_type(unsigned type);

/* The style of a kind of time, enum clew_wait_kind with CLEW_SEGMENT_*. */
enum clew_style clew_style_of_kind(unsigned kind);

#endif
