/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logical spans that are not over at a period's end. */
#ifndef CLEW_TOP_SPANS_H
#define CLEW_TOP_SPANS_H

#include "explain/chosen.h"
#include "relate/job.h"

/* Spans that run the same and were submitted in the same span. Names live as long as the trace. */
struct top_span {
	const struct clew_job *oldest;
	const char *name;
	const char *in;		/* the name of the span that submitted them, NULL: none did */
	uint64_t now[3], count; /* by enum clew_job_piece_kind, and all */
};

/* Finds those of the chosen tasks, the most first. *ret_spans is for free(3). 0 or -ENOMEM. */
int top_spans_find(const struct clew_trace *trace, const struct clew_chosen *chosen,
		   struct top_span **ret_spans, size_t *ret_count);

#endif
