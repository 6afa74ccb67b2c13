/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Windows of a capture, each in a process of its own.
 *
 * Invariant: a process begins before the first record of what it keeps, so each finding that
 * overlaps it comes to that process. No thread decodes ahead, as a fork takes no threads along.
 */
#include "trace/windows.h"

#include "base/thread.h"
#include "trace/deadlock_left.h"
#include "trace/internal.h"
#include "trace/load.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORDS	       1400000	      /* of a window: about 300 MB, */
#define MODEL_RECORDS  400000	      /* and about 400 MB with the causal trace */
#define PAYS_FROM      4	      /* windows: a shorter capture is read in one piece */
#define PROCESSES      2	      /* by default, as each takes memory */
#define BEFORE_MOST    10000000000ull /* ns: so far before a window everything is kept, */
#define BEFORE_SHARE   4	      /* or one part in so many of the window, if that is less */
#define BEHIND	       2500000000ull  /* ns: no finding of a wait comes later */
#define SHARED_MOST    (1ull << 32)   /* bytes of one window's result */
#define PROGRESS_EVERY (1u << 18)     /* records */

/* A process's report on its window, apart from the taker's findings. */
struct facts {
	uint64_t hidden; /* waits that ended in it: as clew_trace_hidden() */
	uint64_t end;	 /* the last window's: the end of its trace */
	struct left_deadlocks deadlocks;
};

struct child {
	pid_t pid; /* 0: it is not running */
	struct shared *found;
	struct facts *facts; /* in it */
};

struct windows {
	const struct clew_windows_options *options;
	const struct clew_windows_taker *taker;
	struct clew_reader *reader;
	struct clew_builder *builder;
	struct clew_trace *trace;
	uint64_t *ends;
	size_t count;
	struct child *children; /* by window */
	size_t begun;		/* windows that have, or had, a process */
	size_t added;		/* windows whose result was added */
	size_t most;		/* processes at a time */
	uint64_t hidden;	/* in all windows that were added */
	uint64_t end;		/* the latest end of a window's trace */
	uint64_t seen;		/* the time of the latest record */
};

static struct clew_trace_window window_at(const struct windows *windows, size_t number)
{
	const struct clew_capture_info *info = clew_reader_info(windows->reader);
	struct clew_trace_window window = {.from = number ? windows->ends[number - 1] : 0,
					   .to = windows->ends[number]};
	uint64_t start = window.from ?: info->start,
		 end = window.to < info->end ? window.to : info->end,
		 before = end > start ? (end - start) / BEFORE_SHARE : 0;

	before = before < BEFORE_MOST ? before : BEFORE_MOST;
	window.kept = window.known = window.from > before ? window.from - before : 0;
	return window;
}

/* ---- in the process of a window ---- */

/* Since when the wait of a task, or of another one that was woken first for the same lock, was one
 * for a CPU. */
static uint64_t queued_since(const struct clew_sleep *sleep)
{
	uint64_t since = sleep->end;

	for (uint32_t i = 0; i < sleep->holder_count; i++)
		if (sleep->holders[i].coming && sleep->holders[i].from < since)
			since = sleep->holders[i].from;
	return since;
}

/*
 * For the tasks that ran again in the window: since when one was ready (*ret_ready), and since when
 * one was ready or waited for what others had (*ret_waited); not later than window->known.
 */
static void find_since(const struct clew_trace *trace, const struct clew_trace_window *window,
		       uint64_t *ret_ready, uint64_t *ret_waited)
{
	const struct clew_ready *readies = trace->readies.data;

	*ret_ready = *ret_waited = window->known;
	for (size_t i = 0; i < trace->readies.count; i++)
		if (readies[i].start < *ret_ready && clew_window_counts(window, readies[i].end))
			*ret_ready = readies[i].start;
	for (size_t i = 0; i < trace->sleeps.count; i++) {
		const struct clew_sleep *sleep = trace_sleep_at(trace, (uint32_t)i);
		bool lock = sleep->holder_count || sleep->edge_type == CLEW_EDGE_UNLOCK;

		if (sleep->task == CLEW_NO_TASK || !clew_window_counts(window, sleep->switch_in))
			continue;
		if (queued_since(sleep) < *ret_ready)
			*ret_ready = queued_since(sleep);
		if (lock && sleep->start < *ret_waited)
			*ret_waited = sleep->start;
	}
	if (*ret_ready < *ret_waited)
		*ret_waited = *ret_ready;
}

