/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When a rule would have fired. */
#include "answers/trigger/trigger.h"

#include "answers/slow.h"
#include "format/json.h"
#include "format/text.h"
#include "trace/name.h"
#include "words/ledger.h"
#include "words/task.h"

void clew_json_fired(FILE *out, const struct clew_trace *trace, const struct clew_fired *fired)
{
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_array(&json, "fired");
	for (size_t i = 0; i < fired->count; i++) {
		clew_json_object(&json, NULL);
		clew_json_task_fields(&json, trace, fired->slow[i].task, fired->slow[i].start);
		clew_slow_json(&json, &fired->slow[i]);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_unsigned(&json, "suppressed", fired->suppressed);
	clew_json_ledger(&json, trace, clew_trace_start(trace), clew_trace_end(trace));
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static void print_slow(FILE *out, const struct clew_trace *trace,
		       const struct clew_trigger *trigger, const struct clew_slow *slow)
{
	uint64_t start = clew_trace_start(trace), length = clew_trace_end(trace) - start;

	fprintf(out, "+%-13s %9s  %-9s ", CLEW_OFFSET(slow->at - start, length),
		CLEW_DURATION(slow->end - slow->start), clew_slow_name(slow->kind));
	clew_print_task(out, trace, slow->task, slow->start);
	if (slow->kind == CLEW_SLOW_REQUEST) {
		fputs(", ", out);
		clew_print_slow_request(out, &slow->request,
					CLEW_DISK(trace, slow->request.device));
	}
	if (slow->open)
		fputs(", goes on", out);
	if (trigger->factor)
		fprintf(out, ", usually %s", CLEW_DURATION(slow->value));
	if (trigger->how == CLEW_TRIGGER_PERCENTILE)
		fprintf(out, ", p%u %s", trigger->share, CLEW_DURATION(slow->value));
	if (trigger->how == CLEW_TRIGGER_SUM)
		fprintf(out, ", %s in %u s", CLEW_DURATION(slow->value), trigger->over);
	fputs("\n", out);
}

void clew_print_fired(FILE *out, const struct clew_trace *trace, const struct clew_fired *fired)
{
	for (size_t i = 0; i < fired->count; i++)
		print_slow(out, trace, fired->trigger, &fired->slow[i]);
	fprintf(out, "\nfires %zu times, %zu suppressed: at most %d in 3 minutes and %u in a day\n",
		fired->count, fired->suppressed, CLEW_TRIGGER_BURST, fired->trigger->limit);
	clew_print_ledger(out, trace, clew_trace_start(trace), clew_trace_end(trace));
}
