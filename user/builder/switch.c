/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state machines of tasks and CPUs, driven by SWITCH and STATE records.
 *
 * A CPU's records form a chain: the task that leaves must be the one that came on
 * last. Where the chain is broken, or a gap is recorded, the run of the task that was
 * there ends at the last certain moment, and every sleep that overlaps the loss is
 * marked blind. The states that the first iterator pass found (STATE) hold from the
 * capture's start, unless the task's own first switch proves otherwise.
 */
#include "builder/switch.h"
#include "builder/builder.h"
#include "builder/cpu.h"
#include "builder/emit.h"
#include "builder/frame.h"
#include "builder/futex.h"
#include "builder/quota.h"
#include "builder/ring.h"
#include "builder/task.h"
#include "builder/wake.h"
#include "builder/writeback.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reasons that keep a runnable task off the CPU. */
static bool keeps_off(unsigned reason)
{
	return reason == CLEW_REASON_QUOTA || reason == CLEW_REASON_RUNTIME;
}

static int begin_sleep(struct clew_builder *builder, struct task *task, uint64_t start,
		       const struct clew_switch *record)
{
	task->state = TASK_SLEEPING;
	task->since = start;
	task->sleep_state = record->prev_state;
	task->has_wait = record->header.flags & CLEW_SWITCH_WAIT;
	task->throttled = false;
	if (task->has_wait)
		memcpy(&task->wait, record + 1, sizeof(task->wait));
	if (task->call_id == 0 || !task->has_wait ||
	    (!(task->wait.flags & CLEW_WAIT_FLAG_SAME_CALL) && !keeps_off(task->wait.reason))) {
		task->call_id++;
		task->call_run = task->resumed;
		task->ended_count = 0;
	}
	/* A kernel thread is in no call: requests that ended before belong to no wait now. */
	if (task->has_wait && task->wait.flags & CLEW_WAIT_FLAG_KTHREAD)
		task->ended_count = 0;
	task->number = builder->sleep_count++;
	if (task->has_wait && task->wait.reason == CLEW_REASON_DIRTY &&
	    build_throttled(builder, task) < 0)
		return -ENOMEM;
	return build_futex_wait(builder, task);
}

/* A sleep is over, but its end was not recorded: it lasted until `sure` at least. */
static int lose_sleep(struct clew_builder *builder, struct task *task, uint64_t sure)
{
	sure = earlier(later(sure, task->since), builder->now);
	return build_end_sleep(builder, task, &build_no_wake, sure, sure, true);
}

/* A task appears in a record that its known state rules out: records were lost before. */
static int lose_task(struct clew_builder *builder, struct task *task, uint64_t sure)
{
	int r = 0;

	if (task->state == TASK_RUNNING) {
		struct cpu *cpu = &builder->cpus[task->cpu];

		if (cpu->known && cpu->current == task->serial)
			r = build_lose_cpu(builder, cpu, cpu->last);
	} else if (task->state == TASK_SLEEPING) {
		r = lose_sleep(builder, task, sure);
	} else if (task->state == TASK_READY && builder->loss_to <= task->since) {
		r = build_send_ready(builder, task, task->since, earlier(sure, builder->now));
	}
	if (task->state != TASK_DEAD)
		task->state = TASK_UNKNOWN;
	build_where_lost(task);
	task->found = false;
	task->frontier = later(task->frontier, builder->now);
	return r;
}

static enum clew_run_end run_end_of(unsigned flags)
{
	if (flags & CLEW_SWITCH_DEAD)
		return CLEW_RUN_EXITED;
	if (flags & CLEW_SWITCH_SLEEP)
		return CLEW_RUN_SLEPT;
	return flags & CLEW_SWITCH_PREEMPT ? CLEW_RUN_PREEMPTED : CLEW_RUN_YIELDED;
}

