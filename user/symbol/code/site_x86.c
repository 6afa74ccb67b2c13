/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides by an instruction's bytes whether a probe may be at it. An instruction that is not
 * known to be safe is not: this is no disassembler, and reads only as far as it has to.
 */
#include "symbol/code/site.h"

#include <string.h>

#define REX_B 1

struct instruction {
	const uint8_t *code; /* at the opcode */
	size_t size;	     /* bytes from there on */
	size_t before;	     /* bytes of prefixes */
	unsigned prefixes;   /* without rex */
	bool repeated;	     /* f3 is among them */
	uint8_t rex;	     /* 0 none */
};

static bool is_nop5(const struct instruction *instruction, size_t length)
{
	return instruction->before + length == 5;
}

/* The register field of the byte behind the opcode; 8: there is no such byte. */
static unsigned modrm_register(const struct instruction *instruction, size_t opcode)
{
	return instruction->size > opcode ? instruction->code[opcode] >> 3 & 7 : 8;
}

/* Bytes of an opcode and its operand in memory or a register, without an immediate; 0: the code is
 * cut off. */
static size_t length_with_operand(const struct instruction *instruction, size_t opcode)
{
	size_t length = opcode + 1;
	uint8_t modrm, mode, base;

	if (instruction->size <= opcode)
		return 0;
	modrm = instruction->code[opcode];
	mode = modrm >> 6;
	base = modrm & 7;
	if (mode != 3 && base == 4) {
		if (instruction->size <= length)
			return 0;
		base = instruction->code[length++] & 7;
	}
	length += mode == 1 ? 1 : mode == 2 || (mode == 0 && base == 5) ? 4 : 0;
	return length <= instruction->size ? length : 0;
}

static bool is_nop(const struct instruction *instruction)
{
	return instruction->code[0] == 0x90 ||
	       (instruction->size > 1 && instruction->code[0] == 0x0f &&
		instruction->code[1] == 0x1f);
}

/* A branch is emulated from its bytes; a prefix makes it another one, or makes the kernel refuse
 * it. */
static enum clew_site_kind branch_kind(const struct instruction *instruction)
{
	return instruction->prefixes ? CLEW_SITE_PREFIX : CLEW_SITE_SAFE;
}

static enum clew_site_kind long_opcode_kind(const struct instruction *instruction)
{
	size_t length;

	if (instruction->size < 2)
		return CLEW_SITE_UNKNOWN;
	switch (instruction->code[1]) {
	case 0x05:
	case 0x34:
		return CLEW_SITE_SYSCALL;
	case 0x1e: /* endbr64 */
		return instruction->repeated && instruction->size > 2 &&
				       instruction->code[2] == 0xfa
			       ? CLEW_SITE_SAFE
			       : CLEW_SITE_UNKNOWN;
	case 0x1f: /* nop */
		length = length_with_operand(instruction, 2);
		if (!length || modrm_register(instruction, 2))
			return CLEW_SITE_UNKNOWN;
		return is_nop5(instruction, length) ? CLEW_SITE_NOP5 : CLEW_SITE_SAFE;
	case 0x80 ... 0x8f: /* jcc */
		return branch_kind(instruction);
	case 0x10 ... 0x13: /* moves between SSE registers and memory */
	case 0x16 ... 0x17:
	case 0x28 ... 0x29:
	case 0x6e ... 0x6f:
	case 0x7e ... 0x7f:
	case 0xd6:
	case 0x57:	    /* xorps */
	case 0xef:	    /* pxor */
	case 0x31:	    /* rdtsc */
	case 0x40 ... 0x4f: /* cmov */
	case 0x90 ... 0x9f: /* set */
	case 0xb6 ... 0xb7: /* movzx, movsx */
	case 0xbe ... 0xbf:
		return CLEW_SITE_SAFE;
	default:
		return CLEW_SITE_UNKNOWN;
	}
}

static bool is_safe_group(const struct instruction *instruction)
{
	unsigned field = modrm_register(instruction, 1);

	switch (instruction->code[0]) {
	case 0xc6 ... 0xc7: /* mov */
	case 0xf6 ... 0xf7: /* test */
		return field == 0;
	case 0xff: /* call, jmp, push */
		return field == 2 || field == 4 || field == 6;
	default:
		return false;
	}
}

/* lea of nothing, and a jump to what comes next, are no-ops as well. */
static bool is_odd_nop5(const struct instruction *instruction)
{
	static const uint8_t next[4];
	size_t length = instruction->code[0] == 0x8d ? length_with_operand(instruction, 1) : 0;

	if (instruction->code[0] == 0xe9)
		return instruction->size >= 5 && !memcmp(instruction->code + 1, next, sizeof(next));
	return length && is_nop5(instruction, length) && instruction->code[length - 1] == 0;
}

