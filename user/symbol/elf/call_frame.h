/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The entries of .eh_frame and .debug_frame: one for each range of code, with the program that says
 * where the caller's registers are (DWARF 5, section 6.4; the Linux Standard Base for .eh_frame).
 */
#ifndef CLEW_SYMBOL_ELF_CALL_FRAME_H
#define CLEW_SYMBOL_ELF_CALL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_frame_cursor {
	const uint8_t *at, *end;
	bool bad; /* something was not there; what was taken then is 0 */
};

/* A number of 8 bytes or less. */
uint64_t call_frame_fixed(struct call_frame_cursor *cursor, size_t size, bool is_signed);
uint64_t call_frame_unsigned(struct call_frame_cursor *cursor); /* ULEB128 */
int64_t call_frame_signed(struct call_frame_cursor *cursor);	/* SLEB128 */
/*
 * A number in an encoding (DW_EH_PE_*), without what is added to it. Sets `bad` for an encoding
 * that is not known.
 */
uint64_t call_frame_encoded(struct call_frame_cursor *cursor, uint8_t encoding);
/* Moves over `size` bytes, and returns where they are; NULL if there are fewer. */
const uint8_t *call_frame_skip(struct call_frame_cursor *cursor, uint64_t size);

struct call_frame_section {
	const uint8_t *data;
	size_t size;
	uint64_t address; /* as it was linked */
	bool is_debug;	  /* .debug_frame */
};

/* The part that several ranges have in common (CIE). */
struct call_frame_common {
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_register;
	const uint8_t *program, *program_end; /* of the registers where a range begins */
	uint8_t encoding;		      /* of addresses */
	bool has_augmentation; /* ranges have bytes for others before their program */
	bool is_signal;	       /* a signal handler returns there */
};

/* A range of code (FDE). */
struct call_frame_range {
	uint64_t start, size;		      /* as it was linked */
	const uint8_t *program, *program_end; /* NULL: it cannot be read */
	const struct call_frame_common *common;
};

/*
 * Calls `found` for each range; a negative return ends it and is returned. `range` and its `common`
 * live during the call, the programs as long as the section. Entries that cannot be read are left
 * out.
 */
int call_frame_walk(const struct call_frame_section *section,
		    int (*found)(void *context, const struct call_frame_range *range),
		    void *context);

#endif
