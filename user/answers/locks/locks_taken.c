/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers about takes of locks. */
#include "answers/locks/locks_taken.h"

#include <inttypes.h>
#include <string.h>

#include "answers/locks/locks.h"
#include "format/style.h"
#include "format/text.h"
#include "words/describe.h"
#include "words/object.h"
#include "words/task.h"

#define LEAST_PART 2 /* less than one in so many parts of a hold is no reason for it */

static uint64_t longest_ns(const struct clew_taken_lock *lock)
{
	return lock->longest.to - lock->longest.from;
}

/* ---- JSON ---- */

static void json_takers(struct clew_json *json, const struct clew_trace *trace,
			const struct clew_taken_lock *lock)
{
	clew_json_array(json, "takers");
	for (size_t i = 0; i < lock->taker_count; i++) {
		const struct clew_taker_sum *taker = &lock->takers[i];

		clew_json_object(json, NULL);
		clew_json_task_fields(json, trace, taker->task, lock->longest.from);
		clew_json_unsigned(json, "takes", taker->takes);
		clew_json_unsigned(json, "held_ns", taker->held_ns);
		clew_json_unsigned(json, "max_held_ns", taker->max_ns);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_longest(struct clew_json *json, const struct clew_trace *trace,
			 const struct clew_taken_lock *lock)
{
	if (!lock->takes) {
		clew_json_null(json, "longest");
		return;
	}
	clew_json_object(json, "longest");
	clew_json_task_fields(json, trace, lock->longest.task, lock->longest.from);
	clew_json_unsigned(json, "from", lock->longest.from);
	clew_json_unsigned(json, "to", lock->longest.to);
	clew_json_lock_doings(json, trace, &lock->during);
	clew_json_object_end(json);
}

static void json_sums(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_taken_lock *lock)
{
	clew_json_unsigned(json, "takes", lock->takes);
	clew_json_unsigned(json, "shared", lock->shared);
	clew_json_unsigned(json, "refused", lock->refused);
	clew_json_unsigned(json, "held_ns", lock->held_ns);
	clew_json_unsigned(json, "max_held_ns", longest_ns(lock));
	clew_json_bool(json, "held_at_end", lock->held);
	json_longest(json, trace, lock);
	json_takers(json, trace, lock);
}

void clew_json_taken(struct clew_json *json, const char *key, const struct clew_trace *trace,
		     const struct clew_taken_lock *lock)
{
	if (!lock) {
		clew_json_null(json, key);
		return;
	}
	clew_json_object(json, key);
	json_sums(json, trace, lock);
	clew_json_object_end(json);
}

static void json_uncontended(struct clew_json *json, const struct clew_trace *trace,
			     const struct clew_taken_lock *lock)
{
	const struct clew_trace_task *process = clew_trace_task(trace, lock->process);
	struct object_description it;
	char address[32];

	clew_json_object(json, NULL);
	if (object_describe_then(trace, &lock->object, NULL, lock->longest.from, &it))
		clew_json_string(json, "name", it.name);
	else
		clew_json_null(json, "name");
	clew_json_string(json, "kind", lock->rwlock ? "rwlock" : "mutex");
	if (process)
		clew_json_unsigned(json, "pid", process->pid);
	else
		clew_json_null(json, "pid");
	snprintf(address, sizeof(address), "0x%" PRIx64, lock->object.number);
	clew_json_string(json, "address", address);
	json_sums(json, trace, lock);
	clew_json_object_end(json);
}

void clew_json_uncontended(struct clew_json *json, const struct clew_trace *trace,
			   const struct clew_taken_locks *taken, size_t top)
{
	size_t shown = 0;

	if (taken->until == CLEW_TIME_OPEN)
		clew_json_null(json, "taken_until");
	else
		clew_json_unsigned(json, "taken_until", taken->until);
	if (!taken->recorded) {
		clew_json_null(json, "uncontended");
		return;
	}
	clew_json_array(json, "uncontended");
	for (size_t i = 0; i < taken->count && shown < top; i++) {
		if (taken->locks[i].waited != SIZE_MAX)
			continue;
		json_uncontended(json, trace, &taken->locks[i]);
		shown++;
	}
	clew_json_array_end(json);
}

/* ---- text ---- */

/* The reason of most of the longest hold; NULL: the task ran. */
static const struct clew_lock_doing *reason(const struct clew_taken_lock *lock)
{
	const struct clew_lock_doing *doing = lock->during.doing;

	return lock->during.doing_count && doing->ns > longest_ns(lock) / LEAST_PART &&
			       doing->segment.kind != CLEW_SEGMENT_RUNNING
		       ? doing
		       : NULL;
}

static void print_sums(FILE *out, const struct clew_trace *trace,
		       const struct clew_taken_lock *lock)
{
	const struct clew_lock_doing *doing = reason(lock);

	fprintf(out, "taken %zu time%s", lock->takes, lock->takes == 1 ? "" : "s");
	if (lock->shared)
		fprintf(out, " (%zu shared)", lock->shared);
	if (lock->refused)
		fprintf(out, ", refused %zu time%s", lock->refused, lock->refused == 1 ? "" : "s");
	if (!lock->takes)
		return;
	fprintf(out, ", %s on average, at most %s by ", CLEW_DURATION(lock->held_ns / lock->takes),
		CLEW_DURATION(longest_ns(lock)));
	clew_print_task(out, trace, lock->longest.task, lock->longest.from);
	if (doing) {
		fprintf(out, ", which for %s ", CLEW_DURATION(doing->ns));
		clew_print_lock_doing(out, trace, lock->longest.task, doing);
	}
}

void clew_print_taken(FILE *out, const struct clew_trace *trace, const struct clew_taken_lock *lock)
{
	if (!lock)
		return;
	fprintf(out, "  %9s  held in all: ", CLEW_DURATION(lock->held_ns));
	print_sums(out, trace, lock);
	fputc('\n', out);
}

static void print_uncontended(FILE *out, const struct clew_trace *trace,
			      const struct clew_taken_lock *lock)
{
	static const char futex[] = "futex ";
	struct object_description it;
	const char *name;

	if (!object_describe_then(trace, &lock->object, NULL, lock->longest.from, &it))
		return;
	name = strncmp(it.name, futex, strlen(futex)) ? it.name : it.name + strlen(futex);
	fprintf(out, "  %9s  %s%s ", CLEW_DURATION(lock->held_ns),
		clew_style_begin(CLEW_STYLE_LOCK), lock->rwlock ? "rwlock" : "mutex");
	clew_print_safe(out, name);
	fputs(" of ", out);
	clew_print_task_name(out, trace, lock->process, lock->longest.from);
	fprintf(out, "%s: ", clew_style_end(CLEW_STYLE_LOCK));
	print_sums(out, trace, lock);
	fputc('\n', out);
}

void clew_print_uncontended(FILE *out, const struct clew_trace *trace,
			    const struct clew_taken_locks *taken, size_t top)
{
	uint64_t rest = 0;
	size_t count = 0;

	for (size_t i = 0; i < taken->count; i++) {
		if (taken->locks[i].waited != SIZE_MAX)
			continue;
		if (count == 0)
			fputs("locks that nobody waited for, by how long they were held:\n", out);
		if (count++ < top)
			print_uncontended(out, trace, &taken->locks[i]);
		else
			rest += taken->locks[i].held_ns;
	}
	if (count > top)
		fprintf(out, "  %9s  %zu more (--top)\n", CLEW_DURATION(rest), count - top);
	if (taken->until != CLEW_TIME_OPEN)
		fprintf(out,
			"  how locks were held is known until +%s: then the functions that take "
			"them cost too much (record --max-cost)\n",
			CLEW_OFFSET(taken->until - clew_trace_start(trace),
				    clew_trace_end(trace) - clew_trace_start(trace)));
	if (count || taken->until != CLEW_TIME_OPEN)
		fputc('\n', out);
}