static enum clew_site_kind short_opcode_kind(const struct instruction *instruction)
{
	switch (instruction->code[0]) {
	case 0x90:
		/* With this bit it is an exchange of two registers, which the kernel takes for a
		 * nop. */
		if (instruction->rex & REX_B)
			return CLEW_SITE_PREFIX;
		return is_nop5(instruction, 1) ? CLEW_SITE_NOP5 : CLEW_SITE_SAFE;
	case 0x62:
	case 0xc4 ... 0xc5:
		return CLEW_SITE_VEX;
	case 0x8f: /* pop, or XOP */
		return modrm_register(instruction, 1) == 0 ? CLEW_SITE_UNKNOWN : CLEW_SITE_VEX;
	case 0xcc:
		return CLEW_SITE_INT3;
	case 0xcd:
		return CLEW_SITE_SYSCALL;
	case 0x70 ... 0x7f: /* jcc, call, jmp */
	case 0xe8:
	case 0xe9:
	case 0xeb:
		return is_odd_nop5(instruction) ? CLEW_SITE_NOP5 : branch_kind(instruction);
	case 0x8d: /* lea */
		return is_odd_nop5(instruction) ? CLEW_SITE_NOP5 : CLEW_SITE_SAFE;
	case 0x00 ... 0x3f: /* add, or, adc, sbb, and, sub, xor, cmp */
		return (instruction->code[0] & 7) <= 5 ? CLEW_SITE_SAFE : CLEW_SITE_UNKNOWN;
	case 0x50 ... 0x5f: /* push, pop */
	case 0x63:	    /* movsx */
	case 0x80 ... 0x81: /* add and so on with a constant */
	case 0x83:
	case 0x84 ... 0x85: /* test */
	case 0xa8 ... 0xa9:
	case 0x88 ... 0x8b: /* mov */
	case 0xb0 ... 0xbf:
	case 0xc0 ... 0xc1: /* shifts */
	case 0xd0 ... 0xd3:
	case 0xc2 ... 0xc3: /* ret */
	case 0xc9:	    /* leave */
		return CLEW_SITE_SAFE;
	default:
		return is_safe_group(instruction) ? CLEW_SITE_SAFE : CLEW_SITE_UNKNOWN;
	}
}

/* Moves behind the prefixes. False: one of them may not be there. */
static bool take_prefixes(struct instruction *instruction)
{
	for (; instruction->size; instruction->code++, instruction->size--, instruction->before++) {
		switch (*instruction->code) {
		case 0x64 ... 0x66:
		case 0xf2 ... 0xf3:
			instruction->repeated |= *instruction->code == 0xf3;
			instruction->prefixes++;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x67:
		case 0xf0:
			return false;
		default:
			if ((*instruction->code & 0xf0) != 0x40)
				return true;
			instruction->rex = *instruction->code++;
			instruction->size--;
			instruction->before++;
			return true;
		}
	}
	return true;
}

enum clew_site_kind clew_site_kind(const uint8_t *code, size_t size)
{
	struct instruction instruction = {.code = code,
					  .size = size < CLEW_SITE_BYTES ? size : CLEW_SITE_BYTES};

	if (!take_prefixes(&instruction))
		return CLEW_SITE_PREFIX;
	if (!instruction.size)
		return CLEW_SITE_UNKNOWN;
	if (instruction.prefixes > 1 && !is_nop(&instruction))
		return CLEW_SITE_PREFIX;
	return instruction.code[0] == 0x0f ? long_opcode_kind(&instruction)
					   : short_opcode_kind(&instruction);
}

/* Behind its prefixes; false: it has one that may not be there, or nothing behind them. */
static bool take_instruction(const uint8_t *code, size_t size, struct instruction *ret)
{
	*ret = (struct instruction){.code = code,
				    .size = size < CLEW_SITE_BYTES ? size : CLEW_SITE_BYTES};
	return take_prefixes(ret) && ret->size;
}

bool clew_site_is_nop(const uint8_t *code, size_t size)
{
	struct instruction instruction;

	return take_instruction(code, size, &instruction) && is_nop(&instruction) &&
	       !(instruction.rex & REX_B);
}

bool clew_site_emulated(const uint8_t *code, size_t size, bool long_nops_stepped)
{
	struct instruction instruction;

	if (clew_site_kind(code, size) != CLEW_SITE_SAFE ||
	    !take_instruction(code, size, &instruction))
		return false;
	if (is_nop(&instruction))
		return !instruction.repeated && (!long_nops_stepped || instruction.code[0] == 0x90);
	switch (instruction.code[0]) {
	case 0x50 ... 0x57: /* push; with the prefix of r8 to r15 alone */
		return !instruction.prefixes && (!instruction.rex || instruction.rex == 0x41);
	case 0x0f: /* jcc */
		return instruction.size > 1 && (instruction.code[1] & 0xf0) == 0x80;
	case 0x70 ... 0x7f:
	case 0xe8 ... 0xe9: /* call, jmp */
	case 0xeb:
		return true;
	default:
		return false;
	}
}
