/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a function's entry is probed: at its first instruction, where the stack pointer and all
 * arguments are as the caller left them.
 *
 * A function of Go first compares its stack with what it needs. Where that is too small, it is
 * entered anew on a larger one: the probe is behind the comparison, which is passed once a call.
 */
#include <string.h>

#include "arch/registers.h"
#include "symbol/code/function_internal.h"
#include "symbol/code/site.h"

#define LENGTH	      4
#define GO_CHECK_MOST 8		 /* instructions */
#define GO_LOAD	      0xf9400b90 /* ldr x16, [x28, #16]: the end of the goroutine's stack */
#define GO_LOAD_OTHER 0xf9400f90 /* the same at 24, of code with little */
#define BRANCH_LS     0x54000009
#define BRANCH_MASK   0xff00001f

static uint32_t word_at(const struct range *range, uint64_t at)
{
	uint32_t word = 0;

	if (at + LENGTH <= range->size)
		memcpy(&word, range->segment->bytes + (range->start - range->segment->address) + at,
		       sizeof(word));
	return word;
}

/* The bytes of a function of Go before which it may be entered anew; 0: it has no comparison. */
static uint64_t go_stack_check(const struct range *range)
{
	uint32_t first = word_at(range, 0);

	if (first != GO_LOAD && first != GO_LOAD_OTHER)
		return 0;
	for (uint64_t at = LENGTH; at < GO_CHECK_MOST * LENGTH; at += LENGTH)
		if ((word_at(range, at) & BRANCH_MASK) == BRANCH_LS)
			return at + LENGTH;
	return 0;
}

const char *function_enter(const struct clew_functions *functions, const struct range *range,
			   bool keep_stack, struct clew_function_entry *ret)
{
	const uint8_t *code = range->segment->bytes + (range->start - range->segment->address);
	uint64_t at = functions->go ? go_stack_check(range) : 0;
	enum clew_site_kind kind = clew_site_kind(code + at, range->size - at);

	(void)keep_stack;
	*ret = (struct clew_function_entry){
		.offset = range->start - range->segment->address + range->segment->offset + at,
		.class = clew_site_emulated(code + at, range->size - at,
					    functions->options.long_nops_stepped)
				 ? CLEW_PROBE_EMULATED
				 : CLEW_PROBE_STEPPED,
		.slid = (uint16_t)at,
		.arguments = (1u << CLEW_REGISTER_ARGUMENTS) - 1,
	};
	return kind == CLEW_SITE_SAFE ? NULL : clew_site_word(kind);
}
