/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Samples by their chains of functions.
 *
 * A chain has the frames that text shows (words/stack_shown.h); one of a task without a user stack
 * has the kernel's functions. Chains are sorted from the root on, so that chains with a common
 * beginning are adjacent.
 */
#include "words/samples.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "trace/stacks.h"
#include "words/stack.h"
#include "words/stack_shown.h"

#define LEAST_SHARED 5	/* fewer samples have no shares */
#define MOST_CALLERS 3	/* functions of a chain */
#define MOST_SPLIT   3	/* functions that one splits into */
#define LEAST_SPLIT  20 /* one of them has at least one in so many samples */

/* ---- chains ---- */

/* A function of a chain: its frame in the stack, and which of the frame's places it is. */
struct chain_link {
	uint64_t key;
	uint16_t frame, place;
};

/* The functions of a stack that are printed, from the root on. */
struct chain {
	const struct clew_trace_stack *stack;
	struct chain_link *links;
	uint32_t count;
	bool kernel;
};

static int by_chain(const void *a, const void *b)
{
	const struct chain *left = *(const struct chain *const *)a,
			   *right = *(const struct chain *const *)b;

	for (uint32_t i = 0; i < left->count && i < right->count; i++)
		if (left->links[i].key != right->links[i].key)
			return left->links[i].key < right->links[i].key ? -1 : 1;
	return left->count < right->count ? -1 : left->count > right->count;
}

/* Chains of samples, in order. */
struct chains {
	struct arena arena;
	struct map known; /* stack to struct chain */
	const struct chain **chains;
	size_t count;
};

static void chains_done(struct chains *chains)
{
	arena_done(&chains->arena);
	map_done(&chains->known);
	free(chains->chains);
}

static uint32_t count_places(const struct clew_trace *trace, const struct clew_stack_shown *shown)
{
	struct clew_stack_places at;
	uint32_t count = 0;

	for (uint32_t i = shown->first; i < shown->end; i++) {
		clew_trace_stack_places(trace, shown->stack->frames[i], shown->kernel, &at);
		count += (uint32_t)at.count;
	}
	return count;
}

static int make_chain(struct chains *chains, const struct clew_trace *trace,
		      const struct clew_trace_stack *stack, const struct clew_stack_shown *shown,
		      struct chain **ret_chain)
{
	struct chain *chain = arena_take(&chains->arena, sizeof(*chain));
	struct clew_stack_places at;
	uint32_t used = 0;

	if (!chain)
		return -ENOMEM;
	*chain = (struct chain){
		.stack = stack, .count = count_places(trace, shown), .kernel = shown->kernel};
	chain->links = arena_take(&chains->arena, chain->count * sizeof(*chain->links));
	if (!chain->links)
		return -ENOMEM;
	for (uint32_t i = shown->end; i-- > shown->first;) {
		clew_trace_stack_places(trace, stack->frames[i], shown->kernel, &at);
		for (size_t j = at.count; j-- > 0 && used < chain->count;)
			chain->links[used++] = (struct chain_link){
				.key = clew_stack_place_key(trace, &at.places[j], stack->frames[i],
							    shown->kernel),
				.frame = (uint16_t)i,
				.place = (uint16_t)j,
			};
	}
	*ret_chain = chain;
	return map_set(&chains->known, (uintptr_t)stack, 0, (uintptr_t)chain);
}

/* A sample without frames has no chain. */
static int add_chain(struct chains *chains, const struct clew_trace *trace,
		     const struct clew_task_stacks *sample)
{
	const struct clew_trace_stack *stack;
	struct clew_stack_shown shown = {};
	struct clew_sleep_stacks stacks;
	struct chain *chain;
	uint64_t *known;
	int r = 0;

	clew_trace_sample_stacks(trace, sample, &stacks);
	stack = stacks.user ?: stacks.kernel;
	if (!stack || !stack->count)
		return 0;
	known = map_get(&chains->known, (uintptr_t)stack, 0);
	if (known) {
		chain = (struct chain *)(uintptr_t)*known;
	} else {
		/* A chain without places: nothing of the stack is shown. */
		clew_stack_choose(trace, &stacks, CLEW_NO_CALL, true, &shown);
		r = make_chain(chains, trace, stack, &shown, &chain);
	}
	if (r >= 0)
		chains->chains[chains->count++] = chain;
	return r;
}

static int chains_make(const struct clew_trace *trace, const struct clew_samples *samples,
		       struct chains *ret_chains)
{
	const struct clew_task_stacks *const *all = samples->samples.data;
	int r = 0;

	*ret_chains = (struct chains){
		.chains = calloc(samples->samples.count + 1, sizeof(*ret_chains->chains))};
	if (!ret_chains->chains)
		return -ENOMEM;
	for (size_t i = 0; i < samples->samples.count && r >= 0; i++)
		r = add_chain(ret_chains, trace, all[i]);
	if (r < 0)
		chains_done(ret_chains);
	else
		qsort(ret_chains->chains, ret_chains->count, sizeof(*ret_chains->chains), by_chain);
	return r;
}

/* ---- text ---- */

/* Chains that have the functions of their first `depth` places in common. */
struct branch {
	size_t from, to;
	uint32_t depth;
};

static size_t branch_size(const struct branch *branch)
{
	return branch->to - branch->from;
}

static int largest_first(const void *a, const void *b)
{
	size_t left = branch_size(a), right = branch_size(b);

	return left < right ? 1 : left > right ? -1 : 0;
}

/* The largest branches of a branch, at most `most`. The number. */
static size_t split(const struct chains *chains, const struct branch *branch,
		    struct branch *ret_branches, size_t most)
{
	const uint32_t depth = branch->depth;
	size_t count = 0;