/* The run that ends with this record, if it is known. */
static int end_run(struct clew_builder *builder, struct cpu *cpu, struct task *task,
		   const struct clew_switch *record)
{
	uint16_t number = (uint16_t)(cpu - builder->cpus);
	uint64_t start = builder->options.start;
	enum clew_run_end ended = run_end_of(record->header.flags);
	int r;

	/* The first record of a CPU shows what ran there since the start. */
	if (!cpu->seen &&
	    (!task || (!task->switched && !task->forked && task->state != TASK_DEAD))) {
		if (!task)
			return build_send_run(builder, NULL, number, earlier(start, builder->now),
					      builder->now, CLEW_RUN_YIELDED, true);
		if (task->state == TASK_SLEEPING) {
			/* It was about to sleep when the iterator read its state. */
			build_futex_cancel(builder, task);
			task->call_id--;
		}
		task->found = false;
		return build_send_run(builder, task, number, earlier(start, builder->now),
				      builder->now, ended, true);
	}
	if (cpu->known && cpu->current == record->prev) {
		if (!task)
			return build_send_run(builder, NULL, number, cpu->since, builder->now,
					      CLEW_RUN_YIELDED, cpu->open_start);
		if (task->state == TASK_RUNNING && task->cpu == number)
			return build_send_run(builder, task, number, task->since, builder->now,
					      ended, task->open_start);
	}
	r = build_lose_cpu(builder, cpu, cpu->last);
	if (r >= 0 && task)
		r = lose_task(builder, task, cpu->last);
	return r;
}

/* True if a task sleeps in another call than before, for something else. One that waits for a futex
 * that is a lock comes so far only when it has taken it. */
static bool sleeps_elsewhere(const struct task *task, const struct clew_switch *record)
{
	struct clew_wait wait;

	if (!(record->header.flags & CLEW_SWITCH_SLEEP) ||
	    !(record->header.flags & CLEW_SWITCH_WAIT))
		return false;
	memcpy(&wait, record + 1, sizeof(wait));
	return wait.call != CLEW_NO_CALL && !(wait.flags & CLEW_WAIT_FLAG_SAME_CALL) &&
	       (wait.object_kind != CLEW_OBJECT_FUTEX || wait.object != task->wait.object);
}

static int leave(struct clew_builder *builder, struct cpu *cpu, const struct clew_switch *record)
{
	struct task *task = build_task_get(builder, record->prev);
	unsigned flags = record->header.flags;
	int r;

	if (record->prev == BUILD_UNKNOWN_TASK)
		return build_lose_cpu(builder, cpu, cpu->last);
	if (!task && record->prev != CLEW_NO_TASK)
		return -ENOMEM;
	r = end_run(builder, cpu, task, record);
	if (r < 0 || !task)
		return r;
	task->switched = true;
	task->open_start = false;
	task->found = false;
	build_futex_left(builder, task, sleeps_elsewhere(task, record));
	r = build_ring_release(builder, task);
	if (r >= 0)
		r = build_where_leave(builder, task, record);
	if (r < 0)
		return r;
	if (flags & CLEW_SWITCH_DEAD) {
		build_task_dead(builder, task);
		return build_frames_gone(builder, task);
	}
	if (task->state == TASK_DEAD)
		return 0;
	if (flags & CLEW_SWITCH_SLEEP)
		return begin_sleep(builder, task, builder->now, record);
	if (flags & CLEW_SWITCH_THROTTLED && flags & CLEW_SWITCH_WAIT) {
		r = begin_sleep(builder, task, builder->now, record);
		task->throttled = true;
		return r < 0 || task->wait.reason != CLEW_REASON_QUOTA
			       ? r
			       : build_quota_used_up(builder, task);
	}
	task->state = TASK_READY;
	task->since = builder->now;
	return 0;
}

