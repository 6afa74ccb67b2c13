/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads what a receiver of OTLP answers. */
#include "export/post_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTIAL_SUCCESS 1 /* ExportTraceServiceResponse */
#define REJECTED_SPANS	1 /* ExportTracePartialSuccess */
#define ERROR_MESSAGE	2

/* The bytes of a message that are still to be read. */
struct rest {
	const uint8_t *at;
	const uint8_t *end;
};

static bool take_number(struct rest *rest, uint64_t *ret_number)
{
	*ret_number = 0;
	for (unsigned shift = 0; shift < 64 && rest->at < rest->end; shift += 7) {
		*ret_number |= (uint64_t)(*rest->at & 0x7f) << shift;
		if (!(*rest->at++ & 0x80))
			return true;
	}
	return false;
}

/* The next field: its number, and for one with a length its bytes, else its value. */
static bool take_field(struct rest *rest, uint64_t *ret_field, uint64_t *ret_value,
		       struct rest *ret_bytes)
{
	uint64_t tag;

	*ret_bytes = (struct rest){};
	if (rest->at == rest->end || !take_number(rest, &tag))
		return false;
	*ret_field = tag >> 3;
	if ((tag & 7) == 0)
		return take_number(rest, ret_value);
	if ((tag & 7) != 2 || !take_number(rest, ret_value) ||
	    *ret_value > (uint64_t)(rest->end - rest->at))
		return false;
	*ret_bytes = (struct rest){rest->at, rest->at + *ret_value};
	rest->at += *ret_value;
	return true;
}

static uint64_t refused_in_proto(struct rest answer, struct rest *ret_words)
{
	uint64_t field, value, refused = 0;
	struct rest bytes, partial;

	while (take_field(&answer, &field, &value, &partial))
		while (field == PARTIAL_SUCCESS && take_field(&partial, &field, &value, &bytes)) {
			if (field == REJECTED_SPANS && !bytes.at)
				refused = value;
			else if (field == ERROR_MESSAGE)
				*ret_words = bytes;
			field = PARTIAL_SUCCESS;
		}
	return refused;
}

/* The text behind a key of the document; NULL: it has no such key. */
static const char *value_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	if (!at)
		return NULL;
	at += strlen(key);
	at += strspn(at, " \t\r\n:");
	return at + (*at == '"');
}

/* Integers of 64 bits are strings, but some receivers write numbers. */
static uint64_t refused_in_json(const char *text, struct rest *ret_words)
{
	const char *count = value_of(text, "\"rejectedSpans\""),
		   *words = value_of(text, "\"errorMessage\"");

	if (words)
		*ret_words = (struct rest){(const uint8_t *)words,
					   (const uint8_t *)words + strcspn(words, "\"")};
	return count ? strtoull(count, NULL, 10) : 0;
}

uint64_t answer_refused(const uint8_t *answer, size_t size, bool json, char *reason,
			size_t reason_size)
{
	struct rest words = {};
	char *text = strndup((const char *)answer, size);
	uint64_t refused;

	if (!text)
		return 0;
	refused = json ? refused_in_json(text, &words)
		       : refused_in_proto((struct rest){answer, answer + size}, &words);
	if (refused)
		snprintf(reason, reason_size, "it said '%.*s'", (int)(words.end - words.at),
			 words.at ? (const char *)words.at : "");
	free(text);
	return refused;
}
