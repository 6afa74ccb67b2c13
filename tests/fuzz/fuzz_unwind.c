/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes unwind information: an ELF file of any bytes gives an error, or rows in order whose table
 * says the same as they do.
 */
#include "symbol/unwind/unwind.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_rows(const struct clew_unwind_row *rows, size_t count)
{
	struct clew_unwind_table table;

	for (size_t i = 1; i < count; i++)
		if (rows[i].offset <= rows[i - 1].offset)
			abort();
	if (clew_unwind_table_make(rows, count, &table) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		if (clew_unwind_table_rule(&table, rows[i].offset) != rows[i].rule)
			abort();
	clew_unwind_table_done(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1;
	struct clew_unwind_row *rows;
	size_t count;

	if (file < 0)
		file = memfd_create("fuzz", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
		return 0;
	if (clew_unwind_rows(file, &rows, &count) >= 0)
		try_rows(rows, count);
	free(rows);
	return 0;
}
