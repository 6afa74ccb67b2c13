/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The events of all CPUs for CTF, in order of CPU and time: each CPU's stream is written in one
 * go. At equal times a task acts before the switch that takes it off its CPU, and after the one
 * that brings it there.
 *
 * A CPU's switches are the ends and begins of runs. Between two runs that do not meet, the thread
 * "unknown" is on it: records are missing. Before the first run the CPU was idle.
 */
#include "export/ctf.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sort.h"
#include "base/vector.h"
#include "export/sched.h"

#define SECTOR_SIZE    512
#define TIME_BITS      49 /* of a key: ns since the begin; what comes at the same time is below them */
#define ORDER_BITS     2
#define PROGRESS_EVERY 4096

enum order { BEFORE, SWITCH, BEHIND };
enum what {
	WHAT_RUN,
	WHAT_WAIT,
	WHAT_WAKE,
	WHAT_FORK,
	WHAT_EXIT,
	WHAT_INSERT,
	WHAT_ISSUE,
	WHAT_COMPLETE,
	WHAT_LOSS_BEGINS,
	WHAT_LOSS_ENDS,
};

/* Bits of a request's operation, as the kernel has them. */
#define REQUEST_SYNC	   (1u << 11)
#define REQUEST_META	   (1u << 12)
#define REQUEST_FUA	   (1u << 17)
#define REQUEST_PREFLUSH   (1u << 18)
#define REQUEST_READ_AHEAD (1u << 19)

struct events {
	struct ctf *it;
	const struct clew_run *runs;
	const struct clew_sleep *sleeps;
	const struct clew_trace_request *requests;
	const struct clew_gap *gaps;
	struct vector keys; /* struct sort_key; at first their key is the time alone */
	uint16_t cpus;
	/* The CPU that is being written. */
	const struct clew_run *previous;
	bool left; /* the task of `previous` has left it */
	int error;
};

/* ---- which events there are ---- */

#define TAG(what, order, cpu) ((uint32_t)(cpu) << 16 | (uint32_t)(order) << 8 | (uint32_t)(what))
#define TAG_WHAT(tag)	      ((enum what)((tag)&0xff))
#define TAG_ORDER(tag)	      ((tag) >> 8 & 0xff)
#define TAG_CPU(tag)	      ((uint16_t)((tag) >> 16))

static void add(struct events *events, enum what what, size_t index, uint64_t at, uint16_t cpu,
		enum order order)
{
	struct sort_key *keys;

	if (vector_reserve(&events->keys, events->keys.count + 1) < 0) {
		events->error = -ENOMEM;
		return;
	}
	keys = events->keys.data;
	keys[events->keys.count++] = (struct sort_key){
		.key = at, .index = (uint32_t)index, .tag = TAG(what, order, cpu)};
	if (events->cpus <= cpu)
		events->cpus = (uint16_t)(cpu + 1);
	if (at < events->it->begin)
		events->it->begin = at;
	if (at > events->it->end)
		events->it->end = at;
}

/* Where a task ran when it did something; the first CPU if that is not known. */
static uint16_t place(const struct events *events, uint32_t serial, uint64_t at,
		      enum order *ret_order)
{
	uint16_t cpu = sched_cpu_at(events->it->trace, serial, at);

	*ret_order = BEHIND;
	if (cpu != SCHED_NO_CPU)
		return cpu;
	cpu = sched_cpu_before(events->it->trace, serial, at);
	if (cpu == SCHED_NO_CPU)
		return 0;
	*ret_order = BEFORE;
	return cpu;
}

static void add_act(struct events *events, enum what what, size_t index, uint64_t at,
		    uint32_t serial)
{
	enum order order;
	uint16_t cpu = place(events, serial, at, &order);

	add(events, what, index, at, cpu, order);
}

static void add_runs(struct events *events)
{
	const struct clew_export *export = events->it->export;
	size_t count;

	events->runs = clew_trace_runs(export->trace, &count);
	for (size_t i = 0; i < count; i++) {
		const struct clew_run *run = &events->runs[i];

		if (run->cpu == SCHED_NO_CPU || !clew_export_has(export, run->start, run->end))
			continue;
		add(events, WHAT_RUN, i, run->start, run->cpu, SWITCH);
		if (run->end != CLEW_TIME_OPEN && run->end > events->it->end)
			events->it->end = run->end;
	}
}

