/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions without names, by what functions with names do with them, and places within functions:
 * where a description of a runtime wants a probe. An address is never guessed: a way that leads to
 * no function's start leads nowhere.
 */
#ifndef CLEW_SYMBOL_CODE_DERIVE_H
#define CLEW_SYMBOL_CODE_DERIVE_H

#include "symbol/code/function.h"

enum clew_derive_step {
	CLEW_DERIVE_CODE,   /* the N-th address of code that is taken, each counted once */
	CLEW_DERIVE_CALLEE, /* the only function without a name that is called and takes any */
	CLEW_DERIVE_JUMP,   /* the N-th function that is jumped to */
	CLEW_DERIVE_CALL,   /* the N-th function of this file that is called */
};

/* The function of a name, as linked. 0, -ENOENT, or -EMLINK: several functions fit the glob. */
int clew_derive_find(struct clew_functions *functions, const char *glob, uint64_t *ret_address);
/* True if a function begins at an address. */
bool clew_derive_is_function(struct clew_functions *functions, uint64_t address);
/* One step from a function to another. 0 or -ENOENT. */
int clew_derive_step(struct clew_functions *functions, enum clew_derive_step step, unsigned number,
		     uint64_t *address);

#define CLEW_DERIVE_REGISTERS 16

/* A place that can be probed. */
struct clew_derive_spot {
	uint64_t offset; /* in the file */
	uint32_t below;	 /* bytes pushed since the function began */
	uint8_t class;	 /* enum clew_probe_class */
	bool is_exit;
	struct clew_function_exit exit;
	/* Before a call: by the machine's number of a register, what it has there is in `from`
	 * here, and more by `add`. */
	bool moved;
	struct {
		uint8_t from;
		int32_t add;
	} registers[CLEW_DERIVE_REGISTERS];
};

/*
 * The entry of the function at an address, where registers are intact (bit n: the machine's number
 * n). A function of Go whose stack grows is met twice there, with the same registers. 0, -ENOENT,
 * or -ENOTSUP: *ret_why says why it cannot be probed.
 */
int clew_derive_entry(struct clew_functions *functions, uint64_t address, unsigned registers,
		      struct clew_derive_spot *ret, const char **ret_why);
/* All exits of it; *ret is to be freed. The same. */
int clew_derive_exits(struct clew_functions *functions, uint64_t address,
		      struct clew_derive_spot **ret, size_t *ret_count, const char **ret_why);
/* The only function that does nothing but jump to what a register has. 0, -ENOENT or -EMLINK. */
int clew_derive_thunk(struct clew_functions *functions, unsigned number, uint64_t *ret_address);
/* The N-th indirect, or direct, call of it, or the place behind that. The kernel single-steps such
 * a call: the probe is at an instruction before it that all runs of the call come by, if the
 * registers' values are known there, too. The same. */
int clew_derive_call(struct clew_functions *functions, uint64_t address, unsigned number,
		     bool direct, bool behind, unsigned registers, struct clew_derive_spot *ret,
		     const char **ret_why);
/* All direct calls of the function at an address, or the places behind them; *ret is to be freed.
 * The same. */
int clew_derive_callers(struct clew_functions *functions, uint64_t address, bool behind,
			unsigned registers, struct clew_derive_spot **ret, size_t *ret_count,
			const char **ret_why);

#endif
