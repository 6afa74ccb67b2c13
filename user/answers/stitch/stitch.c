/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew stitch`. */
#include "answers/stitch/stitch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "format/text.h"
#include "words/truth.h"

static const char *const source_words[] = {
	[CLEW_CLOCK_FIRST] = "first",	  [CLEW_CLOCK_GIVEN] = "given",
	[CLEW_CLOCK_BETWEEN] = "between", [CLEW_CLOCK_LEAST] = "least",
	[CLEW_CLOCK_MOST] = "most",	  [CLEW_CLOCK_CONFLICT] = "conflict",
	[CLEW_CLOCK_ASSUMED] = "assumed",
};

/* The text of a statement, to be freed. */
static char *text_of(const struct clew_stitch_answer *answer, uint32_t statement)
{
	size_t offset, size;

	clew_stitching_statement(answer->program, statement, &offset, &size);
	return strndup(answer->text + offset, size);
}

static const char *signed_duration(clew_time ns, char text[static 48])
{
	uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	snprintf(text, 48, "%s%s", ns < 0 ? "-" : "+", CLEW_DURATION(magnitude));
	return text;
}

#define SIGNED(ns) signed_duration(ns, (char[48]){0})

static void print_clock(FILE *out, const struct clew_stitch_answer *answer, uint32_t trace)
{
	const struct clew_stitch_clock *clock = &answer->clocks[trace];

	fprintf(out, "trace %u  ", trace + 1);
	clew_print_safe(out, answer->names[trace]);
	if (clock->source == CLEW_CLOCK_FIRST) {
		fputs(": its clock is that of all\n", out);
		return;
	}
	fprintf(out, ": offset %" PRId64 " ns (%s)", clock->offset, SIGNED(clock->offset));
	switch (clock->source) {
	case CLEW_CLOCK_GIVEN:
		fputs(", as given", out);
		break;
	case CLEW_CLOCK_BETWEEN:
		fprintf(out,
			", at most %s off: dependencies both ways leave %" PRId64 " .. %" PRId64,
			CLEW_DURATION(clock->error), clock->low, clock->high);
		break;
	case CLEW_CLOCK_LEAST:
		fprintf(out, ", perhaps more: dependencies come to it, and none leads back, so as "
			     "if the fastest took no time; how far off "
			     "is not "
			     "known");
		break;
	case CLEW_CLOCK_MOST:
		fprintf(out, ", perhaps less: dependencies lead from it, and none comes back, so "
			     "as if the fastest took no time; how far "
			     "off is not "
			     "known");
		break;
	case CLEW_CLOCK_CONFLICT:
		fprintf(out, ", at least %s off: its dependencies contradict each other",
			CLEW_DURATION(clock->error));
		if (clock->has_low && clock->has_high)
			fprintf(out, " (at least %" PRId64 ", at most %" PRId64 ")", clock->low,
				clock->high);
		if (clock->has_drift)
			fprintf(out, "; a clock that runs %.3f ppm %s would explain it",
				clock->drift < 0 ? -clock->drift : clock->drift,
				clock->drift < 0 ? "slower" : "faster");
		else
			fputs("; wrong pairs, or a clock that was set", out);
		break;
	default:
		fputs(": no dependency says anything of its clock, so as if it were the first "
		      "one's",
		      out);
	}
	if (clock->rate)
		fprintf(out, "; its clock runs %.3f ppm %s", fabs(clock->rate),
			clock->rate < 0 ? "slower" : "faster");
	fprintf(out, "; %" PRIu64 " in, %" PRIu64 " out\n", clock->edges_in, clock->edges_out);
}

static void print_connected(FILE *out, const struct clew_stitch_connected *connected)
{
	if (!connected->ends)
		return;
	if (connected->repeated)
		fprintf(out,
			"%" PRIu64
			" end%s of connections in several traces: those are of one host\n",
			connected->repeated, connected->repeated == 1 ? "" : "s");
	if (!connected->connections) {
		fprintf(out,
			"no connection in common: of %" PRIu64 " ends of connections none has its "
			"other one in another trace\n",
			connected->ends);
		return;
	}
	fprintf(out,
		"%" PRIu64 " connection%s in common, of %" PRIu64 " ends; %" PRIu64 " of %" PRIu64
		" messages joined to who sent them; %" PRIu64 " of these ended waits\n",
		connected->connections, connected->connections == 1 ? "" : "s", connected->ends,
		connected->joined, connected->messages, connected->dependencies);
}

void clew_print_stitch(FILE *out, const struct clew_stitch_answer *answer,
		       const struct clew_model *model)
{
	for (uint32_t i = 0; i < answer->count; i++)
		print_clock(out, answer, i);
	for (uint32_t i = 0; answer->program && i < clew_stitching_count(answer->program); i++) {
		const struct clew_stitch_count *count = &answer->result->counts[i];
		char *text = text_of(answer, i);

		fprintf(out, "%8" PRIu64 " dependenc%s", count->dependencies,
			count->dependencies == 1 ? "y" : "ies");
		if (count->alone)
			fprintf(out, ", %" PRIu64 " without a counterpart", count->alone);
		if (count->ambiguous)
			fprintf(out, ", %" PRIu64 " whose counterpart cannot be told",
				count->ambiguous);
		fputs("  ", out);
		clew_print_safe(out, text ?: "");
		fputc('\n', out);
		free(text);
	}
	print_connected(out, &answer->result->connected);
	if (answer->result->backward)
		fprintf(out, "%" PRIu64 " effect%s before the cause even now: see `clew check`\n",
			answer->result->backward, answer->result->backward == 1 ? " is" : "s are");
	fprintf(out, "%u spans, %u elementary spans, %u dependencies, %u marks\n",
		model->span_count, model->es_count, model->dependency_count, model->mark_count);
	clew_print_model_truth(out, model, CLEW_WHOLE);
}

static void json_clock(struct clew_json *json, const struct clew_stitch_answer *answer,
		       uint32_t trace)
{
	const struct clew_stitch_clock *clock = &answer->clocks[trace];
	bool has_error = clock->source == CLEW_CLOCK_BETWEEN ||
			 clock->source == CLEW_CLOCK_CONFLICT || clock->source == CLEW_CLOCK_FIRST;

	clew_json_object(json, NULL);
	clew_json_string(json, "name", answer->names[trace]);
	clew_json_signed(json, "offset", clock->offset);
	clew_json_string(json, "source", source_words[clock->source]);
	clew_json_maybe(json, "error", has_error, clock->error);
	if (clock->has_low)
		clew_json_signed(json, "least", clock->low);
	else
		clew_json_null(json, "least");
	if (clock->has_high)
		clew_json_signed(json, "most", clock->high);
	else
		clew_json_null(json, "most");
	if (clock->has_drift)
		clew_json_number(json, "drift_ppm", clock->drift);
	else
		clew_json_null(json, "drift_ppm");
	clew_json_number(json, "rate_ppm", clock->rate);
	clew_json_unsigned(json, "in", clock->edges_in);
	clew_json_unsigned(json, "out", clock->edges_out);
	clew_json_object_end(json);
}

void clew_json_stitch(FILE *out, const struct clew_stitch_answer *answer,
		      const struct clew_model *model)
{
	struct clew_json json = {.out = out};

	clew_json_answer(&json);
	clew_json_array(&json, "traces");
	for (uint32_t i = 0; i < answer->count; i++)
		json_clock(&json, answer, i);
	clew_json_array_end(&json);
	clew_json_array(&json, "statements");
	for (uint32_t i = 0; answer->program && i < clew_stitching_count(answer->program); i++) {
		const struct clew_stitch_count *count = &answer->result->counts[i];
		char *text = text_of(answer, i);

		clew_json_object(&json, NULL);
		clew_json_string(&json, "text", text);
		clew_json_unsigned(&json, "dependencies", count->dependencies);
		clew_json_unsigned(&json, "alone", count->alone);
		clew_json_unsigned(&json, "ambiguous", count->ambiguous);
		clew_json_object_end(&json);
		free(text);
	}
	clew_json_array_end(&json);
	clew_json_object(&json, "connected");
	clew_json_unsigned(&json, "ends", answer->result->connected.ends);
	clew_json_unsigned(&json, "repeated", answer->result->connected.repeated);
	clew_json_unsigned(&json, "connections", answer->result->connected.connections);
	clew_json_unsigned(&json, "messages", answer->result->connected.messages);
	clew_json_unsigned(&json, "joined", answer->result->connected.joined);
	clew_json_unsigned(&json, "dependencies", answer->result->connected.dependencies);
	clew_json_object_end(&json);
	clew_json_unsigned(&json, "backward", answer->result->backward);
	clew_json_unsigned(&json, "spans", model->span_count);
	clew_json_unsigned(&json, "elementary", model->es_count);
	clew_json_unsigned(&json, "dependencies", model->dependency_count);
	clew_json_unsigned(&json, "marks", model->mark_count);
	clew_json_model_truth(&json, model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}
