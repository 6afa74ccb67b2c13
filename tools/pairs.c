/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures how fast events are paired by key: so many, half of them origins, in 64 spans, with keys
 * that come once or with a thousand keys that come again and again; and the same from
 * the labels of a trace's marks. CPU time, as one JSON object.
 *
 * Usage: pairs EVENTS
 */
#include <clew/pair.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

enum { WIDTH = 64, LOCKS = 1000, SPACING = 100 };

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "pairs: %s: %s\n", what, strerror(-r));
	exit(3);
}

static struct clew_maker *new_maker(uint32_t events)
{
	struct clew_maker *maker;
	uint32_t number;
	char name[16];

	check(clew_maker_new(&maker), "making");
	check(clew_maker_type(maker, "send", &number), "making");
	for (unsigned i = 0; i < WIDTH; i++) {
		snprintf(name, sizeof(name), "span-%u", i);
		check(clew_maker_root(maker, name, 0, ((clew_time)events + 1) * SPACING, &number),
		      "making");
	}
	return maker;
}

/* An origin, and a destination soon after; of locks the next turn. */
static void add(struct clew_pairing *pairing, uint32_t number, bool locks)
{
	const struct clew_pair_options options = {.reuse = locks};
	unsigned delay = 1 + pick(SPACING);
	struct clew_pair_event event = {.span = pick(WIDTH), .at = (clew_time)number * 2 * SPACING};
	uint32_t entry;
	char id[24];

	snprintf(id, sizeof(id), "0x%x", locks ? pick(LOCKS) : number);
	event.wait_from = event.at;
	check(clew_pairing_entry(pairing, 2, id, &options, &entry), "pairing");
	check(clew_pairing_origin(pairing, entry, &event), "pairing");
	event.span = pick(WIDTH);
	event.at = event.wait_from = event.at + delay;
	check(clew_pairing_entry(pairing, 2, id, &options, &entry), "pairing");
	check(clew_pairing_destination(pairing, entry, &event), "pairing");
}

static void time_events(uint32_t events, bool locks)
{
	struct clew_maker *maker = new_maker(events);
	struct clew_pair_metrics metrics;
	struct clew_pairing *pairing;
	struct clew_model *model;
	double begin = now();

	check(clew_pairing_new(&pairing), "pairing");
	for (uint32_t i = 0; i < events / 2; i++)
		add(pairing, i, locks);
	check(clew_pairing_close(pairing, maker, NULL), "pairing");
	check(clew_maker_finish(maker, &model), "making");
	clew_pairing_metrics(pairing, 2, &metrics);
	printf(",\"%s\":{\"seconds\":%.6f,\"paired\":%" PRIu64 "}", locks ? "reused" : "once",
	       now() - begin, metrics.paired);
	clew_pairing_free(pairing);
	clew_maker_free(maker);
	clew_model_free(model);
}

static void time_labels(uint32_t events)
{
	const struct clew_pair_rule rule = {.origins = "^send:(.*)$",
					    .destinations = "^recv:(.*)$",
					    .type = "send",
					    .options.key_attribute = "key"};
	struct clew_maker *maker = new_maker(events);
	struct clew_pair_error error = {};
	struct clew_paired paired;
	struct clew_model *model;
	char label[24];
	double begin;

	for (uint32_t i = 0; i < events; i++) {
		snprintf(label, sizeof(label), "%s:0x%x", i % 2 ? "recv" : "send", i / 2);
		check(clew_maker_mark(maker, pick(WIDTH), label, (clew_time)i * SPACING, 0),
		      "making");
	}
	check(clew_maker_finish(maker, &model), "making");
	clew_maker_free(maker);
	begin = now();
	check(clew_pair_labels(model, &rule, &paired, &error), error.message);
	printf(",\"labels\":{\"seconds\":%.6f,\"paired\":%" PRIu64 "}", now() - begin,
	       paired.metrics[2].paired);
	clew_paired_done(&paired);
	clew_model_free(model);
}

int main(int argc, char **argv)
{
	uint32_t events = argc == 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;

	if (!events) {
		fputs("usage: pairs EVENTS\n", stderr);
		return 2;
	}
	printf("{\"events\":%" PRIu32, events);
	time_events(events, false);
	time_events(events, true);
	time_labels(events);
	puts("}");
	return 0;
}
