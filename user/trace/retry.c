/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Retried waits: a thread that waits for one thing with a timeout, and waits on each time
 * that it expires. The slices of such a wait are consecutive sleeps of one thread, of
 * one kind, in one call, for one object, from one place in the code, as far as stacks were
 * taken. All but the last were ended by the call's own timeout, the last one by something
 * else. The kernel may hide the end of a slice, and that the thread ran behind it: such a sleep is
 * a slice if the next one begins about as soon behind it as a timeout lets expect.
 *
 * Between two slices the thread only ran, for a small part of the slice before, and
 * completed nothing: it woke nobody, made no task and wrote to no file. A sleep is in one
 * retried wait at most. A series that ends with a timeout is none.
 */
#include "base/kind.h"
#include "trace/internal.h"
#include "trace/stacks.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Between two slices a thread runs for one in so many parts of the slice before, at most. */
enum { MOST_RUNNING = 4 };

/* The time between two sleeps that may be slices of one wait. */
struct seam {
	uint64_t from, to;
	uint32_t before, after; /* indexes of all sleeps, unused ones included */
	bool broken;		/* the thread completed something meanwhile */
};

struct seams {
	struct clew_trace *trace;
	struct vector all; /* struct seam, in order of task, then time */
	uint32_t *first;   /* by index of a task: its first seam; one more at the end */
};

bool clew_is_own_timeout(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	/*
	 * The kernel's timer functions that wake a sleeper whose call has a
	 * timeout.
	 */
	static const char *const callbacks[] = {"hrtimer_wakeup", "process_timeout",
						"io_cqring_timer_wakeup",
						"io_cqring_min_timer_wakeup"};
	const char *name;

	if (sleep->link_count == 0 || sleep->links[0].kind != CLEW_LINK_TIMER)
		return false;
	if (sleep->kind == CLEW_WAIT_SLEEP && sleep->object.kind == CLEW_OBJECT_TIMERFD)
		return true;
	name = clew_trace_text(trace, sleep->links[0].number);
	for (size_t i = 0; name && i < sizeof(callbacks) / sizeof(callbacks[0]); i++)
		if (!strcmp(name, callbacks[i]))
			return true;
	return false;
}

/* True if a timer of the thread's own ended a sleep: its timeout, or one that it had armed as a
 * tick. */
static bool by_own_timer(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return clew_is_own_timeout(trace, sleep) ||
	       (sleep->link_count && sleep->links[0].kind == CLEW_LINK_TIMER &&
		sleep->links[0].task == sleep->task);
}

/* Waits that another thread, a device or another machine is expected to end. */
static bool waits_for_others(const struct clew_sleep *sleep)
{
	return clew_wait_kind_has(sleep->kind, CLEW_TRAIT_OTHERS) &&
	       (!sleep->blind || sleep->hidden) && sleep->end != CLEW_TIME_OPEN;
}

/* The words of one condition variable lie side by side; who signals it changes the one that is
 * waited for. */
static bool same_condition(const struct clew_object *a, const struct clew_object *b)
{
	return a->kind == CLEW_OBJECT_FUTEX && a->number >> 3 == b->number >> 3;
}

static bool same_object(const struct clew_sleep *a, const struct clew_sleep *b)
{
	const struct clew_object *x = &a->object, *y = &b->object;

	/* The object of a wait on an epoll instance is what was ready at its end. */
	if (a->poller || b->poller)
		return a->poller == b->poller;
	return x->kind != CLEW_OBJECT_NONE && x->kind == y->kind && x->device == y->device &&
	       x->shared == y->shared && (x->number == y->number || same_condition(x, y));
}

/* False if the two sleeps were called from different places. A stack that ends before the root says
 * nothing of what is beyond, nor does one that was not taken. */