/* A task comes on a CPU, and nothing is known of its state before. */
static int enter_unknown(struct clew_builder *builder, struct task *task,
			 const struct clew_switch *record)
{
	struct wake wake = build_wake_of(builder, task, record);
	uint64_t start = builder->options.start;
	bool whole = !task->switched && !task->forked && task->state == TASK_UNSEEN &&
		     builder->loss_to == 0 && task->start_time <= start;
	int r;

	/* A task that was made before recording began may still be flagged as new. */
	if (record->header.flags & CLEW_SWITCH_NEXT_NEW &&
	    (task->forked || task->start_time == 0 || task->start_time > start)) {
		r = 0;
		if (!task->forked && record->wake_time && !build_nobody(record->waker) &&
		    !build_dropped(builder, CLEW_EDGE_FORK)) {
			struct clew_edge edge = {
				.from_at = record->wake_time,
				.to_at = record->wake_time,
				.from = record->waker,
				.to = task->serial,
				.type = CLEW_EDGE_FORK,
				.context = CLEW_WAKE_TASK,
				.object = {.descriptor = -1},
			};

			r = build_send_edge(builder, &edge);
		}
		task->forked = true;
		if (r >= 0 && record->wake_time)
			r = build_send_ready(builder, task, record->wake_time, builder->now);
		return r;
	}
	if (wake.time == 0)
		return whole && !(record->header.flags &
				  (CLEW_SWITCH_NEXT_SLEPT | CLEW_SWITCH_NEXT_NEW))
			       ? build_send_ready(builder, task, start, builder->now)
			       : 0;
	if (whole && wake.time > start)
		return build_unseen_sleep(builder, task, &wake, start, builder->now);
	/* It was ready from its wake on. Its time before was lost, or lies before the start. */
	r = wake.time > start ? build_lone_wake(builder, task, &wake) : 0;
	return r < 0 ? r : build_send_ready(builder, task, wake.time, builder->now);
}

static int enter_ready(struct clew_builder *builder, struct task *task,
		       const struct clew_switch *record)
{
	unsigned flags = record->header.flags;
	uint64_t start = task->since;

	if (flags & CLEW_SWITCH_NEXT_SLEPT || (flags & CLEW_SWITCH_NEXT_NEW && task->found)) {
		/* It was woken between the start and the iterator's pass, or it slept unrecorded.
		 */
		task->state = task->found ? TASK_UNSEEN : TASK_UNKNOWN;
		if (!task->found)
			task->switched = true;
		return enter_unknown(builder, task, record);
	}
	if (builder->loss_to > start)
		return 0;
	if (flags & CLEW_SWITCH_NEXT_NEW && record->wake_time > start)
		start = record->wake_time;
	return build_send_ready(builder, task, start, builder->now);
}

/* A task's own runtime is refilled by a known timer. If it runs before that, the cause is unknown.
 */
static struct wake runtime_refilled(const struct clew_builder *builder,
				    const struct clew_wait *wait)
{
	struct wake wake;

	if (wait->refilled == 0 || wait->refilled > builder->now)
		return build_no_wake;
	wake = build_timed_wake(wait->refilled);
	wake.cause = (struct clew_cause){
		.kind = CLEW_CAUSE_TIMER, .object = wait->object, .expires = wait->refilled};
	return wake;
}

/* The task was kept off the CPU until its group's quota, or its own runtime, was refilled. */
static int enter_throttled(struct clew_builder *builder, struct task *task,
			   const struct clew_switch *record)
{
	struct wake wake = task->wait.reason == CLEW_REASON_RUNTIME
				   ? runtime_refilled(builder, &task->wait)
				   : build_timed_wake(build_quota_end(builder, task));

	task->throttled = false;
	if (record->header.flags & CLEW_SWITCH_NEXT_SLEPT)
		return lose_sleep(builder, task, builder->now);
	return build_end_sleep(builder, task, &wake, wake.time ? wake.time : builder->now,
			       builder->now, false);
}

