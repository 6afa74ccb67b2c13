/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the programs that this kernel can take, and the addresses with which they compare. */
#ifndef CLEW_RECORD_STREAM_PROGRAMS_H
#define CLEW_RECORD_STREAM_PROGRAMS_H

#include <stdbool.h>

#include "symbol/elf/kernel.h"

struct btf;
struct clew_bpf;
struct clew_refusals;

/* A bit for each of the file systems that may be modules: set if its types are
 * here. */
unsigned clew_programs_modules(void);

struct clew_program_choice {
	bool verify;	       /* load the counter of switches too */
	bool page_cache;       /* load the programs of the page cache and the journals */
	bool functions;	       /* load that of functions */
	bool kernel_functions; /* and that of the kernel's */
	bool stacks;	       /* load those that take stacks */
	bool messages;	       /* load those of messages */
	bool runtimes;	       /* load that of runtimes */
	/*
	 * Features that are lost by these are left out. Programs whose tracepoint the kernel lacks
	 * are added, but for those that not every kernel has.
	 */
	struct clew_refusals *refusals;
};

/* Chooses which programs are loaded. Call it after clew_programs_addresses()
 * and before the load. Returns 0, or -ENOMEM: nothing was chosen. */
int clew_programs_choose(struct clew_bpf *bpf, struct btf *btf,
			 const struct clew_program_choice *choice);

/* Sets the addresses of kernel functions. Call it before the load. `symbols`
 * may be NULL. */
void clew_programs_addresses(struct clew_bpf *bpf, const struct clew_kernel_symbols *symbols);

#endif
