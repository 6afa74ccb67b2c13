/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits that are asked for.
 *
 * A window leaves the waits of its list as they are written, as only its trace has what they refer
 * to. The trace of a window that is alone stays, and its waits are written when they are printed.
 */
#include "explain/waits.h"

#include <clew/kernel/records.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/operations.h"
#include "trace/deadlock.h"
#include "trace/stacks.h"

/* The part of a window. */
struct left {
	struct clew_waits_counts counts;
	struct clew_wait_groups groups;
	struct clew_listed_wait *list;
	size_t list_count;
};

/* ---- which waits ---- */

static bool is_idle(const struct clew_waits_asked *asked, const struct clew_trace *trace,
		    const struct clew_sleep *sleep)
{
	return !asked->named && sleep_is_idle(trace, sleep);
}

/* Counts those that are left out. */
static bool is_wanted(const struct clew_waits_asked *asked, const struct clew_trace *trace,
		      const struct clew_sleep *sleep, struct clew_waits_counts *counts)
{
	const struct clew_trace_task *task = clew_trace_task(asked->tasks ?: trace, sleep->task);
	uint64_t end = clew_trace_until(trace, sleep->end);

	if (!task || !asked->wants(asked->context, trace, task, sleep->start))
		return false;
	if (asked->kinds && !(asked->kinds >> sleep->kind & 1))
		return false;
	if (sleep->start > asked->to || end < asked->from || end - sleep->start < asked->least)
		return false;
	if (!asked->self && task->flags & CLEW_TASK_SELF) {
		counts->self++;
		counts->self_ns += end - sleep->start;
		return false;
	}
	if (!asked->idle && !asked->kinds && is_idle(asked, trace, sleep)) {
		counts->idle++;
		counts->idle_ns += end - sleep->start;
		return false;
	}
	return true;
}

static void count_wait(const struct clew_waits_asked *asked, const struct clew_trace *trace,
		       const struct clew_sleep *sleep, struct clew_waits_counts *counts)
{
	uint64_t ns = clew_trace_until(trace, sleep->end) - sleep->start;
	struct clew_sleep_stacks stacks;

	counts->wanted++;
	counts->ns += ns;
	if (asked->stacks && clew_trace_sleep_stacks(trace, sleep, &stacks)) {
		counts->covered++;
		counts->covered_ns += ns;
	}
}

/* ---- a window ---- */

/* The wanted waits of a window, and what is made of them. */
struct looking {
	const struct clew_waits_asked *asked;
	const struct clew_trace *trace;
	struct clew_sums sums;
	struct vector *list;
	FILE *texts; /* each with a null byte behind it; NULL: none is written */
};

static int take(struct looking *looking, const struct clew_sleep *sleep)
{
	const struct clew_waits_asked *asked = looking->asked;
	struct vector *list = looking->list;

	if (asked->by != CLEW_SUM_BY_NONE)
		return clew_sums_add_wait_by(&looking->sums, asked->by, asked->from, asked->to,
					     looking->trace, sleep);
	if (vector_reserve(list, list->count + 1) < 0)
		return -ENOMEM;
	((struct clew_listed_wait *)list->data)[list->count++] = (struct clew_listed_wait){
		.start = sleep->start,
		.ns = clew_trace_until(looking->trace, sleep->end) - sleep->start,
		.task = sleep->task,
		.sleep = looking->texts ? NULL : sleep,
		.stuck = clew_trace_is_stuck(looking->trace, sleep),
	};
	if (looking->texts) {
		asked->write(looking->texts, looking->trace, sleep);
		putc('\0', looking->texts);
	}
	return 0;
}

static int take_all(struct looking *looking, const struct clew_trace_window *window,
		    struct clew_waits_counts *counts)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(looking->trace, &count);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		if (!clew_window_counts(window, sleeps[i].end))
			continue;
		counts->all++;
		if (!is_wanted(looking->asked, looking->trace, &sleeps[i], counts))
			continue;
		count_wait(looking->asked, looking->trace, &sleeps[i], counts);
		r = take(looking, &sleeps[i]);
	}
	return r;
}

static int leave_list(struct shared *out, const struct vector *list, const char *texts, size_t size,
		      struct left *left)
{
	const char *next = shared_copy(out, texts, size);

	left->list = shared_copy(out, list->data, list->count * sizeof(*left->list));
	left->list_count = list->count;
	if (!next || !left->list)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		left->list[i].text = next;
		next += strlen(next) + 1;
	}
	return 0;
}