/* Makes known what happened while these tasks waited. 0 or -errno. */
static int know_before(struct clew_trace *trace, struct clew_trace_window *window)
{
	const struct trace_recent *recent = trace->part->recent;
	uint64_t ready, waited, known;
	int r = 0;

	find_since(trace, window, &ready, &waited);
	if (waited < window->known)
		r = trace_recent_give_others(trace, recent, waited);
	if (r < 0 || ready >= window->known)
		return r;
	r = trace_recent_give_runs(trace, recent, ready, &known);
	window->known = known < window->known ? known : window->known;
	return r;
}

/* Reads on from `record` until all of the window is known. 0 or -errno. */
static int read_window(struct windows *windows, const struct clew_header *record,
		       struct clew_trace_window *window)
{
	struct trace_part *part = windows->trace->part;
	uint64_t until = window->to < UINT64_MAX - BEHIND ? window->to + BEHIND : UINT64_MAX,
		 end = clew_reader_info(windows->reader)->end;
	int r = 1;

	part->from = window->known;
	part->to = until;
	while (r > 0 && record->time <= until) {
		windows->seen = record->time > windows->seen ? record->time : windows->seen;
		part->here = clew_window_counts(window, windows->seen);
		if (!trace_load_skips(windows->reader, record))
			r = clew_builder_feed(windows->builder, record);
		if (r >= 0)
			r = clew_reader_next(windows->reader, &record);
	}
	if (r > 0) {
		part->cut = true;
		end = until;
	}
	part->here = window->to == UINT64_MAX;
	if (r >= 0)
		r = clew_builder_finish(windows->builder, end);
	if (r < 0)
		return r;
	windows->trace->forgotten = clew_builder_forgotten(windows->builder);
	r = know_before(windows->trace, window);
	if (r >= 0)
		r = trace_keep_info(windows->trace, windows->reader);
	return r < 0 ? r : clew_trace_finish(windows->trace, end);
}

static uint64_t count_hidden(const struct clew_trace *trace, const struct clew_trace_window *window)
{
	uint64_t hidden = 0;
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);

	for (size_t i = 0; i < count; i++)
		hidden += sleeps[i].hidden && clew_window_counts(window, sleeps[i].end);
	return hidden;
}

static _Noreturn void look(struct windows *windows, const struct clew_header *record,
			   struct clew_trace_window *window, const struct child *child)
{
	const struct clew_windows_taker *taker = windows->taker;
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	trace_part_drop_works(windows->trace);
	r = read_window(windows, record, window);
	if (r >= 0)
		r = taker->look(taker->context, windows->trace, window, child->found);
	if (r >= 0)
		r = trace_leave_deadlocks(windows->trace, window, child->found,
					  &child->facts->deadlocks);
	if (r >= 0 && clew_trace_hidden(windows->trace))
		child->facts->hidden = count_hidden(windows->trace, window);
	if (window->to == UINT64_MAX)
		child->facts->end = clew_trace_end(windows->trace);
	_exit(r < 0 ? -r : 0);
}

/* ---- in the calling process ---- */

/* Waits for the first window whose result was not added, and adds it. 0 or -errno. */
static int add_next(struct windows *windows)
{
	struct child *child = &windows->children[windows->added++];
	int status, r;

	while ((r = waitpid(child->pid, &status, 0)) < 0 && errno == EINTR)
		;
	child->pid = 0;
	if (r < 0)
		return -errno;
	if (!WIFEXITED(status))
		return -ECHILD;
	r = -WEXITSTATUS(status);
	if (r == 0)
		r = windows->taker->add(windows->taker->context, child->found);
	if (r == 0)
		r = trace_take_deadlocks(windows->trace, &child->facts->deadlocks);
	windows->hidden += child->facts->hidden;
	if (child->facts->end > windows->end)
		windows->end = child->facts->end;
	shared_free(child->found);
	child->found = NULL;
	return r;
}

/* Gives the next window a process, which goes on with `record`. 0 or -errno. */
static int begin_next(struct windows *windows, const struct clew_header *record)
{
	struct clew_trace_window window = window_at(windows, windows->begun);
	struct child *child = &windows->children[windows->begun];
	int r = 0;

	if (windows->begun - windows->added == windows->most)
		r = add_next(windows);
	if (r < 0)
		return r;
	windows->begun++;
	child->found = shared_new(SHARED_MOST);
	child->facts = child->found ? shared_take(child->found, sizeof(*child->facts)) : NULL;
	if (!child->facts)
		return -ENOMEM;
	child->pid = fork();
	if (child->pid == 0)
		look(windows, record, &window, child);
	return child->pid < 0 ? -errno : 0;
}

