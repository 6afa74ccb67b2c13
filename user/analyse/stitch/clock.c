/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The clocks of stitched traces. That an effect is not before its cause bounds the
 * difference of two offsets from below; all such bounds together are a system whose
 * tightest consequences are longest paths. It has a solution unless a path leads round
 * to more than nothing. Traces are added to it in their order; where there is no solution
 * with one more, that one's bounds are eased, all alike, by as little as will do.
 *
 * Traces whose offset is given are one with the first: their times are its already.
 */
#include "analyse/stitch/internal.h"

typedef __int128 wide;

/* The least that must be added to the times of one trace beyond what is added to those of another.
 */
struct least {
	wide value;
	bool known;
};

/* For the first `count` traces. A row of `all` is all traces long. */
struct bounds {
	uint32_t count, row;
	struct least *all;
};

static inline struct least *least_of(const struct bounds *b, uint32_t from, uint32_t to)
{
	return &b->all[(size_t)from * b->row + to];
}

static void copy_bounds(struct bounds *to, const struct bounds *from)
{
	to->count = from->count;
	memcpy(to->all, from->all, (size_t)from->row * from->row * sizeof(*from->all));
}

/* ---- what there is ---- */

static int note(struct stitch *s, const struct stitch_end *origin,
		const struct stitch_end *destination)
{
	struct stitch_edge *edge;

	if (origin->trace == destination->trace)
		return 0;
	if (vector_reserve(&s->edges, s->edges.count + 1) < 0)
		return -ENOMEM;
	edge = (struct stitch_edge *)s->edges.data + s->edges.count++;
	*edge = (struct stitch_edge){.from = origin->trace,
				     .to = destination->trace,
				     .origin = origin->at,
				     .destination = destination->at};
	return 0;
}

/* The end in each trace that bounds the clock most: the last origin where all count, the first
 * where any is enough. */
static void choose_origins(enum clew_mode mode, const struct stitch_end *ends, size_t count,
			   const struct stitch_end *chosen[static CLEW_STITCH_MOST_TRACES])
{
	for (size_t i = 0; i < count; i++) {
		const struct stitch_end **best = &chosen[ends[i].trace];

		if (!*best ||
		    (mode == CLEW_MODE_OR ? ends[i].at < (*best)->at : ends[i].at > (*best)->at))
			*best = &ends[i];
	}
}

int stitch_note(struct stitch *s, enum clew_mode mode, const struct stitch_end *origins,
		size_t origin_count, const struct stitch_end *destinations,
		size_t destination_count)
{
	const struct stitch_end *chosen[CLEW_STITCH_MOST_TRACES] = {};
	unsigned traces = 0;
	int r = 0;

	choose_origins(mode, origins, origin_count, chosen);
	for (uint32_t i = 0; i < s->count; i++)
		traces += chosen[i] != NULL;
	/* Any may have been the cause, and by which clock cannot be said. */
	if (mode == CLEW_MODE_OR && traces > 1)
		return 0;
	for (uint32_t i = 0; i < s->count; i++)
		for (size_t j = 0; chosen[i] && j < destination_count && r == 0; j++)
			r = note(s, chosen[i], &destinations[j]);
	return r;
}

/* ---- the system ---- */

/* The node of a trace: 0 for those whose offset is known. */
static uint32_t node_of(const struct stitch *s, uint32_t trace)
{
	return trace == 0 || (s->options->forced && s->options->forced[trace]) ? 0 : trace;
}

static wide known_time(const struct stitch *s, uint32_t trace, clew_time at)
{
	return (wide)stitch_warped(s, trace, at) + (node_of(s, trace) == 0 ? s->offsets[trace] : 0);
}

static void bound(struct bounds *b, uint32_t from, uint32_t to, wide value)
{
	struct least *least = least_of(b, from, to);

	if (!least->known || value > least->value)
		least->value = value;
	least->known = true;
}

static void take_edges(const struct stitch *s, struct bounds *b)
{
	const struct stitch_edge *edges = s->edges.data;

	for (size_t i = 0; i < s->edges.count; i++) {
		const struct stitch_edge *edge = &edges[i];
		uint32_t from = node_of(s, edge->from), to = node_of(s, edge->to);

		s->result->clocks[edge->from].edges_out++;
		s->result->clocks[edge->to].edges_in++;
		if (from != to)
			bound(b, from, to,
			      known_time(s, edge->from, edge->origin) -
				      known_time(s, edge->to, edge->destination));
	}
}

/* The bound that follows from two others. Where there is no solution they grow without end: they
 * stop at what no times differ by. */
