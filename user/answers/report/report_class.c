/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The operations by class of a program that was asked for, and where the time of the longest one of
 * the class that hurts most went. See report.h.
 */
#include "answers/report/report.h"

#include "base/interval.h"

/* Where the time of an operation went. */
struct went {
	uint64_t ns[CLEW_SPENT_COUNT];
	uint64_t longest[CLEW_SPENT_COUNT]; /* wait of each class, ns */
	const struct clew_sleep *waits[CLEW_SPENT_COUNT];
};

/* The class of a piece of a timeline within an operation. While an answer is to come, time in
 * which the thread waits for something else is the network's, too. */
static enum clew_spent spent_of(const struct report *report, const struct clew_piece *piece,
				enum clew_operation_kind kind)
{
	enum clew_spent spent;

	switch (piece->kind) {
	case CLEW_PIECE_RUNNING:
		return CLEW_SPENT_RUNNING;
	case CLEW_PIECE_RUNQUEUE:
		return CLEW_SPENT_READY;
	case CLEW_PIECE_SLEEP:
		spent = clew_spent_within(report->trace, piece->sleep);
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

static void add_up(const struct report *report, const struct clew_kind_operation *operation,
		   struct went *went)
{
	const struct clew_operation *what = &operation->operation;
	struct clew_piece piece;

	for (uint64_t at = what->from; at < what->to; at = piece.end) {
		enum clew_spent spent;
		uint64_t ns;

		if (!clew_trace_piece(report->trace, what->task, at, false, &piece) ||
		    piece.end <= at)
			break;
		spent = spent_of(report, &piece, (enum clew_operation_kind)operation->kind);
		ns = interval_overlap(piece.start, piece.end, what->from, what->to);
		went->ns[spent] += ns;
		if (piece.kind != CLEW_PIECE_SLEEP || ns <= went->longest[spent])
			continue;
		went->longest[spent] = ns;
		went->waits[spent] = piece.sleep;
	}
}

/* Turns the headline to an operation. */
static void head(struct report *report, const struct clew_kind_operation *operation)
{
	struct went went = {};
	enum clew_spent most = CLEW_SPENT_RUNNING;

	add_up(report, operation, &went);
	for (int spent = CLEW_SPENT_RUNNING; spent < CLEW_SPENT_COUNT; spent++)
		if (went.ns[spent] > went.ns[most])
			most = (enum clew_spent)spent;
	report->by_class = true;
	report->program =
		clew_summary_program(&report->summary, report->trace, operation->operation.task);
	report->spent = most;
	report->cause = UINT32_MAX;
	report->class_ns = went.ns[most];
	report->class_total = operation->operation.to - operation->operation.from;
	report->wait = went.waits[most];
}

int report_add_classes(struct report *report)
{
	const struct clew_operation_classes *found = &report->classes;
	int r = clew_classes_find(report->trace, &report->chosen, report->from, report->to,
				  &report->classes);

	if (r < 0 || !found->class_count)
		return r;
	/* The headline about the program says already where a whole command or start went. */
	if (found->classes[0].kind != CLEW_OPERATION_COMMAND &&
	    found->classes[0].kind != CLEW_OPERATION_START)
		head(report, &found->operations[found->classes[0].first]);
	return 0;
}
