/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last events before a part of a capture. The time for which a task of the part had been
 * ready, or had waited for a lock, is only known when that is over; the events of others
 * meanwhile are kept until then.
 */
#ifndef CLEW_TRACE_RECENT_H
#define CLEW_TRACE_RECENT_H

#include "builder/findings.h"

struct clew_trace;
struct trace_recent;

/* NULL: no memory. */
struct trace_recent *trace_recent_new(void);
void trace_recent_free(struct trace_recent *recent);

/* Notes a run, a stay, a tally or a sample; any other finding is ignored. */
void trace_recent_note(struct trace_recent *recent, const struct clew_finding *finding);

/*
 * Gives a trace that has not been finished the runs that ended after `since`, ns, before all those
 * that it has. *ret_known: from when on it then has all runs. 0 or -errno.
 */
int trace_recent_give_runs(struct clew_trace *trace, const struct trace_recent *recent,
			   uint64_t since, uint64_t *ret_known);
/* Gives it the other things. 0 or -errno. */
int trace_recent_give_others(struct clew_trace *trace, const struct trace_recent *recent,
			     uint64_t since);

#endif
