/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cause of a wait: the holder of what it waited for; else the steps that
 * led to its end, each for the time since it began; else the task that ended
 * it; else a leaf. A leaf of the wait's own kind says that nothing can be
 * followed here. Where records are missing the leaf is unknown.
 */
#include "base/kind.h"
#include "explain/why_internal.h"
#include "trace/deadlock.h"
#include "trace/tried.h"
#include <errno.h>
#include <string.h>

/* Waits that no task is expected to end. */
static bool waits_for_nobody(unsigned kind)
{
	return clew_wait_kind_has(kind, CLEW_TRAIT_NOBODY);
}

bool why_waits_for_disk(unsigned kind)
{
	return clew_wait_kind_has(kind, CLEW_TRAIT_DISK);
}

/*
 * Waits of the kernel's own (for a lock, the disk, memory, a worker) are not
 * for a call, nor is the time of a task that is stopped or throttled. Where
 * records were lost, nothing is known.
 */
bool why_may_be_for_call(const struct clew_sleep *sleep, const struct why_cause *cause)
{
	/*
	 * A late timer and a step within the kernel have their cause already.
	 */
	if (sleep->blind || cause->late || cause->held ||
	    (cause->kind != CLEW_WAIT_UNKNOWN && cause->kind != sleep->kind))
		return false;
	if (sleep->link_count &&
	    (sleep->links[0].kind == CLEW_LINK_PACKET ||
	     sleep->links[0].kind == CLEW_LINK_REQUEST || sleep->links[0].kind == CLEW_LINK_WORK))
		return false;
	/*
	 * A device's interrupt ended it: the message came from outside the
	 * machine.
	 */
	for (uint32_t i = 0; i < sleep->link_count; i++)
		if (sleep->links[i].kind == CLEW_LINK_IRQ)
			return false;
	return clew_wait_kind_has(sleep->kind, CLEW_TRAIT_CALL);
}

static unsigned leaf_kind(const struct clew_sleep *sleep)
{
	bool interrupt = sleep->context != CLEW_WAKE_UNKNOWN && sleep->context != CLEW_WAKE_TASK;

	if (sleep->blind)
		return CLEW_WAIT_UNKNOWN;
	if (waits_for_nobody(sleep->kind) && (interrupt || sleep->end == CLEW_TIME_OPEN))
		return sleep->kind;
	if (why_waits_for_disk(sleep->kind) && interrupt)
		return sleep->kind;
	return CLEW_WAIT_UNKNOWN;
}

/* Waits whose end may come from outside the machine. */
static bool comes_from_outside(const struct clew_sleep *sleep)
{
	return clew_wait_kind_has(sleep->kind, CLEW_TRAIT_OUTSIDE);
}

static void cause_in_request(const struct clew_link *link, uint64_t from, struct why_cause *cause)
{
	cause->link = link;
	cause->submitter = link->task;
	if (link->released && from < link->released) {
		cause->kind = CLEW_WAIT_THROTTLE;
		if (link->released < cause->until)
			cause->until = link->released;
	} else if (link->at == 0 && link->begin == 0) {
		cause->kind = CLEW_WAIT_UNKNOWN;
	} else if (link->begin && from >= link->begin) {
		cause->kind = CLEW_SEGMENT_DEVICE;
	} else {
		cause->kind = CLEW_SEGMENT_QUEUED;
		if (link->begin && link->begin < cause->until)
			cause->until = link->begin;
	}
}

static void cause_in_timer(const struct clew_sleep *sleep, const struct clew_link *link,
			   uint64_t from, struct why_cause *cause)
{
	cause->kind = link == sleep->links ? sleep->kind : CLEW_WAIT_WORK;
	if (!link->begin)
		return;
	if (from >= link->begin)
		cause->late = from < link->end ? CLEW_LATE_SLACK : CLEW_LATE_INTERRUPT;
	if (from < link->begin && link->begin < cause->until)
		cause->until = link->begin;
	else if (cause->late == CLEW_LATE_SLACK && link->end < cause->until)
		cause->until = link->end;
}

