/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the time of an operation went, by class of time, and how this differs from what is usual.
 */
#ifndef CLEW_EXPLAIN_WENT_H
#define CLEW_EXPLAIN_WENT_H

#include <clew/spent.h>

#include "explain/classes.h"

/* The times add up to the operation's. */
struct clew_went {
	uint64_t ns[CLEW_SPENT_COUNT];
	uint64_t longest[CLEW_SPENT_COUNT];		  /* wait of each class, ns */
	const struct clew_sleep *waits[CLEW_SPENT_COUNT]; /* that wait, or NULL */
};

/* The class of a piece of a timeline within an operation. While an answer is to come, time in which
 * the thread waits for something else is the network's, too. */
enum clew_spent clew_went_class(const struct clew_trace *trace, const struct clew_piece *piece,
				enum clew_operation_kind kind);
/* Adds the time of an operation. */
void clew_went_add(const struct clew_trace *trace, const struct clew_kind_operation *operation,
		   struct clew_went *went);
/* The class of time that took most. */
enum clew_spent clew_went_most(const struct clew_went *went);

/* A class of time that took longer in an operation than is usual. */
struct clew_differs {
	enum clew_spent spent;
	uint64_t ns, usual_ns;
	const struct clew_sleep *wait; /* its longest one, or NULL */
};

/*
 * The classes of time that make up most of the difference between an operation, by its place in
 * its class, and those around the median, the largest first. Returns how many there are; none
 * where the class has too few, or where the operation is no longer than what is usual.
 */
size_t clew_went_differs(const struct clew_trace *trace, const struct clew_operation_classes *found,
			 size_t class, size_t place, struct clew_differs ret[CLEW_SPENT_COUNT]);

#endif
