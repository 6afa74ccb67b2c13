/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Other ends of waits.
 *
 * The thread of a process that may act is its only one; or else the only one
 * that waits for the sleeper's own process in turn, or that served the sleeper
 * before. In a FUSE daemon it is the thread that the sleeper woke for its
 * request, or else the only one that waits for no request, where a first thread
 * that waits for the others does not count.
 */
#include "explain/other_end.h"
#include "base/kind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Earlier sleeps of a thread that are searched for who ended them, at most. */
#define HISTORY_MOST 1000

static bool may_have_other_end(const struct clew_sleep *sleep)
{
	/* A socket here with the addresses of one on another host is not that one. */
	if (sleep->open == CLEW_OPEN_NONE || sleep->blind || sleep->away ||
	    sleep->flags & (CLEW_WAIT_FLAG_FAULT | CLEW_WAIT_FLAG_KTHREAD))
		return false;
	return clew_wait_kind_has(sleep->kind, CLEW_TRAIT_OTHER_END);
}

/* True if the object that a sleep is known to be for is the one of the record. */
static bool is_of(const struct clew_sleep *sleep, const struct clew_end *end)
{
	const struct clew_object *object = &sleep->object;

	switch (object->kind) {
	case CLEW_OBJECT_NONE:
	case CLEW_OBJECT_FUNCTION:
	case CLEW_OBJECT_EPOLL:
		return true;
	case CLEW_OBJECT_PATH:
		return end->object_kind == CLEW_OBJECT_FILE;
	default:
		return object->kind == end->object_kind && object->number == end->object;
	}
}

static uint8_t type_of(unsigned object_kind)
{
	switch (object_kind) {
	case CLEW_OBJECT_PIPE:
		return CLEW_EDGE_PIPE;
	case CLEW_OBJECT_SOCKET:
		return CLEW_EDGE_SOCKET;
	case CLEW_OBJECT_EVENTFD:
		return CLEW_EDGE_EVENTFD;
	default:
		return CLEW_EDGE_REQUEST;
	}
}

/* ---- which thread of a process ---- */

/* The sleep of a task at a moment, NULL: it does not sleep, or is not known to. */
static const struct clew_sleep *sleep_at(const struct clew_trace *trace, uint32_t task, uint64_t at)
{
	struct clew_piece piece;

	return clew_trace_piece(trace, task, at, true, &piece) && piece.kind == CLEW_PIECE_SLEEP
		       ? piece.sleep
		       : NULL;
}

/* True if a thread of a FUSE daemon waits for the next request. */
static bool awaits_requests(const struct clew_trace *trace, uint32_t task, uint64_t at)
{
	const struct clew_sleep *sleep = sleep_at(trace, task, at);
	const char *function = sleep ? clew_sleep_function(trace, sleep) : NULL;

	return function && !strcmp(function, "fuse_dev_do_read");
}

/* True if a task sleeps on something whose other end `process` has. */
static bool awaits_process(const struct clew_trace *trace, uint32_t task, uint32_t process,
			   uint64_t at)
{
	const struct clew_sleep *sleep = sleep_at(trace, task, at);
	size_t count, holders;
	const struct clew_end *ends = sleep ? clew_trace_slept_on(trace, sleep, &count) : NULL;

	for (size_t i = 0; ends && i < count; i++) {
		const struct clew_end *holder =
			clew_trace_end_holders(trace, &ends[i], false, &holders);

		for (size_t k = 0; is_of(sleep, &ends[i]) && k < holders; k++)
			if (clew_trace_process(trace, holder[k].task) == process)
				return true;
	}
	return false;
}

/* True if a task has ended an earlier wait of the sleeper for the same object. */
static bool has_served(const struct clew_trace *trace, uint32_t task,
		       const struct clew_sleep *sleep)
{
	struct clew_piece piece = {.start = sleep->start};

	for (unsigned i = 0; i < HISTORY_MOST && piece.start > clew_trace_start(trace); i++) {
		if (!clew_trace_piece(trace, sleep->task, piece.start, true, &piece))
			return false;
		if (piece.kind == CLEW_PIECE_SLEEP && piece.sleep->edge_type >= 0 &&
		    piece.sleep->from == task && piece.sleep->object.kind == sleep->object.kind &&
		    piece.sleep->object.number == sleep->object.number)
			return true;
	}
	return false;
}

