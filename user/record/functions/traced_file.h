/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of one file that are recorded: their sites, and where probes are to be put.
 */
#ifndef CLEW_RECORD_FUNCTIONS_TRACED_FILE_H
#define CLEW_RECORD_FUNCTIONS_TRACED_FILE_H

#include "base/map.h"
#include "base/vector.h"
#include "record/functions/probe_cost.h"
#include "record/functions/traced_links.h"
#include "record/functions/traced_values.h"
#include "symbol/code/function.h"

struct clew_recorder;
struct traced_file;

/* A function by its number. */
struct traced_function {
	struct traced_file *file;
	char *name; /* as in its symbol table */
	bool dropped;
};

#define TRACED_NOBODY UINT32_MAX

/* The cost of a probe's run, and the process that it is for. */
struct traced_share {
	uint32_t function; /* number; TRACED_NOBODY: it stays whatever it costs */
	uint32_t ns;	   /* by clew_probe_cost */
	bool entry;	   /* each run is a call */
	bool returns;	   /* a return by the trampoline comes with it */
};

/* Shared by all files. */
struct traced {
	struct clew_recorder *recorder;
	bool begun;	      /* the kernel side is loaded, and there is a capture */
	struct vector values; /* struct traced_site_values, until then */
	struct clew_probe_cost cost;
	struct vector sites;  /* struct clew_function_site, as in the kernel's map */
	struct vector shares; /* struct traced_share, of each site */
	struct vector known;  /* struct traced_function, by number */
	uint32_t functions;   /* chosen ones, with a probe */
	uint32_t points;      /* those of them that are probes in programs */
	uint32_t functions_most;
	uint32_t over;		 /* functions that were left out because there were so many */
	struct vector costs;	 /* uint32_t, ns of a call of each chosen function */
	struct vector refusals;	 /* struct traced_refusal */
	uint32_t unseen_returns; /* chosen functions of which only entries are seen */
	uint32_t without_values; /* chosen functions that lack a value that was asked for */
};

/* The values of a site, for the kernel's map. */
struct traced_site_values {
	uint32_t number;
	struct clew_function_values values;
};

struct traced_refusal {
	const char *reason; /* static text */
	uint32_t count;
};

/* Where links with many probes are not to be had. */
struct traced_events {
	int places;	/* descriptor of the map of their cookies */
	uint32_t count; /* events so far */
};

struct traced_file {
	uint64_t device, inode;
	struct traced_events *events; /* NULL: its probes are in links of their own */
	bool kernel;		      /* it is the kernel: offsets are addresses */
	uint64_t applied;	      /* a bit for each choice that was looked for in it */
	bool controlled;	      /* functions that cut stacks were looked for */
	struct map sites;	      /* offset -> number of the site */
	struct map starts;	      /* offset of a function -> its number, and from bit 32 on its
					 arguments whose registers are intact at the probe */
	struct map semaphores; /* offset of a probe that the program carries -> of its counter
				  of listeners */
	struct traced_probes entries; /* at exits, too */
	struct traced_probes returns; /* by the trampoline */
	struct traced_probes points;  /* probes that the program carries */
	int descriptor;		      /* to attach again, -1 none */
	uint16_t age;		      /* of its youngest links */
};

static inline struct traced_function *traced_function_at(const struct traced *traced, size_t number)
{
	return (struct traced_function *)traced->known.data + number;
}

static inline struct traced_share *traced_share_of(const struct traced *traced, size_t site)
{
	return (struct traced_share *)traced->shares.data + site;
}

/* True if a site is of a function that was dropped. */
static inline bool traced_dropped(const struct traced *traced, uint32_t site)
{
	uint32_t function = traced_share_of(traced, site)->function;

	return function != TRACED_NOBODY && traced_function_at(traced, function)->dropped;
}

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
/* ns of a call of one more function. 0 or -ENOMEM. */
int traced_note_cost(struct traced *traced, uint32_t ns);
/* One more function that cannot be probed. 0 or -ENOMEM. */
int traced_refuse(struct traced *traced, const char *reason);
/* Stops counting the probes of a function, and puts a DROPPED record. The caller detaches them
 * by traced_links_renew(). `record`: has all but the function's number. 0 or -errno. */
int traced_drop(struct traced *traced, uint32_t function, struct clew_dropped *record);
void traced_file_done(struct traced_file *file);
void traced_done(struct traced *traced);

#endif
