/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words of programs: statements of keywords and of things in parentheses, with a
 * semicolon behind each, and comments. The programs of what-if, stitching and annotating are read
 * by this. An error is at a byte of the text, also inside of a pattern. Functions return 0, -EINVAL
 * with the error filled in, or -ENOMEM.
 */
#ifndef CLEW_ANALYSE_PROGRAM_TEXT_H
#define CLEW_ANALYSE_PROGRAM_TEXT_H

#include <clew/query.h>
#include <errno.h>

struct program_text {
	const char *text;
	size_t size, at;
	struct clew_query_error *error;
};

/* The text between parentheses. */
struct program_part {
	size_t open;
	size_t from, size;
};

int program_fail(struct program_text *p, size_t at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Skips white space and comments. */
int program_skip(struct program_text *p);
/* Takes a word, in capitals or not, if it stands here and no letter follows. */
bool program_take(struct program_text *p, const char *word);
/* Skips to a word and takes it; it is an error if another one stands there. */
int program_want(struct program_text *p, const char *word);
/* The semicolon that ends a statement, and what is to be skipped behind it. */
int program_end_statement(struct program_text *p);

/* Up to the parenthesis that closes the one here; those behind a backslash do not count. */
int program_inside(struct program_text *p, struct program_part *ret_part);
/* The same without the white space around it. */
int program_trimmed(struct program_text *p, struct program_part *ret_part);
/* word(QUERY): a position, or spans. *ret_at: where its text begins. */
int program_query(struct program_text *p, const char *word, bool position,
		  struct clew_query **ret_query, size_t *ret_at);
/* word(LIST): of types, left as text. Size 0: all. */
int program_types(struct program_text *p, const char *word, size_t *ret_at, size_t *ret_size);
/* word(NAME), without its backslashes; not empty. To free. */
int program_name(struct program_text *p, const char *word, char **ret_name);

#endif
