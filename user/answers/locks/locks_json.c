/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Locks that were waited for, in JSON. */
#include <clew/tokens.h>
#include <inttypes.h>

#include "answers/locks/locks.h"
#include "answers/locks/locks_taken.h"
#include "words/deadlock.h"
#include "words/describe.h"
#include "words/functions.h"
#include "words/object.h"
#include "words/task.h"

static const struct clew_lock_wait *longest(const struct clew_contended *lock)
{
	return &lock->waits[lock->longest];
}

static void json_object(struct clew_json *json, const char *key, const struct clew_trace *trace,
			const struct clew_lock_wait *wait)
{
	if (wait->spin)
		clew_json_spin_object(json, key, trace, wait->spin);
	else
		clew_json_object_of(json, key, trace, &wait->sleep->object, wait->sleep);
}

/* "futex", the type of a kernel lock, or the call that locks a file. */
static const char *kind_of(const struct clew_lock_wait *wait)
{
	if (wait->spin)
		return clew_lock_type_name(wait->spin->type);
	switch (wait->sleep->object.kind) {
	case CLEW_OBJECT_FUTEX:
		return "futex";
	case CLEW_OBJECT_LOCK:
		return clew_lock_type_name(wait->sleep->object.lock_type);
	case CLEW_OBJECT_FILE:
		return clew_call_name(wait->sleep->call) ?: "file";
	default:
		return "other";
	}
}

/* The name that the object has, where it is, and whose memory that is. */
static void json_place(struct clew_json *json, const struct clew_trace *trace,
		       const struct clew_contended *lock)
{
	const struct clew_lock_wait *wait = longest(lock);
	const struct clew_object object =
		wait->spin ? clew_spin_object(wait->spin) : wait->sleep->object;
	const struct clew_trace_task *task = clew_trace_task(trace, wait->task);
	struct object_description it;
	char address[32];

	if (object_describe_then(trace, &object, wait->sleep, wait->from, &it))
		clew_json_string(json, "name", it.name);
	else
		clew_json_null(json, "name");
	clew_json_string(json, "kind", kind_of(wait));
	if (object.kind == CLEW_OBJECT_FUTEX && !object.shared && task)
		clew_json_unsigned(json, "pid", task->pid);
	else
		clew_json_null(json, "pid");
	snprintf(address, sizeof(address), "0x%" PRIx64, object.number);
	clew_json_string(json, "address",
			 object.kind == CLEW_OBJECT_FUTEX || object.kind == CLEW_OBJECT_LOCK
				 ? address
				 : NULL);
	json_object(json, "object", trace, wait);
}

static void json_function(struct clew_json *json, const struct clew_trace *trace, uint32_t number)
{
	clew_json_string(json, "function",
			 number == CLEW_NO_NUMBER ? NULL : clew_function_name(trace, number));
}

static void json_doing(struct clew_json *json, const struct clew_trace *trace,
		       const struct clew_lock_doing *doing)
{
	const struct clew_segment *segment = &doing->segment;

	clew_json_object(json, NULL);
	clew_json_task_fields(json, trace, segment->task, segment->start);
	clew_json_string(json, "kind", clew_wait_kind_name(segment->kind));
	clew_json_unsigned(json, "ns", doing->ns);
	if (segment->spin)
		clew_json_spin_object(json, "object", trace, segment->spin);
	else if (segment->sleep && segment->kind != CLEW_SEGMENT_RUNNING &&
		 segment->kind != CLEW_SEGMENT_RUNQUEUE && !segment->link)
		clew_json_object_of(json, "object", trace, &segment->sleep->object, segment->sleep);
	else
		clew_json_null(json, "object");
	clew_json_string(json, "call",
			 clew_call_name(segment->stay	 ? segment->stay->call
					: segment->sleep ? segment->sleep->call
							 : CLEW_NO_CALL));
	json_function(json, trace, doing->function);
	clew_json_object_end(json);
}

void clew_json_lock_doings(struct clew_json *json, const struct clew_trace *trace,
			   const struct clew_lock_holder *holder)
{
	clew_json_array(json, "doing");
	for (size_t i = 0; i < holder->doing_count; i++)
		json_doing(json, trace, &holder->doing[i]);
	clew_json_array_end(json);
}

