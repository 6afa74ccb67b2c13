/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `latency` as text. */
#include <inttypes.h>
#include <stdlib.h>

#include "answers/latency/latency.h"
#include "builder/findings.h"
#include "format/style.h"
#include "format/text.h"

#define INDENTED 16 /* names are set in for as many callers at most */
#define BAR	 16 /* columns */

static const char *const what[CLEW_LATENCY_BY_COUNT] = {
	[CLEW_LATENCY_PATH] = "call",	[CLEW_LATENCY_FUNCTION] = "call",
	[CLEW_LATENCY_KIND] = "wait",	[CLEW_LATENCY_CALL] = "wait",
	[CLEW_LATENCY_DEVICE] = "wait", [CLEW_LATENCY_LOCK] = "wait",
	[CLEW_LATENCY_PEER] = "wait",	[CLEW_LATENCY_OPERATION] = "operation",
};

static const char *const heading[CLEW_LATENCY_BY_COUNT] = {
	[CLEW_LATENCY_PATH] = "function, below its callers",
	[CLEW_LATENCY_FUNCTION] = "function",
	[CLEW_LATENCY_KIND] = "kind of wait",
	[CLEW_LATENCY_CALL] = "system call that waited",
	[CLEW_LATENCY_DEVICE] = "device that was waited for",
	[CLEW_LATENCY_LOCK] = "lock that was waited for",
	[CLEW_LATENCY_PEER] = "other host that was waited for",
	[CLEW_LATENCY_OPERATION] = "operations",
};

static const enum clew_style styles[CLEW_SPLIT_COUNT] = {
	[CLEW_SPLIT_RUNNING] = CLEW_STYLE_RUNNING, [CLEW_SPLIT_RUNQUEUE] = CLEW_STYLE_READY,
	[CLEW_SPLIT_QUOTA] = CLEW_STYLE_QUOTA,	   [CLEW_SPLIT_LOCK] = CLEW_STYLE_LOCK,
	[CLEW_SPLIT_DISK] = CLEW_STYLE_DISK,	   [CLEW_SPLIT_NETWORK] = CLEW_STYLE_NETWORK,
	[CLEW_SPLIT_OTHER] = CLEW_STYLE_PLAIN,
};

/* A bar has a letter for each part, so that it is readable without colours. */
static const char bars[CLEW_SPLIT_COUNT] = {
	[CLEW_SPLIT_RUNNING] = '=', [CLEW_SPLIT_RUNQUEUE] = '.', [CLEW_SPLIT_QUOTA] = '!',
	[CLEW_SPLIT_LOCK] = '#',    [CLEW_SPLIT_DISK] = 'o',	 [CLEW_SPLIT_NETWORK] = '~',
	[CLEW_SPLIT_OTHER] = '-',
};

static void print_share(FILE *out, enum clew_split split, uint64_t part, uint64_t whole)
{
	unsigned percent = clew_percent(part, whole);

	fprintf(out, "%s%s ", clew_style_begin(styles[split]), clew_split_name(split));
	if (percent)
		fprintf(out, "%u %%", percent);
	else
		fputs("<1 %", out);
	fputs(clew_style_end(styles[split]), out);
}

/* The parts of a group's time, the largest first; returns how many there are. */
static int order_split(const struct clew_latency_group *group, enum clew_split *order)
{
	bool taken[CLEW_SPLIT_COUNT] = {};
	int count = 0;

	for (int most = 0; most >= 0;) {
		most = -1;
		for (int i = 0; i < CLEW_SPLIT_COUNT; i++)
			if (!taken[i] && group->split[i] &&
			    (most < 0 || group->split[i] > group->split[most]))
				most = i;
		if (most < 0)
			break;
		taken[most] = true;
		order[count++] = (enum clew_split)most;
	}
	return count;
}

/* A bar in which each part has its share of the columns, then the shares in words. */
static void print_split(FILE *out, const struct clew_latency_group *group)
{
	enum clew_split order[CLEW_SPLIT_COUNT];
	int count = order_split(group, order), column = 0;
	uint64_t before = 0;
	const char *between = "";

	fputs("  ", out);
	for (int i = 0; i < count; i++) {
		double end;

		before += group->split[order[i]];
		end = (double)before / (double)group->times.sum * BAR + .5;
		fputs(clew_style_begin(styles[order[i]]), out);
		for (; column < (int)end; column++)
			fputc(bars[order[i]], out);
		fputs(clew_style_end(styles[order[i]]), out);
	}
	fputs("  ", out);
	for (int i = 0; i < count; i++) {
		fputs(between, out);
		print_share(out, order[i], group->split[order[i]], group->times.sum);
		between = ", ";
	}
}

static void print_name(FILE *out, const struct clew_latency_group *group)
{
	const char *between = " [";

	fprintf(out, "%*s", (int)(group->depth < INDENTED ? group->depth : INDENTED) * 2, "");
	clew_print_safe(out, group->name.name);
	for (unsigned i = 0; i < group->name.property_count; i++) {
		fputs(between, out);
		clew_print_safe(out, group->name.properties[i].value);
		between = "-";
	}
	if (group->name.property_count)
		fputc(']', out);
	if (group->several)
		fputs(" (several functions of this name)", out);
	fputc('\n', out);
}

