/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up the load of captures. */
#include "compare/load.h"

#include "base/interval.h"
#include "live/charged.h"
#include "trace/trace.h"
#include "words/ledger.h"

/* The part of a capture that is added. */
struct part {
	const struct clew_trace *trace;
	uint64_t from, to;
	bool last; /* there is no other part behind it */
};

/* The time of an interval, whose end may be open, that lies in the part. */
static uint64_t within(const struct part *part, uint64_t from, uint64_t to)
{
	return interval_overlap(from, to, part->from, part->to);
}

/* An event that goes on at the end of a part ends in another one. */
static bool ends_in(const struct part *part, uint64_t end)
{
	if (end == CLEW_TIME_OPEN)
		return part->last;
	return end > part->from && end <= part->to;
}

static uint64_t runs_of(const struct part *part)
{
	uint64_t ns = 0;
	size_t count;
	const struct clew_run *runs = clew_trace_runs(part->trace, &count);

	for (size_t i = 0; i < count; i++)
		if (runs[i].task != CLEW_NO_TASK)
			ns += within(part, runs[i].start, runs[i].end);
	return ns;
}

/* The time for which threads were ready or held back by limits, and the waits that packets ended.
 */
static void add_waits(struct compare_load *load, const struct part *part)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(part->trace, &count);
	const struct clew_ready *readies;

	for (size_t i = 0; i < count; i++) {
		if (sleeps[i].end != CLEW_TIME_OPEN)
			load->ready_ns += within(part, sleeps[i].end, sleeps[i].switch_in);
		if (charged_limit(&sleeps[i]))
			load->limited_ns += within(part, sleeps[i].start, sleeps[i].end);
		load->packets += sleeps[i].link_count &&
				 sleeps[i].links[0].kind == CLEW_LINK_PACKET &&
				 ends_in(part, sleeps[i].end);
	}
	readies = clew_trace_readies(part->trace, &count);
	for (size_t i = 0; i < count; i++)
		load->ready_ns += within(part, readies[i].start, readies[i].end);
}

static void add_requests(struct compare_load *load, const struct part *part)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(part->trace, &count);

	for (size_t i = 0; i < count; i++) {
		if (!ends_in(part, requests[i].until))
			continue;
		load->requests++;
		load->request_bytes += requests[i].block.bytes;
	}
}

void load_add_cost(struct compare_load *load, const struct clew_capture_info *info)
{
	struct clew_ledger_sum sum;

	clew_ledger_add_up(info, &sum);
	load->lost += sum.total.lost + sum.total.missed;
	load->own_ns += info->cost.user_ns + (info->cost.bpf_sampled ? info->cost.bpf_ns : 0);
}

static uint64_t count_operations(const struct part *part,
				 const struct clew_operation_classes *found)
{
	uint64_t count = 0;

	for (size_t i = 0; i < found->operation_count; i++) {
		const struct clew_kind_operation *it = &found->operations[i];

		if (it->kind == CLEW_OPERATION_REQUEST || it->kind == CLEW_OPERATION_CONNECT ||
		    it->kind == CLEW_OPERATION_SPAN)
			continue;
		count += ends_in(part, it->operation.to) && (part->last || !it->goes_on);
	}
	return count;
}

void load_add(struct compare *compare, enum compare_side_name side, const struct clew_trace *trace,
	      const struct clew_operation_classes *found)
{
	struct compare_load *load = &compare->loads[side];
	const struct clew_capture_info *info = clew_trace_info(trace);
	uint64_t start = clew_trace_start(trace), end = clew_trace_end(trace);
	const struct part part = {.trace = trace,
				  .from = start > compare->from ? start : compare->from,
				  .to = end < compare->to ? end : compare->to,
				  .last = compare->to == UINT64_MAX};
	uint64_t ns = part.to > part.from ? part.to - part.from : 0;

	load->ns += ns;
	load->operations += count_operations(&part, found);
	load->threads += clew_trace_task_count(trace);
	load->busy_ns += runs_of(&part);
	add_waits(load, &part);
	add_requests(load, &part);
	if (!info)
		return;
	load->cpus = info->cpus > load->cpus ? info->cpus : load->cpus;
	load->cpu_ns += info->cpus * ns;
	if (!compare_is_part(compare))
		load_add_cost(load, info);
}

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

double load_figure(const struct compare_load *load, uint32_t captures, enum load_figure figure)
{
	switch (figure) {
	case LOAD_OPERATIONS:
		return ratio(load->operations, load->ns) * 1e9;
	case LOAD_THREADS:
		return ratio(load->threads, captures);
	case LOAD_CPUS:
		return (double)load->cpus;
	case LOAD_BUSY:
		return ratio(load->busy_ns, load->cpu_ns) * 100;
	case LOAD_READY:
		return ratio(load->ready_ns, load->ns);
	case LOAD_LIMITED:
		return ratio(load->limited_ns, load->ns);
	case LOAD_REQUESTS:
		return ratio(load->requests, load->ns) * 1e9;
	case LOAD_BYTES:
		return ratio(load->request_bytes, load->ns) * 1e9;
	case LOAD_PACKETS:
		return ratio(load->packets, load->ns) * 1e9;
	case LOAD_LOST:
		return ratio(load->lost, load->ns) * 1e9;
	default:
		return ratio(load->own_ns, load->ns) * 100;
	}
}
