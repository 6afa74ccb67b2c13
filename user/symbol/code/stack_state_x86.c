/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Follows the stack through one instruction. Addresses are followed from register to register, not
 * through memory: a stack pointer that is loaded is one of another stack.
 */
#include "symbol/code/stack_state.h"

#include <string.h>

#define SLOT 8	       /* bytes of the return address, and of what is pushed */
#define FAR  (1 << 30) /* no frame is as large */

static const struct stack_value other = {.base = STACK_OTHER}, frame = {.base = STACK_FRAME};

void stack_state_begin(struct stack_state *state)
{
	*state = (struct stack_state){0};
	state->registers[STACK_RSP].base = STACK_ENTRY;
	state->registers[STACK_RBP].base = STACK_CALLER;
}

static bool in_stack(const struct stack_value *value)
{
	return value->base == STACK_ENTRY || value->base == STACK_FRAME;
}

static bool is_same(const struct stack_value *a, const struct stack_value *b)
{
	return a->base == b->base && (a->base != STACK_ENTRY || a->at == b->at);
}

bool stack_state_join(struct stack_state *state, const struct stack_state *from)
{
	bool changed = state->saved && state->saved != from->saved;

	if (changed)
		state->saved = 0;
	for (unsigned i = 0; i < STACK_REGISTERS; i++) {
		struct stack_value *mine = &state->registers[i];
		const struct stack_value *theirs = &from->registers[i];
		struct stack_value joined = in_stack(mine) && in_stack(theirs) ? frame : other;

		if (is_same(mine, theirs))
			continue;
		changed |= !is_same(mine, &joined);
		*mine = joined;
	}
	return changed;
}

bool stack_state_at_entry(const struct stack_state *state)
{
	const struct stack_value *pointer = &state->registers[STACK_RSP];

	return pointer->base == STACK_ENTRY && !pointer->at;
}

/* The number of a general register that one is a part of, -1: it is another. */
static int number_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
		       ? (int)(whole - ZYDIS_REGISTER_RAX)
		       : -1;
}

static struct stack_value value_of(const struct stack_state *state, ZydisRegister reg)
{
	int number = number_of(reg);

	return number < 0 ? other : state->registers[number];
}

static struct stack_value moved(struct stack_value value, int64_t by)
{
	int64_t at = value.at + by;

	if (value.base == STACK_FRAME)
		return frame;
	if (value.base != STACK_ENTRY || by < -FAR || by > FAR || at < -FAR || at > FAR)
		return other;
	value.at = (int32_t)at;
	return value;
}

/* Where an operand in memory is. */
static struct stack_value address_of(const struct stack_state *state,
				     const ZydisDecodedOperand *operand)
{
	struct stack_value value = value_of(state, operand->mem.base);

	if (operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS)
		return other;
	if (operand->mem.index != ZYDIS_REGISTER_NONE)
		return in_stack(&value) ? frame : other;
	/* Above what the caller's frame pointer points to lies the caller's return address. */
	if (value.base == STACK_CALLER && operand->mem.disp.value == SLOT)
		return value;
	return moved(value, operand->mem.disp.value);
}

static bool overlaps(const struct stack_value *value, unsigned bytes)
{
	return value->base == STACK_ENTRY && value->at < SLOT && value->at + (int)bytes > 0;
}

/* Uses of the return address in memory. */
static enum stack_use check_memory(const struct stack_state *state,
				   const ZydisDecodedInstruction *instruction,
				   const ZydisDecodedOperand *operands)
{
	for (unsigned i = 0; i < instruction->operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];
		struct stack_value at;

		/* Pushes and pops are followed where the stack pointer moves. */
		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || !operand->actions ||
		    operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
		    (operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
		     operand->mem.base == ZYDIS_REGISTER_RSP))
			continue;
		/* A barrier changes nothing: lock or $0,(%rsp). */
		if ((instruction->mnemonic == ZYDIS_MNEMONIC_OR ||
		     instruction->mnemonic == ZYDIS_MNEMONIC_ADD) &&
		    !i && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		    !operands[1].imm.value.u)
			continue;
		at = address_of(state, operand);
		if (at.base == STACK_CALLER)
			return STACK_READ;
		if (overlaps(&at, operand->size / 8))
			return operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? STACK_CHANGED
										  : STACK_READ;
	}
	return STACK_KEPT;
}

