/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks that were waited for, in words. The lock that cost most comes first, with a sentence that
 * says why it was held for so long; then circles of tasks; then each lock with its holders.
 */
#include <clew/tokens.h>
#include <stdlib.h>
#include <string.h>

#include "answers/locks/locks.h"
#include "answers/locks/locks_taken.h"
#include "format/style.h"
#include "format/text.h"
#include "words/deadlock.h"
#include "words/describe.h"
#include "words/functions.h"
#include "words/object.h"
#include "words/segment_text.h"
#include "words/task.h"

#define MOST_HOLDERS 5
#define MOST_DOINGS  4
#define MOST_ORDER   8	/* tasks of an order that are named */
#define LEAST_PART   50 /* a doing with less than one in so many parts of its holder's time */

/* ---- names ---- */

uint32_t clew_lock_function(const struct clew_trace *trace, const struct clew_contended *lock)
{
	uint32_t best = CLEW_NO_NUMBER, count = clew_trace_function_count(trace);
	uint64_t *ns = count ? calloc(count, sizeof(*ns)) : NULL;

	for (size_t i = 0; ns && i < lock->wait_count; i++) {
		const struct clew_lock_wait *wait = &lock->waits[i];
		uint32_t function = clew_function_at(trace, wait->task, wait->from);

		if (function >= count)
			continue;
		ns[function] += wait->to - wait->from;
		if (best == CLEW_NO_NUMBER || ns[function] > ns[best])
			best = function;
	}
	free(ns);
	return best;
}

void clew_print_lock_name(FILE *out, const struct clew_trace *trace,
			  const struct clew_contended *lock)
{
	const struct clew_lock_wait *wait = &lock->waits[lock->longest];
	const struct clew_trace_task *task = clew_trace_task(trace, wait->task);
	uint32_t function = clew_lock_function(trace, lock);

	if (wait->spin) {
		clew_print_spin_object(out, trace, wait->spin);
	} else {
		const char *call = clew_call_name(wait->sleep->call);

		if (wait->sleep->object.kind == CLEW_OBJECT_FILE && call)
			fprintf(out, "%s of ", call);
		if (!clew_print_object(out, trace, &wait->sleep->object, wait->sleep))
			fputs("a lock", out);
		if (wait->sleep->object.kind == CLEW_OBJECT_FUTEX && task) {
			fputs(" of ", out);
			clew_print_task_name(out, trace, task->process, wait->from);
		}
	}
	if (function == CLEW_NO_NUMBER)
		return;
	fputs(", taken in ", out);
	clew_print_function(out, trace, function);
}

/* ---- why it was held ---- */

/* All that holders did of one kind: the task itself, or another one that it waited for. */
struct part {
	uint64_t ns;
	const struct clew_lock_doing *longest;
	uint32_t holder; /* of `longest` */
};

void clew_print_lock_doing(FILE *out, const struct clew_trace *trace, uint32_t holder,
			   const struct clew_lock_doing *doing)
{
	const struct clew_segment *segment = &doing->segment;

	if (doing->words) {
		fputs(doing->words, out);
		return;
	}
	if (segment->task != holder) {
		fputs("waited for ", out);
		clew_print_task(out, trace, segment->task, segment->start);
		fputs(", which ", out);
	}
	clew_print_activity(out, trace, segment);
	if (doing->function != CLEW_NO_NUMBER) {
		fputs(", in ", out);
		clew_print_function(out, trace, doing->function);
	}
}

static struct part largest_part(const struct clew_contended *lock, size_t holders)
{
	struct part parts[2][CLEW_SEGMENT_KIND_COUNT] = {}, best = {};

	for (size_t i = 0; i < holders; i++) {
		const struct clew_lock_holder *holder = &lock->holders[i];

		for (size_t k = 0; k < holder->doing_count; k++) {
			const struct clew_lock_doing *doing = &holder->doing[k];
			struct part *part =
				&parts[doing->segment.task != holder->task][doing->segment.kind];

			part->ns += doing->ns;
			if (!part->longest || doing->ns > part->longest->ns) {
				part->longest = doing;
				part->holder = holder->task;
			}
			if (part->ns > best.ns)
				best = *part;
		}
	}
	return best;
}

