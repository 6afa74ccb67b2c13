/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of `clew requests`: the block requests that were chosen, or sums of them. */
#ifndef CLEW_ANSWERS_REQUESTS_LIST_H
#define CLEW_ANSWERS_REQUESTS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "answers/requests/requests.h"
#include "answers/sums.h"
#include "base/sort.h"
#include "explain/sums.h"

struct request_list {
	struct request_words words;
	size_t count;	       /* of words.requests */
	struct sort_key *rows; /* in their order; the index is that of the request */
	size_t row_count;
	enum clew_sum_by by;
	struct clew_left_out left_out;
	bool of_disk; /* only one disk's were asked for */
	bool part;    /* only this interval was asked for: */
	uint64_t from, to;
};

/* ns that a request took, queued or not; 0: that is not known. */
uint64_t request_length(const struct clew_trace_request *request);

/* 0 or -ENOMEM. */
int request_list_print(FILE *out, struct request_list *list);
int request_list_json(FILE *out, struct request_list *list);

#endif
