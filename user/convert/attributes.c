/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of attributes, and its search by key.
 */
#include "convert/attributes.h"
#include <string.h>

const struct attribute attribute_table[ATTRIBUTE_COUNT] = {
#define ATTRIBUTE_ROW(name, word, shape, fewest, refused)                                          \
	[ATTRIBUTE_##name] = {.key = word, .form = shape, .least = fewest, .refusal = refused},
	ATTRIBUTES(ATTRIBUTE_ROW)
#undef ATTRIBUTE_ROW
};

enum attribute_key attribute_find(const char *key)
{
	enum attribute_key prefix = ATTRIBUTE_COUNT;

	for (enum attribute_key i = 0; i < ATTRIBUTE_COUNT; i++) {
		const char *known = attribute_table[i].key;
		size_t length;

		if (known[0] != key[0])
			continue;
		if (!strcmp(known, key))
			return i;
		length = strlen(known);
		if (known[length - 1] == '.' && !strncmp(known, key, length))
			prefix = i;
	}
	return prefix;
}
