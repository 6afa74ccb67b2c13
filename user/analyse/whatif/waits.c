/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gaps of a trace that was run again: those that the simulation made, or made longer
 * or shorter, by waiting for a lock or in the run queue. A wait's attributes stay, but for those
 * that the simulation knows better: who had the lock, and how much was run queue.
 */
#include "model/internal.h"
#include <clew/tokens.h>
#include <inttypes.h>
#include <stdio.h>

#include "analyse/path/internal.h"
#include "analyse/whatif/cpus.h"
#include "analyse/whatif/queues.h"
#include "analyse/whatif/result.h"

static int add_wait(struct result *result, const struct new_wait *wait, uint32_t *ret_wait)
{
	if (result->new_wait_count == result->new_wait_capacity) {
		uint32_t capacity = result->new_wait_capacity ? 2 * result->new_wait_capacity : 64;
		struct new_wait *grown;

		if ((uint64_t)capacity + result->w->base.wait_count >= CLEW_NONE)
			return -E2BIG;
		grown = reallocarray(result->new_waits, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		result->new_waits = grown;
		result->new_wait_capacity = capacity;
	}
	result->new_waits[result->new_wait_count] = *wait;
	*ret_wait = result->w->base.wait_count + result->new_wait_count++;
	return 0;
}

/* From when an ES would seem to have been ready, by its wait and dependency. */
static clew_time seems_ready(const struct whatif *w, uint32_t es)
{
	const struct clew_es *at = &w->es[es];
	uint32_t in = w->base.es[es].in, row = w->base.es[es].wait;
	const char *runqueue =
		row == CLEW_NONE
			? NULL
			: clew_model_attribute(&w->base, w->base.waits[row].attributes, "runqueue");
	clew_time ready = at->start, end;

	if (row != CLEW_NONE && w->base.waits[row].kind == CLEW_SEGMENT_RUNQUEUE)
		return at[-1].end;
	if (runqueue) {
		ready = at->start - (clew_time)strtoull(runqueue, NULL, 10);
	} else if (in != CLEW_NONE && w->base.dependencies[in].origins.count) {
		end = w->es[w->base.origins[w->base.dependencies[in].origins.first]].end;
		ready = end <= at->start ? end : ready;
	}
	return ready < at[-1].end ? at[-1].end : ready;
}

/* True if who waits for a lock does it as recorded. */
static bool is_as_recorded(const struct whatif *w, uint32_t es, const struct section *section)
{
	const struct clew_es *old = &w->base.es[es], *new = &w->es[es];

	if (!section->waits || new->start - new[-1].end != old->start - old[-1].end)
		return false;
	if (section->from == CLEW_NONE)
		return !section->wakes;
	return w->base.origins[w->base.dependencies[old->in].origins.first] ==
	       w->queues->sections[section->from].release;
}

/* For an ES behind a gap. `queue`: a shared row of nothing but run queue, made when it is needed.
 */
static int type_wait(struct result *result, uint32_t es, uint32_t *queue)
{
	struct whatif *w = result->w;
	const struct clew_es *at = &w->es[es];
	uint32_t row = w->base.es[es].wait, number = w->queues ? w->queues->begin_of[es] : 0;
	bool on_cpu = cpus_uses(w, w->base.es[es].span);
	struct new_wait wait = {
		.kind = CLEW_WAIT_UNKNOWN, .attributes = CLEW_NONE, .section = CLEW_NONE};
	const struct section *section = NULL;
	clew_time ready;
	bool changes = false;

	if (row != CLEW_NONE) {
		wait.kind = w->base.waits[row].kind;
		wait.attributes = w->base.waits[row].attributes;
	}
	if (number && w->queues->queues[w->queues->sections[number - 1].queue].lock)
		section = &w->queues->sections[number - 1];
	if (section && section->from == CLEW_NONE && !section->waits)
		section = NULL;
	if (section && !is_as_recorded(w, es, section)) {
		wait.kind = w->queues->queues[section->queue].kind;
		wait.section = number - 1;
		changes = true;
	}
	if (on_cpu) {
		ready = w->cpus->ready[es] - w->cpus->recorded[es].kept;
		ready = ready < at[-1].end ? at[-1].end : ready;
		if (ready == at[-1].end && (!section || section->from == CLEW_NONE)) {
			if (wait.kind == CLEW_SEGMENT_RUNQUEUE)
				return 0;
			wait = (struct new_wait){.kind = CLEW_SEGMENT_RUNQUEUE,
						 .attributes = CLEW_NONE,
						 .section = CLEW_NONE};
			if (*queue == CLEW_NONE && add_wait(result, &wait, queue) < 0)
				return -ENOMEM;
			w->es[es].wait = *queue;
			return 0;
		}
		changes |= seems_ready(w, es) != ready;
		wait.runqueue = at->start - ready;
	} else if (section && row != CLEW_NONE) {
		wait.runqueue = w->base.es[es].start - gap_ready(&w->base, es);
	}
	return changes ? add_wait(result, &wait, &w->es[es].wait) : 0;
}

int whatif_type_waits(struct result *result)
{
	struct whatif *w = result->w;
	struct new_wait preempted = {
		.kind = CLEW_SEGMENT_RUNQUEUE, .attributes = CLEW_NONE, .section = CLEW_NONE};
	uint32_t queue = CLEW_NONE;
	int r = 0;

	if (!w->cpus && !w->queues)
		return 0;
	/* For the cuts: always the first one. */
	if (w->cpus)
		r = add_wait(result, &preempted, &queue);
	for (uint32_t es = 1; es < w->base.es_count && r == 0; es++)
		if (w->es[es].span == w->es[es - 1].span && w->es[es].start > w->es[es - 1].end &&
		    (cpus_uses(w, w->es[es].span) || (w->queues && w->queues->begin_of[es])))
			r = type_wait(result, es, &queue);
	if (r < 0 || result->new_wait_count == 0)
		return r;
	result->waits = malloc(((size_t)w->base.wait_count + result->new_wait_count) *
			       sizeof(*result->waits));
	if (!result->waits)
		return -ENOMEM;
	if (w->base.wait_count)
		memcpy(result->waits, w->base.waits, w->base.wait_count * sizeof(*result->waits));
	for (uint32_t i = 0; i < result->new_wait_count; i++)
		result->waits[w->base.wait_count + i] = (struct clew_model_wait){
			.kind = result->new_waits[i].kind, .attributes = CLEW_NONE};
	return 0;
}

/* ---- attributes ---- */

struct describer {
	const struct result *result;
	struct clew_model *model;
	uint32_t runqueue, holder, object; /* strings */
};

static int add_attribute(struct clew_model *model, uint32_t key, const char *text)
{
	struct clew_attribute attribute = {.key = key};
	int r = strings_add(model_strings(model), text, &attribute.value);

	return r < 0 ? r : model_add(model_column(model, COLUMN_ATTRIBUTE), &attribute);
}

/* A row of an attribute `holder`. */
static void write_holder(FILE *out, const struct whatif *w, uint32_t span, clew_time from,
			 clew_time to)
{
	while (w->base.spans[span].parent != CLEW_NONE)
		span = w->base.spans[span].parent;
	for (const char *c = clew_model_string(w->model, w->base.spans[span].name); *c; c++)
		fprintf(out, *c == ' ' || *c == ',' || *c == '\\' ? "\\%c" : "%c", *c);
	fprintf(out, " %" PRId64 " %" PRId64 " observed", from, to);
}

/* Its holders in turn, from the one when this ES arrived to the one that released it for this ES.
 */
static int write_holders(FILE *out, const struct whatif *w, const struct section *section)
{
	struct vector chain = {.item = sizeof(uint32_t)};
	const struct section *sections = w->queues->sections;
	int r = 0;

	for (uint32_t holder = section->from; holder != CLEW_NONE && r == 0;
	     holder = sections[holder].from) {
		r = list_add(&chain, holder);
		if (sections[holder].granted_at <= section->entered_at)
			break;
	}
	for (size_t i = chain.count; i-- > 0 && r == 0;) {
		const struct section *holder = &sections[((const uint32_t *)chain.data)[i]];
		clew_time from = holder->granted_at > section->entered_at ? holder->granted_at
									  : section->entered_at;
		clew_time to = i ? sections[((const uint32_t *)chain.data)[i - 1]].granted_at
				 : section->granted_at;

		write_holder(out, w, holder->span, from, to);
		if (i)
			fputc(',', out);
	}
	vector_done(&chain);
	return r;
}

static int describe_section(const struct describer *d, const struct new_wait *wait, bool has_object)
{
	const struct whatif *w = d->result->w;
	const struct section *section = &w->queues->sections[wait->section];
	uint32_t object = w->queues->queues[section->queue].object;
	char *text = NULL;
	size_t size;
	FILE *out;
	int r = 0;

	if (!has_object && object != CLEW_NONE)
		r = model_add(model_column(d->model, COLUMN_ATTRIBUTE),
			      &(struct clew_attribute){.key = d->object, .value = object});
	if (r < 0 || section->from == CLEW_NONE)
		return r;
	out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	r = write_holders(out, w, section);
	if (fclose(out) != 0)
		r = -ENOMEM;
	if (r == 0)
		r = add_attribute(d->model, d->holder, text);
	free(text);
	return r;
}

static int describe(const struct describer *d, const struct new_wait *wait,
		    struct clew_model_wait *row)
{
	struct vector *attributes = model_column(d->model, COLUMN_ATTRIBUTE),
		      *lists = model_column(d->model, COLUMN_ATTRIBUTE_LIST);
	const struct clew_model *like = d->result->w->model;
	size_t first = attributes->count;
	bool has_object = false;
	uint32_t end;
	char number[24];
	int r = 0;

	for (uint32_t i = wait->attributes == CLEW_NONE ? 0
							: like->attribute_lists[wait->attributes];
	     wait->attributes != CLEW_NONE && i < like->attribute_lists[wait->attributes + 1] &&
	     r == 0;
	     i++) {
		const struct clew_attribute *attribute = &like->attributes[i];

		has_object |= attribute->key == d->object;
		if (attribute->key != d->runqueue &&
		    (attribute->key != d->holder || wait->section == CLEW_NONE))
			r = model_add(attributes, attribute);
	}
	if (r == 0 && wait->section != CLEW_NONE)
		r = describe_section(d, wait, has_object);
	if (r == 0 && wait->runqueue) {
		snprintf(number, sizeof(number), "%" PRId64, wait->runqueue);
		r = add_attribute(d->model, d->runqueue, number);
	}
	if (r < 0 || attributes->count == first)
		return r;
	if (attributes->count >= CLEW_NONE)
		return -E2BIG;
	row->attributes = (uint32_t)lists->count - 1;
	end = (uint32_t)attributes->count;
	return model_add(lists, &end);
}

int whatif_describe_waits(const struct result *result, struct clew_model *model)
{
	struct clew_model_wait *rows;
	struct describer d = {.result = result, .model = model};
	int r;

	if (!result->new_wait_count)
		return 0;
	rows = (struct clew_model_wait *)model_column(model, COLUMN_WAIT)->data +
	       result->w->base.wait_count;
	r = strings_add(model_strings(model), "runqueue", &d.runqueue);
	if (r == 0)
		r = strings_add(model_strings(model), "holder", &d.holder);
	if (r == 0)
		r = strings_add(model_strings(model), "object", &d.object);
	for (uint32_t i = 0; i < result->new_wait_count && r == 0; i++)
		r = describe(&d, &result->new_waits[i], &rows[i]);
	model->attributes = model_column(model, COLUMN_ATTRIBUTE)->data;
	model->attribute_count = (uint32_t)model_column(model, COLUMN_ATTRIBUTE)->count;
	model->attribute_lists = model_column(model, COLUMN_ATTRIBUTE_LIST)->data;
	model->attribute_list_count =
		(uint32_t)model_column(model, COLUMN_ATTRIBUTE_LIST)->count - 1;
	return r;
}
