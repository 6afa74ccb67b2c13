/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The live builder without a kernel: it finds in streams of random records what a
 * builder finds that gets them in order, counts what it misses, and returns its takers'
 * errors.
 */
#include "store_records.h"

#include <errno.h>

#include "live/live.h"

#define CPUS	3
#define STREAMS (CPUS + 1)
#define RECORDS 4000
#define START	1000
#define END	100000000

struct found {
	uint64_t count[CLEW_FINDING_COUNT];
	uint64_t run_time;
	int error; /* returned at the tenth run */
};

static int take_finding(void *context, struct clew_finding finding)
{
	struct found *found = context;

	found->count[finding.tag]++;
	if (finding.tag == CLEW_FINDING_RUN) {
		found->run_time += finding.run->end - finding.run->start;
		if (found->count[CLEW_FINDING_RUN] == 10)
			return found->error;
	}
	return 0;
}

static struct clew_finding_taker taker_of(struct found *found)
{
	return (struct clew_finding_taker){
		.wants = CLEW_FINDINGS_ALL, .take = take_finding, .context = found};
}

struct record {
	union any_record any;
	size_t size;
	unsigned stream;
};

static struct record records[RECORDS];

/* In order, as the file gives them; no stream says that anything was lost. */
static void make_records(uint64_t seed)
{
	struct random random = {.state = seed};
	uint32_t on_cpu[STREAMS] = {0}, unused = 0;
	uint64_t time = START;

	for (unsigned i = 0; i < RECORDS; i++) {
		struct record *record = &records[i];
		unsigned cpu = random_below(&random, STREAMS);
		unsigned kind = random_below(&random, 2) ? CLEW_KIND_SWITCH : random_kind(&random);

		/* A gap would have much forgotten. */
		kind = kind == CLEW_KIND_GAP ? CLEW_KIND_SWITCH : kind;

		time += 1 + random_below(&random, 1000);
		record->stream = cpu == CPUS ? CLEW_STREAM_USER : cpu;
		record->size = random_record(&random, kind, time, cpu, &unused, &record->any);
		record->any.header.cpu = record->stream;
		record->any.header.lost = 0;
		if (kind == CLEW_KIND_SWITCH) {
			/* Each CPU has a few tasks, which sleep, wake and run. */
			record->any.change.record.prev = on_cpu[cpu];
			on_cpu[cpu] = 1 + 4 * cpu + random_below(&random, 4);
			record->any.change.record.next = on_cpu[cpu];
		}
	}
}

/* `memory_most` is the builder's. Returns how often it has forgotten something. */
static uint64_t build_plainly(struct found *found, size_t memory_most)
{
	struct clew_builder_options options = {
		.size = sizeof(options), .start = START, .memory_most = memory_most};
	struct clew_finding_taker taker = taker_of(found);
	struct clew_builder_forgotten forgotten;
	struct clew_builder *builder;

	assert_int_equal(clew_builder_new(&options, &taker, 1, &builder), 0);
	for (unsigned i = 0; i < RECORDS; i++)
		assert_int_equal(clew_builder_feed(builder, &records[i].any.header), 0);
	assert_int_equal(clew_builder_finish(builder, END), 0);
	forgotten = clew_builder_forgotten(builder);
	clew_builder_free(builder);
	return forgotten.pages + forgotten.blocks;
}

static struct clew_live *open_live(struct found *found, size_t queue_size, size_t memory_most)
{
	struct clew_finding_taker taker = taker_of(found);
	const struct clew_live_options options = {.size = sizeof(options),
						  .cpus = CPUS,
						  .queue_size = queue_size,
						  .builder.memory_most = memory_most,
						  .takers = &taker,
						  .taker_count = 1};
	struct clew_live *live;

	assert_int_equal(clew_live_new(&options, &live), 0);
	return live;
}

