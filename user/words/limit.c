/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The I/O limit of a cgroup that held back a request. */
#include "words/limit.h"

#include "format/text.h"
#include "words/object.h"

void clew_print_limit(FILE *out, const struct clew_trace *trace,
		      const struct clew_block_request *block)
{
	const struct clew_object group = {.kind = CLEW_OBJECT_CGROUP,
					  .number = block->limited ?: block->group,
					  .descriptor = -1};

	if (!group.number) {
		fputs("the I/O limit of a cgroup", out);
		return;
	}
	fputs("the I/O limit of ", out);
	clew_print_object(out, trace, &group, NULL);
	if (!block->limited)
		fputs(" or of a group above it", out);
}

void clew_json_limit(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_block_request *block)
{
	if (!block->released)
		return;
	clew_json_object(json, "limit");
	clew_json_unsigned(json, "released", block->released);
	clew_json_string(json, "cgroup", clew_trace_cgroup(trace, block->group));
	clew_json_string(json, "limited", clew_trace_cgroup(trace, block->limited));
	clew_json_object_end(json);
}
