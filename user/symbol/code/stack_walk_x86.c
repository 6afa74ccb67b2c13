/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Follows the stack through each function, on all ways through it. A place has one depth, whatever
 * way leads there. Where a call does not return, the place behind it is reached otherwise, with
 * another depth: a way through a call counts only if no jump says something else. Places that no
 * known way leads to, such as the cases of a switch and what catches exceptions, have the stack of
 * the function's indirect jumps and calls.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/code/stack_walk.h"

#define STEPS_MOST   4 /* instructions that are looked at, for each byte */
#define STEPS_ALWAYS 4096
#define PARTS_MOST   256
#define STATES_MOST  (1 << 17) /* places of one function where ways meet */

/* A way that leads to an address. */
struct way {
	uint64_t to;
	struct stack_state state;
};

/* The stack that most places have: some push what they give to a function. */
struct votes {
	struct stack_state state;
	unsigned count;
	bool any;
};

/* The bytes of a range are numbered on from those of the part before. */
struct part {
	const struct range *range;
	size_t begin;
	struct votes jumps; /* in it: another part may be a function that is only ever jumped to */
};

struct stack_walk {
	struct clew_functions *functions;
	ZydisDecoder decoder;
	struct vector parts;   /* struct part, of the function at hand */
	struct vector numbers; /* uint32_t, of each byte: 1 + the state's number, 0: none yet */
	struct vector seen;    /* bool, of each byte: in an instruction that was looked at */
	struct vector states;  /* struct stack_state */
	struct vector work;    /* uint64_t, addresses whose state is new */
	struct vector calls;   /* struct way, behind calls */
	struct votes jumps, made;
	bool leaves; /* for what is not known: off its end, or with something pushed */
	uint64_t steps;
	enum stack_use use;
	int error;
};

static bool is_over(const struct stack_walk *walk)
{
	return walk->use || walk->error < 0;
}

/* The number of a byte of the function, SIZE_MAX: it is none. */
static size_t find_byte(const struct stack_walk *walk, uint64_t address, const struct range **ret)
{
	const struct part *parts = walk->parts.data;

	for (size_t i = 0; i < walk->parts.count; i++)
		if (address - parts[i].range->start < parts[i].range->size) {
			*ret = parts[i].range;
			return parts[i].begin + (address - parts[i].range->start);
		}
	return SIZE_MAX;
}

static uint32_t *number_at(const struct stack_walk *walk, size_t byte)
{
	return (uint32_t *)walk->numbers.data + byte;
}

static struct stack_state *state_at(const struct stack_walk *walk, size_t byte)
{
	return (struct stack_state *)walk->states.data + *number_at(walk, byte) - 1;
}

static void add_work(struct stack_walk *walk, uint64_t address)
{
	walk->error = vector_reserve(&walk->work, walk->work.count + 1);
	if (walk->error >= 0)
		((uint64_t *)walk->work.data)[walk->work.count++] = address;
}

/* A way within the function. */
static void reach(struct stack_walk *walk, uint64_t address, size_t byte,
		  const struct stack_state *state)
{
	if (*number_at(walk, byte)) {
		if (stack_state_join(state_at(walk, byte), state))
			add_work(walk, address);
		return;
	}
	if (walk->states.count == STATES_MOST)
		walk->use = STACK_UNCLEAR;
	else
		walk->error = vector_reserve(&walk->states, walk->states.count + 1);
	if (is_over(walk))
		return;
	((struct stack_state *)walk->states.data)[walk->states.count++] = *state;
	*number_at(walk, byte) = (uint32_t)walk->states.count;
	add_work(walk, address);
}

/* A jump, or falling through: to another function it is a call that returns to the caller. */
static void lead_to(struct stack_walk *walk, uint64_t address, const struct stack_state *state)
{
	const struct range *range;
	size_t byte = find_byte(walk, address, &range);

	if (byte != SIZE_MAX)
		reach(walk, address, byte, state);
	else if (!stack_state_at_entry(state))
		walk->leaves = true;
}