/* As drain threads do: some records of one stream after the other, then a round of all. */
static void feed_live(struct clew_live *live)
{
	struct clew_record_taker taker = clew_live_taker(live);

	for (unsigned from = 0; from < RECORDS; from += 50) {
		struct clew_round round = {
			.horizon = from + 50 < RECORDS ? records[from + 50].any.header.time : END};

		for (unsigned cpu = 0; cpu < STREAMS; cpu++) {
			unsigned stream = cpu == CPUS ? CLEW_STREAM_USER : cpu;

			for (unsigned i = from; i < from + 50; i++)
				if (records[i].stream == stream)
					assert_int_equal(taker.take(taker.context, stream,
								    &records[i].any.header,
								    records[i].size),
							 0);
			taker.round(taker.context, stream, &round);
		}
		if (from == 1000)
			taker.begin(taker.context, START);
		if (from % 500 == 0)
			usleep(5000);
	}
}

static void test_same(void **state)
{
	struct found expected = {0}, found = {0};
	struct clew_live_summary summary;
	struct clew_record_taker taker;
	struct clew_live *live;

	(void)state;
	make_records(3);
	build_plainly(&expected, 0);
	live = open_live(&found, 0, 0);
	taker = clew_live_taker(live);
	feed_live(live);
	taker.end(taker.context, END);
	assert_int_equal(clew_live_finish(live, &summary), 0);
	clew_live_free(live);
	assert_int_equal(summary.records, RECORDS);
	assert_int_equal(summary.missed + summary.late, 0);
	assert_memory_equal(&found, &expected, sizeof(found));
	assert_true(found.count[CLEW_FINDING_RUN] > 20 && found.count[CLEW_FINDING_SLEEP] > 10);
}

/* With no memory for pages at all. */
static void test_forgotten(void **state)
{
	struct found expected = {0}, found = {0};
	struct clew_live_summary summary;
	struct clew_record_taker taker;
	struct clew_live *live;
	uint64_t forgotten = 0;

	(void)state;
	/* Few random records are about pages: the first seed with some is taken. */
	for (uint64_t seed = 3; !forgotten && seed < 50; seed++) {
		memset(&expected, 0, sizeof(expected));
		make_records(seed);
		forgotten = build_plainly(&expected, 1);
	}
	live = open_live(&found, 0, 1);
	taker = clew_live_taker(live);
	feed_live(live);
	taker.end(taker.context, END);
	assert_int_equal(clew_live_finish(live, &summary), 0);
	assert_true(forgotten > 0);
	assert_int_equal(clew_live_forgotten(live), forgotten);
	clew_live_free(live);
	assert_memory_equal(&found, &expected, sizeof(found));
}

/* Records from before the begin do not fit. */
static void test_missed(void **state)
{
	struct clew_live_summary summary;
	struct clew_record_taker taker;
	struct found found = {0};
	struct clew_live *live;

	(void)state;
	make_records(2);
	live = open_live(&found, 4096, 0);
	taker = clew_live_taker(live);
	feed_live(live);
	taker.end(taker.context, END);
	assert_int_equal(clew_live_finish(live, &summary), 0);
	clew_live_free(live);
	assert_true(summary.missed > 100);
	assert_int_equal(summary.records + summary.missed, RECORDS);
	assert_true(found.count[CLEW_FINDING_IDENTITY] > 0);
}

static void test_error(void **state)
{
	struct found found = {.error = -EPIPE};
	struct clew_live_summary summary;
	struct clew_record_taker taker;
	struct clew_live *live;

	(void)state;
	make_records(3);
	live = open_live(&found, 0, 0);
	taker = clew_live_taker(live);
	feed_live(live);
	taker.end(taker.context, END);
	assert_int_equal(clew_live_finish(live, &summary), -EPIPE);
	assert_int_equal(found.count[CLEW_FINDING_RUN], 10);
	clew_live_free(live);
}

/* A recording that fails has a begin at most. */
static void test_no_end(void **state)
{
	struct clew_live_summary summary;
	struct clew_record_taker taker;
	struct found found = {0};
	struct clew_live *live;

	(void)state;
	live = open_live(&found, 0, 0);
	clew_live_free(live);
	live = open_live(&found, 0, 0);
	assert_int_equal(clew_live_finish(live, &summary), 0);
	clew_live_free(live);
	make_records(4);
	live = open_live(&found, 0, 0);
	taker = clew_live_taker(live);
	taker.begin(taker.context, START);
	feed_live(live);
	assert_int_equal(clew_live_finish(live, &summary), 0);
	clew_live_free(live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),   cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_missed), cmocka_unit_test(test_error),
		cmocka_unit_test(test_no_end),
	};

	return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
