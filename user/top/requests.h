/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the requests that are under way when a period ends: those whose answer is still to come. */
#ifndef CLEW_TOP_REQUESTS_H
#define CLEW_TOP_REQUESTS_H

#include "explain/classes.h"
#include "top/ages.h"

#define TOP_MOST_REQUESTS 40

struct top_request {
	const struct clew_kind_operation *operation; /* of the classes */
	uint64_t ns;				     /* how long, as far as is known */
	bool longer;				     /* it began before that */
};

/*
 * Requests and attempts to connect of the classes, the oldest first, at most TOP_MOST_REQUESTS.
 * When a question left is known from the kernel, also of one from before the period; else its wait
 * has its age. The result is for free(3). 0 or -ENOMEM.
 */
int top_requests_find(const struct clew_trace *trace, const struct clew_operation_classes *classes,
		      const struct ages *ages, struct top_request **ret_requests,
		      size_t *ret_count);

#endif
