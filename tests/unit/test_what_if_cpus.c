/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPUs of a what-if run on small random traces: who runs when is what a naive simulator says, which
 * looks at every single moment for what can happen at it; a trace that was made by so many CPUs
 * stays as it is with them; and never do more run than there are.
 */
#include "analyse/whatif/internal.h"
#include <clew/model_make.h>
#include <clew/tokens.h>
#include <stdio.h>

#include "random_model.h"

enum { ROUNDS = 16000, ENOUGH = 10000, MOST_TIME = 4000 };

static const struct random_shape shape = {.spans = 6, .es = 6, .gaps = true, .backwards = true};
static const struct clew_model_wait waits[] = {
	{.kind = CLEW_SEGMENT_RUNQUEUE, .attributes = CLEW_NONE},
	{.kind = CLEW_WAIT_SLEEP, .attributes = CLEW_NONE}};

static struct clew_model *names(void)
{
	struct clew_maker *maker;
	struct clew_model *model;
	uint32_t number;

	assert_int_equal(clew_maker_new(&maker), 0);
	assert_int_equal(clew_maker_root(maker, "a", 0, 1, &number), 0);
	assert_int_equal(clew_maker_type(maker, "send", &number), 0);
	assert_int_equal(clew_maker_finish(maker, &model), 0);
	clew_maker_free(maker);
	return model;
}

/* Gaps have a kind, or not. */
static struct clew_model *random_trace(struct random_model *m, const struct clew_model *like)
{
	struct clew_model *model;

	random_model(m, &shape);
	for (uint32_t es = 1; es < m->model.es_count; es++)
		if (m->es[es].span == m->es[es - 1].span && m->es[es].start > m->es[es - 1].end &&
		    pick(m, 4))
			m->es[es].wait = pick(m, 2);
	m->model.waits = waits;
	m->model.wait_count = 2;
	assert_int_equal(clew_model_from_arrays(like, &m->model, &model), 0);
	return model;
}

static int apply(const struct clew_model *model, const char *text, struct clew_model **ret_after)
{
	struct clew_query_error error = {.message = ""};
	struct clew_program *program;
	struct clew_what_if result;
	int r = clew_program_compile(text, strlen(text), false, &program, &error);

	assert_int_equal(r, 0);
	r = clew_what_if(model, program, NULL, ret_after, &result, &error);
	clew_program_free(program);
	return r;
}

/* ---- the naive simulator ---- */

struct naive {
	const struct clew_model *model;
	unsigned cpus;
	clew_time slice, slice_end, now;
	/* For an ES. */
	clew_time start[MOST_ES], end[MOST_ES], left[MOST_ES], released[MOST_ES],
		queued[MOST_SPANS];
	bool begun[MOST_ES], ended[MOST_ES];
	uint32_t line[MOST_ES], line_count; /* who waits for a CPU, in order */
	/* CPUs in order of since when they are had. */
	struct {
		uint32_t es;
		clew_time since;
		bool idle;
	} had[MOST_SPANS];
	unsigned had_count;
	bool runs[MOST_SPANS][MOST_TIME];
};

static bool by_edge(const struct clew_model *model, uint32_t es)
{
	uint32_t in = model->es[es].in;

	return in != CLEW_NONE && model->dependencies[in].origins.count &&
	       model->es[model->origins[model->dependencies[in].origins.first]].end <=
		       model->es[es].start;
}

static bool is_preempted(const struct clew_model *model, uint32_t es)
{
	return !clew_model_is_first(model, es) && model->es[es].start > model->es[es - 1].end &&
	       model->es[es].wait != CLEW_NONE &&
	       model->waits[model->es[es].wait].kind == CLEW_SEGMENT_RUNQUEUE;
}

