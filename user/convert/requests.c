/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests, and back: children of the span of their device, without call and
 * return as they overlap. A request waits in kind `queued` until it is issued;
 * then it runs.
 */
#include "base/device.h"
#include "convert/to_trace.h"
#include "trace/name.h"
#include <clew/tokens.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- from a trace to a model ---- */

struct extent {
	uint64_t start, end;
};

static struct extent extent_of(const struct conversion *conversion,
			       const struct clew_trace_request *request)
{
	const struct clew_block_request *block = &request->block;
	struct extent extent = {.start = block->queued	 ? block->queued
					 : block->issued ? block->issued
							 : block->completed,
				.end = request->until == CLEW_TIME_OPEN ? conversion->end
									: request->until};

	if (extent.start == 0)
		extent.start = conversion->trace->start;
	if (extent.end < extent.start)
		extent.end = extent.start;
	return extent;
}

static int make_device(struct conversion *conversion, uint32_t device, struct extent extent,
		       uint32_t *ret_span)
{
	uint32_t category, attributes;
	char name[DEVICE_TEXT_SIZE], disk[CLEW_TEXT_SIZE];
	int r;

	device_text(device, name);
	r = clew_maker_category(conversion->maker, conversion->devices, CLEW_NONE, name, &category);
	if (r == 0)
		r = clew_maker_root(conversion->maker, name, (clew_time)extent.start,
				    (clew_time)extent.end, ret_span);
	if (r == 0)
		r = clew_maker_place(conversion->maker, *ret_span, category);
	if (r < 0)
		return r;
	pairs_add(&conversion->pairs, ATTRIBUTE_DEV, name);
	clew_disk_name(conversion->trace, device, disk, sizeof(disk));
	if (strcmp(disk, name))
		pairs_add(&conversion->pairs, ATTRIBUTE_DISK, disk);
	r = pairs_make(&conversion->pairs, conversion->maker, &attributes);
	return r < 0 ? r : clew_maker_set_span_attributes(conversion->maker, *ret_span, attributes);
}

/* Makes the spans of devices; each covers the trace and all of its requests. */
static int make_devices(struct conversion *conversion, struct map *devices)
{
	struct vector *extents = &conversion->device_extents, order = {.item = sizeof(uint32_t)};
	int r = 0;

	extents->item = sizeof(struct extent);
	for (size_t i = 0; i < conversion->request_count && r == 0; i++) {
		const struct clew_block_request *block = &conversion->requests[i].block;
		struct extent extent = extent_of(conversion, &conversion->requests[i]), *whole;
		const uint64_t *known = map_get(devices, block->device, 0);

		if (!known) {
			if (vector_reserve(extents, extents->count + 1) < 0 ||
			    vector_reserve(&order, order.count + 1) < 0 ||
			    map_set(devices, block->device, 0, extents->count) < 0) {
				r = -ENOMEM;
				break;
			}
			((uint32_t *)order.data)[order.count++] = block->device;
			((struct extent *)extents->data)[extents->count++] =
				(struct extent){conversion->trace->start, conversion->end};
			known = map_get(devices, block->device, 0);
		}
		whole = (struct extent *)extents->data + *known;
		whole->start = extent.start < whole->start ? extent.start : whole->start;
		whole->end = extent.end > whole->end ? extent.end : whole->end;
	}
	for (size_t i = 0; i < order.count && r == 0; i++) {
		uint32_t span;

		r = make_device(conversion, ((uint32_t *)order.data)[i],
				((struct extent *)extents->data)[i], &span);
		if (r == 0 && map_set(devices, ((uint32_t *)order.data)[i], 0, span) < 0)
			r = -ENOMEM;
	}
	vector_done(&order);
	return r;
}

/* True if the span implies when the request was queued, issued and completed.
 * Most do, and then leave out the attribute. */
static bool says_times(const struct clew_block_request *block, struct extent extent)
{
	bool issued = block->issued >= extent.start &&
		      (block->issued < extent.end || extent.start == extent.end);
	bool never = block->issued == 0 && extent.start < extent.end;

	return block->queued && block->queued == extent.start && (issued || never) &&
	       block->completed == extent.end && !block->reused;
}

static void describe_times(struct pairs *pairs, const struct clew_block_request *block)
{
	PAIRS_ROW(pairs, ATTRIBUTE_SINCE, {block->queued}, {block->issued}, {block->completed});
	if (block->reused)
		pairs_row_field(pairs, (union attribute_field){block->reused});
}

