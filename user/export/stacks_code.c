/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits and samples by the code that waited or ran: the process, the functions of the program
 * and of the kernel from the outermost inwards, and what was waited for. A wait without a stack
 * has its system call instead. A frame has the functions that were compiled into its own, if the
 * trace has lines.
 */
#include "export/stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain/operations.h"
#include "export/segment.h"
#include "symbol/elf/demangle.h"
#include "trace/lines.h"
#include "words/task.h"

bool stacks_wants(const struct clew_export *export, const struct clew_sleep *sleep)
{
	return clew_export_wants(export, sleep->task) &&
	       clew_export_has(export, sleep->start, sleep->end) &&
	       (export->idle || !sleep_is_idle(export->trace, sleep));
}

uint64_t stacks_end(const struct clew_export *export, const struct clew_sleep *sleep)
{
	return clew_trace_until(export->trace, sleep->end);
}

uint32_t stacks_task(struct stacks *stacks, const struct clew_export *export, uint32_t serial,
		     uint64_t at)
{
	const struct clew_trace_task *task = clew_trace_task(export->trace, serial);
	const char *thread = clew_trace_comm_at(export->trace, serial, at);
	const char *process = task ? clew_process_name(export->trace, task, at) : "";
	uint32_t node = 0;

	if (process[0])
		node = stacks_push(stacks, node, process);
	return strcmp(process, thread) ? stacks_push(stacks, node, thread) : node;
}

uint32_t stacks_wait(struct stacks *stacks, const struct clew_export *export, uint32_t parent,
		     const struct clew_sleep *sleep)
{
	char text[EXPORT_SEGMENT_SIZE];

	export_wait_name(export->trace, sleep, text);
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

static uint32_t push_stack(struct stacks *stacks, const struct clew_export *export, uint32_t parent,
			   const struct clew_trace_stack *stack, bool kernel)
{
	struct clew_stack_places at;
	uint32_t number;

	for (uint32_t i = stack ? stack->count : 0; i > 0; i--) {
		clew_trace_stack_places(export->trace, stack->frames[i - 1], kernel, &at);
		number = place_number(stacks, &at.places[at.count - 1], kernel, 0);
		for (size_t j = at.count - 1; j > 0; j--)
			number = place_number(stacks, &at.places[j - 1], kernel, number + 1);
		parent = stacks_push_number(stacks, parent, number);
	}
	return parent;
}

static void add_wait(struct stacks *stacks, const struct clew_export *export,
		     const struct clew_sleep *sleep)
{
	uint32_t node = stacks_task(stacks, export, sleep->task, sleep->start);
	const char *call = clew_call_name(sleep->call);
	struct clew_sleep_stacks code;

	if (clew_trace_sleep_stacks(export->trace, sleep, &code) && (code.user || code.kernel)) {
		node = push_stack(stacks, export, node, code.user, false);
		node = push_stack(stacks, export, node, code.kernel, true);
	} else if (call) {
		node = stacks_push(stacks, node, call);
	}
	node = stacks_wait(stacks, export, node, sleep);
	stacks_add(stacks, node, sleep->kind, stacks_end(export, sleep) - sleep->start);
}

void stacks_off_cpu(struct stacks *stacks, const struct clew_export *export)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(export->trace, &count);

	for (size_t i = 0; i < count; i++)
		if (stacks_wants(export, &sleeps[i]))
			add_wait(stacks, export, &sleeps[i]);
}

void stacks_on_cpu(struct stacks *stacks, const struct clew_export *export)
{
	size_t count;
	const struct clew_task_stacks *samples = clew_trace_all_samples(export->trace, &count);
	struct clew_sleep_stacks code;
	uint32_t node;

	for (size_t i = 0; i < count; i++) {
		if (!clew_export_wants(export, samples[i].task) ||
		    !clew_export_has(export, samples[i].header.time, samples[i].header.time))
			continue;
		clew_trace_sample_stacks(export->trace, &samples[i], &code);
		node = stacks_task(stacks, export, samples[i].task, samples[i].header.time);
		node = push_stack(stacks, export, node, code.user, false);
		node = push_stack(stacks, export, node, code.kernel, true);
		stacks_add(stacks, node, CLEW_SEGMENT_RUNNING, 0);
	}
}