/* The part of a wait between the begin of one step and the next. */
static void cause_in_link(const struct clew_sleep *sleep, const struct clew_link *link,
			  uint64_t from, struct why_cause *cause)
{
	switch (link->kind) {
	case CLEW_LINK_REQUEST:
		cause_in_request(link, from, cause);
		break;
	case CLEW_LINK_WORK:
		cause->task = link->worker;
		cause->edge_type = CLEW_EDGE_WORK;
		cause->evidence = link->evidence;
		cause->link = link;
		break;
	case CLEW_LINK_TIMER:
		cause_in_timer(sleep, link, from, cause);
		break;
	case CLEW_LINK_PACKET:
		cause->kind = sleep->kind;
		if (clew_held_lost(CLEW_LINK_HELD(link)))
			cause->held = (uint8_t)CLEW_LINK_HELD(link);
		break;
	case CLEW_LINK_IRQ:
		if (comes_from_outside(sleep))
			cause->kind = sleep->kind;
		break;
	default:
		break;
	}
}

static void cause_by_links(const struct clew_sleep *sleep, uint64_t from, struct why_cause *cause)
{
	const struct clew_link *last = &sleep->links[sleep->link_count - 1];

	for (const struct clew_link *link = sleep->links; link <= last; link++) {
		/*
		 * A sleeper cannot queue its own request: it only seems so, as
		 * the clocks of two CPUs differ.
		 */
		if (from >= link->at ||
		    (link->kind == CLEW_LINK_REQUEST && link->task == sleep->task)) {
			cause_in_link(sleep, link, from, cause);
			return;
		}
		if (link->at < cause->until)
			cause->until = link->at;
		if (link->kind == CLEW_LINK_PACKET && link->begin && CLEW_LINK_HELD(link)) {
			if (from >= link->begin) {
				cause->kind = sleep->kind;
				cause->held = (uint8_t)CLEW_LINK_HELD(link);
				return;
			}
			if (link->begin < cause->until)
				cause->until = link->begin;
		}
	}
	/*
	 * The wait was for a free slot: before this request, others held the
	 * slots.
	 */
	if (last->kind == CLEW_LINK_REQUEST && last->evidence != CLEW_EVIDENCE_EXACT &&
	    last->task != sleep->task) {
		cause->kind = sleep->kind;
	} else if (last->task != CLEW_NO_TASK && sleep->edge_type >= 0) {
		cause->task = last->task;
		cause->edge_type = (uint8_t)sleep->edge_type;
		cause->evidence = sleep->edge_evidence;
		/* It may have written the data long before, and need not have run for it since. */
		if (last->kind == CLEW_LINK_PACKET && CLEW_LINK_HELD(last) && !last->begin)
			cause->evidence = CLEW_EVIDENCE_CANDIDATE;
	} else if (last->task == CLEW_NO_TASK) {
		cause->kind = CLEW_WAIT_UNKNOWN;
	}
}

/*
 * The lower request that is in flight at a moment, of several the one that
 * completes last; else the next one to be queued.
 */
static const struct clew_block_request *lower_at(const struct clew_trace_request *upper,
						 const struct clew_trace_request *requests,
						 size_t count, uint64_t at, uint32_t *ret_place)
{
	const struct clew_block_request *last = NULL, *next = NULL;
	uint32_t last_place = 0, next_place = 0;

	for (uint32_t i = 0; i < upper->lower_count; i++) {
		const struct clew_block_request *lower =
			upper->lower[i] < count ? &requests[upper->lower[i]].block : NULL;

		if (!lower || !lower->queued || !lower->issued || lower->completed <= at)
			continue;
		if (lower->queued <= at && (!last || lower->completed > last->completed)) {
			last = lower;
			last_place = upper->lower[i];
		} else if (lower->queued > at && (!next || lower->queued < next->queued)) {
			next = lower;
			next_place = upper->lower[i];
		}
	}
	*ret_place = last ? last_place : next_place;
	return last ? last : next;
}

/*
 * Stacked devices are a few layers deep. Greater depths come from bad records.
 */
enum { MOST_LEVELS = 16 };