/* When an ES can start. INT64_MAX: that is not known yet. */
static clew_time can_start(const struct naive *n, uint32_t number)
{
	const struct clew_model *model = n->model;
	const struct clew_es *es = &model->es[number];
	clew_time at = es->start, arrival, queued = 0;

	if (!clew_model_is_first(model, number)) {
		if (!n->ended[number - 1])
			return INT64_MAX;
		at = n->end[number - 1];
		if (!by_edge(model, number) && !is_preempted(model, number))
			at += es->start - es[-1].end;
	}
	if (by_edge(model, number)) {
		uint32_t origin = model->origins[model->dependencies[es->in].origins.first];

		if (!n->ended[origin])
			return INT64_MAX;
		if (is_preempted(model, number))
			queued = es->start - es[-1].end;
		if (queued > es->start - model->es[origin].end)
			queued = es->start - model->es[origin].end;
		arrival = n->end[origin] + es->start - model->es[origin].end - queued;
		at = clew_model_is_first(model, number) || arrival > at ? arrival : at;
	}
	return at;
}

static void take_out(struct naive *n, unsigned cpu)
{
	for (n->had_count--; cpu < n->had_count; cpu++)
		n->had[cpu] = n->had[cpu + 1];
}

static void put_on(struct naive *n, uint32_t es)
{
	n->had[n->had_count].es = es;
	n->had[n->had_count].since = n->now;
	n->had[n->had_count++].idle = false;
	if (n->left[es] < 0) {
		n->start[es] = n->now;
		n->left[es] = n->model->es[es].end - n->model->es[es].start;
	}
}

static uint32_t first_in_line(struct naive *n)
{
	uint32_t es = n->line[0];

	n->line_count--;
	memmove(n->line, n->line + 1, n->line_count * sizeof(*n->line));
	return es;
}

/* The next thing to happen at this moment, in the order of the kinds and of the trace. */
static bool step(struct naive *n)
{
	const struct clew_model *model = n->model;

	/* Ends. */
	for (uint32_t es = 0; es < model->es_count; es++) {
		bool has_cpu = false;

		if (!n->begun[es] || n->ended[es] || n->left[es] != 0)
			continue;
		for (unsigned i = 0; i < n->had_count; i++)
			if (n->had[i].es == es && !n->had[i].idle)
				has_cpu = n->had[i].idle = true;
		if (!has_cpu && model->es[es].end > model->es[es].start)
			continue;
		n->ended[es] = true;
		n->end[es] = n->now;
		return true;
	}
	/* Starts, and then those that were preempted. */
	for (unsigned yields = 0; yields < 2; yields++)
		for (uint32_t es = 0; es < model->es_count; es++) {
			unsigned cpu = 0;

			if (n->begun[es] ||
			    (unsigned)(is_preempted(model, es) && !by_edge(model, es) &&
				       model->es[es - 1].start < model->es[es - 1].end) != yields ||
			    can_start(n, es) > n->now)
				continue;
			n->begun[es] = true;
			if (model->es[es].end == model->es[es].start) {
				n->start[es] = n->now;
				n->left[es] = 0;
				return true;
			}
			n->left[es] = -1;
			while (cpu < n->had_count &&
			       !(n->had[cpu].idle &&
				 model->es[n->had[cpu].es].span == model->es[es].span))
				cpu++;
			if (cpu < n->had_count && !(yields && n->line_count)) {
				n->had[cpu].es = es;
				n->had[cpu].idle = false;
				n->start[es] = n->now;
				n->left[es] = model->es[es].end - model->es[es].start;
			} else if (n->had_count < n->cpus && n->line_count == 0) {
				put_on(n, es);
			} else {
				n->line[n->line_count++] = es;
				if (cpu < n->had_count)
					n->slice_end = n->now;
			}
			return true;
		}
	/* The CPU with which nobody went on. */
	for (uint32_t es = 0; es < model->es_count; es++)
		for (unsigned i = 0; i < n->had_count; i++)
			if (n->had[i].es == es && n->had[i].idle) {
				take_out(n, i);
				if (n->line_count)
					put_on(n, first_in_line(n));
				return true;
			}
	return false;
}

