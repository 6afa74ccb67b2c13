/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Clocks that run at different rates. The bounds that messages set on a clock are points, some of
 * which a line is above and the others below: where no constant fits, the line is taken that is
 * farthest from all of them. Its offset is chosen with those of all other traces.
 */
#include <math.h>

#include "analyse/stitch/internal.h"

#define MOST_RATE 1e-3 /* beyond that it is no clock */
#define STEPS	  80

typedef __int128 wide;

struct rates {
	struct stitch *s;
	bool placed[CLEW_STITCH_MOST_TRACES];
	clew_time offsets[CLEW_STITCH_MOST_TRACES]; /* of those that are placed, as far as known */
	uint32_t trace;
	clew_time zero;
	wide base; /* of all bounds */
};

/* The least, or the most, that must be added to a clock at `at`. False: the edge is no bound. */
static bool bound_of(const struct rates *r, const struct stitch_edge *edge, clew_time *ret_at,
		     double *ret_bound, bool *ret_least)
{
	bool to = edge->to == r->trace && r->placed[edge->from],
	     from = edge->from == r->trace && r->placed[edge->to];
	uint32_t other = to ? edge->from : edge->to;
	clew_time own = to ? edge->destination : edge->origin,
		  others = to ? edge->origin : edge->destination;

	if (!to && !from)
		return false;
	*ret_at = own;
	*ret_least = to;
	*ret_bound = (double)((wide)stitch_warped(r->s, other, others) + r->offsets[other] - own -
			      r->base);
	return true;
}

/* The distance at which the bounds stay if a clock gains `rate` as time goes on; negative: they
 * contradict each other. */
static double width(const struct rates *r, double rate, double *ret_middle)
{
	const struct stitch_edge *edges = r->s->edges.data;
	double low = -INFINITY, high = INFINITY;

	for (size_t i = 0; i < r->s->edges.count; i++) {
		double bound;
		clew_time at;
		bool least;

		if (!bound_of(r, &edges[i], &at, &bound, &least))
			continue;
		bound -= rate * (double)(at - r->zero);
		if (least)
			low = bound > low ? bound : low;
		else
			high = bound < high ? bound : high;
	}
	*ret_middle = low / 2 + high / 2;
	return high - low;
}

/* The rate at which the bounds are farthest apart: the width is concave. */
static double best_rate(const struct rates *r)
{
	double low = -MOST_RATE, high = MOST_RATE, middle;

	for (int i = 0; i < STEPS; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3;

		if (width(r, a, &middle) >= width(r, b, &middle))
			high = b;
		else
			low = a;
	}
	return (low + high) / 2;
}

/* True if messages lead both ways between a trace and those that are placed. */
static bool is_bounded(struct rates *r, uint32_t trace)
{
	const struct stitch_edge *edges = r->s->edges.data;
	bool ways[2] = {false, false};

	r->trace = trace;
	r->base = 0;
	for (size_t i = 0; i < r->s->edges.count; i++) {
		double bound;
		bool least;

		if (!bound_of(r, &edges[i], &r->zero, &bound, &least))
			continue;
		if (!ways[0] && !ways[1])
			r->base = (wide)bound;
		ways[least] = true;
	}
	return ways[0] && ways[1];
}

static void place(struct rates *r)
{
	struct stitch *s = r->s;
	double middle, rate = 0;

	if (width(r, 0, &middle) < 0) {
		rate = best_rate(r);
		if (width(r, rate, &middle) < -1)
			rate = 0;
	}
	s->rates[r->trace] = rate;
	s->zeros[r->trace] = r->zero;
	width(r, rate, &middle);
	r->offsets[r->trace] = (clew_time)(r->base + (wide)middle);
	r->placed[r->trace] = true;
}

void stitch_rates(struct stitch *s)
{
	struct rates r = {.s = s, .placed[0] = true};
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t i = 1; i < s->count; i++) {
			if (r.placed[i] || (s->options->forced && s->options->forced[i]) ||
			    !is_bounded(&r, i))
				continue;
			place(&r);
			more = true;
		}
	}
}