int why_below(const struct clew_trace *trace, struct arena *arena, uint64_t from,
	      struct why_cause *cause)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);

	for (unsigned level = 0; level < MOST_LEVELS && cause->kind == CLEW_SEGMENT_DEVICE &&
				 cause->link->number < count;
	     level++) {
		const struct clew_block_request *lower;
		const struct clew_trace_task *worker;
		struct clew_link *link;
		const struct clew_link *upper = cause->below ? cause->below : cause->link;
		uint32_t place;

		lower = lower_at(&requests[upper->number], requests, count, from, &place);
		if (!lower)
			return 0;
		if (lower->queued > from) {
			/*
			 * The loop device's worker has not begun the request
			 * yet.
			 */
			worker = clew_trace_task(trace, lower->submitter);
			cause->until = lower->queued < cause->until ? lower->queued : cause->until;
			if (worker && worker->flags & CLEW_TASK_KTHREAD) {
				cause->task = lower->submitter;
				cause->edge_type = CLEW_EDGE_WORK;
				cause->evidence = CLEW_EVIDENCE_EXACT;
			}
			return 0;
		}
		link = arena_take(arena, sizeof(*link));
		if (!link)
			return -ENOMEM;
		*link = (struct clew_link){
			.kind = CLEW_LINK_REQUEST,
			.evidence = upper->evidence,
			.number = place,
			.at = lower->queued,
			.begin = lower->issued,
			.end = lower->completed,
			.task = lower->submitter,
		};
		cause->below = link;
		cause->until = lower->completed < cause->until ? lower->completed : cause->until;
		if (from < lower->issued) {
			cause->kind = CLEW_SEGMENT_QUEUED;
			cause->until = lower->issued < cause->until ? lower->issued : cause->until;
		}
	}
	return 0;
}

static bool same_or_below(const char *path, const char *group)
{
	size_t length = group ? strlen(group) : 0;

	return path && length && !strncmp(path, group, length) &&
	       (path[length] == '\0' || path[length] == '/');
}

bool why_throttled(const struct clew_trace *trace, const struct trace_task *task, uint16_t cpu,
		   uint64_t at, uint64_t to, const struct clew_sleep **ret_sleep,
		   uint64_t *ret_until)
{
	const uint64_t longest = 1000000000; /* ns: the longest period of a quota */
	uint32_t low = 0, high = trace->throttles.count;

	*ret_until = to;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (((const struct clew_sleep *)trace->sleeps.data)[trace->throttles.data[middle]]
			    .start < to)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0) {
		const struct clew_sleep *sleep =
			(const struct clew_sleep *)trace->sleeps.data + trace->throttles.data[low];
		struct clew_piece before;

		if (sleep->start + longest < at)
			break;
		if (sleep->end <= at ||
		    !clew_trace_piece(trace, sleep->task, sleep->start, true, &before) ||
		    before.cpu != cpu ||
		    (sleep->object.number != task->task.cgroup &&
		     !same_or_below(clew_trace_cgroup(trace, task->task.cgroup),
				    clew_trace_cgroup(trace, sleep->object.number))))
			continue;
		if (sleep->start > at) {
			*ret_until = sleep->start;
			continue;
		}
		*ret_until = sleep->end < to ? sleep->end : to;
		*ret_sleep = sleep;
		return true;
	}
	return false;
}

/*
 * True if a task other than the submitter completed the last request that a wait
 * on a ring was for: a worker of the ring, as a rule.
 */
static bool by_ring_worker(const struct clew_sleep *sleep)
{
	return sleep->kind == CLEW_WAIT_IO_URING && sleep->edge_type == CLEW_EDGE_IO_URING &&
	       sleep->context == CLEW_WAKE_TASK && sleep->ended_by != CLEW_NO_TASK &&
	       sleep->ended_by != sleep->task && sleep->ended_by != sleep->from;
}

/* The submitter until it has submitted, then the worker. */
static void cause_by_ring_worker(const struct clew_sleep *sleep, uint64_t from,
				 struct why_cause *cause)
{
	bool submitted = from >= sleep->from_at;

	cause->task = submitted ? sleep->ended_by : sleep->from;
	cause->edge_type = CLEW_EDGE_IO_URING;
	cause->evidence = sleep->edge_evidence;
	if (!submitted && sleep->from_at < cause->until)
		cause->until = sleep->from_at;
}

struct why_cause why_own_cause(const struct clew_sleep *sleep, uint64_t from, uint64_t to)
{
	struct why_cause cause = {.sleep = sleep, .until = to, .kind = (uint8_t)leaf_kind(sleep)};
	const struct clew_holder *holders = sleep->holders;
	uint32_t low = 0, high = sleep->holder_count;