static int read_names(struct windows *windows)
{
	const struct clew_windows_options *options = windows->options;
	const struct clew_capture_info *info = clew_reader_info(windows->reader);
	const struct clew_header *record;
	uint64_t done = 0, total = clew_capture_records(info);
	int r;

	while ((r = clew_reader_next(windows->reader, &record)) > 0) {
		while (r >= 0 && windows->begun < windows->count &&
		       record->time >= window_at(windows, windows->begun).known)
			r = begin_next(windows, record);
		windows->seen = record->time > windows->seen ? record->time : windows->seen;
		if (r >= 0 && !trace_load_skips(windows->reader, record))
			r = clew_builder_feed(windows->builder, record);
		if (r < 0)
			return r;
		if (++done % PROGRESS_EVERY == 0 && options->progress)
			options->progress(options->progress_context,
					  done < total ? (double)done / (double)total : 1.0);
	}
	while (r >= 0 && windows->added < windows->begun)
		r = add_next(windows);
	if (r >= 0)
		r = clew_builder_finish(windows->builder, info->end);
	windows->trace->forgotten = clew_builder_forgotten(windows->builder);
	if (r >= 0)
		r = trace_keep_info(windows->trace, windows->reader);
	if (r >= 0)
		r = clew_trace_finish(windows->trace, info->end);
	windows->trace->hidden = windows->hidden;
	/* The last runs may have shown that recording went on for a little longer. */
	if (windows->end > windows->trace->end)
		windows->trace->end = windows->end;
	return r;
}

static size_t usual_processes(void)
{
	return store_thread_pays() ? PROCESSES : 1;
}

/* Ends the processes that an error has left. */
static void clean_up(struct windows *windows)
{
	for (size_t i = 0; windows->children && i < windows->begun; i++) {
		if (windows->children[i].pid > 0) {
			kill(windows->children[i].pid, SIGKILL);
			waitpid(windows->children[i].pid, NULL, 0);
		}
		shared_free(windows->children[i].found);
	}
	free(windows->children);
	free(windows->ends);
	clew_builder_free(windows->builder);
}

static uint64_t usual_records(bool models)
{
	return models ? MODEL_RECORDS : RECORDS;
}

bool clew_windows_pay(const struct clew_reader *reader, uint64_t records, bool models)
{
	uint64_t total = clew_capture_records(clew_reader_info(reader));

	return total / PAYS_FROM >= (records ?: usual_records(models));
}

int clew_windows_run(struct clew_reader *reader, const struct clew_windows_options *options,
		     const struct clew_windows_taker *taker, struct clew_trace **ret_names)
{
	/* Nothing that happens is kept, and nothing that is not over at the end. */
	struct clew_trace_options nothing = {.size = sizeof(nothing),
					     .drop_types = options->drop_types,
					     .from = UINT64_MAX,
					     .to = UINT64_MAX};
	struct windows windows = {.options = options,
				  .taker = taker,
				  .reader = reader,
				  .most = options->processes ?: usual_processes()};
	int r;

	if (options->size < sizeof(*options))
		return -EINVAL;
	clew_reader_alone(reader);
	r = trace_load_begin(reader, &nothing, NULL, &windows.trace, &windows.builder);
	if (r < 0)
		return r;
	windows.trace->part->recent = trace_recent_new();
	windows.trace->part->to = 0;
	windows.trace->part->tell = taker ? taker->tell : NULL;
	windows.trace->part->tell_context = taker ? taker->context : NULL;
	windows.trace->part->samples = taker && taker->samples;
	windows.trace->part->works = taker && taker->works;
	windows.trace->part->works_most = options->works_most ?: TRACE_WORKS_MOST;
	if (!windows.trace->part->recent)
		r = -ENOMEM;
	if (taker && taker->look && r >= 0)
		r = clew_reader_divide(reader, options->records ?: usual_records(taker->models),
				       &windows.ends, &windows.count);
	if (r >= 0) {
		windows.children = calloc(windows.count + 1, sizeof(*windows.children));
		r = windows.children ? read_names(&windows) : -ENOMEM;
	}
	clean_up(&windows);
	if (r < 0)
		clew_trace_free(windows.trace);
	else
		*ret_names = windows.trace;
	return r;
}

int clew_windows_alone(const struct clew_trace *trace, const struct clew_windows_taker *taker)
{
	const struct clew_trace_window all = {.to = UINT64_MAX, .alone = true};
	struct shared *found = shared_new(SHARED_MOST);
	int r = found ? taker->look(taker->context, trace, &all, found) : -ENOMEM;

	if (r == 0)
		r = taker->add(taker->context, found);
	shared_free(found);
	return r;
}
