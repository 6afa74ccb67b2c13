/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of identity: forks, execs, names, tasks, functions, and gaps. They are emitted
 * as they came, before the findings that follow from them.
 */
#include "builder/life.h"
#include "builder/builder.h"
#include "builder/cpu.h"
#include "builder/emit.h"
#include "builder/frame.h"
#include "builder/futex.h"
#include "builder/pages.h"
#include "builder/ring.h"
#include "builder/task.h"
#include "builder/work.h"
#include "store/capture.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int feed_fork(struct clew_builder *builder, const struct clew_life *record)
{
	struct task *parent = build_task_find(builder, record->task),
		    *child = build_task_get(builder, record->other);
	struct clew_edge edge = {
		.from_at = builder->now,
		.to_at = builder->now,
		.from = record->task,
		.to = record->other,
		.type = CLEW_EDGE_FORK,
		.context = CLEW_WAKE_TASK,
		.object = {.descriptor = -1},
	};
	int r;

	if (!child)
		return build_nobody(record->other) ? 0 : -ENOMEM;
	if (!child->forked && !child->switched && child->state == TASK_UNSEEN) {
		child->state = TASK_READY;
		child->since = builder->now;
	}
	child->forked = true;
	if (!child->comm[0] && parent)
		memcpy(child->comm, parent->comm, sizeof(child->comm));
	r = parent ? build_frames_fork(builder, parent, child) : 0;
	if (r < 0 || build_nobody(record->task) || build_dropped(builder, CLEW_EDGE_FORK))
		return r;
	return build_send_edge(builder, &edge);
}

/* exec by a thread that is not the leader: it continues under the leader's serial, on the same
 * CPU. */
static int change_serial(struct clew_builder *builder, struct task *before, struct task *after)
{
	int r = 0;

	after->forked = after->switched = true;
	if (before->state == TASK_RUNNING) {
		struct cpu *cpu = &builder->cpus[before->cpu];

		if (cpu->known && cpu->current == before->serial) {
			r = build_send_run(builder, before, before->cpu, before->since,
					   builder->now, CLEW_RUN_EXITED, before->open_start);
			cpu->current = after->serial;
			cpu->since = builder->now;
			after->state = TASK_RUNNING;
			after->cpu = before->cpu;
			after->since = builder->now;
			after->switched_in = before->switched_in;
		}
	} else {
		build_futex_cancel(builder, before);
	}
	if (r >= 0)
		r = build_ring_release(builder, before);
	after->frontier = builder->now;
	if (after->state != TASK_RUNNING)
		after->state = TASK_UNKNOWN;
	build_task_dead(builder, before);
	return r;
}

static int feed_exec(struct clew_builder *builder, const struct clew_life *record)
{
	struct task *before = build_task_get(builder, record->task),
		    *after = build_task_get(builder, record->other);
	struct clew_edge edge = {
		.from_at = builder->now,
		.to_at = builder->now,
		.from = record->task,
		.to = record->other,
		.type = CLEW_EDGE_EXEC,
		.context = CLEW_WAKE_TASK,
		.object = {.descriptor = -1},
	};
	int r = 0;

	if (!before || !after)
		return build_nobody(record->task) || build_nobody(record->other) ? 0 : -ENOMEM;
	r = build_frames_end(builder, before, record);
	if (r >= 0 && before != after) {
		if (!after->comm[0])
			memcpy(after->comm, before->comm, sizeof(after->comm));
		if (before->state != TASK_DEAD && after->state != TASK_DEAD && !after->switched)
			r = change_serial(builder, before, after);
	}
	if (r < 0 || build_dropped(builder, CLEW_EDGE_EXEC))
		return r;
	return build_send_edge(builder, &edge);
}

static int feed_exit(struct clew_builder *builder, const struct clew_life *record)
{
	return build_frames_end(builder, build_task_find(builder, record->task), record);
}

static int feed_rename(struct clew_builder *builder, const struct clew_rename *record)
{
	struct task *task = build_task_get(builder, record->task);

	if (!task)
		return build_nobody(record->task) ? 0 : -ENOMEM;
	memcpy(task->comm, record->comm, sizeof(task->comm));
	task->comm[sizeof(task->comm) - 1] = 0;
	return 0;
}