static void add_sleep(struct events *events, const struct clew_sleep *sleep, size_t index)
{
	const struct clew_trace_task *task = clew_trace_task(events->it->trace, sleep->task);
	bool before;
	uint16_t cpu;

	if (!task || !task->tid || !clew_export_wants(events->it->export, sleep->task) ||
	    !clew_export_has(events->it->export, sleep->start, sleep->end))
		return;
	cpu = sched_cpu_before(events->it->trace, sleep->task, sleep->start);
	add(events, WHAT_WAIT, index, sleep->start, cpu == SCHED_NO_CPU ? 0 : cpu, BEFORE);
	if (sleep->end == CLEW_TIME_OPEN)
		return;
	cpu = ctf_wake_place(events->it, sleep, &before);
	add(events, WHAT_WAKE, index, sched_wake_time(sleep),
	    cpu == SCHED_NO_CPU ? sched_cpu_behind(events->it->trace, sleep) : cpu,
	    before ? BEFORE : BEHIND);
}

static void add_task(struct events *events, const struct clew_trace_task *task, size_t index)
{
	const struct clew_export *export = events->it->export;
	const struct clew_edge *fork = clew_trace_fork_of(export->trace, task->serial);

	if (!task->tid || !clew_export_wants(export, task->serial))
		return;
	if (fork && clew_trace_task(export->trace, fork->from) &&
	    clew_export_has(export, fork->from_at, fork->from_at))
		add_act(events, WHAT_FORK, index, fork->from_at, fork->from);
	if (task->death != CLEW_TIME_OPEN && clew_export_has(export, task->death, task->death))
		add_act(events, WHAT_EXIT, index, task->death, task->serial);
}

static void add_request(struct events *events, const struct clew_block_request *block, size_t index)
{
	const struct clew_export *export = events->it->export;
	uint64_t begin = block->queued ? block->queued : block->issued;
	enum order order;
	uint16_t cpu;

	/* A request of an unknown task is only in an export of all tasks. */
	if (!begin || (export->wanted && !clew_export_wants(export, block->submitter)) ||
	    !clew_export_has(export, begin, block->completed ? block->completed : CLEW_TIME_OPEN))
		return;
	/* In one stream nobody sees them in another order. Where they were was not recorded. */
	cpu = place(events, block->submitter, begin, &order);
	if (block->queued)
		add(events, WHAT_INSERT, index, block->queued, cpu, order);
	if (block->issued)
		add(events, WHAT_ISSUE, index, block->issued, cpu, order);
	if (block->completed)
		add(events, WHAT_COMPLETE, index, block->completed, cpu, BEHIND);
}

static void add_gap(struct events *events, const struct clew_gap *gap, size_t index)
{
	uint16_t cpu = gap->header.cpu < events->cpus ? gap->header.cpu : 0;

	add(events, WHAT_LOSS_BEGINS, index, gap->from, cpu, BEFORE);
	add(events, WHAT_LOSS_ENDS, index, gap->header.time, cpu, BEHIND);
}

static void add_all(struct events *events)
{
	const struct clew_export *export = events->it->export;
	const struct clew_trace *trace = export->trace;
	size_t count;

	add_runs(events);
	events->sleeps = clew_trace_sleeps(trace, &count);
	for (size_t i = 0; i < count; i++)
		add_sleep(events, &events->sleeps[i], i);
	count = clew_trace_task_count(trace);
	for (size_t i = 0; i < count; i++)
		add_task(events, clew_trace_task_at(trace, i), i);
	events->requests = clew_trace_requests(trace, &count);
	for (size_t i = 0; i < count; i++)
		add_request(events, &events->requests[i].block, i);
	count = clew_trace_gaps(trace, export->from, export->to, &events->gaps);
	for (size_t i = 0; i < count; i++)
		add_gap(events, &events->gaps[i], i);
}

static int sort_all(struct events *events)
{
	struct sort_key *keys = events->keys.data;
	struct sort_key *spare = malloc((events->keys.count + 1) * sizeof(*spare));

	if (!spare)
		return -ENOMEM;
	for (size_t i = 0; i < events->keys.count; i++)
		keys[i].key = (uint64_t)TAG_CPU(keys[i].tag) << (TIME_BITS + ORDER_BITS) |
			      (keys[i].key - events->it->begin) << ORDER_BITS |
			      TAG_ORDER(keys[i].tag);
	sort_keys(keys, spare, events->keys.count);
	free(spare);
	return 0;
}