static void print_why_held(FILE *out, const struct clew_trace *trace,
			   const struct clew_contended *lock)
{
	const struct clew_lock_holder *top = lock->holders;
	uint64_t held = 0;
	bool alone;
	struct part part;

	for (size_t i = 0; i < lock->holder_count; i++)
		held += lock->holders[i].held_ns;
	if (!held) {
		fputs("It is not known who held it.\n", out);
		return;
	}
	alone = top->held_ns > held / 10 * 6;
	part = largest_part(lock, alone ? 1 : lock->holder_count);
	if (alone) {
		fprintf(out, "It was %sheld by ",
			top->evidence == CLEW_EVIDENCE_CANDIDATE ? "perhaps " : "");
		clew_print_task(out, trace, top->task, top->first);
		held = top->held_ns;
	} else {
		fprintf(out, "It was held by %zu threads in turn", lock->holder_count);
	}
	if (held >= lock->contended_ns)
		fprintf(out, " for all %s in which somebody waited", CLEW_DURATION(held));
	else
		fprintf(out, " for %s of the %s in which somebody waited", CLEW_DURATION(held),
			CLEW_DURATION(lock->contended_ns));
	if (part.longest) {
		fprintf(out, "; for %s of these the holder ", CLEW_DURATION(part.ns));
		if (part.longest->segment.kind < CLEW_WAIT_KIND_COUNT &&
		    part.longest->ns < part.ns / 2)
			fprintf(out, "waited (%s)",
				clew_wait_kind_name(part.longest->segment.kind));
		else if (part.longest->segment.kind == CLEW_SEGMENT_RUNQUEUE &&
			 part.longest->ns < part.ns)
			fputs("was ready to run and had no CPU", out);
		else
			clew_print_lock_doing(out, trace, part.holder, part.longest);
	}
	fputs(".\n", out);
}

static void print_headline(FILE *out, const struct clew_trace *trace,
			   const struct clew_contended *lock)
{
	const struct clew_lock_wait *wait = &lock->waits[lock->longest];

	fputs(clew_style_begin(CLEW_STYLE_HEADING), out);
	clew_print_lock_name(out, trace, lock);
	fputs(" cost most: ", out);
	if (lock->wait_count == 1) {
		clew_print_task(out, trace, wait->task, wait->from);
		fprintf(out, " waited %s for it.", CLEW_DURATION(lock->wait_ns));
	} else {
		fprintf(out, "%zu thread%s waited for it %zu times, %s in all.", lock->waiters,
			lock->waiters == 1 ? "" : "s", lock->wait_count,
			CLEW_DURATION(lock->wait_ns));
	}
	fprintf(out, "%s\n", clew_style_end(CLEW_STYLE_HEADING));
	print_why_held(out, trace, lock);
}

/* ---- circles ---- */

static void print_cycle(FILE *out, const struct clew_trace *trace, const struct clew_locks *locks,
			const struct clew_lock_cycle *cycle)
{
	fprintf(out, "%sdeadlock for %s from +%s on:\n",
		cycle->evidence == CLEW_EVIDENCE_CANDIDATE ? "perhaps a " : "",
		CLEW_DURATION(cycle->to - cycle->from),
		CLEW_OFFSET(cycle->from - clew_trace_start(trace),
			    clew_trace_end(trace) - clew_trace_start(trace)));
	for (size_t i = 0; i < cycle->count; i++) {
		fputs("  ", out);
		clew_print_task(out, trace, cycle->steps[i].task, cycle->from);
		clew_print_in_function(out, trace, cycle->steps[i].task, cycle->from);
		fputs(" waited for ", out);
		clew_print_lock_name(out, trace, &locks->locks[cycle->steps[i].lock]);
		fputs(", held by ", out);
		clew_print_task(out, trace, cycle->steps[(i + 1) % cycle->count].task, cycle->from);
		fputc('\n', out);
	}
}

/* ---- one lock ---- */

static void print_holder(FILE *out, const struct clew_trace *trace,
			 const struct clew_lock_holder *holder)
{
	size_t shown = 0;

	if (!holder->held_ns)
		return;
	fprintf(out, "  %9s  %sheld by ", CLEW_DURATION(holder->held_ns),
		holder->evidence == CLEW_EVIDENCE_CANDIDATE ? "perhaps " : "");
	clew_print_task(out, trace, holder->task, holder->first);
	if (holder->holds > 1)
		fprintf(out, ", %zu times, at most %s", holder->holds,
			CLEW_DURATION(holder->max_ns));
	fputc('\n', out);
	for (size_t i = 0; i < holder->doing_count && shown < MOST_DOINGS; i++) {
		if (holder->doing[i].ns < holder->held_ns / LEAST_PART)
			break;
		fprintf(out, "  %9s    %9s  ", "", CLEW_DURATION(holder->doing[i].ns));
		clew_print_lock_doing(out, trace, holder->task, &holder->doing[i]);
		fputc('\n', out);
		shown++;
	}
}

static void print_holders(FILE *out, const struct clew_trace *trace,
			  const struct clew_contended *lock)
{
	uint64_t coming = 0, rest = 0;
	size_t others = 0;

	for (size_t i = 0; i < lock->holder_count; i++) {
		coming += lock->holders[i].coming_ns;
		if (i < MOST_HOLDERS) {
			print_holder(out, trace, &lock->holders[i]);
		} else if (lock->holders[i].held_ns) {
			rest += lock->holders[i].held_ns;
			others++;
		}
	}
	if (others)
		fprintf(out, "  %9s  held by %zu other%s\n", CLEW_DURATION(rest), others,
			others == 1 ? "" : "s");
	if (coming)
		fprintf(out,
			"  %9s  free, or held unseen: who had been woken for it had no CPU yet\n",
			CLEW_DURATION(coming));
	if (lock->unheld_ns)
		fprintf(out, "  %9s  no holder known\n", CLEW_DURATION(lock->unheld_ns));
}

