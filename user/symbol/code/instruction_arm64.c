/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Instructions of arm64: all have four bytes. */
#include "symbol/code/instruction.h"

#include <string.h>

#include "arch/registers.h"

#define LENGTH 4
#define PAGE   4096

void instructions_begin(struct instructions *instructions)
{
	instructions->known = 0;
}

/* A number with its sign, of some bits from a place on. */
static int64_t field(uint32_t word, unsigned from, unsigned bits)
{
	return (int64_t)((uint64_t)word << (64 - from - bits)) >> (64 - bits);
}

static bool fits(uint32_t word, uint32_t mask, uint32_t value)
{
	return (word & mask) == value;
}

static bool read_branch(uint32_t word, uint64_t address, struct instruction *ret)
{
	if (fits(word, 0x7c000000, 0x14000000)) { /* b, bl */
		ret->kind = word >> 31 ? INSTRUCTION_CALL : INSTRUCTION_JUMP;
		ret->to = address + (uint64_t)field(word, 0, 26) * LENGTH;
	} else if (fits(word, 0xff000000, 0x54000000)) { /* b.cond */
		ret->kind = INSTRUCTION_CONDITIONAL;
		ret->condition = word & 0xf;
		ret->tested = true;
		ret->to = address + (uint64_t)field(word, 5, 19) * LENGTH;
	} else if (fits(word, 0x7e000000, 0x34000000)) { /* cbz, cbnz */
		ret->kind = INSTRUCTION_CONDITIONAL;
		ret->to = address + (uint64_t)field(word, 5, 19) * LENGTH;
	} else if (fits(word, 0x7e000000, 0x36000000)) { /* tbz, tbnz */
		ret->kind = INSTRUCTION_CONDITIONAL;
		ret->to = address + (uint64_t)field(word, 5, 14) * LENGTH;
	} else if (fits(word, 0xfedff000, 0xd61f0000)) { /* br, blr, and those that check */
		ret->kind = word >> 21 & 1 ? INSTRUCTION_CALL_INDIRECT : INSTRUCTION_INDIRECT;
	} else if (fits(word, 0xfffff000, 0xd65f0000)) { /* ret, and those that check */
		ret->kind = INSTRUCTION_RET;
	} else {
		return false;
	}
	return true;
}

/* adr; adrp, and the add behind it. Other writes to the register in between are not seen: such an
 * add gives an address that is none, as any other number may. */
static void read_address(struct instructions *instructions, uint32_t word, uint64_t address,
			 struct instruction *ret)
{
	uint64_t distance = (uint64_t)field(word, 5, 19) << 2 | (word >> 29 & 3);
	unsigned to = word & 31, from = word >> 5 & 31;

	if (fits(word, 0x9f000000, 0x10000000)) {
		ret->kind = INSTRUCTION_ADDRESS;
		ret->to = address + distance;
	} else if (fits(word, 0x9f000000, 0x90000000)) {
		instructions->pages[to] = address / PAGE * PAGE + distance * PAGE;
		instructions->known |= 1u << to;
	} else if (fits(word, 0xffc00000, 0x91000000) && instructions->known >> from & 1) {
		ret->kind = INSTRUCTION_ADDRESS;
		ret->to = instructions->pages[from] + (word >> 10 & 0xfff);
	}
}

bool instructions_read(struct instructions *instructions, const uint8_t *code, size_t size,
		       uint64_t address, struct instruction *ret)
{
	uint32_t word;

	if (size < LENGTH)
		return false;
	memcpy(&word, code, sizeof(word));
	*ret = (struct instruction){.kind = INSTRUCTION_PLAIN, .length = LENGTH};
	if (!read_branch(word, address, ret))
		read_address(instructions, word, address, ret);
	return true;
}

bool instruction_target(const uint8_t *code, size_t size, struct clew_operand *ret)
{
	uint32_t word;
	int offset;

	*ret = (struct clew_operand){.kind = CLEW_OPERAND_REGISTER};
	if (size < LENGTH)
		return false;
	memcpy(&word, code, sizeof(word));
	offset = fits(word, 0xfffffc1f, 0xd61f0000) ? clew_register_offset(word >> 5 & 31) : -1;
	ret->base = (uint16_t)offset;
	return offset >= 0;
}
