/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Looks at every instruction of every range once: what leads where, what leaves a
 * range, and to which places something leads. The code is a copy that was read, so
 * nobody's breakpoints are in it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/code/function_internal.h"
#include "symbol/code/instruction.h"

#define CODE_MOST     (1u << 30) /* bytes of code in a file */
#define SEGMENTS_MOST 16
#define AGAIN_MOST    4 /* times that ranges within each other have the code looked at */

struct scan {
	struct clew_functions *functions;
	struct instructions instructions;
	uint64_t budget;      /* bytes that may still be looked at */
	struct vector tables; /* struct jump_table: what the range at hand takes the address of */
	struct vector jumps;  /* struct jump_place */
};

const struct code_segment *functions_segment_at(const struct clew_functions *functions,
						uint64_t address)
{
	for (size_t i = 0; i < functions->segment_count; i++)
		if (address - functions->segments[i].address < functions->segments[i].size)
			return &functions->segments[i];
	return NULL;
}

static int read_segment(struct clew_functions *functions, const Elf64_Phdr *program)
{
	struct code_segment *segment = &functions->segments[functions->segment_count];
	int r;

	*segment = (struct code_segment){.address = program->p_vaddr,
					 .offset = program->p_offset,
					 .size = program->p_filesz};
	if (segment->size > UINT64_MAX - segment->address)
		return -EBADMSG;
	r = elf_file_read(&functions->file, segment->offset, segment->size, &segment->bytes);
	if (r < 0)
		return r;
	functions->segment_count++;
	segment->targets = calloc(segment->size / 64 + 1, sizeof(uint64_t));
	return segment->targets ? 0 : -ENOMEM;
}

int functions_read_code(struct clew_functions *functions)
{
	uint64_t total = 0;
	int r = 0;

	functions->segments = calloc(SEGMENTS_MOST, sizeof(*functions->segments));
	if (!functions->segments)
		return -ENOMEM;
	for (unsigned i = 0; r >= 0 && i < functions->file.header.e_phnum; i++) {
		const Elf64_Phdr *program = &functions->file.programs[i];

		if (program->p_type != PT_LOAD || !(program->p_flags & PF_X) || !program->p_filesz)
			continue;
		if (program->p_filesz > CODE_MOST - total ||
		    functions->segment_count == SEGMENTS_MOST)
			return -EFBIG;
		total += program->p_filesz;
		r = read_segment(functions, program);
	}
	return r;
}

void functions_mark_target(const struct clew_functions *functions, uint64_t address)
{
	const struct code_segment *segment = functions_segment_at(functions, address);

	if (segment)
		segment->targets[(address - segment->address) / 64] |=
			1ull << (address - segment->address) % 64;
}

bool functions_is_target(const struct code_segment *segment, uint64_t address)
{
	uint64_t at = address - segment->address;

	return segment->targets[at / 64] >> at % 64 & 1;
}

/* An address that something may be called or gone on at. */
void functions_take_address(struct clew_functions *functions, uint64_t address)
{
	uint32_t number = functions_range_at(functions, address);

	functions_mark_target(functions, address);
	if (number != NO_RANGE && ranges_of(functions)[number].start == address)
		ranges_of(functions)[number].taken = true;
}

static int add_flow(struct scan *scan, struct range *range, struct flow flow)
{
	struct vector *flows = &scan->functions->flows;
	int r = flows->count < UINT32_MAX ? vector_reserve(flows, flows->count + 1) : -EFBIG;

	if (r < 0)
		return r;
	((struct flow *)flows->data)[flows->count++] = flow;
	range->flow_count++;
	return 0;
}

/* A direct jump or call. Jumps within the range, but for those to its start, are nothing. */
static int take_branch(struct scan *scan, struct range *range, uint32_t at,
		       const struct instruction *instruction, enum flow_kind kind)
{
	uint64_t target = instruction->to;
	struct flow flow = {.at = at,
			    .kind = kind,
			    .condition = instruction->condition,
			    .tested = instruction->tested,
			    .to_start = target == range->start};
	uint32_t own = (uint32_t)(range - ranges_of(scan->functions));

	functions_mark_target(scan->functions, target);
	if (target - range->start < range->size && !flow.to_start)
		return 0;
	flow.target = flow.to_start ? own : functions_range_at(scan->functions, target);
	if (flow.target != NO_RANGE)
		flow.to_start = ranges_of(scan->functions)[flow.target].start == target;
	return add_flow(scan, range, flow);
}

static int take_indirect(struct scan *scan, struct range *range, uint32_t at, uint64_t block)
{
	struct jump_place jump = {.at = range->start + at,
				  .block = block,
				  .flow = (uint32_t)scan->functions->flows.count};
	int r = vector_reserve(&scan->jumps, scan->jumps.count + 1);

	if (r < 0)
		return r;
	((struct jump_place *)scan->jumps.data)[scan->jumps.count++] = jump;
	return add_flow(scan, range,
			(struct flow){.at = at, .kind = FLOW_INDIRECT, .target = NO_RANGE});
}

