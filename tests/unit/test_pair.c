/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairing by key, case by case: what becomes of the two sides, with and without reuse,
 * events of one moment, several origins, waits, what fails and what it leaves; and the
 * events that the labels of a trace tell of.
 */
#include <clew/pair.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "model_text.h"

enum { SEND = 2, SIGNAL = 3 };

struct bench {
	struct clew_maker *maker;
	struct clew_pairing *pairing;
	uint32_t a, b;
};

static int begin(void **state)
{
	static struct bench bench;
	uint32_t type;

	assert_int_equal(clew_maker_new(&bench.maker), 0);
	assert_int_equal(clew_pairing_new(&bench.pairing), 0);
	assert_int_equal(clew_maker_type(bench.maker, "send", &type), 0);
	assert_int_equal(clew_maker_type(bench.maker, "signal", &type), 0);
	assert_int_equal(clew_maker_root(bench.maker, "a", 0, 100, &bench.a), 0);
	assert_int_equal(clew_maker_root(bench.maker, "b", 0, 100, &bench.b), 0);
	*state = &bench;
	return 0;
}

static int end(void **state)
{
	struct bench *bench = *state;

	clew_maker_free(bench->maker);
	clew_pairing_free(bench->pairing);
	return 0;
}

static uint32_t entry(struct bench *bench, uint32_t type, const char *id,
		      const struct clew_pair_options *options)
{
	uint32_t number;

	assert_int_equal(clew_pairing_entry(bench->pairing, type, id, options, &number), 0);
	return number;
}

static void origin(struct bench *bench, uint32_t number, uint32_t span, clew_time at,
		   uint64_t sequence)
{
	assert_int_equal(clew_pairing_origin(bench->pairing, number,
					     &(struct clew_pair_event){span, 0, at, at, sequence}),
			 0);
}

static void destination(struct bench *bench, uint32_t number, uint32_t span, clew_time at,
			uint64_t sequence)
{
	assert_int_equal(
		clew_pairing_destination(bench->pairing, number,
					 &(struct clew_pair_event){span, 0, at, at, sequence}),
		0);
}

static void close_all(struct bench *bench)
{
	struct clew_pair_problem problem;

	if (clew_pairing_close(bench->pairing, bench->maker, &problem) != 0)
		fail_msg("%s", problem.message);
}

/* Spans, then dependencies as "send a@10 -> b@20 b@30". */
static void assert_made(struct bench *bench, const char *a, const char *b, const char *dependencies)
{
	struct clew_model *model;
	struct text text = {};
	char *span;

	assert_int_equal(clew_maker_finish(bench->maker, &model), 0);
	span = text_span(model, bench->a);
	assert_string_equal(span, a);
	free(span);
	span = text_span(model, bench->b);
	assert_string_equal(span, b);
	free(span);
	text_add(&text, "%s", "");
	for (uint32_t i = 0; i < model->dependency_count; i++) {
		const struct clew_dependency *d = &model->dependencies[i];

		text_add(&text, "%s%s%s", i ? "; " : "", text_type(model, i),
			 d->mode == CLEW_MODE_AND  ? " and"
			 : d->mode == CLEW_MODE_OR ? " or"
						   : "");
		for (uint32_t j = 0; j < d->origins.count; j++) {
			const struct clew_es *es = &model->es[model->origins[d->origins.first + j]];

			text_add(&text, " %s@%lld",
				 clew_model_string(model, model->spans[es->span].name),
				 (long long)es->end);
		}
		text_add(&text, " ->");
		for (uint32_t j = 0; j < d->destinations.count; j++) {
			const struct clew_es *es =
				&model->es[model->destinations[d->destinations.first + j]];

			text_add(&text, " %s@%lld",
				 clew_model_string(model, model->spans[es->span].name),
				 (long long)es->start);
		}
	}
	assert_string_equal(text.data, dependencies);
	free(text.data);
	clew_model_free(model);
}

static void assert_metrics(const struct bench *bench, uint32_t type, unsigned created,
			   unsigned paired, unsigned origins, unsigned destinations,
			   unsigned dropped)
{
	struct clew_pair_metrics metrics;

	clew_pairing_metrics(bench->pairing, type, &metrics);
	assert_int_equal(metrics.created, created);
	assert_int_equal(metrics.paired, paired);
	assert_int_equal(metrics.unpaired_origins, origins);
	assert_int_equal(metrics.unpaired_destinations, destinations);
	assert_int_equal(metrics.dropped, dropped);
}

