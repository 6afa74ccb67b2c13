/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up the load of captures. */
#include "compare/load.h"

#include "live/charged.h"
#include "trace/trace.h"
#include "words/ledger.h"

static uint64_t runs_of(const struct clew_trace *trace)
{
	uint64_t end = clew_trace_end(trace), ns = 0;
	size_t count;
	const struct clew_run *runs = clew_trace_runs(trace, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t until = runs[i].end < end ? runs[i].end : end;

		if (runs[i].task != CLEW_NO_TASK && until > runs[i].start)
			ns += until - runs[i].start;
	}
	return ns;
}

/* The time for which threads were ready or held back by limits, and the waits that packets ended.
 */
static void add_waits(struct compare_load *load, const struct clew_trace *trace)
{
	uint64_t end = clew_trace_end(trace);
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	const struct clew_ready *readies;

	for (size_t i = 0; i < count; i++) {
		uint64_t until = sleeps[i].switch_in < end ? sleeps[i].switch_in : end;

		if (sleeps[i].end != CLEW_TIME_OPEN && until > sleeps[i].end)
			load->ready_ns += until - sleeps[i].end;
		if (charged_limit(&sleeps[i])) {
			until = sleeps[i].end < end ? sleeps[i].end : end;
			load->limited_ns += until > sleeps[i].start ? until - sleeps[i].start : 0;
		}
		load->packets +=
			sleeps[i].link_count && sleeps[i].links[0].kind == CLEW_LINK_PACKET;
	}
	readies = clew_trace_readies(trace, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t until = readies[i].end < end ? readies[i].end : end;

		if (until > readies[i].start)
			load->ready_ns += until - readies[i].start;
	}
}

static void add_requests(struct compare_load *load, const struct clew_trace *trace)
{
	size_t count;
	const struct clew_trace_request *requests = clew_trace_requests(trace, &count);

	load->requests += count;
	for (size_t i = 0; i < count; i++)
		load->request_bytes += requests[i].block.bytes;
}

static void add_recording(struct compare_load *load, const struct clew_trace *trace, uint64_t ns)
{
	const struct clew_capture_info *info = clew_trace_info(trace);
	struct clew_ledger_sum sum;

	if (!info)
		return;
	clew_ledger_add_up(info, &sum);
	load->lost += sum.total.lost + sum.total.missed;
	load->own_ns += info->cost.user_ns + (info->cost.bpf_sampled ? info->cost.bpf_ns : 0);
	load->cpus = info->cpus > load->cpus ? info->cpus : load->cpus;
	load->cpu_ns += info->cpus * ns;
}

void load_add(struct compare_load *load, const struct clew_trace *trace,
	      const struct clew_operation_classes *found)
{
	uint64_t ns = clew_trace_end(trace) - clew_trace_start(trace);

	load->ns += ns;
	for (size_t i = 0; i < found->operation_count; i++)
		load->operations += found->operations[i].kind != CLEW_OPERATION_REQUEST &&
				    found->operations[i].kind != CLEW_OPERATION_CONNECT;
	load->threads += clew_trace_task_count(trace);
	load->busy_ns += runs_of(trace);
	add_waits(load, trace);
	add_requests(load, trace);
	add_recording(load, trace, ns);
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
