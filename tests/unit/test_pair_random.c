/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairing of small random sets of events, crowded into few moments and added in any order,
 * against an oracle that finds for each destination by itself the origin that it belongs
 * to, and where several origins belong together walks along all events of the key.
 */
#include <clew/pair.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "draw.h"
#include "model_text.h"

enum {
	SETS = 20000,
	MOST_EVENTS = 14,
	SPANS = 3,
	TYPES = 2,
	IDS = 3,
	KEYS = TYPES * IDS,
	MOMENTS = 7
};

struct event {
	unsigned key;
	bool is_destination;
	unsigned span, sequence;
	long at;
};

struct set {
	unsigned count;
	struct event events[MOST_EVENTS];
	bool opened[KEYS];
	unsigned order[KEYS], key_count; /* of opening */
	struct clew_pair_options options[KEYS];
};

static void draw_set(struct set *set)
{
	*set = (struct set){.count = draw(MOST_EVENTS + 1)};
	for (unsigned i = 0; i < KEYS; i++)
		set->options[i] =
			(struct clew_pair_options){.reuse = draw(4) != 0,
						   .keep_without_origin = draw(2),
						   .keep_without_destination = draw(2),
						   .mode = draw(2) ? CLEW_MODE_SINGLE : draw(3)};
	for (unsigned i = 0; i < set->count; i++) {
		struct event *event = &set->events[i];

		*event = (struct event){.key = draw(draw(2) ? 1 : KEYS),
					.is_destination = draw(5) > 1,
					.span = draw(SPANS),
					.sequence = draw(2) ? 0 : draw(3),
					.at = (long)draw(MOMENTS)};
		if (!set->opened[event->key])
			set->order[set->key_count++] = event->key;
		set->opened[event->key] = true;
	}
}

/* ---- the oracle ---- */

struct wanted {
	struct text text; /* a line a dependency */
	unsigned created[TYPES], paired[TYPES], origins[TYPES], destinations[TYPES], dropped[TYPES],
		backward[TYPES];
	bool refused;
};

