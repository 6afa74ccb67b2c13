/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * True if the kernel runs an instruction as the processor would while a probe is at it.
 * It takes some for others, and executes others where they do not work; such a probe
 * changes what the program computes, or ends it.
 */
#ifndef CLEW_SYMBOL_CODE_SITE_H
#define CLEW_SYMBOL_CODE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLEW_SITE_BYTES	 15 /* most of an instruction */
#define CLEW_ENDBR_BYTES 4

enum clew_site_kind {
	CLEW_SITE_SAFE,
	CLEW_SITE_NOP5, /* some kernels make it a call, which writes below the stack pointer */
	CLEW_SITE_VEX,	/* VEX, EVEX, XOP: taken for a legacy instruction with the same opcode byte
			 */
	CLEW_SITE_PREFIX,  /* a prefix for which the kernel refuses the probe, or that it overlooks
			    */
	CLEW_SITE_SYSCALL, /* executed elsewhere, it ends the program */
	CLEW_SITE_INT3,	   /* a breakpoint already */
	CLEW_SITE_UNKNOWN, /* not among those known to be safe */
};

/* `code`: the instruction's bytes, as many as there are of CLEW_SITE_BYTES. */
enum clew_site_kind clew_site_kind(const uint8_t *code, size_t size);
/* Any nop. */
bool clew_site_is_nop(const uint8_t *code, size_t size);
/* True: the kernel emulates a safe instruction, and does not single-step it. `long_nops_stepped`:
 * of nops it emulates only the one of a byte. */
bool clew_site_emulated(const uint8_t *code, size_t size, bool long_nops_stepped);
/* "nop5", ...: why a site of that kind is left alone. */
const char *clew_site_word(enum clew_site_kind kind);

#endif
