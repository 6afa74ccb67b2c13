/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests from the children of devices.
 */
#include "convert/back.h"
#include <errno.h>
#include <stdlib.h>

/* How many there are, `most` at most. */
static size_t take_numbers(const char *at, uint64_t *numbers, size_t most)
{
	size_t count = 0;

	while (at && count < most && scan_value_number(&at, &numbers[count]))
		count++;
	return count;
}

static int take_below(struct back *back, const char *at, uint32_t number)
{
	uint64_t lower;
	int r = 0;

	while (at && r == 0 && scan_value_number(&at, &lower)) {
		struct clew_below below = {.upper = number, .lower = (uint32_t)lower};

		r = trace_take(back->trace,
			       (struct clew_finding){.tag = CLEW_FINDING_BELOW, .below = &below});
	}
	return r;
}

/* As the span says: it waits until it is issued, and ends as it is completed. */
static void take_times(const struct back *back, uint32_t span, struct clew_block_request *block)
{
	const struct clew_model *model = back->model;
	const struct clew_range *range = &model->spans[span].elementary;
	uint32_t es = range->first + range->count - 1;

	while (es > range->first && model->es[es].start == model->es[es - 1].end)
		es--;
	block->queued = (uint64_t)model->spans[span].start;
	block->completed = (uint64_t)model->spans[span].end;
	/* One that waits until its end was never issued. */
	if (!back->from_capture || es == range->first ||
	    model->es[es].start < model->spans[span].end)
		block->issued = (uint64_t)model->es[es].start;
}

static int take_request(struct back *back, uint32_t span, uint32_t number)
{
	const struct clew_model *model = back->model;
	const char *device = clew_model_attribute(
		model, model->spans[model->spans[span].parent].attributes, "dev");
	const struct values *values = back_values(back, model->spans[span].attributes);
	const char *file = values->of[CAPTURE_FILE];
	struct clew_block_request block = {.number = number, .sector = UINT64_MAX};
	uint64_t bytes = 0, operation = 0, times[4];
	size_t count;
	int r = 0;

	if (!device || !scan_value_device(&device, &block.device))
		return back_fail(back, "a device's span needs dev=MAJOR:MINOR");
	if (values->of[CAPTURE_SECTOR])
		r = back_number(back, "sector", values->of[CAPTURE_SECTOR], &block.sector);
	if (r == 0 && values->of[CAPTURE_BYTES])
		r = back_number(back, "bytes", values->of[CAPTURE_BYTES], &bytes);
	if (r == 0 && values->of[CAPTURE_OPERATION_CODE])
		r = back_number(back, "operation_code", values->of[CAPTURE_OPERATION_CODE],
				&operation);
	if (r < 0)
		return r;
	count = take_numbers(values->of[CAPTURE_SINCE], times, 4);
	if (count >= 3) {
		block.queued = times[0];
		block.issued = times[1];
		block.completed = times[2];
		if (count == 4)
			block.reused = times[3];
	} else {
		take_times(back, span, &block);
	}
	if (file) {
		if (!scan_value_device(&file, &block.file_device) ||
		    take_numbers(file, times, 2) < 2)
			return back_fail(back, "file=%.40s: this is no device, inode and page",
					 values->of[CAPTURE_FILE]);
		block.inode = times[0];
		block.index = times[1];
	}
	block.bytes = (uint32_t)bytes;
	block.operation = (uint32_t)operation;
	if (values->of[CAPTURE_SUBMITTER])
		block.submitter = back_serial(back, values->of[CAPTURE_SUBMITTER]);
	if (values->of[CAPTURE_REASON_BY])
		block.reason_task = back_serial(back, values->of[CAPTURE_REASON_BY]);
	block.swap = values->of[CAPTURE_SWAP] != NULL;
	if (values->of[CAPTURE_REASON]) {
		int reason = clew_request_reason_from_name(values->of[CAPTURE_REASON]);

		if (reason < 0)
			return back_fail(back, "reason=%.40s: this is no reason of a request",
					 values->of[CAPTURE_REASON]);
		block.reason = (uint8_t)reason;
	}
	r = trace_take(back->trace,
		       (struct clew_finding){.tag = CLEW_FINDING_REQUEST, .request = &block});
	if (r >= 0)
		r = back_pages(back, number, values->of[CAPTURE_PAGES]);
	return r < 0 ? r : take_below(back, values->of[CAPTURE_BELOW], number);
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
