/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls of functions and announced calls as a stream of packets, which docs/clew.proto describes.
 * The numbers of fields are those there. Threads and functions are described when first needed.
 */
#include "export/calls.h"

#include <errno.h>

#include "base/map.h"
#include "builder/findings.h"
#include "export/proto.h"
#include "words/frame.h"

#define SECOND UINT64_C(1000000000)

/* Trace, Packet */
enum { PACKET = 1 };
enum { CAPTURE = 1, THREAD, FUNCTION, FUNCTION_CALL, FUNCTION_RETURN, LOSS };
enum { CAPTURE_START = 1, CAPTURE_END, CAPTURE_WALL, CAPTURE_HOST, CAPTURE_KERNEL };
enum {
	THREAD_ID = 1,
	THREAD_TID,
	THREAD_PID,
	THREAD_NAME,
	THREAD_COMMAND_LINE,
	THREAD_EXECUTABLE,
};
enum {
	FUNCTION_ID = 1,
	FUNCTION_KIND,
	FUNCTION_NAME,
	FUNCTION_READABLE,
	FUNCTION_FILE,
	FUNCTION_OFFSET,
	FUNCTION_BUILD_ID,
	FUNCTION_INTERFACE,
	FUNCTION_OPERATION,
};
enum { KIND_TRACED = 1, KIND_ANNOUNCED };
enum {
	CALL_ID = 1,
	CALL_TIME,
	CALL_THREAD,
	CALL_FUNCTION,
	CALL_PARENT,
	CALL_ARGUMENT,
	CALL_INHERITED,
	CALL_CORRELATION,
};
enum {
	RETURN_CALL = 1,
	RETURN_TIME,
	RETURN_THREAD,
	RETURN_END,
	RETURN_RESULT,
	RETURN_SELF,
	RETURN_PROBE,
	RETURN_INFERRED,
	RETURN_INCLUSIVE,
};
enum { VALUE_NAME = 1, VALUE_TEXT, VALUE_NUMBER, VALUE_UNSIGNED, VALUE_ADDRESS };
enum {
	CORRELATION_TOKEN = 1,
	CORRELATION_KEY,
	CORRELATION_ATTRIBUTE,
	CORRELATION_CALLS,
	CORRELATION_ASYNCHRONOUS,
	CORRELATION_CALLER,
	CORRELATION_EVIDENCE,
	CORRELATION_BRIDGED,
};
enum { DESCRIPTOR_TYPE = 1, DESCRIPTOR_VALUE };
enum { LOSS_FROM = 1, LOSS_TO, LOSS_CPU, LOSS_RECORDS };
enum { SECONDS = 1, NANOSECONDS };

struct writing {
	const struct clew_export *export;
	struct proto packet;
	struct proto packed;  /* numbers of one field */
	uint64_t wall;	      /* minus the monotonic clock */
	struct map threads;   /* those that are described, by serial */
	struct map traced;    /* number of a function -> id */
	struct map announced; /* hash of an announced name -> id */
	uint32_t functions;   /* ids so far */
};

/* ---- parts ---- */

/* A field that is nothing if it is zero or empty. */
static void put_number(struct proto *proto, unsigned field, uint64_t value)
{
	if (value)
		proto_number(proto, field, value);
}

static void put_text(struct proto *proto, unsigned field, const char *text)
{
	if (text && text[0])
		proto_string(proto, field, text);
}

static void put_time(struct writing *it, unsigned field, uint64_t at)
{
	size_t opened = proto_open(&it->packet, field);

	put_number(&it->packet, SECONDS, (at + it->wall) / SECOND);
	put_number(&it->packet, NANOSECONDS, (at + it->wall) % SECOND);
	proto_close(&it->packet, opened);
}

/* Ends a packet whose content was opened. */
static int send_packet(struct writing *it, size_t opened)
{
	proto_close(&it->packet, opened);
	if (it->packet.failed || it->packed.failed)
		return -ENOMEM;
	proto_write(&it->packet, PACKET, it->export->out);
	proto_clear(&it->packet);
	return 0;
}

static int put_capture(struct writing *it)
{
	const struct clew_trace *trace = it->export->trace;
	size_t opened = proto_open(&it->packet, CAPTURE);

	put_time(it, CAPTURE_START, clew_trace_start(trace));
	put_time(it, CAPTURE_END, clew_trace_end(trace));
	put_number(&it->packet, CAPTURE_WALL, it->wall);
	put_text(&it->packet, CAPTURE_HOST, clew_trace_meta(trace, "host"));
	put_text(&it->packet, CAPTURE_KERNEL, clew_trace_meta(trace, "kernel"));
	return send_packet(it, opened);
}

