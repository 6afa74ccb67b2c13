/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a trace again where nobody competes for anything and no dependency is changed:
 * whenever an ES starts, its times follow from those of what it waits for alone. So a span
 * is run on until it waits for an ES that has not run yet; that one's span lets it go on.
 * The times are those that whatif_simulate.c finds in order of time.
 */
#include "analyse/whatif/internal.h"

/* So many ESs, and so many whose dependencies are known then, before it is needed, memory is
 * fetched. */
enum { AHEAD = 8, AHEAD_DEPENDENCY = 5, AHEAD_ORIGIN = 2 };

struct runner {
	clew_time end;	      /* of the ES that it ran last */
	uint32_t next;	      /* the ES that it runs next; behind its last one: it is over */
	uint32_t wanted;      /* the ES that it waits for; CLEW_NONE: none */
	uint32_t next_waiter; /* number + 1 of the next span that waits for the same one */
};

struct plain {
	struct whatif *w;
	struct runner *runners; /* of each span */
	uint32_t *ready;	/* spans that can go on */
	uint32_t ready_count;
};

/* The number + 1 of the first span that waits for an ES is kept where nothing is before the ES
 * runs. */
static uint32_t *first_waiter(const struct plain *p, uint32_t es)
{
	return &p->w->es[es].waiter;
}

static void wait_for(const struct plain *p, uint32_t span, uint32_t es)
{
	uint32_t *first = first_waiter(p, es);

	p->runners[span].wanted = es;
	p->runners[span].next_waiter = *first;
	*first = span + 1;
}

static void wake(struct plain *p, uint32_t waiter)
{
	while (waiter) {
		struct runner *runner = &p->runners[waiter - 1];

		p->ready[p->ready_count++] = waiter - 1;
		runner->wanted = CLEW_NONE;
		waiter = runner->next_waiter;
	}
}

/* One step of the way from an ES to what it waits for at a time, each when the one before has come.
 */
static inline void fetch_ahead(const struct whatif *w, uint32_t es)
{
	const struct clew_es *old = &w->base.es[es];
	uint32_t in;

	if (w->base.es_count - es <= AHEAD)
		return;
	__builtin_prefetch(old + AHEAD);
	__builtin_prefetch(&w->es[es + AHEAD], 1);
	in = old[AHEAD_DEPENDENCY].in;
	if (in != CLEW_NONE)
		__builtin_prefetch(&w->base.dependencies[in]);
	in = old[AHEAD_ORIGIN].in;
	if (in != CLEW_NONE && w->base.dependencies[in].origins.count) {
		uint32_t origin = w->base.origins[w->base.dependencies[in].origins.first];

		__builtin_prefetch(&w->base.es[origin].end);
		__builtin_prefetch(&w->es[origin].end, 1);
	}
}

/* When all origins that count have ended. 1: that is known; 0: *ret_wanted has not run yet. */
static inline int ended(const struct plain *p, const struct clew_dependency *d, clew_time *ret_end,
			uint32_t *ret_wanted)
{
	const struct whatif *w = p->w;
	uint32_t count = d->mode == CLEW_MODE_SINGLE ? 1 : d->origins.count;
	clew_time latest = INT64_MIN;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t origin = w->base.origins[d->origins.first + i];

		if (p->runners[w->base.es[origin].span].next <= origin) {
			*ret_wanted = origin;
			return 0;
		}
		latest = w->es[origin].end > latest ? w->es[origin].end : latest;
	}
	*ret_end = latest;
	return 1;
}

/* When an ES can start. 1: then; 0: it waits for *ret_wanted; -EOVERFLOW. */
static inline int start_of(struct plain *p, uint32_t es, bool first, clew_time before,
			   clew_time *ret_start, uint32_t *ret_wanted)
{
	struct whatif *w = p->w;
	const struct clew_es *old = &w->base.es[es];
	const struct clew_dependency *d =
		old->in == CLEW_NONE ? NULL : &w->base.dependencies[old->in];
	clew_time gap;

	if (d && d->origins.count) {
		clew_time trigger = w->base.es[w->base.origins[d->origins.first]].end, at;

		if (trigger <= old->start) {
			if (!ended(p, d, &at, ret_wanted))
				return 0;
			if (!whatif_is_free(w, d, es) &&
			    __builtin_add_overflow(at, old->start - trigger, &at))
				return -EOVERFLOW;
			*ret_start = first || at > before ? at : before;
			return 1;
		}
		w->result.backward_edges++;
	}
	*ret_start = before;
	if (first || old->start == old[-1].end)
		return 1;
	if (whatif_gap(w, es, old->start - old[-1].end, &gap) < 0 ||
	    __builtin_add_overflow(before, gap, ret_start))
		return -EOVERFLOW;
	return 1;
}