/* ---- switches ---- */

/* One side of a switch. */
struct side {
	char name[CLEW_COMM_SIZE + 1];
	uint32_t tid;
	int priority;
};

static struct side idle_side(uint16_t cpu)
{
	struct side side = {.priority = SCHED_NORMAL_PRIORITY - 100};

	snprintf(side.name, sizeof(side.name), "swapper/%u", cpu);
	return side;
}

static struct side unknown_side(uint16_t cpu)
{
	return (struct side){.name = SCHED_UNKNOWN_NAME,
			     .tid = SCHED_UNKNOWN_TID(cpu),
			     .priority = SCHED_NORMAL_PRIORITY - 100};
}

static struct side task_side(const struct events *events, const struct clew_run *run, uint64_t at)
{
	const struct clew_trace_task *task = clew_trace_task(events->it->trace, run->task);
	struct side side = {};

	if (!task || !task->tid)
		return idle_side(run->cpu);
	snprintf(side.name, sizeof(side.name), "%.*s", CLEW_COMM_SIZE,
		 clew_trace_comm_at(events->it->trace, run->task, at));
	side.tid = task->tid;
	side.priority = ctf_priority(events->it, run->task, at);
	return side;
}

static void put_switch(struct events *events, uint64_t at, struct side from, unsigned state,
		       struct side to)
{
	/* LTTng's readers have no word for a task that was preempted: it can run. */
	if (state == SCHED_PREEMPTED)
		state = SCHED_RUNNABLE;
	CTF_PUT(events->it, CTF_SCHED_SWITCH, at, CTF_STRING(from.name), CTF_NUMBER(from.tid),
		CTF_NUMBER(from.priority), CTF_NUMBER(state), CTF_STRING(to.name),
		CTF_NUMBER(to.tid), CTF_NUMBER(to.priority));
}

/* The task of the last run leaves the CPU to another. */
static void leave(struct events *events, struct side to)
{
	const struct clew_run *run = events->previous;
	struct side from = task_side(events, run, run->end);

	ctf_call_entry(events->it, run);
	put_switch(events, run->end, from, sched_state_behind(events->it->trace, run), to);
	if (run->ended == CLEW_RUN_EXITED && clew_export_wants(events->it->export, run->task))
		CTF_PUT(events->it, CTF_SCHED_FREE, run->end, CTF_STRING(from.name),
			CTF_NUMBER(from.tid), CTF_NUMBER(from.priority));
	events->left = true;
}

static void put_run(struct events *events, const struct clew_run *run)
{
	struct side to = task_side(events, run, run->start);

	if (!events->previous)
		put_switch(events, run->start, idle_side(run->cpu), SCHED_RUNNABLE, to);
	else if (events->left)
		put_switch(events, run->start, unknown_side(run->cpu), SCHED_RUNNABLE, to);
	else
		leave(events, to);
	ctf_call_exit(events->it, run);
	events->previous = run;
	events->left = false;
}

/* From the end of the last run on, what is on the CPU is not known, if nothing comes then. */
static void end_run(struct events *events, uint64_t now)
{
	const struct clew_run *run = events->previous;

	if (run && !events->left && run->ended != CLEW_RUN_OPEN && run->end != CLEW_TIME_OPEN &&
	    run->end < now)
		leave(events, unknown_side(run->cpu));
}

/* ---- requests ---- */

static unsigned rwbs(const struct clew_block_request *block)
{
	static const unsigned operations[CLEW_REQUEST_OPERATION_COUNT] = {
		[CLEW_REQUEST_WRITE] = 1u << 0,
		[CLEW_REQUEST_DISCARD] = 1u << 1,
		[CLEW_REQUEST_READ] = 1u << 2,
		[CLEW_REQUEST_FLUSH] = 1u << 8,
	};
	static const struct {
		unsigned kernel, lttng;
	} flags[] = {
		{REQUEST_READ_AHEAD, 1u << 3}, {REQUEST_SYNC, 1u << 5},
		{REQUEST_META, 1u << 6},       {REQUEST_FUA, 1u << 9},
		{REQUEST_PREFLUSH, 1u << 10},
	};
	unsigned bits = operations[clew_request_operation(block->operation, block->bytes)];

	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (block->operation & flags[i].kernel)
			bits |= flags[i].lttng;
	return bits;
}

