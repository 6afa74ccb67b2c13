/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Histograms of how long things took, by group: a group is a path of names, root first, with
 * properties. Groups form a forest; two paths to one name are two groups.
 *
 * Results of several traces can be added. A group's id follows from its path alone, and is equal
 * across runs and machines. The number of groups is bounded, and the memory of histograms may be:
 * what finds no place is counted, and is in no group.
 */
#ifndef CLEW_EXPLAIN_LATENCY_H
#define CLEW_EXPLAIN_LATENCY_H

#include <stdbool.h>

#include "base/histogram.h"
#include "base/map.h"
#include "base/vector.h"
#include "explain/time_split.h"

#define CLEW_LATENCY_MOST_GROUPS 65536
#define CLEW_LATENCY_MOST_DEPTH	 512 /* names of a path */
#define CLEW_LATENCY_PROPERTIES	 2   /* of a group, at most */

struct clew_property {
	const char *name; /* lives as long as the program */
	const char *value;
};

/* The name of a group below its parent. */
struct clew_latency_name {
	const char *name;
	const char *place; /* where in the code it is, "" nowhere: part of the group's identity */
	struct clew_property properties[CLEW_LATENCY_PROPERTIES];
	unsigned property_count;
};

struct clew_latency_group {
	uint64_t id;
	uint32_t parent; /* index, less than its own; CLEW_NO_NUMBER none */
	uint32_t depth;	 /* 0 for roots */
	struct clew_latency_name name;
	struct histogram times;		  /* ns; those that are over */
	uint64_t split[CLEW_SPLIT_COUNT]; /* ns, their sum is that of `times` */
	uint64_t probe;			  /* ns of it that clew's probes took */
	bool several;	    /* of an aggregate: it sums things at several places in the code */
	uint64_t open;	    /* how many have no known time: they were cut off, or lost from sight */
	uint64_t inherited; /* that a process has from its parent's fork; in no other count */
};

struct clew_latency {
	unsigned digits;      /* of all histograms */
	size_t most;	      /* groups */
	size_t room;	      /* bytes that histograms may still grow by; SIZE_MAX no bound */
	uint64_t unplaced;    /* things in no group */
	struct vector groups; /* struct clew_latency_group; parents before children */
	struct map places;    /* id -> index */
	struct arena arena;   /* names */
};

/* `digits`: as for histogram_new(). Free it with clew_latency_done(). */
struct clew_latency clew_latency_new(unsigned digits);
void clew_latency_done(struct clew_latency *latency);

static inline struct clew_latency_group *clew_latency_at(const struct clew_latency *latency,
							 size_t index)
{
	return (struct clew_latency_group *)latency->groups.data + index;
}

/*
 * Finds or makes a group below `parent` (CLEW_NO_NUMBER: a root); the name is copied.
 * *ret_index: CLEW_NO_NUMBER if there is no more room. 0 or -ENOMEM.
 */
int clew_latency_place(struct clew_latency *latency, uint32_t parent,
		       const struct clew_latency_name *name, uint32_t *ret_index);

/*
 * Adds something that took `ns`, of which `probe` were clew's probes', and how that time divides.
 * 0 or -ENOMEM.
 */
int clew_latency_add(struct clew_latency *latency, uint32_t group, uint64_t ns, uint64_t probe,
		     const uint64_t *split);

/* Adds all groups of another result with as many digits. 0 or -ENOMEM; then it is unusable. */
int clew_latency_merge(struct clew_latency *latency, const struct clew_latency *other);

/*
 * Makes one root of all groups that have the same name and properties, wherever they are. It is
 * consistent unless these are at several places in the code. 0 or -ENOMEM; free the result in any
 * case.
 */
int clew_latency_aggregate(const struct clew_latency *latency, struct clew_latency *ret);

enum clew_latency_sort {
	CLEW_LATENCY_SORT_TOTAL,
	CLEW_LATENCY_SORT_COUNT,
	CLEW_LATENCY_SORT_P50,
	CLEW_LATENCY_SORT_P99,
	CLEW_LATENCY_SORT_MAX,
	CLEW_LATENCY_SORTS,
};

/* The groups that are wanted, and their order: all by their total, where it is zero. */
struct clew_latency_view {
	enum clew_latency_sort sort;
	const char *filter; /* groups with this text in their name or a property, and those above
			       them; NULL: all */
};

/*
 * The wanted groups that have a time or are an ancestor of one, what has most first, children
 * behind their parent: *ret_order is the caller's to free. 0 or -ENOMEM.
 */
int clew_latency_order(const struct clew_latency *latency, const struct clew_latency_view *view,
		       uint32_t **ret_order, size_t *ret_count);

#endif
