/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the functions of a file that do something with the stack that a replaced return address
 * would change. All code in the file's sections is looked at, also what has neither a name nor an
 * unwind entry.
 */
#include "symbol/code/stack_walk.h"

struct search {
	struct clew_functions *functions;
	struct stack_walk *walk;
};

static bool is_readable(const struct clew_functions *functions, const struct range *owner)
{
	for (const struct range *part = owner;; part = &ranges_of(functions)[part->next_part]) {
		if (!part->size || part->undecodable)
			return false;
		if (part->next_part == NO_RANGE)
			return true;
	}
}

/* Notes the first of a file. Nobody calls its start: what is there is no return address. */
static void note(struct clew_functions *functions, uint64_t address, int use)
{
	struct clew_functions_stack *stack = &functions->stack;
	uint32_t number = functions_range_at(functions, address);

	if (use == STACK_UNCLEAR)
		stack->unclear = true;
	else if (use && address != functions->file.header.e_entry && !stack->use) {
		stack->use = stack_use_text(use);
		stack->address = address;
		stack->name = number != NO_RANGE && ranges_of(functions)[number].name_count
				      ? names_of(functions)[ranges_of(functions)[number].name].name
				      : NULL;
	}
}

/* Code between two ranges. 0 or -errno. */
static int follow_gap(struct search *search, uint64_t start, uint64_t end)
{
	struct range gap = {.start = start,
			    .size = end - start,
			    .segment = functions_segment_at(search->functions, start),
			    .next_part = NO_RANGE};
	uint64_t code;
	bool leaves;
	int r;

	if (!gap.segment || end - gap.segment->address > gap.segment->size ||
	    gap.size > UINT32_MAX) {
		search->functions->stack.unclear = true;
		return 0;
	}
	code = stack_walk_skip(search->walk, &gap, start);
	gap.size = end - code;
	gap.start = code;
	r = gap.size ? stack_walk_function(search->walk, &gap, true, &leaves) : 0;
	if (r > 0)
		note(search->functions, code, r);
	return r < 0 ? r : 0;
}

/* Code that no name and no unwind entry has. */
static int follow_gaps(struct search *search, const Elf64_Shdr *section)
{
	const struct range *ranges = ranges_of(search->functions);
	uint64_t at = section->sh_addr, end = at + section->sh_size;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < search->functions->ranges.count; i++) {
		if (ranges[i].start >= end || ranges[i].start + ranges[i].size <= at)
			continue;
		if (ranges[i].start > at)
			r = follow_gap(search, at, ranges[i].start);
		if (ranges[i].start + ranges[i].size > at)
			at = ranges[i].start + ranges[i].size;
	}
	return r >= 0 && at < end ? follow_gap(search, at, end) : r;
}

static int follow_sections(struct search *search)
{
	const struct elf_file *file = &search->functions->file;
	int r = 0;

	search->functions->stack.unclear |= !file->header.e_shnum;
	for (unsigned i = 0; r >= 0 && i < file->header.e_shnum; i++) {
		const Elf64_Shdr *section = &file->sections[i];

		if (section->sh_flags & SHF_EXECINSTR && section->sh_type != SHT_NOBITS &&
		    section->sh_size <= UINT64_MAX - section->sh_addr &&
		    !functions_in_plt(search->functions, section->sh_addr))
			r = follow_gaps(search, section);
	}
	return r;
}

static int follow_ranges(struct search *search)
{
	struct clew_functions *functions = search->functions;
	struct range *ranges = ranges_of(functions);
	bool leaves;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < functions->ranges.count; i++) {
		functions->stack.unclear |= ranges[i].undecodable;
		if (ranges[i].owner != i || !is_readable(functions, &ranges[i]))
			continue;
		r = stack_walk_function(search->walk, &ranges[i], false, &leaves);
		if (r < 0)
			return r;
		ranges[i].stack = (uint8_t)r;
		ranges[i].open |= leaves;
		note(functions, ranges[i].start, r);
	}
	return r;
}

int functions_follow_stacks(struct clew_functions *functions)
{
	struct search search = {.functions = functions};
	int r = stack_walk_new(functions, &search.walk);

	if (r >= 0)
		r = follow_ranges(&search);
	if (r >= 0)
		r = follow_sections(&search);
	stack_walk_free(search.walk);
	return r;
}
