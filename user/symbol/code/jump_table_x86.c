/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells a jump through a table of a switch from one to another function. A compiler
 * adds an entry of 4 bytes to the table's address, or reads an entry of 8 bytes. The
 * same read of 8 bytes may be one of a pointer to a function: the table's first entry
 * decides. Where a table ends is not said: it is read up to the first entry that leads
 * elsewhere, so maybe too many places are marked as targets, and never too few.
 */
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>

#include "symbol/code/function_internal.h"

#define BACK_MOST    24	  /* instructions that are looked at before a jump */
#define ENTRIES_MOST 8192 /* of a table */

struct search {
	struct clew_functions *functions;
	const struct range *range;
	struct jump_table *tables;
	size_t table_count;
	ZydisDecoder decoder;
	bool leaves; /* a table's first entry is another function */
};

/* A pointer that the loader makes, or that the file has. */
static bool read_pointer(struct clew_functions *functions, uint64_t address, uint64_t *ret)
{
	const struct pointer *pointers = functions->pointers.data;
	size_t low = 0, high = functions->pointers.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pointers[middle].at < address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < functions->pointers.count && pointers[low].at == address) {
		*ret = pointers[low].to;
		return true;
	}
	return functions_read_bytes(functions, address, ret, sizeof(*ret));
}

static bool read_entry(struct clew_functions *functions, uint64_t table, size_t number,
		       bool relative, uint64_t *ret)
{
	int32_t distance;

	if (!relative)
		return read_pointer(functions, table + number * sizeof(uint64_t), ret);
	if (!functions_read_bytes(functions, table + number * sizeof(distance), &distance,
				  sizeof(distance)))
		return false;
	*ret = table + (uint64_t)(int64_t)distance;
	return true;
}

static bool is_inside(const struct search *search, uint64_t address)
{
	return address - search->range->start < search->range->size;
}

/* Also of parts of the function, of which it is not yet known whose they are. */
static bool may_be_inside(const struct search *search, uint64_t address)
{
	uint32_t number = is_inside(search, address)
				  ? NO_RANGE
				  : functions_range_at(search->functions, address);

	return is_inside(search, address) ||
	       (number != NO_RANGE && ranges_of(search->functions)[number].kind != RANGE_NAMED);
}

static bool is_other_function(const struct search *search, uint64_t address)
{
	uint32_t number = functions_range_at(search->functions, address);

	return number != NO_RANGE && ranges_of(search->functions)[number].start == address &&
	       !is_inside(search, address);
}

/* Marks the targets of a table. Bits of enum table_read. */
static unsigned read_table(const struct search *search, uint64_t table, bool relative)
{
	unsigned found = TABLE_READ;
	uint64_t target = 0;

	if (!relative && read_entry(search->functions, table, 0, false, &target) &&
	    is_other_function(search, target))
		found |= TABLE_LEAVES;
	for (size_t i = 0; i < ENTRIES_MOST; i++) {
		if (!read_entry(search->functions, table, i, relative, &target) ||
		    !may_be_inside(search, target))
			break;
		functions_mark_target(search->functions, target);
		if (i == 0 && is_inside(search, target))
			found |= TABLE_INSIDE;
	}
	return found;
}

/* True: a table's first entry leads into the range. */
static bool take_found(struct search *search, unsigned found)
{
	search->leaves |= found & TABLE_LEAVES;
	return found & TABLE_INSIDE;
}

static bool mark_tables(struct search *search, int64_t add, bool relative)
{
	bool inside = false;

	for (size_t i = 0; i < search->table_count; i++) {
		struct jump_table *table = &search->tables[i];
		unsigned found = add ? 0 : table->read[relative];

		if (!found)
			found = read_table(search, table->address + (uint64_t)add, relative);
		if (!add)
			table->read[relative] = (uint8_t)found;
		inside |= take_found(search, found);
	}
	return inside;
}

/* A read of 8 bytes gives the target. */
static bool is_pointer_table(struct search *search, const ZydisDecodedOperand *memory)
{
	if (memory->mem.index == ZYDIS_REGISTER_NONE || memory->mem.segment == ZYDIS_REGISTER_FS)
		return false;
	if (memory->mem.base == ZYDIS_REGISTER_NONE)
		return take_found(search,
				  read_table(search, (uint64_t)memory->mem.disp.value, false));
	return mark_tables(search, memory->mem.disp.value, false);
}

/* A bit for a general register, 0: another one. */
static uint32_t register_bit(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
		       ? 1u << (whole - ZYDIS_REGISTER_RAX)
		       : 0;
}

