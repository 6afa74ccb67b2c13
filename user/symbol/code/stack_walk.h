/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Follows the stack through one function after another. See stack_walk.c. */
#ifndef CLEW_SYMBOL_CODE_STACK_WALK_H
#define CLEW_SYMBOL_CODE_STACK_WALK_H

#include "symbol/code/function_internal.h"
#include "symbol/code/stack_state.h"

struct stack_walk;

/* A file whose ranges were read. 0 or -ENOMEM; to free either way. */
int stack_walk_new(struct clew_functions *functions, struct stack_walk **ret);
void stack_walk_free(struct stack_walk *walk);
/*
 * A function's use of the stack (enum stack_use), or -errno. `owner`: its first range, all
 * of whose parts are readable. `gap`: it is code of which nobody knows where its functions begin.
 * *ret_leaves: it goes on in code that is not its own, other than by a tail call.
 */
int stack_walk_function(struct stack_walk *walk, const struct range *owner, bool gap,
			bool *ret_leaves);
/* Goes from an address of a range to the first instruction that does not only fill up. */
uint64_t stack_walk_skip(const struct stack_walk *walk, const struct range *range,
			 uint64_t address);

#endif
