/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of the stack at an instruction: which registers hold an address in it. The kernel's
 * trampoline stands in the place of the return address, so a function that reads or moves that, or
 * that goes on on another stack, must not have it.
 */
#ifndef CLEW_SYMBOL_CODE_STACK_STATE_H
#define CLEW_SYMBOL_CODE_STACK_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <Zydis/Zydis.h>

#include "symbol/code/stack_use.h"

#define STACK_REGISTERS 16
#define STACK_RSP	4
#define STACK_RBP	5

enum stack_base {
	STACK_OTHER,  /* not known */
	STACK_ENTRY,  /* so far from where the stack pointer was at the function's entry */
	STACK_FRAME,  /* in the function's frame, below its return address */
	STACK_CALLER, /* what the frame pointer was at the entry, of the caller or of its callers */
};

struct stack_value {
	int32_t at; /* ENTRY: the return address is at 0 */
	uint8_t base;
};

struct stack_state {
	struct stack_value registers[STACK_REGISTERS];
	int32_t saved; /* where what the frame pointer was at the entry lies, 0: not known */
};

/* As it is at a function's entry. */
void stack_state_begin(struct stack_state *state);
/* Joins what is known on another way to the same instruction. True: `state` is another one now. */
bool stack_state_join(struct stack_state *state, const struct stack_state *other);
/* Goes behind an instruction that is no jump; a call has returned. */
enum stack_use stack_state_step(struct stack_state *state, const ZydisDecoder *decoder,
				const ZydisDecoderContext *context,
				const ZydisDecodedInstruction *instruction);
/* A push of an address. */
enum stack_use stack_state_push(struct stack_state *state);
/* True: the stack pointer is at the same place in both. */
bool stack_state_level(const struct stack_state *a, const struct stack_state *b);
/* True: the stack pointer is where it was at the entry. */
bool stack_state_at_entry(const struct stack_state *state);

#endif
