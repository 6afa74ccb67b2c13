/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* JSON and text of the columns of requests (columns.h): items are struct clew_trace_request. */
#ifndef CLEW_ANSWERS_REQUESTS_INTERNAL_H
#define CLEW_ANSWERS_REQUESTS_INTERNAL_H

#include <string.h>

#include "answers/columns.h"
#include "words/object.h"

/* True if it writes data. */
static inline bool request_writes(const struct clew_block_request *block)
{
	return !strcmp(clew_request_operation_name(block->operation, block->bytes), "write");
}

void request_json_dev(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row);
void request_json_sector(struct clew_json *json, const struct clew_column *column,
			 struct clew_row *row);
void request_json_limit(struct clew_json *json, const struct clew_column *column,
			struct clew_row *row);
void request_json_end_lost(struct clew_json *json, const struct clew_column *column,
			   struct clew_row *row);
void request_json_submitter(struct clew_json *json, const struct clew_column *column,
			    struct clew_row *row);
void request_json_lower(struct clew_json *json, const struct clew_column *column,
			struct clew_row *row);
void request_json_reason_by(struct clew_json *json, const struct clew_column *column,
			    struct clew_row *row);
void request_json_pages(struct clew_json *json, const struct clew_column *column,
			struct clew_row *row);
void request_json_woke(struct clew_json *json, const struct clew_column *column,
		       struct clew_row *row);
void request_json_description(struct clew_json *json, const struct clew_column *column,
			      struct clew_row *row);

void request_print_queued(FILE *out, const struct clew_row *row);
void request_print_object(FILE *out, const struct clew_row *row);
void request_print_submitter(FILE *out, const struct clew_row *row);
void request_print_limit(FILE *out, const struct clew_row *row);
void request_print_times(FILE *out, const struct clew_row *row);
void request_print_lower(FILE *out, const struct clew_row *row);
void request_print_woke(FILE *out, const struct clew_row *row);
void request_print_pages(FILE *out, const struct clew_row *row);

#endif
