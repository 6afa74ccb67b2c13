/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The words of programs. */
#include "analyse/program_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int program_fail(struct program_text *p, size_t at, const char *format, ...)
{
	va_list arguments;

	p->error->offset = at;
	va_start(arguments, format);
	vsnprintf(p->error->message, sizeof(p->error->message), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* ---- words ---- */

int program_skip(struct program_text *p)
{
	while (p->at < p->size) {
		const char *rest = p->text + p->at;
		size_t left = p->size - p->at;

		if (isspace((unsigned char)*rest)) {
			p->at++;
		} else if (*rest == '#' || (left > 1 && rest[0] == '/' && rest[1] == '/')) {
			const char *end = memchr(rest, '\n', left);

			p->at = end ? (size_t)(end - p->text) : p->size;
		} else if (left > 1 && rest[0] == '/' && rest[1] == '*') {
			const char *end = memmem(rest + 2, left - 2, "*/", 2);

			if (!end)
				return program_fail(p, p->at,
						    "the comment has no end: close it by */");
			p->at = (size_t)(end - p->text) + 2;
		} else {
			break;
		}
	}
	return 0;
}

bool program_take(struct program_text *p, const char *word)
{
	size_t length = strlen(word);

	if (p->size - p->at < length || strncasecmp(p->text + p->at, word, length) != 0)
		return false;
	if (p->at + length < p->size && isalpha((unsigned char)p->text[p->at + length]))
		return false;
	p->at += length;
	return true;
}

int program_want(struct program_text *p, const char *word)
{
	int r = program_skip(p);

	if (r == 0 && !program_take(p, word))
		r = program_fail(p, p->at, "something else than '%s': write '%s' here", word, word);
	return r;
}

int program_end_statement(struct program_text *p)
{
	int r = program_skip(p);

	if (r == 0 && (p->at == p->size || p->text[p->at] != ';'))
		r = program_fail(p, p->at, "no semicolon: end the statement by one");
	p->at++;
	return r < 0 ? r : program_skip(p);
}

int program_inside(struct program_text *p, struct program_part *ret_part)
{
	size_t open, depth = 0;
	int r = program_skip(p);

	if (r < 0)
		return r;
	open = p->at;
	if (p->at == p->size || p->text[p->at] != '(')
		return program_fail(p, p->at, "no parenthesis: open one here");
	for (; p->at < p->size; p->at++) {
		char c = p->text[p->at];

		if (c == '\\' && p->at + 1 < p->size)
			p->at++;
		else if (c == '(')
			depth++;
		else if (c == ')' && --depth == 0)
			break;
	}
	if (p->at >= p->size)
		return program_fail(
			p, open, "the parenthesis is never closed: write a ) behind what it holds");
	*ret_part = (struct program_part){.open = open, .from = open + 1, .size = p->at - open - 1};
	p->at++;
	return 0;
}

int program_trimmed(struct program_text *p, struct program_part *ret_part)
{
	int r = program_inside(p, ret_part);

	if (r < 0)
		return r;
	while (ret_part->size && isspace((unsigned char)p->text[ret_part->from])) {
		ret_part->from++;
		ret_part->size--;
	}
	while (ret_part->size &&
	       isspace((unsigned char)p->text[ret_part->from + ret_part->size - 1]))
		ret_part->size--;
	return 0;
}

/* ---- what stands in parentheses ---- */

int program_query(struct program_text *p, const char *word, bool position,
		  struct clew_query **ret_query, size_t *ret_at)
{
	struct clew_query_error error = {0};
	struct clew_query *query;
	struct program_part inside;
	int r = program_want(p, word);

	if (r == 0)
		r = program_inside(p, &inside);
	if (r < 0)
		return r;
	r = clew_query_compile(p->text + inside.from, inside.size, &query, &error);
	if (r == -EINVAL)
		return program_fail(p, inside.from + error.offset, "%.150s", error.message);
	if (r < 0)
		return r;
	if (clew_query_is_position(query) != position) {
		clew_query_free(query);
		return program_fail(p, inside.open,
				    position ? "spans, where a moment is meant: add @ 0%%, @ "
					       "100%%, @ (MARK) or @ duration(1.5ms)"
					     : "a moment, where spans are meant: leave out what "
					       "begins with the @");
	}
	*ret_query = query;
	*ret_at = inside.from;
	return 0;
}

int program_types(struct program_text *p, const char *word, size_t *ret_at, size_t *ret_size)
{
	struct program_part inside;
	const char *text;
	int r = program_want(p, word);

	if (r == 0)
		r = program_trimmed(p, &inside);
	if (r < 0)
		return r;
	if (!inside.size)
		return program_fail(p, inside.from, "no type: name some, or write all");
	text = p->text + inside.from;
	*ret_at = inside.from;
	*ret_size = inside.size;
	if ((inside.size == 1 && text[0] == '*') || (inside.size == 2 && !memcmp(text, "**", 2)) ||
	    (inside.size == 3 && !strncasecmp(text, "all", 3)))
		*ret_size = 0;
	return 0;
}

int program_name(struct program_text *p, const char *word, char **ret_name)
{
	struct program_part inside;
	size_t length = 0;
	char *name;
	int r = program_want(p, word);

	if (r == 0)
		r = program_inside(p, &inside);
	if (r < 0)
		return r;
	name = malloc(inside.size + 1);
	if (!name)
		return -ENOMEM;
	for (size_t i = 0; i < inside.size && r == 0; i++) {
		char c = p->text[inside.from + i];

		if (c == '\\' && i + 1 < inside.size)
			c = p->text[inside.from + ++i];
		if (!c)
			r = program_fail(p, inside.from + i, "a NUL in a name: leave it out");
		name[length++] = c;
	}
	name[length] = '\0';
	if (r == 0 && length == 0)
		r = program_fail(p, inside.open, "an empty name: write one");
	if (r < 0)
		free(name);
	else
		*ret_name = name;
	return r;
}
