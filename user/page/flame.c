/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Flame graphs of the headline's program, or of all programs, where there are samples enough: the
 * code that waited, with what it waited for, and the code that ran. Callers are above what they
 * call; a frame is as wide as its share of the time, or of the samples.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/text.h"
#include "page/internal.h"
#include "stacks/tree.h"

#define LEAST_SAMPLES 200
#define LEAST_SHARE   0.0025 /* of the whole; narrower frames are left out */
#define MOST_DEPTH    64
#define ROW	      17 /* pixels */

struct flame {
	struct stacks stacks;
	bool ran;	   /* samples, and not waits */
	uint64_t *weights; /* by node: ns or samples, with all nodes below */
	uint8_t *depths;   /* by node, from 1; 0: left out */
	double *left;	   /* by node: where it begins, 0..1 */
	uint32_t *order;   /* nodes, of each parent the heaviest first */
	unsigned depth;	   /* the greatest */
};

/* The tasks of a program that the report is about. */
struct chosen_program {
	const struct report *report;
	uint32_t program;
};

static bool of_program(void *context, const struct clew_trace_task *task)
{
	const struct chosen_program *of = context;
	const struct report *report = of->report;

	return clew_summary_program(&report->summary, report->trace, task->serial) == of->program &&
	       clew_is_chosen(&report->chosen, report->trace, task->serial);
}

static size_t count_samples(const struct stacks *stacks)
{
	size_t count = 0;

	for (size_t i = 1; i < stacks->nodes.count; i++)
		count += stacks_node(stacks, i)->count;
	return count;
}

