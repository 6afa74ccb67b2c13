/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Limits the cost of functions' calls.
 *
 * The kernel side counts how often each probe is met, by tasks that are not recorded, too. A run
 * costs what a probe of that class was measured to cost without a program, and the mean time of
 * the program.
 */
#include "record/functions/traced_limit.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clew.skel.h"
#include "record/stream/cost.h"
#include "record/stream/recorder_state.h"

#define PERIOD	   1000000000ull /* ns between two checks */
#define PROGRAM_NS 150		 /* of a run, until it is known */

void traced_limit_prepare(struct clew_bpf *bpf, unsigned cpus)
{
	bpf_map__set_max_entries(bpf->maps.clew_function_calls, cpus * CLEW_FUNCTION_ROWS);
}

int traced_limit_open(struct traced_limit *limit, const struct traced *traced, unsigned percent)
{
	const struct clew_recorder *recorder = traced->recorder;
	void *memory;

	if (!percent)
		return 0;
	limit->size = sizeof(*limit->calls) * CLEW_FUNCTION_ROWS * recorder->cpu_count;
	memory = mmap(NULL, limit->size, PROT_READ, MAP_SHARED,
		      bpf_map__fd(recorder->bpf->maps.clew_function_calls), 0);
	if (memory == MAP_FAILED)
		return -errno;
	limit->calls = memory;
	limit->percent = percent;
	return 0;
}

void traced_limit_close(struct traced_limit *limit)
{
	if (limit->calls)
		munmap(limit->calls, limit->size);
	vector_done(&limit->before);
}

/* The number of times that the site's probe was met so far, modulo 2^32. */
static uint32_t count_calls(const struct traced_limit *limit, unsigned cpus, size_t site)
{
	uint32_t count = 0;

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		const struct clew_function_calls *row =
			&limit->calls[cpu * CLEW_FUNCTION_ROWS + site / CLEW_FUNCTION_ROW];

		count += ((const volatile uint32_t *)row->calls)[site % CLEW_FUNCTION_ROW];
	}
	return count;
}

/* The calls of a site since the last check; the next one counts from here. */
static uint32_t take_calls(struct traced_limit *limit, unsigned cpus, size_t site)
{
	uint32_t *before = (uint32_t *)limit->before.data + site;
	uint32_t count = count_calls(limit, cpus, site), calls = count - *before;

	*before = count;
	return calls;
}

static int make_room(struct traced_limit *limit, const struct traced *traced)
{
	int r;

	limit->before.item = sizeof(uint32_t);
	r = vector_reserve(&limit->before, traced->shares.count);
	if (r >= 0)
		limit->before.count = traced->shares.count;
	return r;
}

int traced_limit_begin(struct traced_limit *limit, const struct traced *traced, uint64_t now)
{
	int r = make_room(limit, traced);

	for (size_t i = 0; r >= 0 && i < traced->shares.count; i++)
		take_calls(limit, traced->recorder->cpu_count, i);
	limit->last = now;
	return r;
}

/* Adds up what functions cost since the last check. Returns what all probes together did, ns. */
static uint64_t add_up(struct traced_limit *limit, const struct traced *traced,
		       struct clew_dropped *functions)
{
	const struct bpf_program *program = traced->recorder->bpf->progs.clew_function;
	uint32_t run = clew_cost_of_run(traced->recorder, bpf_program__fd(program)) ?: PROGRAM_NS;
	uint64_t total = 0;

	for (size_t i = 0; i < traced->shares.count; i++) {
		const struct traced_share *share = traced_share_of(traced, i);
		uint32_t calls = take_calls(limit, traced->recorder->cpu_count, i);
		uint64_t cost =
			(uint64_t)calls *
			(share->ns + run + (share->returns ? traced->cost.trampoline + run : 0));

		total += cost;
		if (share->function == TRACED_NOBODY ||
		    traced_function_at(traced, share->function)->dropped)
			continue;
		functions[share->function].cost += cost;
		functions[share->function].calls += share->entry ? calls : 0;
	}
	return total;
}

static int dearer_first(const void *left, const void *right)
{
	const struct clew_dropped *a = left, *b = right;

	return (a->cost < b->cost) - (a->cost > b->cost);
}

int traced_limit_check(struct traced_limit *limit, const struct traced *traced, uint64_t now,
		       struct clew_dropped **ret, size_t *ret_count)
{
	uint64_t period = now - limit->last, total, most = period / 100 * limit->percent;
	size_t count = traced->known.count;
	struct clew_dropped *functions;
	int r;

	*ret = NULL;
	*ret_count = 0;
	if (!limit->percent || period < PERIOD)
		return 0;
	functions = calloc(count + 1, sizeof(*functions));
	r = functions ? make_room(limit, traced) : -ENOMEM;
	if (r < 0) {
		free(functions);
		return r;
	}
	total = add_up(limit, traced, functions);
	limit->last = now;
	for (size_t i = 0; i < count; i++) {
		functions[i].function = (uint32_t)i;
		functions[i].period = period;
	}
	qsort(functions, count, sizeof(*functions), dearer_first);
	while (total > most && *ret_count < count && functions[*ret_count].cost)
		total -= functions[(*ret_count)++].cost;
	if (*ret_count)
		*ret = functions;
	else
		free(functions);
	return 0;
}
