/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the holders of the resource that a victim waited for. A gap is a wait, and from when that
 * ended a time in the run queue. The wait of a lock goes to the holders that it names, or to who
 * released it; the wait for a request to who was ahead at the device
 * (devices.c). The run queue goes to the runs on the CPU that the victim ran on
 * next (cpus.c). While a woken waiter was coming for the lock, its run queue was what the
 * victim waited for.
 */
#include "analyse/blame/internal.h"

#include <string.h>

struct resources {
	struct blame *blame;
	struct map roots;	 /* string of a name -> the first root span named so */
	struct blame_cpus *cpus; /* NULL: the trace knows none */
	struct blame_devices *devices;
	uint32_t last_slice; /* the ES that last_slice() found last */
	bool *queued;	     /* of each span: whether its run queue counts */
};

static uint32_t root_named(const struct resources *resources, uint32_t string)
{
	return blame_root_named(&resources->roots, string);
}

/* True if a wait that ends then is one of those that were asked for. */
static bool is_asked_for(const struct resources *resources, clew_time end)
{
	const struct clew_blame_options *options = resources->blame->options;

	return blame_asks_for_all(options) || (end >= options->ends_from && end < options->ends_to);
}

/* ---- locks ---- */

static int charge_holders(struct resources *resources, uint32_t victim, struct stretch wait,
			  const char *holders, uint32_t kind, const char *object)
{
	struct holder_row row;
	int r = 0;

	while (r == 0 && next_holder(&holders, wait.from, wait.to, &row)) {
		uint32_t holder = root_named(
			resources, clew_model_find_string(resources->blame->model, row.name));

		if (holder == CLEW_NONE)
			continue;
		if (row.coming)
			r = resources->cpus ? blame_cpu(resources->cpus, victim, holder,
							(struct stretch){row.from, row.to})
					    : 0;
		else
			r = blame_charge_stretch(resources->blame, victim, holder,
						 (struct stretch){row.from, row.to},
						 (struct charge){.kind = kind,
								 .resource = object,
								 .evidence = row.evidence});
	}
	return r;
}

/* Rows of "START END LOCK TYPE HOLDER": the victim ran, but only went round and round. */
static int charge_spins(struct resources *resources, uint32_t victim)
{
	const struct clew_model *model = resources->blame->model;
	const char *at = clew_model_attribute(model, model->spans[victim].attributes, "spins");
	char word[512];

	while (at && *at) {
		clew_time times[2] = {0};
		uint32_t holder;
		int r;

		for (unsigned i = 0; i < 2; i++)
			if (row_word(&at, word, sizeof(word)))
				times[i] = (clew_time)strtoull(word, NULL, 10);
		while (*at && *at != ',')
			row_word(&at, word, sizeof(word));
		at += *at == ',';
		holder = root_named(resources, clew_model_find_string(model, word));
		if (holder == CLEW_NONE || !is_asked_for(resources, times[1]))
			continue;
		r = blame_charge_stretch(resources->blame, victim, holder,
					 (struct stretch){times[0], times[1]},
					 (struct charge){.kind = CLEW_WAIT_LOCK});
		if (r < 0)
			return r;
	}
	return 0;
}

/* The time in the run queue before an ES. */
static struct stretch in_runqueue(const struct blame *blame, uint32_t es)
{
	const struct clew_model *model = blame->model;
	struct stretch wait = {model->es[es].start, model->es[es].start};
	uint32_t trigger;

	if (!clew_model_is_first(model, es)) {
		wait.from = gap_ready(model, es);
	} else {
		trigger = usable_trigger(model, es);
		if (trigger != CLEW_NONE)
			wait.from = model->es[trigger].end;
	}
	return wait;
}

/* ---- limits ---- */

/* True if a wait is for a limit of a cgroup: its CPU quota, or its memory. */
static bool is_limited(uint32_t kind, const char *object)
{
	return (kind == CLEW_WAIT_THROTTLE || kind == CLEW_WAIT_MEMORY) && object &&
	       !strncmp(object, "cgroup", strlen("cgroup"));
}

/* ---- all of it ---- */

/* True if the wait before an ES goes on in a later one. */
static bool is_retried(const struct clew_model *model, uint32_t es)
{
	uint32_t row = model->es[es].wait;

	return row != CLEW_NONE &&
	       clew_model_attribute(model, model->waits[row].attributes, "retried");
}

/* The ES before which the last slice of a wait ended: `es` itself, unless it was retried. */
static uint32_t last_slice(struct resources *resources, uint32_t es)
{
	const struct clew_model *model = resources->blame->model;
	uint32_t at = es;

	if (!is_retried(model, es))
		return es;
	/* The slices before it have the same last one. */
	if (es < resources->last_slice &&
	    model->es[es].span == model->es[resources->last_slice].span)
		return resources->last_slice;
	do
		if (clew_model_is_last(model, at++))
			return es;
	while (model->es[at].wait == CLEW_NONE ||
	       model->waits[model->es[at].wait].kind != model->waits[model->es[es].wait].kind ||
	       is_retried(model, at));
	return resources->last_slice = at;
}