static uint64_t sector_of(const struct clew_block_request *block)
{
	return block->sector == UINT64_MAX ? 0 : block->sector;
}

static void put_request(struct events *events, enum ctf_event event,
			const struct clew_block_request *block, uint64_t at)
{
	const struct clew_trace *trace = events->it->trace;
	const struct clew_trace_task *task = clew_trace_task(trace, block->submitter);

	CTF_PUT(events->it, event, at, CTF_NUMBER(block->device), CTF_NUMBER(sector_of(block)),
		CTF_NUMBER(block->bytes / SECTOR_SIZE), CTF_NUMBER(block->bytes),
		CTF_NUMBER(task ? task->tid : 0), CTF_NUMBER(rwbs(block)),
		CTF_STRING(task ? clew_trace_comm_at(trace, task->serial, at) : ""));
}

static void put_completion(struct events *events, const struct clew_block_request *block,
			   uint64_t at)
{
	CTF_PUT(events->it, CTF_BLOCK_COMPLETE, at, CTF_NUMBER(block->device),
		CTF_NUMBER(sector_of(block)), CTF_NUMBER(block->bytes / SECTOR_SIZE), CTF_NUMBER(0),
		CTF_NUMBER(rwbs(block)));
}

/* ---- all ---- */

static void put_event(struct events *events, const struct sort_key *key, uint64_t at)
{
	const struct clew_trace *trace = events->it->trace;
	size_t i = key->index;

	switch (TAG_WHAT(key->tag)) {
	case WHAT_RUN:
		put_run(events, &events->runs[i]);
		break;
	case WHAT_WAIT:
		ctf_wait(events->it, &events->sleeps[i], at);
		break;
	case WHAT_WAKE:
		ctf_wake(events->it, &events->sleeps[i], at);
		break;
	case WHAT_FORK:
		ctf_fork(events->it, clew_trace_task_at(trace, i), at);
		break;
	case WHAT_EXIT:
		ctf_exit(events->it, clew_trace_task_at(trace, i), at);
		break;
	case WHAT_INSERT:
		put_request(events, CTF_BLOCK_INSERT, &events->requests[i].block, at);
		break;
	case WHAT_ISSUE:
		put_request(events, CTF_BLOCK_ISSUE, &events->requests[i].block, at);
		break;
	case WHAT_COMPLETE:
		put_completion(events, &events->requests[i].block, at);
		break;
	case WHAT_LOSS_BEGINS:
		ctf_cut(events->it, at);
		break;
	case WHAT_LOSS_ENDS:
		/* The most that may be unknown. */
		events->it->stream.discarded += events->gaps[i].count ?: 1;
		ctf_cut(events->it, at);
		break;
	}
}

/* Writes a CPU's stream, which begins at a key. Returns the first key of the next one. */
static size_t put_cpu(struct events *events, uint16_t cpu, size_t i)
{
	const struct clew_export *export = events->it->export;
	const struct sort_key *keys = events->keys.data;
	int r = ctf_stream_open(events->it, cpu);

	events->previous = NULL;
	if (r >= 0 && !cpu)
		ctf_statedump(events->it);
	for (; r >= 0 && i < events->keys.count && TAG_CPU(keys[i].tag) == cpu; i++) {
		uint64_t at = (keys[i].key >> ORDER_BITS & ((UINT64_C(1) << TIME_BITS) - 1)) +
			      events->it->begin;

		end_run(events, at);
		put_event(events, &keys[i], at);
		if (i % PROGRESS_EVERY == 0)
			export->progress(export->progress_context,
					 .1 + .9 * (double)i / (double)events->keys.count);
	}
	if (r >= 0)
		end_run(events, UINT64_MAX);
	events->error = r;
	r = ctf_stream_close(events->it);
	if (events->error >= 0)
		events->error = r;
	return i;
}

int ctf_events(struct ctf *it)
{
	const struct clew_capture_info *info = clew_trace_info(it->trace);
	struct events events = {.it = it,
				.keys.item = sizeof(struct sort_key),
				.cpus = info && info->cpus ? (uint16_t)info->cpus : 1};
	size_t next = 0;

	add_all(&events);
	if (events.error >= 0)
		events.error = sort_all(&events);
	for (unsigned cpu = 0; cpu < events.cpus && events.error >= 0; cpu++)
		next = put_cpu(&events, (uint16_t)cpu, next);
	vector_done(&events.keys);
	return events.error;
}
