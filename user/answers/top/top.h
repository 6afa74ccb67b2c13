/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer about a period of `clew top`. */
#ifndef CLEW_ANSWERS_TOP_TOP_H
#define CLEW_ANSWERS_TOP_TOP_H

#include <stdio.h>

#include "answers/report/report.h"
#include "answers/why/now.h"
#include "top/objects.h"
#include "top/pairs.h"
#include "top/queues.h"
#include "top/requests.h"
#include "top/spans.h"

/* All that was found about it. */
struct top_period {
	struct clew_trace *trace;
	struct clew_relations *relations; /* may be NULL */
	uint64_t own_ns;		  /* CPU time that clew top took since the period before */
	struct report report;
	struct clew_now *waits;	      /* under way when it ended */
	struct top_request *requests; /* likewise */
	struct top_object *objects;
	struct top_queue *queues; /* by CPU */
	struct top_pairs pairs[TOP_BY_CGROUP + 1];
	struct top_span *spans; /* logical spans that are not over, by where they were submitted */
	size_t wait_count, request_count, object_count, queue_count, span_count;
};

/* Prints it, `width` columns wide. */
void top_period_print(FILE *out, const struct top_period *period, size_t width);
/* Prints it as one JSON object, in one line. */
void top_period_json(FILE *out, const struct top_period *period);

#endif