static void test_one_side_is_dropped(void **state)
{
	struct bench *bench = *state;

	destination(bench, entry(bench, SEND, "no origin", NULL), bench->b, 100, 0);
	origin(bench, entry(bench, SEND, "no destination", NULL), bench->a, 100, 0);
	entry(bench, SEND, "nothing at all",
	      &(struct clew_pair_options){.keep_without_origin = true,
					  .keep_without_destination = true});
	close_all(bench);
	assert_metrics(bench, SEND, 0, 0, 1, 1, 2);
	assert_metrics(bench, SIGNAL, 0, 0, 0, 0, 0);
	assert_made(bench, "[0,100]", "[0,100]", "");
}

static void test_one_side_is_kept(void **state)
{
	const struct clew_pair_options keep = {.keep_without_origin = true,
					       .keep_without_destination = true};
	struct bench *bench = *state;

	destination(bench, entry(bench, SEND, NULL, &keep), bench->b, 50, 0);
	origin(bench, entry(bench, SEND, NULL, &keep), bench->a, 100, 0);
	close_all(bench);
	assert_metrics(bench, SEND, 2, 0, 0, 0, 0);
	assert_made(bench, "[0,100]>send", "[0,50] | <send[50,100]", "send -> b@50; send a@100 ->");
}

static void test_pair(void **state)
{
	struct bench *bench = *state;

	destination(bench, entry(bench, SEND, "17", NULL), bench->b, 50, 0);
	/* Another type: another key. */
	origin(bench, entry(bench, SIGNAL, "17", NULL), bench->b, 60, 0);
	origin(bench, entry(bench, SEND, "17", NULL), bench->a, 50, 0);
	close_all(bench);
	assert_metrics(bench, SEND, 1, 1, 0, 0, 0);
	assert_metrics(bench, SIGNAL, 0, 0, 1, 0, 1);
	assert_made(bench, "[0,50]>send | [50,100]", "[0,50] | <send[50,100]", "send a@50 -> b@50");
}

static void test_broadcast_and_time_backwards(void **state)
{
	struct bench *bench = *state;
	uint32_t number = entry(bench, SEND, "x", NULL);
	struct clew_pair_metrics metrics;

	destination(bench, number, bench->b, 70, 0);
	destination(bench, number, bench->b, 20, 0);
	origin(bench, number, bench->a, 50, 0);
	close_all(bench);
	assert_metrics(bench, SEND, 1, 1, 0, 0, 0);
	clew_pairing_metrics(bench->pairing, SEND, &metrics);
	assert_int_equal(metrics.backward, 1);
	assert_int_equal(metrics.origins, 1);
	assert_int_equal(metrics.destinations, 2);
	assert_made(bench, "[0,50]>send | [50,100]", "[0,20] | <send[20,70] | <send[70,100]",
		    "send a@50 -> b@20 b@70");
}

static void seven(struct bench *bench, uint32_t number)
{
	static const clew_time origins[] = {60, 10, 30}, destinations[] = {50, 5, 40, 20};

	for (int i = 0; i < 3; i++)
		origin(bench, number, bench->a, origins[i], 0);
	for (int i = 0; i < 4; i++)
		destination(bench, number, bench->b, destinations[i], 0);
}

static void test_reuse_not_allowed(void **state)
{
	struct bench *bench = *state;
	struct clew_pair_problem problem;

	origin(bench, entry(bench, SEND, "good", NULL), bench->a, 10, 0);
	destination(bench, entry(bench, SEND, "good", NULL), bench->b, 10, 0);
	seven(bench, entry(bench, SEND, "bad", NULL));
	assert_int_equal(clew_pairing_close(bench->pairing, bench->maker, &problem), -EINVAL);
	assert_int_equal(problem.type, SEND);
	assert_string_equal(problem.id, "bad");
	assert_int_equal(problem.event, 4);
	assert_string_equal(problem.message, "it has several origins");
	assert_metrics(bench, SEND, 0, 0, 0, 0, 0);
	assert_made(bench, "[0,100]", "[0,100]", "");
}

static void test_reuse(void **state)
{
	struct bench *bench = *state;

	seven(bench, entry(bench, SEND, "x", &(struct clew_pair_options){.reuse = true}));
	close_all(bench);
	assert_metrics(bench, SEND, 2, 2, 1, 1, 2);
	assert_made(bench, "[0,10]>send | [10,30]>send | [30,100]",
		    "[0,20] | <send[20,40] | <send[40,50] | <send[50,100]",
		    "send a@10 -> b@20; send a@30 -> b@40 b@50");
}

