/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the two ways of blaming.
 */
#ifndef CLEW_ANALYSE_BLAME_INTERNAL_H
#define CLEW_ANALYSE_BLAME_INTERNAL_H

#include "base/map.h"
#include <clew/blame.h>
#include <clew/tokens.h>

#include "analyse/path/internal.h"

struct blame {
	const struct clew_model *model;
	const struct clew_blame_options *options;
	bool *victims; /* by span */
	bool *antagonists;
	bool innermost;	   /* antagonists are the innermost calls of their threads */
	uint32_t *threads; /* by span: the one that called it, and so on; itself if it is no call */
	uint32_t *calls, *calls_begin; /* spans that a span called, in order of start */
	bool limits;		       /* limits are charged, too */
	clew_time begin;	       /* of the trace */
	struct clew_blame_pair *pairs;
	size_t count, capacity;
	/* (victim and antagonist, number of the resource and whether by a candidate) -> place in
	 * pairs */
	struct map index;
	struct map resources; /* (name, kind) -> its number */
	uint32_t resource_count;
};

/* The spans that are charged: the time for which a resource was had, as far as the evidence says.
 */
struct charge {
	clew_time ns;
	uint32_t kind;
	const char *resource;
	unsigned evidence;
};

/* The stretch of an ES's span before it in which the ES waits; empty if from >= to. */
struct stretch {
	clew_time from, to;
};

/* True if all waits are asked for, and not only those that end in an interval. */
static inline bool blame_asks_for_all(const struct clew_blame_options *options)
{
	return !options->ends_from && !options->ends_to;
}

static inline uint32_t blame_root_of(const struct clew_model *model, uint32_t span)
{
	while (model->spans[span].parent != CLEW_NONE)
		span = model->spans[span].parent;
	return span;
}

/* Clips a stretch to the interval that options->from and options->to give. It is empty if they do
 * not overlap. */
static inline struct stretch blame_part_of(const struct blame *blame, struct stretch stretch)
{
	const struct clew_blame_options *options = blame->options;

	if (!options->from && !options->to)
		return stretch;
	return (struct stretch){stretch.from > options->from ? stretch.from : options->from,
				stretch.to < options->to ? stretch.to : options->to};
}

/* Charges an antagonist with some of a victim's time, if both were chosen. 0 or -ENOMEM. */
int blame_charge(struct blame *blame, uint32_t victim, uint32_t antagonist,
		 const struct charge *charge);
/* The same for a stretch in which the antagonist had the resource, whose length is charged:
 * options->charged hears of it. If innermost calls are asked for, each one is charged with its
 * part. */
int blame_charge_stretch(struct blame *blame, uint32_t victim, uint32_t antagonist,
			 struct stretch stretch, struct charge charge);

/* threads.c: 0 or -ENOMEM */
int blame_find_threads(struct blame *blame);
/* The innermost call of a span at a moment, the span itself in none; *ret_until: until when. */
uint32_t blame_innermost(const struct blame *blame, uint32_t span, clew_time at,
			 clew_time *ret_until);

/* Charges all that ran in the stretches of the victims' ESs that `waits` gives; `to` is always the
 * ES's start. */
int blame_running(struct blame *blame, uint32_t kind,
		  struct stretch (*waits)(const struct blame *blame, uint32_t es));

/* The first root span named so; CLEW_NONE: none. `roots`: from the string's number. */
static inline uint32_t blame_root_named(const struct map *roots, uint32_t string)
{
	const uint64_t *root = string == CLEW_NONE ? NULL : map_get(roots, string, 0);

	return root ? (uint32_t)*root : CLEW_NONE;
}

/* The CPUs of a trace with what ran on them. *ret_cpus is NULL where it knows none. 0 or -ENOMEM;
 * to free in either case. */
struct blame_cpus;
/* `queued`: of each span, whether blame_cpu() will be asked for it. */
int blame_cpus_new(struct blame *blame, const struct map *roots, const bool *queued,
		   struct blame_cpus **ret_cpus);
void blame_cpus_free(struct blame_cpus *cpus);
/* Charges what ran on the CPU that `queued`, the victim or whom it waits for, ran on next. */
int blame_cpu(const struct blame_cpus *cpus, uint32_t victim, uint32_t queued, struct stretch wait);

/* The devices of a trace with their requests. *ret_devices is NULL where it knows none. 0 or
 * -ENOMEM; to free in either case. */
struct blame_devices;
int blame_devices_new(struct blame *blame, const struct map *roots,
		      struct blame_devices **ret_devices);
void blame_devices_free(struct blame_devices *devices);
bool blame_on_device(const struct blame_devices *devices, uint32_t span);
/* Charges the submitters of the requests ahead of one that a victim waits for, if it is one.
 * `evidence`: that it waits for this one. */
int blame_requests(struct blame_devices *devices, uint32_t victim, struct stretch wait,
		   uint32_t request, uint32_t kind, unsigned evidence);

/* Charges the holders of locks, the requests ahead, and what had the CPUs. */
int blame_resources(struct blame *blame);

#endif
