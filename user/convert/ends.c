/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The objects that threads slept on when the recorder looked, and which other ends of that they had
 * open, as values of an attribute of their spans, and back.
 */
#include "convert/to_trace.h"

/* ---- from a trace to a model ---- */

static uint32_t task_of_end(const void *ends, size_t index)
{
	return ((const struct clew_end *)ends)[index].task;
}

static void describe_end(struct pairs *pairs, const struct clew_end *end)
{
	/* Descriptors from 1 on, as a number has no sign. */
	PAIRS_ROW(pairs, ATTRIBUTE_ENDS, {end->header.time},
		  {end->header.flags | (uint32_t)end->pass << 8}, {end->object_kind}, {end->device},
		  {end->object}, {end->end}, {end->listener}, {end->function}, {end->call},
		  {(uint32_t)end->descriptor + 1});
}

static int describe_some(struct conversion *conversion, const struct vector *ends,
			 struct sort_key **keys, uint32_t serial)
{
	int r = capture_order_by_task(keys, ends->count, task_of_end, ends->data);

	if (r < 0)
		return r;
	for (size_t i = capture_first_of_task(*keys, ends->count, serial);
	     i < ends->count && (*keys)[i].key == serial; i++)
		describe_end(&conversion->pairs,
			     (const struct clew_end *)ends->data + (*keys)[i].index);
	return 0;
}

int capture_describe_ends(struct conversion *conversion, uint32_t serial)
{
	const struct clew_trace *trace = conversion->trace;
	int r = describe_some(conversion, &trace->end_sleepers, &conversion->end_sleepers, serial);

	return r < 0 ? r
		     : describe_some(conversion, &trace->end_holders, &conversion->end_holders,
				     serial);
}

/* ---- and back ---- */

static int take_end(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	struct clew_end end = {.header = {.time = fields[0].number,
					  .kind = CLEW_KIND_END,
					  .flags = (uint8_t)fields[1].number},
			       .object_kind = (uint8_t)fields[2].number,
			       .device = (uint32_t)fields[3].number,
			       .object = fields[4].number,
			       .end = fields[5].number,
			       .listener = fields[6].number,
			       .function = fields[7].number,
			       .call = (uint16_t)fields[8].number,
			       .descriptor = (int32_t)(fields[9].number - 1),
			       .pass = (uint8_t)(fields[1].number >> 8),
			       .task = *(const uint32_t *)row->context};

	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &end.header});
}

int back_ends(struct back *back, uint32_t serial, const struct values *values)
{
	return back_rows(back, ATTRIBUTE_ENDS, values, take_end, &serial);
}