static int heaviest_first(const void *left, const void *right, void *context)
{
	const struct flame *flame = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint32_t of_a = stacks_node(&flame->stacks, a)->parent,
		 of_b = stacks_node(&flame->stacks, b)->parent;

	if (of_a != of_b)
		return of_a < of_b ? -1 : 1;
	if (flame->weights[a] != flame->weights[b])
		return flame->weights[a] > flame->weights[b] ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Adds up the weights. 0 or -ENOMEM. */
static int weigh(struct flame *flame)
{
	const struct stacks *stacks = &flame->stacks;
	size_t count = stacks->nodes.count;

	flame->weights = calloc(count, sizeof(*flame->weights));
	flame->depths = calloc(count, sizeof(*flame->depths));
	flame->left = calloc(count, sizeof(*flame->left));
	flame->order = calloc(count, sizeof(*flame->order));
	if (!flame->weights || !flame->depths || !flame->left || !flame->order)
		return -ENOMEM;
	for (size_t i = count - 1; i > 0; i--) {
		const struct stack_node *node = stacks_node(stacks, i);

		flame->weights[i] += flame->ran ? node->count : node->ns;
		flame->weights[node->parent] += flame->weights[i];
		flame->order[i] = (uint32_t)i;
	}
	qsort_r(flame->order + 1, count - 1, sizeof(*flame->order), heaviest_first, flame);
	return 0;
}

/* A parent's number is less than its children's: `order` has it before them. */
static void place(struct flame *flame)
{
	const struct stacks *stacks = &flame->stacks;
	uint32_t before = UINT32_MAX;
	double at = 0;

	for (size_t i = 1; i < stacks->nodes.count; i++) {
		uint32_t number = flame->order[i], parent = stacks_node(stacks, number)->parent;
		double share = (double)flame->weights[number] / (double)flame->weights[0];

		at = parent == before ? at : flame->left[parent];
		before = parent;
		flame->left[number] = at;
		at += share;
		if (share < LEAST_SHARE || (parent && !flame->depths[parent]) ||
		    flame->depths[parent] == MOST_DEPTH)
			continue;
		flame->depths[number] = flame->depths[parent] + 1;
		if (flame->depths[number] > flame->depth)
			flame->depth = flame->depths[number];
	}
}

static void put_frame(struct page *page, const struct flame *flame, uint32_t number)
{
	const struct stack_node *node = stacks_node(&flame->stacks, number);
	const char *name = stacks_place(&flame->stacks, node->place)->name;
	size_t size = strlen(name);
	bool kernel = size > 4 && !strcmp(name + size - 4, "_[k]");
	int shown = (int)(kernel ? size - 4 : size);
	struct document *document = &page->document;
	double share = (double)flame->weights[number] / (double)flame->weights[0];
	enum page_class class = page_class_of_kind(node->kind);

	document_put(document, "<i class=\"");
	/* Waits for work are not among these: who was waited for did something else. */
	class = class == PAGE_IDLE ? PAGE_OTHERS : class;
	if (node->count && !flame->ran)
		document_put(document, "k%u", class);
	else
		document_put(document, kernel ? "kernel" : "code");
	document_put(document, "\" style=\"left:%.3f%%;width:%.3f%%;top:%upx\" title=\"",
		     100 * flame->left[number], 100 * share, (flame->depths[number] - 1U) * ROW);
	document_say(document, "%.*s%s: %.1f %%, ", shown, name, kernel ? " (kernel)" : "",
		     100 * share);
	if (flame->ran)
		document_say(document, "%llu samples", (unsigned long long)flame->weights[number]);
	else
		document_say(document, "%s", CLEW_DURATION(flame->weights[number]));
	document_put(document, "\">");
	document_say(document, "%.*s", shown, name);
	document_put(document, "</i>\n");
}

static int put_flame(struct page *page, struct flame *flame, const char *name)
{
	struct document *document = &page->document;
	int r = weigh(flame);

	if (r < 0 || !flame->weights[0])
		return r;
	place(flame);
	document_put(document, "<h2>Where ");
	clew_print_safe(document_words(document), name);
	if (flame->ran)
		document_say(document, " ran: %llu samples", (unsigned long long)flame->weights[0]);
	else
		document_say(document, " waited: %s in all threads",
			     CLEW_DURATION(flame->weights[0]));
	document_put(document, "</h2>\n<div class=\"flame\" style=\"height:%upx\">\n",
		     flame->depth * ROW);
	for (size_t i = 1; i < flame->stacks.nodes.count; i++)
		if (flame->depths[flame->order[i]])
			put_frame(page, flame, flame->order[i]);
	document_put(document, "</div>\n");
	return 0;
}

static void flame_done(struct flame *flame)
{
	free(flame->weights);
	free(flame->depths);
	free(flame->left);
	free(flame->order);
	stacks_done(&flame->stacks);
}

/* Both graphs of the chosen tasks. 1: there are too few samples; 0 or -ENOMEM. */
static int put_both(struct page *page, const struct stacks_asked *asked, const char *name)
{
	struct flame ran = {.ran = true}, waited = {};
	int r = stacks_begin(&ran.stacks);

	if (r >= 0)
		r = stacks_begin(&waited.stacks);
	if (r >= 0) {
		stacks_on_cpu(&ran.stacks, asked);
		stacks_off_cpu(&waited.stacks, asked);
		r = ran.stacks.error ?: waited.stacks.error;
	}
	if (r >= 0 && count_samples(&ran.stacks) < LEAST_SAMPLES)
		r = 1;
	if (r == 0) {
		document_put(&page->document, "<section id=\"flames\" class=\"card\">\n");
		r = put_flame(page, &waited, name);
		if (r >= 0)
			r = put_flame(page, &ran, name);
		document_put(&page->document, "</section>\n");
	}
	flame_done(&ran);
	flame_done(&waited);
	return r;
}

int page_put_flames(struct page *page)
{
	const struct report *report = page->report;
	struct chosen_program of = {report, report->program};
	struct stacks_asked asked = {
		.trace = page->trace,
		.chosen = {.wants = of_program, .context = &of},
		.from = report->from,
		.to = report->to,
		.relations = report->relations,
	};
	int r = 1;

	if (report->program != UINT32_MAX)
		r = put_both(page, &asked, report->summary.programs[report->program].name);
	if (r == 1) {
		asked.chosen = report->chosen;
		r = put_both(page, &asked, report->chosen.some ? "these threads" : "all programs");
	}
	return r < 0 ? r : 0;
}