static void close_bounds(struct bounds *b)
{
	const wide most = (wide)1 << 100;

	for (uint32_t k = 0; k < b->count; k++)
		for (uint32_t i = 0; i < b->count; i++)
			for (uint32_t j = 0; least_of(b, i, k)->known && j < b->count; j++) {
				const struct least *then = least_of(b, k, j);
				wide sum = then->known ? least_of(b, i, k)->value + then->value : 0;

				if (then->known)
					bound(b, i, j, sum > most ? most : sum);
			}
}

static bool is_solvable(const struct bounds *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (least_of(b, i, i)->known && least_of(b, i, i)->value > 0)
			return false;
	return true;
}

/* Adds a trace to a system of those before it, its bounds less by `by`. True if there is a
 * solution then. */
static bool add_trace(const struct bounds *system, const struct bounds *direct, uint32_t trace,
		      wide by, struct bounds *ret_system)
{
	copy_bounds(ret_system, system);
	ret_system->count = trace + 1;
	for (uint32_t i = 0; i < trace; i++) {
		if (least_of(direct, i, trace)->known)
			bound(ret_system, i, trace, least_of(direct, i, trace)->value - by);
		if (least_of(direct, trace, i)->known)
			bound(ret_system, trace, i, least_of(direct, trace, i)->value - by);
	}
	close_bounds(ret_system);
	return is_solvable(ret_system);
}

/* The least easing of a trace's bounds with which there is a solution. `system` becomes the one
 * with it. */
static wide ease(struct bounds *system, const struct bounds *direct, uint32_t trace,
		 struct bounds *scratch)
{
	wide low = 0, high = 1;

	if (add_trace(system, direct, trace, 0, scratch)) {
		copy_bounds(system, scratch);
		return 0;
	}
	while (!add_trace(system, direct, trace, high, scratch)) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		wide middle = low + (high - low) / 2;

		if (add_trace(system, direct, trace, middle, scratch))
			high = middle;
		else
			low = middle;
	}
	add_trace(system, direct, trace, high, scratch);
	copy_bounds(system, scratch);
	return high;
}

/* ---- drift ---- */

/* The most by which the bounds on one clock contradict each other if it gains `rate` as time goes
 * on. */
static double contradiction(const struct stitch *s, uint32_t trace, clew_time zero, double rate)
{
	const struct stitch_edge *edges = s->edges.data;
	double low = -1e300, high = 1e300;

	for (size_t i = 0; i < s->edges.count; i++) {
		const struct stitch_edge *edge = &edges[i];
		uint32_t from = node_of(s, edge->from), to = node_of(s, edge->to);
		wide origin = known_time(s, edge->from, edge->origin),
		     destination = known_time(s, edge->to, edge->destination);

		if (from == 0 && to == trace) {
			double least =
				(double)(origin - destination) - rate * (double)(origin - zero);

			low = least > low ? least : low;
		} else if (from == trace && to == 0) {
			double most = (double)(destination - origin) -
				      rate * (double)(destination - zero);

			high = most < high ? most : high;
		}
	}
	return low - high;
}

/* A sum of convex functions of the rate: its minimum is between any two thirds' better ones. */
static void find_drift(const struct stitch *s, uint32_t trace, struct clew_stitch_clock *clock)
{
	enum { STEPS = 60 };
	const double most = 1e-3; /* beyond that it is no clock */
	const struct stitch_edge *edges = s->edges.data;
	double low = -most, high = most;
	clew_time zero = 0;

	for (size_t i = 0; i < s->edges.count; i++)
		if (node_of(s, edges[i].from) == 0)
			zero = (clew_time)known_time(s, edges[i].from, edges[i].origin);
	for (int i = 0; i < STEPS; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3;

		if (contradiction(s, trace, zero, a) <= contradiction(s, trace, zero, b))
			high = b;
		else
			low = a;
	}
	if (contradiction(s, trace, zero, (low + high) / 2) > 1)
		return;
	clock->has_drift = true;
	clock->drift = -(low + high) / 2 * 1e6;
}

/* ---- the choice ---- */

static clew_time limit(wide value)
{
	return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (clew_time)value;
}

static wide middle_of(wide low, wide high)
{
	return (low + high) >> 1;
}

