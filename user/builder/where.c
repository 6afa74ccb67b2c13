/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The places that running tasks run in: stays in one system call, and tallies of page faults and
 * of yields.
 *
 * Points are what the records say of single moments: a switch-out, a tick, the ends of
 * a span. A stay is emitted between two points in the same call if the task was not in
 * user mode since it came on the CPU between them, or if the identity of its call is the
 * same at both. Then no tick of the kernel met it in user mode; that it was in no other
 * call, and hardly in user mode, is known only of calls that the kernel counts. Where
 * that is not known there is no stay.
 *
 * Stays and tallies of a task come in order of their ends, and those with a length do
 * not overlap.
 */
#include "builder/where.h"
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/task.h"

#include <clew/kernel/call_numbers.h>

#define YIELDS_APART 1000000 /* ns: yields within that time of the first are one tally */

static int send_stay(struct clew_builder *builder, const struct task *task, uint64_t start,
		     uint64_t end, unsigned call, unsigned reason, unsigned evidence)
{
	struct clew_stay stay = {
		.start = start,
		.end = end,
		.task = task->serial,
		.call = (uint16_t)call,
		.reason = (uint8_t)reason,
		.evidence = (uint8_t)evidence,
	};

	return build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_STAY, .stay = &stay});
}

static int send_tally(struct clew_builder *builder, const struct task *task, uint64_t start,
		      uint64_t end, uint32_t number, unsigned what)
{
	struct clew_tally tally = {
		.start = start,
		.end = end,
		.number = number,
		.task = task->serial,
		.what = (uint8_t)what,
	};

	if (number == 0)
		return 0;
	return build_emit(builder,
			  (struct clew_finding){.tag = CLEW_FINDING_TALLY, .tally = &tally});
}

/* The page faults up to a moment that is not before the last count. */
static int count_faults(struct clew_builder *builder, struct task *task, uint64_t at,
			uint32_t faults)
{
	struct where_state *where = &task->where;
	uint64_t since = where->counted_at;
	int r = 0;

	if (since && since <= at)
		r = send_tally(builder, task, later(since, where->resumed), at,
			       faults - where->faults, CLEW_TALLY_FAULTS);
	if (since <= at) {
		where->counted_at = at;
		where->faults = faults;
		where->resumed = 0;
	}
	return r;
}

/* The kernel counts these calls, and a call's identity has the counts. */
static bool is_counted(unsigned call)
{
	switch (call) {
	case CLEW_NR_read:
	case CLEW_NR_write:
	case CLEW_NR_pread64:
	case CLEW_NR_pwrite64:
	case CLEW_NR_readv:
	case CLEW_NR_writev:
	case CLEW_NR_preadv:
	case CLEW_NR_pwritev:
	case CLEW_NR_preadv2:
	case CLEW_NR_pwritev2:
		return true;
	default:
		return false;
	}
}

/*
 * True if the task did not leave its call between the last point and this one. For a
 * call that is not counted, the same identity says only that the task may have made
 * it again and again: a candidate.
 */
static bool same_stay(const struct where_point *last, const struct where_point *point, bool same,
		      enum clew_evidence *ret_evidence)
{
	bool equal = last->identity && last->identity == point->identity;

	*ret_evidence = CLEW_EVIDENCE_OBSERVED;
	if (!last->at || last->call != point->call || point->call == CLEW_NO_CALL)
		return false;
	if ((same && (last->left || last->stayed)) || (equal && is_counted(point->call)))
		return true;
	*ret_evidence = CLEW_EVIDENCE_CANDIDATE;
	return equal;
}

/*
 * A point at `point->at`. `same`: the task was not in user mode since it came on the
 * CPU. `from`: what follows it is told otherwise, equal to `point->at` if nothing is.
 */
static int take_point(struct clew_builder *builder, struct task *task,
		      const struct where_point *point, bool same, uint64_t from)
{
	struct where_point *last = &task->where.point;
	/* Off the CPU it runs nowhere. */
	uint64_t start = last->left ? later(last->at, task->switched_in) : last->at;
	enum clew_evidence evidence;
	int r = 0;

	if (same_stay(last, point, same, &evidence) && start < from)
		r = send_stay(builder, task, start, from, point->call, CLEW_REASON_NONE, evidence);
	*last = *point;
	return r;
}

