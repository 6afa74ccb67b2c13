/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The frames of a stack that text shows. JSON and the exports have all of them. */
#ifndef CLEW_WORDS_STACK_SHOWN_H
#define CLEW_WORDS_STACK_SHOWN_H

#include <stdbool.h>

#include "trace/lines.h"
#include "trace/stacks.h"

/* Frames first..end-1 of the stack; none: there is nothing to show. */
struct clew_stack_shown {
	const struct clew_trace_stack *stack;
	uint32_t first, end;
	bool kernel;
};

/*
 * The user stack, or of a thread without one the kernel stack. `call`: the system call that it
 * stands in, whose wrapper is left out; CLEW_NO_CALL: none. `running`: a library's function
 * without a name, which it ran in, is shown. False: there is nothing to show.
 */
bool clew_stack_choose(const struct clew_trace *trace, const struct clew_sleep_stacks *stacks,
		       unsigned call, bool running, struct clew_stack_shown *ret_shown);

#define CLEW_STACK_NAMELESS 4 /* files whose nameless functions are left out from the second on */

/* Files of the nameless functions in one walk along a stack. Zeroed at first. */
struct clew_stack_nameless {
	const char *objects[CLEW_STACK_NAMELESS];
	unsigned count;
};
/* True for a function without a name in a file that already had one. */
bool clew_stack_is_repeated(struct clew_stack_nameless *nameless,
			    const struct clew_stack_place *place);

#endif
