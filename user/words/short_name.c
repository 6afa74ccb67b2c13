/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Short names of waits and of segments of a why. */
#include "words/short_name.h"

#include <stdio.h>

#include "words/link.h"

void clew_wait_short_name(const struct clew_trace *trace, const struct clew_sleep *sleep,
			  char buffer[CLEW_SHORT_NAME_SIZE])
{
	const char *kind = clew_wait_kind_name(sleep->kind);
	struct object_description object;

	if (object_describe_then(trace, &sleep->object, sleep, sleep->start, &object))
		snprintf(buffer, CLEW_SHORT_NAME_SIZE, "%s %s", kind, object.name);
	else
		snprintf(buffer, CLEW_SHORT_NAME_SIZE, "%s", kind);
}

void clew_segment_short_name(const struct clew_trace *trace, const struct clew_segment *segment,
			     char buffer[CLEW_SHORT_NAME_SIZE])
{
	const char *kind = clew_wait_kind_name(segment->kind), *call = NULL, *by = NULL;
	struct object_description object;
	struct clew_object of;

	if (segment->stay)
		call = clew_call_name(segment->stay->call);
	if (segment->kind == CLEW_SEGMENT_RUNNING) {
		snprintf(buffer, CLEW_SHORT_NAME_SIZE, "%s%s%s", kind, call ? " in " : "",
			 call ?: "");
	} else if (segment->kind == CLEW_SEGMENT_RUNQUEUE) {
		if (segment->by != UINT32_MAX && segment->by != CLEW_NO_TASK)
			by = clew_trace_comm_at(trace, segment->by, segment->start);
		snprintf(buffer, CLEW_SHORT_NAME_SIZE, "%s%s%.*s", kind, by ? " behind " : "",
			 CLEW_COMM_SIZE, by ?: "");
	} else if (segment->link) {
		of = clew_link_object(segment->link);
		object_describe(trace, &of, NULL, &object);
		snprintf(buffer, CLEW_SHORT_NAME_SIZE, "%s %s", kind, object.name);
	} else if (segment->sleep) {
		/* It is known what was waited for, but not why that took so long. */
		bool unknown = segment->kind == CLEW_WAIT_UNKNOWN;
		char name[CLEW_SHORT_NAME_SIZE];

		clew_wait_short_name(trace, segment->sleep, name);
		snprintf(buffer, CLEW_SHORT_NAME_SIZE, "%s%.*s", unknown ? "unknown: " : "",
			 CLEW_SHORT_NAME_SIZE - 16, name);
	} else {
		snprintf(buffer, CLEW_SHORT_NAME_SIZE, "%s", kind);
	}
}
