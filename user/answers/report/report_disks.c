/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The disks of a report, and whose requests had them. */
#include <errno.h>
#include <stdlib.h>

#include "answers/report/report.h"
#include "base/map.h"

static int by_device(const void *left, const void *right)
{
	const struct report_disk *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->program < b->program ? -1 : a->program > b->program;
}

static int busiest_first(const void *left, const void *right)
{
	const struct report_disk *a = left, *b = right;

	if (a->busy_ns != b->busy_ns)
		return a->busy_ns > b->busy_ns ? -1 : 1;
	return by_device(a, b);
}

/* Makes one of the rows with the same device; `program` is the one with most time. */
static size_t merge_disks(struct report_disk *disks, size_t count)
{
	size_t kept = 0;

	for (size_t from = 0, to; from < count; from = to) {
		struct report_disk disk = {.device = disks[from].device, .program = UINT32_MAX};
		uint64_t most = 0, own = 0;

		for (to = from; to < count && disks[to].device == disk.device; to++) {
			own = to > from && disks[to].program == disks[to - 1].program ? own : 0;
			own += disks[to].busy_ns;
			if (own >= most) {
				most = own;
				disk.program = disks[to].program;
			}
			disk.busy_ns += disks[to].busy_ns;
			disk.bytes += disks[to].bytes;
			disk.requests += disks[to].requests;
		}
		disks[kept++] = disk;
	}
	return kept;
}

int report_add_disks(struct report *report, const struct vector *shares)
{
	const struct report_disk_share *all = shares->data;

	report->disks = calloc(shares->count + 1, sizeof(*report->disks));
	if (!report->disks)
		return -ENOMEM;
	report->disk_count = shares->count;
	for (size_t i = 0; i < shares->count; i++)
		report->disks[i] = (struct report_disk){
			.device = all[i].device,
			.program =
				clew_summary_program(&report->summary, report->trace, all[i].task),
			.busy_ns = all[i].busy_ns,
			.bytes = all[i].bytes,
			.requests = all[i].requests,
		};
	qsort(report->disks, report->disk_count, sizeof(*report->disks), by_device);
	report->disk_count = merge_disks(report->disks, report->disk_count);
	qsort(report->disks, report->disk_count, sizeof(*report->disks), busiest_first);
	return 0;
}

/* The share of a task; NULL: no memory. `places`: (task, device) -> index. */
static struct report_disk_share *share_of(struct vector *shares, struct map *places, uint32_t task,
					  uint32_t device)
{
	const uint64_t *known = map_get(places, task, device);
	struct report_disk_share *share;

	if (known)
		return (struct report_disk_share *)shares->data + *known;
	if (vector_reserve(shares, shares->count + 1) < 0 ||
	    map_set(places, task, device, shares->count) < 0)
		return NULL;
	share = (struct report_disk_share *)shares->data + shares->count++;
	*share = (struct report_disk_share){.device = device, .task = task};
	return share;
}

int report_find_disks(const struct clew_trace *trace, const struct clew_chosen *chosen,
		      uint64_t from, uint64_t to, const struct clew_trace_window *window,
		      struct vector *ret_shares)
{
	struct map places = {};
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);
	int r = 0;

	*ret_shares = (struct vector){.item = sizeof(struct report_disk_share)};
	for (size_t i = 0; i < count && r == 0; i++) {
		const struct clew_block_request *block = &requests[i].block;
		struct report_disk_share *share;

		if (!block->issued || block->completed < block->issued || block->issued > to ||
		    block->completed < from || !clew_window_counts(window, block->completed) ||
		    !clew_request_is_chosen(chosen, trace, &requests[i]))
			continue;
		share = share_of(ret_shares, &places, block->submitter, block->device);
		r = share ? 0 : -ENOMEM;
		if (!share)
			break;
		share->busy_ns += block->completed - block->issued;
		share->bytes += block->bytes;
		share->requests++;
	}
	map_done(&places);
	return r;
}
