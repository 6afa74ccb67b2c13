/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a trace again. ESs start in order of time, of equal times in order of the
 * trace, ends before starts, wherever that could make a difference. The end of an ES's wait
 * arrives when its time is known: its predecessor's end with the gap between them, and its
 * dependency; the later one starts it. Spans that a gate holds back start in the order in which
 * they could have. Then an ES may have to wait in the queue of a lock or a device, and at last for
 * a CPU.
 *
 * An ES that waits for itself in the recorded trace, as ESs without length can, is
 * let go at its recorded time.
 */
#include <clew/tokens.h>

#include "analyse/whatif/cpus.h"
#include "analyse/whatif/events.h"
#include "analyse/whatif/queues.h"

/* ---- what reaches an ES ---- */

/* It ran, and was off its CPU then only because others had that. */
static bool was_preempted(const struct whatif *w, uint32_t es)
{
	uint32_t wait = w->base.es[es].wait;

	return wait != CLEW_NONE && w->base.waits[wait].kind == CLEW_SEGMENT_RUNQUEUE &&
	       !(w->state[es] & STATE_BY_EDGE) && cpus_uses(w, w->base.es[es].span) &&
	       es > w->base.spans[w->base.es[es].span].elementary.first &&
	       w->base.es[es - 1].start < w->base.es[es - 1].end;
}

static int reach(struct whatif *w, uint32_t es, clew_time at, uint8_t what)
{
	uint8_t state = w->state[es];

	if (!(state & STATE_TOUCHED) || at > w->es[es].start)
		w->es[es].start = at;
	state = (uint8_t)((state & ~what) | STATE_TOUCHED);
	w->state[es] = state;
	if (state & (STATE_PREDECESSOR | STATE_ARRIVAL))
		return 0;
	return events_plan(w, w->es[es].start, es,
			   w->cpus && was_preempted(w, es) ? EVENT_YIELD : EVENT_START);
}

static int arrive(struct whatif *w, uint32_t dependency, clew_time end)
{
	const struct clew_dependency *d = &w->base.dependencies[dependency];
	bool added = whatif_is_added(w, dependency);
	clew_time trigger = added ? 0 : w->base.es[w->base.origins[d->origins.first]].end;
	int r = 0;

	for (uint32_t i = d->destinations.first;
	     i < d->destinations.first + d->destinations.count && r == 0; i++) {
		uint32_t es = w->base.destinations[i];
		enum fate fate = whatif_fate(w, i);
		clew_time delay, at;

		/* One that was let go from its cycle waits no more. */
		if (!(w->state[es] & STATE_ARRIVAL))
			continue;
		if (fate == FATE_REMOVED || fate == FATE_BACKWARD)
			continue;
		delay = added ? w->added[dependency - w->model->dependency_count].delay
			      : w->base.es[es].start - trigger;
		if (fate == FATE_KEPT && !added && whatif_is_free(w, d, es))
			delay = 0;
		else if (w->cpus && !added)
			delay -= w->cpus->recorded[es].queued;
		if (fate == FATE_CHANGED) {
			const struct statement *s =
				&w->program->statements[w->edges[w->changed[i]].statement];
			struct factor f = whatif_factor(w, s);

			if (s->kind == STATEMENT_SHRINK)
				delay = s->duration < delay ? s->duration : delay;
			else if (f.numerator <= 0)
				delay = 0;
			else if (whatif_multiply(delay, &f, &delay) < 0)
				return -EOVERFLOW;
		}
		if (__builtin_add_overflow(end, delay, &at))
			return -EOVERFLOW;
		r = reach(w, es, at, STATE_ARRIVAL);
	}
	return r;
}

/* An origin is over. */
static int depart(struct whatif *w, uint32_t dependency, uint32_t es, clew_time end)
{
	const struct clew_dependency *d = &w->base.dependencies[dependency];

	if (d->origins.count < 2)
		return d->origins.count ? arrive(w, dependency, end) : 0;
	if (d->mode == CLEW_MODE_SINGLE)
		return w->base.origins[d->origins.first] == es ? arrive(w, dependency, end) : 0;
	if (d->mode == CLEW_MODE_OR)
		return w->left[dependency]-- == d->origins.count ? arrive(w, dependency, end) : 0;
	if (w->left[dependency] == d->origins.count || end > w->latest[dependency])
		w->latest[dependency] = end;
	return --w->left[dependency] ? 0 : arrive(w, dependency, w->latest[dependency]);
}