static bool same_site(const struct clew_trace *trace, const struct clew_sleep *a,
		      const struct clew_sleep *b)
{
	struct clew_sleep_stacks x, y;
	uint32_t count;

	if (!clew_trace_sleep_stacks(trace, a, &x) || !clew_trace_sleep_stacks(trace, b, &y) ||
	    !x.user || !y.user)
		return true;
	count = x.user->count < y.user->count ? x.user->count : y.user->count;
	return !memcmp(x.user->frames, y.user->frames, count * sizeof(*x.user->frames));
}

/* True if a timeout of `usual` ns is what ended a sleep of which the end is hidden. */
static bool lasted(const struct clew_sleep *before, const struct clew_sleep *after, uint64_t usual)
{
	uint64_t until = after->start - before->start;

	return usual && until >= usual - usual / 8 && until <= 2 * usual;
}

/* `usual`: how long the slice took that the timeout ended last; 0: there is none. */
static bool may_follow(const struct clew_trace *trace, const struct clew_sleep *before,
		       const struct clew_sleep *after, uint64_t usual)
{
	return waits_for_others(before) && waits_for_others(after) && before->kind == after->kind &&
	       before->call == after->call && same_object(before, after) &&
	       before->switch_in <= after->start &&
	       (before->blind ? lasted(before, after, usual) : by_own_timer(trace, before)) &&
	       same_site(trace, before, after);
}

/* Adds the seams of a task. Time that is not in the run queue counts as running. */
static int find_seams(struct seams *seams, const struct trace_task *task)
{
	const struct clew_trace *trace = seams->trace;
	const struct clew_ready *readies = trace->readies.data;
	const struct clew_sleep *before = NULL, *after;
	uint64_t ready = 0, usual = 0;
	bool seam;

	for (uint32_t i = 0; i < task->pieces.count; i++) {
		uint32_t piece = task->pieces.data[i], index = piece & PIECE_INDEX;

		if (piece >> PIECE_SHIFT == PIECE_READY && readies[index].end != CLEW_TIME_OPEN)
			ready += readies[index].end - readies[index].start;
		if (piece >> PIECE_SHIFT != PIECE_SLEEP)
			continue;
		after = trace_sleep_at(trace, index);
		seam = before && may_follow(trace, before, after, usual) &&
		       (before->blind ||
			after->start - before->switch_in <=
				ready + (before->end - before->start) / MOST_RUNNING);
		usual = !seam ? 0 : before->blind ? usual : before->switch_in - before->start;
		if (seam) {
			if (vector_reserve(&seams->all, seams->all.count + 1) < 0)
				return -ENOMEM;
			((struct seam *)seams->all.data)[seams->all.count++] = (struct seam){
				.from = before->switch_in,
				.to = after->start,
				.before = (uint32_t)(before - trace_sleep_at(trace, 0)),
				.after = index,
			};
		}
		before = after;
		ready = 0;
	}
	return 0;
}

/* A task completed something in this interval: breaks its seams that overlap it. */
static void complete(struct seams *seams, uint32_t serial, uint64_t from, uint64_t to)
{
	const struct trace_task *task = trace_task_find(seams->trace, serial);
	struct seam *all = seams->all.data;
	uint32_t low, high, end;

	if (!task)
		return;
	low = seams->first[task->index];
	high = end = seams->first[task->index + 1];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (all[middle].to < from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < end && all[low].from <= to; low++)
		all[low].broken = true;
}

static void break_seams(struct seams *seams)
{
	const struct clew_trace *trace = seams->trace;
	const struct clew_edge *edges = trace->lone_edges.data;
	const struct clew_touch *touches = trace->touches.data;

	for (size_t i = trace->first_sleep; i < trace->sleeps.count; i++) {
		const struct clew_sleep *sleep = trace_sleep_at(trace, (uint32_t)i);

		if (sleep->ended_by != CLEW_NO_TASK && sleep->raw_end)
			complete(seams, sleep->ended_by, sleep->raw_end, sleep->raw_end);
		/* A timer that it armed is no act for others. */
		if (sleep->from != CLEW_NO_TASK && sleep->from != sleep->task)
			complete(seams, sleep->from, sleep->from_at, sleep->from_at);
	}
	for (size_t i = 0; i < trace->lone_edges.count; i++)
		complete(seams, edges[i].from, edges[i].from_at, edges[i].from_at);
	for (size_t i = 0; i < trace->touches.count; i++)
		if (touches[i].event == CLEW_TOUCH_WRITE || touches[i].event == CLEW_TOUCH_DIRTY ||
		    touches[i].event == CLEW_TOUCH_STORE || touches[i].event == CLEW_TOUCH_SYNC)
			complete(seams, touches[i].task, touches[i].begin, touches[i].end);
}

