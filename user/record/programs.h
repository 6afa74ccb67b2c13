/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which programs this kernel can take, and the addresses they compare with. */
#ifndef CLEW_RECORD_PROGRAMS_H
#define CLEW_RECORD_PROGRAMS_H

#include <stdbool.h>

#include "symbol/kernel.h"

struct btf;
struct clew_bpf;

/* Which of the file systems that may be modules have types here: a bit each. */
unsigned clew_programs_modules(void);

struct clew_program_choice {
	bool verify;	 /* the counter of switches too */
	bool page_cache; /* what goes on in the page cache and the journals */
};

/* Before load, after the addresses: what is loaded. 0, or -ENOMEM: nothing was chosen. */
int clew_programs_choose(struct clew_bpf *bpf, struct btf *btf,
			 const struct clew_program_choice *choice);

/* Before load: addresses of the kernel's functions. `symbols` may be NULL. */
void clew_programs_addresses(struct clew_bpf *bpf, const struct clew_kernel_symbols *symbols);

#endif