static void describe_request(struct conversion *conversion,
			     const struct clew_trace_request *request, struct extent extent)
{
	const struct clew_block_request *block = &request->block;
	struct pairs *pairs = &conversion->pairs;

	if (block->sector != UINT64_MAX)
		pairs_add_number(pairs, ATTRIBUTE_SECTOR, block->sector);
	pairs_add_number(pairs, ATTRIBUTE_BYTES, block->bytes);
	pairs_add(pairs, ATTRIBUTE_OP, clew_request_operation_name(block->operation, block->bytes));
	pairs_add_number(pairs, ATTRIBUTE_OPERATION_CODE, block->operation);
	if (block->submitter)
		pairs_add(pairs, ATTRIBUTE_SUBMITTER,
			  capture_name_of(conversion, block->submitter));
	if (block->inode || block->index || block->file_device) {
		const char *path;

		clew_trace_file_at(conversion->trace, block->file_device, block->inode,
				   block->queued, &path);
		capture_object_pairs(conversion,
				     &(struct clew_object){.kind = CLEW_OBJECT_FILE,
							   .number = block->inode,
							   .device = block->file_device},
				     path, false);
		PAIRS_ROW(pairs, ATTRIBUTE_FILE, {block->file_device}, {block->inode},
			  {block->index});
	}
	if (block->released)
		PAIRS_ROW(pairs, ATTRIBUTE_LIMIT, {block->released}, {block->group},
			  {block->limited});
	if (!says_times(block, extent))
		describe_times(pairs, block);
	capture_describe_pages(conversion, request);
	if (request->lower_count)
		pairs_row_begin(pairs, ATTRIBUTE_BELOW, "");
	for (uint32_t i = 0; i < request->lower_count; i++)
		pairs_row_field(pairs, (union attribute_field){request->lower[i]});
}

int capture_make_device_spans(struct conversion *conversion)
{
	struct map devices = {0};
	char name[64];
	int r;

	conversion->first_device = conversion->actor_count + conversion->cpu_count;
	r = make_devices(conversion, &devices);
	conversion->root_count = conversion->first_device + (uint32_t)devices.count;
	conversion->span_count = conversion->root_count + (uint32_t)conversion->request_count;
	for (size_t i = 0; i < conversion->request_count && r == 0; i++) {
		const struct clew_block_request *block = &conversion->requests[i].block;
		struct extent extent = extent_of(conversion, &conversion->requests[i]);
		const char *operation = clew_request_operation_name(block->operation, block->bytes);
		uint32_t span, attributes;

		if (block->sector == UINT64_MAX || block->bytes == 0)
			snprintf(name, sizeof(name), "%s", operation);
		else
			snprintf(name, sizeof(name), "%s %llu+%u", operation,
				 (unsigned long long)block->sector, block->bytes / 512);
		r = clew_maker_child_alone(conversion->maker,
					   (uint32_t)*map_get(&devices, block->device, 0), name,
					   (clew_time)extent.start, (clew_time)extent.end, &span);
		if (r < 0)
			break;
		describe_request(conversion, &conversion->requests[i], extent);
		r = pairs_make(&conversion->pairs, conversion->maker, &attributes);
		if (r == 0)
			r = clew_maker_set_span_attributes(conversion->maker, span, attributes);
	}
	map_done(&devices);
	return r;
}

int capture_emit_devices(struct conversion *conversion)
{
	uint32_t queued, held;
	int r = capture_wait_row(conversion, CLEW_SEGMENT_QUEUED, CLEW_NONE, &queued);

	if (r == 0)
		r = capture_wait_row(conversion, CLEW_WAIT_THROTTLE, CLEW_NONE, &held);

	for (uint32_t span = conversion->first_device; span < conversion->root_count && r == 0;
	     span++) {
		const struct extent *extent =
			(const struct extent *)conversion->device_extents.data +
			(span - conversion->first_device);

		capture_span_begin(conversion, span, extent->start);
		r = capture_span_end(conversion, extent->end);
	}
	for (uint32_t i = 0; i < conversion->request_count && r == 0; i++) {
		const struct clew_block_request *block = &conversion->requests[i].block;
		struct extent extent = extent_of(conversion, &conversion->requests[i]);
		uint64_t issued = block->issued == 0 || block->issued > extent.end ? extent.end
										   : block->issued;
		uint64_t released;

		released = block->released > issued ? issued : block->released;
		capture_span_begin(conversion, conversion->root_count + i, extent.start);
		if (released > extent.start)
			r = capture_gap(conversion, extent.start, released, held);
		else
			released = extent.start;
		if (r == 0 && issued > released)
			r = capture_gap(conversion, released, issued, queued);
		if (r == 0)
			r = capture_span_end(conversion, extent.end);
	}
	return r;
}

/* ---- and back ---- */

static int take_below(struct back *back, const struct values *values, uint32_t number)
{
	int r = back_row(back, ATTRIBUTE_BELOW, values);
	size_t count = r > 0 ? back->row.count : 0;

	r = r < 0 ? r : 0;
	for (size_t i = 0; i < count && r == 0; i++) {
		struct clew_below below = {.upper = number,
					   .lower = (uint32_t)row_fields(&back->row)[i].number};

		r = trace_take(back->trace,
			       (struct clew_finding){.tag = CLEW_FINDING_BELOW, .below = &below});
	}
	return r;
}

/* Without the attribute: the request is issued where its gap ends, and
 * completed where its span ends. */
