/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations as traces of OpenTelemetry: one trace each, made by otlp_build() and written in JSON
 * or in protocol buffers. Field numbers are those of opentelemetry/proto/trace/v1/trace.proto.
 */
#ifndef CLEW_EXPORT_OTLP_H
#define CLEW_EXPORT_OTLP_H

#include "base/vector.h"
#include "export/export.h"
#include "export/proto.h"
#include "format/json.h"

#define OTLP_TRACE_SIZE 16 /* bytes of a trace's id; that of a span has 8 */

struct otlp_attribute {
	const char *key;
	const char *text; /* NULL: a number */
	int64_t number;
};

struct otlp_list {
	uint32_t first; /* index of the trace's attributes */
	uint32_t count;
};

/* Span.SpanKind */
enum otlp_kind { OTLP_INTERNAL = 1, OTLP_SERVER, OTLP_CLIENT };

struct otlp_span {
	uint64_t id;
	uint64_t parent; /* 0 none */
	uint64_t start;	 /* ns since 1970 */
	uint64_t end;
	uint32_t process; /* serial */
	enum otlp_kind kind;
	const char *name;
	struct otlp_list attributes;
	/* A link to the span that ended this one; 0: none. */
	uint64_t cause;
	const char *cause_type;
	const char *cause_evidence;
};

/* The trace of one operation. A span stands behind its parent. */
struct otlp {
	const struct clew_export *export;
	uint8_t trace[OTLP_TRACE_SIZE];
	uint64_t wall; /* what is added to a moment of the capture, modulo 2^64 */
	struct vector spans;
	struct vector attributes;
	struct arena arena; /* texts */
};

/*
 * Makes the trace of an operation. Its ids depend on the capture and the operation alone; the id
 * of the trace and of the root's parent are those of the call's traceparent where one was
 * announced. 0 or -ENOMEM; free it with otlp_done() in either case.
 */
int otlp_build(const struct clew_export *export, const struct clew_operation *operation,
	       struct otlp *otlp);
void otlp_done(struct otlp *otlp);

/* ---- otlp_parent.c ---- */

/* Reads "00-TRACE-SPAN-FLAGS". False: it is none. */
bool otlp_read_parent(const char *text, uint8_t ret_trace[OTLP_TRACE_SIZE], uint64_t *ret_span);
/* The traceparent that was announced with the call that an operation is in, or with the first one
 * in it, or with one above these; NULL: none was. */
const char *otlp_parent_of(const struct clew_export *export,
			   const struct clew_operation *operation);

/* ---- otlp_endpoint.c ---- */

/* The side of a request that an operation is on: a client's or a server's. */
enum otlp_kind otlp_kind_of(const struct clew_operation *operation);
/* "request to 127.0.0.1:80", "request at 127.0.0.1:80". */
void otlp_name_request(const struct clew_trace *trace, const struct clew_operation *operation,
		       char *buffer, size_t size);
/* Adds the attributes of a request's connection; nothing of another operation. 0 or -ENOMEM. */
int otlp_add_endpoint(struct otlp *otlp, struct otlp_list *list,
		      const struct clew_operation *operation);

/* ---- otlp_spans.c: what the two encodings share ---- */

static inline const struct otlp_span *otlp_span(const struct otlp *otlp, size_t index)
{
	return (const struct otlp_span *)otlp->spans.data + index;
}

static inline const struct otlp_attribute *otlp_attribute(const struct otlp *otlp, size_t index)
{
	return (const struct otlp_attribute *)otlp->attributes.data + index;
}

/* The processes that spans are of, each once; the caller frees them. NULL: no memory. */
uint32_t *otlp_processes(const struct otlp *otlp, size_t *ret_count);
/* Adds the attributes of a process, which are its resource. 0 or -ENOMEM. */
int otlp_resource(struct otlp *otlp, uint32_t process, struct otlp_list *ret_list);
/* Adds to the last list; a text is copied, and NULL adds nothing. 0 or -ENOMEM. */
int otlp_add_text(struct otlp *otlp, struct otlp_list *list, const char *key, const char *text);
int otlp_add_number(struct otlp *otlp, struct otlp_list *list, const char *key, int64_t number);

/* ---- otlp_json.c, otlp_proto.c: elements of TracesData.resource_spans; 0 or -ENOMEM ---- */

int otlp_put_json(struct otlp *otlp, struct clew_json *json);
int otlp_put_proto(struct otlp *otlp, struct proto *proto);

#endif
