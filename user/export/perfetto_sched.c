/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes and scheduling for Perfetto, as bundles of the kernel's own events: switches,
 * wakes, and what each sleep was for in the place of the kernel function that it slept in.
 *
 * A bundle is of one CPU. A wake is of the CPU that the waker ran on; where an interrupt woke,
 * its flags say so, lest Perfetto takes the task on that CPU for the waker.
 */
#include "base/hash.h"
#include "base/sort.h"
#include "export/perfetto.h"
#include "export/sched.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "words/describe.h"

#define BUNDLE_EVENTS 4096
#define TIME_BITS     52 /* of a key: ns since the first event; the CPU is above them */

/* Flags of a wake: the kernel was in an interrupt. */
#define FROM_HARDIRQ 0x08u
#define FROM_SOFTIRQ 0x10u

enum what { WHAT_RUN, WHAT_WAKE, WHAT_REASON };

/* The columns of a bundle's switches and wakes, by their field numbers. */
enum column {
	SWITCH_TIME = 1,
	SWITCH_STATE,
	SWITCH_TID,
	SWITCH_PRIORITY,
	NAMES, /* not packed */
	SWITCH_NAME,
	WAKE_TIME,
	WAKE_TID,
	WAKE_CPU,
	WAKE_PRIORITY,
	WAKE_NAME,
	WAKE_FLAGS,
	COLUMN_COUNT
};

struct sched {
	struct perfetto *it;
	const struct clew_run *runs;
	const struct clew_sleep *sleeps;
	struct sort_key *keys;
	size_t count;
	uint64_t base; /* ns, not after any event */
	/* The bundle. */
	struct proto columns[COLUMN_COUNT];
	struct proto reasons;
	struct map names; /* of tasks: serial -> number, in this bundle */
	uint64_t last_switch, last_wake;
	size_t events;
	/* The CPU. */
	uint16_t cpu;
	const struct clew_run *previous;
};

static uint64_t priority_at(const struct perfetto *it, uint32_t serial, uint64_t at)
{
	return (uint64_t)sched_priority_at(it->trace, serial, at);
}

static void write_name(struct proto *proto, unsigned field, const char *name)
{
	char text[CLEW_COMM_SIZE + 1];

	snprintf(text, sizeof(text), "%.*s", CLEW_COMM_SIZE, name);
	proto_string(proto, field, text);
}

/* A command line whose arguments have lost their borders is one argument. */
static void write_process(struct perfetto *it, const struct clew_trace_task *task)
{
	const struct clew_trace_task *parent = clew_trace_task(it->trace, task->parent);
	size_t opened = proto_open(&it->packet, 1);

	proto_number(&it->packet, 1, task->pid);
	proto_number(&it->packet, 2, parent ? parent->pid : 0);
	if (task->command_line[0])
		proto_string(&it->packet, 3, task->command_line);
	else
		write_name(&it->packet, 3, task->comm);
	proto_close(&it->packet, opened);
}

static void write_thread(struct perfetto *it, const struct clew_trace_task *task)
{
	size_t opened = proto_open(&it->packet, 2);

	proto_number(&it->packet, 1, task->tid);
	write_name(&it->packet, 2, task->comm);
	proto_number(&it->packet, 3, task->pid ? task->pid : task->tid);
	if (task->inner_tid)
		proto_number(&it->packet, 4, task->inner_tid);
	proto_close(&it->packet, opened);
}

int perfetto_processes(struct perfetto *it)
{
	size_t count = clew_trace_task_count(it->trace), opened;

	opened = proto_open(&it->packet, PACKET_PROCESS_TREE);
	for (size_t i = 0; i < count; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(it->trace, i);

		if (task->tid && task->tid == task->pid)
			write_process(it, task);
	}
	for (size_t i = 0; i < count; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(it->trace, i);

		/* A process's name is its command, which its first thread need not have. */
		if (task->tid)
			write_thread(it, task);
	}
	proto_close(&it->packet, opened);
	perfetto_send(it, PERFETTO_PLAIN);
	return it->error;
}

