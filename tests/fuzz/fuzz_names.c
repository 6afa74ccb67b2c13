/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the names of functions: an ELF file of any bytes gives an error, or a table in which each
 * function that is found contains the place that was asked for.
 */
#include "symbol/elf/names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t told;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1;
	uint8_t id[CLEW_BUILD_ID_BYTES];
	struct clew_names *names;
	struct clew_named named;

	if (file < 0)
		file = memfd_create("fuzz", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
		return 0;
	if (clew_build_id(file, id) > sizeof(id))
		abort();
	if (clew_names_open(file, &names) < 0)
		return 0;
	for (uint64_t at = 0; at < size; at += 7) {
		if (!clew_names_find(names, at, &named))
			continue;
		if (at - named.start >= named.size)
			abort();
		told += strlen(named.name);
	}
	clew_names_close(names);
	return 0;
}