static int enter_sleeping(struct clew_builder *builder, struct task *task,
			  const struct clew_switch *record)
{
	struct wake wake = build_wake_of(builder, task, record);

	if (task->throttled)
		return enter_throttled(builder, task, record);
	/* The kernel side need not have seen the sleep of a task begin that was found asleep. */
	if (!(record->header.flags & CLEW_SWITCH_NEXT_SLEPT) && !task->found)
		return lose_sleep(builder, task, builder->now);
	/* Without a stamp the wake was missed: its time and its waker are unknown. */
	return build_end_sleep(builder, task, &wake, wake.time ? wake.time : builder->now,
			       builder->now, !wake.time);
}

static int enter(struct clew_builder *builder, struct cpu *cpu, const struct clew_switch *record)
{
	struct task *task = build_task_get(builder, record->next);
	int r = 0;

	cpu->current = record->next;
	cpu->known = true;
	cpu->seen = true;
	cpu->open_start = false;
	cpu->since = cpu->last = builder->now;
	if (record->next == BUILD_UNKNOWN_TASK)
		cpu->known = false;
	if (!task)
		return build_nobody(record->next) ? 0 : -ENOMEM;
	if (task->state != TASK_READY && !task->throttled)
		task->resumed = builder->now;
	switch ((enum task_state)task->state) {
	case TASK_SLEEPING:
		r = enter_sleeping(builder, task, record);
		break;
	case TASK_READY:
		r = enter_ready(builder, task, record);
		break;
	case TASK_RUNNING:
		if (task->cpu != record->header.cpu)
			r = build_lose_cpu(builder, &builder->cpus[task->cpu],
					   builder->cpus[task->cpu].last);
		task->state = TASK_UNKNOWN;
		if (r >= 0)
			r = enter_unknown(builder, task, record);
		break;
	case TASK_UNSEEN:
	case TASK_UNKNOWN:
		r = enter_unknown(builder, task, record);
		break;
	case TASK_DEAD:
		/* A serial is never used again, so the records contradict each other. */
		cpu->known = false;
		return 0;
	}
	if (r < 0)
		return r;
	task->state = TASK_RUNNING;
	task->switched = true;
	task->found = false;
	task->open_start = false;
	task->cpu = record->header.cpu;
	task->since = task->switched_in = builder->now;
	task->frontier = later(task->frontier, builder->now);
	build_futex_back(builder, task);
	build_where_enter(builder, task);
	return 0;
}

/* The request of a task sleeping for I/O that ended just before its wake: it made the wake,
 * although the record has no cause. */
static const struct clew_link *ended_as_woken(const struct task *task, const struct wake *wake)
{
	const uint64_t near =
		100000; /* ns: from a request's end to the last wake of its interrupt */
	const struct clew_link *last = NULL;

	if (wake->context != CLEW_WAKE_IRQ && wake->context != CLEW_WAKE_SOFTIRQ &&
	    wake->context != CLEW_WAKE_IPI)
		return NULL;
	if (!task->has_wait || !(task->wait.flags & CLEW_WAIT_FLAG_IOWAIT))
		return NULL;
	for (uint32_t i = 0; i < task->ended_count; i++) {
		const struct clew_link *link = &task->ended[i];

		if (link->end >= task->since && link->end <= wake->time &&
		    wake->time - link->end <= near && (!last || link->end > last->end))
			last = link;
	}
	return last;
}

/*
 * A task came on the CPU at an unknown time since the CPU's last record. Its wake is
 * known; what it did between the wake and now is not.
 */
