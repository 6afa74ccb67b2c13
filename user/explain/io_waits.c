/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums over waits.
 *
 * A wait is charged to the file that it names. A wait that names none (for a
 * journal, a throttled device, a request) is charged to the file of its
 * request, else to the file that its task touched last.
 */
#include "base/kind.h"
#include "explain/io_internal.h"
#include <errno.h>
#include <stdlib.h>

static bool may_be_for_file(const struct clew_sleep *sleep)
{
	return clew_wait_kind_has(sleep->kind, CLEW_TRAIT_FILE);
}

static const struct clew_trace_request *request_of(const struct sums *sums,
						   const struct clew_sleep *sleep)
{
	const struct clew_link *last =
		sleep->link_count ? &sleep->links[sleep->link_count - 1] : NULL;

	return last && last->kind == CLEW_LINK_REQUEST && last->number < sums->request_count
		       ? &sums->requests[last->number]
		       : NULL;
}

static int file_of_sleep(struct sums *sums, const struct clew_sleep *sleep, uint32_t *ret_file)
{
	const struct clew_trace_request *request = request_of(sums, sleep);
	const uint64_t *last = map_get(&sums->last_touched, sleep->task, 0);

	*ret_file = NO_FILE;
	if (!may_be_for_file(sleep))
		return 0;
	if (sleep->object.kind == CLEW_OBJECT_FILE)
		return io_file_of(sums, sleep->object.number, sleep->object.device, sleep->start,
				  ret_file);
	if (sleep->kind == CLEW_WAIT_THROTTLE && sleep->object.kind == CLEW_OBJECT_CGROUP)
		return 0;
	if (request && request->page_count)
		return io_file_of(sums, request->pages[0].inode, request->pages[0].device,
				  request->block.queued, ret_file);
	if (request && request->block.inode)
		return io_file_of(sums, request->block.inode, request->block.file_device,
				  request->block.queued, ret_file);
	if (last && (sleep->kind == CLEW_WAIT_JOURNAL || sleep->kind == CLEW_WAIT_THROTTLE ||
		     sleep->kind == CLEW_WAIT_FSYNC))
		*ret_file = (uint32_t)*last;
	return 0;
}

static int blame(struct sums *sums, uint32_t file, uint32_t waiter, uint32_t task, double ns)
{
	struct clew_io_share *share;

	if (task == waiter || task == CLEW_NO_TASK)
		return 0;
	share = io_share_of(sums, file, task);
	if (!share)
		return -ENOMEM;
	share->caused_ns += (uint64_t)ns;
	return 0;
}

/*
 * Charges a wait for a request to the tasks that wrote its pages, by how much
 * each wrote.
 */
static int blame_writers(struct sums *sums, uint32_t file, const struct clew_sleep *sleep,
			 const struct clew_trace_request *request, double ns)
{
	uint64_t all = 0;
	int r = 0;

	for (uint32_t i = 0; i < request->page_count; i++)
		all += request->pages[i].bytes;
	for (uint32_t i = 0; i < request->page_count && r >= 0; i++) {
		const struct clew_page_extent *extent = &request->pages[i];

		for (uint32_t k = 0; k < extent->writer_count && r >= 0; k++)
			r = blame(sums, file, sleep->task, extent->writers[k],
				  ns * (double)extent->bytes / (double)all / extent->writer_count);
	}
	return r;
}

static int compare_origins(const void *left, const void *right)
{
	const struct clew_edge *a = *(const struct clew_edge *const *)left,
			       *b = *(const struct clew_edge *const *)right;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->to_at < b->to_at ? -1 : a->to_at > b->to_at;
}

int io_find_origins(struct sums *sums, const struct clew_edge *edges, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		used += io_is_origin(&edges[i]);
	sums->origins = malloc((used + 1) * sizeof(*sums->origins));
	if (!sums->origins)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (io_is_origin(&edges[i]))
			sums->origins[sums->origin_count++] = &edges[i];
	if (used)
		qsort(sums->origins, used, sizeof(*sums->origins), compare_origins);
	return 0;
}