static uint32_t written(const ZydisDecodedInstruction *instruction,
			const ZydisDecodedOperand *operands)
{
	uint32_t bits = 0;

	for (unsigned i = 0; i < instruction->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			bits |= register_bit(operands[i].reg.value);
	return bits;
}

enum step { STEP_ON, STEP_TABLE, STEP_OTHER };

/* From where the registers come that make the target. */
struct origin {
	uint32_t registers;
	bool relative; /* two were added */
};

static enum step step_to_memory(struct search *search, const struct origin *origin,
				const ZydisDecodedOperand *memory)
{
	if (origin->relative && memory->size == 32) {
		mark_tables(search, 0, true);
		return STEP_TABLE;
	}
	return !origin->relative && memory->size == 64 && is_pointer_table(search, memory)
		       ? STEP_TABLE
		       : STEP_OTHER;
}

static enum step step_address(struct origin *origin, uint32_t result,
			      const ZydisDecodedOperand *memory)
{
	uint32_t base = register_bit(memory->mem.base), index = register_bit(memory->mem.index);

	origin->registers &= ~result;
	/* The table's address. */
	if (origin->relative && memory->mem.base == ZYDIS_REGISTER_RIP)
		return STEP_ON;
	if (origin->relative || !base || !index || memory->mem.scale != 1)
		return STEP_OTHER;
	origin->relative = true;
	origin->registers |= base | index;
	return STEP_ON;
}

/* One instruction back. */
static enum step step_back(struct search *search, struct origin *origin,
			   const ZydisDecodedInstruction *instruction,
			   const ZydisDecodedOperand *operands)
{
	uint32_t result = written(instruction, operands) & origin->registers;
	const ZydisDecodedOperand *from = &operands[1];

	if (!result)
		return STEP_ON;
	switch (instruction->mnemonic) {
	case ZYDIS_MNEMONIC_CDQE:
		return STEP_ON;
	case ZYDIS_MNEMONIC_ADD:
		if (origin->relative || from->type != ZYDIS_OPERAND_TYPE_REGISTER)
			return STEP_OTHER;
		origin->relative = true;
		origin->registers |= register_bit(from->reg.value);
		return STEP_ON;
	case ZYDIS_MNEMONIC_LEA:
		return step_address(origin, result, from);
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSXD:
		if (from->type == ZYDIS_OPERAND_TYPE_MEMORY)
			return step_to_memory(search, origin, from);
		if (from->type != ZYDIS_OPERAND_TYPE_REGISTER)
			return STEP_OTHER;
		origin->registers = (origin->registers & ~result) | register_bit(from->reg.value);
		return STEP_ON;
	default:
		return STEP_OTHER;
	}
}

static bool decode(const struct search *search, uint64_t address,
		   ZydisDecodedInstruction *instruction, ZydisDecodedOperand *operands)
{
	const struct code_segment *segment = search->range->segment;

	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(
		&search->decoder, segment->bytes + (address - segment->address),
		search->range->start + search->range->size - address, instruction, operands));
}

/* The addresses of the last instructions before the jump that always run before it. */
static size_t walk_block(const struct search *search, const struct jump_place *jump,
			 uint64_t *addresses)
{
	const struct code_segment *segment = search->range->segment;
	ZydisDecodedInstruction instruction;
	size_t count = 0;

	for (uint64_t at = jump->block; at < jump->at; at += instruction.length) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(
			    &search->decoder, NULL, segment->bytes + (at - segment->address),
			    jump->at - at, &instruction)))
			return 0;
		if (count == BACK_MOST) {
			memmove(addresses, addresses + 1, --count * sizeof(*addresses));
		}
		addresses[count++] = at;
	}
	return count;
}

/* True: the jump goes on in its range. */
static bool stays(struct search *search, const struct jump_place *jump)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction instruction;
	uint64_t addresses[BACK_MOST];
	struct origin origin = {0};
	enum step step = STEP_ON;
	size_t count;

	if (!decode(search, jump->at, &instruction, operands))
		return false;
	if (operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
		return is_pointer_table(search, &operands[0]);
	if (operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	origin.registers = register_bit(operands[0].reg.value);
	count = walk_block(search, jump, addresses);
	while (step == STEP_ON && count)
		step = decode(search, addresses[--count], &instruction, operands)
			       ? step_back(search, &origin, &instruction, operands)
			       : STEP_OTHER;
	return step == STEP_TABLE;
}

enum jump_end functions_jump_end(struct clew_functions *functions, const struct range *range,
				 const struct jump_place *jump, struct jump_table *tables,
				 size_t table_count)
{
	struct search search = {.functions = functions,
				.range = range,
				.tables = tables,
				.table_count = table_count};

	ZydisDecoderInit(&search.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (stays(&search, jump))
		return JUMP_STAYS;
	return search.leaves ? JUMP_LEAVES : JUMP_UNKNOWN;
}
