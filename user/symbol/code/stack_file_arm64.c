/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * On arm64 nobody follows stacks: a function's return is seen at its exits alone, which a replaced
 * return address has no part in.
 */
#include "symbol/code/function_internal.h"
#include "symbol/code/stack_use.h"

int functions_follow_stacks(struct clew_functions *functions)
{
	struct range *ranges = ranges_of(functions);

	for (size_t i = 0; i < functions->ranges.count; i++)
		ranges[i].stack = STACK_UNSEEN;
	functions->stack.unclear = true;
	return 0;
}
