/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Elementary spans by what shortening them could gain. */
#include <inttypes.h>
#include <stdlib.h>

#include "answers/model/model.h"
#include "format/json.h"
#include "format/text.h"
#include "words/es.h"
#include "words/truth.h"

void clew_json_slack(FILE *out, const struct clew_model *model, const struct clew_slack *slack,
		     clew_time from, clew_time to)
{
	struct clew_span_names names = {.model = model};
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_array(&json, "elements");
	for (uint32_t i = 0; i < slack->count; i++) {
		const struct clew_slack_row *row = &slack->rows[i];

		clew_json_object(&json, NULL);
		clew_json_es_fields(&json, &names, row->es);
		clew_json_signed(&json, "es_time", row->earliest_start);
		clew_json_signed(&json, "ef", clew_slack_earliest_finish(model, row));
		clew_json_signed(&json, "ls", clew_slack_latest_start(model, row));
		clew_json_signed(&json, "lf", row->latest_finish);
		clew_json_signed(&json, "slack", clew_slack_of(model, row));
		clew_json_signed(&json, "drag", row->drag);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_model_truth(&json, model, from, to);
	clew_json_object_end(&json);
	clew_json_end(&json);
	clew_span_names_done(&names);
}

/* Largest drag first, then least slack. */
static int compare(const void *a, const void *b, void *context)
{
	const struct clew_slack_row *x = a, *y = b;
	const struct clew_model *model = context;

	if (x->drag != y->drag)
		return x->drag > y->drag ? -1 : 1;
	if (clew_slack_of(model, x) != clew_slack_of(model, y))
		return clew_slack_of(model, x) < clew_slack_of(model, y) ? -1 : 1;
	return x->es < y->es ? -1 : x->es > y->es;
}

void clew_print_slack(FILE *out, const struct clew_model *model, struct clew_slack *slack,
		      uint32_t top, clew_time from, clew_time to)
{
	struct clew_span_names names = {.model = model};

	qsort_r(slack->rows, slack->count, sizeof(*slack->rows), compare, (void *)model);
	fprintf(out,
		"%" PRIu32 " elements; drag: what shortening it alone could gain; slack: how late "
		"it could be\n\n"
		"        drag       slack      length  element\n",
		slack->count);
	for (uint32_t i = 0; i < slack->count && i < top; i++) {
		const struct clew_slack_row *row = &slack->rows[i];
		const struct clew_es *es = &model->es[row->es];

		fprintf(out, "%12s%12s%12s  ", CLEW_DURATION((uint64_t)row->drag),
			CLEW_DURATION((uint64_t)clew_slack_of(model, row)),
			CLEW_DURATION((uint64_t)(es->end - es->start)));
		clew_print_span(out, &names, es->span);
		fprintf(out, " %" PRIu32 "\n", row->es - model->spans[es->span].elementary.first);
	}
	if (slack->count > top)
		fprintf(out, "%12s and %" PRIu32 " more\n", "", slack->count - top);
	clew_print_model_truth(out, model, from, to);
	clew_span_names_done(&names);
}
