/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A trace as it would have been. */
#include "answers/whatif/whatif.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers/path/model_json.h"
#include "format/text.h"
#include "words/es.h"
#include "words/truth.h"

void clew_print_sweep(const struct clew_what_if_answer *answer,
		      const struct clew_what_if_step *steps, uint32_t count)
{
	enum { WIDTH = 50 };
	const struct clew_what_if *first = &steps[0].result;
	uint64_t before = (uint64_t)(first->before_end - first->before_start), most = before;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t length =
			(uint64_t)(steps[i].result.after_end - steps[i].result.after_start);

		most = length > most ? length : most;
	}
	fputs("sweep: ", stdout);
	clew_print_safe(stdout, answer->sweep);
	printf("\nas recorded the whole takes %s\n\n%10s %14s %9s\n", CLEW_DURATION(before),
	       "factor", "the whole", "of before");
	for (uint32_t i = 0; i < count; i++) {
		uint64_t length =
			(uint64_t)(steps[i].result.after_end - steps[i].result.after_start);
		int bar = most ? (int)((double)length / (double)most * WIDTH + .5) : 0;

		printf("%10.4g %14s %7.1f %%  ", steps[i].factor, CLEW_OFFSET(length, most),
		       before ? 100.0 * (double)length / (double)before : 100.0);
		for (int j = 0; j < bar; j++)
			putchar('#');
		putchar('\n');
	}
	clew_print_model_truth(stdout, answer->model, CLEW_WHOLE);
}

static void json_range(struct clew_json *json, const char *key, clew_time start, clew_time end)
{
	clew_json_object(json, key);
	clew_json_signed(json, "start", start);
	clew_json_signed(json, "end", end);
	clew_json_object_end(json);
}

