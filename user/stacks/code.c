/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits and samples by the code that waited or ran: the process, the functions of the program
 * and of the kernel from the outermost inwards, and what was waited for. A wait without a stack
 * has its system call instead. A frame has the functions that were compiled into its own, if the
 * trace has lines.
 */
#include "stacks/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain/operations.h"
#include "symbol/elf/demangle.h"
#include "trace/lines.h"
#include "words/short_name.h"
#include "words/task.h"

/* True if a task is known and asked for. */
static bool asks_for(const struct stacks_asked *asked, uint32_t serial)
{
	return clew_trace_task(asked->trace, serial) &&
	       clew_is_chosen(&asked->chosen, asked->trace, serial);
}

/* True if start..end is asked for. `end` may be CLEW_TIME_OPEN. */
static bool lies_in(const struct stacks_asked *asked, uint64_t start, uint64_t end)
{
	return start <= asked->to && end >= asked->from &&
	       (!asked->begun_in || start >= asked->from);
}

bool stacks_wants(const struct stacks_asked *asked, const struct clew_sleep *sleep)
{
	return asks_for(asked, sleep->task) && lies_in(asked, sleep->start, sleep->end) &&
	       (asked->idle || !sleep_is_idle(asked->trace, sleep));
}

uint32_t stacks_task(struct stacks *stacks, const struct clew_trace *trace, uint32_t serial,
		     uint64_t at)
{
	const struct clew_trace_task *task = clew_trace_task(trace, serial);
	const char *thread = clew_trace_comm_at(trace, serial, at);
	const char *process = task ? clew_process_name(trace, task, at) : "";
	uint32_t node = 0;

	if (process[0])
		node = stacks_push(stacks, node, process);
	return strcmp(process, thread) ? stacks_push(stacks, node, thread) : node;
}

/* Logical spans that the task runs at a moment, the outermost first, below its own frames. */
static uint32_t push_runs(struct stacks *stacks, const struct stacks_asked *asked, uint32_t parent,
			  const struct clew_activity *activity)
{
	const struct clew_activity *all;
	char *text;
	size_t count;

	if (!activity)
		return parent;
	all = clew_relations_activities(asked->relations, &count);
	if (activity->parent != CLEW_NO_NUMBER)
		parent = push_runs(stacks, asked, parent, &all[activity->parent]);
	if (activity->part != CLEW_ACTIVITY_RUN)
		return parent;
	if (asprintf(&text, "%s.%s", activity->interface, activity->operation) < 0) {
		stacks->error = -ENOMEM;
		return parent;
	}
	parent = stacks_push(stacks, parent, text);
	free(text);
	return parent;
}

/* The frames of a task and of what it runs. */
static uint32_t push_task(struct stacks *stacks, const struct stacks_asked *asked, uint32_t serial,
			  uint64_t at)
{
	uint32_t node = stacks_task(stacks, asked->trace, serial, at);

	return asked->relations ? push_runs(stacks, asked, node,
					    clew_relations_at(asked->relations, serial, at))
				: node;
}

uint32_t stacks_wait(struct stacks *stacks, const struct clew_trace *trace, uint32_t parent,
		     const struct clew_sleep *sleep)
{
	char text[CLEW_SHORT_NAME_SIZE];

	clew_wait_short_name(trace, sleep, text);
	return stacks_push(stacks, parent, text);
}

/*
 * The number of a function at a place; one of the kernel is marked as flame graphs expect it.
 * `outer`: as in struct stack_place.
 */
static uint32_t place_number(struct stacks *stacks, const struct clew_stack_place *place,
			     bool kernel, uint32_t outer)
{
	char *demangled = place->name ? symbol_demangle(place->name, false) : NULL, *text = NULL;
	const char *file = place->object ? strrchr(place->object, '/') : NULL;
	uint32_t number;
	int r;

	if (place->name)
		r = asprintf(&text, "%s%s", demangled ?: place->name, kernel ? "_[k]" : "");
	else if (place->object)
		r = asprintf(&text, "%s+0x%" PRIx64, file ? file + 1 : place->object, place->start);
	else
		r = asprintf(&text, "0x%" PRIx64 "%s", place->start, kernel ? "_[k]" : "");
	if (r < 0)
		text = NULL;
	number = stacks_number(stacks, &(struct stack_place){.name = text ?: "?",
							     .file = place->file,
							     .line = place->line,
							     .outer = outer});
	free(demangled);
	free(text);
	return number;
}

static uint32_t push_stack(struct stacks *stacks, const struct clew_trace *trace, uint32_t parent,
			   const struct clew_trace_stack *stack, bool kernel)
{
	struct clew_stack_places at;
	uint32_t number;

	for (uint32_t i = stack ? stack->count : 0; i > 0; i--) {
		clew_trace_stack_places(trace, stack->frames[i - 1], kernel, &at);
		number = place_number(stacks, &at.places[at.count - 1], kernel, 0);
		for (size_t j = at.count - 1; j > 0; j--)
			number = place_number(stacks, &at.places[j - 1], kernel, number + 1);
		parent = stacks_push_number(stacks, parent, number);
	}
	return parent;
}

static void add_wait(struct stacks *stacks, const struct stacks_asked *asked,
		     const struct clew_sleep *sleep)
{
	uint32_t node = push_task(stacks, asked, sleep->task, sleep->start);
	const char *call = clew_call_name(sleep->call);
	struct clew_sleep_stacks code;

	if (clew_trace_sleep_stacks(asked->trace, sleep, &code) && (code.user || code.kernel)) {
		node = push_stack(stacks, asked->trace, node, code.user, false);
		node = push_stack(stacks, asked->trace, node, code.kernel, true);
	} else if (call) {
		node = stacks_push(stacks, node, call);
	}
	node = stacks_wait(stacks, asked->trace, node, sleep);
	stacks_add(stacks, node, sleep->kind,
		   clew_trace_until(asked->trace, sleep->end) - sleep->start);
}

void stacks_off_cpu(struct stacks *stacks, const struct stacks_asked *asked)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(asked->trace, &count);

	for (size_t i = 0; i < count; i++)
		if (stacks_wants(asked, &sleeps[i]))
			add_wait(stacks, asked, &sleeps[i]);
}

void stacks_on_cpu(struct stacks *stacks, const struct stacks_asked *asked)
{
	size_t count;
	const struct clew_task_stacks *samples = clew_trace_all_samples(asked->trace, &count);
	struct clew_sleep_stacks code;
	uint32_t node;

	for (size_t i = 0; i < count; i++) {
		if (!asks_for(asked, samples[i].task) ||
		    !lies_in(asked, samples[i].header.time, samples[i].header.time))
			continue;
		clew_trace_sample_stacks(asked->trace, &samples[i], &code);
		node = push_task(stacks, asked, samples[i].task, samples[i].header.time);
		node = push_stack(stacks, asked->trace, node, code.user, false);
		node = push_stack(stacks, asked->trace, node, code.kernel, true);
		stacks_add(stacks, node, CLEW_SEGMENT_RUNNING, 0);
	}
}