/* When the sleeper last woke a task before its wait began; 0 never. */
static uint64_t given_at(const struct clew_trace *trace, uint32_t task,
			 const struct clew_sleep *sleep)
{
	struct clew_piece piece = {.start = clew_trace_end(trace)};

	for (unsigned i = 0; i < HISTORY_MOST && piece.start > clew_trace_start(trace); i++) {
		if (!clew_trace_piece(trace, task, piece.start, true, &piece))
			return 0;
		if (piece.kind == CLEW_PIECE_SLEEP && piece.sleep->end <= sleep->start &&
		    piece.sleep->edge_type >= 0 && piece.sleep->from == sleep->task)
			return piece.sleep->end;
	}
	return 0;
}

/* True if a process's first thread waits for a lock, as one does that waits for its others. */
static bool awaits_others(const struct clew_trace *trace, uint32_t task, uint64_t at)
{
	const struct clew_sleep *sleep = sleep_at(trace, task, at);

	return sleep && sleep->kind == CLEW_WAIT_FUTEX && clew_trace_process(trace, task) == task;
}

struct choice {
	uint32_t any, waits, served, busy, given; /* a thread of each sort */
	unsigned threads, waiting, serving, working;
	uint64_t given_at;
};

static void choose(const struct clew_trace *trace, const struct clew_sleep *sleep, uint64_t at,
		   bool serves_files, uint32_t task, struct choice *choice)
{
	choice->threads++;
	if (!choice->any)
		choice->any = task;
	if (serves_files) {
		uint64_t given = given_at(trace, task, sleep);

		if (!awaits_requests(trace, task, at) && !awaits_others(trace, task, at)) {
			choice->busy = task;
			choice->working++;
			if (given > choice->given_at) {
				choice->given = task;
				choice->given_at = given;
			}
		}
		return;
	}
	if (awaits_process(trace, task, clew_trace_process(trace, sleep->task), at)) {
		choice->waits = task;
		choice->waiting++;
	}
	if (has_served(trace, task, sleep)) {
		choice->served = task;
		choice->serving++;
	}
}

/* The thread of `end->process` that may act, or that stands for it. */
static void find_thread(const struct clew_trace *trace, const struct clew_sleep *sleep, uint64_t at,
			struct clew_other_end *end)
{
	struct choice choice = {0};

	for (size_t i = 0; i < clew_trace_task_count(trace); i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);

		if (task->process == end->process && task->serial != sleep->task &&
		    task->birth <= at && task->death >= at)
			choose(trace, sleep, at, end->object_kind == CLEW_OBJECT_FILE, task->serial,
			       &choice);
	}
	end->acts = choice.threads > 0 || !end->self;
	end->one_thread = choice.threads == 1;
	end->thread_known = true;
	if (choice.threads == 1)
		end->task = choice.any;
	else if (choice.given_at)
		end->task = choice.given;
	else if (choice.working == 1)
		end->task = choice.busy;
	else if (choice.waiting == 1)
		end->task = choice.waits;
	else if (choice.serving == 1)
		end->task = choice.served;
	else
		end->thread_known = false;
}

/* ---- which processes ---- */

