/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attempts in vain, in words and in JSON. */
#include "words/tried.h"

#include <clew/tokens.h>
#include <inttypes.h>

#include "words/describe.h"
#include "words/object.h"
#include "words/task.h"

/* The words for a series, around the names of who tried and of the other one. */
static const struct {
	const char *before, *after;
	const char *relation; /* between the other one and who tried */
	const char *alone;    /* without another one */
} said[] = {
	[CLEW_TRIED_LOCK] = {", which ", " had locked", " had the lock for which ",
			     ", which another one had locked"},
	[CLEW_TRIED_CONNECT] = {": nobody listened; ", " did later", " listened later where ",
				": nobody listened"},
	[CLEW_TRIED_SAFEPOINT] = {", where ", " did not stop",
				  " did not stop at the safepoint for which ", ""},
};

static struct clew_object object_of(const struct clew_tried *tried)
{
	if (!tried->one)
		return (struct clew_object){.kind = CLEW_OBJECT_NONE, .descriptor = -1};
	return (struct clew_object){.kind = tried->what == CLEW_TRIED_LOCK ? CLEW_OBJECT_FILE
									   : CLEW_OBJECT_SOCKET,
				    .number = tried->one->object,
				    .device = tried->one->device,
				    .descriptor = -1};
}

static const char *call_of(const struct clew_tried *tried)
{
	switch (tried->what) {
	case CLEW_TRIED_LOCK:
		return clew_call_name(tried->one->call) ?: "lock";
	case CLEW_TRIED_CONNECT:
		return "connect";
	default:
		return "safepoint";
	}
}

void clew_print_tried(FILE *out, const struct clew_trace *trace, const struct clew_tried *tried)
{
	const struct clew_object object = object_of(tried);
	const bool lock = tried->what == CLEW_TRIED_LOCK;
	struct object_description described;

	if (tried->what == CLEW_TRIED_SAFEPOINT) {
		fputs("waited for a safepoint", out);
		return;
	}
	fprintf(out, "retried %s %s ", call_of(tried), lock ? "on" : "to");
	if (!lock && object_describe(trace, &object, NULL, &described) && described.peer.text[0])
		fputs(described.peer.text, out);
	else
		clew_print_object(out, trace, &object, NULL);
	fprintf(out, " %" PRIu32 " times", tried->times);
}

const char *clew_tried_before(const struct clew_tried *tried)
{
	return said[tried->what].before;
}

const char *clew_tried_after(const struct clew_tried *tried)
{
	return said[tried->what].after;
}

const char *clew_tried_relation(const struct clew_tried *tried)
{
	return said[tried->what].relation;
}

const char *clew_tried_alone(const struct clew_tried *tried)
{
	return said[tried->what].alone;
}

void clew_json_tried(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_sleep *sleep)
{
	const struct clew_tried *tried = clew_trace_tried(trace, sleep);
	struct clew_object object;
	uint8_t evidence;
	uint32_t other;

	if (!tried)
		return;
	object = object_of(tried);
	other = clew_trace_tried_other(trace, sleep, &evidence);
	clew_json_object(json, "tried");
	clew_json_string(json, "call", call_of(tried));
	clew_json_object_of(json, "object", trace, &object, NULL);
	clew_json_unsigned(json, "times", tried->times);
	clew_json_unsigned(json, "from", tried->from);
	clew_json_unsigned(json, "to", tried->to);
	if (other == CLEW_NO_TASK) {
		clew_json_null(json, "other");
	} else {
		clew_json_object(json, "other");
		clew_json_task_fields(json, trace, other, sleep->start);
		clew_json_string(json, "evidence", clew_evidence_name(evidence));
		clew_json_object_end(json);
	}
	clew_json_object_end(json);
}
