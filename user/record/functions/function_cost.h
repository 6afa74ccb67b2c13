/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cost of probes at functions: each call, and each process that maps their file. */
#ifndef CLEW_RECORD_FUNCTIONS_FUNCTION_COST_H
#define CLEW_RECORD_FUNCTIONS_FUNCTION_COST_H

#include <stddef.h>
#include <stdint.h>

#include "record/functions/probe_cost.h"
#include "symbol/code/function.h"

struct clew_function_cost {
	uint64_t probes;     /* instructions: entry and exit may be one */
	uint64_t exec_us;    /* about: that each exec of a program which maps the file takes more */
	uint64_t process_kb; /* that each process which maps it takes more */
};

/* ns of a call of one function: its entry, and its dearest exit or the trampoline. 0: it cannot be
 * probed. */
uint64_t clew_function_call_cost(const struct clew_function_symbol *symbol,
				 const struct clew_probe_cost *cost);
/* The cost of functions of one file, all probed; functions that cannot be are left out. 0 or
 * -ENOMEM. */
int clew_function_cost(const struct clew_function_symbol *const *list, size_t count,
		       struct clew_function_cost *ret);

#endif