static inline int gap_before(const struct whatif *w, uint32_t es, clew_time *ret_gap)
{
	const struct clew_es *behind = &w->base.es[es];
	const struct section *section = queues_wait(w, es);
	clew_time gap = behind->start - behind[-1].end;

	*ret_gap = 0;
	if (section) {
		*ret_gap = section->shift;
		return 0;
	}
	if (gap == 0 || w->state[es] & STATE_BY_EDGE)
		return 0;
	if (w->cpus)
		gap -= w->cpus->recorded[es].queued;
	return whatif_gap(w, es, gap, ret_gap);
}

/* ---- gates ---- */

static int park(struct gate *gate, uint32_t es)
{
	if (gate->parked_first + gate->parked_count == gate->parked_capacity) {
		size_t capacity = gate->parked_capacity ? 2 * gate->parked_capacity : 16;
		uint32_t *grown = reallocarray(gate->parked, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		gate->parked = grown;
		gate->parked_capacity = capacity;
	}
	gate->parked[gate->parked_first + gate->parked_count++] = es;
	return 0;
}

/* 1: the span of an ES may start and has its slots; 0: it waits for one; -ENOMEM. */
static int enter(struct whatif *w, uint32_t es)
{
	uint32_t span = w->base.es[es].span;

	for (uint32_t i = 0; i < w->gate_count; i++)
		if (w->gates[i].spans[span] && w->gates[i].active >= w->gates[i].limit)
			return park(&w->gates[i], es);
	for (uint32_t i = 0; i < w->gate_count; i++)
		w->gates[i].active += w->gates[i].spans[span];
	return 1;
}

static bool is_gated(const struct whatif *w, uint32_t span)
{
	for (uint32_t i = 0; i < w->gate_count; i++)
		if (w->gates[i].spans[span])
			return true;
	return false;
}

static int begin(struct whatif *w, uint32_t es, clew_time at, bool yields);

static int leave(struct whatif *w, uint32_t span, clew_time at)
{
	for (uint32_t i = 0; i < w->gate_count; i++)
		w->gates[i].active -= w->gates[i].spans[span];
	for (uint32_t i = 0; i < w->gate_count; i++) {
		struct gate *gate = &w->gates[i];

		if (!gate->spans[span])
			continue;
		while (gate->parked_count && gate->active < gate->limit) {
			uint32_t es = gate->parked[gate->parked_first++];
			int r;

			gate->parked_count--;
			r = enter(w, es);
			if (r > 0)
				r = begin(w, es, at, false);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* ---- running ---- */

static inline bool is_last(const struct whatif *w, uint32_t es)
{
	return es + 1 == w->base.es_count || w->base.es[es + 1].span != w->base.es[es].span;
}

/* Any one of several origins is enough: which is first is known when they end. */
static inline bool leads_to_any(const struct whatif *w, uint32_t es)
{
	uint32_t out = w->base.es[es].out;

	return out != CLEW_NONE && w->base.dependencies[out].origins.count > 1 &&
	       w->base.dependencies[out].mode == CLEW_MODE_OR;
}

/* When it ends depends on what happens until then, or others wait for that moment. */
static bool ends_later(const struct whatif *w, uint32_t es)
{
	return cpus_uses(w, w->base.es[es].span) || queues_releases(w, es);
}

/* Follows the end of an ES. */
static inline int finish(struct whatif *w, uint32_t es, clew_time end, bool any)
{
	const struct clew_es *old = &w->base.es[es];
	clew_time gap;
	int r = 0;

	if (old->out != CLEW_NONE && !any)
		r = depart(w, old->out, es, end);
	if (r < 0 || is_last(w, es))
		return r;
	r = gap_before(w, es + 1, &gap);
	if (r < 0 || __builtin_add_overflow(end, gap, &end))
		return -EOVERFLOW;
	return reach(w, es + 1, end, STATE_PREDECESSOR);
}

static int run(struct whatif *w, uint32_t es, clew_time at)
{
	const struct clew_es *new = &w->es[es];
	bool later = (w->cpus || w->queues) && ends_later(w, es), any = leads_to_any(w, es);
	int r = whatif_start(w, es, at);

	if (r < 0)
		return r;
	if (later && cpus_uses(w, new->span))
		r = cpus_plan_end(w, es);
	else if (later || any || (w->gate_count && is_last(w, es) && is_gated(w, new->span)))
		r = events_plan(w, new->end, es, EVENT_END);
	return r < 0 || later ? r : finish(w, es, new->end, any);
}

/* An ES whose span has its slots; then what it needs besides. */
static int begin(struct whatif *w, uint32_t es, clew_time at, bool yields)
{
	clew_time length;
	int r = 1;

	w->state[es] |= STATE_ADMITTED;
	if (w->queues)
		r = queues_enter(w, es, at);
	if (r > 0 && w->cpus) {
		w->cpus->ready[es] = at;
		if (whatif_length_of(w, es, &length) < 0)
			return -EOVERFLOW;
		if (length && cpus_uses(w, w->base.es[es].span))
			r = cpus_take(w, es, at, yields);
	}
	return r > 0 ? run(w, es, at) : r;
}

static int end(struct whatif *w, uint32_t es, clew_time at)
{
	int r = 0;

	if ((w->cpus || w->queues) && ends_later(w, es)) {
		if (cpus_uses(w, w->base.es[es].span) && !cpus_comes_to_end(w, es, at))
			return w->state[es] & STATE_PAUSED ? 0 : cpus_plan_end(w, es);
		if (w->cpus)
			r = cpus_end(w, es, at);
		if (r == 0 && w->queues)
			r = queues_release(w, es, at);
		if (r == 0)
			r = finish(w, es, at, leads_to_any(w, es));
	}
	if (r == 0 && leads_to_any(w, es))
		r = depart(w, w->base.es[es].out, es, at);
	if (r == 0 && w->gate_count && is_last(w, es) && is_gated(w, w->base.es[es].span))
		r = leave(w, w->base.es[es].span, at);
	return r;
}

static int happen(struct whatif *w, const struct event *event)
{
	uint32_t es = event->es;
	int r = 1;

	/* Most traces are run with everything as recorded. */
	if (event->kind == EVENT_START && !w->gate_count && !w->cpus && !w->queues)
		return run(w, es, event->at);
	w->now = event->at;
	switch ((enum event_kind)event->kind) {
	case EVENT_END:
		return end(w, es, event->at);
	case EVENT_START:
	case EVENT_YIELD:
		if (w->gate_count && w->base.spans[w->base.es[es].span].elementary.first == es &&
		    !(w->state[es] & STATE_ADMITTED))
			r = enter(w, es);
		return r > 0 ? begin(w, es, event->at, event->kind == EVENT_YIELD) : r;
	case EVENT_GRANT:
		return queues_grant(w, es, event->at);
	case EVENT_RELEASE:
		return cpus_release(w, es, event->at);
	case EVENT_SLICE:
		return cpus_slice(w, event->at);
	}
	return 0;
}

/* A thread that gets a resource now cannot have had it before. */
static clew_time not_before_now(const struct whatif *w, clew_time at)
{
	return (w->cpus || w->queues) && at < w->now ? w->now : at;
}

/* Among the ESs that wait for nothing but a dependency, the one that was recorded first goes on. */
static int break_cycle(struct whatif *w)
{
	uint32_t chosen = CLEW_NONE;
	clew_time gap;

	for (uint32_t i = 0; i < w->base.span_count; i++) {
		struct clew_range range = w->base.spans[i].elementary;
		uint32_t low = range.first, high = range.first + range.count;

		/* ESs of a span start in their order. */
		while (low < high) {
			uint32_t middle = low + (high - low) / 2;

			if (w->state[middle] & STATE_STARTED)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < range.first + range.count &&
		    (chosen == CLEW_NONE || w->base.es[low].start < w->base.es[chosen].start))
			chosen = low;
	}
	if (chosen == CLEW_NONE || !(w->state[chosen] & STATE_ARRIVAL))
		return -EBADMSG;
	if (!(w->state[chosen] & STATE_TOUCHED))
		return reach(w, chosen, not_before_now(w, w->base.es[chosen].start), STATE_ARRIVAL);
	gap = w->base.es[chosen].start - w->base.es[chosen - 1].end;
	return reach(w, chosen, not_before_now(w, w->es[chosen].start + gap), STATE_ARRIVAL);
}

static int stuck(struct whatif *w)
{
	size_t parked = 0;

	for (uint32_t i = 0; i < w->gate_count; i++)
		parked += w->gates[i].parked_count;
	if (parked)
		return whatif_fail(w, -EDEADLK, 0,
				   "%zu spans would wait for a slot forever: allow more at once, "
				   "or choose other spans",
				   parked);
	if (w->queues && w->queues->waiting)
		return whatif_fail(w, -EDEADLK, 0,
				   "%u elementary spans would wait for a lock or a device forever: "
				   "leave those as they were recorded",
				   w->queues->waiting);
	if (w->added_count)
		return whatif_fail(
			w, -ELOOP, 0,
			"%u elementary spans would wait for themselves: add other dependencies",
			w->unstarted);
	return break_cycle(w);
}

/* ---- before the first one ---- */

static int choose_fate(struct whatif *w, uint32_t dependency, uint32_t slot, uint32_t es,
		       uint32_t trigger)
{
	const struct clew_es *ess = w->base.es;
	uint32_t type = w->base.dependencies[dependency].type, chosen = CLEW_NONE;
	bool removed = false;

	for (uint32_t i = 0; i < w->edge_count; i++) {
		const struct bound *edge = &w->edges[i];
		const struct statement *s = &w->program->statements[edge->statement];

		if ((edge->types && !edge->types[type]) || !edge->to[ess[es].span])
			continue;
		if (edge->spans && (trigger == CLEW_NONE || !edge->spans[ess[trigger].span]))
			continue;
		if (s->kind == STATEMENT_SHRINK &&
		    (w->base.spans[ess[es].span].elementary.first == es ||
		     ess[es - 1].end < ess[es].start))
			continue;
		if (w->options.matches)
			w->options.matches[edge->statement]++;
		if (s->kind == STATEMENT_REMOVE) {
			removed = true;
			continue;
		}
		if (chosen != CLEW_NONE) {
			const struct statement *a =
				&w->program->statements[w->edges[chosen].statement];

			return whatif_fail(
				w, -EINVAL, s->offset,
				"'%.*s' contradicts '%.*s' for dependency %u: leave out one",
				(int)(s->size < 46 ? s->size : 46), w->program->text + s->offset,
				(int)(a->size < 46 ? a->size : 46), w->program->text + a->offset,
				dependency + 1);
		}
		chosen = i;
	}
	if (removed)
		w->fate[slot] = FATE_REMOVED;
	else if (trigger == CLEW_NONE || ess[trigger].end > ess[es].start)
		w->fate[slot] = FATE_BACKWARD;
	else if (chosen != CLEW_NONE) {
		w->fate[slot] = FATE_CHANGED;
		w->changed[slot] = chosen;
	}
	return 0;
}

/* Only slots and the first of several origins depend on what happens before what. */
static void look_at_dependencies(struct whatif *w)
{
	w->ordered = w->gate_count > 0 || w->cpus || w->queues;
	for (uint32_t i = 0; i < w->base.dependency_count; i++) {
		const struct clew_dependency *d = &w->base.dependencies[i];

		w->several |= d->origins.count > 1;
		w->ordered |= d->origins.count > 1 && d->mode == CLEW_MODE_OR;
	}
}

static int prepare_edges(struct whatif *w)
{
	int r = 0;

	if (w->edge_count) {
		w->fate = calloc((size_t)w->base.destination_count + 1, sizeof(*w->fate));
		w->changed = calloc((size_t)w->base.destination_count + 1, sizeof(*w->changed));
		if (!w->fate || !w->changed)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < w->base.dependency_count && r == 0; i++) {
		const struct clew_dependency *d = &w->base.dependencies[i];
		uint32_t trigger = d->origins.count ? w->base.origins[d->origins.first] : CLEW_NONE;
		bool added = whatif_is_added(w, i);

		for (uint32_t slot = d->destinations.first;
		     slot < d->destinations.first + d->destinations.count && r == 0; slot++) {
			uint32_t es = w->base.destinations[slot];
			bool follows = trigger != CLEW_NONE &&
				       w->base.es[trigger].end <= w->base.es[es].start;

			if (added) {
				w->state[es] = STATE_ARRIVAL;
				continue;
			}
			w->result.backward_edges += trigger != CLEW_NONE && !follows;
			if (follows)
				w->state[es] |= STATE_BY_EDGE;
			if (w->edge_count)
				r = choose_fate(w, i, slot, es, trigger);
			if (follows && whatif_fate(w, slot) != FATE_REMOVED && !queues_wait(w, es))
				w->state[es] |= STATE_ARRIVAL;
		}
	}
	if (r == 0 && w->several) {
		w->left = malloc((size_t)w->base.dependency_count * sizeof(*w->left));
		w->latest = malloc((size_t)w->base.dependency_count * sizeof(*w->latest));
		if (!w->left || !w->latest)
			return -ENOMEM;
		for (uint32_t i = 0; i < w->base.dependency_count; i++)
			w->left[i] = w->base.dependencies[i].origins.count;
	}
	return r;
}

/* With times as they are in the trace, which need not be in order yet. */
static int prepare_resources(struct whatif *w)
{
	int r = w->resources & RESOURCE_CPUS ? cpus_prepare(w) : 0;

	if (r == 0 && w->queues)
		r = queues_prepare(w);
	for (uint32_t i = 0; r == 0 && w->queues && w->cpus && i < w->queues->section_count; i++) {
		struct section *section = &w->queues->sections[i];
		clew_time queued = w->cpus->recorded[section->begin].queued;

		section->delay -=
			section->waits ? (queued < section->delay ? queued : section->delay) : 0;
	}
	return r;
}

/* For all spans, as a program found them or left them. */
static void find_bounds(const struct whatif *w, const struct clew_es *es, clew_time *ret_start,
			clew_time *ret_end)
{
	*ret_start = w->base.es_count ? INT64_MAX : 0;
	*ret_end = w->base.es_count ? INT64_MIN : 0;
	for (uint32_t i = 0; i < w->base.span_count; i++) {
		struct clew_range range = w->base.spans[i].elementary;
		clew_time start = es[range.first].start,
			  end = es[range.first + range.count - 1].end;

		*ret_start = start < *ret_start ? start : *ret_start;
		*ret_end = end > *ret_end ? end : *ret_end;
	}
}

static int prepare(struct whatif *w)
{
	int r;

	w->state = calloc((size_t)w->base.es_count + 1, sizeof(*w->state));
	if (!w->state)
		return -ENOMEM;
	r = prepare_edges(w);
	w->now = INT64_MIN;
	for (uint32_t i = 0; i < w->base.span_count && r == 0; i++) {
		struct clew_range range = w->base.spans[i].elementary;
		const struct clew_es *es = &w->base.es[range.first];

		for (uint32_t j = 0; j < range.count; j++) {
			if (es[j].end < es[j].start || (j && es[j].start < es[j - 1].end))
				return -EBADMSG;
			if (j)
				w->state[range.first + j] |= STATE_PREDECESSOR;
		}
		if (!(w->state[range.first] & STATE_ARRIVAL))
			r = reach(w, range.first,
				  w->early && w->early[i] ? w->earliest : es[0].start, 0);
	}
	return r;
}

/* One event after the other. */
static int run_events(struct whatif *w)
{
	struct event event;
	int r = prepare(w);

	/* Even where something waits for itself. */
	if (r == 0 && w->program->count == 0) {
		memcpy(w->es, w->base.es, w->base.es_count * sizeof(*w->es));
		w->unstarted = 0;
	}
	while (r == 0 && w->unstarted) {
		while (r == 0 && events_next(w, &event))
			r = happen(w, &event);
		if (r == 0 && w->unstarted)
			r = stuck(w);
	}
	return r;
}

int whatif_simulate(struct whatif *w)
{
	int r;

	w->es_memory.item = sizeof(*w->es);
	if (vector_reserve(&w->es_memory, (size_t)w->base.es_count + 1) < 0)
		return -ENOMEM;
	w->es = w->es_memory.data;
	w->unstarted = w->base.es_count;
	find_bounds(w, w->base.es, &w->result.before_start, &w->result.before_end);
	r = prepare_resources(w);
	if (r < 0)
		return r;
	look_at_dependencies(w);
	if (w->ordered || w->edge_count || w->added_count || w->program->count == 0)
		r = run_events(w);
	else
		r = whatif_plain(w);
	if (r == 0 && w->cpus)
		r = cpus_sort_cuts(w);
	if (r == 0)
		find_bounds(w, w->es, &w->result.after_start, &w->result.after_end);
	return r;
}