static int take_span(struct clew_builder *builder, struct task *task,
		     const struct clew_where *record, const struct where_point *point, bool same)
{
	uint64_t begin = later(record->begin, task->where.point.at);
	int r;

	/* Facts from before the span are not emitted again. */
	if (record->begin >= task->where.counted_at) {
		r = count_faults(builder, task, record->begin, record->faults_before);
		if (r < 0)
			return r;
		task->where.resumed = 0;
	}
	r = take_point(builder, task, point, same, begin);
	return r < 0 ? r
		     : send_stay(builder, task, begin, builder->now, record->call, record->reason,
				 CLEW_EVIDENCE_EXACT);
}

int build_feed_where(struct clew_builder *builder, const struct clew_where *record)
{
	/* These records are left out where nobody wants them, and so make no task. One that
	   only such records name is as if unknown. */
	struct task *task = build_task_find(builder, record->task);
	unsigned event = record->header.flags & CLEW_WHERE_EVENT;
	bool same = record->header.flags & CLEW_WHERE_STAYED;
	struct where_point point = {
		.at = builder->now,
		.identity = record->identity,
		.call = record->call,
		.left = event == CLEW_WHERE_LEAVE,
		.stayed = same,
	};
	int r;

	if (!task)
		return 0;
	if (task->state != TASK_RUNNING) {
		build_where_lost(task);
		return 0;
	}
	if (event == CLEW_WHERE_SPAN && record->begin < builder->now) {
		r = take_span(builder, task, record, &point, same);
	} else {
		r = take_point(builder, task, &point, same, builder->now);
		if (r >= 0 && event == CLEW_WHERE_TICK)
			r = send_stay(builder, task, builder->now, builder->now, record->call,
				      record->reason, CLEW_EVIDENCE_EXACT);
	}
	return r < 0 ? r : count_faults(builder, task, builder->now, record->faults);
}

int build_where_flush(struct clew_builder *builder, struct task *task)
{
	struct where_state *where = &task->where;
	uint32_t yields = where->yields;

	where->yields = 0;
	return send_tally(builder, task, where->yielding, where->yielded, yields,
			  CLEW_TALLY_YIELDS);
}

/* The task gave up its CPU, and is runnable. */
static int take_yield(struct clew_builder *builder, struct task *task)
{
	struct where_state *where = &task->where;
	int r = 0;

	if (where->yields && builder->now - where->yielding > YIELDS_APART)
		r = build_where_flush(builder, task);
	if (!where->yields++)
		where->yielding = later(task->since, builder->options.start);
	where->yielded = builder->now;
	return r;
}

int build_where_leave(struct clew_builder *builder, struct task *task,
		      const struct clew_switch *record)
{
	const struct clew_wait *wait = (const struct clew_wait *)(record + 1);
	struct where_state *where = &task->where;
	unsigned flags = record->header.flags;
	struct where_point point = {.at = builder->now, .left = true};
	bool same;
	int r;

	if (record->flags_high & CLEW_SWITCH_HIGH_YIELD)
		return take_yield(builder, task);
	if (!(flags & CLEW_SWITCH_SLEEP) || !(flags & CLEW_SWITCH_WAIT)) {
		/* Without a record of its own it is not known what the task was in. */
		if (where->point.at != builder->now || !where->point.left)
			where->point.at = 0;
		return flags & CLEW_SWITCH_DEAD ? build_where_flush(builder, task) : 0;
	}
	r = build_where_flush(builder, task);
	if (r < 0)
		return r;
	point.call = wait->call;
	/* Behind another wait, the arguments must be the same as well. */
	same = wait->flags & (where->point.left && !where->point.identity ? CLEW_WAIT_FLAG_SAME_CALL
									  : CLEW_WAIT_FLAG_STAYED);
	point.stayed = wait->flags & CLEW_WAIT_FLAG_STAYED;
	r = take_point(builder, task, &point, same, builder->now);
	if (r >= 0 && wait->flags & CLEW_WAIT_FLAG_COUNTED)
		r = count_faults(builder, task, builder->now, wait->faults);
	return r;
}

void build_where_enter(struct clew_builder *builder, struct task *task)
{
	if (!task->where.resumed)
		task->where.resumed = builder->now;
}

void build_where_lost(struct task *task)
{
	task->where.point.at = 0;
	task->where.counted_at = 0;
}
