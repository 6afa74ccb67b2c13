/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gives CPUs to threads while a trace is run again. A CPU that is released at a moment is free
 * only when all that could go on at that moment did.
 */
#include "analyse/whatif/cpus.h"

#include "analyse/whatif/events.h"

/* Four minutes in turns of 1 ms fit whatever the trace, a second in turns of 1 ns does not. */
enum { MOST_CUTS = 1 << 18, MOST_CUTS_AN_ES = 8 };

/* ---- the list in order of since ---- */

static void append(struct whatif_cpus *c, uint32_t cpu)
{
	c->cpus[cpu].before = c->last;
	c->cpus[cpu].behind = CLEW_NONE;
	*(c->last == CLEW_NONE ? &c->first : &c->cpus[c->last].behind) = cpu;
	c->last = cpu;
}

static void remove_cpu(struct whatif_cpus *c, uint32_t cpu)
{
	const struct cpu *at = &c->cpus[cpu];

	*(at->before == CLEW_NONE ? &c->first : &c->cpus[at->before].behind) = at->behind;
	*(at->behind == CLEW_NONE ? &c->last : &c->cpus[at->behind].before) = at->before;
}

/* ---- running ---- */

static void set_running(struct whatif *w, uint32_t cpu, uint32_t es)
{
	w->cpus->cpus[cpu].es = es;
	w->cpus->cpu_of[w->base.es[es].span] = cpu;
}

/* One end of an ES at a time is planned: what comes too early is planned again then. */
int cpus_plan_end(struct whatif *w, uint32_t es)
{
	uint8_t *planned = &w->cpus->ends[w->base.es[es].span];

	if (*planned)
		return 0;
	*planned = 1;
	return events_plan(w, w->es[es].end, es, EVENT_END);
}

bool cpus_comes_to_end(struct whatif *w, uint32_t es, clew_time at)
{
	w->cpus->ends[w->base.es[es].span] = 0;
	return !(w->state[es] & STATE_PAUSED) && w->es[es].end == at;
}

/* An ES on a CPU that was free until now. */
static int run_on(struct whatif *w, uint32_t cpu, uint32_t es, clew_time at)
{
	struct whatif_cpus *c = w->cpus;
	clew_time end;

	c->cpus[cpu].thread = c->thread_of[w->base.es[es].span];
	c->cpus[cpu].since = at;
	append(c, cpu);
	set_running(w, cpu, es);
	if (!(w->state[es] & STATE_PAUSED)) {
		int r = whatif_start(w, es, at);

		return r < 0 ? r : cpus_plan_end(w, es);
	}
	/* While it was off its CPU, its end was how much is left of it. */
	if (__builtin_add_overflow(at, w->es[es].end, &end))
		return -EOVERFLOW;
	c->cuts[c->cut_of[w->base.es[es].span]].to = at;
	w->es[es].end = end;
	w->state[es] &= (uint8_t)~STATE_PAUSED;
	return cpus_plan_end(w, es);
}

static uint32_t free_cpu(struct whatif_cpus *c)
{
	uint32_t cpu = c->free;

	if (cpu != CLEW_NONE)
		c->free = c->cpus[cpu].next;
	else if (c->count < c->limit)
		cpu = c->count++;
	return cpu;
}

static int plan_slice(struct whatif *w, clew_time at)
{
	struct whatif_cpus *c = w->cpus;
	clew_time since, when;

	if (c->slice_planned || c->queue_count == 0 || c->first == CLEW_NONE)
		return 0;
	since = c->cpus[c->first].since > c->slice_end ? c->cpus[c->first].since : c->slice_end;
	if (__builtin_add_overflow(since, w->slice, &when))
		when = INT64_MAX;
	c->slice_planned = true;
	return events_plan(w, when > at ? when : at, 0, EVENT_SLICE);
}

static void queue_up(struct whatif_cpus *c, uint32_t es)
{
	c->queue[((uint64_t)c->queue_first + c->queue_count++) % c->queue_size] = es;
}

static uint32_t from_queue(struct whatif_cpus *c)
{
	uint32_t es = c->queue[c->queue_first];

	c->queue_first = (c->queue_first + 1) % c->queue_size;
	c->queue_count--;
	return es;
}