/* Gives the stack pointer a value. */
static enum stack_use set_pointer(struct stack_state *state, struct stack_value value)
{
	state->registers[STACK_RSP] = value;
	if (!in_stack(&value))
		return STACK_SWITCHED;
	return value.base == STACK_ENTRY && value.at > 0 ? STACK_TAKEN : STACK_KEPT;
}

static enum stack_use set_register(struct stack_state *state, const ZydisDecodedOperand *operand,
				   struct stack_value value)
{
	int number =
		operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(operand->reg.value) : -1;

	if (number == STACK_RSP)
		return set_pointer(state, value);
	if (number >= 0)
		state->registers[number] = value;
	return STACK_KEPT;
}

/* All registers that it writes are not known any more. */
static enum stack_use write_all(struct stack_state *state,
				const ZydisDecodedInstruction *instruction,
				const ZydisDecodedOperand *operands)
{
	enum stack_use use = STACK_KEPT;

	for (unsigned i = 0; i < instruction->operand_count && !use; i++)
		if (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			use = set_register(state, &operands[i], other);
	return use;
}

/* A pop of so many bytes, 0 of `enter`'s kin. */
static enum stack_use pop(struct stack_state *state, unsigned bytes)
{
	struct stack_value pointer = state->registers[STACK_RSP];

	return overlaps(&pointer, bytes) || (pointer.base == STACK_ENTRY && pointer.at > 0)
		       ? STACK_TAKEN
		       : set_pointer(state, moved(pointer, bytes));
}

static enum stack_use push(struct stack_state *state, unsigned bytes)
{
	struct stack_value pointer = state->registers[STACK_RSP];

	if (!in_stack(&pointer))
		return STACK_SWITCHED;
	return set_pointer(state, moved(pointer, -(int64_t)bytes));
}

enum stack_use stack_state_push(struct stack_state *state)
{
	return push(state, SLOT);
}

bool stack_state_level(const struct stack_state *a, const struct stack_state *b)
{
	return is_same(&a->registers[STACK_RSP], &b->registers[STACK_RSP]);
}

/* mov $N, add, sub and the like of a register's value. */
static struct stack_value computed(const struct stack_state *state,
				   const ZydisDecodedInstruction *instruction,
				   const ZydisDecodedOperand *operands)
{
	struct stack_value value = value_of(state, operands[0].reg.value);
	bool constant = operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (operands[0].size != 64)
		return other;
	switch (instruction->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		return constant ? moved(value, operands[1].imm.value.s) : other;
	case ZYDIS_MNEMONIC_SUB:
		if (constant)
			return moved(value, -operands[1].imm.value.s);
		/* Room for as much as the program says. */
		return in_stack(&value) ? frame : other;
	case ZYDIS_MNEMONIC_AND:
		return constant && operands[1].imm.value.s < 0 && in_stack(&value) ? frame : other;
	default:
		return other;
	}
}

static enum stack_use leave(struct stack_state *state)
{
	struct stack_value to = state->registers[STACK_RBP];
	enum stack_use use = set_pointer(state, to);

	state->registers[STACK_RBP] = other;
	return use ? use : pop(state, SLOT);
}

/* A called function may get the place of the return address. */
static enum stack_use call(struct stack_state *state)
{
	/* All but rbx, rsp, rbp, and from r12 on. */
	static const uint8_t lost[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};
	enum stack_use use = STACK_KEPT;

	for (unsigned i = 0; i < sizeof(lost); i++) {
		struct stack_value *value = &state->registers[lost[i]];

		if (value->base == STACK_ENTRY && !value->at)
			use = STACK_PASSED;
		*value = other;
	}
	return use;
}

/* A bit for each register of which something is known. */
static unsigned known(const struct stack_state *state)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < STACK_REGISTERS; i++)
		bits |= state->registers[i].base != STACK_OTHER ? 1u << i : 0;
	return bits;
}

/* A bit for each register that the instruction's bytes may name, of whatever kind it is. Its number
 * has 3 bits there: the fourth is in a prefix. */
static unsigned named(const ZydisDecodedInstruction *instruction)
{
	unsigned bits = 1u << (instruction->opcode & 7);

	if (instruction->attributes & ZYDIS_ATTRIB_HAS_MODRM)
		bits = 1u << instruction->raw.modrm.reg | 1u << instruction->raw.modrm.rm;
	if (instruction->attributes & ZYDIS_ATTRIB_HAS_SIB)
		bits |= 1u << instruction->raw.sib.base | 1u << instruction->raw.sib.index;
	return bits | bits << 8;
}

