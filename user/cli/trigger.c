/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew trigger: when a rule would have fired during a capture. */
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "cli/commands.h"
#include "cli/fail.h"
#include "cli/open.h"
#include "cli/options.h"
#include "live/trigger.h"
#include "trace/trace.h"
#include "words/json.h"
#include "words/ledger.h"
#include "words/task.h"
#include "words/text.h"

struct trigger_values {
	bool json;
};

const struct clew_option clew_trigger_options[] = {
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct trigger_values, json)},
	CLEW_OPTION_END,
};

/* A wait that is too long. */
struct match {
	struct clew_slow slow;
	bool fires;
};

static int by_end(const void *left, const void *right)
{
	const struct clew_slow *a = &((const struct match *)left)->slow,
			       *b = &((const struct match *)right)->slow;

	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

static int add(const struct clew_trace *trace, const struct clew_trigger *trigger,
	       const struct clew_slow *slow, struct vector *ret)
{
	const struct clew_trace_task *task = clew_trace_task(trace, slow->task);

	if ((task && task->flags & CLEW_TASK_SELF) ||
	    !clew_trigger_wants(trigger, task ? task->comm : NULL,
				task ? clew_trace_cgroup(trace, task->cgroup) : NULL))
		return 0;
	if (vector_reserve(ret, ret->count + 1) < 0)
		return clew_fail_memory();
	((struct match *)ret->data)[ret->count++] = (struct match){.slow = *slow};
	return 0;
}

static int find(const struct clew_trace *trace, struct clew_trigger *trigger, struct vector *ret)
{
	size_t count, ready_count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	const struct clew_ready *readies = clew_trace_readies(trace, &ready_count);
	struct match *matches;
	struct clew_slow slow;
	int status = 0;

	for (size_t i = 0; i < count && !status; i++)
		if (!(sleeps[i].open & CLEW_OPEN_START) &&
		    clew_trigger_matches(trigger, &sleeps[i], &slow))
			status = add(trace, trigger, &slow, ret);
	for (size_t i = 0; i < ready_count && !status; i++)
		if (clew_trigger_matches_ready(trigger, &readies[i], &slow))
			status = add(trace, trigger, &slow, ret);
	matches = ret->data;
	if (ret->count)
		qsort(matches, ret->count, sizeof(*matches), by_end);
	for (size_t i = 0; i < ret->count; i++)
		matches[i].fires = clew_trigger_fire(trigger, matches[i].slow.end);
	return status;
}

static void answer_json(const struct clew_trace *trace, const struct match *matches, size_t count)
{
	struct clew_json json = {.out = stdout};
	size_t suppressed = 0;

	clew_json_object(&json, NULL);
	clew_json_array(&json, "fired");
	for (size_t i = 0; i < count; i++) {
		const struct clew_slow *slow = &matches[i].slow;

		suppressed += !matches[i].fires;
		if (!matches[i].fires)
			continue;
		clew_json_object(&json, NULL);
		clew_json_task_fields(&json, trace, slow->task, slow->start);
		clew_json_string(&json, "kind", clew_wait_kind_name(slow->kind));
		clew_json_unsigned(&json, "start", slow->start);
		clew_json_unsigned(&json, "end", slow->end);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_unsigned(&json, "suppressed", suppressed);
	clew_json_ledger(&json, trace, clew_trace_start(trace), clew_trace_end(trace));
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static void answer_text(const struct clew_trace *trace, const struct match *matches, size_t count,
			unsigned limit)
{
	uint64_t start = clew_trace_start(trace), length = clew_trace_end(trace) - start;
	size_t suppressed = 0;

	for (size_t i = 0; i < count; i++) {
		const struct clew_slow *slow = &matches[i].slow;

		suppressed += !matches[i].fires;
		if (!matches[i].fires)
			continue;
		printf("+%-13s %9s  %-8s ", CLEW_OFFSET(slow->end - start, length),
		       CLEW_DURATION(slow->end - slow->start), clew_wait_kind_name(slow->kind));
		clew_print_task(stdout, trace, slow->task, slow->start);
		fputs("\n", stdout);
	}
	printf("\nfires %zu times, %zu suppressed: at most %d in 3 minutes and %u in a day\n",
	       count - suppressed, suppressed, CLEW_TRIGGER_BURST, limit);
	clew_print_ledger(stdout, trace, start, clew_trace_end(trace));
}

static int answer(const struct clew_trace *trace, struct clew_trigger *trigger, bool json)
{
	struct vector matches = {.item = sizeof(struct match)};
	int status = find(trace, trigger, &matches);

	if (!status && json)
		answer_json(trace, matches.data, matches.count);
	else if (!status)
		answer_text(trace, matches.data, matches.count, trigger->limit);
	if (!status && !matches.count)
		status = CLEW_EXIT_NEGATIVE;
	vector_done(&matches);
	return status;
}

int clew_command_trigger(const struct clew_command *command, int argc, char **argv)
{
	struct trigger_values values = {};
	struct clew_trigger trigger;
	struct clew_message message;
	struct clew_trace *trace;
	char **operands;
	size_t at;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (strcmp(operands[0], "test"))
		return clew_fail(CLEW_EXIT_INPUT,
				 "trigger: '%s' is nothing that it does: write clew trigger test "
				 "TRACE RULE",
				 operands[0]);
	if (clew_trigger_parse(operands[2], &trigger, &at, &message) < 0)
		return clew_fail(CLEW_EXIT_INPUT, "'%s', byte %zu: %s", operands[2], at + 1,
				 message.text);
	status = clew_open_trace(operands[1], 0, &trace);
	if (status)
		return status;
	status = answer(trace, &trigger, values.json);
	clew_trace_free(trace);
	return status;
}
