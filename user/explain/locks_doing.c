/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time of the holders of a lock: each hold is explained as by clew_why_explain(), and
 * like times are added up. Times in which a holder had no CPU, while one ran that a waiter
 * outranks, are inversions.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "explain/locks_internal.h"
#include "trace/frames.h"

/* Times with equal keys are one of a holder's doings. */
struct key {
	struct clew_wait_key object;
	uint64_t call;
	uint32_t task;
	uint32_t by;
	uint32_t function;
	uint8_t kind;
	bool cycle;
};

struct keyed {
	struct key key;
	struct clew_lock_doing doing;
	uint64_t longest; /* ns of `doing.segment` */
};

struct explainer {
	const struct clew_trace *trace;
	const struct clew_relations *relations;
	struct clew_contended *lock;
	struct clew_lock_holder *holder;
	bool has_frames;
	struct clew_function_sums sums;
	struct keyed *found; /* of `holder` */
	size_t count;
	const struct clew_lock_wait **high; /* those of tasks with more than a usual priority */
	size_t high_count;
};

/* ---- doings ---- */

static struct key key_of(const struct clew_trace *trace, const struct clew_segment *segment,
			 uint32_t function)
{
	struct key key;

	memset(&key, 0, sizeof(key));
	key.task = segment->task;
	key.kind = segment->kind;
	key.cycle = segment->cycle;
	key.function = function;
	if (segment->stay)
		key.call = 1u + segment->stay->call;
	if (segment->kind == CLEW_SEGMENT_RUNQUEUE)
		key.by = segment->by;
	else if (segment->spin)
		key.object = (struct clew_wait_key){{segment->spin->lock, CLEW_OBJECT_LOCK}};
	else if (segment->link)
		key.object = (struct clew_wait_key){
			{segment->link->kind, segment->link->device, segment->link->flags}};
	else if (segment->sleep && segment->kind != CLEW_SEGMENT_RUNNING)
		key.object = clew_wait_key(trace, segment->sleep);
	return key;
}

static int add(struct explainer *explainer, const struct clew_segment *segment, uint32_t function,
	       uint64_t ns)
{
	struct key key = key_of(explainer->trace, segment, function);
	struct keyed *found = explainer->found;
	size_t i = 0;
	int r;

	/* A holder does few different things; the last ones come first to mind. */
	for (i = explainer->count; i-- > 0;)
		if (!memcmp(&found[i].key, &key, sizeof(key)))
			break;
	if (i == SIZE_MAX) {
		r = locks_reserve((void **)&explainer->found, explainer->count, sizeof(*found));
		if (r < 0)
			return r;
		found = explainer->found;
		i = explainer->count++;
		found[i] = (struct keyed){.doing.function = function};
		memcpy(&found[i].key, &key, sizeof(key));
	}
	found[i].doing.ns += ns;
	if (ns > found[i].longest) {
		found[i].longest = ns;
		found[i].doing.segment = *segment;
		/* These belong to the explanation. */
		found[i].doing.segment.chain = NULL;
		found[i].doing.segment.vias = NULL;
		found[i].doing.segment.chain_length = 0;
		found[i].doing.segment.below = NULL;
	}
	return 0;
}

static int add_running(struct explainer *explainer, const struct clew_segment *segment)
{
	int r;

	clew_function_sums_clear(&explainer->sums);
	r = clew_function_sums_add(&explainer->sums, explainer->trace, segment->task,
				   segment->start, segment->end);
	for (uint32_t i = 0; i < explainer->sums.count && r == 0; i++)
		if (explainer->sums.times[i].ns)
			r = add(explainer, segment, explainer->sums.times[i].function,
				explainer->sums.times[i].ns);
	return r;
}

static int add_segment(struct explainer *explainer, const struct clew_segment *segment)
{
	const struct clew_link *link = segment->link;
	const struct clew_trace_frame *frame = NULL;
	uint64_t at =
		link && link->kind == CLEW_LINK_REQUEST && link->at ? link->at : segment->start;

	if (segment->kind == CLEW_WAIT_UNKNOWN)
		explainer->holder->unknown_ns += clew_segment_length(segment);
	if (explainer->has_frames && segment->kind == CLEW_SEGMENT_RUNNING)
		return add_running(explainer, segment);
	if (explainer->has_frames && segment->kind != CLEW_SEGMENT_RUNQUEUE)
		frame = clew_trace_frame_at(explainer->trace, segment->task, at);
	return add(explainer, segment, frame ? frame->function : CLEW_NO_NUMBER,
		   clew_segment_length(segment));
}

static int by_length(const void *a, const void *b)
{
	const struct clew_lock_doing *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns > right->ns ? -1 : 1;
	return left->segment.start < right->segment.start ? -1 : 1;
}

static int keep_doings(struct explainer *explainer)
{
	struct clew_lock_holder *holder = explainer->holder;

	holder->doing = malloc((explainer->count + 1) * sizeof(*holder->doing));
	if (!holder->doing)
		return -ENOMEM;
	for (size_t i = 0; i < explainer->count; i++)
		holder->doing[holder->doing_count++] = explainer->found[i].doing;
	if (holder->doing_count)
		qsort(holder->doing, holder->doing_count, sizeof(*holder->doing), by_length);
	return 0;
}