static int add(struct clew_other_ends *ends, struct clew_other_end end)
{
	struct clew_other_end *larger;

	for (size_t i = 0; i < ends->count; i++)
		if (ends->ends[i].process == end.process)
			return 0;
	/* It grows at each power of two. */
	if (!(ends->count & (ends->count - 1))) {
		larger = reallocarray(ends->ends, ends->count ? ends->count * 2 : 1,
				      sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		ends->ends = larger;
	}
	ends->ends[ends->count++] = end;
	return 0;
}

/* Adds who has a sleeper's end. 1: somebody has, 0: nobody that is known, or -ENOMEM. */
static int add_holders(const struct clew_trace *trace, const struct clew_sleep *sleep,
		       const struct clew_end *sleeper, struct clew_other_ends *ends)
{
	size_t count;
	bool listens = false;
	const struct clew_end *holders = clew_trace_end_holders(trace, sleeper, false, &count);

	if (!count) {
		listens = true;
		holders = clew_trace_end_holders(trace, sleeper, true, &count);
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t process = clew_trace_process(trace, holders[i].task);
		int r = add(ends, (struct clew_other_end){
					  .process = process,
					  .task = holders[i].task,
					  .object_kind = sleeper->object_kind,
					  .self = process == clew_trace_process(trace, sleep->task),
					  .listens = listens});

		if (r < 0)
			return r;
	}
	return count > 0;
}

/* A request to a FUSE daemon, which is in a queue of the daemon's. */
static bool of_request(const struct clew_end *sleeper)
{
	return sleeper->object_kind == CLEW_OBJECT_FILE && !sleeper->device;
}

/*
 * Leaves out the sleeper's own process where it cannot act and others can, or
 * where the end that it has is the one that it sleeps on.
 */
static void leave_out_self(struct clew_other_ends *ends)
{
	size_t kept = 0, count = ends->count;

	for (size_t i = 0; i < count; i++) {
		const struct clew_other_end *end = &ends->ends[i];

		if (end->acts || (count == 1 && end->object_kind != CLEW_OBJECT_EVENTFD))
			ends->ends[kept++] = *end;
	}
	ends->count = kept;
}

static bool descends(const struct clew_trace *trace, uint32_t process, uint32_t forebear)
{
	for (unsigned i = 0; i < 64 && process != CLEW_NO_TASK; i++) {
		const struct clew_trace_task *task = clew_trace_task(trace, process);

		process = task ? clew_trace_process(trace, task->parent) : CLEW_NO_TASK;
		if (process == forebear)
			return true;
	}
	return false;
}

/*
 * The one of several processes that all others wait for: they are its forebears
 * and wait for a child, as shells do for their commands. NULL: there is none.
 */
static const struct clew_other_end *find_youngest(const struct clew_trace *trace,
						  const struct clew_other_ends *ends, uint64_t at)
{
	const struct clew_other_end *youngest = NULL;

	for (size_t i = 0; i < ends->count; i++) {
		const struct clew_sleep *sleep = sleep_at(trace, ends->ends[i].task, at);

		if (ends->ends[i].one_thread && sleep && sleep->kind == CLEW_WAIT_CHILD)
			continue;
		if (youngest)
			return NULL;
		youngest = &ends->ends[i];
	}
	for (size_t i = 0; youngest && i < ends->count; i++)
		if (&ends->ends[i] != youngest &&
		    !descends(trace, youngest->process, ends->ends[i].process))
			return NULL;
	return youngest;
}

static void choose_follow(const struct clew_trace *trace, struct clew_other_ends *ends, uint64_t at)
{
	const struct clew_other_end *end =
		ends->count == 1 ? ends->ends : find_youngest(trace, ends, at);

	if (!end || !end->acts || !end->thread_known || ends->partial)
		return;
	ends->follow = end->task;
	ends->follow_type = type_of(end->object_kind);
	ends->follow_evidence = ends->count == 1 && end->one_thread ? CLEW_EVIDENCE_OBSERVED
								    : CLEW_EVIDENCE_CANDIDATE;
}

/* Finds the threads that may act, and judges what is found. */
static void judge(const struct clew_trace *trace, const struct clew_sleep *sleep, uint64_t at,
		  struct clew_other_ends *ends)
{
	for (size_t i = 0; i < ends->count; i++)
		find_thread(trace, sleep, at, &ends->ends[i]);
	leave_out_self(ends);
	for (size_t i = 0; i < ends->count; i++)
		ends->ends[i].evidence = ends->count == 1 && !ends->partial
						 ? CLEW_EVIDENCE_OBSERVED
						 : CLEW_EVIDENCE_CANDIDATE;
	choose_follow(trace, ends, at);
}

int clew_other_ends_find(const struct clew_trace *trace, const struct clew_sleep *sleep,
			 struct clew_other_ends *ret_ends)
{
	struct clew_other_ends ends = {.follow = CLEW_NO_TASK};
	const struct clew_end *sleepers = NULL;
	size_t count = 0;
	uint64_t at = 0;
	int r = 0;

	*ret_ends = ends;
	if (may_have_other_end(sleep))
		sleepers = clew_trace_slept_on(trace, sleep, &count);
	for (size_t i = 0; i < count && r >= 0; i++) {
		if (!is_of(sleep, &sleepers[i]))
			continue;
		at = sleepers[i].header.time;
		r = sleepers[i].end ? add_holders(trace, sleep, &sleepers[i], &ends) : 0;
		/* In a set any one descriptor may end the wait. */
		ends.partial |= count > 1 && !r;
		/* A request that is not in its queue just now proves nothing. */
		ends.known |= r > 0 || (sleepers[i].end && !of_request(&sleepers[i]));
	}
	/* The pass at the stop is a little later than the end. */
	at = at < clew_trace_end(trace) ? at : clew_trace_end(trace);
	if (r < 0) {
		free(ends.ends);
		return r;
	}
	judge(trace, sleep, at, &ends);
	*ret_ends = ends;
	return 0;
}

void clew_other_ends_done(struct clew_other_ends *ends)
{
	free(ends->ends);
	*ends = (struct clew_other_ends){.follow = CLEW_NO_TASK};
}

const char *clew_sleep_function(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	size_t count;
	const struct clew_end *ends =
		sleep->open == CLEW_OPEN_NONE ? NULL : clew_trace_slept_on(trace, sleep, &count);

	return ends && ends->function ? clew_trace_text(trace, ends->function) : NULL;
}
