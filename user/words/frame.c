/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Activations of functions in words. See frame.h. */
#include "words/frame.h"

#include <clew/tokens.h>
#include <string.h>

const char *clew_frame_closed_text(unsigned closed)
{
	static const char *const texts[CLEW_FRAME_CLOSED_COUNT] = {
		[CLEW_FRAME_RETURNED] = "returned",
		[CLEW_FRAME_TAIL_CALL] = "left by a tail call",
		[CLEW_FRAME_LONGJMP] = "left by longjmp",
		[CLEW_FRAME_EXCEPTION] = "left by an exception",
		[CLEW_FRAME_EXIT] = "ended with the thread",
		[CLEW_FRAME_CANCELED] = "ended with a canceled thread",
		[CLEW_FRAME_CRASH] = "ended by a signal",
		[CLEW_FRAME_EXEC] = "ended by exec",
		[CLEW_FRAME_UNWOUND] = "left unseen",
		[CLEW_FRAME_LOST] = "lost from sight with lost records",
		[CLEW_FRAME_OPEN] = "not over",
	};

	return closed < CLEW_FRAME_CLOSED_COUNT ? texts[closed] : "?";
}

/* Numbers that were read: of each eight bytes. The arguments would say which values are texts. */
static void json_values(struct clew_json *json, const struct clew_frame_detail *detail)
{
	uint64_t value;

	clew_json_object(json, "args");
	clew_json_object_end(json);
	if (!detail || detail->unread >> 15 || detail->returned_size != sizeof(value)) {
		clew_json_null(json, "ret");
		return;
	}
	memcpy(&value, detail->values + detail->values_size, sizeof(value));
	clew_json_signed(json, "ret", (int64_t)value);
}

void clew_json_frame_fields(struct clew_json *json, const struct clew_trace *trace,
			    const struct clew_trace_task *task,
			    const struct clew_trace_frame *frame)
{
	const struct clew_trace_function *function = clew_trace_function(trace, frame->function);
	const struct clew_frame_detail *detail = clew_trace_frame_detail(trace, frame);
	const struct clew_trace_frame *parent = clew_trace_frame_parent(trace, frame);
	const struct clew_trace_task *end = NULL;

	if (detail && detail->end_task != CLEW_NO_TASK)
		end = clew_trace_task(trace, detail->end_task);
	clew_json_string(json, "name", function ? function->name : NULL);
	clew_json_unsigned(json, "pid", task->pid);
	clew_json_unsigned(json, "start_tid", task->tid);
	clew_json_unsigned(json, "end_tid", end ? end->tid : task->tid);
	clew_json_unsigned(json, "start", frame->start);
	clew_json_known(json, "end", frame->end, CLEW_TIME_OPEN);
	clew_json_string(json, "closed", clew_frame_closed_name(frame->closed));
	if (parent)
		clew_json_unsigned(json, "parent", parent->start);
	else
		clew_json_null(json, "parent");
	clew_json_unsigned(json, "depth", frame->depth);
	clew_json_unsigned(json, "self_ns", frame->self);
	clew_json_unsigned(json, "probe_ns", frame->probe);
	json_values(json, detail);
	clew_json_bool(json, "inherited", frame->flags & CLEW_FRAME_INHERITED);
	clew_json_bool(json, "inclusive", frame->flags & CLEW_FRAME_INCLUSIVE);
	clew_json_bool(json, "inferred", frame->flags & CLEW_FRAME_INFERRED);
}