/* ---- inversions ---- */

/* Whoever has a higher rank and is ready runs first; 1 is that of usual tasks. */
static unsigned rank_at(const struct explainer *explainer, uint32_t task, uint64_t at)
{
	struct clew_scheduled scheduled = clew_trace_scheduled_at(explainer->trace, task, at);

	switch (scheduled.policy) {
	case SCHED_DEADLINE:
		return 200;
	case SCHED_FIFO:
	case SCHED_RR:
		return 1u + (uint8_t)scheduled.value;
	case SCHED_IDLE:
		return 0;
	default:
		return 1;
	}
}

static int find_high(struct explainer *explainer)
{
	struct clew_contended *lock = explainer->lock;

	explainer->high = malloc((lock->wait_count + 1) * sizeof(*explainer->high));
	if (!explainer->high)
		return -ENOMEM;
	for (size_t i = 0; i < lock->wait_count; i++)
		if (rank_at(explainer, lock->waits[i].task, lock->waits[i].from) > 1)
			explainer->high[explainer->high_count++] = &lock->waits[i];
	return 0;
}

static int add_inversion(struct clew_contended *lock, struct clew_lock_inversion inversion)
{
	int r;

	for (size_t i = 0; i < lock->inversion_count; i++) {
		struct clew_lock_inversion *known = &lock->inversions[i];

		if (known->waiter == inversion.waiter && known->holder == inversion.holder &&
		    known->by == inversion.by) {
			known->ns += inversion.ns;
			known->at = known->at < inversion.at ? known->at : inversion.at;
			return 0;
		}
	}
	r = locks_reserve((void **)&lock->inversions, lock->inversion_count,
			  sizeof(*lock->inversions));
	if (r == 0)
		lock->inversions[lock->inversion_count++] = inversion;
	return r;
}

static int find_inversions(struct explainer *explainer, const struct clew_segment *segment)
{
	uint32_t holder = explainer->holder->task;
	unsigned rank, by;
	int r = 0;

	if (segment->kind != CLEW_SEGMENT_RUNQUEUE || segment->task != holder ||
	    segment->by == UINT32_MAX || segment->by == CLEW_NO_TASK)
		return 0;
	rank = rank_at(explainer, holder, segment->start);
	by = rank_at(explainer, segment->by, segment->start);
	for (size_t i = 0; i < explainer->high_count && r == 0; i++) {
		const struct clew_lock_wait *wait = explainer->high[i];
		uint64_t from = wait->from > segment->start ? wait->from : segment->start,
			 to = wait->to < segment->end ? wait->to : segment->end;
		unsigned waiter = rank_at(explainer, wait->task, wait->from);

		if (from < to && waiter > rank && waiter > by && segment->by != wait->task)
			r = add_inversion(explainer->lock,
					  (struct clew_lock_inversion){.ns = to - from,
								       .at = from,
								       .waiter = wait->task,
								       .holder = holder,
								       .by = segment->by});
	}
	return r;
}

static int longest_first(const void *a, const void *b)
{
	const struct clew_lock_inversion *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns > right->ns ? -1 : 1;
	return left->at < right->at ? -1 : left->at > right->at;
}

/* ---- */

static int explain_hold(struct explainer *explainer, const struct clew_lock_hold *hold)
{
	struct clew_why why;
	int r = clew_why_explain(explainer->trace, explainer->relations, hold->task, hold->from,
				 hold->to, &why);

	/* A task that the capture does not know did something unknown. */
	if (r == -ESRCH) {
		explainer->holder->unknown_ns += hold->to - hold->from;
		return 0;
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < why.segment_count && r == 0; i++) {
		r = add_segment(explainer, &why.segments[i]);
		if (r == 0 && explainer->high_count)
			r = find_inversions(explainer, &why.segments[i]);
	}
	clew_why_done(&why);
	return r;
}

/* By task and time, so that the holds of one holder lie together. */
static int by_task(const void *a, const void *b)
{
	const struct clew_lock_hold *const *left = a, *const *right = b;

	if ((*left)->task != (*right)->task)
		return (*left)->task < (*right)->task ? -1 : 1;
	return (*left)->from < (*right)->from ? -1 : (*left)->from > (*right)->from;
}

static struct clew_lock_holder *holder_of(struct clew_contended *lock, uint32_t task)
{
	for (size_t i = 0; i < lock->holder_count; i++)
		if (lock->holders[i].task == task)
			return &lock->holders[i];
	return NULL;
}

