/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A trace of OpenTelemetry in protocol buffers. */
#include "export/otlp.h"

#include <errno.h>
#include <stdlib.h>

/* TracesData, ResourceSpans, ScopeSpans; common.v1.KeyValue, AnyValue */
enum { RESOURCE_SPANS = 1, RESOURCE = 1, SCOPE_SPANS, SCOPE = 1, SPANS, SCOPE_NAME = 1 };
enum { RESOURCE_ATTRIBUTES = 1, KEY = 1, VALUE, VALUE_TEXT = 1, VALUE_NUMBER = 3 };
/* Span */
enum {
	SPAN_TRACE = 1,
	SPAN_ID,
	SPAN_PARENT = 4,
	SPAN_NAME,
	SPAN_KIND,
	SPAN_START,
	SPAN_END,
	SPAN_ATTRIBUTES,
	SPAN_LINKS = 13,
	SPAN_STATUS = 15,
};
/* Span.Link, whose first two are those of a span; Status */
enum { LINK_ATTRIBUTES = 4, STATUS_CODE = 3 };

/* Ids are bytes, the most significant one first. */
static void put_id(struct proto *proto, unsigned field, uint64_t id)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(id >> 8 * (7 - i));
	proto_bytes(proto, field, bytes, sizeof(bytes));
}

static void put_attribute(struct proto *proto, unsigned field,
			  const struct otlp_attribute *attribute)
{
	size_t opened = proto_open(proto, field), value;

	proto_string(proto, KEY, attribute->key);
	value = proto_open(proto, VALUE);
	if (attribute->text)
		proto_string(proto, VALUE_TEXT, attribute->text);
	else
		proto_number(proto, VALUE_NUMBER, (uint64_t)attribute->number);
	proto_close(proto, value);
	proto_close(proto, opened);
}

static void put_attributes(struct proto *proto, unsigned field, const struct otlp *otlp,
			   const struct otlp_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		put_attribute(proto, field, otlp_attribute(otlp, list->first + i));
}

static void put_link(struct proto *proto, const struct otlp *otlp, const struct otlp_span *span)
{
	size_t opened = proto_open(proto, SPAN_LINKS);

	proto_bytes(proto, SPAN_TRACE, otlp->trace, OTLP_TRACE_SIZE);
	put_id(proto, SPAN_ID, span->cause);
	put_attribute(proto, LINK_ATTRIBUTES,
		      &(struct otlp_attribute){.key = "clew.type", .text = span->cause_type});
	put_attribute(
		proto, LINK_ATTRIBUTES,
		&(struct otlp_attribute){.key = "clew.evidence", .text = span->cause_evidence});
	proto_close(proto, opened);
}

static void put_span(struct proto *proto, const struct otlp *otlp, const struct otlp_span *span)
{
	size_t opened = proto_open(proto, SPANS), status;

	proto_bytes(proto, SPAN_TRACE, otlp->trace, OTLP_TRACE_SIZE);
	put_id(proto, SPAN_ID, span->id);
	if (span->parent)
		put_id(proto, SPAN_PARENT, span->parent);
	proto_string(proto, SPAN_NAME, span->name);
	proto_number(proto, SPAN_KIND, span->kind);
	proto_fixed(proto, SPAN_START, span->start);
	proto_fixed(proto, SPAN_END, span->end);
	put_attributes(proto, SPAN_ATTRIBUTES, otlp, &span->attributes);
	if (span->cause)
		put_link(proto, otlp, span);
	status = proto_open(proto, SPAN_STATUS);
	proto_number(proto, STATUS_CODE, 0);
	proto_close(proto, status);
	proto_close(proto, opened);
}

int otlp_put_proto(struct otlp *otlp, struct proto *proto)
{
	size_t count, resource_spans, part, scope;
	uint32_t *processes = otlp_processes(otlp, &count);
	int r = processes ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < count; i++) {
		struct otlp_list list;

		r = otlp_resource(otlp, processes[i], &list);
		if (r < 0)
			break;
		resource_spans = proto_open(proto, RESOURCE_SPANS);
		part = proto_open(proto, RESOURCE);
		put_attributes(proto, RESOURCE_ATTRIBUTES, otlp, &list);
		proto_close(proto, part);
		part = proto_open(proto, SCOPE_SPANS);
		scope = proto_open(proto, SCOPE);
		proto_string(proto, SCOPE_NAME, "clew");
		proto_close(proto, scope);
		for (size_t k = 0; k < otlp->spans.count; k++)
			if (otlp_span(otlp, k)->process == processes[i])
				put_span(proto, otlp, otlp_span(otlp, k));
		proto_close(proto, part);
		proto_close(proto, resource_spans);
	}
	free(processes);
	return r < 0 ? r : proto->failed ? -ENOMEM : 0;
}