static void print_order(FILE *out, const struct clew_trace *trace,
			const struct clew_contended *lock)
{
	const struct clew_lock_handover *all = lock->handovers;
	size_t count = lock->handover_count;
	bool chain = count > 0 && count < MOST_ORDER;

	for (size_t i = 0; i < count && chain; i++)
		chain = all[i].evidence != CLEW_EVIDENCE_CANDIDATE &&
			(i == 0 || all[i].from == all[i - 1].to);
	if (chain) {
		fputs("  order: ", out);
		clew_print_task(out, trace, all[0].from, all[0].at);
		for (size_t i = 0; i < count; i++) {
			fputs(", ", out);
			clew_print_task(out, trace, all[i].to, all[i].at);
			fputs(all[i].barged ? " (barged in)" : "", out);
		}
		fputc('\n', out);
	} else if (count) {
		fprintf(out, "  handed over %zu time%s", count, count == 1 ? "" : "s");
		if (lock->barged)
			fprintf(out,
				", %zu of them to a thread that took it before the one that "
				"had been woken for it",
				lock->barged);
		fputc('\n', out);
	}
}

static void print_trouble(FILE *out, const struct clew_trace *trace,
			  const struct clew_contended *lock)
{
	if (lock->convoys)
		fprintf(out,
			"  convoy: up to %zu threads queued, and the lock went from one to the "
			"next %zu times in a row without becoming free\n",
			lock->most_at_once, lock->convoy_length);
	for (size_t i = 0; i < lock->inversion_count && i < MOST_HOLDERS; i++) {
		const struct clew_lock_inversion *inversion = &lock->inversions[i];

		fputs("  priority inversion: ", out);
		clew_print_task(out, trace, inversion->waiter, inversion->at);
		fprintf(out, " waited %s because ", CLEW_DURATION(inversion->ns));
		clew_print_task(out, trace, inversion->by, inversion->at);
		fputs(" ran while the holder ", out);
		clew_print_task(out, trace, inversion->holder, inversion->at);
		fputs(" could not\n", out);
	}
}

static void print_lock(FILE *out, const struct clew_trace *trace, const struct clew_contended *lock,
		       const struct clew_taken_lock *taken)
{
	const struct clew_lock_wait *wait = &lock->waits[lock->longest];

	fprintf(out, "\n%s", clew_style_begin(CLEW_STYLE_LOCK));
	clew_print_lock_name(out, trace, lock);
	fprintf(out, "%s\n", clew_style_end(CLEW_STYLE_LOCK));
	fprintf(out, "  %9s  waited by ", CLEW_DURATION(lock->wait_ns));
	if (lock->wait_count > 1)
		fprintf(out, "%zu thread%s in %zu waits, the longest %s by ", lock->waiters,
			lock->waiters == 1 ? "" : "s", lock->wait_count,
			CLEW_DURATION(lock->max_wait_ns));
	clew_print_task(out, trace, wait->task, wait->from);
	fputc('\n', out);
	print_holders(out, trace, lock);
	clew_print_taken(out, trace, taken);
	print_order(out, trace, lock);
	print_trouble(out, trace, lock);
}

static void print_contended(FILE *out, const struct clew_trace *trace,
			    const struct clew_locks *locks, const struct clew_taken_locks *taken,
			    size_t top)
{
	uint64_t rest = 0;

	print_headline(out, trace, &locks->locks[0]);
	for (size_t i = 0; i < locks->cycle_count && i < top; i++)
		print_cycle(out, trace, locks, &locks->cycles[i]);
	for (size_t i = 0; i < locks->count; i++) {
		if (i < top)
			print_lock(out, trace, &locks->locks[i], clew_taken_of(taken, i));
		else
			rest += locks->locks[i].wait_ns;
	}
	if (locks->count > top)
		fprintf(out, "\nand %zu more locks, with %s of waits (--top)\n", locks->count - top,
			CLEW_DURATION(rest));
	fputc('\n', out);
}

/* Deadlocks that are not of locks alone: a cycle of locks was printed. */
static void print_deadlocks(FILE *out, const struct clew_trace *trace)
{
	size_t count;
	const struct clew_deadlock *all = clew_trace_deadlocks(trace, &count);

	for (size_t i = 0; i < count; i++) {
		size_t locks = 0;

		while (locks < all[i].count && all[i].steps[locks].role == CLEW_STUCK_HOLDER)
			locks++;
		if (locks == all[i].count)
			continue;
		clew_print_deadlock(out, trace, &all[i], CLEW_NO_TASK);
		fputs("\n\n", out);
	}
}

void clew_print_locks(FILE *out, const struct clew_trace *trace, const struct clew_locks *locks,
		      const struct clew_taken_locks *taken, size_t top)
{
	if (locks->count)
		print_contended(out, trace, locks, taken, top);
	else
		fputs("nobody waited for a lock\n", out);
	print_deadlocks(out, trace);
	clew_print_uncontended(out, trace, taken, top);
}
