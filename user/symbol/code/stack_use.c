/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uses of the stack in a few words. */
#include "symbol/code/stack_use.h"

const char *stack_use_text(enum stack_use use)
{
	static const char *const texts[] = {
		[STACK_KEPT] = "it leaves its return address alone",
		[STACK_SWITCHED] = "it may switch stacks",
		[STACK_READ] = "it reads its return address",
		[STACK_CHANGED] = "it changes its return address",
		[STACK_TAKEN] = "it takes its return address off the stack",
		[STACK_ELSEWHERE] = "it returns to an address of its own choice",
		[STACK_PASSED] = "it passes on where its return address is",
		[STACK_UNCLEAR] = "what it does with the stack is not clear",
		[STACK_UNSEEN] = "this machine's returns are seen at the exits",
	};

	return texts[use];
}