static void json_holders(struct clew_json *json, const struct clew_trace *trace,
			 const struct clew_contended *lock)
{
	clew_json_array(json, "holders");
	for (size_t i = 0; i < lock->holder_count; i++) {
		const struct clew_lock_holder *holder = &lock->holders[i];

		clew_json_object(json, NULL);
		clew_json_task_fields(json, trace, holder->task, holder->first);
		clew_json_unsigned(json, "held_ns", holder->held_ns);
		clew_json_unsigned(json, "max_held_ns", holder->max_ns);
		clew_json_unsigned(json, "coming_ns", holder->coming_ns);
		clew_json_unsigned(json, "holds", holder->holds);
		clew_json_unsigned(json, "barged", holder->barged);
		clew_json_string(json, "evidence",
				 holder->holds ? clew_evidence_name(holder->evidence) : NULL);
		clew_json_lock_doings(json, trace, holder);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_task(struct clew_json *json, const char *key, const struct clew_trace *trace,
		      uint32_t serial, uint64_t at)
{
	clew_json_object(json, key);
	clew_json_task_fields(json, trace, serial, at);
	clew_json_object_end(json);
}

static void json_holds(struct clew_json *json, const struct clew_trace *trace,
		       const struct clew_contended *lock)
{
	clew_json_array(json, "holds");
	for (size_t i = 0; i < lock->hold_count; i++) {
		const struct clew_lock_hold *hold = &lock->holds[i];

		clew_json_object(json, NULL);
		clew_json_task_fields(json, trace, hold->task, hold->from);
		clew_json_unsigned(json, "from", hold->from);
		clew_json_unsigned(json, "to", hold->to);
		clew_json_string(json, "evidence", clew_evidence_name(hold->evidence));
		clew_json_bool(json, "barged", hold->barged);
		clew_json_bool(json, "coming", hold->coming);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_order(struct clew_json *json, const struct clew_trace *trace,
		       const struct clew_contended *lock)
{
	clew_json_array(json, "handovers");
	for (size_t i = 0; i < lock->handover_count; i++) {
		const struct clew_lock_handover *handover = &lock->handovers[i];

		clew_json_object(json, NULL);
		json_task(json, "from", trace, handover->from, handover->at);
		json_task(json, "to", trace, handover->to, handover->at);
		clew_json_unsigned(json, "at", handover->at);
		clew_json_string(json, "evidence", clew_evidence_name(handover->evidence));
		clew_json_bool(json, "barged", handover->barged);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_unsigned(json, "barged", lock->barged);
	clew_json_bool(json, "convoy", lock->convoys > 0);
	clew_json_unsigned(json, "convoys", lock->convoys);
	clew_json_array(json, "inversions");
	for (size_t i = 0; i < lock->inversion_count; i++) {
		const struct clew_lock_inversion *inversion = &lock->inversions[i];

		clew_json_object(json, NULL);
		json_task(json, "waiter", trace, inversion->waiter, inversion->at);
		json_task(json, "holder", trace, inversion->holder, inversion->at);
		json_task(json, "by", trace, inversion->by, inversion->at);
		clew_json_unsigned(json, "at", inversion->at);
		clew_json_unsigned(json, "ns", inversion->ns);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_lock(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_contended *lock, const struct clew_taken_lock *taken)
{
	const struct clew_lock_wait *wait = longest(lock);

	clew_json_object(json, NULL);
	json_place(json, trace, lock);
	json_function(json, trace, clew_lock_function(trace, lock));
	clew_json_unsigned(json, "waits", lock->wait_count);
	clew_json_unsigned(json, "waiters", lock->waiters);
	clew_json_unsigned(json, "most_at_once", lock->most_at_once);
	clew_json_unsigned(json, "wait_ns", lock->wait_ns);
	clew_json_unsigned(json, "max_wait_ns", lock->max_wait_ns);
	json_task(json, "longest_waiter", trace, wait->task, wait->from);
	clew_json_unsigned(json, "contended_ns", lock->contended_ns);
	clew_json_unsigned(json, "unheld_ns", lock->unheld_ns);
	json_holders(json, trace, lock);
	json_holds(json, trace, lock);
	json_order(json, trace, lock);
	clew_json_taken(json, "taken", trace, taken);
	clew_json_object_end(json);
}

void clew_json_locks(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_locks *locks, const struct clew_taken_locks *taken,
		     size_t top)
{
	clew_json_array(json, "locks");
	for (size_t i = 0; i < locks->count && i < top; i++)
		json_lock(json, trace, &locks->locks[i], clew_taken_of(taken, i));
	clew_json_array_end(json);
	clew_json_array(json, "cycles");
	for (size_t i = 0; i < locks->cycle_count; i++) {
		const struct clew_lock_cycle *cycle = &locks->cycles[i];

		clew_json_array(json, NULL);
		for (size_t k = 0; k < cycle->count; k++) {
			const struct clew_lock_step *step = &cycle->steps[k];

			clew_json_object(json, NULL);
			clew_json_task_fields(json, trace, step->task, cycle->from);
			json_object(json, "lock", trace, longest(&locks->locks[step->lock]));
			json_function(json, trace,
				      clew_function_at(trace, step->task, cycle->from));
			clew_json_unsigned(json, "from", cycle->from);
			clew_json_unsigned(json, "to", cycle->to);
			clew_json_string(json, "evidence", clew_evidence_name(cycle->evidence));
			clew_json_object_end(json);
		}
		clew_json_array_end(json);
	}
	clew_json_array_end(json);
	clew_json_deadlocks(json, trace);
	clew_json_uncontended(json, trace, taken, top);
}