/* True: the instruction has nothing to do with the registers of which something is known. The
 * registers that most instructions use without naming them are rax, rcx, rdx, rsi and rdi. */
static bool is_indifferent(const struct stack_state *state,
			   const ZydisDecodedInstruction *instruction)
{
	const unsigned unnamed = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3 | 1u << 6 | 1u << 7;
	unsigned bits = known(state);

	switch (instruction->meta.category) {
	case ZYDIS_CATEGORY_BINARY:
	case ZYDIS_CATEGORY_CMOV:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_DATAXFER:
	case ZYDIS_CATEGORY_LOGICAL:
	case ZYDIS_CATEGORY_LOGICAL_FP:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_SETCC:
	case ZYDIS_CATEGORY_SHIFT:
	case ZYDIS_CATEGORY_SSE:
	case ZYDIS_CATEGORY_WIDENOP:
		break;
	case ZYDIS_CATEGORY_MISC:
		if (instruction->mnemonic == ZYDIS_MNEMONIC_LEA)
			break;
		return false;
	default:
		return false;
	}
	return instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
	       !(bits & (unnamed | named(instruction)));
}

/* The value that is moved into a register. In frames that begin with the caller's, a chain leads
 * from one to the next. */
static struct stack_value moved_value(const struct stack_state *state,
				      const ZydisDecodedOperand *from)
{
	struct stack_value at, base;

	if (from->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return value_of(state, from->reg.value);
	if (from->type != ZYDIS_OPERAND_TYPE_MEMORY)
		return other;
	at = address_of(state, from);
	if (at.base == STACK_ENTRY && state->saved && at.at == state->saved)
		return (struct stack_value){.base = STACK_CALLER};
	base = value_of(state, from->mem.base);
	return base.base == STACK_CALLER && from->mem.index == ZYDIS_REGISTER_NONE &&
			       !from->mem.disp.value
		       ? base
		       : other;
}

/* An instruction with its operands. */
static enum stack_use step(struct stack_state *state, const ZydisDecodedInstruction *instruction,
			   const ZydisDecodedOperand *operands)
{
	enum stack_use use = check_memory(state, instruction, operands);
	struct stack_value value;

	if (use)
		return use;
	switch (instruction->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		use = push(state, instruction->operand_width / 8);
		if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    value_of(state, operands[0].reg.value).base == STACK_CALLER &&
		    state->registers[STACK_RSP].base == STACK_ENTRY)
			state->saved = state->registers[STACK_RSP].at;
		return use;
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		return push(state, instruction->operand_width / 8);
	case ZYDIS_MNEMONIC_POP:
		use = pop(state, instruction->operand_width / 8);
		return use ? use : set_register(state, &operands[0], other);
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		return pop(state, instruction->operand_width / 8);
	case ZYDIS_MNEMONIC_LEAVE:
		return leave(state);
	case ZYDIS_MNEMONIC_CALL:
		return call(state);
	/* Where it leads to is looked at by whoever follows it. */
	case ZYDIS_MNEMONIC_RET:
		return STACK_KEPT;
	case ZYDIS_MNEMONIC_LEA:
		value = operands[0].size == 64 ? address_of(state, &operands[1]) : other;
		return set_register(state, &operands[0], in_stack(&value) ? value : other);
	case ZYDIS_MNEMONIC_MOV:
		if (operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
			return STACK_KEPT;
		return set_register(state, &operands[0],
				    operands[0].size == 64 ? moved_value(state, &operands[1])
							   : other);
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
		return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER
			       ? set_register(state, &operands[0],
					      computed(state, instruction, operands))
			       : STACK_KEPT;
	default:
		return write_all(state, instruction, operands);
	}
}

enum stack_use stack_state_step(struct stack_state *state, const ZydisDecoder *decoder,
				const ZydisDecoderContext *context,
				const ZydisDecodedInstruction *instruction)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	if (is_indifferent(state, instruction))
		return STACK_KEPT;
	if (ZYAN_FAILED(ZydisDecoderDecodeOperands(decoder, context, instruction, operands,
						   instruction->operand_count)))
		return STACK_UNCLEAR;
	return step(state, instruction, operands);
}
