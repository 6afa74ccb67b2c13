/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads instructions of this machine one after the other, as far as they lead somewhere. */
#ifndef CLEW_SYMBOL_CODE_INSTRUCTION_H
#define CLEW_SYMBOL_CODE_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/maps.h>

#ifdef __x86_64__
#include <Zydis/Zydis.h>

struct instructions {
	ZydisDecoder decoder;
};
#else
/* A page's address and what is added to it are two instructions. */
struct instructions {
	uint64_t pages[32];
	uint32_t known; /* a bit a register */
};
#endif

enum instruction_kind {
	INSTRUCTION_PLAIN,
	INSTRUCTION_CONDITIONAL,
	INSTRUCTION_JUMP,
	INSTRUCTION_INDIRECT,
	INSTRUCTION_CALL,
	INSTRUCTION_CALL_INDIRECT,
	INSTRUCTION_RET,
	INSTRUCTION_ADDRESS /* computes one from its own */
};

struct instruction {
	uint64_t to; /* of those that name one: the address */
	uint8_t kind;
	uint8_t length;
	uint8_t condition; /* CONDITIONAL: as clew_function_site has it */
	bool tested;	   /* CONDITIONAL: by the flags alone */
};

void instructions_begin(struct instructions *instructions);
/* The instruction at an address. False: it is none. */
bool instructions_read(struct instructions *instructions, const uint8_t *code, size_t size,
		       uint64_t address, struct instruction *ret);
/* Where an indirect jump's target is. False: in a form that a probe cannot read. */
bool instruction_target(const uint8_t *code, size_t size, struct clew_operand *ret);

#endif
