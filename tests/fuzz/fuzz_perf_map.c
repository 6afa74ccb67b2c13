/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the list of code that a program made: any bytes give a map in which each piece that is
 * found contains the address that was asked for.
 */
#include "symbol/elf/perf_map.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t told;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct clew_perf_map *map;
	struct clew_named named;

	if (clew_perf_map_read((const char *)data, size, &map) < 0)
		return 0;
	for (uint64_t at = 0; at < 1 << 14; at += 5) {
		if (!clew_perf_map_find(map, at, &named))
			continue;
		if (at - named.start >= named.size || !*named.name)
			abort();
		told += strlen(named.name);
	}
	clew_perf_map_free(map);
	return 0;
}
