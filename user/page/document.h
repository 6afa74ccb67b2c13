/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An HTML document that is written as it goes: markup as it is, words escaped. Whatever a
 * program or file is called, its name stays text.
 */
#ifndef CLEW_PAGE_DOCUMENT_H
#define CLEW_PAGE_DOCUMENT_H

#include <stdio.h>

struct document {
	FILE *out;   /* the caller's; errors stay on it */
	FILE *words; /* escapes what is written to it */
	FILE *json;  /* the same for JSON inside a script element */
};

/* 0 or -ENOMEM. */
int document_open(struct document *document, FILE *out);
void document_close(struct document *document);

/* Writes markup. */
__attribute__((format(printf, 2, 3))) void document_put(struct document *document,
							const char *format, ...);

/* Streams for words, and for a JSON document; what is written to them comes before the next
 * markup. */
FILE *document_words(struct document *document);
FILE *document_json(struct document *document);
/* Writes words. */
__attribute__((format(printf, 2, 3))) void document_say(struct document *document,
							const char *format, ...);

#endif
