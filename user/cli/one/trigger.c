/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew trigger: when a rule would have fired during a capture. */
#include <string.h>

#include "answers/slow.h"
#include "base/vector.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "format/json.h"
#include "format/text.h"
#include "live/judge.h"
#include "trace/name.h"
#include "trace/trace.h"
#include "words/ledger.h"
#include "words/task.h"

struct trigger_values {
	bool json;
};

const struct clew_option clew_trigger_options[] = {
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct trigger_values, json)},
	CLEW_OPTION_END,
};

/* Times for which the rule was met. */
struct matches {
	struct clew_trigger *trigger;
	struct clew_judge *judge;
	struct vector fired; /* struct clew_slow */
	size_t suppressed;
	bool failed; /* no memory */
};

static void met(void *context, size_t rule, const struct clew_slow *slow,
		const struct known_task *task)
{
	struct matches *matches = context;
	struct vector *fired = &matches->fired;

	(void)rule;
	(void)task;
	if (!clew_trigger_fire(matches->trigger, slow->at))
		matches->suppressed++;
	else if (vector_reserve(fired, fired->count + 1) < 0)
		matches->failed = true;
	else
		((struct clew_slow *)fired->data)[fired->count++] = *slow;
}

static int take(void *context, struct clew_finding finding)
{
	struct matches *matches = context;

	return clew_judge_take(matches->judge, finding);
}

static int step(void *context, const struct clew_builder *builder, uint64_t now)
{
	struct matches *matches = context;

	return clew_judge_step(matches->judge, builder, now);
}

static void answer_json(const struct clew_trace *trace, const struct matches *matches)
{
	const struct clew_slow *fired = matches->fired.data;
	struct clew_json json = {.out = stdout};

	clew_json_answer(&json);
	clew_json_array(&json, "fired");
	for (size_t i = 0; i < matches->fired.count; i++) {
		clew_json_object(&json, NULL);
		clew_json_task_fields(&json, trace, fired[i].task, fired[i].start);
		clew_slow_json(&json, &fired[i]);
		clew_json_object_end(&json);
	}
	clew_json_array_end(&json);
	clew_json_unsigned(&json, "suppressed", matches->suppressed);
	clew_json_ledger(&json, trace, clew_trace_start(trace), clew_trace_end(trace));
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static void print_fired(const struct clew_trace *trace, const struct clew_trigger *trigger,
			const struct clew_slow *slow)
{
	uint64_t start = clew_trace_start(trace), length = clew_trace_end(trace) - start;

	printf("+%-13s %9s  %-9s ", CLEW_OFFSET(slow->at - start, length),
	       CLEW_DURATION(slow->end - slow->start), clew_slow_name(slow->kind));
	clew_print_task(stdout, trace, slow->task, slow->start);
	if (slow->kind == CLEW_SLOW_REQUEST) {
		fputs(", ", stdout);
		clew_print_slow_request(stdout, &slow->request,
					CLEW_DISK(trace, slow->request.device));
	}
	if (slow->open)
		fputs(", goes on", stdout);
	if (trigger->factor)
		printf(", usually %s", CLEW_DURATION(slow->value));
	if (trigger->how == CLEW_TRIGGER_PERCENTILE)
		printf(", p%u %s", trigger->share, CLEW_DURATION(slow->value));
	if (trigger->how == CLEW_TRIGGER_SUM)
		printf(", %s in %u s", CLEW_DURATION(slow->value), trigger->over);
	fputs("\n", stdout);
}

static void answer_text(const struct clew_trace *trace, const struct matches *matches)
{
	for (size_t i = 0; i < matches->fired.count; i++)
		print_fired(trace, matches->trigger,
			    (const struct clew_slow *)matches->fired.data + i);
	printf("\nfires %zu times, %zu suppressed: at most %d in 3 minutes and %u in a day\n",
	       matches->fired.count, matches->suppressed, CLEW_TRIGGER_BURST,
	       matches->trigger->limit);
	clew_print_ledger(stdout, trace, clew_trace_start(trace), clew_trace_end(trace));
}

static int answer(const char *operand, struct matches *matches, bool json)
{
	const struct clew_judge_options options = {
		.task_size = sizeof(struct known_task), .met = met, .context = matches};
	const struct clew_trigger *const trigger = matches->trigger;
	const struct clew_finding_taker taker = {
		.wants = CLEW_JUDGE_WANTS, .take = take, .step = step, .context = matches};
	struct clew_trace *trace;
	int status;

	if (clew_judge_new(&options, &matches->judge) < 0 ||
	    clew_judge_set(matches->judge, &trigger, NULL, 1) < 0)
		return clew_fail_memory();
	status = clew_open_capture(operand, &taker, &trace);
	if (status)
		return status;
	if (clew_judge_finish(matches->judge, clew_trace_end(trace)) < 0 || matches->failed)
		status = clew_fail_memory();
	else if (json)
		answer_json(trace, matches);
	else
		answer_text(trace, matches);
	if (!status && !matches->fired.count)
		status = CLEW_EXIT_NEGATIVE;
	clew_trace_free(trace);
	return status;
}

int clew_command_trigger(const struct clew_command *command, int argc, char **argv)
{
	struct trigger_values values = {};
	struct clew_trigger trigger;
	struct matches matches = {.trigger = &trigger, .fired.item = sizeof(struct clew_slow)};
	struct clew_message message;
	char **operands;
	size_t at;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (strcmp(operands[0], "test"))
		return clew_fail(CLEW_EXIT_INPUT,
				 "trigger: '%s' is nothing that it does: write clew trigger test "
				 "CAPTURE RULE",
				 operands[0]);
	if (clew_trigger_parse(operands[2], &trigger, &at, &message) < 0)
		return clew_fail(CLEW_EXIT_INPUT, "'%s', byte %zu: %s", operands[2], at + 1,
				 message.text);
	status = answer(operands[1], &matches, values.json);
	clew_judge_free(matches.judge);
	vector_done(&matches.fired);
	return status;
}
