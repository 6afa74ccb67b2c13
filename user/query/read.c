/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names, quotes, escapes and keywords of patterns.
 */
#include "query/read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

int pattern_fail(struct pattern_reader *reader, size_t offset, const char *format, ...)
{
	va_list arguments;

	reader->error->offset = offset < reader->size ? offset : reader->size;
	va_start(arguments, format);
	vsnprintf(reader->error->message, sizeof(reader->error->message), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

int pattern_expected(struct pattern_reader *reader, const char *what)
{
	pattern_skip_blanks(reader);
	if (reader->at >= reader->size)
		return pattern_fail(reader, reader->size, "the pattern ends here: add %s", what);
	return pattern_fail(reader, reader->at, "this cannot stand here: put %s", what);
}

static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* At a keyword's end bytes of other alphabets count as letters. */
static bool is_letter(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (unsigned char)byte >= 0x80;
}

/* Ends what is written without quotes. */
static bool is_stop(char byte)
{
	return is_blank(byte) || byte == '/' || byte == ')' || byte == '>' || byte == ',' ||
	       byte == '%' || byte == '@';
}

void pattern_skip_blanks(struct pattern_reader *reader)
{
	while (reader->at < reader->size && is_blank(reader->text[reader->at]))
		reader->at++;
}

static bool stands_at(const struct pattern_reader *reader, size_t at, const char *operator)
{
	size_t length = strlen(operator);

	return reader->size - at >= length && memcmp(reader->text + at, operator, length) == 0;
}

bool pattern_sees(const struct pattern_reader *reader, const char *operator)
{
	struct pattern_reader ahead = *reader;

	pattern_skip_blanks(&ahead);
	return stands_at(&ahead, ahead.at, operator);
}

bool pattern_take(struct pattern_reader *reader, const char *operator)
{
	pattern_skip_blanks(reader);
	if (!stands_at(reader, reader->at, operator))
		return false;
	reader->at += strlen(operator);
	return true;
}

bool pattern_take_word(struct pattern_reader *reader, const char *word)
{
	size_t length = strlen(word), end;

	pattern_skip_blanks(reader);
	end = reader->at + length;
	if (reader->size - reader->at < length ||
	    strncasecmp(reader->text + reader->at, word, length) != 0)
		return false;
	if (end < reader->size && (is_letter(reader->text[end]) || reader->text[end] == '_'))
		return false;
	reader->at = end;
	return true;
}

int pattern_begin(struct pattern_reader *reader, const char *text, size_t size, struct arena *arena,
		  struct clew_query_error *error)
{
	*reader =
		(struct pattern_reader){.text = text, .size = size, .arena = arena, .error = error};
	reader->literal = arena_take(arena, size + 1);
	reader->origins = arena_take(arena, (size + 1) * sizeof(*reader->origins));
	return reader->literal && reader->origins ? 0 : -ENOMEM;
}

static void add(struct pattern_reader *reader, size_t *count)
{
	reader->origins[*count] = (uint32_t)reader->at;
	reader->literal[(*count)++] = reader->text[reader->at++];
}

static int end(struct pattern_reader *reader, size_t count, size_t offset, bool plain,
	       struct literal *ret_literal)
{
	const char *text = arena_copy(reader->arena, reader->literal, count);

	if (!text)
		return -ENOMEM;
	reader->origins[count] = (uint32_t)reader->at;
	*ret_literal = (struct literal){.text = text,
					.size = count,
					.origins = reader->origins,
					.offset = offset,
					.plain = plain};
	return 0;
}

static int read_quoted(struct pattern_reader *reader, struct literal *ret_literal)
{
	size_t offset = reader->at;
	char quote = reader->text[reader->at++];
	size_t count = 0;
	int r;

	while (reader->at < reader->size && reader->text[reader->at] != quote) {
		if (reader->text[reader->at] == '\\' && ++reader->at == reader->size)
			break;
		add(reader, &count);
	}
	if (reader->at == reader->size)
		return pattern_fail(reader, offset,
				    "this quote has no end: put the same one behind the text");
	r = end(reader, count, offset, false, ret_literal);
	reader->at++;
	return r;
}

/* `groups`: what is read is a regular expression, whose own parentheses come in pairs. */
static int read_free(struct pattern_reader *reader, bool groups, struct literal *ret_literal)
{
	size_t offset = reader->at, count = 0, open = 0;
	bool escaped = false, in_class = false, plain = true;

	while (reader->at < reader->size) {
		char byte = reader->text[reader->at];
		bool closes_group = groups && open > 0 && byte == ')';

		if (is_stop(byte) && !closes_group)
			break;
		if (byte == '\\') {
			if (reader->at + 1 == reader->size)
				return pattern_fail(
					reader, reader->at,
					"a backslash ends the pattern: put two for one");
			plain = false;
			byte = reader->text[++reader->at];
		}
		/* A parenthesis that the expression escapes, or that stands in brackets, opens and
		 * closes nothing. */
		if (!escaped && !in_class && byte == '(')
			open++;
		else if (!escaped && !in_class && byte == ')' && open > 0)
			open--;
		else if (!escaped && byte == '[')
			in_class = true;
		else if (!escaped && byte == ']')
			in_class = false;
		escaped = !escaped && byte == '\\';
		add(reader, &count);
	}
	return end(reader, count, offset, plain, ret_literal);
}

static int read_literal(struct pattern_reader *reader, bool groups, struct literal *ret_literal)
{
	char byte;
	int r;

	pattern_skip_blanks(reader);
	byte = reader->at < reader->size ? reader->text[reader->at] : '\0';
	if (byte == '\'' || byte == '"')
		return read_quoted(reader, ret_literal);
	r = read_free(reader, groups, ret_literal);
	if (r == 0 && ret_literal->size == 0 && byte == '@') {
		size_t count = 0;

		add(reader, &count);
		return end(reader, count, reader->at - 1, false, ret_literal);
	}
	return r;
}

int pattern_literal(struct pattern_reader *reader, struct literal *ret_literal)
{
	int r = read_literal(reader, false, ret_literal);

	if (r == 0 && ret_literal->size == 0 && ret_literal->plain)
		return pattern_expected(reader,
					"a name (in quotes, if it begins like an operator)");
	return r;
}

int pattern_parenthesised(struct pattern_reader *reader, struct literal *ret_literal,
			  size_t *ret_stop)
{
	struct pattern_reader ahead = *reader;
	int r;

	if (!pattern_take(&ahead, "(")) {
		*ret_stop = ahead.at;
		return 0;
	}
	r = read_literal(&ahead, true, ret_literal);
	if (r < 0)
		return r;
	pattern_skip_blanks(&ahead);
	*ret_stop = ahead.at;
	if ((ret_literal->size == 0 && ret_literal->plain) || !pattern_take(&ahead, ")"))
		return 0;
	reader->at = ahead.at;
	return 1;
}
