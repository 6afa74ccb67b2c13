/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that were dropped, in words. */
#include "words/dropped.h"

#include "format/text.h"

#define MOST_SHOWN 10

static double per_second(const struct clew_trace_dropped *dropped)
{
	return dropped->period ? (double)dropped->calls * 1e9 / (double)dropped->period : 0;
}

static uint64_t percent_of(const struct clew_trace_dropped *dropped)
{
	return dropped->period ? dropped->cost * 100 / dropped->period : 0;
}

void clew_json_dropped(struct clew_json *json, const struct clew_trace *trace)
{
	size_t count;
	const struct clew_trace_dropped *all = clew_trace_dropped(trace, &count);

	for (size_t i = 0; i < count; i++) {
		const struct clew_trace_function *function =
			clew_trace_function(trace, all[i].function);

		clew_json_object(json, NULL);
		clew_json_string(json, "name", function ? function->title : NULL);
		clew_json_string(json, "object", function ? function->object : NULL);
		clew_json_unsigned(json, "time", all[i].time);
		clew_json_unsigned(json, "calls_per_s", (uint64_t)per_second(&all[i]));
		clew_json_unsigned(json, "cpu_percent", percent_of(&all[i]));
		clew_json_object_end(json);
	}
}

void clew_print_dropped(FILE *out, const struct clew_trace *trace)
{
	size_t count;
	const struct clew_trace_dropped *all = clew_trace_dropped(trace, &count);

	for (size_t i = 0; i < count && i < MOST_SHOWN; i++) {
		const struct clew_trace_function *function =
			clew_trace_function(trace, all[i].function);

		clew_print_safe(out, function ? function->title : "a function");
		fprintf(out,
			" was dropped: %.0f calls a second cost %llu %% of a CPU (--max-cost)\n",
			per_second(&all[i]), (unsigned long long)percent_of(&all[i]));
	}
	if (count > MOST_SHOWN)
		fprintf(out, "and %zu more functions were dropped\n", count - MOST_SHOWN);
}