/* That of the dependency to an ES. */
static unsigned evidence_of(const struct clew_model *model, uint32_t es)
{
	const char *name = clew_model_attribute(
		model, model->dependencies[model->es[es].in].attributes, "evidence");

	for (unsigned i = 0; name && i < CLEW_EVIDENCE_COUNT; i++)
		if (!strcmp(name, clew_evidence_name(i)))
			return i;
	return CLEW_EVIDENCE_EXACT;
}

static int charge_es(struct resources *resources, uint32_t es)
{
	const struct clew_model *model = resources->blame->model;
	uint32_t victim = model->es[es].span, last = last_slice(resources, es),
		 trigger = usable_trigger(model, last), row = model->es[es].wait,
		 kind = CLEW_WAIT_UNKNOWN;
	const char *holders = NULL, *object = NULL;
	struct stretch queue = in_runqueue(resources->blame, es), wait;
	struct charge charge;
	int r = 0;

	if (resources->cpus && queue.from < queue.to)
		r = blame_cpu(resources->cpus, victim, victim, queue);
	if (clew_model_is_first(model, es) || r < 0)
		return r;
	wait = (struct stretch){model->es[es - 1].end, queue.from};
	if (wait.from >= wait.to)
		return 0;
	if (row != CLEW_NONE) {
		kind = model->waits[row].kind;
		object = clew_model_attribute(model, model->waits[row].attributes, "object");
		holders = clew_model_attribute(model, model->waits[row].attributes, "holder");
	}
	charge = (struct charge){.kind = kind, .resource = object};
	if (is_limited(kind, object)) {
		wait = blame_part_of(resources->blame, wait);
		charge.ns = wait.to - wait.from;
		return blame_charge(resources->blame, victim, CLEW_NONE, &charge);
	}
	if (holders)
		return charge_holders(resources, victim, wait, holders, kind, object);
	if (trigger == CLEW_NONE)
		return 0;
	charge.evidence = evidence_of(model, last);
	if ((kind == CLEW_WAIT_FUTEX || kind == CLEW_WAIT_LOCK) &&
	    !strcmp(clew_model_string(model,
				      model->types[model->dependencies[model->es[last].in].type]),
		    "unlock"))
		return blame_charge_stretch(
			resources->blame, victim,
			resources->blame->innermost
				? resources->blame->threads[model->es[trigger].span]
				: model->es[trigger].span,
			wait, charge);
	return resources->devices ? blame_requests(resources->devices, victim, wait,
						   model->es[trigger].span, kind, charge.evidence)
				  : 0;
}

/* The victims, and those that were coming while a victim waited for a lock. */
static int find_queued(struct resources *resources)
{
	const struct blame *blame = resources->blame;
	const struct clew_model *model = blame->model;
	struct holder_row row;

	resources->queued = malloc(model->span_count + 1);
	if (!resources->queued)
		return -ENOMEM;
	memset(resources->queued, 0, model->span_count);
	for (uint32_t span = 0; span < model->span_count; span++)
		resources->queued[blame->threads[span]] |= blame->victims[span];
	for (uint32_t es = 0; es < model->es_count; es++) {
		uint32_t wait = model->es[es].wait, root;
		const char *holders;

		if (wait == CLEW_NONE || !blame->victims[model->es[es].span])
			continue;
		holders = clew_model_attribute(model, model->waits[wait].attributes, "holder");
		while (holders && next_holder(&holders, INT64_MIN, INT64_MAX, &row)) {
			root = row.coming ? root_named(resources,
						       clew_model_find_string(model, row.name))
					  : CLEW_NONE;
			if (root != CLEW_NONE)
				resources->queued[root] = true;
		}
	}
	return 0;
}

static int prepare(struct resources *resources)
{
	const struct clew_model *model = resources->blame->model;
	int r = 0;

	for (uint32_t root = model->first_root; root != CLEW_NONE && r == 0;
	     root = model->spans[root].next_sibling)
		if (!map_get(&resources->roots, model->spans[root].name, 0))
			r = map_set(&resources->roots, model->spans[root].name, 0, root);
	if (r == 0)
		r = find_queued(resources);
	if (r == 0)
		r = blame_cpus_new(resources->blame, &resources->roots, resources->queued,
				   &resources->cpus);
	return r == 0 ? blame_devices_new(resources->blame, &resources->roots, &resources->devices)
		      : r;
}

int blame_resources(struct blame *blame)
{
	struct resources resources = {.blame = blame};
	const struct clew_model *model = blame->model;
	int r = prepare(&resources);

	for (uint32_t es = 0; es < model->es_count && r == 0; es++)
		if (blame->victims[model->es[es].span] &&
		    is_asked_for(&resources, model->es[es].start))
			r = charge_es(&resources, es);
	for (uint32_t root = model->first_root; root != CLEW_NONE && r == 0;
	     root = model->spans[root].next_sibling)
		if (blame->victims[root])
			r = charge_spins(&resources, root);
	if (r == 0 && !resources.cpus) {
		/* A span that runs on a device has no CPU. */
		for (uint32_t span = 0; span < model->span_count && resources.devices; span++)
			blame->antagonists[span] = blame->antagonists[span] &&
						   !blame_on_device(resources.devices, span);
		r = blame_running(blame, CLEW_SEGMENT_RUNQUEUE, in_runqueue);
	}
	blame_devices_free(resources.devices);
	blame_cpus_free(resources.cpus);
	free(resources.queued);
	map_done(&resources.roots);
	return r;
}
