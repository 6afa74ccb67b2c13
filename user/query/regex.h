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
int regex_compile(const char *text, size_t size, struct regex **ret_regex, size_t *ret_offset, char *message, size_t message_size);
void regex_free(struct regex *regex);

int regex_scratch_new(struct regex_scratch **ret_scratch);
void regex_scratch_free(struct regex_scratch *scratch);

/* 1: the text (with a NUL behind it) holds a match, 0: none; -ENOMEM; -E2BIG: too much work to tell. */
int regex_matches(const struct regex *regex, struct regex_scratch *scratch, const char *text);

#endif
