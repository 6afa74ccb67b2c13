/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up how tasks spent their time. */
#include "explain/spent.h"

#include <errno.h>

#include "base/interval.h"
#include "explain/operations.h"
#include "trace/internal.h"
#include "trace/tried.h"

static const uint8_t spent_of_kind[CLEW_WAIT_KIND_COUNT] = {
#define CLEW_WAIT_KIND(NAME, name, edge, time, ...) [CLEW_WAIT_##NAME] = CLEW_SPENT_##time,
#define CLEW_SEGMENT_KIND(...)
#include <clew/wait_kinds.def>
};

static const char *const spent_words[CLEW_SPENT_COUNT] = {
	[CLEW_SPENT_RUNNING] = "run", [CLEW_SPENT_READY] = "ready",   [CLEW_SPENT_QUOTA] = "quota",
	[CLEW_SPENT_LOCK] = "lock",   [CLEW_SPENT_DISK] = "disk",     [CLEW_SPENT_NETWORK] = "net",
	[CLEW_SPENT_REMOTE] = "host", [CLEW_SPENT_MEMORY] = "mem",    [CLEW_SPENT_PEER] = "peer",
	[CLEW_SPENT_PIPE] = "pipe",   [CLEW_SPENT_THREAD] = "thread", [CLEW_SPENT_PROCESS] = "proc",
	[CLEW_SPENT_TIMER] = "timer", [CLEW_SPENT_OTHER] = "other",
};

const char *clew_spent_word(enum clew_spent spent)
{
	return spent < CLEW_SPENT_COUNT ? spent_words[spent] : NULL;
}

enum clew_spent clew_spent_of_kind(unsigned kind)
{
	return spent_of_kind[kind];
}

/* A wait at a word of memory that nobody is known to hold. At a condition variable threads wait for
 * each other or, until a timeout, for work. */
static enum clew_spent spent_at_word(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (sleep->from != CLEW_NO_TASK && clew_trace_in_exchange(trace, sleep))
		return CLEW_SPENT_PEER;
	return sleep->from != CLEW_NO_TASK && sleep->edge_type != CLEW_EDGE_TIMER
		       ? CLEW_SPENT_THREAD
		       : CLEW_SPENT_COUNT;
}

/* Returns the class of a completion that no request, packet or timer brought. */
static enum clew_spent spent_at_object(const struct clew_object *object)
{
	switch (object->kind) {
	case CLEW_OBJECT_PIPE:
	case CLEW_OBJECT_TTY:
		return CLEW_SPENT_PIPE;
	case CLEW_OBJECT_SOCKET:
		return CLEW_SPENT_NETWORK;
	case CLEW_OBJECT_EVENTFD:
		return CLEW_SPENT_PROCESS;
	case CLEW_OBJECT_TIMERFD:
		return CLEW_SPENT_TIMER;
	case CLEW_OBJECT_FILE:
	case CLEW_OBJECT_DEVICE:
		return CLEW_SPENT_DISK;
	default:
		return CLEW_SPENT_OTHER;
	}
}

/* A wait for an io_uring is for what completed. */
static enum clew_spent spent_at_ring(const struct clew_sleep *sleep)
{
	switch (sleep->link_count ? sleep->links[0].kind : CLEW_LINK_IRQ) {
	case CLEW_LINK_REQUEST:
		return CLEW_SPENT_DISK;
	case CLEW_LINK_PACKET:
		return CLEW_SPENT_NETWORK;
	case CLEW_LINK_TIMER:
		return CLEW_SPENT_TIMER;
	default:
		return spent_at_object(&sleep->object);
	}
}

