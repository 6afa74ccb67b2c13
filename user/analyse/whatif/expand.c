/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An ES that was taken off its CPU and put on one again becomes several, with the run queue between
 * them: what it waited for stays at its beginning, what it led to at its end.
 */
#include "analyse/whatif/cpus.h"
#include "analyse/whatif/result.h"

struct expander {
	struct result *result;
	uint32_t *first; /* of each ES, and behind the last: where it begins now */
	uint32_t wait;
};

static uint32_t result_es(const struct result *result, uint32_t es)
{
	return result->moved ? result->moved[es] : es;
}

static void count(struct expander *e)
{
	const struct whatif_cpus *c = e->result->w->cpus;
	uint32_t added = 0;
	size_t cut = 0;

	for (uint32_t es = 0; es <= e->result->out.es_count; es++) {
		e->first[es] = es + added;
		for (; cut < c->cut_count && result_es(e->result, c->cuts[cut].es) == es; cut++)
			added++;
	}
}

/* One ES into its place, with its cuts; nothing behind it is needed any more. */
static void expand(const struct expander *e, uint32_t es, const struct cut *cuts)
{
	const struct clew_mark *marks = e->result->marks;
	struct clew_es *all = e->result->w->es, old = all[es];
	uint32_t pieces = e->first[es + 1] - e->first[es], mark = old.mark;

	for (uint32_t i = 0; i < pieces; i++) {
		struct clew_es *piece = &all[e->first[es] + i];

		*piece = (struct clew_es){.span = old.span,
					  .in = CLEW_NONE,
					  .out = CLEW_NONE,
					  .wait = e->wait,
					  .mark = mark};
		piece->start = i ? cuts[i - 1].to : old.start;
		piece->end = i + 1 < pieces ? cuts[i].from : old.end;
		if (i == 0) {
			piece->in = old.in;
			piece->wait = old.wait;
		}
		if (i + 1 == pieces)
			piece->out = old.out;
		for (; i + 1 < pieces && mark < old.mark_end && marks[mark].at <= piece->end;)
			mark++;
	}
}

static void expand_all(struct expander *e)
{
	struct result *result = e->result;
	const struct whatif_cpus *c = result->w->cpus;
	struct clew_es *all = result->w->es;
	size_t cut = c->cut_count;

	for (uint32_t es = result->out.es_count, end = result->out.mark_count; es-- > 0;) {
		while (cut > 0 && result_es(result, c->cuts[cut - 1].es) == es)
			cut--;
		all[es].mark_end = end;
		end = all[es].mark;
		expand(e, es, c->cuts + cut);
	}
	for (uint32_t i = 0; i < result->out.origin_count; i++)
		result->origins[i] = e->first[result->origins[i] + 1] - 1;
	for (uint32_t i = 0; i < result->out.destination_count; i++)
		result->destinations[i] = e->first[result->destinations[i]];
	for (uint32_t i = 0; i < result->out.span_count; i++) {
		struct clew_range *range = &result->spans[i].elementary;
		uint32_t first = e->first[range->first];

		*range = (struct clew_range){first, e->first[range->first + range->count] - first};
	}
	result->out.es_count = e->first[result->out.es_count];
}

int whatif_expand(struct result *result)
{
	struct whatif *w = result->w;
	struct expander e = {.result = result, .wait = w->base.wait_count};
	size_t es_count;

	if (!w->cpus || !w->cpus->cut_count)
		return 0;
	es_count = result->out.es_count + w->cpus->cut_count;
	if (es_count >= CLEW_NONE - 1)
		return -E2BIG;
	w->es_memory.count = w->base.es_count;
	if (vector_reserve(&w->es_memory, es_count + 1) < 0)
		return -ENOMEM;
	w->es = w->es_memory.data;
	e.first = malloc(((size_t)result->out.es_count + 1) * sizeof(*e.first));
	if (!e.first)
		return -ENOMEM;
	count(&e);
	expand_all(&e);
	free(e.first);
	return 0;
}
