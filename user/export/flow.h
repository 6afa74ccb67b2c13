/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Dependencies as arrows between threads. An arrow begins at an instant of the task that acted.
 * It ends at the begin of the time in which the other task is ready, or, where that one had its
 * CPU at once or began by the dependency, at an instant.
 */
#ifndef CLEW_EXPORT_FLOW_H
#define CLEW_EXPORT_FLOW_H

#include "export/export.h"
#include "words/describe.h"

/* When the woken thread ran; its end where the capture has none. */
static inline bool flow_was_ready(const struct clew_sleep *sleep)
{
	return sleep->end != CLEW_TIME_OPEN && sleep->switch_in > sleep->end;
}

/* The sleep that an edge ended, NULL: none. */
const struct clew_sleep *flow_sleep(const struct clew_trace *trace, const struct clew_edge *edge);
/* True if both ends are tasks, and the one that went on is in the export. */
bool flow_is_shown(const struct clew_export *export, const struct clew_edge *edge);

/* Requests that had to complete, too, behind the dependency's own origin: 1.. */
unsigned flow_further_count(const struct clew_edge *edge);
const struct clew_link *flow_further(const struct clew_edge *edge, unsigned number);

/* The number of the flow from origin `further` of an edge; origin 0 is the edge's own. */
static inline uint64_t flow_number(size_t edge, unsigned further)
{
	return (uint64_t)further << 40 | (edge + 1);
}

/* Describes a request, a timer, a work item, else what was waited for. False: there is none. */
bool flow_describe(const struct clew_trace *trace, const struct clew_edge *edge,
		   struct object_description *ret_object);

/*
 * The edges that ended a sleep, one after another: begin with *at 0. `edges`: all, in order of
 * to_at. Returns the next one that is shown and its index in *at - 1; NULL: there are no more.
 */
const struct clew_edge *flow_next(const struct clew_export *export, const struct clew_edge *edges,
				  size_t count, const struct clew_sleep *sleep, size_t *at);

#endif
