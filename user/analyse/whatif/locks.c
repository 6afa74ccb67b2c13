/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the holders of each lock from the waits for it. A wait whose dependency is an `unlock`
 * names its holders; each lets go at the end of its row. A thread that waited has the lock from
 * the end of its wait, any other at the latest from when somebody was seen waiting for it,
 * and of one that nobody waited for it is not known when it let go: it does as it starts. Waits
 * that contradict each other stay as recorded.
 */
#include "base/map.h"
#include <clew/tokens.h>

#include "analyse/path/internal.h"
#include "analyse/whatif/queues.h"

/* A wait for a lock, or its letting go. */
struct lock_event {
	uint32_t queue, thread;
	clew_time at;	  /* the start of the ES behind the wait; or the letting go */
	clew_time from;	  /* of a wait: its begin. Else the first moment that it is known to be held
			     at */
	clew_time ready;  /* the end of the wait */
	uint32_t es;	  /* behind the wait; CLEW_NONE: it is none */
	uint32_t trigger; /* the ES whose end lets go; CLEW_NONE: not known by a dependency */
};

struct finder {
	struct whatif *w;
	struct lock_event *events;
	size_t count, capacity;
	struct map roots;  /* string of a name -> the first root span named so */
	struct map queues; /* (object, memory, process or number) -> number of the queue */
	uint32_t object, id, pid, shared, memory; /* strings */
	uint32_t unlock;			  /* the type */
};

static uint32_t root_of(const struct clew_model *model, uint32_t span)
{
	while (model->spans[span].parent != CLEW_NONE)
		span = model->spans[span].parent;
	return span;
}

/* The string of an attribute, CLEW_NONE none. */
static uint32_t attribute(const struct clew_model *model, uint32_t list, uint32_t key)
{
	if (list == CLEW_NONE || key == CLEW_NONE)
		return CLEW_NONE;
	for (uint32_t i = model->attribute_lists[list]; i < model->attribute_lists[list + 1]; i++)
		if (model->attributes[i].key == key)
			return model->attributes[i].value;
	return CLEW_NONE;
}

