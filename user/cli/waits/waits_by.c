/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew waits --by: the waits added up. Each window of a long capture is added up by itself; a
 * capture that is read in one piece is one window.
 */
#include "cli/waits/waits.h"

#include <errno.h>

#include "cli/front/fail.h"
#include "cli/windowed/wait_sums.h"

#define LEFT_MOST (1ull << 32) /* bytes of the sums of a capture that is read in one piece */

/* The sums of a window. */
struct left {
	struct clew_wait_groups groups;
	struct waits_count count;
	size_t idle, self; /* left out */
};

struct by {
	struct waits_values *values;
	struct clew_wait_groups groups;
	struct waits_count count;
};

static int look(void *context, struct clew_trace *trace, const struct clew_trace_window *window,
		struct shared *out)
{
	struct waits_values *values = ((struct by *)context)->values;
	struct clew_view *view = &values->view;
	struct left *left = out->root = shared_take(out, sizeof(*left));
	struct clew_sums sums = {};
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	int r = left ? 0 : -ENOMEM;

	/* Earlier windows have counted theirs. */
	view->idle_left_out = view->self_left_out = 0;
	for (size_t i = 0; i < count && r == 0; i++) {
		if (!clew_window_counts(window, sleeps[i].end))
			continue;
		left->count.all++;
		if (!waits_wanted(trace, values, &sleeps[i]))
			continue;
		waits_add(trace, values, &sleeps[i], &left->count);
		r = clew_wait_sums_add(&sums, view, trace, &sleeps[i]);
	}
	if (r == 0)
		r = clew_wait_groups_leave(&sums, view, trace, out, &left->groups);
	if (r == 0) {
		left->idle = view->idle_left_out;
		left->self = view->self_left_out;
	}
	/* They count where they are added. */
	view->idle_left_out = view->self_left_out = 0;
	clew_sums_done(&sums);
	return r;
}

/* A window of a long capture: all that its trace has is asked for. */
static int look_at_window(void *context, struct clew_trace *trace,
			  const struct clew_trace_window *window, struct shared *out)
{
	struct by *by = context;
	int status = clew_window_take(&by->values->view.window, trace);

	return status ? -EINVAL : look(context, trace, window, out);
}

static int add(void *context, const struct shared *found)
{
	const struct left *left = found->root;
	struct by *by = context;

	waits_count_add(&by->count, &left->count);
	by->values->view.idle_left_out += left->idle;
	by->values->view.self_left_out += left->self;
	return clew_wait_groups_add(&by->groups, &left->groups);
}

static int print(struct by *by, const struct clew_trace *trace)
{
	const struct clew_view *view = &by->values->view;
	struct clew_json json = {.out = stdout};
	int status;

	if (!by->values->json) {
		status = clew_wait_groups_print(&by->groups, view, trace, NULL);
		waits_end_text(trace, by->values, &by->count);
		return status;
	}
	clew_json_object(&json, NULL);
	status = clew_wait_groups_print(&by->groups, view, trace, &json);
	waits_end_json(&json, trace, by->values);
	return status;
}

int waits_by(struct clew_trace *trace, struct waits_values *values)
{
	const struct clew_trace_window all = {.to = UINT64_MAX};
	struct by by = {.values = values};
	struct shared *left = shared_new(LEFT_MOST);
	int status, r = left ? look(&by, trace, &all, left) : -ENOMEM;

	if (r == 0)
		r = add(&by, left);
	shared_free(left);
	status = r < 0 ? clew_fail_memory() : print(&by, trace);
	clew_wait_groups_done(&by.groups);
	return status;
}

int waits_by_in_windows(const char *operand, struct clew_reader *reader,
			struct waits_values *values)
{
	struct by by = {.values = values};
	const struct clew_windows_taker taker = {
		.look = look_at_window, .add = add, .context = &by};
	struct clew_trace *tasks, *names;
	int status = waits_look(operand, reader, values, &taker, &tasks, &names);

	if (!status)
		status = print(&by, names);
	clew_wait_groups_done(&by.groups);
	clew_trace_free(names);
	clew_trace_free(tasks);
	return status;
}
