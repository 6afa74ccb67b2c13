/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls that threads ran in, from the rows of their spans' attributes. */
#include "convert/stays.h"

#include <clew/tokens.h>
#include <errno.h>

bool row_stay(const struct row *row, uint32_t task, struct clew_stay *ret_stay)
{
	const union attribute_field *fields = row_fields(row);

	*ret_stay = (struct clew_stay){.task = task,
				       .start = fields[0].number,
				       .end = fields[1].number,
				       .call = (uint16_t)fields[2].number,
				       .reason = (uint8_t)fields[3].number,
				       .evidence = (uint8_t)fields[4].number};
	return fields[4].number <= CLEW_EVIDENCE_CANDIDATE && ret_stay->start <= ret_stay->end;
}

bool row_tally(const struct row *row, uint32_t task, struct clew_tally *ret_tally)
{
	const union attribute_field *fields = row_fields(row);

	*ret_tally = (struct clew_tally){.task = task,
					 .start = fields[0].number,
					 .end = fields[1].number,
					 .what = (uint8_t)fields[2].number,
					 .number = (uint32_t)fields[3].number};
	return true;
}

static int give_row(const struct clew_finding_taker *taker, const struct row *row, uint32_t task)
{
	struct clew_finding finding = {.tag = CLEW_FINDING_STAY};
	struct clew_tally tally;
	struct clew_stay stay;

	if (row->key == ATTRIBUTE_STAYS) {
		finding.stay = &stay;
		return row_stay(row, task, &stay) ? taker->take(taker->context, finding) : 0;
	}
	finding.tag = CLEW_FINDING_TALLY;
	finding.tally = &tally;
	return row_tally(row, task, &tally) ? taker->take(taker->context, finding) : 0;
}

static int give_rows(const struct clew_finding_taker *taker, const struct clew_model *model,
		     uint32_t root, enum attribute_key key, struct row *row)
{
	const char *name = attribute_table[key].key,
		   *value = clew_model_attribute(model, model->spans[root].attributes, name);
	int r = value ? row_start(row, key, name, value) : 0;

	while (value && r == 0) {
		r = row_next(row);
		if (r <= 0)
			return r == -ENOMEM ? r : 0;
		r = give_row(taker, row, clew_stays_serial(root));
	}
	return r;
}

int clew_stays_of_model(const struct clew_model *model, struct clew_trace **ret_trace)
{
	struct clew_finding_taker taker;
	struct clew_trace *trace;
	struct row row;
	int r = clew_trace_new(NULL, 0, &trace);

	if (r < 0)
		return r;
	taker = clew_trace_taker(trace);
	row_init(&row);
	for (uint32_t root = model->first_root; root != CLEW_NONE && r == 0;
	     root = model->spans[root].next_sibling) {
		r = give_rows(&taker, model, root, ATTRIBUTE_STAYS, &row);
		if (r == 0)
			r = give_rows(&taker, model, root, ATTRIBUTE_TALLIES, &row);
	}
	row_done(&row);
	if (r >= 0)
		r = clew_trace_finish(trace, 0);
	if (r < 0)
		clew_trace_free(trace);
	else
		*ret_trace = trace;
	return r < 0 ? r : 0;
}
