/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations of all kinds, task by task.
 *
 * Waits for work and rests cut a task's time; its exec does, too. Successive waits within one
 * system call are one wait. Requests are found besides: each wait of a client for an answer tells
 * when its question left.
 */
#include "explain/kinds.h"

#include <clew/kernel/call_numbers.h>
#include <errno.h>

#include "explain/operations.h"
#include "trace/internal.h"
#include "trace/windows.h"

#define MOST_BACK 16 /* requests of a task, looked at for one that an answer goes on with */

/* A task, and what was found of it so far. */
struct cutting {
	const struct clew_trace *trace;
	const struct trace_task *task;
	struct vector *operations;
	size_t first; /* of the task's operations in the list */
	uint64_t from, to;
	uint64_t since;		       /* where the part begins that is being looked at */
	const struct clew_sleep *idle; /* the wait that it begins behind, NULL none */
	uint64_t idle_ns;	       /* all such waits */
	uint64_t slept_ns;	       /* in sleeps like that wait, since it */
	bool begun_before;
};

static int add(struct cutting *cutting, const struct clew_kind_operation *operation)
{
	struct vector *all = cutting->operations;

	if (operation->operation.from >= operation->operation.to ||
	    operation->operation.from > cutting->to || operation->operation.to < cutting->from ||
	    operation->operation.to > clew_trace_works_until(cutting->trace))
		return 0;
	if (vector_reserve(all, all->count + 1) < 0)
		return -ENOMEM;
	((struct clew_kind_operation *)all->data)[all->count++] = *operation;
	return 0;
}

static struct clew_kind_operation whole_of(const struct cutting *cutting, uint64_t from,
					   uint64_t to, enum clew_operation_kind kind)
{
	return (struct clew_kind_operation){
		.operation = {.from = from, .to = to, .task = cutting->task->task.serial},
		.kind = (uint8_t)kind};
}

static bool is_main(const struct trace_task *task)
{
	return task->task.process == task->task.serial;
}

/* True if the capture shows how a task's program began. */
static bool shows_begin(const struct trace_task *task)
{
	return task->task.birth || task->executed;
}

static enum clew_operation_kind kind_of(const struct cutting *cutting, bool last)
{
	const struct trace_task *task = cutting->task;

	/* Where messages show the requests, this is the thread's part in them. */
	if (cutting->idle)
		return clew_trace_was_asked(cutting->trace, cutting->idle) &&
				       !clew_trace_shows_messages(cutting->trace, cutting->idle)
			       ? CLEW_OPERATION_SERVED
			       : CLEW_OPERATION_WORK;
	if (!shows_begin(task))
		return CLEW_OPERATION_WORK;
	if (!last)
		return CLEW_OPERATION_START;
	return is_main(task) ? CLEW_OPERATION_COMMAND : CLEW_OPERATION_WORK;
}

/* Ends the part that is being looked at. */
static int cut(struct cutting *cutting, uint64_t at, bool last)
{
	struct clew_kind_operation operation =
		whole_of(cutting, cutting->since, at, kind_of(cutting, last));

	operation.by = cutting->idle;
	operation.slept_ns = cutting->slept_ns;
	operation.begun_before = cutting->begun_before;
	operation.goes_on = last && cutting->task->task.death == CLEW_TIME_OPEN;
	cutting->begun_before = false;
	cutting->slept_ns = 0;
	return add(cutting, &operation);
}

/* Goes on behind an exec: what came before was another program's. */
static int cut_by_exec(struct cutting *cutting, uint64_t before)
{
	uint64_t executed = cutting->task->executed;
	int r;

	if (executed <= cutting->since || executed >= before)
		return 0;
	r = cut(cutting, executed, false);
	cutting->since = executed;
	cutting->idle = NULL;
	cutting->idle_ns = 0;
	return r;
}

