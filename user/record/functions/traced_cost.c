/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Measures the cost of probes at functions on this machine. */
#include "record/functions/traced_cost.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "record/functions/probe.h"
#include "record/stream/recorder_state.h"

#define PAGE	     4096u
#define EXEC_NS	     750u  /* that each exec of a program takes longer, a probe in its files */
#define PROBES_NOTED 1000u /* from here on that, and the memory, are worth a line */

static int by_size(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static const char *time_words(char words[32], uint32_t ns)
{
	if (ns < 1000)
		snprintf(words, 32, "%" PRIu32 " ns", ns);
	else
		snprintf(words, 32, "%.1f us", ns / 1e3);
	return words;
}

static int by_offset(const void *a, const void *b)
{
	const struct clew_probe_place *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Probes, and pages that each process gets of its own for them. */
static void count_probes(const struct vector *files, size_t *ret_files, size_t *ret_probes,
			 size_t *ret_pages)
{
	struct traced_file *const *all = files->data;

	*ret_files = *ret_probes = *ret_pages = 0;
	for (size_t i = 0; i < files->count; i++) {
		struct clew_probe_place *places = all[i]->entries.planned.data;
		size_t count = all[i]->entries.planned.count;

		/* Nobody maps the kernel. */
		if (all[i]->kernel)
			continue;
		*ret_probes += count + all[i]->points.planned.count;
		*ret_files += all[i]->applied != 0;
		if (count)
			qsort(places, count, sizeof(*places), by_offset);
		for (size_t k = 0; k < count; k++)
			*ret_pages +=
				k == 0 || places[k].offset / PAGE != places[k - 1].offset / PAGE;
	}
}

static void say_refused(const struct traced *traced, const struct clew_recorder_options *options)
{
	const struct traced_refusal *refusals = traced->refusals.data;
	char line[512];
	size_t size = 0, all = 0;

	for (size_t i = 0; i < traced->refusals.count; i++) {
		all += refusals[i].count;
		size += (size_t)snprintf(line + size, sizeof(line) - size, "%s%s %" PRIu32,
					 i ? ", " : "", refusals[i].reason, refusals[i].count);
		if (size >= sizeof(line))
			break;
	}
	if (all) {
		char words[640];

		snprintf(words, sizeof(words), "%zu functions cannot be probed: %s", all, line);
		options->say(words);
	}
}

/* "3 functions and 1 probe that programs carry" */
static const char *count_words(char words[96], size_t functions, size_t points)
{
	size_t at = 0;

	if (functions)
		at = (size_t)snprintf(words, 96, "%zu function%s", functions,
				      functions == 1 ? "" : "s");
	if (points)
		snprintf(words + at, 96 - at, "%s%zu probe%s that programs carry",
			 functions ? " and " : "", points, points == 1 ? "" : "s");
	return words;
}

void traced_cost_say(struct traced *traced, const struct vector *files,
		     const struct clew_recorder_options *options)
{
	uint32_t *costs = traced->costs.data;
	size_t count = traced->costs.count, file_count, probes, pages;
	char line[320], words[96], low[32], middle[32], high[32];

	if (!options->say || !count)
		return;
	count_probes(files, &file_count, &probes, &pages);
	qsort(costs, count, sizeof(*costs), by_size);
	count_words(words, count - traced->points, traced->points);
	if (costs[0] == costs[count - 1])
		snprintf(line, sizeof(line), "%s in %zu file%s: a call takes %s longer", words,
			 file_count, file_count == 1 ? "" : "s", time_words(low, costs[0]));
	else
		snprintf(line, sizeof(line),
			 "%s in %zu file%s: a call takes %s to %s longer, of half of them %s at "
			 "most",
			 words, file_count, file_count == 1 ? "" : "s", time_words(low, costs[0]),
			 time_words(high, costs[count - 1]),
			 time_words(middle, costs[(count - 1) / 2]));
	options->say(line);
	if (probes >= PROBES_NOTED) {
		snprintf(line, sizeof(line),
			 "%zu probes: each exec of a program that maps them takes %.1f ms longer, "
			 "and each process needs up to %zu kB more",
			 probes, probes * (double)EXEC_NS / 1e6, pages * PAGE / 1024);
		options->say(line);
	}
	if (traced->unseen_returns) {
		snprintf(line, sizeof(line), "of %" PRIu32 " of them only entries are seen",
			 traced->unseen_returns);
		options->say(line);
	}
	if (traced->without_values) {
		snprintf(line, sizeof(line),
			 "%" PRIu32 " of them lack a value that was asked for, and are recorded "
			 "without any",
			 traced->without_values);
		options->say(line);
	}
	say_refused(traced, options);
}

int traced_cost_write(const struct traced *traced)
{
	const struct clew_probe_cost *cost = &traced->cost;
	char *text = traced->recorder->files.probe_costs;

	snprintf(text, sizeof(traced->recorder->files.probe_costs),
		 "%" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32, cost->emulated,
		 cost->nop5, cost->stepped, cost->trampoline, cost->kernel);
	return clew_writer_meta(traced->recorder->files.writer, "probe_costs", text);
}