/* The number of a task's name in the bundle. */
static uint64_t name_number(struct sched *sched, const char *name)
{
	uint64_t hash = hash_bytes(HASH_SEED, name, strnlen(name, CLEW_COMM_SIZE)), *known;

	known = map_get(&sched->names, hash, 0);
	if (known)
		return *known;
	if (map_set(&sched->names, hash, 0, sched->names.count) < 0)
		sched->it->error = -ENOMEM;
	write_name(&sched->columns[NAMES], NAMES, name);
	return sched->names.count - 1;
}

static uint64_t since(struct sched *sched, uint64_t *last, uint64_t at)
{
	uint64_t time = perfetto_time(sched->it, at), delta = time - *last;

	*last = time;
	return delta;
}

static void put_switch(struct sched *sched, uint64_t at, uint64_t state, uint32_t tid,
		       uint64_t priority, const char *name)
{
	struct proto *columns = sched->columns;

	proto_packed(&columns[SWITCH_TIME], since(sched, &sched->last_switch, at));
	proto_packed(&columns[SWITCH_STATE], state);
	proto_packed(&columns[SWITCH_TID], tid);
	proto_packed(&columns[SWITCH_PRIORITY], priority);
	proto_packed(&columns[SWITCH_NAME], name_number(sched, name));
	sched->events++;
}

/* From the end of a run on, what is on the CPU is not known. */
static void put_unknown(struct sched *sched, const struct clew_run *run)
{
	put_switch(sched, run->end, sched_state_behind(sched->it->trace, run),
		   SCHED_UNKNOWN_TID(sched->cpu), SCHED_NORMAL_PRIORITY, SCHED_UNKNOWN_NAME);
}

static void put_run(struct sched *sched, const struct clew_run *run)
{
	const struct clew_trace_task *task = clew_trace_task(sched->it->trace, run->task);
	uint64_t state = SCHED_RUNNABLE;
	char idle[CLEW_COMM_SIZE];

	snprintf(idle, sizeof(idle), "swapper/%u", sched->cpu);
	/* A slice begins only with the second switch on a CPU. */
	if (!sched->previous)
		put_switch(sched, run->start, SCHED_RUNNABLE, 0, 120, idle);
	else if (sched->previous->end < run->start)
		put_unknown(sched, sched->previous);
	else
		state = sched_state_behind(sched->it->trace, sched->previous);
	if (task && task->tid)
		put_switch(sched, run->start, state, task->tid,
			   priority_at(sched->it, run->task, run->start),
			   clew_trace_comm_at(sched->it->trace, run->task, run->start));
	else
		put_switch(sched, run->start, state, 0, 120, idle);
	sched->previous = run;
}

/* The CPU whose bundle has a wake, and the flags that it needs there. */
static uint16_t wake_place(const struct sched *sched, const struct clew_sleep *sleep,
			   unsigned *ret_flags)
{
	uint16_t cpu = sched_woken_by_task(sleep) ? sched_cpu_at(sched->it->trace, sleep->ended_by,
								 sched_wake_time(sleep))
						  : SCHED_NO_CPU;

	*ret_flags = 0;
	if (cpu != SCHED_NO_CPU)
		return cpu;
	*ret_flags = sleep->context == CLEW_WAKE_SOFTIRQ ? FROM_SOFTIRQ : FROM_HARDIRQ;
	return sched_cpu_behind(sched->it->trace, sleep);
}

static void put_wake(struct sched *sched, const struct clew_sleep *sleep)
{
	const struct clew_trace_task *task = clew_trace_task(sched->it->trace, sleep->task);
	struct proto *columns = sched->columns;
	uint64_t at = sched_wake_time(sleep);
	unsigned flags;

	wake_place(sched, sleep, &flags);
	proto_packed(&columns[WAKE_TIME], since(sched, &sched->last_wake, at));
	proto_packed(&columns[WAKE_TID], task->tid);
	proto_packed(&columns[WAKE_CPU], sched_cpu_behind(sched->it->trace, sleep));
	proto_packed(&columns[WAKE_PRIORITY], priority_at(sched->it, sleep->task, at));
	proto_packed(&columns[WAKE_NAME],
		     name_number(sched, clew_trace_comm_at(sched->it->trace, sleep->task, at)));
	proto_packed(&columns[WAKE_FLAGS], flags);
	sched->events++;
}