static int take_idle(struct cutting *cutting, const struct clew_sleep *sleep)
{
	uint64_t over = clew_trace_until(cutting->trace, sleep->end);
	int r = cut_by_exec(cutting, sleep->start);

	if (r == 0 && !(cutting->idle && cutting->idle->call_id == sleep->call_id) &&
	    !(sleep->open & CLEW_OPEN_START))
		r = cut(cutting, sleep->start, false);
	cutting->begun_before = false;
	/* Nobody knows which goroutine a thread goes on with. */
	if (!clew_trace_parks(cutting->trace, sleep))
		cutting->idle_ns += over - sleep->start;
	cutting->idle = sleep;
	cutting->since = over;
	return r;
}

/* A request that an answer's further part belongs to. */
static struct clew_kind_operation *request_of(const struct cutting *cutting,
					      const struct clew_sleep *sleep, uint64_t asked)
{
	struct clew_kind_operation *all = cutting->operations->data;
	size_t count = cutting->operations->count;

	for (size_t i = count; i-- > cutting->first && i + MOST_BACK > count;)
		if (all[i].kind == CLEW_OPERATION_REQUEST && all[i].by &&
		    all[i].by->object.number == sleep->object.number &&
		    clew_trace_question_at(cutting->trace, all[i].by) == asked)
			return &all[i];
	return NULL;
}

/* Adds the request or the attempt to connect that a wait is a part of. */
static int take_client(struct cutting *cutting, const struct clew_sleep *sleep)
{
	uint64_t asked = clew_trace_question_at(cutting->trace, sleep),
		 over = clew_sleep_over(cutting->trace, sleep);
	struct clew_kind_operation *known = asked ? request_of(cutting, sleep, asked) : NULL,
				   operation;

	if (asked && clew_trace_shows_messages(cutting->trace, sleep))
		return 0;
	if (known) {
		known->operation.to = over;
		known->goes_on = sleep->end == CLEW_TIME_OPEN;
		return 0;
	}
	if (!asked && (sleep->call != CLEW_NR_connect || sleep->object.kind != CLEW_OBJECT_SOCKET))
		return 0;
	operation = whole_of(cutting, asked ?: sleep->start, over,
			     asked ? CLEW_OPERATION_REQUEST : CLEW_OPERATION_CONNECT);
	operation.by = sleep;
	operation.goes_on = sleep->end == CLEW_TIME_OPEN;
	if (operation.operation.from < cutting->task->begin)
		operation.operation.from = cutting->task->begin;
	return add(cutting, &operation);
}

/* Takes a wait that does not separate operations; a thread's own sleep is one where it leads on. */
static int take_other(struct cutting *cutting, const struct clew_sleep *sleep)
{
	const struct clew_sleep *idle = cutting->idle;

	if (sleep->kind == CLEW_WAIT_SLEEP && idle && idle->kind == CLEW_WAIT_SLEEP &&
	    sleep->call == idle->call)
		cutting->slept_ns += clew_sleep_over(cutting->trace, sleep) - sleep->start;
	return take_client(cutting, sleep);
}

/* The process as a whole, where its parts are operations of their own. */
static int add_command(struct cutting *cutting)
{
	const struct trace_task *task = cutting->task;
	struct clew_kind_operation operation;

	if (!cutting->idle || !is_main(task) || !shows_begin(task) ||
	    task->task.death == CLEW_TIME_OPEN)
		return 0;
	operation = whole_of(cutting, task->executed > task->begin ? task->executed : task->begin,
			     task->end, CLEW_OPERATION_COMMAND);
	return add(cutting, &operation);
}

static enum clew_operation_kind kind_of_exchange(const struct clew_exchange *exchange)
{
	if (exchange->pipelined)
		return CLEW_OPERATION_PIPELINE;
	return exchange->client ? CLEW_OPERATION_REQUEST : CLEW_OPERATION_SERVED;
}

/* Adds the requests that messages show. */
static int add_exchanges(struct cutting *cutting)
{
	size_t first, count = clew_trace_exchange_count(cutting->trace, cutting->task->task.serial,
							&first);
	int r = 0;

	for (size_t i = first; i < first + count && r == 0; i++) {
		const struct clew_exchange *exchange = clew_trace_exchange(cutting->trace, i);
		struct clew_kind_operation operation =
			whole_of(cutting, exchange->from, exchange->to, kind_of_exchange(exchange));

		operation.exchange = exchange;
		operation.goes_on = exchange->goes_on;
		r = add(cutting, &operation);
	}
	return r;
}

