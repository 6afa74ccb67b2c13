/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Buffers text for a stream, which it gets in large pieces. The caller checks
 * the stream for errors.
 */
#ifndef CLEW_NOTATION_TEXT_H
#define CLEW_NOTATION_TEXT_H

#include <clew/model.h>
#include <stdio.h>
#include <string.h>

#define TEXT_ROOM 65536u

struct text {
	FILE *out;
	uint32_t unit; /* ns */
	size_t used;
	char bytes[TEXT_ROOM];
};

void text_flush(struct text *text);
void text_bytes(struct text *text, const char *bytes, size_t count);

static inline void text_byte(struct text *text, char byte)
{
	if (text->used == TEXT_ROOM)
		text_flush(text);
	text->bytes[text->used++] = byte;
}

#define text_words(text, words) text_bytes(text, words, sizeof(words) - 1)

/* A name with the backslashes that it needs; `also`: further bytes that need
 * one. */
void text_name(struct text *text, const char *name, const char *also);
/* The value of an attribute, in quotes if it needs them. */
void text_value(struct text *text, const char *value);
void text_number(struct text *text, uint64_t number);
/* A moment in the unit, with as many decimals as it has. */
void text_moment(struct text *text, clew_time at);

#endif