static void test_reuse_kept(void **state)
{
	struct bench *bench = *state;

	seven(bench,
	      entry(bench, SEND, "x",
		    &(struct clew_pair_options){.reuse = true, .keep_without_origin = true}));
	seven(bench,
	      entry(bench, SEND, "y",
		    &(struct clew_pair_options){.reuse = true, .keep_without_destination = true}));
	close_all(bench);
	assert_metrics(bench, SEND, 6, 4, 1, 1, 2);
}

static void test_one_moment(void **state)
{
	const struct clew_pair_options reuse = {.reuse = true};
	struct bench *bench = *state;
	uint32_t plain = entry(bench, SEND, "plain", &reuse),
		 numbered = entry(bench, SIGNAL, "numbered", &reuse);

	/* An origin that is not after it, at the same moment too. */
	origin(bench, plain, bench->a, 10, 0);
	destination(bench, plain, bench->b, 20, 0);
	origin(bench, plain, bench->a, 20, 0);
	/* 40: destination 1, origin 2, destination 3. */
	origin(bench, numbered, bench->a, 30, 9);
	destination(bench, numbered, bench->b, 40, 3);
	origin(bench, numbered, bench->a, 40, 2);
	destination(bench, numbered, bench->b, 40, 1);
	close_all(bench);
	assert_metrics(bench, SEND, 1, 1, 1, 0, 1);
	assert_metrics(bench, SIGNAL, 2, 2, 0, 0, 0);
	assert_made(bench, "[0,20]>send | [20,30]>signal | [30,40]>signal | [40,100]",
		    "[0,20] | <send[20,40] | <signal[40,40] | <signal[40,100]",
		    "send a@20 -> b@20; signal a@30 -> b@40; signal a@40 -> b@40");
}

static void test_all_of_them(void **state)
{
	const struct clew_pair_options all = {.mode = CLEW_MODE_AND}, any = {.mode = CLEW_MODE_OR};
	struct bench *bench = *state;
	uint32_t and = entry(bench, SEND, "x", &all), or = entry(bench, SIGNAL, "x", &any);

	for (uint32_t span = bench->a; span <= bench->b; span++) {
		origin(bench, and, span, 10 + 10 * span, 0);
		origin(bench, or, span, 30 + 10 * span, 0);
		destination(bench, and, span, 50, 0);
		destination(bench, or, span, 60, 0);
	}
	close_all(bench);
	assert_metrics(bench, SEND, 1, 1, 0, 0, 0);
	assert_metrics(bench, SIGNAL, 1, 1, 0, 0, 0);
	assert_made(bench,
		    "[0,10]>send | [10,30]>signal | [30,50] | <send[50,60] | <signal[60,100]",
		    "[0,20]>send | [20,40]>signal | [40,50] | <send[50,60] | <signal[60,100]",
		    "send and b@20 a@10 -> a@50 b@50; signal or a@30 b@40 -> a@60 b@60");
}

static void test_rounds_of_a_barrier(void **state)
{
	const struct clew_pair_options all = {.mode = CLEW_MODE_AND, .reuse = true};
	struct bench *bench = *state;
	uint32_t number = entry(bench, SEND, "barrier", &all);

	for (clew_time round = 40; round >= 0; round -= 40) {
		for (uint32_t span = bench->a; span <= bench->b; span++) {
			destination(bench, number, span, round + 30, 0);
			origin(bench, number, span, round + 10 + 10 * span, 0);
		}
	}
	close_all(bench);
	assert_metrics(bench, SEND, 2, 2, 0, 0, 0);
	assert_made(bench, "[0,10]>send | [10,30] | <send[30,50]>send | [50,70] | <send[70,100]",
		    "[0,20]>send | [20,30] | <send[30,60]>send | [60,70] | <send[70,100]",
		    "send and b@20 a@10 -> a@30 b@30; send and b@60 a@50 -> a@70 b@70");
}

