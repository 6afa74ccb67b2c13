/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes values of functions as people write them: the input is GLOB(VALUES) -> TYPE. If
 * it is good and all types are known, it is the same after it was written and read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/code/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_typed(const struct clew_wanted *wanted)
{
	bool typed = !wanted->all && (!wanted->returns || wanted->result.typed);

	for (size_t i = 0; i < wanted->count; i++)
		typed &= wanted->values[i].typed;
	return typed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), written[CLEW_WANTED_TEXT],
	     again[CLEW_WANTED_TEXT];
	struct clew_message message;
	struct clew_wanted wanted, second;
	size_t glob;

	if (text && clew_wanted_parse(text, &wanted, &glob, &message) > 0 && is_typed(&wanted)) {
		clew_wanted_write(&wanted, written);
		if (glob > strlen(text) ||
		    clew_wanted_parse(written, &second, &glob, &message) != 1 || glob)
			abort();
		clew_wanted_write(&second, again);
		if (strcmp(written, again) != 0)
			abort();
	}
	free(text);
	return 0;
}