static void pass_on(struct naive *n)
{
	if (n->now - n->slice_end < n->slice)
		return;
	for (unsigned waiting = n->line_count; waiting > 0 && n->now - n->had[0].since >= n->slice;
	     waiting--) {
		uint32_t es = n->had[0].es;

		n->slice_end = n->now;
		take_out(n, 0);
		put_on(n, first_in_line(n));
		n->line[n->line_count++] = es;
	}
}

/* False: something waits for itself. */
static bool solve(struct naive *n)
{
	n->slice_end = -n->slice;
	for (uint32_t es = 0; es < n->model->es_count; es++)
		n->left[es] = -1;
	for (n->now = 0; n->now < MOST_TIME; n->now++) {
		uint32_t ended = 0;

		while (step(n)) {}
		pass_on(n);
		for (unsigned i = 0; i < n->had_count; i++) {
			n->runs[n->model->es[n->had[i].es].span][n->now] = true;
			n->left[n->had[i].es]--;
		}
		for (unsigned i = 0; i < n->line_count; i++)
			n->queued[n->model->es[n->line[i]].span]++;
		for (uint32_t es = 0; es < n->model->es_count; es++)
			ended += n->ended[es];
		if (ended == n->model->es_count)
			return true;
	}
	return false;
}

/* ---- comparing ---- */

static void assert_runs(const struct naive *n, const struct clew_model *after)
{
	static bool runs[MOST_TIME];

	for (uint32_t span = 0; span < after->span_count; span++) {
		struct clew_range before = n->model->spans[span].elementary,
				  range = after->spans[span].elementary;

		memset(runs, 0, sizeof(runs));
		for (uint32_t es = range.first; es < range.first + range.count; es++) {
			assert_true(after->es[es].start <= after->es[es].end);
			for (clew_time at = after->es[es].start; at < after->es[es].end; at++) {
				assert_false(runs[at]);
				runs[at] = true;
			}
		}
		assert_memory_equal(runs, n->runs[span], sizeof(runs));
		assert_int_equal(after->spans[span].start, n->start[before.first]);
		assert_int_equal(after->spans[span].end, n->end[before.first + before.count - 1]);
	}
}

/* The gaps of a trace without dependencies say how much of them is run queue. */
static void assert_queued(const struct naive *n, const struct clew_model *after)
{
	for (uint32_t span = 0; span < after->span_count && !after->dependency_count; span++) {
		struct clew_range range = after->spans[span].elementary;
		clew_time queued = after->spans[span].start - n->model->spans[span].start;

		for (uint32_t es = range.first + 1; es < range.first + range.count; es++) {
			uint32_t wait = after->es[es].wait;
			const char *runqueue =
				wait == CLEW_NONE
					? NULL
					: clew_model_attribute(after, after->waits[wait].attributes,
							       "runqueue");

			if (runqueue)
				queued += atoi(runqueue);
			else if (wait != CLEW_NONE &&
				 after->waits[wait].kind == CLEW_SEGMENT_RUNQUEUE)
				queued += after->es[es].start - after->es[es - 1].end;
		}
		assert_int_equal(queued, n->queued[span]);
	}
}

static void assert_consistent(const struct clew_model *after)
{
	struct clew_problem *problems;
	size_t count;

	assert_int_equal(clew_model_check(after, true, &problems, &count), 0);
	for (size_t i = 0; i < count; i++)
		assert_true(strcmp(problems[i].kind, "order") &&
			    strcmp(problems[i].kind, "overlap") &&
			    strcmp(problems[i].kind, "symmetry"));
	free(problems);
}

