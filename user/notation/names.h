/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Spans by parent and name, while notation is read or written. Spans of one
 * parent and name have numbers in the order in which they were made, from 1.
 */
#ifndef CLEW_NOTATION_NAMES_H
#define CLEW_NOTATION_NAMES_H

#include "base/map.h"
#include "base/vector.h"
#include <clew/model.h>

struct names {
	struct vector entries; /* struct name_entry */
	uint32_t *slots;       /* entry + 1, 0 free */
	size_t slot_count;     /* a power of two, or 0 */
	struct arena texts;
	struct map later; /* (entry, number from 2) -> span */
};

void names_begin(struct names *names);
void names_done(struct names *names);

/* Adds a span; *ret_number is its number among those of its parent and name. 0,
 * -ENOMEM. */
int names_add(struct names *names, uint32_t parent, const char *name, size_t length, uint32_t span,
	      uint32_t *ret_number);
/* CLEW_NONE: none. *ret_count: how many there are of that parent and name. */
uint32_t names_find(const struct names *names, uint32_t parent, const char *name, size_t length,
		    uint32_t number, uint32_t *ret_count);

#endif