static void describe(const struct bounds *b, const struct bounds *direct, wide eased,
		     uint32_t trace, struct clew_stitch_clock *clock)
{
	/* A contradiction implies anything. */
	const struct bounds *from = eased ? direct : b;

	clock->has_low = least_of(from, 0, trace)->known;
	clock->has_high = least_of(from, trace, 0)->known;
	clock->low = clock->has_low ? limit(least_of(from, 0, trace)->value) : 0;
	clock->high = clock->has_high ? limit(-least_of(from, trace, 0)->value) : 0;
	if (eased) {
		clock->source = CLEW_CLOCK_CONFLICT;
		clock->error = (uint64_t)limit(eased);
	} else if (clock->has_low && clock->has_high) {
		clock->source = CLEW_CLOCK_BETWEEN;
		clock->error =
			(uint64_t)(clock->high - (clew_time)middle_of(clock->low, clock->high));
	} else {
		clock->source = clock->has_low	  ? CLEW_CLOCK_LEAST
				: clock->has_high ? CLEW_CLOCK_MOST
						  : CLEW_CLOCK_ASSUMED;
	}
}

static bool has_both(const struct bounds *b, uint32_t trace)
{
	return least_of(b, 0, trace)->known && least_of(b, trace, 0)->known;
}

/* The range that the remaining bounds leave, and the most likely value in it. */
static wide choose(const struct bounds *first, const struct bounds *left, uint32_t trace)
{
	bool has_low = least_of(left, 0, trace)->known, has_high = least_of(left, trace, 0)->known;
	wide low = least_of(left, 0, trace)->value, high = -least_of(left, trace, 0)->value,
	     wanted = 0;

	if (has_both(first, trace))
		wanted = middle_of(least_of(first, 0, trace)->value,
				   -least_of(first, trace, 0)->value);
	else if (has_low && has_high)
		wanted = middle_of(low, high);
	else if (has_low || has_high)
		wanted = has_low ? low : high;
	if (has_low && wanted < low)
		wanted = low;
	return has_high && wanted > high ? high : wanted;
}

/* From now on the offset of a trace is what it is. */
static int settle(struct stitch *s, uint32_t trace, wide offset, struct bounds *left)
{
	if (limit(offset) != offset)
		return -EOVERFLOW;
	s->offsets[trace] = (clew_time)offset;
	bound(left, 0, trace, offset);
	bound(left, trace, 0, -offset);
	close_bounds(left);
	return 0;
}

static int choose_all(struct stitch *s, const struct bounds *direct, struct bounds *closed,
		      struct bounds *left)
{
	wide eased[CLEW_STITCH_MOST_TRACES] = {0};
	int r = 0;

	closed->count = 1;
	for (uint32_t i = 1; i < s->count; i++)
		eased[i] = ease(closed, direct, i, left);
	for (uint32_t i = 1; i < s->count; i++) {
		struct clew_stitch_clock *clock = &s->result->clocks[i];

		if (node_of(s, i) == 0)
			continue;
		describe(closed, direct, eased[i], i, clock);
		if (eased[i] && clock->has_low && clock->has_high)
			find_drift(s, i, clock);
	}
	copy_bounds(left, closed);
	/* The middles of what is bounded on both sides agree with each other; what else there is
	 * goes by them. */
	for (unsigned both = 2; both-- > 0;)
		for (uint32_t i = 1; i < s->count && r == 0; i++)
			if (node_of(s, i) != 0 && has_both(closed, i) == both)
				r = settle(s, i, choose(closed, left, i), left);
	return r;
}

int stitch_clocks(struct stitch *s)
{
	size_t cells = (size_t)s->count * s->count;
	struct least *memory = calloc(3 * cells, sizeof(*memory));
	struct bounds bounds[3];
	struct clew_stitch_clock *clocks = s->result->clocks;
	const struct stitch_edge *edges = s->edges.data;
	int r;

	if (!memory)
		return -ENOMEM;
	for (unsigned i = 0; i < 3; i++)
		bounds[i] = (struct bounds){
			.count = s->count, .row = s->count, .all = memory + i * cells};
	for (uint32_t i = 0; i < s->count; i++) {
		clocks[i] = (struct clew_stitch_clock){.source = i == 0 ? CLEW_CLOCK_FIRST
									: CLEW_CLOCK_GIVEN};
		s->offsets[i] = i > 0 && node_of(s, i) == 0 ? s->options->offsets[i] : 0;
	}
	if (s->options->connections)
		stitch_rates(s);
	take_edges(s, &bounds[0]);
	r = choose_all(s, &bounds[0], &bounds[1], &bounds[2]);
	free(memory);
	for (uint32_t i = 0; i < s->count; i++) {
		clocks[i].offset = s->offsets[i];
		clocks[i].rate = s->rates[i] ? -s->rates[i] * 1e6 : 0;
	}
	s->result->backward = 0;
	for (size_t i = 0; i < s->edges.count; i++)
		s->result->backward += (wide)stitch_warped(s, edges[i].from, edges[i].origin) +
					       s->offsets[edges[i].from] >
				       (wide)stitch_warped(s, edges[i].to, edges[i].destination) +
					       s->offsets[edges[i].to];
	return r;
}