static int feed_gap(struct clew_builder *builder, const struct clew_gap *record)
{
	struct cpu *cpu;

	if (record->count == 0)
		return 0;
	builder->loss_to = later(builder->loss_to, builder->now);
	if (builder->pages.queue.slots && build_pages_lost(builder) < 0)
		return -ENOMEM;
	if (record->header.flags & CLEW_GAP_IN_FILE &&
	    build_frames_lost(builder, record->header.cpu, record->from) < 0)
		return -ENOMEM;
	if (record->header.cpu == CLEW_STREAM_USER)
		return 0;
	cpu = build_cpu(builder, record->header.cpu);
	return cpu ? build_lose_cpu(builder, cpu, record->from) : -ENOMEM;
}

/* A function's name gives the kind of waits in it, and which work items serve loop devices. */
static int feed_text(struct clew_builder *builder, const struct clew_text_record *record)
{
	char name[128];
	int kind, r = 0;

	snprintf(name, sizeof(name), "%.*s", (int)record->text_size, (const char *)(record + 1));
	kind = clew_function_kind(name);
	if (kind >= 0)
		r = map_set(&builder->function_kinds, record->hash, 0, (uint64_t)kind);
	if (r >= 0 && !strncmp(name, "loop_", 5))
		r = map_set(&builder->works.loops, record->hash, 0, 1);
	return r;
}

int build_feed_lock(struct clew_builder *builder, const struct clew_lock *record)
{
	struct clew_spin spin = {
		.start = record->begin,
		.end = builder->now,
		.lock = record->lock,
		.task = record->task,
		.holder = build_task_by_tid(builder, record->owner),
		.type = record->type,
	};

	if (build_nobody(spin.task) || spin.start >= spin.end)
		return 0;
	return build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_SPIN, .spin = &spin});
}

/* The process is told by a tid, which is that of one task only now. */
static int feed_lock_name(struct clew_builder *builder, const struct clew_lock_name *record)
{
	struct clew_lock_name name = *record;

	name.process = build_task_by_tid(builder, record->owner);
	return build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							 .identity = &name.header});
}

/* Fills in the task that has the lock, as in records of a lock's name. */
static int feed_failed(struct clew_builder *builder, const struct clew_failed *record)
{
	struct clew_failed failed = *record;

	failed.holder = build_task_by_tid(builder, record->owner);
	return build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							 .identity = &failed.header});
}

/* The memory is that of a task which may have ended since. */
static int feed_address(struct clew_builder *builder, const struct clew_address *record)
{
	const struct task *task = build_task_find(builder, record->task);
	struct {
		struct clew_address address;
		char words[2 * CLEW_PATH_SIZE];
	} named;
	size_t size = sizeof(named.address) + record->size;

	if (!task || size > sizeof(named))
		return 0;
	memcpy(&named, record, size);
	named.address.memory = build_task_memory(builder, task);
	return build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							 .identity = &named.address.header});
}

int build_feed_identity(struct clew_builder *builder, const struct clew_header *record)
{
	int r;

	if (record->kind == CLEW_KIND_LOCK_NAME)
		return feed_lock_name(builder, (const struct clew_lock_name *)record);
	if (record->kind == CLEW_KIND_FAILED)
		return feed_failed(builder, (const struct clew_failed *)record);
	if (record->kind == CLEW_KIND_ADDRESS)
		return feed_address(builder, (const struct clew_address *)record);
	/* Before what follows from it, so that takers know the task that it is about. */
	r = build_emit(builder,
		       (struct clew_finding){.tag = CLEW_FINDING_IDENTITY, .identity = record});
	if (r < 0)
		return r;
	switch (record->kind) {
	case CLEW_KIND_TASK:
		return build_task_identity(builder, (const struct clew_task_record *)record);
	case CLEW_KIND_FORK:
		return feed_fork(builder, (const struct clew_life *)record);
	case CLEW_KIND_EXEC:
		return feed_exec(builder, (const struct clew_life *)record);
	case CLEW_KIND_EXIT:
		return feed_exit(builder, (const struct clew_life *)record);
	case CLEW_KIND_SITE:
		return build_feed_site(builder, (const struct clew_site_record *)record);
	case CLEW_KIND_DROPPED:
		return build_feed_dropped(builder, (const struct clew_dropped *)record);
	case CLEW_KIND_RENAME:
		return feed_rename(builder, (const struct clew_rename *)record);
	case CLEW_KIND_GAP:
		return feed_gap(builder, (const struct clew_gap *)record);
	case CLEW_KIND_TEXT:
		return feed_text(builder, (const struct clew_text_record *)record);
	default:
		return 0;
	}
}