static void take_times(const struct back *back, uint32_t span, struct clew_block_request *block)
{
	const struct clew_model *model = back->model;
	const struct clew_range *range = &model->spans[span].elementary;
	uint32_t es = range->first + range->count - 1;

	while (es > range->first && model->es[es].start == model->es[es - 1].end)
		es--;
	block->queued = (uint64_t)model->spans[span].start;
	block->completed = (uint64_t)model->spans[span].end;
	/* A gap up to the end means that the request was never issued. */
	if (!back->from_capture || es == range->first ||
	    model->es[es].start < model->spans[span].end)
		block->issued = (uint64_t)model->es[es].start;
}

/* When it was queued, issued and completed. */
static int take_moments(struct back *back, const struct values *values, uint32_t span,
			struct clew_block_request *block)
{
	int r = back_row(back, ATTRIBUTE_SINCE, values);
	const union attribute_field *times = row_fields(&back->row);

	if (r < 0)
		return r;
	if (r == 0 || back->row.count < 3) {
		take_times(back, span, block);
		return 0;
	}
	block->queued = times[0].number;
	block->issued = times[1].number;
	block->completed = times[2].number;
	if (back->row.count > 3)
		block->reused = times[3].number;
	return 0;
}

static int take_file(struct back *back, const struct values *values,
		     struct clew_block_request *block)
{
	int r = back_row(back, ATTRIBUTE_FILE, values);
	const union attribute_field *fields = row_fields(&back->row);

	if (r <= 0)
		return r;
	block->file_device = (uint32_t)fields[0].number;
	block->inode = fields[1].number;
	block->index = fields[2].number;
	return 0;
}

static int take_reason(struct back *back, const struct values *values,
		       struct clew_block_request *block)
{
	const char *word = values->of[ATTRIBUTE_REASON];
	int reason = word ? clew_request_reason_from_name(word) : 0;

	if (values->of[ATTRIBUTE_SUBMITTER])
		block->submitter = back_serial(back, values->of[ATTRIBUTE_SUBMITTER]);
	if (values->of[ATTRIBUTE_REASON_BY])
		block->reason_task = back_serial(back, values->of[ATTRIBUTE_REASON_BY]);
	block->swap = values->of[ATTRIBUTE_SWAP] != NULL;
	if (reason < 0)
		return back_fail(back, "reason=%.40s: this is no reason of a request", word);
	block->reason = (uint8_t)reason;
	return 0;
}

static int take_limit(struct back *back, const struct values *values,
		      struct clew_block_request *block)
{
	int r = back_row(back, ATTRIBUTE_LIMIT, values);
	const union attribute_field *fields = row_fields(&back->row);

	if (r <= 0)
		return r;
	block->released = fields[0].number;
	block->group = fields[1].number;
	block->limited = fields[2].number;
	return 0;
}

static int take_request(struct back *back, uint32_t span, uint32_t number)
{
	const struct clew_model *model = back->model;
	const char *device = clew_model_attribute(
		model, model->spans[model->spans[span].parent].attributes, "dev");
	const struct values *values = back_values(back, model->spans[span].attributes);
	struct clew_block_request block = {.number = number, .sector = UINT64_MAX};
	uint64_t bytes = 0, operation = 0;
	int r;

	if (!device || !scan_value_device(&device, &block.device))
		return back_fail(back, "a device's span needs dev=MAJOR:MINOR");
	r = BACK_NUMBERS(back, values, {ATTRIBUTE_SECTOR, &block.sector}, {ATTRIBUTE_BYTES, &bytes},
			 {ATTRIBUTE_OPERATION_CODE, &operation});
	block.bytes = (uint32_t)bytes;
	block.operation = (uint32_t)operation;
	if (r == 0)
		r = take_moments(back, values, span, &block);
	if (r == 0)
		r = take_limit(back, values, &block);
	if (r == 0)
		r = take_file(back, values, &block);
	if (r == 0)
		r = take_reason(back, values, &block);
	if (r == 0)
		r = trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_REQUEST,
								  .request = &block});
	if (r >= 0)
		r = back_pages(back, number, values);
	return r < 0 ? r : take_below(back, values, number);
}

int back_requests(struct back *back)
{
	const struct clew_model *model = back->model;
	uint32_t number = 0;
	int r = 0;

	if (back->first_request == CLEW_NONE)
		return 0;
	back->request_of =
		malloc((model->span_count - back->first_request) * sizeof(*back->request_of));
	if (!back->request_of)
		return -ENOMEM;
	for (uint32_t span = back->first_request; span < model->span_count && r == 0; span++) {
		bool is_request = model->spans[span].parent != CLEW_NONE && back->is_device[span] &&
				  model->spans[model->spans[span].parent].parent == CLEW_NONE;

		back->request_of[span - back->first_request] = is_request ? number : CLEW_NONE;
		if (is_request)
			r = take_request(back, span, number++);
	}
	return r;
}