/* One more place from where the way to others is not known. */
static void vote(struct votes *votes, const struct stack_state *state)
{
	if (votes->count && stack_state_level(&votes->state, state)) {
		stack_state_join(&votes->state, state);
		votes->count++;
	} else if (!votes->count) {
		*votes = (struct votes){.state = *state, .count = 1, .any = true};
	} else {
		votes->count--;
	}
}

/* An indirect jump. */
static void vote_jump(struct stack_walk *walk, const struct range *range,
		      const struct stack_state *state)
{
	struct part *parts = walk->parts.data;

	vote(&walk->jumps, state);
	for (size_t i = 0; i < walk->parts.count; i++)
		if (parts[i].range == range)
			vote(&parts[i].jumps, state);
}

static bool is_table(const struct stack_walk *walk, const struct range *range, uint64_t address)
{
	const struct flow *flows = walk->functions->flows.data;
	uint32_t low = 0, high = range->flow_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (range->start + flows[range->flow + middle].at < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < range->flow_count && range->start + flows[range->flow + low].at == address &&
	       flows[range->flow + low].kind == FLOW_TABLE;
}

static uint64_t target_of(uint64_t address, const ZydisDecodedInstruction *instruction)
{
	return address + instruction->length + (uint64_t)instruction->raw.imm[0].value.s;
}

/* A call within the function: of what is behind it, to read its own place, or of a part that
 * returns. */
static void call_inside(struct stack_walk *walk, uint64_t target, size_t byte)
{
	struct stack_state inside;

	stack_state_begin(&inside);
	reach(walk, target, byte, &inside);
}

uint64_t stack_walk_skip(const struct stack_walk *walk, const struct range *range, uint64_t address)
{
	const uint8_t *code = range->segment->bytes + (address - range->segment->address);
	uint64_t left = range->start + range->size - address, at = 0;
	ZydisDecodedInstruction instruction;

	while (at < left &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&walk->decoder, NULL, code + at,
							  left - at, &instruction)) &&
	       (instruction.mnemonic == ZYDIS_MNEMONIC_NOP ||
		instruction.mnemonic == ZYDIS_MNEMONIC_INT3))
		at += instruction.length;
	return address + at;
}

static void add_call(struct stack_walk *walk, uint64_t next, const struct stack_state *state)
{
	walk->error = vector_reserve(&walk->calls, walk->calls.count + 1);
	if (walk->error >= 0)
		((struct way *)walk->calls.data)[walk->calls.count++] =
			(struct way){.to = next, .state = *state};
}

/* Behind a call. True: the way goes on there. */
static bool pass_call(struct stack_walk *walk, const struct range *range, uint64_t address,
		      const ZydisDecodedInstruction *instruction, struct stack_state *state)
{
	uint64_t next = address + instruction->length, target = target_of(address, instruction);
	const struct range *own;
	size_t byte = SIZE_MAX;
	uint64_t goes_on;

	vote(&walk->made, state);
	if (instruction->raw.imm[0].is_relative)
		byte = find_byte(walk, target, &own);
	if (byte != SIZE_MAX && target == next) {
		walk->use = stack_state_push(state);
		return !walk->use;
	}
	if (byte != SIZE_MAX && target != own->start)
		call_inside(walk, target, byte);
	if (next - range->start >= range->size)
		return false;
	goes_on = stack_walk_skip(walk, range, next);
	if (goes_on == next && !functions_is_target(range->segment, next))
		return true;
	if (goes_on - range->start < range->size)
		add_call(walk, goes_on, state);
	return false;
}

