/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A release of a lock leads to the next holder: dependencies that came from another one
 * go, and new ones come.
 */
#include "analyse/whatif/queues.h"
#include "analyse/whatif/result.h"

/* The place among the destinations of the dependency that an ES waited for. */
static uint32_t slot_of(const struct whatif *w, uint32_t es)
{
	struct clew_range range = w->base.dependencies[w->base.es[es].in].destinations;

	for (uint32_t i = range.first; i < range.first + range.count; i++)
		if (w->base.destinations[i] == es)
			return i;
	return CLEW_NONE;
}

static int choose(struct result *result, const struct section *section)
{
	struct whatif *w = result->w;
	uint32_t in = w->base.es[section->begin].in, release, slot;

	release =
		section->from == CLEW_NONE ? CLEW_NONE : w->queues->sections[section->from].release;
	if (section->waits) {
		/* One that nobody let go for is as it was if it had not waited then. */
		if (in == CLEW_NONE ||
		    w->base.origins[w->base.dependencies[in].origins.first] == release ||
		    (release == CLEW_NONE && !section->wakes))
			return 0;
		slot = slot_of(w, section->begin);
		if (slot == CLEW_NONE || whatif_fate(w, slot) == FATE_REMOVED)
			return 0;
		if (!w->fate)
			w->fate = calloc((size_t)w->base.destination_count + 1, sizeof(*w->fate));
		if (!w->fate)
			return -ENOMEM;
		w->fate[slot] = FATE_REMOVED;
	} else if (in != CLEW_NONE) {
		return 0;
	}
	if (release != CLEW_NONE)
		result->links[result->link_count++] =
			(struct link){.origin = release, .destination = section->begin};
	return 0;
}

int whatif_choose_links(struct result *result)
{
	const struct whatif_queues *q = result->w->queues;
	int r = 0;

	if (!q)
		return 0;
	result->links = malloc(((size_t)q->section_count + 1) * sizeof(*result->links));
	if (!result->links)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->section_count && r == 0; i++)
		if (q->queues[q->sections[i].queue].lock && q->sections[i].granted)
			r = choose(result, &q->sections[i]);
	return r;
}

static uint32_t unlock_type(const struct clew_model *model)
{
	for (uint32_t type = 0; type < model->type_count; type++)
		if (!strcmp(clew_model_string(model, model->types[type]), "unlock"))
			return type;
	return CLEW_NONE;
}

/* For each link the dependency that it becomes a destination of, the number behind the last for
 * a new one each; CLEW_NONE: none. */
static uint32_t choose_dependencies(struct result *result, uint32_t type, uint32_t *chosen)
{
	struct whatif *w = result->w;
	uint32_t added = 0;

	for (uint32_t i = 0; i < result->link_count; i++) {
		struct clew_es *origin = &w->es[result->links[i].origin],
			       *destination = &w->es[result->links[i].destination];

		chosen[i] = CLEW_NONE;
		if (destination->in != CLEW_NONE)
			continue;
		if (origin->out == CLEW_NONE)
			origin->out = result->out.dependency_count + added++;
		else if (origin->out < result->out.dependency_count &&
			 result->dependencies[origin->out].type != type)
			continue;
		chosen[i] = destination->in = origin->out;
	}
	return added;
}

/* Destinations of one dependency are neighbours: all move to where there is room. */
static int rebuild(struct result *result, uint32_t type, uint32_t added, const uint32_t *chosen)
{
	uint32_t count = result->out.dependency_count + added,
		 destination_count = result->out.destination_count, origin, first = 0;
	uint32_t *destinations = malloc(((size_t)destination_count + result->link_count + 1) *
					sizeof(*destinations));
	struct clew_dependency *dependencies =
		reallocarray(result->dependencies, (size_t)count + 1, sizeof(*dependencies));
	uint32_t *origins = reallocarray(
		result->origins, (size_t)result->out.origin_count + added + 1, sizeof(*origins));
	uint32_t *more = calloc((size_t)count + 1, sizeof(*more));

	result->dependencies = dependencies ?: result->dependencies;
	result->origins = origins ?: result->origins;
	if (!destinations || !dependencies || !origins || !more) {
		free(destinations);
		free(more);
		return -ENOMEM;
	}
	origin = result->out.origin_count;
	for (uint32_t d = result->out.dependency_count; d < count; d++)
		dependencies[d] = (struct clew_dependency){
			.type = type & 0xffffff, .attributes = CLEW_NONE, .origins = {origin++, 1}};
	for (uint32_t i = 0; i < result->link_count; i++) {
		if (chosen[i] == CLEW_NONE)
			continue;
		more[chosen[i]]++;
		if (chosen[i] >= result->out.dependency_count)
			origins[dependencies[chosen[i]].origins.first] = result->links[i].origin;
	}
	for (uint32_t d = 0; d < count; d++) {
		struct clew_range *range = &dependencies[d].destinations;

		if (range->count)
			memcpy(destinations + first, result->destinations + range->first,
			       range->count * sizeof(*destinations));
		range->first = first;
		first += range->count + more[d];
	}
	for (uint32_t i = 0; i < result->link_count; i++)
		if (chosen[i] != CLEW_NONE) {
			struct clew_range *range = &dependencies[chosen[i]].destinations;

			destinations[range->first + range->count++] = result->links[i].destination;
		}
	free(more);
	free(result->destinations);
	result->destinations = destinations;
	result->out.dependencies = dependencies;
	result->out.dependency_count = count;
	result->out.origins = origins;
	result->out.origin_count += added;
	result->out.destinations = destinations;
	result->out.destination_count = first;
	return 0;
}

int whatif_add_links(struct result *result)
{
	uint32_t type = unlock_type(result->w->model), *chosen;
	int r;

	if (!result->link_count || type == CLEW_NONE)
		return 0;
	if ((uint64_t)result->out.dependency_count + result->out.destination_count +
		    result->link_count >=
	    CLEW_NONE)
		return -E2BIG;
	chosen = malloc(result->link_count * sizeof(*chosen));
	if (!chosen)
		return -ENOMEM;
	result->linked_count = choose_dependencies(result, type, chosen);
	r = rebuild(result, type, result->linked_count, chosen);
	free(chosen);
	return r;
}
