/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Forward, what each register is known to be before each instruction: a constant, something that
 * this kernel decides at load, or something of the run. Answers to questions decide branches, so
 * what is behind a "no" is never visited. Backward, which instructions lead to an invalid one: a
 * branch by something of the run if one of its ways does, as the kernel verifies both; one that
 * is decided at load only if both do.
 */
#include "record/fields/reach.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record/fields/value.h"

#define REGISTERS   11
#define FRAME_SIZE  512
#define SLOTS	    (FRAME_SIZE / 8)
#define WIDE	    (BPF_LD | BPF_IMM | BPF_DW)
#define UNREACHABLE UINT32_MAX

struct state {
	struct value registers[REGISTERS];
	bool seen;
	bool due; /* it has changed since its instruction was followed */
};

enum branch { BRANCH_NONE, BRANCH_RUN, BRANCH_DECIDED };

enum function_state { FUNCTION_NEW, FUNCTION_OPEN, FUNCTION_DONE };

/* One function. */
struct walk {
	struct reach *reach;
	const struct code_section *section;
	const struct code_function *function;
	struct state *before; /* by instruction */
	bool *invalid;	      /* it is one for which the function is refused */
	bool *leads;	      /* to such a one */
	bool slots[SLOTS];    /* what is stored there may be known */
	bool slot_changed;
	bool changed;
};

/* The value that an instruction gets at load in the place of its number. */
static struct value value_of(const struct fields *fields, const struct bpf_core_relo *access)
{
	enum field_state state = fields_state(fields, access);
	struct value value = value_known(state == FIELD_FOUND);

	if (access->kind == BPF_CORE_FIELD_BYTE_OFFSET)
		return value_of_run;
	if (!fields_is_question(access) || state == FIELD_UNKNOWN)
		return value_decided;
	value.asked = true;
	return value;
}

/* True if libbpf makes an instruction with the access invalid. */
static bool is_invalid(const struct fields *fields, const struct bpf_core_relo *access)
{
	return !fields_is_question(access) && access->kind != BPF_CORE_TYPE_SIZE &&
	       access->kind != BPF_CORE_TYPE_ID_TARGET && access->kind != BPF_CORE_TYPE_ID_LOCAL &&
	       fields_state(fields, access) == FIELD_MISSING;
}

static void store(struct walk *walk, struct value place, int16_t offset, struct value value)
{
	int64_t at = place.number + offset;

	if (place.kind != FRAME || value.kind == RUN)
		return;
	for (int i = 0; i < SLOTS; i++)
		if ((place.number == ALL_SLOTS || i == (at + FRAME_SIZE) / 8) && !walk->slots[i])
			walk->slots[i] = walk->slot_changed = true;
}

static struct value loaded(const struct walk *walk, struct value place, int16_t offset)
{
	int64_t at = place.number + offset + FRAME_SIZE;

	if (place.kind == FRAME)
		return place.number == ALL_SLOTS || at < 0 || at >= FRAME_SIZE ||
				       walk->slots[at / 8]
			       ? value_decided
			       : value_of_run;
	return place.kind == FROZEN || value_is_decided(place) ? value_decided : value_of_run;
}

/* A wide constant stands for a map, a function, or a number. */
static struct value wide_constant(const struct walk *walk, uint32_t at)
{
	const struct bpf_insn *instruction = &walk->section->instructions[at];
	const struct code *code = walk->reach->fields->code;
	const struct bpf_core_relo *access = code_access(walk->section, at);
	const Elf64_Sym *symbol = code_symbol(code, walk->section, at);

	if (access)
		return value_of(walk->reach->fields, access);
	if (!symbol)
		return value_known((int64_t)((uint64_t)(uint32_t)instruction[1].imm << 32 |
					     (uint32_t)instruction[0].imm));
	if (symbol->st_shndx < code->section_count &&
	    !strncmp(code->sections[symbol->st_shndx].name, ".rodata", strlen(".rodata")))
		return (struct value){.kind = FROZEN};
	/* A symbol that is elsewhere is found at load, or is not there. */
	return symbol->st_shndx == SHN_UNDEF ? value_decided : value_of_run;
}

