/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of what a command spends its time on. */
#include "live/took.h"

#include <errno.h>

void took_init(struct took *took, pid_t pid, uint32_t pid_namespace)
{
	*took = (struct took){.pid = (uint32_t)pid,
			      .pid_namespace = pid_namespace,
			      .objects.item = sizeof(struct took_object)};
}

void took_done(struct took *took)
{
	map_done(&took->threads);
	map_done(&took->index);
	map_done(&took->others);
	vector_done(&took->objects);
}

size_t took_memory(const struct took *took)
{
	return map_memory(&took->threads) + map_memory(&took->index) + map_memory(&took->others) +
	       took->objects.bytes;
}

static bool is_of_command(const struct took *took, uint32_t task)
{
	return task != CLEW_NO_TASK && map_get(&took->threads, task, 0);
}

/* ---- who is of the command ---- */

/* The command is clew's child, and in its pid namespace. */
static bool is_root(const struct took *took, const struct clew_task_record *task)
{
	return took->root == CLEW_NO_TASK && task->nspid_count &&
	       task->nspid_count <= CLEW_NSPID_LEVELS && task->process == task->task &&
	       !(task->task_flags & CLEW_TASK_SELF) && task->pid_namespace == took->pid_namespace &&
	       task->nspid[task->nspid_count - 1] == took->pid;
}

static int take_task(struct took *took, const struct clew_task_record *task)
{
	if (is_root(took, task))
		took->root = task->task;
	else if (!is_of_command(took, task->parent) && !is_of_command(took, task->process))
		return 0;
	return map_set(&took->threads, task->task, 0, 1);
}

static int take_identity(struct took *took, const struct clew_header *record)
{
	const struct clew_life *life = (const struct clew_life *)record;

	switch (record->kind) {
	case CLEW_KIND_TASK:
		return take_task(took, (const struct clew_task_record *)record);
	case CLEW_KIND_FORK:
		return is_of_command(took, life->task) ? map_set(&took->threads, life->other, 0, 1)
						       : 0;
	case CLEW_KIND_EXIT:
		if (took->root != CLEW_NO_TASK && life->task == took->root)
			took->to = record->time;
		return 0;
	default:
		return 0;
	}
}

/* ---- what its threads did ---- */

/* The one who held a lock when the wait for it began, or else who ended it. A device or a timer
 * ends a wait for nobody, whoever set it going. */
static uint32_t who_ended(const struct clew_sleep *sleep, bool *ret_held)
{
	*ret_held = sleep->holder_count && !sleep->holders[0].coming &&
		    sleep->holders[0].evidence != CLEW_EVIDENCE_CANDIDATE;
	if (*ret_held)
		return sleep->holders[0].task;
	if (sleep->blind || sleep->link_count || sleep->from == sleep->task ||
	    sleep->edge_evidence == CLEW_EVIDENCE_CANDIDATE)
		return CLEW_NO_TASK;
	return sleep->from;
}

static uint64_t key_of(const struct clew_sleep *sleep)
{
	return (sleep->object.number * 0x9e3779b97f4a7c15ull) ^
	       ((uint64_t)sleep->object.device << 16 | sleep->call);
}

static int add_object(struct took *took, const struct clew_sleep *sleep, uint64_t ns)
{
	uint32_t part = (uint32_t)sleep->kind << 8 | sleep->object.kind;
	uint64_t key = key_of(sleep), *place = map_get(&took->index, key, part);
	struct took_object *object;

	if (!place) {
		if (took->objects.count >= TOOK_MOST)
			return 0;
		if (vector_reserve(&took->objects, took->objects.count + 1) < 0 ||
		    map_set(&took->index, key, part, took->objects.count) < 0)
			return -ENOMEM;
		place = map_get(&took->index, key, part);
		((struct took_object *)took->objects.data)[took->objects.count++] =
			(struct took_object){};
	}
	object = (struct took_object *)took->objects.data + *place;
	object->ns += ns;
	if (ns <= object->longest.end - object->longest.start)
		return 0;
	object->by = who_ended(sleep, &object->held);
	object->longest = *sleep;
	object->longest.holders = NULL;
	object->longest.links = NULL;
	object->longest.holder_count = 0;
	object->longest.link_count = object->longest.and_count = 0;
	return 0;
}

static int take_sleep(struct took *took, const struct clew_sleep *sleep)
{
	bool held;
	uint64_t ns = sleep->end - sleep->start;

	if (!is_of_command(took, sleep->task) || sleep->end == CLEW_TIME_OPEN)
		return 0;
	/* The recording lets it begin by ending its first wait. */
	if (sleep->open & CLEW_OPEN_START) {
		if (sleep->task == took->root)
			took->from = sleep->end;
		return 0;
	}
	if (sleep->switch_in != CLEW_TIME_OPEN)
		took->ready += sleep->switch_in - sleep->end;
	/* Children are of the command, too. */
	if (sleep->kind == CLEW_WAIT_CHILD || sleep->kind == CLEW_WAIT_VFORK ||
	    (is_of_command(took, who_ended(sleep, &held)) && !held))
		return 0;
	took->waited[sleep->kind] += ns;
	return add_object(took, sleep, ns);
}

static int take_run(struct took *took, const struct clew_run *run)
{
	uint64_t ns = run->end - run->start, *place;

	if (run->task == CLEW_NO_TASK || !took->from || run->end == CLEW_TIME_OPEN)
		return 0;
	if (is_of_command(took, run->task)) {
		took->running += ns;
		return 0;
	}
	place = map_get(&took->others, run->task, 0);
	if (place)
		*place += ns;
	return place || took->others.count >= TOOK_MOST ? 0
							: map_set(&took->others, run->task, 0, ns);
}

int took_take(struct took *took, struct clew_finding finding)
{
	const struct clew_ready *ready = finding.ready;

	switch (finding.tag) {
	case CLEW_FINDING_IDENTITY:
		return take_identity(took, finding.identity);
	case CLEW_FINDING_RUN:
		return take_run(took, finding.run);
	case CLEW_FINDING_SLEEP:
		return take_sleep(took, finding.sleep);
	case CLEW_FINDING_READY:
		if (is_of_command(took, ready->task) && ready->end != CLEW_TIME_OPEN)
			took->ready += ready->end - ready->start;
		return 0;
	default:
		return 0;
	}
}

const struct took_object *took_most(const struct took *took, unsigned kind)
{
	const struct took_object *objects = took->objects.data, *most = NULL;

	for (size_t i = 0; i < took->objects.count; i++)
		if (objects[i].longest.kind == kind && (!most || objects[i].ns > most->ns))
			most = &objects[i];
	return most;
}
