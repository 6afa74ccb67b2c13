/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew trigger: when a rule would have fired during a capture. */
#include <string.h>

#include "answers/trigger/trigger.h"
#include "base/vector.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "live/judge.h"
#include "trace/trace.h"

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
	else
		(json ? clew_json_fired
		      : clew_print_fired)(stdout, trace,
					  &(struct clew_fired){.trigger = trigger,
							       .slow = matches->fired.data,
							       .count = matches->fired.count,
							       .suppressed = matches->suppressed});
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
