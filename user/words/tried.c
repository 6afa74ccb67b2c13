/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attempts in vain, in words and in JSON. */
#include "words/tried.h"

#include <clew/tokens.h>
#include <inttypes.h>

#include "words/describe.h"
#include "words/object.h"
#include "words/task.h"

static bool is_lock(const struct clew_tried *tried)
{
	return tried->one->header.flags == CLEW_FAILED_LOCK;
}

static struct clew_object object_of(const struct clew_tried *tried)
{
	return (struct clew_object){.kind = is_lock(tried) ? CLEW_OBJECT_FILE : CLEW_OBJECT_SOCKET,
				    .number = tried->one->object,
				    .device = tried->one->device,
				    .descriptor = -1};
}

static const char *call_of(const struct clew_tried *tried)
{
	return is_lock(tried) ? clew_call_name(tried->one->call) ?: "lock" : "connect";
}

void clew_print_tried(FILE *out, const struct clew_trace *trace, const struct clew_tried *tried)
{
	const struct clew_object object = object_of(tried);
	struct object_description described;

	fprintf(out, "retried %s %s ", call_of(tried), is_lock(tried) ? "on" : "to");
	if (!is_lock(tried) && object_describe(trace, &object, NULL, &described) &&
	    described.peer.text[0])
		fputs(described.peer.text, out);
	else
		clew_print_object(out, trace, &object, NULL);
	fprintf(out, " %" PRIu32 " times", tried->times);
}

const char *clew_tried_before(const struct clew_tried *tried)
{
	return is_lock(tried) ? ", which " : ": nobody listened; ";
}

const char *clew_tried_after(const struct clew_tried *tried)
{
	return is_lock(tried) ? " had locked" : " did later";
}

const char *clew_tried_relation(const struct clew_tried *tried)
{
	return is_lock(tried) ? " had the lock for which " : " listened later where ";
}

const char *clew_tried_alone(const struct clew_tried *tried)
{
	return is_lock(tried) ? ", which another one had locked" : ": nobody listened";
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
