/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes positions: the input is what stands behind the @ of any span, and also a
 * duration. A position lies in its elementary span; a duration that is taken comes
 * out the same without its sign.
 */
#include "query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_duration(const char *text, size_t size)
{
	clew_time duration, negative;
	size_t offset = 0;
	char *copy = malloc(size + 1);
	int r = clew_duration_parse(text, size, &duration, &offset);

	must(copy != NULL);
	must(r == 0 || ((r == -EINVAL || r == -ERANGE) && offset <= size));
	copy[0] = '-';
	if (size)
		memcpy(copy + 1, text, size);
	if (r == 0 && text[0] != '-' && text[0] != '+') {
		must(clew_duration_parse(copy, size + 1, &negative, &offset) == 0);
		must(duration >= 0 && negative == -duration);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char before[] = "** @ ";
	char *text = malloc(sizeof(before) + size);

	must(text != NULL);
	memcpy(text, before, sizeof(before) - 1);
	if (size)
		memcpy(text + sizeof(before) - 1, data, size);
	check_text(text, sizeof(before) - 1 + size);
	check_duration((const char *)data, size);
	free(text);
	return 0;
}