static int enter_late(struct clew_builder *builder, struct cpu *cpu,
		      const struct clew_switch *record)
{
	struct task *task = build_task_get(builder, record->next);
	uint64_t sure = earlier(cpu->last, builder->now); /* another task had the CPU then */
	int r = build_lose_cpu(builder, cpu, sure);

	if (r < 0 || !task)
		return r < 0 || build_nobody(record->next) ? r : -ENOMEM;
	if (task->state == TASK_SLEEPING) {
		struct wake wake = build_wake_of(builder, task, record);

		/* Such a record does not carry the cause of an interrupt. */
		wake.own = ended_as_woken(task, &wake);
		r = wake.time ? build_end_sleep(builder, task, &wake, wake.time,
						later(wake.time, sure),
						wake.context != CLEW_WAKE_TASK && !wake.own)
			      : lose_sleep(builder, task, sure);
	} else {
		r = lose_task(builder, task, sure);
	}
	if (r < 0 || task->state == TASK_DEAD)
		return r;
	task->state = TASK_RUNNING;
	task->switched = true;
	task->found = task->open_start = false;
	task->cpu = record->header.cpu;
	task->since = task->switched_in = builder->now;
	task->frontier = later(task->frontier, builder->now);
	build_where_lost(task);
	cpu->current = record->next;
	cpu->known = cpu->seen = true;
	cpu->open_start = false;
	cpu->since = cpu->last = builder->now;
	return 0;
}

int build_feed_switch(struct clew_builder *builder, const struct clew_switch *record)
{
	struct cpu *cpu = build_cpu(builder, record->header.cpu);
	int r;

	if (!cpu)
		return -ENOMEM;
	builder->last_switch = builder->now;
	r = leave(builder, cpu, record);
	return r < 0 ? r : enter(builder, cpu, record);
}

/* A keyframe says when the sleep began. */
static int begin_earlier(struct clew_builder *builder, struct task *task,
			 const struct clew_switch *record)
{
	uint64_t since = later(record->wake_time, task->start_time);

	task->found = task->open_start = record->header.flags & CLEW_STATE_FOUND;
	/* The keyframe found it asleep, so a wake from before this sleep ended an earlier one. */
	task->frontier = task->switched_in = since;
	return begin_sleep(builder, task, since, record);
}

int build_feed_state(struct clew_builder *builder, const struct clew_switch *record)
{
	struct task *task = build_task_get(builder, record->prev);
	unsigned flags = record->header.flags;
	uint64_t start = builder->options.start;

	if (flags & CLEW_STATE_LATE) {
		struct cpu *cpu = build_cpu(builder, record->header.cpu);

		return cpu ? enter_late(builder, cpu, record) : -ENOMEM;
	}
	if (!task)
		return build_nobody(record->prev) ? 0 : -ENOMEM;
	if (flags & CLEW_STATE_STOP) {
		if (task->state == TASK_UNSEEN && !task->forked && flags & CLEW_SWITCH_SLEEP &&
		    builder->loss_to == 0 && task->start_time <= start) {
			/* The capture has no switch of this task. */
			task->found = task->open_start = true;
			return begin_sleep(builder, task, start, record);
		}
		if (task->state == TASK_SLEEPING) {
			task->stop_wake = build_wake_of(builder, task, record);
			/* It may have been woken last before it slept, while it still ran. */
			task->stop_woken =
				task->stop_wake.time != 0 && task->stop_wake.time >= task->since;
		}
		return 0;
	}
	/* Its own switches, if there were any, are more precise. */
	if (task->state != TASK_UNSEEN || task->switched)
		return 0;
	if (flags & CLEW_STATE_DEAD) {
		build_task_dead(builder, task);
		return build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
								 .identity = &record->header});
	}
	/* The kernel hid how a later one was made, and whether it slept before. */
	task->open_start = task->start_time <= start || !task->forked;
	task->found = true;
	if (flags & (CLEW_STATE_SINCE | CLEW_STATE_FOUND))
		return begin_earlier(builder, task, record);
	if (flags & CLEW_SWITCH_SLEEP)
		return begin_sleep(builder, task, later(start, task->start_time), record);
	if (flags & CLEW_STATE_RUNNABLE) {
		task->state = TASK_READY;
		task->since = later(start, task->start_time);
	} else {
		task->found = task->open_start = false;
	}
	return 0;
}
