/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up runs and waits for a CPU. */
#include "top/queues.h"

#include <errno.h>
#include <stdlib.h>

#include "base/interval.h"
#include "store/capture.h"

struct finding {
	const struct clew_trace *trace;
	const struct clew_summary *summary;
	uint64_t from, to;
	struct top_queue *queues;
	size_t count;
	struct map ran, waited; /* (program, CPU) -> ns */
};

/* Adds time to a program's on a CPU; keeps the program that has most there. 0 or -ENOMEM. */
static int add_most(struct map *sums, uint32_t program, uint32_t cpu, uint64_t ns, uint32_t *most,
		    uint64_t *most_ns)
{
	const uint64_t *before = map_get(sums, program, cpu);

	if (program == UINT32_MAX)
		return 0;
	ns += before ? *before : 0;
	if (map_set(sums, program, cpu, ns) < 0)
		return -ENOMEM;
	if (ns > *most_ns) {
		*most = program;
		*most_ns = ns;
	}
	return 0;
}

/* The part of an interval within the period, ns. */
static uint64_t within(const struct finding *finding, uint64_t start, uint64_t end)
{
	return interval_overlap(start, end, finding->from, finding->to);
}

static int add_run(struct finding *finding, const struct clew_run *run)
{
	uint64_t ns = within(finding, run->start, run->end);
	struct top_queue *queue;

	if (!ns || run->cpu >= finding->count)
		return 0;
	queue = &finding->queues[run->cpu];
	queue->seen = true;
	if (!run->task)
		return 0;
	queue->busy_ns += ns;
	return add_most(&finding->ran,
			clew_summary_program(finding->summary, finding->trace, run->task), run->cpu,
			ns, &queue->ran, &queue->ran_ns);
}

/* A task was ready, and then came to run somewhere. */
static int add_ready(struct finding *finding, uint32_t task, uint64_t start, uint64_t end)
{
	uint64_t ns = within(finding, start, end);
	struct clew_piece piece;
	struct top_queue *queue;

	if (!ns || end == CLEW_TIME_OPEN ||
	    !clew_trace_piece(finding->trace, task, start, false, &piece) ||
	    piece.kind != CLEW_PIECE_RUNQUEUE || piece.cpu >= finding->count)
		return 0;
	queue = &finding->queues[piece.cpu];
	queue->ready_ns += ns;
	queue->times++;
	if (ns > queue->longest_ns)
		queue->longest_ns = ns;
	return add_most(&finding->waited,
			clew_summary_program(finding->summary, finding->trace, task), piece.cpu, ns,
			&queue->waited, &queue->waited_ns);
}

static int find(struct finding *finding)
{
	size_t count;
	const struct clew_run *runs = clew_trace_runs(finding->trace, &count);
	const struct clew_ready *readies;
	const struct clew_sleep *sleeps;
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = add_run(finding, &runs[i]);
	readies = clew_trace_readies(finding->trace, &count);
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_ready(finding, readies[i].task, readies[i].start, readies[i].end);
	sleeps = clew_trace_sleeps(finding->trace, &count);
	for (size_t i = 0; i < count && r == 0; i++)
		if (sleeps[i].end != CLEW_TIME_OPEN)
			r = add_ready(finding, sleeps[i].task, sleeps[i].end, sleeps[i].switch_in);
	return r;
}

int top_queues_find(const struct clew_trace *trace, const struct clew_summary *summary,
		    struct top_queue **ret_queues, size_t *ret_count)
{
	const struct clew_capture_info *info = clew_trace_info(trace);
	struct finding finding = {.trace = trace,
				  .summary = summary,
				  .from = clew_trace_start(trace),
				  .to = clew_trace_end(trace),
				  .count = info ? info->cpus : 0};
	int r;

	*ret_count = finding.count;
	*ret_queues = finding.queues = calloc(finding.count + 1, sizeof(*finding.queues));
	if (!finding.queues)
		return -ENOMEM;
	for (size_t i = 0; i < finding.count; i++)
		finding.queues[i].ran = finding.queues[i].waited = UINT32_MAX;
	r = find(&finding);
	map_done(&finding.ran);
	map_done(&finding.waited);
	return r;
}