int cpus_take(struct whatif *w, uint32_t es, clew_time at, bool yields)
{
	struct whatif_cpus *c = w->cpus;
	uint32_t thread = c->thread_of[w->base.es[es].span], cpu = c->held[thread];

	c->ready[es] = at;
	if (cpu != CLEW_NONE && !(yields && c->queue_count)) {
		c->held[thread] = c->cpus[cpu].next;
		set_running(w, cpu, es);
		return 1;
	}
	if (c->queue_count == 0) {
		uint32_t idle = free_cpu(c);

		if (idle != CLEW_NONE) {
			c->cpus[idle].thread = thread;
			c->cpus[idle].since = at;
			append(c, idle);
			set_running(w, idle, es);
			return 1;
		}
	}
	queue_up(c, es);
	if (cpu != CLEW_NONE)
		c->slice_end = at;
	return plan_slice(w, at);
}

int cpus_end(struct whatif *w, uint32_t es, clew_time at)
{
	struct whatif_cpus *c = w->cpus;
	uint32_t *on = &c->cpu_of[w->base.es[es].span], cpu = *on, thread;

	if (cpu == CLEW_NONE)
		return 0;
	*on = CLEW_NONE;
	thread = c->cpus[cpu].thread;
	c->cpus[cpu].es = CLEW_NONE;
	c->cpus[cpu].next = c->held[thread];
	c->held[thread] = cpu;
	return events_plan(w, at, es, EVENT_RELEASE);
}

/* The ones that wait go to what is free. */
static int hand_out(struct whatif *w, clew_time at)
{
	struct whatif_cpus *c = w->cpus;
	int r = 0;

	while (c->queue_count && r == 0) {
		uint32_t cpu = free_cpu(c);

		if (cpu == CLEW_NONE)
			break;
		r = run_on(w, cpu, from_queue(c), at);
	}
	return r;
}

int cpus_release(struct whatif *w, uint32_t es, clew_time at)
{
	struct whatif_cpus *c = w->cpus;
	uint32_t *held = &c->held[c->thread_of[w->base.es[es].span]], cpu = *held;

	if (cpu == CLEW_NONE)
		return 0;
	*held = c->cpus[cpu].next;
	remove_cpu(c, cpu);
	c->cpus[cpu].thread = CLEW_NONE;
	c->cpus[cpu].next = c->free;
	c->free = cpu;
	return hand_out(w, at);
}

static int fail_slices(struct whatif *w)
{
	for (uint32_t i = 0; i < w->program->count; i++)
		if (w->program->statements[i].resources & RESOURCE_CPUS)
			return whatif_fail(w, -EINVAL, w->program->statements[i].offset,
					   "the threads would take turns too often: write a longer "
					   "slice, as set cpus to 4 slice duration(10ms)");
	return -EINVAL;
}

/* Takes an ES off its CPU, which is free then. */
static int pause(struct whatif *w, uint32_t cpu, clew_time at)
{
	struct whatif_cpus *c = w->cpus;
	uint32_t es = c->cpus[cpu].es;

	if (c->cut_count >= MOST_CUTS + MOST_CUTS_AN_ES * (size_t)w->base.es_count)
		return fail_slices(w);
	if (c->cut_count == c->cut_capacity) {
		size_t capacity = c->cut_capacity ? 2 * c->cut_capacity : 64;
		struct cut *grown = reallocarray(c->cuts, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		c->cuts = grown;
		c->cut_capacity = capacity;
	}
	c->cut_of[w->base.es[es].span] = c->cut_count;
	c->cuts[c->cut_count++] = (struct cut){.es = es, .from = at};
	w->state[es] |= STATE_PAUSED;
	w->es[es].end -= at;
	c->cpu_of[w->base.es[es].span] = CLEW_NONE;
	remove_cpu(c, cpu);
	c->cpus[cpu].next = c->free;
	c->free = cpu;
	return 0;
}

int cpus_slice(struct whatif *w, clew_time at)
{
	struct whatif_cpus *c = w->cpus;
	int r = 0;

	c->slice_planned = false;
	/* A thread that goes to the end of the queue waits for the end of the next slice. */
	if (c->slice_end != INT64_MIN && at - c->slice_end < w->slice)
		return plan_slice(w, at);
	for (uint32_t waiting = c->queue_count; waiting > 0 && c->first != CLEW_NONE && r == 0;
	     waiting--) {
		uint32_t cpu = c->first, es = c->cpus[cpu].es;

		if (es == CLEW_NONE || at - c->cpus[cpu].since < w->slice)
			break;
		c->slice_end = at;
		r = pause(w, cpu, at);
		if (r == 0)
			r = hand_out(w, at);
		queue_up(c, es);
	}
	return r < 0 ? r : plan_slice(w, at);
}
