/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The values that a MOMENT record has. */
#include <string.h>

#include "relate/runtime.h"

bool clew_moment_value(const struct clew_moment *moment, const struct clew_runtime_point *point,
		       unsigned slot, uint64_t *ret_number, const char **ret_text)
{
	const char *at = (const char *)(moment + 1), *end = at + moment->size;

	*ret_text = NULL;
	for (unsigned i = 0; i < point->value_count; i++) {
		bool text = point->values[i].text_max;
		size_t size;

		if (moment->header.flags >> i & 1) {
			if (i == slot)
				return false;
			continue;
		}
		size = text ? strnlen(at, (size_t)(end - at)) + 1 : sizeof(*ret_number);
		if ((size_t)(end - at) < size)
			return false;
		if (i == slot) {
			*ret_text = text ? at : NULL;
			if (!text)
				memcpy(ret_number, at, sizeof(*ret_number));
			return true;
		}
		at += size;
	}
	return false;
}
