/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables by which a program in the kernel unwinds stacks, made from a file's unwind information
 * (.eh_frame, else .debug_frame). Compilers write that for every function, and frame pointers
 * rarely.
 */
#ifndef CLEW_SYMBOL_UNWIND_UNWIND_H
#define CLEW_SYMBOL_UNWIND_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/maps/unwind.h>

/* From `offset` in the file up to the next row. */
struct clew_unwind_row {
	uint64_t offset;
	uint32_t rule; /* CLEW_UNWIND_RULE */
};

struct clew_unwind_table {
	uint64_t first_page; /* of the file */
	struct clew_unwind_page *pages;
	size_t page_count;
	uint32_t *rules;
	size_t rule_count;
	uint32_t *rows;
	size_t row_count;
};

/*
 * Reads the rows of a file, in order of offset; neighbours differ. They are the caller's to free.
 * 0, -ENODATA if the file has no unwind information, -EBADMSG of what is no ELF file for this
 * kind of processor, -ENOMEM or -errno.
 */
int clew_unwind_rows(int descriptor, struct clew_unwind_row **ret_rows, size_t *ret_count);
/* Rows as a table. Release it with clew_unwind_table_done(). 0, -ENOMEM, or -EFBIG. */
int clew_unwind_table_make(const struct clew_unwind_row *rows, size_t count,
			   struct clew_unwind_table *ret_table);
void clew_unwind_table_done(struct clew_unwind_table *table);
/* The rule at an offset in the file. */
uint32_t clew_unwind_table_rule(const struct clew_unwind_table *table, uint64_t offset);

#endif