static inline int run(struct plain *p, uint32_t es, clew_time start, clew_time *ret_end)
{
	struct whatif *w = p->w;
	const struct clew_es *old = &w->base.es[es];
	struct clew_es *new = &w->es[es];
	uint32_t waiter = *first_waiter(p, es);
	clew_time length, end;

	if (whatif_length_of(w, es, &length) < 0 || __builtin_add_overflow(start, length, &end))
		return -EOVERFLOW;
	*new = *old;
	new->start = start;
	new->end = *ret_end = end;
	new->waiter = 0;
	w->unstarted--;
	p->runners[old->span].next = es + 1;
	if (waiter)
		wake(p, waiter);
	return 0;
}

static int run_on(struct plain *p, uint32_t span)
{
	const struct whatif *w = p->w;
	struct clew_range range = w->base.spans[span].elementary;
	struct runner *runner = &p->runners[span];
	clew_time before = runner->end, start;
	uint32_t wanted;
	int r = 0;

	for (uint32_t es = runner->next; es < range.first + range.count && r == 0; es++) {
		const struct clew_es *old = &w->base.es[es];

		fetch_ahead(w, es);
		if (old->end < old->start || (es > range.first && old->start < old[-1].end))
			return -EBADMSG;
		r = start_of(p, es, es == range.first, before, &start, &wanted);
		if (r == 0) {
			wait_for(p, span, wanted);
			break;
		}
		if (r > 0)
			r = run(p, es, start, &before);
	}
	runner->end = before;
	return r;
}

/* All that is left waits for itself: what was recorded first goes at its recorded time, the others
 * wait on. */
static int let_go(struct plain *p)
{
	struct whatif *w = p->w;
	uint32_t chosen = CLEW_NONE, es;
	clew_time start;
	int r;

	for (uint32_t span = 0; span < w->base.span_count; span++) {
		struct runner *runner = &p->runners[span];

		if (runner->wanted == CLEW_NONE)
			continue;
		*first_waiter(p, runner->wanted) = 0;
		if (chosen == CLEW_NONE ||
		    w->base.es[runner->next].start < w->base.es[p->runners[chosen].next].start)
			chosen = span;
	}
	if (chosen == CLEW_NONE)
		return -EBADMSG;
	for (uint32_t span = 0; span < w->base.span_count; span++)
		if (span != chosen && p->runners[span].wanted != CLEW_NONE)
			wait_for(p, span, p->runners[span].wanted);
	p->runners[chosen].wanted = CLEW_NONE;
	es = p->runners[chosen].next;
	start = w->base.es[es].start;
	if (es > w->base.spans[chosen].elementary.first &&
	    __builtin_add_overflow(p->runners[chosen].end, start - w->base.es[es - 1].end, &start))
		return -EOVERFLOW;
	r = run(p, es, start, &p->runners[chosen].end);
	p->ready[p->ready_count++] = chosen;
	return r;
}

static int run_all(struct plain *p)
{
	struct whatif *w = p->w;
	int r = 0;

	for (uint32_t span = w->base.span_count; span-- > 0;) {
		uint32_t first = w->base.spans[span].elementary.first;

		p->runners[span] = (struct runner){
			.next = first,
			.wanted = CLEW_NONE,
			.end = w->early && w->early[span] ? w->earliest : w->base.es[first].start};
		p->ready[p->ready_count++] = span;
	}
	while (r == 0 && w->unstarted) {
		while (r == 0 && p->ready_count)
			r = run_on(p, p->ready[--p->ready_count]);
		if (r == 0 && w->unstarted)
			r = let_go(p);
	}
	return r;
}

int whatif_plain(struct whatif *w)
{
	struct plain p = {.w = w};
	int r = -ENOMEM;

	p.runners = malloc(((size_t)w->base.span_count + 1) * sizeof(*p.runners));
	p.ready = malloc(((size_t)w->base.span_count + 1) * sizeof(*p.ready));
	if (p.runners && p.ready)
		r = run_all(&p);
	free(p.runners);
	free(p.ready);
	return r;
}