/* An address that is computed from the instruction's own: of code, or maybe of a table. */
static int take_address_of(struct scan *scan, uint64_t address)
{
	int r;

	if (functions_segment_at(scan->functions, address)) {
		functions_take_address(scan->functions, address);
		/* Tables lie in the code's segment, too. */
	}
	r = vector_reserve(&scan->tables, scan->tables.count + 1);
	if (r >= 0)
		((struct jump_table *)scan->tables.data)[scan->tables.count++] =
			(struct jump_table){.address = address};
	return r;
}

/* `*block`: the address of the first instruction from which all run up to this one. */
static int take_instruction(struct scan *scan, struct range *range, uint32_t at,
			    const struct instruction *instruction, uint64_t *block)
{
	int r = 0;

	switch (instruction->kind) {
	case INSTRUCTION_CONDITIONAL:
		r = take_branch(scan, range, at, instruction, FLOW_CONDITIONAL);
		break;
	case INSTRUCTION_JUMP:
		r = take_branch(scan, range, at, instruction, FLOW_JUMP);
		break;
	case INSTRUCTION_INDIRECT:
		r = take_indirect(scan, range, at, *block);
		break;
	case INSTRUCTION_CALL:
		r = take_branch(scan, range, at, instruction, FLOW_CALL);
		break;
	case INSTRUCTION_CALL_INDIRECT:
		range->open = true;
		break;
	case INSTRUCTION_RET:
		r = add_flow(scan, range,
			     (struct flow){.at = at, .kind = FLOW_RET, .target = NO_RANGE});
		break;
	case INSTRUCTION_ADDRESS:
		return take_address_of(scan, instruction->to);
	default:
		return 0;
	}
	*block = range->start + at + instruction->length;
	return r;
}

static int scan_range(struct scan *scan, struct range *range)
{
	const uint8_t *bytes = range->segment->bytes + (range->start - range->segment->address);
	struct instruction instruction;
	uint64_t block = range->start;
	int r = 0;

	instructions_begin(&scan->instructions);
	range->flow = (uint32_t)scan->functions->flows.count;
	scan->tables.count = scan->jumps.count = 0;
	range->undecodable = range->size > scan->budget;
	for (uint64_t at = 0; r >= 0 && !range->undecodable && at < range->size;
	     at += instruction.length) {
		if (!instructions_read(&scan->instructions, bytes + at, range->size - at,
				       range->start + at, &instruction))
			range->undecodable = true;
		else
			r = take_instruction(scan, range, (uint32_t)at, &instruction, &block);
	}
	scan->budget -= range->undecodable ? 0 : range->size;
	for (size_t i = 0; r >= 0 && i < scan->jumps.count; i++) {
		const struct jump_place *jump = (struct jump_place *)scan->jumps.data + i;
		struct flow *flow = (struct flow *)scan->functions->flows.data + jump->flow;
		enum jump_end end = functions_jump_end(scan->functions, range, jump,
						       scan->tables.data, scan->tables.count);

		if (end != JUMP_UNKNOWN)
			flow->kind = end == JUMP_STAYS ? FLOW_TABLE : FLOW_FUNCTIONS;
		range->open |= end != JUMP_STAYS;
	}
	return r;
}

int functions_scan(struct clew_functions *functions)
{
	struct scan scan = {.functions = functions,
			    .tables = {.item = sizeof(struct jump_table)},
			    .jumps = {.item = sizeof(struct jump_place)}};
	int r = 0;

	functions->flows.item = sizeof(struct flow);
	for (size_t i = 0; i < functions->segment_count; i++)
		scan.budget += AGAIN_MOST * functions->segments[i].size;
	for (size_t i = 0; r >= 0 && i < functions->ranges.count; i++)
		r = scan_range(&scan, &ranges_of(functions)[i]);
	for (size_t i = 0; r >= 0 && i < functions->pointers.count; i++)
		functions_take_address(functions,
				       ((struct pointer *)functions->pointers.data)[i].to);
	vector_done(&scan.tables);
	vector_done(&scan.jumps);
	return r;
}

int functions_walk_variants(struct clew_functions *functions, const struct range *range,
			    int (*found)(void *context, const struct range *variant), void *context)
{
	const uint8_t *bytes = range->segment->bytes + (range->start - range->segment->address);
	struct instructions instructions;
	struct instruction instruction;
	int r = 0;

	instructions_begin(&instructions);
	for (uint64_t at = 0; r >= 0 && at < range->size; at += instruction.length) {
		uint32_t number;

		if (!instructions_read(&instructions, bytes + at, range->size - at,
				       range->start + at, &instruction))
			break;
		if (instruction.kind != INSTRUCTION_ADDRESS)
			continue;
		number = functions_range_at(functions, instruction.to);
		if (number != NO_RANGE && ranges_of(functions)[number].start == instruction.to)
			r = found(context, &ranges_of(functions)[number]);
	}
	return r;
}