	for (size_t from = branch->from, to; from < branch->to; from = to) {
		const struct chain *first = chains->chains[from];
		struct branch found = {.from = from, .depth = depth + 1};

		for (to = from + 1;
		     to < branch->to && first->count > depth && chains->chains[to]->count > depth &&
		     chains->chains[to]->links[depth].key == first->links[depth].key;)
			to++;
		/* It is the branch's own function. */
		if (first->count <= depth)
			continue;
		found.to = to;
		if (count < most)
			ret_branches[count++] = found;
		else if (branch_size(&found) > branch_size(&ret_branches[most - 1]))
			ret_branches[most - 1] = found;
		qsort(ret_branches, count, sizeof(*ret_branches), largest_first);
	}
	return count;
}

static struct clew_stack_place place_of(const struct clew_trace *trace, const struct chain *chain,
					uint32_t index)
{
	const struct chain_link *link = &chain->links[index];
	struct clew_stack_places at;

	clew_trace_stack_places(trace, chain->stack->frames[link->frame], chain->kernel, &at);
	return at.places[link->place];
}

/* True if all chains of a branch are at the same line there. */
static bool one_line(const struct clew_trace *trace, const struct chains *chains,
		     const struct branch *branch, uint32_t index)
{
	const struct chain *first = chains->chains[branch->from];
	struct clew_stack_place place = place_of(trace, first, index), other;

	for (size_t i = branch->from + 1; i < branch->to && place.file; i++) {
		if (chains->chains[i] == chains->chains[i - 1])
			continue;
		other = place_of(trace, chains->chains[i], index);
		if (clew_stack_line_key(&other) != clew_stack_line_key(&place))
			return false;
	}
	return true;
}

/* Prints the function at a branch's end and its callers, `most` in all. One in which samples are at
 * several lines has no line. Functions without a name are told once a file. */
static void print_branch(FILE *out, const struct clew_trace *trace, const struct chains *chains,
			 const struct branch *branch, uint32_t most)
{
	struct clew_stack_nameless nameless = {};
	struct clew_stack_place place;
	uint32_t printed = 0;

	for (uint32_t index = branch->depth; index-- > 0 && printed < most;) {
		place = place_of(trace, chains->chains[branch->from], index);
		if (clew_stack_is_repeated(&nameless, &place))
			continue;
		if (!one_line(trace, chains, branch, index))
			place.line = 0;
		fputs(printed++ ? " <- " : "", out);
		clew_print_stack_place(out, &place);
	}
}

static double percent(size_t part, size_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The number that is printed. */
static size_t print_split(FILE *out, const struct clew_trace *trace, const struct chains *chains,
			  const struct branch *branches, size_t count, const char *lead,
			  size_t whole)
{
	size_t i;

	for (i = 0; i < count && branch_size(&branches[i]) * LEAST_SPLIT >= whole; i++) {
		fprintf(out, "%s%.0f %% in ", i ? ", " : lead,
			percent(branch_size(&branches[i]), whole));
		print_branch(out, trace, chains, &branches[i], 1);
	}
	return i;
}

/* `whole`: samples, also those without a chain. */
static void print_chains(FILE *out, const char *lead, const struct clew_trace *trace,
			 const struct chains *chains, size_t whole)
{
	struct branch branch = {.to = chains->count}, branches[MOST_SPLIT];
	size_t count, printed = 0;

	while ((count = split(chains, &branch, branches, MOST_SPLIT)) &&
	       branch_size(&branches[0]) * 2 >= whole)
		branch = branches[0];
	if (branch.depth) {
		fputs(lead, out);
		if (whole >= LEAST_SHARED)
			fprintf(out, "%.0f %% ", percent(branch_size(&branch), whole));
		fputs("in ", out);
		print_branch(out, trace, chains, &branch, MOST_CALLERS);
		fprintf(out, " (%zu of %zu sample%s)", branch_size(&branch), whole,
			whole == 1 ? "" : "s");
		lead = ": ";
	}
	if (whole >= LEAST_SHARED)
		printed = print_split(out, trace, chains, branches, count, lead, whole);
	if (printed && !branch.depth)
		fprintf(out, " (of %zu samples)", whole);
}

int clew_print_samples(FILE *out, const char *lead, const struct clew_trace *trace,
		       const struct clew_samples *samples)
{
	struct chains chains;
	int r;

	if (!samples->samples.count)
		return 0;
	r = chains_make(trace, samples, &chains);
	if (r < 0)
		return r;
	print_chains(out, lead, trace, &chains, samples->samples.count);
	chains_done(&chains);
	return 0;
}

int clew_print_segment_samples(FILE *out, const char *lead, const struct clew_trace *trace,
			       const struct clew_segment *const *segments, size_t count)
{
	struct clew_samples samples = {};
	int r = clew_samples_add_segments(&samples, trace, segments, count);

	if (r >= 0)
		r = clew_print_samples(out, lead, trace, &samples);
	clew_samples_done(&samples);
	return r;
}

void clew_print_stacks_told(FILE *out, const struct clew_trace *trace, uint64_t waited,
			    uint64_t with, const struct clew_samples *samples)
{
	size_t count = samples->samples.count, known = clew_samples_with_stack(trace, samples);

	if (!waited && !count)
		return;
	fputs("\nThere are ", out);
	if (waited)
		fprintf(out, "stacks for %.1f %% of the time that it waited%s",
			100.0 * (double)with / (double)waited, count ? ", and " : "");
	if (count)
		fprintf(out, "%zu sample%s of what ran", count, count == 1 ? "" : "s");
	if (known < count)
		fprintf(out, ", %zu of them with a stack", known);
	fputs(".\n", out);
}