static struct value calculated(const struct walk *walk, uint32_t at, const struct state *state)
{
	const struct bpf_insn *instruction = &walk->section->instructions[at];
	bool wide = BPF_CLASS(instruction->code) == BPF_ALU64;
	const struct bpf_core_relo *access = NULL;
	struct value own = state->registers[instruction->dst_reg], other;
	unsigned operation = BPF_OP(instruction->code);

	if (operation == BPF_NEG || operation == BPF_END)
		return own.kind == RUN ? own : value_decided;
	if (BPF_SRC(instruction->code) == BPF_K)
		access = code_access(walk->section, at);
	other = access ? value_of(walk->reach->fields, access)
		: BPF_SRC(instruction->code) == BPF_X
			? state->registers[instruction->src_reg]
			: value_known(wide ? instruction->imm
					   : (int64_t)(uint32_t)instruction->imm);
	if (operation != BPF_MOV)
		return value_combine(operation, own, other, wide);
	if (!wide && other.kind == KNOWN)
		other.number = (uint32_t)other.number;
	return !wide && (other.kind == FRAME || other.kind == FROZEN) ? value_decided : other;
}

/* The function that an instruction calls, or gives to a helper to call; -1: none. */
static int called(const struct walk *walk, uint32_t at)
{
	const struct bpf_insn *instruction = &walk->section->instructions[at];
	const struct code *code = walk->reach->fields->code;
	const Elf64_Sym *symbol = code_symbol(code, walk->section, at);
	uint32_t section = walk->function->section;

	if (instruction->code == (BPF_JMP | BPF_CALL)) {
		if (instruction->src_reg != BPF_PSEUDO_CALL)
			return -1;
		if (!symbol)
			return code_function_at(code, section, at + instruction->imm + 1);
		return code_function_at(code, symbol->st_shndx,
					symbol->st_value / sizeof(*instruction) + instruction->imm +
						1);
	}
	if (instruction->code != WIDE || !symbol || symbol->st_shndx >= code->section_count ||
	    !code->sections[symbol->st_shndx].instructions)
		return -1;
	return code_function_at(code, symbol->st_shndx,
				(symbol->st_value + instruction->imm) / sizeof(*instruction));
}

static void after_call(const struct walk *walk, uint32_t at, struct state *state)
{
	int function = called(walk, at);

	for (int i = 0; i <= 5; i++)
		state->registers[i] = value_of_run;
	/* The kernel follows what another function returns, but for a global one. */
	if (function >= 0 && !walk->reach->fields->code->functions[function].global)
		state->registers[0] = value_decided;
}

/* Changes the state as an instruction does that is no jump. */
static void step(struct walk *walk, uint32_t at, struct state *state)
{
	const struct bpf_insn *instruction = &walk->section->instructions[at];
	struct value *own = &state->registers[instruction->dst_reg];
	const struct value *other = &state->registers[instruction->src_reg];

	switch (BPF_CLASS(instruction->code)) {
	case BPF_LD:
		*own = instruction->code == WIDE ? wide_constant(walk, at) : value_decided;
		break;
	case BPF_LDX:
		*own = loaded(walk, *other, instruction->off);
		break;
	case BPF_ST:
		store(walk, *own, instruction->off, value_known(instruction->imm));
		break;
	case BPF_STX:
		store(walk, *own, instruction->off, *other);
		if (BPF_MODE(instruction->code) == BPF_ATOMIC && instruction->imm & BPF_FETCH)
			state->registers[instruction->imm == BPF_CMPXCHG ? 0
									 : instruction->src_reg] =
				value_of_run;
		break;
	case BPF_ALU:
	case BPF_ALU64:
		*own = calculated(walk, at, state);
		break;
	default:
		if (instruction->code == (BPF_JMP | BPF_CALL))
			after_call(walk, at, state);
		break;
	}
}

