/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Each window's process compares nothing: it leaves its operations with their causes by name, and
 * the calling process gives these the numbers that they have on both sides.
 */
#include "compare/windows.h"

#include <errno.h>
#include <stdlib.h>

#include "compare/about.h"
#include "compare/load.h"

/* The findings of a window's process. Names are in an order in which each comes behind the one that
 * it would be without its own. */
struct left {
	struct compare_name *classes, *causes;
	size_t class_count, cause_count;
	struct compare_operation *operations;
	size_t operation_count;
	struct compare_share *shares;
	size_t share_count;
	struct compare_left_out *left_out;
	size_t left_out_count;
	struct compare_load load;
};

/* ---- in the window's process ---- */

static struct compare_name *leave_names(const struct compare_names *names, struct shared *out)
{
	size_t count = names->list.count;
	struct compare_name *copies = shared_copy(out, names->list.data, count * sizeof(*copies));

	for (size_t i = 0; copies && i < count; i++) {
		copies[i].text = shared_string(out, copies[i].text);
		copies[i].party = shared_string(out, copies[i].party);
		if (!copies[i].text || !copies[i].party)
			return NULL;
	}
	return copies;
}

static void *leave_vector(const struct vector *all, struct shared *out)
{
	return shared_copy(out, all->data, all->count * all->item);
}

static int leave(const struct compare *part, enum compare_side_name side, struct shared *out)
{
	struct left *left = out->root = shared_take(out, sizeof(*left));

	if (!left)
		return -ENOMEM;
	*left = (struct left){.classes = leave_names(&part->classes, out),
			      .class_count = part->classes.list.count,
			      .causes = leave_names(&part->causes, out),
			      .cause_count = part->causes.list.count,
			      .operations = leave_vector(&part->operations, out),
			      .operation_count = part->operations.count,
			      .shares = leave_vector(&part->shares, out),
			      .share_count = part->shares.count,
			      .left_out = leave_vector(&part->left_out, out),
			      .left_out_count = part->left_out.count,
			      .load = part->loads[side]};
	return left->classes && left->causes && left->operations && left->shares && left->left_out
		       ? 0
		       : -ENOMEM;
}

static int look(void *context, const struct clew_trace *trace,
		const struct clew_trace_window *window, struct shared *out)
{
	const struct compare_windows *windows = context;
	struct compare part;
	int r = clew_trace_take_works((struct clew_trace *)trace, windows->works);

	compare_begin(&part, windows->compare->options);
	/* An operation that ends at the window's end belongs to the next one. */
	part.from = window->from ? window->from - 1 : 0;
	part.to = window->to == UINT64_MAX ? UINT64_MAX : window->to - 1;
	part.known = window->kept;
	if (r == 0)
		r = compare_add(&part, windows->side, trace, windows->chosen);
	if (r == 0)
		r = leave(&part, windows->side, out);
	compare_done(&part);
	return r;
}

/* ---- in the calling one ---- */

/* The numbers of names on both sides; NULL: no memory. */
static uint32_t *number_names(const struct compare_windows *windows, struct compare_names *names,
			      const struct compare_name *left, size_t count)
{
	uint32_t *numbers = calloc(count + 1, sizeof(*numbers));

	for (size_t i = 0; numbers && i < count; i++) {
		struct compare_name name = left[i];

		if (name.unnamed != UINT32_MAX && name.unnamed < i)
			name.unnamed = numbers[name.unnamed];
		numbers[i] = compare_name_add(windows->compare, names, windows->side, &name);
		if (numbers[i] == UINT32_MAX) {
			free(numbers);
			return NULL;
		}
	}
	return numbers;
}

static int add_operations(const struct compare_windows *windows, const struct left *left,
			  const uint32_t *classes, const uint32_t *causes)
{
	struct compare *compare = windows->compare;
	struct vector *operations = &compare->operations, *shares = &compare->shares,
		      *left_out = &compare->left_out;
	size_t first = shares->count;

	if (vector_reserve(operations, operations->count + left->operation_count) < 0 ||
	    vector_reserve(shares, shares->count + left->share_count) < 0 ||
	    vector_reserve(left_out, left_out->count + left->left_out_count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < left->operation_count; i++) {
		struct compare_operation added = left->operations[i];

		added.class = classes[added.class];
		added.first_share += first;
		added.capture = compare->captures[windows->side];
		((struct compare_operation *)operations->data)[operations->count++] = added;
	}
	for (size_t i = 0; i < left->share_count; i++) {
		struct compare_share added = left->shares[i];

		added.cause = causes[added.cause];
		((struct compare_share *)shares->data)[shares->count++] = added;
	}
	for (size_t i = 0; i < left->left_out_count; i++) {
		struct compare_left_out added = left->left_out[i];

		added.class = classes[added.class];
		((struct compare_left_out *)left_out->data)[left_out->count++] = added;
	}
	return 0;
}

/* Threads and CPUs are those of the whole capture. */
static void add_load(struct compare_load *load, const struct compare_load *more)
{
	load->ns += more->ns;
	load->operations += more->operations;
	load->busy_ns += more->busy_ns;
	load->ready_ns += more->ready_ns;
	load->limited_ns += more->limited_ns;
	load->requests += more->requests;
	load->request_bytes += more->request_bytes;
	load->packets += more->packets;
}

static int add(void *context, const struct shared *found)
{
	const struct compare_windows *windows = context;
	struct compare *compare = windows->compare;
	const struct left *left = found->root;
	uint32_t *classes =
			 number_names(windows, &compare->classes, left->classes, left->class_count),
		 *causes = number_names(windows, &compare->causes, left->causes, left->cause_count);
	int r = classes && causes ? add_operations(windows, left, classes, causes) : -ENOMEM;

	add_load(&compare->loads[windows->side], &left->load);
	free(classes);
	free(causes);
	return r;
}

struct clew_windows_taker compare_windows_taker(struct compare_windows *windows)
{
	return (struct clew_windows_taker){.look = look, .add = add, .context = windows};
}

int compare_windows_end(struct compare_windows *windows, const struct clew_trace *names)
{
	struct compare_load *load = &windows->compare->loads[windows->side];
	const struct clew_capture_info *info = clew_trace_info(names);

	load->threads += clew_trace_task_count(names);
	if (info) {
		load->cpus = info->cpus > load->cpus ? info->cpus : load->cpus;
		load->cpu_ns += info->cpus * (info->end - info->start);
		load_add_cost(load, info);
	}
	windows->compare->captures[windows->side]++;
	windows->compare->in_windows = true;
	return about_add(windows->compare, windows->side, names);
}