static void test_waits(void **state)
{
	struct bench *bench = *state;
	uint32_t number = entry(bench, SEND, "x", NULL);

	assert_int_equal(
		clew_pairing_destination(bench->pairing, number,
					 &(struct clew_pair_event){bench->b, 0, 60, 61, 0}),
		-EINVAL);
	assert_int_equal(
		clew_pairing_destination(bench->pairing, number,
					 &(struct clew_pair_event){bench->b, 0, 60, 20, 0}),
		0);
	origin(bench, number, bench->a, 50, 0);
	close_all(bench);
	assert_made(bench, "[0,50]>send | [50,100]", "[0,20] | <send[60,100]", "send a@50 -> b@60");
}

static void test_places(void **state)
{
	struct bench *bench = *state;
	uint32_t number = entry(bench, SEND, "x", NULL);

	assert_int_equal(
		clew_maker_suspend(bench->maker, bench->b, 20, 60, 0, CLEW_NONE, CLEW_NONE), 0);
	origin(bench, number, bench->a, 30, 0);
	assert_int_equal(
		clew_pairing_destination(
			bench->pairing, number,
			&(struct clew_pair_event){bench->b, CLEW_PLACE_SPLIT_GAP, 40, 40, 0}),
		0);
	close_all(bench);
	assert_made(bench, "[0,30]>send | [30,100]", "[0,20] | <send[40,40] | [60,100]",
		    "send a@30 -> b@40");
}

/* Whatever is wrong with one event, nothing is made of the others. */
static void test_failures_change_nothing(void **state)
{
	static const struct clew_pair_event bad[] = {
		{.span = 7, .at = 10, .wait_from = 10},
		{.span = 1, .at = 101, .wait_from = 101},
		{.span = 1, .at = 40, .wait_from = 40},
		{.span = 1, .at = 80, .wait_from = 50},
		{.span = 1, .at = 10, .wait_from = 10, .place = CLEW_PLACE_EARLY | CLEW_PLACE_LATE},
		{.span = 1, .at = 10, .wait_from = 10, .place = CLEW_PLACE_NUMBER(3)},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct clew_pair_problem problem;
		struct bench *bench = *state;
		uint32_t number;

		assert_int_equal(
			clew_maker_suspend(bench->maker, bench->b, 20, 60, 0, CLEW_NONE, CLEW_NONE),
			0);
		number = entry(bench, SEND, "x", NULL);
		origin(bench, number, bench->a, 10, 0);
		destination(bench, number, bench->b, 10, 0);
		assert_int_equal(clew_pairing_destination(bench->pairing, number, &bad[i]), 0);
		assert_int_equal(clew_pairing_close(bench->pairing, bench->maker, &problem),
				 -EINVAL);
		assert_int_equal(problem.event, 2);
		assert_string_equal(problem.id, "x");
		assert_true(*problem.message);
		assert_made(bench, "[0,100]", "[0,20] | [60,100]", "");
		end(state);
		begin(state);
	}
}

static void test_no_such_type(void **state)
{
	struct bench *bench = *state;

	origin(bench, entry(bench, 9, NULL, NULL), bench->a, 10, 0);
	assert_int_equal(clew_pairing_close(bench->pairing, bench->maker, NULL), -ENOENT);
	assert_int_equal(clew_pairing_origin(bench->pairing, 1, &(struct clew_pair_event){}),
			 -ENOENT);
}

static void test_keys(void **state)
{
	const struct clew_pair_options reuse = {.reuse = true}, named = {.key_attribute = "key"};
	struct bench *bench = *state;
	uint32_t x = entry(bench, SEND, "x", NULL), other;

	assert_int_equal(entry(bench, SEND, "x", NULL), x);
	assert_int_equal(clew_pairing_entry(bench->pairing, SEND, "x", &reuse, &other), -EEXIST);
	assert_int_equal(clew_pairing_entry(bench->pairing, SEND, "x", &named, &other), -EEXIST);
	assert_int_not_equal(entry(bench, SIGNAL, "x", &reuse), x);
	assert_int_not_equal(entry(bench, SEND, "y", &reuse), x);
	assert_int_not_equal(entry(bench, SEND, NULL, NULL), entry(bench, SEND, NULL, NULL));
	close_all(bench);
	/* A close forgets. */
	entry(bench, SEND, "x", &reuse);
}