static int put_losses(struct writing *it)
{
	const struct clew_capture_info *info = clew_trace_info(it->export->trace);
	int r = 0;

	for (size_t i = 0; info && i < info->gap_count && r >= 0; i++) {
		const struct clew_gap *gap = &info->gaps[i];
		size_t opened;

		if (!clew_export_has(it->export, gap->from, gap->header.time))
			continue;
		opened = proto_open(&it->packet, LOSS);
		put_time(it, LOSS_FROM, gap->from);
		put_time(it, LOSS_TO, gap->header.time);
		put_number(&it->packet, LOSS_CPU, gap->header.cpu);
		put_number(&it->packet, LOSS_RECORDS, gap->count);
		r = send_packet(it, opened);
	}
	return r;
}

/* ---- what events refer to ---- */

/* Describes a thread unless it is; serials are ids. */
static int describe_thread(struct writing *it, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(it->export->trace, serial);
	size_t opened;

	if (!task || map_get(&it->threads, serial, 0))
		return 0;
	if (map_set(&it->threads, serial, 0, 1) < 0)
		return -ENOMEM;
	opened = proto_open(&it->packet, THREAD);
	put_number(&it->packet, THREAD_ID, serial);
	put_number(&it->packet, THREAD_TID, task->tid);
	put_number(&it->packet, THREAD_PID, task->pid);
	put_text(&it->packet, THREAD_NAME, task->comm);
	put_text(&it->packet, THREAD_COMMAND_LINE, task->command_line);
	put_text(&it->packet, THREAD_EXECUTABLE, task->executable);
	return send_packet(it, opened);
}

static void put_traced(struct writing *it, uint32_t number)
{
	const struct clew_trace_function *function = clew_trace_function(it->export->trace, number);

	proto_number(&it->packet, FUNCTION_KIND, KIND_TRACED);
	if (!function)
		return;
	put_text(&it->packet, FUNCTION_NAME, function->name);
	put_text(&it->packet, FUNCTION_READABLE, function->readable);
	put_text(&it->packet, FUNCTION_FILE, function->object);
	put_number(&it->packet, FUNCTION_OFFSET, function->offset);
	if (function->build_id_size)
		proto_bytes(&it->packet, FUNCTION_BUILD_ID, function->build_id,
			    function->build_id_size);
}

static void put_announced(struct writing *it, const struct export_call *call)
{
	char name[2 * CLEW_ANNOUNCE_TEXT];

	snprintf(name, sizeof(name), "%s.%s", call->activity->interface, call->activity->operation);
	proto_number(&it->packet, FUNCTION_KIND, KIND_ANNOUNCED);
	put_text(&it->packet, FUNCTION_NAME, name);
	put_text(&it->packet, FUNCTION_INTERFACE, call->activity->interface);
	put_text(&it->packet, FUNCTION_OPERATION, call->activity->operation);
}

/* Describes the function of a call unless it is. */
static int describe_function(struct writing *it, const struct export_call *call, uint64_t *ret_id)
{
	struct map *map = call->frame ? &it->traced : &it->announced;
	uint64_t key = call->frame ? call->frame->function : call->activity->name;
	const uint64_t *known = map_get(map, key, 0);
	size_t opened;

	if (known) {
		*ret_id = *known;
		return 0;
	}
	*ret_id = ++it->functions;
	if (map_set(map, key, 0, *ret_id) < 0)
		return -ENOMEM;
	opened = proto_open(&it->packet, FUNCTION);
	proto_number(&it->packet, FUNCTION_ID, *ret_id);
	if (call->frame)
		put_traced(it, call->frame->function);
	else
		put_announced(it, call);
	return send_packet(it, opened);
}

/* ---- events ---- */

static void put_value(struct proto *proto, unsigned field, const struct clew_frame_value *value)
{
	size_t opened = proto_open(proto, field);

	put_text(proto, VALUE_NAME, value->name);
	/* A member of a oneof is there even if it is zero. */
	if (value->text)
		proto_string(proto, VALUE_TEXT, value->text);
	else if (value->has_number && value->is_address)
		proto_fixed(proto, VALUE_ADDRESS, value->number);
	else if (value->has_number)
		proto_number(proto, value->is_signed ? VALUE_NUMBER : VALUE_UNSIGNED,
			     value->number);
	proto_close(proto, opened);
}

static void put_argument(void *context, const struct clew_frame_value *value)
{
	if (value->name)
		put_value(context, CALL_ARGUMENT, value);
}

static void put_result(void *context, const struct clew_frame_value *value)
{
	if (!value->name)
		put_value(context, RETURN_RESULT, value);
}

static void put_descriptors(struct proto *proto, unsigned field,
			    const struct clew_descriptor *descriptors, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		size_t opened = proto_open(proto, field);

		proto_string(proto, DESCRIPTOR_TYPE, descriptors[i].type);
		put_text(proto, DESCRIPTOR_VALUE, descriptors[i].value);
		proto_close(proto, opened);
	}
}

