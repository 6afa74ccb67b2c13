/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Links of a wake and holders of a lock as values of attributes, and back.
 */
#include "convert/to_trace.h"
#include <clew/tokens.h>
#include <errno.h>
#include <string.h>

/* ---- from a trace to a model ---- */

void capture_describe_holders(struct conversion *conversion, const struct clew_sleep *sleep)
{
	struct pairs *pairs = &conversion->pairs;

	for (uint32_t i = 0; i < sleep->holder_count; i++) {
		const struct clew_holder *holder = &sleep->holders[i];
		const union attribute_field fields[] = {
			{.word = capture_name_of(conversion, holder->task)},
			{holder->from},
			{holder->to},
			{.word = clew_evidence_name(holder->evidence)},
			{.word = holder->coming ? "coming" : "barged"}};
		bool all = sleep->holder_count == 1 && holder->from == sleep->start &&
			   holder->to == sleep->end && !holder->barged && !holder->coming &&
			   holder->evidence == CLEW_EVIDENCE_EXACT;

		pairs_row_begin(pairs, ATTRIBUTE_HOLDER, "");
		pairs_row_fields(pairs, fields, all ? 1 : holder->barged || holder->coming ? 5 : 4);
	}
}

void capture_describe_links(struct conversion *conversion, const struct clew_sleep *sleep)
{
	unsigned count = sleep->link_count ? sleep->link_count + sleep->and_count : 0;

	for (unsigned i = 0; i < count; i++) {
		const struct clew_link *link = &sleep->links[i];

		PAIRS_ROW(&conversion->pairs, ATTRIBUTE_LINKS, {i >= sleep->link_count},
			  {link->kind}, {link->at}, {link->begin}, {link->end}, {link->number},
			  {link->flags}, {.word = clew_evidence_name(link->evidence)},
			  {.word = capture_name_or_dash(conversion, link->task)},
			  {.word = capture_name_or_dash(conversion, link->worker)});
	}
}

/* ---- and back ---- */

static int take_holder(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	const struct clew_sleep *sleep = row->context;
	struct clew_holder holder = {
		.task = back_serial(back, fields[0].word), .from = sleep->start, .to = sleep->end};
	int evidence;

	if (row->count > 1) {
		if (row->count < 4)
			return back_fail(back, "holder: behind a name and a start there must be an "
					       "end and the evidence");
		evidence = back_word(fields[3].word, clew_evidence_name, CLEW_EVIDENCE_COUNT);
		if (evidence < 0)
			return back_fail(back, "holder: '%s' is no evidence", fields[3].word);
		holder.from = fields[1].number;
		holder.to = fields[2].number;
		holder.evidence = (uint8_t)evidence;
		holder.coming = row->count > 4 && !strcmp(fields[4].word, "coming");
		holder.barged = row->count > 4 && !holder.coming;
	}
	if (vector_reserve(&back->holders, back->holders.count + 1) < 0)
		return -ENOMEM;
	((struct clew_holder *)back->holders.data)[back->holders.count++] = holder;
	return 0;
}

/* The last link is a request's: its limit is an attribute of the request. */
static void take_released(struct back *back)
{
	struct clew_link *link = (struct clew_link *)back->links.data + back->links.count - 1;
	const struct clew_trace_request *requests = back->trace->requests.data;

	if (link->kind == CLEW_LINK_REQUEST && link->number < back->trace->requests.count)
		link->released = requests[link->number].block.released;
}

static int take_link(struct back *back, const struct row *row)
{
	const union attribute_field *fields = row_fields(row);
	bool further = fields[0].number;
	uint64_t kind = fields[1].number;
	struct clew_sleep *sleep = row->context;
	int evidence = back_word(fields[7].word, clew_evidence_name, CLEW_EVIDENCE_COUNT);

	if (evidence < 0)
		return back_fail(back, "links: '%s' is no evidence", fields[7].word);
	if (kind > CLEW_LINK_PACKET && kind != CLEW_LINK_WORK)
		return back_fail(back, "links: there is no step of kind %llu",
				 (unsigned long long)kind);
	if (vector_reserve(&back->links, back->links.count + 1) < 0)
		return -ENOMEM;
	((struct clew_link *)back->links.data)[back->links.count++] =
		(struct clew_link){.kind = (uint8_t)kind,
				   .at = fields[2].number,
				   .begin = fields[3].number,
				   .end = fields[4].number,
				   .number = fields[5].number,
				   .flags = (uint8_t)fields[6].number,
				   .evidence = (uint8_t)evidence,
				   .task = back_serial(back, fields[8].word),
				   .worker = back_serial(back, fields[9].word)};
	take_released(back);
	if (further)
		sleep->and_count++;
	else
		sleep->link_count++;
	return 0;
}

int back_holders(struct back *back, const struct values *values, struct clew_sleep *sleep)
{
	int r;

	back->holders.count = 0;
	r = back_rows(back, ATTRIBUTE_HOLDER, values, take_holder, sleep);
	sleep->holders = back->holders.data;
	sleep->holder_count = (uint32_t)back->holders.count;
	return r;
}

/* Without an attribute, the links are the requests that are the origins of the
 * dependency. */
static int take_requests(struct back *back, const struct values *values, uint32_t dependency,
			 struct clew_sleep *sleep)
{
	const struct clew_model *model = back->model;
	const struct clew_range *origins = &model->dependencies[dependency].origins;
	struct clew_link *links;
	unsigned count = 0;

	if (vector_reserve(&back->links, origins->count) < 0)
		return -ENOMEM;
	links = back->links.data;
	for (uint32_t i = 0; i < origins->count && count < UINT16_MAX; i++) {
		uint32_t span = model->es[model->origins[origins->first + i]].span;

		if (span >= back->first_request &&
		    back->request_of[span - back->first_request] != CLEW_NONE)
			links[count++] = (struct clew_link){
				.number = back->request_of[span - back->first_request]};
	}
	if (count == 0)
		return 0;
	/* capture_request_link() reads only the numbers, and keeps them. */
	for (unsigned i = 0; i < count; i++)
		links[i] = capture_request_link(back->trace->requests.data, links, count, i);
	back->links.count = count;
	sleep->link_count = 1;
	sleep->and_count = (uint16_t)(count - 1);
	if (!values->of[ATTRIBUTE_FROM_TASK])
		sleep->from = links[0].task;
	if (!values->of[ATTRIBUTE_FROM])
		sleep->from_at = links[0].at;
	return 0;
}

int back_links(struct back *back, const struct values *values, uint32_t dependency,
	       struct clew_sleep *sleep)
{
	const char *rows = values->of[ATTRIBUTE_LINKS];
	int r = 0;

	back->links.count = 0;
	if (!rows && back->from_capture && dependency != CLEW_NONE &&
	    sleep->edge_type == CLEW_EDGE_REQUEST) {
		r = take_requests(back, values, dependency, sleep);
	} else if (rows && strcmp(rows, "-") != 0) {
		r = back_rows(back, ATTRIBUTE_LINKS, values, take_link, sleep);
	}
	sleep->links = back->links.data;
	return r;
}