/* Takes the waits of a window whose trace will be gone, and leaves them. 0 or -ENOMEM. */
static int write_all(struct looking *looking, const struct clew_trace_window *window,
		     struct shared *out, struct left *left)
{
	struct vector list = {.item = sizeof(struct clew_listed_wait)};
	char *texts = NULL;
	size_t size = 0;
	int r;

	looking->list = &list;
	looking->texts = open_memstream(&texts, &size);
	if (!looking->texts)
		return -ENOMEM;
	r = take_all(looking, window, &left->counts);
	if (fclose(looking->texts) != 0)
		r = -ENOMEM;
	if (r == 0)
		r = leave_list(out, &list, texts, size, left);
	vector_done(&list);
	free(texts);
	return r;
}

static int look(void *context, const struct clew_trace *trace,
		const struct clew_trace_window *window, struct shared *out)
{
	struct clew_waits *waits = context;
	const struct clew_waits_asked *asked = waits->asked;
	struct looking looking = {.asked = asked, .trace = trace, .list = &waits->list};
	struct left *left = out->root = shared_take(out, sizeof(*left));
	int r;

	if (!left)
		return -ENOMEM;
	/* Without a window there is nothing to take. */
	if (asked->works && clew_trace_take_works((struct clew_trace *)trace, asked->works) < 0)
		return -ENOMEM;
	if (asked->by == CLEW_SUM_BY_NONE && !window->alone)
		r = write_all(&looking, window, out, left);
	else
		r = take_all(&looking, window, &left->counts);
	if (r == 0 && asked->by != CLEW_SUM_BY_NONE)
		r = clew_wait_groups_leave(&looking.sums, asked->by, trace, out, &left->groups);
	clew_sums_done(&looking.sums);
	return r;
}

/* ---- all of them ---- */

static void add_counts(struct clew_waits_counts *counts, const struct clew_waits_counts *more)
{
	counts->wanted += more->wanted;
	counts->all += more->all;
	counts->ns += more->ns;
	counts->covered += more->covered;
	counts->covered_ns += more->covered_ns;
	counts->idle += more->idle;
	counts->self += more->self;
	counts->idle_ns += more->idle_ns;
	counts->self_ns += more->self_ns;
}

static int add(void *context, const struct shared *found)
{
	const struct left *left = found->root;
	struct clew_waits *waits = context;
	struct vector *list = &waits->list;

	waits->windows++;
	add_counts(&waits->counts, &left->counts);
	if (vector_reserve(list, list->count + left->list_count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < left->list_count; i++) {
		struct clew_listed_wait *to = (struct clew_listed_wait *)list->data + list->count++;

		*to = left->list[i];
		to->text = arena_copy(&waits->arena, to->text, strlen(to->text));
		if (!to->text)
			return -ENOMEM;
	}
	return clew_wait_groups_add(&waits->groups, &left->groups);
}

void clew_waits_begin(struct clew_waits *waits, const struct clew_waits_asked *asked)
{
	*waits = (struct clew_waits){.asked = asked, .list.item = sizeof(struct clew_listed_wait)};
}

struct clew_windows_taker clew_waits_taker(struct clew_waits *waits)
{
	return (struct clew_windows_taker){.look = look, .add = add, .context = waits};
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* The order of a trace's waits; a task has one wait that begins at a time. */
static int by_start(const void *left, const void *right)
{
	const struct clew_listed_wait *a = left, *b = right;

	return compare(a->start, b->start) ?: compare(a->task, b->task);
}

int clew_waits_finish(struct clew_waits *waits)
{
	size_t count = waits->list.count;
	struct sort_key *spare = malloc((count + 1) * sizeof(*spare));

	waits->order = malloc((count + 1) * sizeof(*waits->order));
	if (!spare || !waits->order) {
		free(spare);
		return -ENOMEM;
	}
	if (waits->windows > 1 && count)
		qsort(waits->list.data, count, sizeof(struct clew_listed_wait), by_start);
	for (size_t i = 0; i < count; i++)
		waits->order[i] = (struct sort_key){
			.key = ~((const struct clew_listed_wait *)waits->list.data)[i].ns,
			.index = (uint32_t)i};
	if (waits->asked->by_length)
		sort_keys(waits->order, spare, count);
	free(spare);
	return 0;
}

void clew_waits_done(struct clew_waits *waits)
{
	clew_wait_groups_done(&waits->groups);
	vector_done(&waits->list);
	arena_done(&waits->arena);
	free(waits->order);
}