static void test_metrics_add_up(void **state)
{
	const struct clew_pair_options named = {.key_attribute = "key"};
	struct bench *bench = *state;
	struct clew_model *model;

	for (clew_time at = 10; at <= 30; at += 10) {
		uint32_t number = entry(bench, SEND, "x y", &named);

		origin(bench, number, bench->a, at, 0);
		destination(bench, number, bench->b, at, 0);
		close_all(bench);
	}
	assert_metrics(bench, SEND, 3, 3, 0, 0, 0);
	assert_int_equal(clew_maker_finish(bench->maker, &model), 0);
	assert_int_equal(model->dependency_count, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_string_equal(
			clew_model_attribute(model, model->dependencies[i].attributes, "key"),
			"x y");
	clew_model_free(model);
}

/* ---- labels ---- */

struct row {
	uint32_t span;
	clew_time at;
	const char *label;
};

static struct clew_model *marked(struct bench *bench, const struct row *rows)
{
	struct clew_model *model;

	for (; rows->label; rows++)
		assert_int_equal(
			clew_maker_mark(bench->maker, rows->span, rows->label, rows->at, 0), 0);
	assert_int_equal(clew_maker_finish(bench->maker, &model), 0);
	return model;
}

static const struct clew_pair_rule plain = {
	.origins = "^send:(.*)$", .destinations = "^recv:(.*)$", .type = "message"};

/* The dependencies as "type key origins -> destinations"; frees the model. */
static void assert_paired(struct clew_model *model, const struct clew_pair_rule *rule,
			  const char *expected)
{
	struct clew_paired paired;
	struct clew_pair_error error;
	struct text text = {};

	if (clew_pair_labels(model, rule, &paired, &error) != 0)
		fail_msg("%s", error.message);
	text_add(&text, "%s", "");
	for (uint32_t i = 0; i < paired.model->dependency_count; i++) {
		const struct clew_dependency *d = &paired.model->dependencies[i];
		const char *key = clew_model_attribute(paired.model, d->attributes, "key");

		text_add(&text, "%s%s %s", i ? "; " : "", text_type(paired.model, i),
			 key ? key : "-");
		for (uint32_t j = 0; j < d->origins.count; j++)
			text_add(&text, " %lld",
				 (long long)paired.model
					 ->es[paired.model->origins[d->origins.first + j]]
					 .end);
		text_add(&text, " ->");
		for (uint32_t j = 0; j < d->destinations.count; j++)
			text_add(&text, " %lld",
				 (long long)paired.model
					 ->es[paired.model->destinations[d->destinations.first + j]]
					 .start);
	}
	assert_string_equal(text.data, expected);
	/* No mark is lost. */
	assert_int_equal(paired.model->mark_count, model->mark_count);
	free(text.data);
	clew_paired_done(&paired);
	clew_model_free(model);
}

static void test_labels(void **state)
{
	static const struct row rows[] = {{1, 50, "recv:1"},
					  {0, 40, "send:1"},
					  {0, 10, "send:2"},
					  {1, 5, "else"},
					  {0, 0, NULL}};
	struct clew_pair_rule rule = plain;

	rule.options.key_attribute = "key";
	assert_paired(marked(*state, rows), &rule, "message 1 40 -> 50");
}

static void test_named_groups(void **state)
{
	static const struct row rows[] = {{0, 10, "a to b: x send 1"},
					  {1, 20, "x send 1"},
					  {0, 30, "x signal 2"},
					  {1, 40, "x signal 2"},
					  {0, 50, "y 3"},
					  {1, 50, "y 3"},
					  {0, 0, NULL}};
	const struct clew_pair_rule rule = {.origins = "\\b(x|y) ?(?<type>[a-z]*) (?<key>[0-9]+)$",
					    .destinations =
						    "\\b(x|y) ?(?P<type>[a-z]*) (?P<key>[0-9]+)$",
					    .type = "other",
					    .from = (uint32_t[]){0},
					    .from_count = 1,
					    .to = (uint32_t[]){1},
					    .to_count = 1,
					    .options.key_attribute = "key"};

	assert_paired(marked(*state, rows), &rule,
		      "send 1 10 -> 20; signal 2 30 -> 40; other 3 50 -> 50");
}

static void test_sequences(void **state)
{
	static const struct row rows[] = {{0, 10, "send:l 1"},
					  {1, 20, "recv:l 2"},
					  {0, 20, "send:l 3"},
					  {1, 20, "recv:l 4"},
					  {0, 0, NULL}};
	struct clew_pair_rule rule = {.origins = "^send:(.*) (?<sequence>[0-9]+)$",
				      .destinations = "^recv:(.*) (?<sequence>[0-9]+)$",
				      .type = "send",
				      .options.reuse = true};
	static const struct row bad[] = {{0, 10, "send:l 99999999999999999999"}, {0, 0, NULL}};
	struct clew_pair_error error;
	struct clew_paired paired;
	struct clew_model *model;

	assert_paired(marked(*state, rows), &rule, "send - 10 -> 20; send - 20 -> 20");
	end(state);
	begin(state);
	model = marked(*state, bad);
	assert_int_equal(clew_pair_labels(model, &rule, &paired, &error), -EINVAL);
	assert_int_equal(error.where, CLEW_PAIR_ERROR_TRACE);
	assert_non_null(strstr(error.message, "99999999999999999999"));
	clew_model_free(model);
}

static void test_names_of_spans(void **state)
{
	struct bench *bench = *state;
	struct clew_pair_rule rule = {
		.origins = "^make (.*)$", .destinations = "^use (.*)$", .type = "send"};
	uint32_t span;

	assert_int_equal(clew_maker_child(bench->maker, bench->a, "make 7", 10, 20, &span), 0);
	assert_int_equal(clew_maker_child(bench->maker, bench->b, "use 7", 40, 60, &span), 0);
	rule.spans = true;
	assert_paired(marked(bench, &(struct row){}), &rule,
		      "call - 10 -> 10; return - 20 -> 20; call - 40 -> 40; return - 60 -> 60; "
		      "send - 20 -> 40");
	end(state);
	begin(state);
	rule.spans = false;
	bench = *state;
	assert_int_equal(clew_maker_root(bench->maker, "make 7", 10, 20, &span), 0);
	assert_int_equal(clew_maker_root(bench->maker, "use 7", 10, 20, &span), 0);
	assert_paired(marked(bench, &(struct row){}), &rule, "");
}

/* Bytes that are no characters: equal where they are, else not. */
static void test_keys_of_bytes(void **state)
{
	static const struct row rows[] = {
		{0, 10, "send:\xff"},	      {1, 20, "recv:\xff"},
		{0, 30, "send:\xfe\xc3\xa9"}, {1, 40, "recv:\xfd\xc3\xa9"},
		{1, 50, "recv:\xfe\xc3\xa9"}, {0, 0, NULL}};

	assert_paired(marked(*state, rows), &plain, "message - 10 -> 20; message - 30 -> 50");
}

static void assert_refused(struct clew_model *model, const struct clew_pair_rule *rule, int where,
			   size_t offset, const char *word)
{
	struct clew_pair_error error;
	struct clew_paired paired;

	assert_int_equal(clew_pair_labels(model, rule, &paired, &error), -EINVAL);
	assert_int_equal(error.where, where);
	assert_int_equal(error.offset, offset);
	if (!strstr(error.message, word))
		fail_msg("%s", error.message);
}

static void test_refused(void **state)
{
	static const struct row rows[] = {{0, 10, "send:1"}, {0, 20, "send:1"}, {0, 0, NULL}};
	struct clew_model *model = marked(*state, rows);
	struct clew_pair_rule rule = plain;

	assert_refused(model, &rule, CLEW_PAIR_ERROR_TRACE, SIZE_MAX,
		       "key '1': it has several origins");
	rule.origins = "send:.*";
	assert_refused(model, &rule, CLEW_PAIR_ERROR_ORIGINS, 7, "key");
	rule.origins = "(?<type>a)";
	assert_refused(model, &rule, CLEW_PAIR_ERROR_ORIGINS, 10, "key");
	rule = plain;
	rule.destinations = "recv:(";
	assert_refused(model, &rule, CLEW_PAIR_ERROR_DESTINATIONS, 6, "parenthesis");
	clew_model_free(model);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_one_side_is_dropped),
		CASE(test_one_side_is_kept),
		CASE(test_pair),
		CASE(test_broadcast_and_time_backwards),
		CASE(test_reuse_not_allowed),
		CASE(test_reuse),
		CASE(test_reuse_kept),
		CASE(test_one_moment),
		CASE(test_all_of_them),
		CASE(test_rounds_of_a_barrier),
		CASE(test_waits),
		CASE(test_places),
		CASE(test_failures_change_nothing),
		CASE(test_no_such_type),
		CASE(test_keys),
		CASE(test_metrics_add_up),
		CASE(test_labels),
		CASE(test_named_groups),
		CASE(test_sequences),
		CASE(test_names_of_spans),
		CASE(test_keys_of_bytes),
		CASE(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
