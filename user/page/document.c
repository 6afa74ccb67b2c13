/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An HTML document. */
#include "page/document.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static const char *entity(char c)
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	default:
		return NULL;
	}
}

static const char *json_escape(char c)
{
	return c == '<' ? "\\u003c" : NULL;
}

static ssize_t write_escaped(FILE *out, const char *text, size_t size,
			     const char *(*escape)(char c))
{
	for (size_t i = 0; i < size; i++) {
		const char *instead = escape(text[i]);

		if (instead)
			fputs(instead, out);
		else
			fputc(text[i], out);
	}
	return (ssize_t)size;
}

static ssize_t write_words(void *out, const char *text, size_t size)
{
	return write_escaped(out, text, size, entity);
}

static ssize_t write_json(void *out, const char *text, size_t size)
{
	return write_escaped(out, text, size, json_escape);
}

int document_open(struct document *document, FILE *out)
{
	*document = (struct document){.out = out};
	document->words = fopencookie(out, "w", (cookie_io_functions_t){.write = write_words});
	document->json = fopencookie(out, "w", (cookie_io_functions_t){.write = write_json});
	if (document->words && document->json)
		return 0;
	document_close(document);
	return -ENOMEM;
}

void document_close(struct document *document)
{
	if (document->words)
		fclose(document->words);
	if (document->json)
		fclose(document->json);
	*document = (struct document){};
}

static void flush(struct document *document)
{
	fflush(document->words);
	fflush(document->json);
}

void document_put(struct document *document, const char *format, ...)
{
	va_list arguments;

	flush(document);
	va_start(arguments, format);
	vfprintf(document->out, format, arguments);
	va_end(arguments);
}

FILE *document_words(struct document *document)
{
	fflush(document->json);
	return document->words;
}

FILE *document_json(struct document *document)
{
	fflush(document->words);
	return document->json;
}

void document_say(struct document *document, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(document_words(document), format, arguments);
	va_end(arguments);
}
