/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The instructions that leave a function, and the way in which its return is seen. The
 * kernel's way, to replace the return address, ends programs in which something unwinds
 * or switches stacks while the function runs, and knows 64 returns a thread. It also needs the
 * return address where the stack pointer points at the entry's probe.
 */
#include <errno.h>
#include <stdlib.h>

#include "symbol/code/function_internal.h"
#include "symbol/code/instruction.h"
#include "symbol/code/site.h"
#include "symbol/code/stack_use.h"

/* 1: an exit, 0: none, -ENOTSUP: one that cannot be probed. */
static int read_exit(const struct clew_functions *functions, const struct range *range,
		     const struct flow *flow, struct clew_function_exit *ret)
{
	static const uint8_t kinds[] = {
		[FLOW_RET] = CLEW_EXIT_RET,
		[FLOW_JUMP] = CLEW_EXIT_JUMP,
		[FLOW_CONDITIONAL] = CLEW_EXIT_CONDITIONAL,
		[FLOW_INDIRECT] = CLEW_EXIT_INDIRECT,
		[FLOW_FUNCTIONS] = CLEW_EXIT_JUMP,
	};
	uint64_t at = range->start - range->segment->address + flow->at;
	const uint8_t *code = range->segment->bytes + at;
	size_t size = range->size - flow->at;
	bool stepped = functions->options.long_nops_stepped;

	if (flow->kind == FLOW_CALL || flow->kind == FLOW_TABLE)
		return 0;
	/* A jump to the own start is one to the function, once more. */
	if (flow->target != NO_RANGE && ranges_of(functions)[flow->target].owner == range->owner &&
	    !(flow->to_start && flow->target == range->owner))
		return 0;
	*ret = (struct clew_function_exit){
		.offset = range->segment->offset + at,
		.kind = kinds[flow->kind],
		.class = clew_site_emulated(code, size, stepped) ? CLEW_PROBE_EMULATED
								 : CLEW_PROBE_STEPPED,
		.condition = flow->condition,
	};
	if (clew_site_kind(code, size) != CLEW_SITE_SAFE ||
	    (flow->kind == FLOW_CONDITIONAL &&
	     (ret->class != CLEW_PROBE_EMULATED || !flow->tested)))
		return -ENOTSUP;
	if (flow->kind != FLOW_CONDITIONAL)
		ret->condition = 0;
	return flow->kind != FLOW_INDIRECT || instruction_target(code, size, &ret->target)
		       ? 1
		       : -ENOTSUP;
}

static int compare_exits(const void *a, const void *b)
{
	const struct clew_function_exit *left = a, *right = b;

	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* `*ret_all`: false: there are others that cannot be probed. */
static int read_exits(struct clew_functions *functions, const struct range *range,
		      struct clew_function_symbol *symbol, bool *ret_all)
{
	const struct range *ranges = ranges_of(functions);
	struct clew_function_exit *exits;
	size_t count = 0;

	for (const struct range *part = range;; part = &ranges[part->next_part]) {
		count += part->flow_count;
		if (part->next_part == NO_RANGE)
			break;
	}
	exits = arena_take(&functions->arena, (count + 1) * sizeof(*exits));
	if (!exits)
		return -ENOMEM;
	*ret_all = true;
	symbol->exits = exits;
	for (const struct range *part = range;; part = &ranges[part->next_part]) {
		const struct flow *flows = functions->flows.data;

		*ret_all &= !part->undecodable;
		for (uint32_t i = 0; i < part->flow_count; i++) {
			int r = read_exit(functions, part, &flows[part->flow + i],
					  &exits[symbol->exit_count]);

			if (r > 0)
				symbol->exit_count++;
			*ret_all &= r >= 0;
		}
		if (part->next_part == NO_RANGE)
			break;
	}
	qsort(exits, symbol->exit_count, sizeof(*exits), compare_exits);
	return 0;
}

static void choose_exits(struct clew_function_symbol *symbol, bool all, const char *why)
{
	symbol->returns = all ? CLEW_RETURN_EXITS : CLEW_RETURN_NONE;
	symbol->why = all ? why : "it is left by an instruction that cannot be probed";
}

static void choose_trampoline(struct clew_function_symbol *symbol, const char *why)
{
	symbol->returns = CLEW_RETURN_TRAMPOLINE;
	symbol->why = why;
}

static void choose_way(const struct clew_functions *functions, const struct range *range,
		       struct clew_function_symbol *symbol, bool all)
{
	enum clew_returns_wanted wanted = functions->options.returns;

	symbol->returns = CLEW_RETURN_NONE;
	symbol->endless = all && !symbol->exit_count;
	if (wanted == CLEW_RETURNS_NONE)
		symbol->why = "as asked";
	else if (functions->go)
		symbol->why = "Go moves its stacks";
	else if (symbol->endless)
		symbol->why = "it does not return";
	else if (wanted == CLEW_RETURNS_EXITS)
		choose_exits(symbol, all, "as asked");
	else if (range->stack)
		choose_exits(symbol, all, stack_use_text(range->stack));
	else if (symbol->recursive)
		choose_exits(symbol, all, "it may call itself");
	else if (wanted == CLEW_RETURNS_TRAMPOLINE)
		choose_trampoline(symbol, "as asked");
	else if (symbol->closed)
		choose_trampoline(symbol, "nothing that it calls unwinds or switches stacks");
	else if (functions->options.all_closed)
		choose_trampoline(symbol, "nothing in the program unwinds or switches stacks");
	else
		choose_exits(symbol, all, "what it calls may unwind or switch stacks");
}

int function_leave(struct clew_functions *functions, const struct range *range,
		   struct clew_function_symbol *symbol)
{
	struct clew_function_entry moved;
	bool all;
	int r = read_exits(functions, range, symbol, &all);

	if (r < 0)
		return r;
	choose_way(functions, range, symbol, all);
	symbol->refused = function_enter(functions, range,
					 symbol->returns == CLEW_RETURN_TRAMPOLINE, &symbol->entry);
	/* Where the way alone keeps the entry from a better place, exits cost no more. */
	if (symbol->returns == CLEW_RETURN_TRAMPOLINE && all &&
	    functions->options.returns == CLEW_RETURNS_AUTO &&
	    (symbol->refused || symbol->entry.class == CLEW_PROBE_STEPPED) &&
	    !function_enter(functions, range, false, &moved) &&
	    (symbol->refused || moved.class != CLEW_PROBE_STEPPED)) {
		symbol->refused = NULL;
		symbol->entry = moved;
		symbol->returns = CLEW_RETURN_EXITS;
		symbol->why = "its entry is probed behind the place where the stack moves";
	}
	return 0;
}
