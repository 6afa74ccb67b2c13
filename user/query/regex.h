/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Regular expressions without back-references and looking around: what a set of
 * states can decide, in RE2's syntax, searched for anywhere in a text. Text and
 * expression are UTF-8; a byte of a text that is none counts as U+FFFD.
 *
 * A regex is read-only and for any number of threads, a scratch for one at a time.
 */
#ifndef CLEW_QUERY_REGEX_H
#define CLEW_QUERY_REGEX_H

#include <stdbool.h>
#include <stddef.h>

struct regex;
struct regex_scratch;

/* -EINVAL: at *ret_offset of the text it is what `message` says; -ENOMEM. */
int regex_compile(const char *text, size_t size, struct regex **ret_regex, size_t *ret_offset,
		  char *message, size_t message_size);
/* The same, but parentheses keep what they match, for regex_find(). */
int regex_compile_groups(const char *text, size_t size, struct regex **ret_regex,
			 size_t *ret_offset, char *message, size_t message_size);
void regex_free(struct regex *regex);

/* The number of a group of that name, (?<NAME>..), 0: there is none. Their number in all. */
unsigned regex_group_named(const struct regex *regex, const char *name);
unsigned regex_group_count(const struct regex *regex);

int regex_scratch_new(struct regex_scratch **ret_scratch);
void regex_scratch_free(struct regex_scratch *scratch);

/* 1: the text (with a NUL behind it) holds a match, 0: none; -ENOMEM; -E2BIG: too much work to
 * tell. */
int regex_matches(const struct regex *regex, struct regex_scratch *scratch, const char *text);

/* Writes the expression that only this text matches, without a NUL: at most twice its size, and 2.
 * Returns the size. */
size_t regex_write_exact(char *expression, const char *text);

struct regex_piece {
	const char *begin; /* in the text; NULL: the group is not in the match */
	size_t size;
};

/*
 * As regex_matches(), for an expression with groups; *ret_pieces, until the next search, are
 * what group 1 .. of the first match hold, as many as there are groups.
 */
int regex_find(const struct regex *regex, struct regex_scratch *scratch, const char *text,
	       const struct regex_piece **ret_pieces);

#endif