	if (sleep->blind)
		return cause;
	/* The first holder that still held it at `from`. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (holders[middle].to <= from)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < sleep->holder_count && holders[low].from <= from) {
		cause.task = holders[low].task;
		cause.edge_type = CLEW_EDGE_UNLOCK;
		cause.evidence = holders[low].evidence;
		cause.until = holders[low].to < to ? holders[low].to : to;
		return cause;
	}
	if (low < sleep->holder_count && holders[low].from < to)
		cause.until = holders[low].from;
	/* A task that the kernel delays on purpose waits for nobody, whatever ended it. */
	if (sleep->end == CLEW_TIME_OPEN ||
	    (sleep->kind == CLEW_WAIT_THROTTLE && sleep->context != CLEW_WAKE_TASK))
		return cause;
	if (sleep->link_count > 0) {
		cause_by_links(sleep, from, &cause);
	} else if (by_ring_worker(sleep)) {
		cause_by_ring_worker(sleep, from, &cause);
	} else if (sleep->across && from >= sleep->from_at) {
		cause.kind = sleep->kind;
	} else if (sleep->from != CLEW_NO_TASK && sleep->edge_type >= 0) {
		if (sleep->across && sleep->from_at < cause.until)
			cause.until = sleep->from_at;
		cause.task = sleep->from;
		cause.edge_type = (uint8_t)sleep->edge_type;
		cause.evidence = sleep->edge_evidence;
		/* It released the lock in the end; it need not have held it at this moment. */
		if (sleep->edge_type == CLEW_EDGE_UNLOCK && cause.evidence == CLEW_EVIDENCE_EXACT)
			cause.evidence = CLEW_EVIDENCE_OBSERVED;
	}
	return cause;
}

/* The one who listened later, of a sleep between attempts to connect, or who did not stop. */
static struct why_cause cause_tried(const struct clew_trace *trace, const struct clew_sleep *sleep,
				    uint64_t from, struct why_cause own)
{
	const struct clew_tried *tried = clew_trace_tried(trace, sleep);
	uint8_t evidence;
	uint32_t other = clew_trace_tried_other(trace, sleep, &evidence);

	if (!tried || other == CLEW_NO_TASK)
		return own;
	if (tried->what == CLEW_TRIED_SAFEPOINT) {
		if (from >= tried->stopped)
			return own;
		own.until = tried->stopped < own.until ? tried->stopped : own.until;
	}
	return (struct why_cause){.sleep = sleep,
				  .until = own.until,
				  .kind = own.kind,
				  .task = other,
				  .edge_type = tried->what == CLEW_TRIED_SAFEPOINT
						       ? CLEW_EDGE_WAKE
						       : CLEW_EDGE_SOCKET,
				  .evidence = evidence};
}

struct why_cause why_cause_of(const struct clew_trace *trace, const struct clew_sleep *sleep,
			      uint64_t from, uint64_t to)
{
	const struct clew_sleep *last = clew_trace_last_slice(trace, sleep);
	struct why_cause own = why_own_cause(sleep, from, to), cause;

	/* The signal that ended a deadlock is not what was waited for. */
	if (own.task != CLEW_NO_TASK && own.edge_type == CLEW_EDGE_SIGNAL &&
	    clew_trace_is_stuck(trace, sleep))
		own = (struct why_cause){.sleep = sleep, .until = to, .kind = own.kind};

	/* Another host answered: nothing of it can be followed here. */
	if (own.kind == CLEW_WAIT_UNKNOWN && own.task == CLEW_NO_TASK && !sleep->blind &&
	    clew_trace_remote(trace, sleep, NULL))
		own.kind = sleep->kind;
	/* A holder is known by the lock itself, whatever the wait. */
	if (last == sleep || own.task != CLEW_NO_TASK)
		return own.task == CLEW_NO_TASK ? cause_tried(trace, sleep, from, own) : own;
	for (uint32_t i = 0; i < sleep->holder_count; i++)
		if (sleep->holders[i].from > from && sleep->holders[i].from < to)
			to = sleep->holders[i].from;
	cause = why_own_cause(last, from, to);
	/* That this is what the slices before were for is not recorded. */
	if (sleep->blind)
		cause.evidence = CLEW_EVIDENCE_CANDIDATE;
	else if (cause.evidence < CLEW_EVIDENCE_OBSERVED)
		cause.evidence = CLEW_EVIDENCE_OBSERVED;
	return cause;
}
