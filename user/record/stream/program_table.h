/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of BPF programs: what is to be known of each outside the object. A
 * unit test proves that each program of the object has a row and each row a
 * program.
 *
 * A feature is a row that names one and the rows up to the next such row, and the
 * rows that name the same feature. It is had as a whole or not at all: a begin
 * without its end would make clew say what is false.
 */
#ifndef CLEW_RECORD_STREAM_PROGRAM_TABLE_H
#define CLEW_RECORD_STREAM_PROGRAM_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum clew_program_flag {
	CLEW_PROGRAM_ONCE = 0x01,	/* runs once for each event that its kind counts as seen */
	CLEW_PROGRAM_OPTIONAL = 0x02,	/* not every kernel has its tracepoint */
	CLEW_PROGRAM_PAGE_CACHE = 0x04, /* left out with --no-page-cache */
	CLEW_PROGRAM_ANY = 0x08,	/* one of the rows with the same feature is enough */
	CLEW_PROGRAM_VERIFY = 0x10,	/* loaded only to check the ledger */
	CLEW_PROGRAM_XFS = 0x20,	/* of use only where the types of xfs are known */
	CLEW_PROGRAM_FUNCTIONS = 0x40,	/* loaded only if functions are recorded */
	CLEW_PROGRAM_STACKS = 0x80,	/* loaded only to take stacks */
	CLEW_PROGRAM_KERNEL_FUNCTIONS = 0x100, /* only if functions of the kernel are recorded */
	CLEW_PROGRAM_ESSENTIAL = 0x200,	       /* nothing is recorded without it */
	/* Without it all answers about the page cache would be wrong. */
	CLEW_PROGRAM_CACHE_CORE = 0x400,
	CLEW_PROGRAM_JBD2 = 0x800,	/* of use only where the types of jbd2 are known */
	CLEW_PROGRAM_MESSAGES = 0x1000, /* loaded only if messages are recorded */
	CLEW_PROGRAM_RUNTIMES = 0x2000, /* loaded only if runtimes are recorded */
};

/* Loaded only for what the user asks for: these are no lines of `clew doctor`. */
#define CLEW_PROGRAM_ASKED                                                                         \
	(CLEW_PROGRAM_VERIFY | CLEW_PROGRAM_FUNCTIONS | CLEW_PROGRAM_KERNEL_FUNCTIONS |            \
	 CLEW_PROGRAM_STACKS | CLEW_PROGRAM_RUNTIMES)

#define CLEW_PROGRAM_NEEDS 3

struct clew_program_row {
	const char *name;
	const char *section; /* what libbpf attaches it to */
	unsigned kind; /* enum clew_kind: the ledger counts runs that the kernel skipped as missed
			  records of this kind */
	unsigned flags;
	const char *feature; /* its line in `clew doctor`; NULL: another row has it */
	const char *costs;   /* what is lost without it */
	/* Features without which answers from this one would be wrong; NULL: none. */
	const char *needs[CLEW_PROGRAM_NEEDS];
	/*
	 * Programs for one tracepoint whose arguments differ among kernels:
	 * this one fits if argument number `argument` points to `structure`,
	 * or, with `other`, if it does not.
	 */
	const char *structure;
	unsigned argument;
	bool other;
};

extern const struct clew_program_row clew_program_table[];
extern const size_t clew_program_table_count;

/* The row of a program, NULL if there is none of that name. */
const struct clew_program_row *clew_program_row(const char *name);

/* The row that names the feature of a row of the table. */
const struct clew_program_row *clew_program_feature(const struct clew_program_row *row);

#endif