static bool is_request(const struct clew_kind_operation *operation)
{
	return operation->exchange || operation->kind == CLEW_OPERATION_REQUEST;
}

/* The first of the operations `first` to `end`, in order of their begins, that begins at or behind
 * a moment. */
static size_t first_from(const struct clew_kind_operation *all, size_t first, size_t end,
			 uint64_t at)
{
	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (all[middle].operation.from < at)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* Counts the requests among the operations `first` to `end` that lie within another one of the same
 * thread. Several may be open at once. */
static void count_within(struct clew_kind_operation *all, size_t first, size_t end,
			 struct clew_kind_operation *whole)
{
	uint64_t covered = whole->operation.from;

	for (size_t i = first_from(all, first, end, covered);
	     i < end && all[i].operation.from < whole->operation.to; i++) {
		const struct clew_operation *inner = &all[i].operation;

		if (!is_request(&all[i]) || inner->to > whole->operation.to)
			continue;
		whole->inner++;
		covered = covered > inner->from ? covered : inner->from;
		if (inner->to > covered)
			whole->inner_ns += inner->to - covered;
		covered = covered > inner->to ? covered : inner->to;
	}
}

/* Counts the requests within the other operations of a task. Messages show the ones from number
 * `parts` on. */
static void count_inner(const struct cutting *cutting, size_t parts)
{
	struct clew_kind_operation *all = cutting->operations->data;

	for (size_t i = cutting->first; i < parts; i++) {
		if (all[i].kind != CLEW_OPERATION_WORK && all[i].kind != CLEW_OPERATION_SERVED)
			continue;
		count_within(all, cutting->first, parts, &all[i]);
		count_within(all, parts, cutting->operations->count, &all[i]);
	}
}

static int find_of_task(struct cutting *cutting)
{
	const struct trace_task *task = cutting->task;
	size_t parts;
	int r = 0;

	cutting->since = task->begin;
	cutting->begun_before = !task->task.birth;
	for (uint32_t i = 0; i < task->pieces.count && r == 0; i++) {
		uint32_t piece = task->pieces.data[i];
		const struct clew_sleep *sleep;

		if (piece >> PIECE_SHIFT != PIECE_SLEEP)
			continue;
		sleep = trace_sleep_at(cutting->trace, piece & PIECE_INDEX);
		if (wait_separates(cutting->trace, sleep))
			r = take_idle(cutting, sleep);
		else
			r = take_other(cutting, sleep);
	}
	if (r == 0)
		r = cut_by_exec(cutting, task->end);
	if (r == 0)
		r = cut(cutting, task->end, true);
	parts = cutting->operations->count;
	if (r == 0)
		r = add_exchanges(cutting);
	count_inner(cutting, parts);
	return r == 0 ? add_command(cutting) : r;
}

int kinds_find(const struct clew_trace *trace, const struct clew_chosen *chosen, uint64_t from,
	       uint64_t to, struct vector *operations, uint64_t *ret_busy)
{
	int r = 0;

	for (size_t i = 0; i < trace->tasks.count && r == 0; i++) {
		const struct trace_task *task = trace_task_at(trace, i);
		struct cutting cutting = {.trace = trace,
					  .task = task,
					  .operations = operations,
					  .first = operations->count,
					  .from = from,
					  .to = to};
		uint64_t life;

		if (task->task.serial == CLEW_NO_TASK ||
		    task->task.flags & (CLEW_TASK_KTHREAD | CLEW_TASK_KWORKER) ||
		    !clew_is_chosen(chosen, trace, task->task.serial))
			continue;
		r = find_of_task(&cutting);
		life = task->end - (task->executed > task->begin ? task->executed : task->begin);
		if (is_main(task) && shows_begin(task) && life > cutting.idle_ns &&
		    life - cutting.idle_ns > *ret_busy)
			*ret_busy = life - cutting.idle_ns;
	}
	return r;
}
