/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests from the children of devices.
 */
#include "convert/back.h"
#include <errno.h>
#include <stdlib.h>

static int take_below(struct back *back, const struct values *values, uint32_t number)
{
	int r = back_row(back, ATTRIBUTE_BELOW, values);
	size_t count = r > 0 ? back->row.count : 0;

	r = r < 0 ? r : 0;
	for (size_t i = 0; i < count && r == 0; i++)
		r = back->sink.below(back->sink.context, number,
				     (uint32_t)row_fields(&back->row)[i].number);
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
		r = take_file(back, values, &block);
	if (r == 0)
		r = take_reason(back, values, &block);
	if (r == 0)
		r = back->sink.request(back->sink.context, &block);
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