/* "fsync /var/lib/db/wal", "futex 0x7f.., held by worker-17". */
static void reason_text(const struct perfetto *it, const struct clew_sleep *sleep, char *buffer,
			size_t size)
{
	char holder[EXPORT_TASK_SIZE];
	struct object_description object;
	size_t used = (size_t)snprintf(buffer, size, "%s", clew_wait_kind_name(sleep->kind));

	if (object_describe_then(it->trace, &sleep->object, sleep, sleep->start, &object) &&
	    used < size)
		used += (size_t)snprintf(buffer + used, size - used, " %s", object.name);
	if (sleep->holder_count && !sleep->holders[0].coming && used < size)
		snprintf(buffer + used, size - used, ", held by %s",
			 export_task_name(it->trace, sleep->holders[0].task, sleep->holders[0].from,
					  holder));
}

static void put_reason(struct sched *sched, const struct clew_sleep *sleep)
{
	const struct clew_trace_task *task = clew_trace_task(sched->it->trace, sleep->task);
	struct proto *reasons = &sched->reasons;
	char text[CLEW_PATH_SIZE + 512];
	size_t event = proto_open(reasons, 2), reason;

	reason_text(sched->it, sleep, text, sizeof(text));
	proto_number(reasons, 1, perfetto_time(sched->it, sleep->start + 1));
	proto_number(reasons, 2, task->tid);
	reason = proto_open(reasons, 18);
	proto_number(reasons, 1, task->tid);
	proto_number(reasons, 2,
		     perfetto_string(sched->it, &sched->it->ftrace_strings, INTERNED_KERNEL, text));
	proto_number(reasons, 3, (sleep->flags & CLEW_WAIT_FLAG_IOWAIT) != 0);
	proto_close(reasons, reason);
	proto_close(reasons, event);
	sched->events++;
}

/* Sends the bundle, and begins the next one. */
static void end_bundle(struct sched *sched, bool first)
{
	struct proto *packet = &sched->it->packet;
	size_t bundle, compact;

	bundle = proto_open(packet, PACKET_FTRACE);
	proto_number(packet, 1, sched->cpu);
	if (sched->reasons.size) {
		packet->failed |= sched->reasons.failed;
		proto_append(packet, &sched->reasons);
	}
	compact = proto_open(packet, 4);
	for (unsigned i = SWITCH_TIME; i < COLUMN_COUNT; i++) {
		if (i == NAMES)
			proto_append(packet, &sched->columns[i]);
		else
			proto_message(packet, i, &sched->columns[i]);
		proto_clear(&sched->columns[i]);
	}
	proto_close(packet, compact);
	proto_close(packet, bundle);
	proto_number(packet, PACKET_FLAGS, first ? SEQUENCE_BEGINS : SEQUENCE_HAS_STRINGS);
	perfetto_send(sched->it, PERFETTO_FTRACE);
	proto_clear(&sched->reasons);
	map_done(&sched->names);
	sched->events = 0;
	sched->last_switch = sched->last_wake = 0;
}

static void add_key(struct sched *sched, uint16_t cpu, uint64_t at, enum what what, size_t index)
{
	uint64_t time = at > sched->base ? at - sched->base : 0;

	sched->keys[sched->count++] = (struct sort_key){
		.key = (uint64_t)cpu << TIME_BITS | time, .index = (uint32_t)index, .tag = what};
}

