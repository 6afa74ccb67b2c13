/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A period of clew top: a segment, and all answers about it. */
#ifndef CLEW_CLI_TOP_TOP_PERIOD_H
#define CLEW_CLI_TOP_TOP_PERIOD_H

#include "answers/report/report.h"
#include "answers/why/now.h"
#include "cli/operand/selection.h"
#include "top/ages.h"
#include "top/objects.h"
#include "top/pairs.h"
#include "top/queues.h"
#include "top/requests.h"

struct top_period {
	struct clew_trace *trace;
	struct clew_relations *relations; /* may be NULL */
	struct clew_selection selection;  /* a copy, for this trace */
	uint32_t own;			  /* pid of this process, which is no part of the answer */
	uint64_t own_ns;		  /* CPU time that clew top took since the period before */
	struct report report;
	struct clew_now *waits;	      /* under way when it ended */
	struct top_request *requests; /* likewise */
	struct top_object *objects;
	struct top_queue *queues; /* by CPU */
	struct top_pairs pairs[TOP_BY_CGROUP + 1];
	size_t wait_count, request_count, object_count, queue_count;
};

/*
 * Reads a segment. `ages` goes on from period to period. top_period_free() in any case. Returns 0
 * or, after clew_fail(), an exit status.
 */
int top_period_read(const char *path, const struct clew_selection *selection, struct ages *ages,
		    struct top_period **ret_period);
void top_period_free(struct top_period *period);

/* Prints it, `width` columns wide. */
void top_period_print(FILE *out, const struct top_period *period, size_t width);
/* Prints it as one JSON object, in one line. */
void top_period_json(FILE *out, const struct top_period *period);

#endif