/* True: the way goes on behind the instruction. */
static bool pass(struct stack_walk *walk, const struct range *range, uint64_t address,
		 const ZydisDecodedInstruction *instruction, struct stack_state *state)
{
	bool direct = instruction->raw.imm[0].is_relative;

	switch (instruction->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		lead_to(walk, target_of(address, instruction), state);
		return true;
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (instruction->mnemonic != ZYDIS_MNEMONIC_JMP)
			return true;
		if (direct)
			lead_to(walk, target_of(address, instruction), state);
		else if (is_table(walk, range, address) || !stack_state_at_entry(state))
			vote_jump(walk, range, state);
		return false;
	case ZYDIS_CATEGORY_CALL:
		return pass_call(walk, range, address, instruction, state);
	case ZYDIS_CATEGORY_RET:
		if (!stack_state_at_entry(state))
			walk->use = STACK_ELSEWHERE;
		return false;
	default:
		return instruction->mnemonic != ZYDIS_MNEMONIC_HLT &&
		       instruction->mnemonic != ZYDIS_MNEMONIC_UD2 &&
		       instruction->mnemonic != ZYDIS_MNEMONIC_INT3;
	}
}

/* Goes from a place up to one where ways meet. */
static void follow(struct stack_walk *walk, uint64_t address)
{
	ZydisDecodedInstruction instruction;
	ZydisDecoderContext context;
	const struct range *range = NULL;
	size_t byte = find_byte(walk, address, &range);
	struct stack_state state = *state_at(walk, byte);

	for (;;) {
		const uint8_t *code = range->segment->bytes + (address - range->segment->address);
		uint64_t left = range->start + range->size - address;

		walk->steps++;
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&walk->decoder, &context, code, left,
							      &instruction))) {
			walk->use = STACK_UNCLEAR;
			return;
		}
		memset((bool *)walk->seen.data + byte, true, instruction.length);
		walk->use = stack_state_step(&state, &walk->decoder, &context, &instruction);
		if (walk->use || !pass(walk, range, address, &instruction, &state) || is_over(walk))
			return;
		address += instruction.length;
		byte += instruction.length;
		if (instruction.length == left) {
			walk->leaves = true;
			lead_to(walk, address, &state);
			return;
		}
		if (*number_at(walk, byte) || functions_is_target(range->segment, address)) {
			reach(walk, address, byte, &state);
			return;
		}
	}
}

static void follow_all(struct stack_walk *walk)
{
	while (walk->work.count && !is_over(walk)) {
		follow(walk, ((uint64_t *)walk->work.data)[--walk->work.count]);
		if (!walk->use && walk->steps > STEPS_MOST * walk->seen.count + STEPS_ALWAYS)
			walk->use = STACK_UNCLEAR;
	}
}

/* Goes on behind calls: where no other way leads to, or one with the same depth. */
static void follow_calls(struct stack_walk *walk)
{
	for (size_t i = 0; i < walk->calls.count && !is_over(walk); i++) {
		const struct way way = ((struct way *)walk->calls.data)[i];
		const struct range *range;
		size_t byte = find_byte(walk, way.to, &range);

		if (!*number_at(walk, byte) || stack_state_level(state_at(walk, byte), &way.state))
			reach(walk, way.to, byte, &way.state);
		follow_all(walk);
	}
	walk->calls.count = 0;
}

/* Goes to the instructions of a part that no way was found to: those that something leads to, or
 * all. */
static void follow_rest_of(struct stack_walk *walk, const struct part *part, bool all,
			   const struct stack_state *state)
{
	const struct range *range = part->range;
	const uint8_t *code = range->segment->bytes + (range->start - range->segment->address);
	ZydisDecodedInstruction instruction;

	for (uint64_t at = 0; at < range->size && !is_over(walk);) {
		uint64_t filled;

		if (((bool *)walk->seen.data)[part->begin + at]) {
			at++;
			continue;
		}
		filled = stack_walk_skip(walk, range, range->start + at) - range->start;
		if (filled > at) {
			at = filled;
		} else if (all || functions_is_target(range->segment, range->start + at)) {
			reach(walk, range->start + at, part->begin + at, state);
			follow_all(walk);
			follow_calls(walk);
		} else if (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&walk->decoder, NULL,
								      code + at, range->size - at,
								      &instruction))) {
			at += instruction.length;
		} else {
			return;
		}
	}
}

