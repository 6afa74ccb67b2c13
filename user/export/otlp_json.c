/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace of OpenTelemetry in JSON: ids are hexadecimal, integers of 64 bits are strings, and enums
 * are numbers. Strict receivers want kind and status of each span.
 */
#include "export/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static void put_id(struct clew_json *json, const char *key, uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "%016" PRIx64, id);
	clew_json_string(json, key, text);
}

static void put_trace(struct clew_json *json, const struct otlp *otlp)
{
	char text[2 * OTLP_TRACE_SIZE + 1];

	for (unsigned i = 0; i < OTLP_TRACE_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", otlp->trace[i]);
	clew_json_string(json, "traceId", text);
}

static void put_decimal(struct clew_json *json, const char *key, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	clew_json_string(json, key, text);
}

static void put_attribute(struct clew_json *json, const struct otlp_attribute *attribute)
{
	clew_json_object(json, NULL);
	clew_json_string(json, "key", attribute->key);
	clew_json_object(json, "value");
	if (attribute->text)
		clew_json_string(json, "stringValue", attribute->text);
	else
		put_decimal(json, "intValue", attribute->number);
	clew_json_object_end(json);
	clew_json_object_end(json);
}

static void put_attributes(struct clew_json *json, const struct otlp *otlp,
			   const struct otlp_list *list)
{
	clew_json_array(json, "attributes");
	for (uint32_t i = 0; i < list->count; i++)
		put_attribute(json, otlp_attribute(otlp, list->first + i));
	clew_json_array_end(json);
}

static void put_link(struct clew_json *json, const struct otlp *otlp, const struct otlp_span *span)
{
	clew_json_array(json, "links");
	clew_json_object(json, NULL);
	put_trace(json, otlp);
	put_id(json, "spanId", span->cause);
	clew_json_array(json, "attributes");
	put_attribute(json, &(struct otlp_attribute){.key = "clew.type", .text = span->cause_type});
	put_attribute(json, &(struct otlp_attribute){.key = "clew.evidence",
						     .text = span->cause_evidence});
	clew_json_array_end(json);
	clew_json_object_end(json);
	clew_json_array_end(json);
}

static void put_span(struct clew_json *json, const struct otlp *otlp, const struct otlp_span *span)
{
	clew_json_object(json, NULL);
	put_trace(json, otlp);
	put_id(json, "spanId", span->id);
	if (span->parent)
		put_id(json, "parentSpanId", span->parent);
	clew_json_string(json, "name", span->name);
	clew_json_unsigned(json, "kind", span->kind);
	put_decimal(json, "startTimeUnixNano", (int64_t)span->start);
	put_decimal(json, "endTimeUnixNano", (int64_t)span->end);
	put_attributes(json, otlp, &span->attributes);
	if (span->cause)
		put_link(json, otlp, span);
	clew_json_object(json, "status");
	clew_json_unsigned(json, "code", 0);
	clew_json_object_end(json);
	clew_json_object_end(json);
}

int otlp_put_json(struct otlp *otlp, struct clew_json *json)
{
	size_t count;
	uint32_t *processes = otlp_processes(otlp, &count);
	int r = processes ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < count; i++) {
		struct otlp_list list;

		r = otlp_resource(otlp, processes[i], &list);
		if (r < 0)
			break;
		clew_json_object(json, NULL);
		clew_json_object(json, "resource");
		put_attributes(json, otlp, &list);
		clew_json_object_end(json);
		clew_json_array(json, "scopeSpans");
		clew_json_object(json, NULL);
		clew_json_object(json, "scope");
		clew_json_string(json, "name", "clew");
		clew_json_object_end(json);
		clew_json_array(json, "spans");
		for (size_t k = 0; k < otlp->spans.count; k++)
			if (otlp_span(otlp, k)->process == processes[i])
				put_span(json, otlp, otlp_span(otlp, k));
		clew_json_array_end(json);
		clew_json_object_end(json);
		clew_json_array_end(json);
		clew_json_object_end(json);
	}
	free(processes);
	return r;
}
