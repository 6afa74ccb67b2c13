/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Instructions of x86-64, by Zydis. */
#include "symbol/code/instruction.h"

#include "arch/registers.h"

#define OPCODE_LEA 0x8d
#define MODRM_RIP  5 /* r/m, with mod 0: relative to the next instruction */

void instructions_begin(struct instructions *instructions)
{
	ZydisDecoderInit(&instructions->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

static bool is_address_of(const ZydisDecodedInstruction *instruction)
{
	return instruction->opcode == OPCODE_LEA &&
	       instruction->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
	       instruction->raw.modrm.mod == 0 && instruction->raw.modrm.rm == MODRM_RIP;
}

static enum instruction_kind kind_of(const ZydisDecodedInstruction *instruction)
{
	bool direct = instruction->raw.imm[0].is_relative;

	switch (instruction->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return INSTRUCTION_CONDITIONAL;
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (instruction->mnemonic != ZYDIS_MNEMONIC_JMP)
			return INSTRUCTION_PLAIN;
		return direct ? INSTRUCTION_JUMP : INSTRUCTION_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		return direct ? INSTRUCTION_CALL : INSTRUCTION_CALL_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		return INSTRUCTION_RET;
	default:
		return is_address_of(instruction) ? INSTRUCTION_ADDRESS : INSTRUCTION_PLAIN;
	}
}

bool instructions_read(struct instructions *instructions, const uint8_t *code, size_t size,
		       uint64_t address, struct instruction *ret)
{
	ZydisDecodedInstruction instruction;
	uint64_t next;

	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&instructions->decoder, NULL, code, size,
						      &instruction)))
		return false;
	next = address + instruction.length;
	*ret = (struct instruction){.kind = (uint8_t)kind_of(&instruction),
				    .length = instruction.length,
				    .condition = instruction.opcode & 0xf,
				    .tested = true};
	ret->to = next + (uint64_t)(ret->kind == INSTRUCTION_ADDRESS
					    ? instruction.raw.disp.value
					    : instruction.raw.imm[0].value.s);
	return true;
}

/* Offset of a general register in what a probe sees; false: another register. */
static bool find_register(ZydisRegister reg, uint16_t *ret)
{
	int offset = reg == ZYDIS_REGISTER_RIP
			     ? clew_register_instruction()
			     : clew_register_offset((int)reg - ZYDIS_REGISTER_RAX);

	*ret = (uint16_t)offset;
	return offset >= 0;
}

/* Where an indirect jump's target is; false: in a form that a probe cannot read. */
bool instruction_target(const uint8_t *code, size_t size, struct clew_operand *ret)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction instruction;
	ZydisDecoder decoder;

	*ret = (struct clew_operand){0};
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, size, &instruction, operands)))
		return false;
	if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		ret->kind = CLEW_OPERAND_REGISTER;
		return find_register(operands[0].reg.value, &ret->base);
	}
	if (operands[0].type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    operands[0].mem.index != ZYDIS_REGISTER_NONE ||
	    operands[0].mem.segment == ZYDIS_REGISTER_FS ||
	    operands[0].mem.segment == ZYDIS_REGISTER_GS)
		return false;
	ret->kind = CLEW_OPERAND_MEMORY;
	ret->offset = operands[0].mem.disp.value;
	/* The probe sees the address of the jump itself. */
	if (operands[0].mem.base == ZYDIS_REGISTER_RIP)
		ret->offset += instruction.length;
	return find_register(operands[0].mem.base, &ret->base);
}