static void add_sleep(struct sched *sched, const struct clew_sleep *sleep, size_t index)
{
	const struct clew_export *export = sched->it->export;
	const struct clew_trace_task *task = clew_trace_task(export->trace, sleep->task);
	unsigned flags;
	uint16_t cpu;

	if (!task || !task->tid || !clew_export_wants(export, sleep->task) ||
	    !clew_export_has(export, sleep->start, sleep->end))
		return;
	cpu = sched_cpu_at(sched->it->trace, sleep->task, sleep->start ? sleep->start - 1 : 0);
	add_key(sched, cpu == SCHED_NO_CPU ? 0 : cpu, sleep->start + 1, WHAT_REASON, index);
	if (sleep->end != CLEW_TIME_OPEN)
		add_key(sched, wake_place(sched, sleep, &flags), sched_wake_time(sleep), WHAT_WAKE,
			index);
}

/* The events of all CPUs in the order in which they are written. */
static int make_keys(struct sched *sched)
{
	const struct clew_export *export = sched->it->export;
	size_t run_count, sleep_count;
	struct sort_key *spare;

	sched->runs = clew_trace_runs(export->trace, &run_count);
	sched->sleeps = clew_trace_sleeps(export->trace, &sleep_count);
	sched->keys = malloc((run_count + 2 * sleep_count + 1) * sizeof(*sched->keys));
	spare = malloc((run_count + 2 * sleep_count + 1) * sizeof(*spare));
	if (!sched->keys || !spare) {
		free(spare);
		return -ENOMEM;
	}
	sched->base = UINT64_MAX;
	for (size_t i = 0; i < run_count; i++)
		if (sched->runs[i].start < sched->base)
			sched->base = sched->runs[i].start;
	for (size_t i = 0; i < sleep_count; i++)
		if (sched->sleeps[i].start < sched->base)
			sched->base = sched->sleeps[i].start;
	/* At equal times: first the switch, then what follows from it. */
	for (size_t i = 0; i < run_count; i++)
		if (sched->runs[i].cpu != SCHED_NO_CPU &&
		    clew_export_has(export, sched->runs[i].start, sched->runs[i].end))
			add_key(sched, sched->runs[i].cpu, sched->runs[i].start, WHAT_RUN, i);
	for (size_t i = 0; i < sleep_count; i++)
		add_sleep(sched, &sched->sleeps[i], i);
	sort_keys(sched->keys, spare, sched->count);
	free(spare);
	return 0;
}

/* The last run of a CPU stays open if it was still running. */
static void end_cpu(struct sched *sched, bool first)
{
	if (sched->previous && sched->previous->ended != CLEW_RUN_OPEN &&
	    sched->previous->end != CLEW_TIME_OPEN)
		put_unknown(sched, sched->previous);
	sched->previous = NULL;
	if (sched->events)
		end_bundle(sched, first);
}

static void put_events(struct sched *sched)
{
	bool first = true;

	for (size_t i = 0; i < sched->count; i++) {
		const struct sort_key *key = &sched->keys[i];
		uint16_t cpu = (uint16_t)(key->key >> TIME_BITS);

		if (i && cpu != sched->cpu) {
			end_cpu(sched, first);
			first = false;
		}
		sched->cpu = cpu;
		if (key->tag == WHAT_RUN)
			put_run(sched, &sched->runs[key->index]);
		else if (key->tag == WHAT_WAKE)
			put_wake(sched, &sched->sleeps[key->index]);
		else
			put_reason(sched, &sched->sleeps[key->index]);
		if (sched->events < BUNDLE_EVENTS)
			continue;
		end_bundle(sched, first);
		first = false;
		sched->it->export->progress(sched->it->export->progress_context,
					    .4 * (double)i / (double)sched->count);
	}
	end_cpu(sched, first);
}

int perfetto_sched(struct perfetto *it)
{
	struct sched sched = {.it = it};
	int r = make_keys(&sched);

	if (r >= 0)
		put_events(&sched);
	for (unsigned i = 0; i < COLUMN_COUNT; i++)
		proto_done(&sched.columns[i]);
	proto_done(&sched.reasons);
	map_done(&sched.names);
	free(sched.keys);
	return r < 0 ? r : it->error;
}