static void test_naive(void **state)
{
	static struct random_model m = {.seed = 31337};
	static struct naive n;
	struct clew_model *like = names();
	unsigned compared = 0, waited = 0, cut = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct clew_model *model = random_trace(&m, like), *after;
		char text[64];

		if (pick(&m, 3) == 0) {
			clew_model_free(model);
			for (uint32_t es = 0; es < m.model.es_count; es++)
				m.es[es].in = m.es[es].out = CLEW_NONE;
			m.model.dependency_count = m.model.origin_count =
				m.model.destination_count = 0;
			assert_int_equal(clew_model_from_arrays(like, &m.model, &model), 0);
		}
		memset(&n, 0, sizeof(n));
		n.model = model;
		n.cpus = 1 + pick(&m, 4);
		n.slice = 1 + pick(&m, 8);
		snprintf(text, sizeof(text), "set cpus to %u slice duration(%dns);", n.cpus,
			 (int)n.slice);
		assert_int_equal(apply(model, text, &after), 0);
		assert_consistent(after);
		if (solve(&n)) {
			compared++;
			assert_runs(&n, after);
			assert_queued(&n, after);
			for (uint32_t span = 0; span < model->span_count; span++)
				waited += n.queued[span] > 0;
			cut += after->es_count > model->es_count;
		}
		clew_model_free(after);
		clew_model_free(model);
	}
	assert_true(compared >= ENOUGH && waited > ENOUGH && cut > ENOUGH / 10);
	clew_model_free(like);
}

/* Moments far enough apart that no two things happen at one by chance. */
static struct clew_model *stretched(struct random_model *m, const struct clew_model *like)
{
	struct clew_model *model;

	random_model(m, &shape);
	for (uint32_t es = 0; es < m->model.es_count; es++)
		m->es[es].in = m->es[es].out = CLEW_NONE;
	m->model.dependency_count = m->model.origin_count = m->model.destination_count = 0;
	for (uint32_t i = 0; i < m->model.span_count; i++) {
		struct clew_range range = m->spans[i].elementary;
		clew_time at = pick(m, 1000000);

		m->spans[i].start = at;
		for (uint32_t es = range.first; es < range.first + range.count; es++) {
			at += es > range.first + 1 && pick(m, 2) ? pick(m, 1000000) : 0;
			m->es[es].start = at;
			/* Where nothing precedes it a wait cannot be seen. */
			m->es[es].end = at += es == range.first ? 0 : 1 + pick(m, 1000000);
		}
		m->spans[i].end = at;
	}
	assert_int_equal(clew_model_from_arrays(like, &m->model, &model), 0);
	return model;
}

static void test_again(void **state)
{
	static struct random_model m = {.seed = 271828};
	struct clew_model *like = names();

	(void)state;
	for (unsigned round = 0; round < ENOUGH; round++) {
		struct clew_model *model = stretched(&m, like), *cut, *once, *again;
		char text[64];

		/* Some are preempted, and are so again. */
		snprintf(text, sizeof(text), "set cpus to %u slice duration(%uns);",
			 1 + pick(&m, 4), 1000 + pick(&m, 1000000));
		assert_int_equal(apply(model, text, &cut), 0);
		snprintf(text, sizeof(text), "set cpus to %u slice duration(1h);", 1 + pick(&m, 4));
		assert_int_equal(apply(cut, text, &once), 0);
		assert_int_equal(apply(once, text, &again), 0);
		assert_int_equal(once->es_count, again->es_count);
		for (uint32_t es = 0; es < once->es_count; es++) {
			uint32_t a = once->es[es].wait, b = again->es[es].wait;

			assert_int_equal(once->es[es].start, again->es[es].start);
			assert_int_equal(once->es[es].end, again->es[es].end);
			assert_int_equal(a == CLEW_NONE ? CLEW_NONE : once->waits[a].kind,
					 b == CLEW_NONE ? CLEW_NONE : again->waits[b].kind);
		}
		clew_model_free(again);
		clew_model_free(once);
		clew_model_free(cut);
		clew_model_free(model);
	}
	clew_model_free(like);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_naive),
		cmocka_unit_test(test_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
