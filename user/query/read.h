/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading a pattern's text piece by piece. The place decides what a word is: where a name
 * is due, no word is a keyword.
 */
#ifndef CLEW_QUERY_READ_H
#define CLEW_QUERY_READ_H

#include "base/vector.h"
#include <clew/query.h>

struct pattern_reader {
	const char *text;
	size_t size;
	size_t at;
	struct arena *arena;
	struct clew_query_error *error;
	char *literal; /* the one that is being read */
	uint32_t *origins;
};

/* A name or the text of a regular expression, without its escapes. */
struct literal {
	const char *text; /* with a NUL behind it */
	size_t size;
	const uint32_t *origins; /* the byte of the pattern each one comes from, and one for the
				    end; until the next one is read */
	size_t offset;		 /* where it begins */
	bool plain;		 /* neither quoted nor with an escape */
};

/* 0 or -ENOMEM. */
int pattern_begin(struct pattern_reader *reader, const char *text, size_t size, struct arena *arena,
		  struct clew_query_error *error);

/* Says what is wrong at a byte; returns -EINVAL. */
int pattern_fail(struct pattern_reader *reader, size_t offset, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* That something else was to stand here. */
int pattern_expected(struct pattern_reader *reader, const char *what);

void pattern_skip_blanks(struct pattern_reader *reader);
/* Takes an operator, or a keyword that no letter follows, if it is next after blanks. */
bool pattern_take(struct pattern_reader *reader, const char *operator);
bool pattern_take_word(struct pattern_reader *reader, const char *word);
/* The same without taking it. */
bool pattern_sees(const struct pattern_reader *reader, const char *operator);

/* Reads what is quoted, or goes on to a blank or one of / ) > , % @; not empty unless quoted. */
int pattern_literal(struct pattern_reader *reader, struct literal *ret_literal);
/*
 * Reads `(LITERAL)`, where a parenthesis may hold a group of parentheses. 1: it was
 * there; 0: it is not of that form, and *ret_stop is where that showed.
 */
int pattern_parenthesised(struct pattern_reader *reader, struct literal *ret_literal,
			  size_t *ret_stop);

#endif