/* Where an instruction leads, UNREACHABLE nowhere, and by what. */
static enum branch ways(const struct walk *walk, uint32_t at, uint32_t ret_to[2])
{
	const struct bpf_insn *instruction = &walk->section->instructions[at];
	const struct state *state = &walk->before[at - walk->function->first];
	struct value own = state->registers[instruction->dst_reg], other;
	unsigned class = BPF_CLASS(instruction->code), operation = BPF_OP(instruction->code);
	bool unknown = false, taken;

	ret_to[0] = at + (instruction->code == WIDE ? 2 : 1);
	ret_to[1] = UNREACHABLE;
	if ((class != BPF_JMP && class != BPF_JMP32) || operation == BPF_CALL)
		return BRANCH_NONE;
	if (operation == BPF_EXIT || operation == BPF_JA) {
		ret_to[0] = operation == BPF_JA && class == BPF_JMP ? at + 1 + instruction->off
								    : UNREACHABLE;
		return BRANCH_NONE;
	}
	ret_to[1] = at + 1 + instruction->off;
	other = BPF_SRC(instruction->code) == BPF_X ? state->registers[instruction->src_reg]
						    : value_known(instruction->imm);
	if (own.kind == RUN && (other.kind == RUN || (other.kind == KNOWN && !other.asked)))
		return BRANCH_RUN;
	if (other.kind == RUN && own.kind == KNOWN && !own.asked)
		return BRANCH_RUN;
	if (own.kind != KNOWN || other.kind != KNOWN)
		return BRANCH_DECIDED;
	taken = class == BPF_JMP32 ? value_compare(operation, (int32_t)own.number,
						   (int32_t)other.number, &unknown)
				   : value_compare(operation, own.number, other.number, &unknown);
	if (unknown || (class == BPF_JMP32 && operation != BPF_JEQ && operation != BPF_JNE))
		return BRANCH_DECIDED;
	if (taken)
		ret_to[0] = ret_to[1];
	ret_to[1] = UNREACHABLE;
	return BRANCH_NONE;
}

static bool is_inside(const struct walk *walk, uint32_t at)
{
	return at != UNREACHABLE && at - walk->function->first < walk->function->count;
}

static void arrive(struct walk *walk, uint32_t at, const struct state *state)
{
	struct state *before = &walk->before[at - walk->function->first];

	bool changed = false;

	if (!before->seen) {
		*before = *state;
		before->seen = before->due = walk->changed = true;
		return;
	}
	for (int i = 0; i < REGISTERS; i++) {
		struct value *old = &before->registers[i];
		struct value value = value_join(*old, state->registers[i]);

		changed |= value.kind != old->kind || value.asked != old->asked ||
			   value.number != old->number;
		*old = value;
	}
	before->due |= changed;
	walk->changed |= changed;
}

/* One pass in the order of the code; loops take more. */
static void pass_forward(struct walk *walk)
{
	uint32_t first = walk->function->first, to[2];

	for (uint32_t at = first; at < first + walk->function->count; at++) {
		struct state *before = &walk->before[at - first], state;

		if (!before->due)
			continue;
		before->due = false;
		if (walk->invalid[at - first])
			continue;
		state = *before;
		ways(walk, at, to);
		step(walk, at, &state);
		for (int i = 0; i < 2; i++)
			if (is_inside(walk, to[i]))
				arrive(walk, to[i], &state);
	}
}

/* True if what an instruction leads to leads to an invalid one. */
static bool leads(const struct walk *walk, uint32_t at)
{
	uint32_t to[2];
	enum branch branch = ways(walk, at, to);
	bool first = is_inside(walk, to[0]) && walk->leads[to[0] - walk->function->first];
	bool second = is_inside(walk, to[1]) && walk->leads[to[1] - walk->function->first];

	return branch == BRANCH_DECIDED ? first && second : first || second;
}

static void pass_backward(struct walk *walk)
{
	for (uint32_t i = walk->function->count; i-- > 0;) {
		if (walk->leads[i] || !walk->before[i].seen)
			continue;
		if (walk->invalid[i] || leads(walk, walk->function->first + i))
			walk->leads[i] = walk->changed = true;
	}
}

