/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lines of a trace in text. */
#include "import/source.h"

#include <stdlib.h>
#include <string.h>

#define KEY "systemTraceEvents"

/* Reads the rest of a string of JSON; true if it is the key. */
static bool read_key(FILE *in)
{
	char text[sizeof(KEY)];
	size_t length = 0;
	int letter;

	while ((letter = getc_unlocked(in)) != EOF && letter != '"') {
		if (letter == '\\')
			getc_unlocked(in);
		if (length < sizeof(text))
			text[length++] = letter == '\\' ? '\0' : (char)letter;
	}
	return length == sizeof(KEY) - 1 && !memcmp(text, KEY, length);
}

static int after_blanks(FILE *in)
{
	int letter;

	do
		letter = getc_unlocked(in);
	while (letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n');
	return letter;
}

/* Goes behind the quote that begins the string; false: there is none. */
static bool find_string(FILE *in)
{
	int letter;

	while ((letter = getc_unlocked(in)) != EOF) {
		if (letter != '"' || !read_key(in))
			continue;
		letter = after_blanks(in);
		if (letter == ':' && after_blanks(in) == '"')
			return true;
	}
	return false;
}

bool source_begin(struct source *source, FILE *in)
{
	int letter;

	rewind(in);
	*source = (struct source){.in = in};
	letter = after_blanks(in);
	source->json = letter == '{' || letter == '[';
	if (source->json) {
		source->inside = find_string(in);
		return source->inside;
	}
	rewind(in);
	return true;
}

/* The next character of the string, decoded; EOF at its end. One beyond ASCII is no part of an
 * event's form, and is not told from others. */
static int decoded(FILE *in)
{
	char digits[5] = "";
	int letter = getc_unlocked(in);
	long code;

	if (letter == '"')
		return EOF;
	if (letter != '\\')
		return letter;
	letter = getc_unlocked(in);
	switch (letter) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'r':
	case 'b':
	case 'f':
		return ' ';
	case 'u':
		for (unsigned i = 0; i < 4; i++) {
			letter = getc_unlocked(in);
			if (letter == EOF)
				return EOF;
			digits[i] = (char)letter;
		}
		code = strtol(digits, NULL, 16);
		return code == '\n' || (code >= ' ' && code < 0x7f) ? (int)code : '?';
	default:
		return letter;
	}
}

const char *source_next(struct source *source)
{
	size_t length = 0;
	int letter = EOF;

	if (source->over)
		return NULL;
	for (;;) {
		letter = source->json ? decoded(source->in) : getc_unlocked(source->in);
		if (letter == EOF || letter == '\n')
			break;
		/* A NUL would hide what is behind it. */
		if (length < SOURCE_LINE - 1 && letter != '\r')
			source->line[length++] = letter ? (char)letter : '?';
	}
	source->line[length] = '\0';
	source->over = letter == EOF;
	return source->over && !length ? NULL : source->line;
}
