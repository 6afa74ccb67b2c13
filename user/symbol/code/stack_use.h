/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uses of the stack that a function's return address is on. */
#ifndef CLEW_SYMBOL_CODE_STACK_USE_H
#define CLEW_SYMBOL_CODE_STACK_USE_H

/* Uses of the stack that a replaced return address would change. */
enum stack_use {
	STACK_KEPT,	 /* nothing */
	STACK_SWITCHED,	 /* takes the stack pointer from elsewhere */
	STACK_READ,	 /* reads its return address, or its caller's */
	STACK_CHANGED,	 /* writes it */
	STACK_TAKEN,	 /* pops it, or moves the stack pointer above it */
	STACK_ELSEWHERE, /* returns where the stack pointer is not known to be at it */
	STACK_PASSED,	 /* gives its place to another function */
	STACK_UNCLEAR,	 /* cannot be followed */
	STACK_UNSEEN,	 /* nobody looked */
};

/* A few words: "it may switch stacks". */
const char *stack_use_text(enum stack_use use);

#endif
