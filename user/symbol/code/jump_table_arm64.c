/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * On arm64 an indirect jump's target is always in a register, so that a probe at the jump sees
 * whether it leaves the function. Tables need not be read.
 */
#include "symbol/code/function_internal.h"

enum jump_end functions_jump_end(struct clew_functions *functions, const struct range *range,
				 const struct jump_place *jump, struct jump_table *tables,
				 size_t table_count)
{
	(void)functions;
	(void)range;
	(void)jump;
	(void)tables;
	(void)table_count;
	return JUMP_UNKNOWN;
}
