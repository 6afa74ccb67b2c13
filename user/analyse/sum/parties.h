/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Spans that several processes found, each in a causal trace of its own, as spans of one trace. A
 * thread is the same in all of them by its serial, anything else by its name; a span below it by
 * its names and its start, too.
 */
#ifndef CLEW_ANALYSE_SUM_PARTIES_H
#define CLEW_ANALYSE_SUM_PARTIES_H

#include <clew/model.h>

#include "base/map.h"
#include "base/shared.h"
#include "base/vector.h"
#include "trace/trace.h"

/* A span, of any of the traces. */
struct party {
	uint32_t serial;	  /* of the thread that its root stands for; CLEW_NO_TASK: none */
	uint32_t depth;		  /* of the span below its root */
	const char *const *names; /* depth + 1 of them, the root's first */
	const char *disk;	  /* the name of the disk that the root stands for, NULL: none */
	clew_time start;
};

/* ---- in the process that found them ---- */

/* The parties of one trace, in shared memory. */
struct parties_found {
	const struct clew_trace *trace;
	const struct clew_model *model;
	struct shared *out;
	struct map index; /* span -> index */
	struct party *parties;
	size_t count;
};

/* Makes room for `most` parties besides all root spans. 0 or -ENOMEM; parties_found_done() in
 * either case. */
int parties_found_init(struct parties_found *found, const struct clew_trace *trace,
		       const struct clew_model *model, size_t most, struct shared *out);
void parties_found_done(struct parties_found *found);
/* *ret_party: the index of a span's party. 0 or -ENOMEM. */
int parties_found_of(struct parties_found *found, uint32_t span, uint32_t *ret_party);
/* Devices are parties as well: they give resources their names. 0 or -ENOMEM. */
int parties_found_disks(struct parties_found *found);

/* The spans of the threads whose serials are in a table, in one trace. `below`:
 * those below them, too. The caller frees them; NULL: no memory. */
uint32_t *parties_spans_of(const struct clew_trace *trace, const struct clew_model *model,
			   const struct map *serials, bool below, size_t *ret_count);

/* ---- in the process that adds them up ---- */

/* Puts the serials of the spans' threads into a table. 0 or -ENOMEM. */
int parties_list(const struct clew_trace *names, const uint32_t *spans, size_t count,
		 struct map *serials);

/* All parties. Zeroed at first, but for the item size of `all`. */
struct parties {
	struct arena *arena; /* has their names */
	struct vector all;   /* struct party */
	struct map places;
};

void parties_init(struct parties *parties, struct arena *arena);
void parties_done(struct parties *parties);
/* Adds those that another process found. *ret_numbers: by index, their numbers here, which the
 * caller frees. 0 or -ENOMEM. */
int parties_add(struct parties *parties, const struct party *found, size_t count,
		uint32_t **ret_numbers);
/* Makes a causal trace that has all parties as spans, from the trace of all names. *ret_spans: the
 * span of each party, by its number; the caller frees it. 0 or -errno. */
int parties_make_model(const struct parties *parties, const struct clew_trace *names,
		       struct clew_model **ret_model, uint32_t **ret_spans);

#endif
