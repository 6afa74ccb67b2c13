/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes patterns: the input is one. Whatever it is: an error at one of its bytes, or
 * spans of the trace; no crash, no endless loop.
 */
#include "query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_text((const char *)data, size);
	return 0;
}