enum clew_spent clew_spent_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (sleep_is_idle(trace, sleep))
		return CLEW_SPENT_COUNT;
	switch (sleep->kind) {
	case CLEW_WAIT_SOCKET:
		return clew_trace_remote(trace, sleep, NULL) ? CLEW_SPENT_REMOTE
							     : CLEW_SPENT_NETWORK;
	case CLEW_WAIT_POLL: /* only in an exchange is it not idle */
		return clew_trace_remote(trace, sleep, NULL)	  ? CLEW_SPENT_REMOTE
		       : sleep->object.kind == CLEW_OBJECT_SOCKET ? CLEW_SPENT_NETWORK
		       : sleep->edge_type == CLEW_EDGE_TIMER	  ? CLEW_SPENT_TIMER
								  : CLEW_SPENT_PEER;
	case CLEW_WAIT_FUTEX:
		return sleep->holder_count ? CLEW_SPENT_LOCK : spent_at_word(trace, sleep);
	case CLEW_WAIT_IO_URING:
		return spent_at_ring(sleep);
	case CLEW_WAIT_THROTTLE: /* for a disk with too many dirty pages, or its limit */
		return clew_is_quota(sleep) ? CLEW_SPENT_QUOTA : CLEW_SPENT_DISK;
	default:
		return spent_of_kind[sleep->kind];
	}
}

/* A sleep between attempts in vain is a wait for what is tried. */
static enum clew_spent spent_asleep(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	static const enum clew_spent spent[] = {[CLEW_TRIED_LOCK] = CLEW_SPENT_LOCK,
						[CLEW_TRIED_CONNECT] = CLEW_SPENT_NETWORK,
						[CLEW_TRIED_SAFEPOINT] = CLEW_SPENT_THREAD};
	const struct clew_tried *tried = clew_trace_tried(trace, sleep);

	return tried ? spent[tried->what] : CLEW_SPENT_TIMER;
}

enum clew_spent clew_spent_within(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (clew_trace_rests(trace, sleep))
		return CLEW_SPENT_COUNT;
	if (sleep->kind == CLEW_WAIT_SLEEP && !sleep->open)
		return spent_asleep(trace, sleep);
	if (sleep->kind == CLEW_WAIT_FUTEX && !sleep->holder_count &&
	    clew_trace_retried(trace, sleep))
		return CLEW_SPENT_THREAD;
	return clew_spent_of(trace, sleep);
}

enum clew_spent clew_spent_chosen(const struct clew_chosen *chosen, const struct clew_trace *trace,
				  const struct clew_sleep *sleep)
{
	return chosen->some ? clew_spent_within(trace, sleep) : clew_spent_of(trace, sleep);
}

/* ---- sums ---- */

/* The sums of a task; NULL: no memory. Valid until those of another task are asked for. */
static struct clew_task_time *time_of(struct clew_task_times *times, uint32_t task)
{
	const uint64_t *known = map_get(&times->places, task, 0);
	struct vector *all = &times->times;
	struct clew_task_time *time;

	if (known)
		return (struct clew_task_time *)all->data + *known;
	all->item = sizeof(*time);
	if (vector_reserve(all, all->count + 1) < 0 ||
	    map_set(&times->places, task, 0, all->count) < 0)
		return NULL;
	time = (struct clew_task_time *)all->data + all->count++;
	*time = (struct clew_task_time){.task = task};
	return time;
}

int clew_task_times_add(struct clew_task_times *times, const struct clew_task_time *more)
{
	struct clew_task_time *time = time_of(times, more->task);

	if (!time)
		return -ENOMEM;
	for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++)
		time->spent[spent] += more->spent[spent];
	time->had_lock += more->had_lock;
	return 0;
}

int clew_task_times_add_cpu(struct clew_task_times *times, uint32_t ready, uint32_t ran,
			    uint64_t ns)
{
	uint64_t *known = map_get(&times->had_cpu, ready, ran);

	if (!known)
		return map_set(&times->had_cpu, ready, ran, ns);
	*known += ns;
	return 0;
}

void clew_task_times_done(struct clew_task_times *times)
{
	vector_done(&times->times);
	map_done(&times->places);
	map_done(&times->had_cpu);
	*times = (struct clew_task_times){};
}

/* ---- of a trace ---- */

struct gathering {
	struct clew_task_times *times;
	const struct clew_trace *trace;
	const struct clew_trace_window *window; /* NULL: all of the trace */
	uint64_t from, to;
	const struct clew_chosen *chosen;
};