/* The field that an instruction is invalid for, or a function that it calls is refused for. */
static const struct bpf_core_relo *reason_here(const struct walk *walk, uint32_t at)
{
	const struct bpf_core_relo *access = code_access(walk->section, at);
	int function;

	if (access && is_invalid(walk->reach->fields, access))
		return access;
	function = called(walk, at);
	return function < 0 ? NULL : reach_refused(walk->reach, function);
}

/* Finds the invalid instructions. False: there are none. */
static bool find_invalid(struct walk *walk)
{
	bool any = false;

	for (uint32_t i = 0; i < walk->function->count; i++)
		any |= walk->invalid[i] = reason_here(walk, walk->function->first + i);
	return any;
}

/* The first one that is reached. */
static const struct bpf_core_relo *reason_of(const struct walk *walk)
{
	for (uint32_t i = 0; i < walk->function->count; i++)
		if (walk->leads[i] && walk->invalid[i])
			return reason_here(walk, walk->function->first + i);
	return NULL;
}

/* The arguments are of the run, and what a caller gives is followed unless the function is global.
 */
static void enter(struct walk *walk)
{
	struct state state = {.seen = true};

	for (int i = 1; i <= 5; i++)
		state.registers[i] = walk->function->global ? value_of_run : value_decided;
	state.registers[10] = (struct value){.kind = FRAME};
	arrive(walk, walk->function->first, &state);
}

static const struct bpf_core_relo *follow(struct walk *walk)
{
	enter(walk);
	do {
		walk->changed = walk->slot_changed = false;
		pass_forward(walk);
		/* A value that was loaded from there may be another one now. */
		for (uint32_t i = 0; walk->slot_changed && i < walk->function->count; i++)
			walk->before[i].due = walk->before[i].seen;
	} while (walk->changed || walk->slot_changed);
	do {
		walk->changed = false;
		pass_backward(walk);
	} while (walk->changed);
	return walk->leads[0] ? reason_of(walk) : NULL;
}

static const struct bpf_core_relo *walk_function(struct reach *reach, int function)
{
	const struct code_function *of = &reach->fields->code->functions[function];
	struct walk walk = {.reach = reach,
			    .function = of,
			    .section = &reach->fields->code->sections[of->section]};
	const struct bpf_core_relo *reason = NULL;

	if (!walk.section->instructions || !of->count ||
	    of->first + of->count > walk.section->count)
		return NULL;
	walk.invalid = calloc(of->count, sizeof(*walk.invalid));
	walk.leads = calloc(of->count, sizeof(*walk.leads));
	walk.before = calloc(of->count, sizeof(*walk.before));
	if (!walk.invalid || !walk.leads || !walk.before)
		reach->error = -ENOMEM;
	else if (find_invalid(&walk))
		reason = follow(&walk);
	free(walk.invalid);
	free(walk.leads);
	free(walk.before);
	return reason;
}

int reach_open(struct reach *ret_reach, const struct fields *fields)
{
	size_t count = fields->code->function_count;

	*ret_reach = (struct reach){.fields = fields,
				    .reasons = calloc(count + 1, sizeof(*ret_reach->reasons)),
				    .states = calloc(count + 1, 1)};
	if (ret_reach->reasons && ret_reach->states)
		return 0;
	reach_close(ret_reach);
	return -ENOMEM;
}

void reach_close(struct reach *reach)
{
	free(reach->reasons);
	free(reach->states);
	*reach = (struct reach){};
}

const struct bpf_core_relo *reach_refused(struct reach *reach, int function)
{
	/* A function that is asked for while it is open calls itself. */
	if (reach->states[function] == FUNCTION_NEW) {
		reach->states[function] = FUNCTION_OPEN;
		reach->reasons[function] = walk_function(reach, function);
		reach->states[function] = FUNCTION_DONE;
	}
	return reach->states[function] == FUNCTION_DONE ? reach->reasons[function] : NULL;
}
