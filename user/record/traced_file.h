/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of one file that are recorded: their sites, and where probes are to be put.
 */
#ifndef CLEW_RECORD_TRACED_FILE_H
#define CLEW_RECORD_TRACED_FILE_H

#include "base/map.h"
#include "base/vector.h"
#include "record/internal.h"
#include "record/probe_cost.h"
#include "record/traced_values.h"
#include "symbol/function.h"

/* What all files share. */
struct traced {
	struct clew_recorder *recorder;
	struct clew_probe_cost cost;
	struct vector sites; /* struct clew_function_site, as in the kernel's map */
	uint32_t functions;  /* chosen ones, with a probe */
	uint32_t numbers;    /* given to functions, the others as well */
	uint32_t functions_most;
	uint32_t over;		 /* functions that were left out because there were so many */
	struct vector costs;	 /* uint32_t, ns of a call of each chosen function */
	struct vector refusals;	 /* struct traced_refusal */
	uint32_t unseen_returns; /* chosen functions of which only entries are seen */
	uint32_t without_values; /* chosen functions that lack a value that was asked for */
};

struct traced_refusal {
	const char *reason; /* static text */
	uint32_t count;
};

struct traced_file {
	uint64_t device, inode;
	uint64_t applied;      /* a bit for each choice that was looked for in it */
	bool controlled;       /* functions that cut stacks were looked for */
	struct map sites;      /* offset -> number of the site */
	struct map starts;     /* offset of a function -> its number, and from bit 32 on its
				  arguments whose registers are intact at the probe */
	struct vector entries; /* struct clew_probe_place that are not attached yet */
	struct vector returns; /* the same, at returns by the trampoline */
};

/* True if the function has been added already. *ret_arguments: those that are intact at its probe.
 */
bool traced_has(const struct traced_file *file, const struct clew_function_symbol *symbol,
		unsigned *ret_arguments);
/*
 * Adds a function that may be probed. `filters`: the processes that it is recorded in, 0 all.
 * `values`: that are recorded with it; NULL none. They are those of the first time if it is
 * added again. 0 or -errno; -ENOSPC: there is no number for a site any more.
 */
int traced_add(struct traced *traced, struct traced_file *file, struct clew_functions *functions,
	       const struct clew_function_symbol *symbol, const char *path, uint8_t filters,
	       const struct traced_values *values);
/* Adds the functions in it that cut stacks: longjmp, what begins and ends exceptions, what ends
 * threads. 0 or -errno. */
int traced_add_control(struct traced *traced, struct traced_file *file,
		       struct clew_functions *functions, const char *path);
/* One more function that cannot be probed. 0 or -ENOMEM. */
int traced_refuse(struct traced *traced, const char *reason);
void traced_file_done(struct traced_file *file);

#endif