/* Before, at the same time and place in the order, or behind. */
static int compare(const struct event *a, const struct event *b)
{
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

/* The result of a group of events; `member`: which of the set are in it. */
static void want_group(const struct set *set, unsigned key, const bool *member,
		       struct wanted *wanted)
{
	const struct clew_pair_options *options = &set->options[key];
	unsigned type = key / IDS, sides[2] = {0, 0};
	long trigger = 0;
	bool first = true;

	for (unsigned i = 0; i < set->count; i++) {
		if (!member[i])
			continue;
		sides[set->events[i].is_destination]++;
		if (set->events[i].is_destination)
			continue;
		if (first || (options->mode == CLEW_MODE_OR ? set->events[i].at < trigger
							    : set->events[i].at > trigger))
			trigger = set->events[i].at;
		first = false;
	}
	if (!sides[0] && !sides[1])
		return;
	if ((!sides[0] && !options->keep_without_origin) ||
	    (!sides[1] && !options->keep_without_destination)) {
		wanted->dropped[type]++;
		wanted->origins[type] += sides[0];
		wanted->destinations[type] += sides[1];
		return;
	}
	wanted->created[type]++;
	wanted->paired[type] += sides[0] && sides[1];
	text_add(&wanted->text, "%u %d trigger %ld:", type, (int)options->mode,
		 sides[0] ? trigger : -1);
	/* As sets: by span and moment. */
	for (int side = 0; side < 2; side++)
		for (unsigned span = 0; span < SPANS; span++)
			for (long at = 0; at < MOMENTS; at++)
				for (unsigned i = 0; i < set->count; i++) {
					const struct event *event = &set->events[i];

					if (!member[i] || event->is_destination != (side == 1) ||
					    event->span != span || event->at != at)
						continue;
					text_add(&wanted->text, "%s%u@%ld", side ? " ->" : " ",
						 span, at);
					wanted->backward[type] += side && sides[0] && at < trigger;
				}
	text_add(&wanted->text, "\n");
}

/* The origin that a destination belongs to: the latest that is not after it, of equals the one
 * added last; -1 none. */
static int origin_of(const struct set *set, unsigned destination)
{
	const struct event *of = &set->events[destination];
	int best = -1;

	for (unsigned i = 0; i < set->count; i++) {
		const struct event *event = &set->events[i];

		if (event->key != of->key || event->is_destination || compare(event, of) > 0)
			continue;
		if (best < 0 || compare(event, &set->events[best]) >= 0)
			best = (int)i;
	}
	return best;
}

static void want_of_reuse(const struct set *set, unsigned key, struct wanted *wanted)
{
	bool member[MOST_EVENTS], done[MOST_EVENTS] = {false};

	/* Destinations without an origin come first of all; then the origins, the earliest first.
	 */
	for (int origin = -1;;) {
		memset(member, 0, sizeof(member));
		for (unsigned i = 0; i < set->count; i++)
			member[i] = set->events[i].key == key && set->events[i].is_destination &&
				    origin_of(set, i) == origin;
		if (origin >= 0)
			member[origin] = done[origin] = true;
		want_group(set, key, member, wanted);
		origin = -1;
		for (unsigned i = 0; i < set->count; i++) {
			const struct event *event = &set->events[i];

			if (event->key == key && !event->is_destination && !done[i] &&
			    (origin < 0 || compare(event, &set->events[origin]) < 0))
				origin = (int)i;
		}
		if (origin < 0)
			return;
	}
}

/* In order of time a new round begins with each origin that follows a destination. */
static void want_rounds(const struct set *set, unsigned key, struct wanted *wanted)
{
	bool member[MOST_EVENTS] = {false}, done[MOST_EVENTS] = {false}, after_destination = false;

	for (;;) {
		int next = -1;

		for (unsigned i = 0; i < set->count; i++) {
			const struct event *event = &set->events[i];
			int order = next < 0 ? -1 : compare(event, &set->events[next]);

			if (event->key != key || done[i])
				continue;
			if (order < 0 || (order == 0 && !event->is_destination &&
					  set->events[next].is_destination))
				next = (int)i;
		}
		if (next < 0 || (!set->events[next].is_destination && after_destination)) {
			want_group(set, key, member, wanted);
			memset(member, 0, sizeof(member));
		}
		if (next < 0)
			return;
		after_destination = set->events[next].is_destination;
		member[next] = done[next] = true;
	}
}

static void want_all(const struct set *set, unsigned key, struct wanted *wanted)
{
	bool member[MOST_EVENTS] = {false};
	unsigned origins = 0;

	for (unsigned i = 0; i < set->count; i++) {
		member[i] = set->events[i].key == key;
		origins += member[i] && !set->events[i].is_destination;
	}
	if (origins > 1 && set->options[key].mode == CLEW_MODE_SINGLE)
		wanted->refused = true;
	want_group(set, key, member, wanted);
}

static void want(const struct set *set, struct wanted *wanted)
{
	*wanted = (struct wanted){};
	text_add(&wanted->text, "%s", "");
	for (unsigned i = 0; i < set->key_count; i++) {
		unsigned key = set->order[i];

		if (!set->options[key].reuse)
			want_all(set, key, wanted);
		else if (set->options[key].mode == CLEW_MODE_SINGLE)
			want_of_reuse(set, key, wanted);
		else
			want_rounds(set, key, wanted);
	}
}

/* ---- what is made ---- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void write_side(struct text *text, const struct clew_model *model, const uint32_t *ends,
		       uint32_t count, bool is_destination)
{
	char parts[MOST_EVENTS][16];

	for (uint32_t i = 0; i < count; i++) {
		const struct clew_es *es = &model->es[ends[i]];

		snprintf(parts[i], sizeof(parts[i]), "%s%u@%d", is_destination ? " ->" : " ",
			 es->span, (int)(is_destination ? es->start : es->end));
	}
	qsort(parts, count, sizeof(parts[0]), compare_texts);
	for (uint32_t i = 0; i < count; i++)
		text_add(text, "%s", parts[i]);
}

static char *write_model(const struct clew_model *model)
{
	struct text text = {};

	text_add(&text, "%s", "");
	for (uint32_t i = 0; i < model->dependency_count; i++) {
		const struct clew_dependency *d = &model->dependencies[i];
		uint32_t trigger = clew_model_trigger(model, i);

		text_add(&text, "%d %d trigger %ld:", (int)d->type - 2, (int)d->mode,
			 trigger == CLEW_NONE ? -1 : (long)model->es[trigger].end);
		write_side(&text, model, model->origins + d->origins.first, d->origins.count,
			   false);
		write_side(&text, model, model->destinations + d->destinations.first,
			   d->destinations.count, true);
		text_add(&text, "\n");
	}
	return text.data;
}

static struct clew_maker *new_maker(void);

struct end {
	uint32_t span;
	clew_time at;
};

static int compare_moments(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static char *all_spans(const struct clew_model *model)
{
	struct text text = {};

	for (uint32_t i = 0; i < model->span_count; i++) {
		char *span = text_span(model, i);

		text_add(&text, "%s\n", span);
		free(span);
	}
	return text.data;
}

/* The same dependencies made one after the other. */
static void assert_same_spans(const struct clew_model *model)
{
	struct clew_maker *maker = new_maker();
	char *spans = all_spans(model), *others;
	struct clew_model *other;

	for (uint32_t i = 0; i < model->dependency_count; i++) {
		const struct clew_dependency *d = &model->dependencies[i];
		struct end ends[2][MOST_EVENTS];
		uint32_t counts[2] = {d->origins.count, d->destinations.count}, number;

		assert_int_equal(clew_maker_dependency(maker, d->type, d->mode, CLEW_NONE, &number),
				 0);
		for (int side = 0; side < 2; side++) {
			const uint32_t *es = side ? model->destinations + d->destinations.first
						  : model->origins + d->origins.first;

			for (uint32_t j = 0; j < counts[side]; j++)
				ends[side][j] = (struct end){model->es[es[j]].span,
							     side ? model->es[es[j]].start
								  : model->es[es[j]].end};
			qsort(ends[side], counts[side], sizeof(struct end), compare_moments);
		}
		for (uint32_t j = 0; j < counts[0]; j++)
			assert_int_equal(
				clew_maker_origin(maker, number, ends[0][j].span, ends[0][j].at, 0),
				0);
		for (uint32_t j = 0; j < counts[1]; j++)
			assert_int_equal(clew_maker_destination(maker, number, ends[1][j].span,
								ends[1][j].at, ends[1][j].at, 0),
					 0);
	}
	assert_int_equal(clew_maker_finish(maker, &other), 0);
	others = all_spans(other);
	assert_string_equal(spans, others);
	free(spans);
	free(others);
	clew_model_free(other);
	clew_maker_free(maker);
}

static struct clew_maker *new_maker(void)
{
	struct clew_maker *maker;
	uint32_t number;

	assert_int_equal(clew_maker_new(&maker), 0);
	for (unsigned i = 0; i < TYPES; i++)
		assert_int_equal(clew_maker_type(maker, i ? "signal" : "send", &number), 0);
	for (unsigned i = 0; i < SPANS; i++)
		assert_int_equal(clew_maker_root(maker, "s", 0, MOMENTS, &number), 0);
	return maker;
}

static void add_events(struct clew_pairing *pairing, const struct set *set)
{
	static const char *const ids[IDS] = {"", "x", "a longer one"};

	for (unsigned i = 0; i < set->count; i++) {
		const struct event *event = &set->events[i];
		const struct clew_pair_event row = {.span = event->span,
						    .at = event->at,
						    .wait_from = event->at,
						    .sequence = event->sequence};
		uint32_t entry;

		assert_int_equal(clew_pairing_entry(pairing, 2 + event->key / IDS,
						    ids[event->key % IDS],
						    &set->options[event->key], &entry),
				 0);
		if (event->is_destination)
			assert_int_equal(clew_pairing_destination(pairing, entry, &row), 0);
		else
			assert_int_equal(clew_pairing_origin(pairing, entry, &row), 0);
	}
}

static void assert_metrics(const struct clew_pairing *pairing, const struct wanted *wanted)
{
	for (uint32_t type = 0; type < TYPES; type++) {
		struct clew_pair_metrics metrics;

		clew_pairing_metrics(pairing, 2 + type, &metrics);
		assert_int_equal(metrics.created, wanted->created[type]);
		assert_int_equal(metrics.paired, wanted->paired[type]);
		assert_int_equal(metrics.unpaired_origins, wanted->origins[type]);
		assert_int_equal(metrics.unpaired_destinations, wanted->destinations[type]);
		assert_int_equal(metrics.dropped, wanted->dropped[type]);
		assert_int_equal(metrics.backward, wanted->backward[type]);
	}
}

/* That links agree is checked where the model becomes a maker again. */
static void check_links(const struct clew_model *model)
{
	struct clew_maker *maker;

	assert_int_equal(clew_maker_from_model(model, &maker), 0);
	clew_maker_free(maker);
}

static bool one_set(const struct set *set)
{
	struct clew_maker *maker = new_maker();
	struct clew_pairing *pairing;
	struct clew_model *model;
	struct wanted wanted;
	char *text;
	int r;

	want(set, &wanted);
	assert_int_equal(clew_pairing_new(&pairing), 0);
	add_events(pairing, set);
	r = clew_pairing_close(pairing, maker, NULL);
	assert_int_equal(r, wanted.refused ? -EINVAL : 0);
	assert_int_equal(clew_maker_finish(maker, &model), 0);
	if (r == 0) {
		text = write_model(model);
		assert_string_equal(text, wanted.text.data);
		free(text);
		assert_metrics(pairing, &wanted);
		check_links(model);
		assert_same_spans(model);
	} else {
		assert_int_equal(model->dependency_count, 0);
		assert_int_equal(model->es_count, SPANS);
	}
	free(wanted.text.data);
	clew_model_free(model);
	clew_maker_free(maker);
	clew_pairing_free(pairing);
	return r == 0;
}

static void test_random_sets(void **state)
{
	unsigned good = 0;

	(void)state;
	for (unsigned i = 0; i < SETS; i++) {
		struct set set;

		random_state = 0x9e3779b97f4a7c15ull * (i + 1);
		draw_set(&set);
		good += one_set(&set);
	}
	/* Most are not refused. */
	assert_true(good >= 10000);
}

/* Enough of them that they are sorted by digits. */
static void test_many(void **state)
{
	enum { MANY = 3000, LENGTH = 1000000 };
	const struct clew_pair_options options = {.reuse = true};
	static long origins[MANY], destinations[MANY];
	struct clew_pairing *pairing;
	struct clew_maker *maker;
	struct clew_model *model;
	uint32_t span, entry;

	(void)state;
	random_state = 7;
	assert_int_equal(clew_maker_new(&maker), 0);
	assert_int_equal(clew_maker_root(maker, "s", 0, LENGTH, &span), 0);
	assert_int_equal(clew_pairing_new(&pairing), 0);
	assert_int_equal(clew_pairing_entry(pairing, 0, NULL, &options, &entry), 0);
	for (int i = 0; i < MANY; i++) {
		struct clew_pair_event event = {};

		event.at = event.wait_from = origins[i] = (long)draw(LENGTH);
		assert_int_equal(clew_pairing_origin(pairing, entry, &event), 0);
		event.at = event.wait_from = destinations[i] = (long)draw(LENGTH);
		assert_int_equal(clew_pairing_destination(pairing, entry, &event), 0);
	}
	assert_int_equal(clew_pairing_close(pairing, maker, NULL), 0);
	assert_int_equal(clew_maker_finish(maker, &model), 0);
	for (uint32_t i = 0; i < model->dependency_count; i++) {
		const struct clew_dependency *d = &model->dependencies[i];
		clew_time from = model->es[clew_model_trigger(model, i)].end;

		for (uint32_t j = 0; j < d->destinations.count; j++) {
			clew_time to =
				model->es[model->destinations[d->destinations.first + j]].start;

			assert_true(from <= to);
			for (int k = 0; k < MANY; k++)
				assert_false(from < origins[k] && origins[k] <= to);
		}
	}
	clew_model_free(model);
	clew_maker_free(maker);
	clew_pairing_free(pairing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_sets),
					   cmocka_unit_test(test_many)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