/*
 * Charges a wait to the origins of dependencies that lead to a task within an
 * interval, by their weights. The task itself is not charged.
 */
static int blame_origins(struct sums *sums, uint32_t file, const struct clew_sleep *sleep,
			 uint32_t to, uint64_t from, uint64_t until, double ns)
{
	size_t low = 0, high = sums->origin_count, end;
	double all = 0;
	int r = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct clew_edge *edge = sums->origins[middle];

		if (edge->to < to || (edge->to == to && edge->to_at < from))
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < sums->origin_count && sums->origins[end]->to == to &&
			sums->origins[end]->to_at <= until;
	     end++)
		all += sums->origins[end]->weight ? (double)sums->origins[end]->weight : 1;
	if (low < end)
		all += (double)sums->origins[low]->own;
	for (; low < end && r >= 0; low++)
		r = blame(
			sums, file, sleep->task, sums->origins[low]->from,
			ns * (sums->origins[low]->weight ? (double)sums->origins[low]->weight : 1) /
				all);
	return r;
}

static int add_sleep(struct sums *sums, const struct clew_sleep *sleep, uint32_t file)
{
	uint64_t end = clew_trace_until(sums->trace, sleep->end);
	const struct clew_trace_request *request = request_of(sums, sleep);
	uint64_t from = sleep->start > sums->from ? sleep->start : sums->from;
	uint64_t ns = (end < sums->to ? end : sums->to) - from;
	const struct clew_trace_task *task = clew_trace_task(sums->trace, sleep->task);
	struct clew_io_share *share;

	/*
	 * Flusher and journal threads work for others, whose waits are counted.
	 */
	if ((task && task->flags & CLEW_TASK_KTHREAD) ||
	    !clew_is_chosen(sums->chosen, sums->trace, sleep->task))
		return 0;
	if (end < sums->from || sleep->start > sums->to || (end < sums->to ? end : sums->to) < from)
		return 0;
	share = io_share_of(sums, file, sleep->task);
	if (!share)
		return -ENOMEM;
	share->waited_ns += ns;
	io_file_at(sums, file)->waited_ns += ns;
	if (sleep->kind == CLEW_WAIT_THROTTLE)
		return blame_origins(sums, file, sleep, sleep->task, sleep->start, sleep->start,
				     (double)ns);
	if (sleep->kind == CLEW_WAIT_JOURNAL && sleep->ended_by != CLEW_NO_TASK)
		return blame_origins(sums, file, sleep, sleep->ended_by, sleep->start, end,
				     (double)ns);
	return request && io_does(&request->block, CLEW_REQUEST_WRITE)
		       ? blame_writers(sums, file, sleep, request, (double)ns)
		       : 0;
}

int io_add_sleeps(struct sums *sums, const struct clew_touch *touches, size_t touch_count)
{
	size_t count, next = 0;
	const struct clew_sleep *sleeps = clew_trace_sleeps(sums->trace, &count);
	int r = 0;

	sums->sleep_files = malloc((count + 1) * sizeof(*sums->sleep_files));
	if (!sums->sleep_files)
		return -ENOMEM;
	for (size_t i = 0; i < count && r >= 0; i++) {
		uint32_t file;

		for (; next < touch_count && touches[next].begin <= sleeps[i].start; next++) {
			if (!io_is_by_task(&touches[next]))
				continue;
			if (io_file_of(sums, touches[next].inode, touches[next].device,
				       touches[next].begin, &file) < 0 ||
			    map_set(&sums->last_touched, touches[next].task, 0, file) < 0)
				return -ENOMEM;
		}
		sums->sleep_files[i] = NO_FILE;
		if (sums->window && !clew_window_counts(sums->window, sleeps[i].end))
			continue;
		r = file_of_sleep(sums, &sleeps[i], &file);
		sums->sleep_files[i] = file;
		if (r >= 0 && file != NO_FILE)
			r = add_sleep(sums, &sleeps[i], file);
	}
	return r;
}