static void print_figures(FILE *out, const struct histogram *times, bool narrow)
{
	static const double all[] = {.5, .9, .99, .999, 1}, few[] = {.5, .99, 1};
	const double *shares = narrow ? few : all;
	unsigned count = narrow ? sizeof(few) / sizeof(few[0]) : sizeof(all) / sizeof(all[0]);

	if (!times->count) {
		fprintf(out, "%9s %8d ", "-", 0);
		for (unsigned i = 0; i < count + !narrow; i++)
			fprintf(out, " %9s", "-");
		return;
	}
	fprintf(out, "%9s %8" PRIu64 " ", CLEW_DURATION(times->sum), times->count);
	if (!narrow)
		fprintf(out, " %9s", CLEW_DURATION((uint64_t)(histogram_mean(times) + .5)));
	for (unsigned i = 0; i < count; i++)
		fprintf(out, " %9s", CLEW_DURATION(histogram_percentile(times, shares[i])));
}

/* A word of those that are in no figure. */
static void print_rest(FILE *out, const char **between, uint64_t count, const char *words)
{
	if (!count)
		return;
	fprintf(out, "%s%" PRIu64 " %s", *between, count, words);
	*between = "; ";
}

static void print_group(FILE *out, const struct clew_latency_group *group, bool narrow)
{
	const char *between = "";

	print_figures(out, &group->times, narrow);
	fputs("  ", out);
	print_name(out, group);
	if (!group->times.sum && !group->open && !group->inherited)
		return;
	if (group->times.sum) {
		print_split(out, group);
		between = "; ";
	} else {
		fprintf(out, "%*s", BAR + 4, "");
	}
	if (group->probe) {
		fprintf(out, "%sclew's probes took %s of it", between, CLEW_DURATION(group->probe));
		between = "; ";
	}
	print_rest(out, &between, group->open, "more of unknown length");
	print_rest(out, &between, group->inherited, "inherited by a fork");
	fputc('\n', out);
}

/* Says where all times are from, and how much is in none of them. */
static void print_sums(FILE *out, const struct clew_latency *latency,
		       const struct clew_latency_options *options, size_t left,
		       const struct clew_latency_left_out *left_out)
{
	uint64_t count = 0, ns = 0;
	bool nested = options->by == CLEW_LATENCY_PATH || options->by == CLEW_LATENCY_FUNCTION ||
		      options->by == CLEW_LATENCY_OPERATION;

	for (size_t i = 0; i < latency->groups.count; i++) {
		count += clew_latency_at(latency, i)->times.count;
		ns += clew_latency_at(latency, i)->times.sum;
	}
	if (left)
		fprintf(out, "and %zu more groups: --top %zu shows them\n", left,
			latency->groups.count);
	fprintf(out, "\n%" PRIu64 " %s%s in %zu group%s", count, what[options->by],
		count == 1 ? "" : "s", latency->groups.count,
		latency->groups.count == 1 ? "" : "s");
	/* The time of a call is in its callers' times, too, and that of a request in its thread's
	   work. */
	if (nested)
		fputc('\n', out);
	else
		fprintf(out, ", %s in all\n", CLEW_DURATION(ns));
	if (left_out->idle)
		fprintf(out, "%zu idle waits left out: --idle shows them\n", left_out->idle);
	if (left_out->elsewhere)
		fprintf(out, "%zu waits for no %s left out\n", left_out->elsewhere,
			options->by == CLEW_LATENCY_PEER ? "other host" : "device");
	if (latency->unplaced)
		fprintf(out,
			"%" PRIu64 " %s%s in none of them: more than %zu groups, or %d callers%s\n",
			latency->unplaced, what[options->by], latency->unplaced == 1 ? "" : "s",
			latency->most, CLEW_LATENCY_MOST_DEPTH,
			latency->room == SIZE_MAX ? "" : ", or no more room for histograms");
}

int clew_print_latency(FILE *out, const struct clew_latency *latency,
		       const struct clew_latency_options *options, size_t top,
		       const struct clew_latency_left_out *left_out)
{
	uint32_t *order;
	size_t count, shown = 0;
	int r = clew_latency_order(latency, &options->view, &order, &count);

	if (r < 0)
		return r;
	if (count && options->narrow)
		fprintf(out, "%s%9s %8s  %9s %9s %9s  %s%s\n", clew_style_begin(CLEW_STYLE_HEADING),
			"total", "count", "p50", "p99", "max", heading[options->by],
			clew_style_end(CLEW_STYLE_HEADING));
	else if (count)
		fprintf(out, "%s%9s %8s  %9s %9s %9s %9s %9s %9s  %s%s\n",
			clew_style_begin(CLEW_STYLE_HEADING), "total", "count", "mean", "p50",
			"p90", "p99", "p99.9", "max", heading[options->by],
			clew_style_end(CLEW_STYLE_HEADING));
	for (; shown < count && shown < top; shown++)
		print_group(out, clew_latency_at(latency, order[shown]), options->narrow);
	print_sums(out, latency, options, count - shown, left_out);
	free(order);
	return 0;
}
