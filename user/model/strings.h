/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Strings by number: every text once, numbered in order of first use. Texts lie
 * one after the other with their NULs; they move while strings are added, never
 * after.
 */
#ifndef CLEW_MODEL_STRINGS_H
#define CLEW_MODEL_STRINGS_H

#include "base/vector.h"
#include <stdint.h>

struct strings {
	struct vector text;    /* char */
	struct vector offsets; /* uint32_t: where string i begins */
	struct vector hashes;  /* uint32_t */
	uint32_t *slots;       /* number + 1, 0 free; open addressing, at most half of it used */
	uint32_t slot_count;   /* a power of two, or 0 */
};

void strings_begin(struct strings *strings);
void strings_done(struct strings *strings);
/* Finds or adds. 0, -ENOMEM, -E2BIG. */
int strings_add(struct strings *strings, const char *text, uint32_t *ret_string);
/* CLEW_NONE: the text is not there. */
uint32_t strings_find(const struct strings *strings, const char *text);
int strings_copy(struct strings *to, const struct strings *from);
size_t strings_memory(const struct strings *strings);

static inline const char *strings_get(const struct strings *strings, uint32_t string)
{
	return (const char *)strings->text.data + ((const uint32_t *)strings->offsets.data)[string];
}

#endif
