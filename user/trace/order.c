/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Puts the sleeps in order of start, then serial. They are nearly in the order they
 * began. The exceptions are sleeps found at the capture's start or recorded late, unused
 * numbers, and equal times. Only the late ones and groups of equal start are sorted. The
 * others move up in the array, and unused entries end up before the first sleep.
 */
#include "trace/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct clew_sleep *sleep_at(const struct clew_trace *trace, size_t index)
{
	return (struct clew_sleep *)trace->sleeps.data + index;
}

static bool before(const struct clew_sleep *a, const struct clew_sleep *b)
{
	return a->start < b->start || (a->start == b->start && a->task < b->task);
}

/* Sleeps carry their number, so after sorting it says where each was. */
static int compare_sleeps(const void *left, const void *right)
{
	const struct clew_sleep *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Returns the end of the part that must be sorted as a whole. *ret_late: how many sleeps there come
 * late. *ret_ties: where the last group of equal starts that is out of order ends. */
static size_t find_disorder(const struct clew_trace *trace, size_t *ret_late, size_t *ret_ties)
{
	const struct clew_sleep *latest = NULL;
	size_t whole = 0, late = 0, ties = 0;

	for (size_t i = 0; i < trace->sleeps.count; i++) {
		const struct clew_sleep *sleep = sleep_at(trace, i);
		bool unused = sleep->task == CLEW_NO_TASK;

		if (unused || (latest && sleep->start < latest->start)) {
			whole = i + 1;
			late += !unused;
			continue;
		}
		if (latest && before(sleep, latest))
			ties = i + 1;
		latest = sleep;
	}
	*ret_late = late;
	*ret_ties = ties;
	return whole;
}

/*
 * Puts the first `end` sleeps in order of start. The late ones, which are few, are taken
 * out, and inserted while all others move up. *ret_unused: how many entries are left
 * over at the front.
 */
static int sort_first(struct clew_trace *trace, size_t end, size_t late_count, size_t *ret_unused)
{
	struct clew_sleep *late = malloc((late_count + 1) * sizeof(*late));
	size_t left = 0, to = end;
	uint64_t latest = 0;

	if (!late)
		return -ENOMEM;
	for (size_t i = 0; i < end; i++) {
		struct clew_sleep *sleep = sleep_at(trace, i);

		if (sleep->task == CLEW_NO_TASK)
			continue;
		if (sleep->start < latest) {
			late[left++] = *sleep;
			sleep->task = CLEW_NO_TASK;
		} else {
			latest = sleep->start;
		}
	}
	qsort(late, left, sizeof(*late), compare_sleeps);
	for (size_t i = end; i-- > 0;) {
		const struct clew_sleep *sleep = sleep_at(trace, i);

		if (sleep->task == CLEW_NO_TASK)
			continue;
		/* Its old entry is after this one, so there is room. */
		while (left && late[left - 1].start > sleep->start)
			*sleep_at(trace, --to) = late[--left];
		if (--to != i)
			*sleep_at(trace, to) = *sleep;
	}
	while (left)
		*sleep_at(trace, --to) = late[--left];
	memset(trace->sleeps.data, 0, to * sizeof(struct clew_sleep));
	free(late);
	*ret_unused = to;
	return 0;
}

static void sort_ties(struct clew_trace *trace, size_t first, size_t end)
{
	for (size_t i = first, next; i < end; i = next) {
		for (next = i + 1; next < trace->sleeps.count &&
				   sleep_at(trace, next)->start == sleep_at(trace, i)->start;
		     next++)
			;
		if (next - i > 1)
			qsort(sleep_at(trace, i), next - i, sizeof(struct clew_sleep),
			      compare_sleeps);
	}
}

/* Timelines refer to sleeps by index, which was the sleep's number until now. */
static int renumber(struct clew_trace *trace, size_t end)
{
	uint32_t *places = malloc((end ? end : 1) * sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (size_t i = trace->first_sleep; i < end; i++) {
		places[sleep_at(trace, i)->number] = (uint32_t)i;
		sleep_at(trace, i)->number = (uint32_t)i;
	}
	for (size_t k = 0; k < trace->tasks.count; k++) {
		struct trace_task *task = trace_task_at(trace, k);

		for (uint32_t i = 0; i < task->pieces.count; i++) {
			uint32_t piece = task->pieces.data[i];

			if (piece >> PIECE_SHIFT == PIECE_SLEEP && (piece & PIECE_INDEX) < end)
				task->pieces.data[i] =
					PIECE_SLEEP << PIECE_SHIFT | places[piece & PIECE_INDEX];
		}
	}
	free(places);
	return 0;
}

int trace_order_sleeps(struct clew_trace *trace)
{
	size_t late, ties, whole = find_disorder(trace, &late, &ties),
			   end = whole > ties ? whole : ties, unused = 0;
	int r;

	if (end == 0)
		return 0;
	r = whole ? sort_first(trace, whole, late, &unused) : 0;
	if (r < 0)
		return r;
	trace->first_sleep = unused;
	/* A group of equal starts may extend beyond the end. */
	while (end < trace->sleeps.count &&
	       sleep_at(trace, end)->start == sleep_at(trace, end - 1)->start)
		end++;
	sort_ties(trace, trace->first_sleep, end);
	return renumber(trace, end);
}

static int compare_gaps(const void *left, const void *right)
{
	const struct clew_gap *a = left, *b = right;

	return a->from < b->from ? -1 : a->from > b->from;
}

/*
 * Makes a sleep blind: its end may belong to another sleep, so that conclusions from how
 * it began are dropped. The rest is as the builder makes a blind sleep: the wake
 * as stamped, if a task made it.
 */
static void doubt_sleep(const struct clew_trace *trace, struct clew_sleep *sleep)
{
	const struct clew_link *first = sleep->link_count ? &sleep->links[0] : NULL;
	uint32_t waker = CLEW_NO_TASK;

	if (sleep->raw_end &&
	    (sleep->context == CLEW_WAKE_TASK || sleep->context == CLEW_WAKE_WORK)) {
		/* With a work item or a packet ended_by is not the waker, but the task behind it.
		 */
		waker = sleep->ended_by;
		if (first && first->kind == CLEW_LINK_WORK)
			waker = first->worker;
		else if (first && first->kind == CLEW_LINK_PACKET)
			waker = CLEW_NO_TASK;
	}
	sleep->blind = true;
	sleep->holders = NULL;
	sleep->holder_count = 0;
	sleep->links = NULL;
	sleep->link_count = sleep->and_count = 0;
	sleep->ended_by = waker;
	sleep->edge_type = waker != CLEW_NO_TASK && !(trace->drop_types & 1u << CLEW_EDGE_WAKE)
				   ? CLEW_EDGE_WAKE
				   : -1;
	sleep->edge_evidence = CLEW_EVIDENCE_EXACT;
	sleep->from = sleep->edge_type < 0 ? CLEW_NO_TASK : waker;
	sleep->from_at = sleep->edge_type < 0 ? 0 : sleep->raw_end;
}

/* A trace without sleeps may know the number from the capture that it was made from. */
static void keep_hidden(struct clew_trace *trace, uint64_t hidden)
{
	if (trace->sleeps.count > trace->first_sleep)
		trace->hidden = hidden;
}

/*
 * A gap is recorded when it is over, often after sleeps that began in it have ended on
 * other CPUs. They are blind too: the task may have run and slept again unrecorded.
 */
void trace_blind_sleeps(struct clew_trace *trace)
{
	struct clew_gap *gaps = trace->gaps.data;
	size_t longest = 0, at = 0;
	uint64_t hidden = 0;

	if (trace->gaps.count == 0) {
		for (size_t i = trace->first_sleep; i < trace->sleeps.count; i++)
			hidden += sleep_at(trace, i)->hidden;
		keep_hidden(trace, hidden);
		return;
	}
	qsort(gaps, trace->gaps.count, sizeof(*gaps), compare_gaps);
	for (size_t i = trace->first_sleep; i < trace->sleeps.count; i++) {
		struct clew_sleep *sleep = sleep_at(trace, i);
		uint64_t end = sleep->switch_in;
		/* A sleep that began with the last record of a capture that was cut off has an
		 * empty gap at its start. */
		uint64_t start = sleep->start - (end == CLEW_TIME_OPEN);
		bool lost;

		/* Gaps in order of `from`: those before `at` began before this sleep did. */
		for (; at < trace->gaps.count && gaps[at].from <= sleep->start; at++)
			if (gaps[at].header.time > gaps[longest].header.time)
				longest = at;
		lost = (at > 0 && gaps[longest].header.time > start) ||
		       (at < trace->gaps.count && gaps[at].from < end);
		sleep->hidden &= !lost;
		hidden += sleep->hidden;
		if (!sleep->blind && lost)
			doubt_sleep(trace, sleep);
	}
	keep_hidden(trace, hidden);
}