static int explain_all(struct explainer *explainer)
{
	struct clew_contended *lock = explainer->lock;
	const struct clew_lock_hold **sorted = malloc((lock->hold_count + 1) * sizeof(*sorted));
	int r = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < lock->hold_count; i++)
		sorted[i] = &lock->holds[i];
	qsort(sorted, lock->hold_count, sizeof(*sorted), by_task);
	for (size_t i = 0; i < lock->hold_count && r == 0; i++) {
		if (i == 0 || sorted[i]->task != sorted[i - 1]->task) {
			explainer->holder = holder_of(lock, sorted[i]->task);
			explainer->count = 0;
		}
		if (!sorted[i]->coming)
			r = explain_hold(explainer, sorted[i]);
		if (r == 0 && (i + 1 == lock->hold_count || sorted[i + 1]->task != sorted[i]->task))
			r = keep_doings(explainer);
	}
	free(sorted);
	return r;
}

int clew_lock_explain(const struct clew_trace *trace, const struct clew_relations *relations,
		      struct clew_contended *lock)
{
	struct explainer explainer = {.trace = trace,
				      .relations = relations,
				      .lock = lock,
				      .has_frames = clew_trace_has_frames(trace)};
	int r = find_high(&explainer);

	if (r == 0 && explainer.has_frames)
		r = clew_function_sums_begin(trace, &explainer.sums);
	if (r == 0)
		r = explain_all(&explainer);
	if (explainer.has_frames)
		clew_function_sums_done(&explainer.sums);
	free(explainer.found);
	free(explainer.high);
	if (lock->inversion_count)
		qsort(lock->inversions, lock->inversion_count, sizeof(*lock->inversions),
		      longest_first);
	return r;
}

/* ---- in parts ---- */

static const struct clew_sleep *keep_sleep(struct arena *arena, const struct clew_sleep *sleep)
{
	struct clew_sleep *copy = arena_copy(arena, sleep, sizeof(*sleep));

	if (!copy || !sleep->link_count)
		return copy;
	copy->links = arena_copy(arena, sleep->links, sleep->link_count * sizeof(*sleep->links));
	return copy->links ? copy : NULL;
}

/* Copies what a segment points to, and its words. 0 or -ENOMEM. */
static int keep_longest(struct arena *arena, struct clew_lock_doing *doing,
			const struct clew_lock_doing *longer)
{
	struct clew_segment *segment = &doing->segment;

	*segment = longer->segment;
	if (segment->sleep)
		segment->sleep = keep_sleep(arena, segment->sleep);
	if (segment->link)
		segment->link = arena_copy(arena, segment->link, sizeof(*segment->link));
	if (segment->stay)
		segment->stay = arena_copy(arena, segment->stay, sizeof(*segment->stay));
	if (segment->spin)
		segment->spin = arena_copy(arena, segment->spin, sizeof(*segment->spin));
	doing->words =
		longer->words ? arena_copy(arena, longer->words, strlen(longer->words)) : NULL;
	return !segment->sleep == !longer->segment.sleep &&
			       !segment->link == !longer->segment.link &&
			       !segment->stay == !longer->segment.stay &&
			       !segment->spin == !longer->segment.spin &&
			       !doing->words == !longer->words
		       ? 0
		       : -ENOMEM;
}

static int add_more(const struct clew_trace *trace, struct clew_lock_holder *holder,
		    const struct clew_lock_doing *more, struct arena *arena)
{
	struct key key = key_of(trace, &more->segment, more->function);
	int r;

	for (size_t i = 0; i < holder->doing_count; i++) {
		struct clew_lock_doing *doing = &holder->doing[i];
		struct key known = key_of(trace, &doing->segment, doing->function);

		if (memcmp(&known, &key, sizeof(key)))
			continue;
		doing->ns += more->ns;
		return clew_segment_length(&more->segment) > clew_segment_length(&doing->segment)
			       ? keep_longest(arena, doing, more)
			       : 0;
	}
	r = locks_reserve((void **)&holder->doing, holder->doing_count, sizeof(*holder->doing));
	if (r < 0)
		return r;
	holder->doing[holder->doing_count] = *more;
	return keep_longest(arena, &holder->doing[holder->doing_count++], more);
}

int clew_lock_explain_more(const struct clew_trace *trace, const struct clew_contended *part,
			   struct clew_contended *lock, struct arena *arena)
{
	int r = 0;

	for (size_t i = 0; i < part->holder_count && r == 0; i++) {
		const struct clew_lock_holder *more = &part->holders[i];
		struct clew_lock_holder *holder = holder_of(lock, more->task);

		holder->unknown_ns += more->unknown_ns;
		for (size_t k = 0; k < more->doing_count && r == 0; k++)
			r = add_more(trace, holder, &more->doing[k], arena);
	}
	for (size_t i = 0; i < part->inversion_count && r == 0; i++)
		r = add_inversion(lock, part->inversions[i]);
	return r;
}

void clew_lock_explain_end(struct clew_contended *lock)
{
	for (size_t i = 0; i < lock->holder_count; i++)
		if (lock->holders[i].doing_count)
			qsort(lock->holders[i].doing, lock->holders[i].doing_count,
			      sizeof(*lock->holders[i].doing), by_length);
	if (lock->inversion_count)
		qsort(lock->inversions, lock->inversion_count, sizeof(*lock->inversions),
		      longest_first);
}
