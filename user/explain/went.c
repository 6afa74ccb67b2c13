/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up the time of operations, and compares them. */
#include "explain/went.h"

#include "base/interval.h"
#include "explain/spent.h"

/* Operations around the median that are what is usual, and how many a class needs for it. */
#define AROUND 5
/* A class of time that makes up less than one part in so many of the difference is left out. */
#define LEAST_PART 5

enum clew_spent clew_went_class(const struct clew_trace *trace, const struct clew_piece *piece,
				enum clew_operation_kind kind)
{
	enum clew_spent spent;

	switch (piece->kind) {
	case CLEW_PIECE_RUNNING:
		return CLEW_SPENT_RUNNING;
	case CLEW_PIECE_RUNQUEUE:
		return CLEW_SPENT_READY;
	case CLEW_PIECE_SLEEP:
		spent = clew_spent_within(trace, piece->sleep);
		if (spent != CLEW_SPENT_COUNT)
			return spent;
		if (kind == CLEW_OPERATION_REQUEST)
			return CLEW_SPENT_NETWORK;
		spent = clew_spent_of_kind(piece->sleep->kind);
		return spent == CLEW_SPENT_LOCK	   ? CLEW_SPENT_THREAD
		       : spent == CLEW_SPENT_COUNT ? CLEW_SPENT_OTHER
						   : spent;
	default:
		return CLEW_SPENT_OTHER;
	}
}

/* The time of a thread. */
static void add_thread(const struct clew_trace *trace, uint32_t task, uint64_t from, uint64_t to,
		       enum clew_operation_kind kind, struct clew_went *went)
{
	struct clew_piece piece;

	for (uint64_t at = from; at < to; at = piece.end) {
		enum clew_spent spent;
		uint64_t ns;

		if (!clew_trace_piece(trace, task, at, false, &piece) || piece.end <= at)
			break;
		spent = clew_went_class(trace, &piece, kind);
		ns = interval_overlap(piece.start, piece.end, from, to);
		went->ns[spent] += ns;
		if (piece.kind != CLEW_PIECE_SLEEP || ns <= went->longest[spent])
			continue;
		went->longest[spent] = ns;
		went->waits[spent] = piece.sleep;
	}
}

/* The time of a logical span: while it is queued it is ready, while it is suspended it waits for
 * another part of its program, or for what nothing is known of. */
static void add_span(const struct clew_jobs *jobs, const struct clew_job *job,
		     const struct clew_operation *what, enum clew_operation_kind kind,
		     struct clew_went *went)
{
	/* Before it was submitted, it is the time of who did so. */
	if (what->from < job->begin)
		add_thread(jobs->trace, job->submitter ?: what->task, what->from,
			   job->begin < what->to ? job->begin : what->to, kind, went);
	for (uint32_t i = job->first; i != CLEW_NO_NUMBER; i = clew_job_piece_at(jobs, i)->next) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);
		uint64_t from = piece->start > what->from ? piece->start : what->from,
			 to = piece->end < what->to ? piece->end : what->to;
		bool known = piece->waker != CLEW_NO_NUMBER || piece->by_thread;

		if (from >= to)
			continue;
		if (piece->kind == CLEW_JOB_RUNS)
			add_thread(jobs->trace, piece->task, from, to, kind, went);
		else if (piece->kind == CLEW_JOB_QUEUED)
			went->ns[CLEW_SPENT_READY] += to - from;
		else
			went->ns[known ? CLEW_SPENT_THREAD : CLEW_SPENT_OTHER] += to - from;
	}
}

void clew_went_add(const struct clew_trace *trace, const struct clew_kind_operation *operation,
		   struct clew_went *went)
{
	const struct clew_operation *what = &operation->operation;
	const struct clew_jobs *jobs = clew_trace_jobs(trace);

	if (what->job)
		add_span(jobs, clew_job_at(jobs, what->job - 1), what,
			 (enum clew_operation_kind)operation->kind, went);
	else
		add_thread(trace, what->task, what->from, what->to,
			   (enum clew_operation_kind)operation->kind, went);
}

enum clew_spent clew_went_most(const struct clew_went *went)
{
	enum clew_spent most = CLEW_SPENT_RUNNING;

	for (int spent = CLEW_SPENT_RUNNING; spent < CLEW_SPENT_COUNT; spent++)
		if (went->ns[spent] > went->ns[most])
			most = (enum clew_spent)spent;
	return most;
}

static uint64_t more(const struct clew_differs *it)
{
	return it->ns - it->usual_ns;
}

/* Puts one into the list, whose order is that of what it has more. */
static void insert(struct clew_differs *list, size_t count, const struct clew_differs *it)
{
	size_t place = count;

	for (; place && more(&list[place - 1]) < more(it); place--)
		list[place] = list[place - 1];
	list[place] = *it;
}

size_t clew_went_differs(const struct clew_trace *trace, const struct clew_operation_classes *found,
			 size_t class, size_t place, struct clew_differs ret[CLEW_SPENT_COUNT])
{
	const struct clew_operation_class *it = &found->classes[class];
	const struct clew_kind_operation *all = &found->operations[it->first], *one = &all[place];
	struct clew_went slow = {}, usual = {};
	uint64_t ns = one->operation.to - one->operation.from;
	size_t count = 0;

	if (it->count < AROUND || ns <= it->usual)
		return 0;
	clew_went_add(trace, one, &slow);
	for (size_t i = 0; i < AROUND; i++)
		clew_went_add(trace, &all[it->count / 2 - AROUND / 2 + i], &usual);
	for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++) {
		const struct clew_differs differs = {.spent = (enum clew_spent)spent,
						     .ns = slow.ns[spent],
						     .usual_ns = usual.ns[spent] / AROUND,
						     .wait = slow.waits[spent]};

		if (differs.ns > differs.usual_ns &&
		    more(&differs) >= (ns - it->usual) / LEAST_PART)
			insert(ret, count++, &differs);
	}
	return count;
}