static void put_relation(struct writing *it, const struct clew_activity *activity)
{
	size_t count;
	const struct clew_relation *relation =
		activity->relation == CLEW_NO_NUMBER
			? NULL
			: clew_relations_list(it->export->relations, &count) + activity->relation;

	if (!relation)
		return;
	proto_clear(&it->packed);
	for (uint32_t i = 0; i < relation->upper_count; i++)
		proto_packed(
			&it->packed,
			export_activity_id(it->export, clew_relations_upper(it->export->relations,
									    relation, i)));
	proto_message(&it->packet, CORRELATION_CALLER, &it->packed);
	proto_number(&it->packet, CORRELATION_EVIDENCE, relation->evidence + 1u);
	put_number(&it->packet, CORRELATION_BRIDGED, relation->bridged);
}

static void put_correlation(struct writing *it, const struct clew_activity *activity)
{
	struct proto *packet = &it->packet;
	size_t opened = proto_open(packet, CALL_CORRELATION);

	put_number(packet, CORRELATION_TOKEN, activity->token);
	put_descriptors(packet, CORRELATION_KEY, activity->descriptors, activity->descriptor_count);
	put_descriptors(packet, CORRELATION_ATTRIBUTE,
			activity->descriptors + activity->descriptor_count,
			activity->attribute_count);
	put_text(packet, CORRELATION_CALLS, activity->calls);
	put_number(packet, CORRELATION_ASYNCHRONOUS, activity->is_async);
	put_relation(it, activity);
	proto_close(packet, opened);
}

static int put_call(struct writing *it, const struct export_call *call)
{
	uint64_t function = 0;
	size_t opened;
	int r = describe_thread(it, call->task);

	if (r >= 0)
		r = describe_function(it, call, &function);
	if (r < 0)
		return r;
	opened = proto_open(&it->packet, FUNCTION_CALL);
	proto_number(&it->packet, CALL_ID, call->id);
	put_time(it, CALL_TIME, call->start);
	put_number(&it->packet, CALL_THREAD, call->task);
	proto_number(&it->packet, CALL_FUNCTION, function);
	put_number(&it->packet, CALL_PARENT, call->parent);
	if (call->frame) {
		clew_frame_values(it->export->trace, call->frame, put_argument, &it->packet);
		put_number(&it->packet, CALL_INHERITED,
			   !!(call->frame->flags & CLEW_FRAME_INHERITED));
	} else {
		put_correlation(it, call->activity);
	}
	return send_packet(it, opened);
}

static void put_end(struct writing *it, const struct export_call *call, uint32_t task)
{
	const struct clew_trace_frame *frame = call->frame;

	put_number(&it->packet, RETURN_THREAD, task);
	proto_number(&it->packet, RETURN_END, frame->closed + 1u);
	clew_frame_values(it->export->trace, frame, put_result, &it->packet);
	put_number(&it->packet, RETURN_SELF, frame->self);
	put_number(&it->packet, RETURN_PROBE, frame->probe);
	put_number(&it->packet, RETURN_INFERRED, !!(frame->flags & CLEW_FRAME_INFERRED));
	put_number(&it->packet, RETURN_INCLUSIVE, !!(frame->flags & CLEW_FRAME_INCLUSIVE));
}

static int put_return(struct writing *it, const struct export_call *call)
{
	const struct clew_frame_detail *detail =
		call->frame ? clew_trace_frame_detail(it->export->trace, call->frame) : NULL;
	uint32_t task = detail && detail->end_task != CLEW_NO_TASK ? detail->end_task : call->task;
	size_t opened;
	int r = describe_thread(it, task);

	if (r < 0)
		return r;
	opened = proto_open(&it->packet, FUNCTION_RETURN);
	proto_number(&it->packet, RETURN_CALL, call->id);
	put_time(it, RETURN_TIME, call->end);
	if (call->frame)
		put_end(it, call, task);
	return send_packet(it, opened);
}

static int take_event(void *context, const struct export_call *call, bool ends)
{
	return ends ? put_return(context, call) : put_call(context, call);
}

int clew_export_proto(const struct clew_export *export)
{
	const struct clew_capture_info *info = clew_trace_info(export->trace);
	struct writing it = {.export = export};
	int r;

	if (info && info->clock_count)
		it.wall = info->clocks[0].wall - info->clocks[0].monotonic;
	r = put_capture(&it);
	if (r >= 0)
		r = put_losses(&it);
	if (r >= 0)
		r = export_calls(export, take_event, &it);
	proto_done(&it.packet);
	proto_done(&it.packed);
	map_done(&it.threads);
	map_done(&it.traced);
	map_done(&it.announced);
	return r;
}
