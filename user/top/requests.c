/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requests under way. */
#include "top/requests.h"

#include <errno.h>
#include <stdlib.h>

static bool is_under_way(const struct clew_kind_operation *operation)
{
	return operation->goes_on && (operation->by || operation->exchange) &&
	       (operation->kind == CLEW_OPERATION_REQUEST ||
		operation->kind == CLEW_OPERATION_CONNECT);
}

static struct top_request request_of(const struct clew_trace *trace, const struct ages *ages,
				     const struct clew_kind_operation *operation)
{
	const struct clew_sleep *by = operation->by;
	uint64_t end = clew_trace_end(trace), age;
	struct top_request request = {.operation = operation,
				      .ns = end - operation->operation.from};

	if (!by)
		return request;
	if (by->asked > CLEW_ASKED_SOMETIME && by->asked < end) {
		request.ns = end - by->asked;
		return request;
	}
	age = ages_of(ages, by, &request.longer);
	request.ns = age > request.ns ? age : request.ns;
	return request;
}

static int oldest_first(const void *left, const void *right)
{
	const struct top_request *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->operation->operation.task < b->operation->operation.task
		       ? -1
		       : a->operation->operation.task > b->operation->operation.task;
}

int top_requests_find(const struct clew_trace *trace, const struct clew_operation_classes *classes,
		      const struct ages *ages, struct top_request **ret_requests, size_t *ret_count)
{
	struct top_request *requests = calloc(classes->operation_count + 1, sizeof(*requests));
	size_t count = 0;

	if (!requests)
		return -ENOMEM;
	for (size_t i = 0; i < classes->operation_count; i++)
		if (is_under_way(&classes->operations[i]))
			requests[count++] = request_of(trace, ages, &classes->operations[i]);
	qsort(requests, count, sizeof(*requests), oldest_first);
	*ret_requests = requests;
	*ret_count = count < TOP_MOST_REQUESTS ? count : TOP_MOST_REQUESTS;
	return 0;
}