/* Adds who ran on a CPU while a task was ready for it. 0 or -ENOMEM. */
static int add_cpu(const struct gathering *gathering, uint32_t serial, uint16_t cpu, uint64_t from,
		   uint64_t to)
{
	int r = 0;

	for (uint64_t at = from, until; at < to && r == 0; at = until) {
		uint32_t by;

		if (trace_ran_at(gathering->trace, cpu, at, to, &by, &until) &&
		    by != CLEW_NO_TASK && by != serial)
			r = clew_task_times_add_cpu(gathering->times, serial, by, until - at);
	}
	return r;
}

static int add_holders(const struct gathering *gathering, const struct clew_sleep *sleep,
		       uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < sleep->holder_count; i++) {
		const struct clew_holder *holder = &sleep->holders[i];
		struct clew_task_time *time;

		if (holder->coming)
			continue;
		time = time_of(gathering->times, holder->task);
		if (!time)
			return -ENOMEM;
		time->had_lock += interval_overlap(holder->from, holder->to, from, to);
	}
	return 0;
}

/* True for time of a chosen task that the recording does not show, between two moments that it
 * shows: a switch was hidden, or records were lost. */
static bool is_hidden(const struct gathering *gathering, const struct trace_task *task,
		      const struct clew_piece *piece)
{
	return piece->kind == CLEW_PIECE_UNKNOWN && gathering->chosen->some &&
	       piece->start > task->begin && piece->end < task->end;
}

/* Adds what a task did in from..to, which is a piece of its timeline. 0 or -ENOMEM. */
static int add_piece(const struct gathering *gathering, const struct trace_task *task,
		     const struct clew_piece *piece, uint64_t from, uint64_t to)
{
	uint32_t serial = task->task.serial;
	enum clew_spent spent = CLEW_SPENT_COUNT;
	struct clew_task_time *time;
	int r = 0;

	if (piece->kind == CLEW_PIECE_RUNNING) {
		spent = CLEW_SPENT_RUNNING;
	} else if (piece->kind == CLEW_PIECE_RUNQUEUE) {
		spent = CLEW_SPENT_READY;
		r = add_cpu(gathering, serial, piece->cpu, from, to);
	} else if (piece->kind == CLEW_PIECE_SLEEP) {
		spent = clew_spent_chosen(gathering->chosen, gathering->trace, piece->sleep);
		r = add_holders(gathering, piece->sleep, from, to);
	} else if (is_hidden(gathering, task, piece)) {
		spent = CLEW_SPENT_OTHER;
	}
	if (r < 0 || spent == CLEW_SPENT_COUNT)
		return r;
	time = time_of(gathering->times, serial);
	if (!time)
		return -ENOMEM;
	time->spent[spent] += to - from;
	return 0;
}

static int add_task(const struct gathering *gathering, const struct trace_task *task)
{
	uint64_t start = task->begin > gathering->from ? task->begin : gathering->from,
		 end = task->end < gathering->to ? task->end : gathering->to;
	struct clew_piece piece;
	uint32_t hint = 0;
	int r = 0;

	for (uint64_t at = start, until; at < end && r == 0; at = until) {
		if (!trace_piece_at(gathering->trace, task, at, &hint, &piece))
			break;
		until = piece.end < end ? piece.end : end;
		if (until <= at)
			break;
		if (!gathering->window || clew_window_counts(gathering->window, until))
			r = add_piece(gathering, task, &piece, at, until);
	}
	return r;
}

int clew_task_times_gather(struct clew_task_times *times, const struct clew_trace *trace,
			   const struct clew_chosen *chosen, uint64_t from, uint64_t to,
			   const struct clew_trace_window *window)
{
	const struct gathering gathering = {.times = times,
					    .trace = trace,
					    .window = window,
					    .from = from,
					    .to = to,
					    .chosen = chosen};
	int r = 0;

	for (size_t i = 0; i < trace->tasks.count && r == 0; i++) {
		const struct trace_task *task = trace_task_at(trace, i);

		if (task->task.serial != CLEW_NO_TASK && !(task->task.flags & CLEW_TASK_SELF) &&
		    clew_is_chosen(chosen, trace, task->task.serial))
			r = add_task(&gathering, task);
	}
	return r;
}