void clew_json_sweep(const struct clew_what_if_answer *answer,
		     const struct clew_what_if_step *steps, uint32_t count)
{
	struct clew_json json = {.out = stdout};

	clew_json_answer(&json);
	json_range(&json, "before", steps[0].result.before_start, steps[0].result.before_end);
	clew_json_array(&json, "sweep");
	for (uint32_t i = 0; i < count; i++) {
		clew_json_object(&json, NULL);
		clew_json_number(&json, "factor", steps[i].factor);
		clew_json_signed(&json, "start", steps[i].result.after_start);
		clew_json_signed(&json, "end", steps[i].result.after_end);
		clew_json_signed(&json, "ns",
				 steps[i].result.after_end - steps[i].result.after_start);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_model_truth(&json, answer->model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static const struct clew_model *sorted_before, *sorted_after;

static uint64_t change_of(uint32_t span)
{
	const struct clew_span *a = &sorted_before->spans[span], *b = &sorted_after->spans[span];
	int64_t length = (b->end - b->start) - (a->end - a->start), start = b->start - a->start;

	return (uint64_t)(length < 0 ? -length : length) + (uint64_t)(start < 0 ? -start : start);
}

static int compare_changes(const void *a, const void *b)
{
	uint64_t x = change_of(*(const uint32_t *)a), y = change_of(*(const uint32_t *)b);

	if (x != y)
		return x > y ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static void print_signed(clew_time ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%s%s",
		 ns < 0	  ? "-"
		 : ns > 0 ? "+"
			  : "",
		 CLEW_DURATION((uint64_t)(ns < 0 ? -ns : ns)));
	printf(" %12s", text);
}

static void print_length(const char *title, clew_time before, clew_time after)
{
	printf("%-10s %12s  %12s", title, CLEW_DURATION((uint64_t)before),
	       CLEW_DURATION((uint64_t)after));
	print_signed(after - before);
	if (before)
		printf("  %7.1f %%", 100.0 * (double)after / (double)before);
	putchar('\n');
}

static void print_resources(const struct clew_what_if *result)
{
	if (result->cpus)
		printf("%" PRIu32
		       " CPU%s, any for any thread: a trace does not tell who may run where\n",
		       result->cpus, result->cpus == 1 ? "" : "s");
	if (result->lock_waits)
		printf("%" PRIu64 " waits for locks were in queues again\n", result->lock_waits);
	if (result->requests)
		printf("%" PRIu64 " requests were in queues again\n", result->requests);
}

static void print_statements(const struct clew_what_if_answer *answer)
{
	for (uint32_t i = 0; i < clew_program_count(answer->program); i++) {
		size_t offset, size;
		char *text;

		clew_program_statement(answer->program, i, &offset, &size);
		text = strndup(answer->text + offset, size);
		printf("%8" PRIu64 " times  ", answer->matches[i]);
		clew_print_safe(stdout, text ?: "");
		putchar('\n');
		free(text);
	}
}

int clew_print_what_if(const struct clew_what_if_answer *answer, const struct clew_model *after,
		       const struct clew_what_if *result)
{
	uint32_t top = answer->top, changed = 0;
	struct clew_span_names names = {.model = answer->model};
	uint32_t *order = malloc(((size_t)after->span_count + 1) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	sorted_before = answer->model;
	sorted_after = after;
	for (uint32_t i = 0; i < after->span_count; i++)
		if (change_of(i))
			order[changed++] = i;
	qsort(order, changed, sizeof(*order), compare_changes);
	print_statements(answer);
	print_resources(result);
	printf("%-10s %12s  %12s %12s\n", "", "before", "after", "");
	print_length("the whole", result->before_end - result->before_start,
		     result->after_end - result->after_start);
	if (changed)
		printf("\n%14s %12s  %12s %12s\n", "start", "before", "after", "");
	for (uint32_t i = 0; i < changed && i < top; i++) {
		const struct clew_span *a = &answer->model->spans[order[i]],
				       *b = &after->spans[order[i]];

		print_signed(b->start - a->start);
		printf("  %12s  %12s", CLEW_DURATION((uint64_t)(a->end - a->start)),
		       CLEW_DURATION((uint64_t)(b->end - b->start)));
		print_signed((b->end - b->start) - (a->end - a->start));
		fputs("  ", stdout);
		clew_print_span(stdout, &names, order[i]);
		putchar('\n');
	}
	if (changed > top)
		printf("%14s and %" PRIu32 " more\n", "", changed - top);
	printf("\n%" PRIu32 " of %" PRIu32 " spans change\n", changed, after->span_count);
	if (result->backward_edges)
		printf("%" PRIu64
		       " dependencies go backwards in time and are not followed: see clew check\n",
		       result->backward_edges);
	clew_print_model_truth(stdout, answer->model, CLEW_WHOLE);
	clew_span_names_done(&names);
	free(order);
	return 0;
}

void clew_json_what_if(const struct clew_what_if_answer *answer, const struct clew_model *after,
		       const struct clew_what_if *result)
{
	struct clew_json json = {.out = stdout};

	clew_json_answer(&json);
	json_range(&json, "before", result->before_start, result->before_end);
	json_range(&json, "after", result->after_start, result->after_end);
	clew_json_unsigned(&json, "backward_edges", result->backward_edges);
	clew_json_known(&json, "cpus", result->cpus, 0);
	clew_json_unsigned(&json, "lock_waits", result->lock_waits);
	clew_json_unsigned(&json, "requests", result->requests);
	clew_json_array(&json, "statements");
	for (uint32_t i = 0; i < clew_program_count(answer->program); i++) {
		size_t offset, size;
		char *text;

		clew_program_statement(answer->program, i, &offset, &size);
		text = strndup(answer->text + offset, size);
		clew_json_object(&json, NULL);
		clew_json_string(&json, "text", text);
		clew_json_unsigned(&json, "times", answer->matches[i]);
		clew_json_object_end(&json);
		free(text);
	}
	clew_json_array_end(&json);
	clew_json_model(&json, after);
	clew_json_model_truth(&json, answer->model, CLEW_WHOLE);
	clew_json_object_end(&json);
	clew_json_end(&json);
}