/* True if what ended a slice may be what the whole wait was for. A signal may end any wait. */
static bool can_be_last(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (sleep->blind || by_own_timer(trace, sleep) ||
	    (sleep->edge_type == CLEW_EDGE_SIGNAL && sleep->kind != CLEW_WAIT_SIGNAL))
		return false;
	if (sleep->edge_type >= 0 && sleep->from != CLEW_NO_TASK)
		return true;
	return sleep->link_count && sleep->links[0].kind != CLEW_LINK_TIMER &&
	       sleep->links[0].kind != CLEW_LINK_IPI;
}

/* Keeps the series of `count` seams, which follow each other. */
static int keep(struct clew_trace *trace, const struct seam *seams, size_t count)
{
	const struct clew_retried retried = {.slices = (uint32_t)count + 1,
					     .last = seams[count - 1].after};
	int r = 0;

	if (!can_be_last(trace, trace_sleep_at(trace, retried.last)))
		return 0;
	if (vector_reserve(&trace->retries, trace->retries.count + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count && r == 0; i++)
		r = map_set(&trace->retry_of, seams[i].before, 0, trace->retries.count);
	if (r == 0)
		r = map_set(&trace->retry_of, retried.last, 0, trace->retries.count);
	((struct clew_retried *)trace->retries.data)[trace->retries.count++] = retried;
	return r;
}

static int join(struct clew_trace *trace, const struct seams *seams)
{
	const struct seam *all = seams->all.data;
	int r = 0;

	for (size_t i = 0, n; i < seams->all.count && r == 0; i += n ? n : 1) {
		for (n = 0; i + n < seams->all.count && !all[i + n].broken &&
			    (n == 0 || all[i + n].before == all[i + n - 1].after);
		     n++)
			;
		if (n)
			r = keep(trace, all + i, n);
	}
	return r;
}

int trace_join_retries(struct clew_trace *trace)
{
	struct seams seams = {.trace = trace, .all = {.item = sizeof(struct seam)}};
	int r = 0;

	seams.first = malloc((trace->tasks.count + 1) * sizeof(*seams.first));
	if (!seams.first)
		return -ENOMEM;
	for (size_t i = 0; i < trace->tasks.count && r == 0; i++) {
		seams.first[i] = (uint32_t)seams.all.count;
		r = find_seams(&seams, trace_task_at(trace, i));
	}
	seams.first[trace->tasks.count] = (uint32_t)seams.all.count;
	if (r == 0 && seams.all.count) {
		break_seams(&seams);
		r = join(trace, &seams);
	}
	free(seams.first);
	vector_done(&seams.all);
	return r;
}

const struct clew_retried *clew_trace_retried(const struct clew_trace *trace,
					      const struct clew_sleep *sleep)
{
	const uint64_t *known =
		map_get(&trace->retry_of, (uint64_t)(sleep - trace_sleep_at(trace, 0)), 0);

	return known ? (const struct clew_retried *)trace->retries.data + *known : NULL;
}

const struct clew_sleep *clew_trace_last_slice(const struct clew_trace *trace,
					       const struct clew_sleep *sleep)
{
	const struct clew_retried *retried = clew_trace_retried(trace, sleep);

	return retried ? trace_sleep_at(trace, retried->last) : sleep;
}