static int add_event(struct finder *f, const struct lock_event *event)
{
	if (f->count == f->capacity) {
		size_t capacity = f->capacity ? 2 * f->capacity : 64;
		struct lock_event *grown = reallocarray(f->events, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		f->events = grown;
		f->capacity = capacity;
	}
	f->events[f->count++] = *event;
	return 0;
}

/* A futex is one memory's, else its process's, as far as that is known, unless it is shared; any
 * other lock is the machine's, and if two have one name their numbers differ. */
static int queue_of(struct finder *f, const struct clew_model_wait *wait, uint32_t object,
		    uint32_t thread, uint32_t *ret_queue)
{
	const struct clew_model *model = f->w->model;
	struct queue queue = {.capacity = 1, .lock = true, .kind = wait->kind, .object = object};
	uint32_t part = 0;
	const uint64_t *known;
	int r;

	if (wait->kind == CLEW_WAIT_FUTEX &&
	    attribute(model, wait->attributes, f->shared) == CLEW_NONE) {
		part = attribute(model, wait->attributes, f->memory);
		if (part == CLEW_NONE)
			part = attribute(model, model->spans[thread].attributes, f->pid);
		part = part == CLEW_NONE ? 0 : part + 1;
	} else if (wait->kind == CLEW_WAIT_LOCK) {
		part = attribute(model, wait->attributes, f->id);
		part = part == CLEW_NONE ? 0 : part + 1;
	}
	known = map_get(&f->queues, object, part);
	if (known) {
		*ret_queue = (uint32_t)*known;
		return 0;
	}
	r = queues_add(f->w, &queue);
	*ret_queue = r < 0 ? 0 : f->w->queues->queue_count - 1;
	return r < 0 ? r : map_set(&f->queues, object, part, *ret_queue);
}

static int take_wait(struct finder *f, uint32_t es)
{
	const struct clew_model *model = f->w->model;
	const struct clew_model_wait *wait = &model->waits[model->es[es].wait];
	uint32_t object = attribute(model, wait->attributes, f->object),
		 trigger = usable_trigger(model, es);
	const char *holders = clew_model_attribute(model, wait->attributes, "holder");
	bool unlocked =
		trigger != CLEW_NONE && model->dependencies[model->es[es].in].type == f->unlock;
	struct lock_event event = {.es = es,
				   .at = model->es[es].start,
				   .from = model->es[es - 1].end,
				   .trigger = trigger};
	struct holder_row row;
	int r;

	if (object == CLEW_NONE || !holders)
		return 0;
	event.thread = root_of(model, model->es[es].span);
	event.ready = gap_ready(model, es);
	r = queue_of(f, wait, object, event.thread, &event.queue);
	if (r == 0 && unlocked)
		r = add_event(f, &event);
	while (r == 0 && next_holder(&holders, event.from, event.ready, &row)) {
		const uint64_t *holder =
			map_get(&f->roots, clew_model_find_string(model, row.name), 0);
		struct lock_event release = {.queue = event.queue,
					     .at = row.to,
					     .from = row.from,
					     .es = CLEW_NONE,
					     .trigger = CLEW_NONE};

		/* One that is coming has nothing to let go of. The end of a wait otherwise, as
		 * by a timer, lets go of nothing. */
		if (!holder || row.coming || (*holders == 0 && !unlocked))
			continue;
		release.thread = (uint32_t)*holder;
		if (unlocked && root_of(model, model->es[trigger].span) == release.thread &&
		    model->es[trigger].end == row.to)
			release.trigger = trigger;
		r = add_event(f, &release);
	}
	return r;
}

/* By queue and thread in order of time, waits before letting go, what is known best first. */
static int compare_events(const void *left, const void *right)
{
	const struct lock_event *a = left, *b = right;

	if (a->queue != b->queue)
		return a->queue < b->queue ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if ((a->es == CLEW_NONE) != (b->es == CLEW_NONE))
		return a->es == CLEW_NONE ? 1 : -1;
	if (a->es != b->es)
		return a->es < b->es ? -1 : 1;
	if (a->trigger != b->trigger)
		return a->trigger < b->trigger ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

/* ---- sections ---- */

static int add_wait(struct finder *f, const struct lock_event *wait,
		    const struct lock_event *release)
{
	struct section section = {
		.queue = wait->queue, .begin = wait->es, .release = CLEW_NONE, .waits = true};

	section.span = f->w->model->es[wait->es].span;
	section.begin_at = wait->ready;
	section.release_at = wait->ready;
	if (release) {
		section.holds = true;
		section.release = release->trigger;
		section.release_at = release->at;
	}
	return queues_add_section(f->w, &section);
}

/* The holder that had it without having waited. `free_at`: when it last let go itself. */
static int add_hold(struct finder *f, const struct lock_event *release, clew_time free_at)
{
	struct section section = {.queue = release->queue,
				  .span = release->thread,
				  .begin = CLEW_NONE,
				  .release = release->trigger};

	section.begin_at = release->from > free_at ? release->from : free_at;
	section.release_at = release->at;
	section.holds = true;
	return queues_add_section(f->w, &section);
}

/* For one lock and one thread: a wait, and the letting go behind it, are a section. */
static int pair(struct finder *f, size_t from, size_t to)
{
	const struct lock_event *wait = NULL;
	clew_time free_at = INT64_MIN;
	int r = 0;

	for (size_t i = from; i < to && r == 0; i++) {
		const struct lock_event *event = &f->events[i];
		struct lock_event release = *event;

		if (event->es != CLEW_NONE) {
			r = wait ? add_wait(f, wait, NULL) : 0;
			wait = event;
			continue;
		}
		/* Others saw the same one. */
		for (; i + 1 < to && f->events[i + 1].es == CLEW_NONE &&
		       f->events[i + 1].at == event->at;
		     i++)
			release.from = f->events[i + 1].from < release.from ? f->events[i + 1].from
									    : release.from;
		r = wait ? add_wait(f, wait, &release) : add_hold(f, &release, free_at);
		wait = NULL;
		free_at = release.at;
	}
	return r == 0 && wait ? add_wait(f, wait, NULL) : r;
}

/* ---- what fits ---- */

static int compare_sections(const void *left, const void *right)
{
	const struct section *a = left, *b = right;

	if (a->begin_at != b->begin_at)
		return a->begin_at < b->begin_at ? -1 : 1;
	if (a->release_at != b->release_at)
		return a->release_at < b->release_at ? -1 : 1;
	return a->span < b->span ? -1 : a->span > b->span;
}

/* Where a section ends: an ES of the trace, or a moment within one. False: its span does not run
 * then. */
static bool find_release(const struct clew_model *model, struct section *section)
{
	uint32_t es;

	if (!section->holds || section->release != CLEW_NONE)
		return true;
	es = clew_model_es_at(model, section->span, section->release_at);
	if (es == CLEW_NONE)
		return false;
	if (model->es[es].end == section->release_at)
		section->release = es;
	return section->release != CLEW_NONE || model->es[es].start < section->release_at;
}

/* Where one begins that was not waited for: the ES that it begins in, if it was running; else the
 * one before. */
static bool find_begin(const struct clew_model *model, struct section *section, clew_time free_at)
{
	uint32_t first = model->spans[section->span].elementary.first, es;
	clew_time at = section->begin_at > free_at ? section->begin_at : free_at;

	es = clew_model_es_at(model, section->span, at);
	if (es == CLEW_NONE)
		return false;
	if (model->es[es].start > at) {
		if (es == first)
			return false;
		es--;
		at = model->es[es].start > free_at ? model->es[es].start : free_at;
	} else if (model->es[es].end == at) {
		uint32_t last = first + model->spans[section->span].elementary.count - 1;

		for (; es < last && model->es[es].end == at && model->es[es + 1].start == at;)
			es++;
		if (model->es[es].end == at)
			at = model->es[es].start > free_at ? model->es[es].start : free_at;
	}
	if (at >= section->release_at || at >= model->es[es].end)
		return false;
	section->begin_at = at;
	section->begin = at == model->es[es].start ? es : CLEW_NONE;
	return true;
}

/* For one lock, in order: those that a queue served in turn can explain stay. */
static void keep_consistent(struct whatif *w, uint32_t from)
{
	const struct clew_model *model = w->model;
	struct whatif_queues *q = w->queues;
	const struct section *before = NULL;
	clew_time free_at = INT64_MIN, latest = INT64_MIN;
	uint32_t kept = from;

	for (uint32_t i = from; i < q->section_count; i++) {
		struct section section = q->sections[i];
		clew_time arrival, start;

		if (!find_release(model, &section)) {
			if (!section.waits)
				continue;
			section.holds = false;
			section.release_at = section.begin_at;
		}
		if (!section.waits && !find_begin(model, &section, free_at))
			continue;
		arrival = section.waits ? model->es[section.begin - 1].end : section.begin_at;
		start = section.waits ? model->es[section.begin].start : section.begin_at;
		/* Somebody else than the one before let go for it: that is not known well enough.
		 */
		if (section.waits &&
		    (!before || usable_trigger(model, section.begin) != before->release ||
		     before->release_at > section.begin_at))
			continue;
		if (section.holds && section.release_at < start)
			continue;
		section.shift = arrival < latest ? latest - arrival : 0;
		arrival += section.shift;
		section.delay = start - (arrival > free_at ? arrival : free_at);
		section.wakes = section.waits && free_at > arrival;
		if (section.delay < 0)
			continue;
		latest = arrival;
		q->sections[kept] = section;
		free_at = section.holds ? section.release_at : start;
		if (section.holds)
			before = &q->sections[kept];
		kept++;
	}
	q->section_count = kept;
}

static int find_all(struct finder *f)
{
	const struct clew_model *model = f->w->model;
	int r = 0;

	for (uint32_t root = model->first_root; root != CLEW_NONE && r == 0;
	     root = model->spans[root].next_sibling)
		if (!map_get(&f->roots, model->spans[root].name, 0))
			r = map_set(&f->roots, model->spans[root].name, 0, root);
	for (uint32_t es = 0; es < model->es_count && r == 0; es++) {
		uint32_t wait = model->es[es].wait;

		if (wait == CLEW_NONE || clew_model_is_first(model, es) ||
		    model->es[es - 1].end == model->es[es].start)
			continue;
		if (model->waits[wait].kind == CLEW_WAIT_FUTEX ||
		    model->waits[wait].kind == CLEW_WAIT_LOCK)
			r = take_wait(f, es);
	}
	if (f->count > 1)
		qsort(f->events, f->count, sizeof(*f->events), compare_events);
	for (size_t from = 0, to; from < f->count && r == 0; from = to) {
		uint32_t first = f->w->queues->section_count, queue = f->events[from].queue;

		for (to = from; to < f->count && f->events[to].queue == queue && r == 0;) {
			size_t end = to;

			while (end < f->count && f->events[end].queue == queue &&
			       f->events[end].thread == f->events[to].thread)
				end++;
			r = pair(f, to, end);
			to = end;
		}
		if (f->w->queues->section_count - first > 1)
			qsort(f->w->queues->sections + first, f->w->queues->section_count - first,
			      sizeof(struct section), compare_sections);
		if (r == 0)
			keep_consistent(f->w, first);
	}
	return r;
}

int whatif_find_locks(struct whatif *w)
{
	const struct clew_model *model = w->model;
	struct finder finder = {
		.w = w,
		.object = clew_model_find_string(model, "object"),
		.id = clew_model_find_string(model, "id"),
		.pid = clew_model_find_string(model, "pid"),
		.memory = clew_model_find_string(model, "memory"),
		.shared = clew_model_find_string(model, "shared"),
		.unlock = CLEW_NONE,
	};
	int r;

	for (uint32_t type = 0; type < model->type_count; type++)
		if (!strcmp(clew_model_string(model, model->types[type]), "unlock"))
			finder.unlock = type;
	r = find_all(&finder);
	free(finder.events);
	map_done(&finder.roots);
	map_done(&finder.queues);
	return r;
}