/* First those of the part with the entry: it leads to the others. */
static void follow_rest(struct stack_walk *walk, bool gap, const struct stack_state *begin)
{
	const struct part *parts = walk->parts.data;

	if (gap)
		follow_rest_of(walk, parts, true, begin);
	for (size_t i = 0; i < walk->parts.count && !is_over(walk); i++)
		if (parts[i].jumps.any)
			follow_rest_of(walk, &parts[i], false, &parts[i].jumps.state);
	for (size_t i = 0; i < walk->parts.count && !is_over(walk); i++)
		follow_rest_of(walk, &parts[i], true,
			       walk->made.any	 ? &walk->made.state
			       : walk->jumps.any ? &walk->jumps.state
						 : begin);
}

static int add_part(struct stack_walk *walk, const struct range *range, size_t begin)
{
	int r = vector_reserve(&walk->parts, walk->parts.count + 1);

	if (r >= 0)
		((struct part *)walk->parts.data)[walk->parts.count++] =
			(struct part){.range = range, .begin = begin};
	return r;
}

/* Makes room for a function's bytes. 1, 0: it has too many parts, or -errno. */
static int add_parts(struct stack_walk *walk, const struct range *owner)
{
	size_t size = 0;
	int r = 0;

	walk->parts.count = 0;
	for (const struct range *part = owner;;
	     part = &ranges_of(walk->functions)[part->next_part]) {
		r = add_part(walk, part, size);
		if (r < 0)
			return r;
		size += part->size;
		if (part->next_part == NO_RANGE)
			break;
	}
	r = vector_reserve(&walk->numbers, size);
	if (r >= 0)
		r = vector_reserve(&walk->seen, size);
	if (r < 0)
		return r;
	walk->seen.count = size;
	memset(walk->numbers.data, 0, size * sizeof(uint32_t));
	memset(walk->seen.data, 0, size);
	return walk->parts.count <= PARTS_MOST;
}

int stack_walk_function(struct stack_walk *walk, const struct range *owner, bool gap,
			bool *ret_leaves)
{
	struct stack_state begin;
	int r;

	walk->states.count = walk->work.count = walk->calls.count = 0;
	walk->jumps = walk->made = (struct votes){0};
	walk->leaves = false;
	walk->steps = 0;
	walk->use = STACK_KEPT;
	walk->error = 0;
	r = add_parts(walk, owner);
	if (r <= 0)
		return r < 0 ? r : STACK_UNCLEAR;
	stack_state_begin(&begin);
	if (!gap) {
		reach(walk, owner->start, 0, &begin);
		follow_all(walk);
		follow_calls(walk);
	}
	follow_rest(walk, gap, &begin);
	*ret_leaves = walk->leaves;
	return walk->error < 0 ? walk->error : (int)walk->use;
}

int stack_walk_new(struct clew_functions *functions, struct stack_walk **ret)
{
	struct stack_walk *walk = malloc(sizeof(*walk));

	*ret = walk;
	if (!walk)
		return -ENOMEM;
	*walk = (struct stack_walk){.functions = functions,
				    .parts = {.item = sizeof(struct part)},
				    .numbers = {.item = sizeof(uint32_t)},
				    .seen = {.item = sizeof(bool)},
				    .states = {.item = sizeof(struct stack_state)},
				    .work = {.item = sizeof(uint64_t)},
				    .calls = {.item = sizeof(struct way)}};
	ZydisDecoderInit(&walk->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return 0;
}

void stack_walk_free(struct stack_walk *walk)
{
	if (!walk)
		return;
	vector_done(&walk->parts);
	vector_done(&walk->numbers);
	vector_done(&walk->seen);
	vector_done(&walk->states);
	vector_done(&walk->work);
	vector_done(&walk->calls);
	free(walk);
}
