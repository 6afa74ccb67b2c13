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

void clew_went_add(const struct clew_trace *trace, const struct clew_kind_operation *operation,
		   struct clew_went *went)
{
	const struct clew_operation *what = &operation->operation;
	struct clew_piece piece;

	for (uint64_t at = what->from; at < what->to; at = piece.end) {
		enum clew_spent spent;
		uint64_t ns;

		if (!clew_trace_piece(trace, what->task, at, false, &piece) || piece.end <= at)
			break;
		spent = clew_went_class(trace, &piece, (enum clew_operation_kind)operation->kind);
		ns = interval_overlap(piece.start, piece.end, what->from, what->to);
		went->ns[spent] += ns;
		if (piece.kind != CLEW_PIECE_SLEEP || ns <= went->longest[spent])
			continue;
		went->longest[spent] = ns;
		went->waits[spent] = piece.sleep;
	}
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
