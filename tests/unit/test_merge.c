/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The merge of streams that are fed: whatever the batches, records come out as a plain
 * sort has them, as early as they can; what is late comes at once and is counted; a
 * full queue refuses and loses nothing that it took.
 */
#include "store_records.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "store/merge.h"

#define CPUS	4
#define STREAMS (CPUS + 1)
#define RECORDS 400 /* a stream, at most */
#define ROOM	(1u << 16)

/* A record that knows its stream and its number there. */
struct item {
	struct clew_header header; /* cpu: the stream; lost: the number */
	uint64_t more[3];	   /* some have more, some less */
};

struct stream {
	struct item items[RECORDS];
	unsigned count, fed;
	uint64_t horizon;
};

struct output {
	struct clew_header records[STREAMS * RECORDS];
	unsigned count;
};

static unsigned stream_number(unsigned index)
{
	return index == CPUS ? CLEW_STREAM_USER : index;
}

static int collect(void *context, const struct clew_header *record)
{
	struct output *output = context;

	assert_true(output->count < STREAMS * RECORDS);
	output->records[output->count++] = *record;
	return 0;
}

static struct item make_item(unsigned stream, unsigned number, uint64_t time)
{
	struct item item = {.header = {.time = time,
				       .cpu = stream_number(stream),
				       .kind = CLEW_KIND_TEXT,
				       .lost = number}};

	memset(item.more, (int)number, sizeof(item.more));
	return item;
}

/* Times are often equal, within a stream and across. Where `ordered` is false, neighbours come in
 * any order. */
static void make_streams(struct random *random, struct stream *streams, bool ordered)
{
	memset(streams, 0, STREAMS * sizeof(*streams));
	for (unsigned i = 0; i < STREAMS; i++) {
		uint64_t time = 1000, pace = 1 + random_below(random, 20);

		if (random_below(random, 5) == 0)
			continue; /* it has no record at all */
		streams[i].count = random_below(random, RECORDS);
		for (unsigned k = 0; k < streams[i].count; k++) {
			uint64_t back = ordered ? 0 : random_below(random, 30);

			time += random_below(random, 3) ? 0 : random_below(random, pace);
			streams[i].items[k] = make_item(i, k, time - back);
		}
	}
}

static bool before(const struct clew_header *a, const struct clew_header *b)
{
	uint32_t x = store_stream_order(a->cpu), y = store_stream_order(b->cpu);

	if (a->time != b->time)
		return a->time < b->time;
	return x != y ? x < y : a->lost < b->lost;
}

/* The first of all heads, again and again, which is a plain sort where the streams are in order. */
static void merge_plainly(const struct stream *streams, struct output *output)
{
	unsigned at[STREAMS] = {0};

	output->count = 0;
	for (;;) {
		const struct clew_header *first = NULL;
		unsigned from = 0;

		for (unsigned i = 0; i < STREAMS; i++) {
			const struct clew_header *head = &streams[i].items[at[i]].header;

			if (at[i] < streams[i].count && (!first || before(head, first))) {
				first = head;
				from = i;
			}
		}
		if (!first)
			return;
		at[from]++;
		collect(output, first);
	}
}

static int compare_records(const void *a, const void *b)
{
	return before(a, b) ? -1 : before(b, a);
}

static void sort_plainly(const struct stream *streams, struct output *output)
{
	output->count = 0;
	for (unsigned i = 0; i < STREAMS; i++)
		for (unsigned k = 0; k < streams[i].count; k++)
			collect(output, &streams[i].items[k].header);
	qsort(output->records, output->count, sizeof(output->records[0]), compare_records);
}

static void assert_same(const struct output *a, const struct output *b)
{
	assert_int_equal(a->count, b->count);
	for (unsigned i = 0; i < a->count; i++) {
		assert_int_equal(a->records[i].time, b->records[i].time);
		assert_int_equal(a->records[i].cpu, b->records[i].cpu);
		assert_int_equal(a->records[i].lost, b->records[i].lost);
	}
}

/* Feeds some of the stream's records, then moves its horizon up to what is still to come. */
static void feed_some(struct random *random, struct clew_merge *merge, struct stream *stream,
		      unsigned index)
{
	unsigned most = stream->count - stream->fed;
	uint64_t horizon = UINT64_MAX;

	for (unsigned k = random_below(random, most < 20 ? most + 1 : 20); k > 0; k--) {
		const struct item *item = &stream->items[stream->fed++];

		assert_int_equal(clew_merge_feed(merge, stream_number(index), &item->header,
						 sizeof(*item) - 8 * random_below(random, 4)),
				 0);
	}
	for (unsigned k = stream->fed; k < stream->count; k++)
		if (stream->items[k].header.time < horizon)
			horizon = stream->items[k].header.time;
	if (horizon == UINT64_MAX) /* its end is not known yet */
		horizon = stream->horizon + random_below(random, 2000);
	if (random_below(random, 4) == 0)
		horizon -= random_below(random, 50);
	stream->horizon = horizon > stream->horizon ? horizon : stream->horizon;
	clew_merge_advance(merge, stream_number(index), horizon);
}

/* True if no stream can still bring something that goes before the record. */
static bool is_certain(const struct stream *streams, const struct clew_header *record)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		const struct clew_header horizon = {.time = streams[i].horizon,
						    .cpu = stream_number(i)};
		bool follows = false;

		if (stream_number(i) == record->cpu)
			continue;
		for (unsigned k = 0; k < streams[i].fed; k++)
			follows |= before(record, &streams[i].items[k].header);
		if (!follows && !before(record, &horizon))
			return false;
	}
	return true;
}

static unsigned count_certain(const struct stream *streams)
{
	unsigned count = 0;

	for (unsigned i = 0; i < STREAMS; i++)
		for (unsigned k = 0; k < streams[i].fed; k++)
			count += is_certain(streams, &streams[i].items[k].header);
	return count;
}

static bool all_fed(const struct stream *streams)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (streams[i].fed < streams[i].count)
			return false;
	return true;
}

static void run_random(uint64_t seed, bool ordered)
{
	static struct stream streams[STREAMS];
	static struct output expected, output;
	struct random random = {.state = seed};
	struct clew_merge *merge;

	make_streams(&random, streams, ordered);
	if (ordered)
		sort_plainly(streams, &expected);
	else
		merge_plainly(streams, &expected);
	output.count = 0;
	assert_int_equal(clew_merge_new(CPUS, ROOM, &merge), 0);
	while (!all_fed(streams)) {
		unsigned index = random_below(&random, STREAMS);

		feed_some(&random, merge, &streams[index], index);
		if (random_below(&random, 3))
			continue;
		assert_int_equal(clew_merge_run(merge, collect, &output), 0);
		if (ordered && seed % 8 == 0)
			assert_int_equal(output.count, count_certain(streams));
	}
	clew_merge_end(merge);
	assert_int_equal(clew_merge_run(merge, collect, &output), 0);
	assert_int_equal(clew_merge_late(merge), 0);
	assert_same(&output, &expected);
	clew_merge_free(merge);
}

static void test_ordered(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++)
		run_random(seed, true);
}

static void test_disordered(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++)
		run_random(seed, false);
}

static void feed(struct clew_merge *merge, unsigned stream, unsigned number, uint64_t time)
{
	struct item item = make_item(stream, number, time);

	assert_int_equal(clew_merge_feed(merge, stream_number(stream), &item.header, sizeof(item)),
			 0);
}

static void advance_all(struct clew_merge *merge, uint64_t horizon)
{
	for (unsigned i = 0; i < STREAMS; i++)
		clew_merge_advance(merge, stream_number(i), horizon);
}

static unsigned run(struct clew_merge *merge, struct output *output)
{
	output->count = 0;
	assert_int_equal(clew_merge_run(merge, collect, output), 0);
	return output->count;
}

/* A stream that says nothing holds up what is younger than its horizon, and no more. */
static void test_silent(void **state)
{
	struct clew_merge *merge;
	struct output output;

	(void)state;
	assert_int_equal(clew_merge_new(CPUS, ROOM, &merge), 0);
	feed(merge, 0, 0, 100);
	feed(merge, 0, 1, 200);
	assert_int_equal(run(merge, &output), 0);
	for (unsigned i = 1; i < STREAMS - 1; i++)
		clew_merge_advance(merge, i, 1000);
	assert_int_equal(run(merge, &output), 0);
	clew_merge_advance(merge, CLEW_STREAM_USER, 100);
	assert_int_equal(run(merge, &output), 0); /* the user stream goes first at equal times */
	clew_merge_advance(merge, CLEW_STREAM_USER, 101);
	assert_int_equal(run(merge, &output), 1);
	clew_merge_advance(merge, CLEW_STREAM_USER, 50); /* which is nothing */
	clew_merge_advance(merge, CLEW_STREAM_USER, 1000);
	clew_merge_advance(merge, 3, 2000);
	assert_int_equal(run(merge, &output), 1);
	/* A CPU's horizon lets pass what goes before it at equal times. */
	advance_all(merge, 3000);
	feed(merge, 1, 0, 3000);
	feed(merge, 2, 0, 3000);
	clew_merge_advance(merge, 0, 3001);
	clew_merge_advance(merge, CLEW_STREAM_USER, 3001);
	assert_int_equal(run(merge, &output), 1);
	assert_int_equal(output.records[0].cpu, 1);
	clew_merge_advance(merge, 1, 3001); /* it has no further record at that time */
	assert_int_equal(run(merge, &output), 1);
	assert_int_equal(output.records[0].cpu, 2);
	assert_int_equal(clew_merge_horizon(merge), 3000);
	assert_int_equal(clew_merge_late(merge), 0);
	clew_merge_free(merge);
}

static void test_late(void **state)
{
	struct clew_merge *merge;
	struct output output;

	(void)state;
	assert_int_equal(clew_merge_new(CPUS, ROOM, &merge), 0);
	feed(merge, 0, 0, 100);
	feed(merge, 1, 0, 300);
	advance_all(merge, 200);
	assert_int_equal(run(merge, &output), 1);
	feed(merge, 0, 1, 150); /* CPU 0 had said that nothing before 200 would come */
	feed(merge, 2, 0, 200);
	assert_int_equal(run(merge, &output), 1);
	assert_int_equal(output.records[0].time, 150);
	assert_int_equal(clew_merge_late(merge), 1);
	/* Behind a record that is not late it waits with it, as in a file. */
	feed(merge, 2, 1, 120);
	advance_all(merge, 201);
	assert_int_equal(run(merge, &output), 2);
	assert_int_equal(output.records[0].time, 200);
	assert_int_equal(output.records[1].time, 120);
	assert_int_equal(clew_merge_late(merge), 2);
	clew_merge_end(merge);
	assert_int_equal(run(merge, &output), 1);
	clew_merge_free(merge);
}

static int refuse(void *context, const struct clew_header *record)
{
	collect(context, record);
	return record->lost == 2 ? -EPIPE : 0;
}

/* The end of a run by its caller loses nothing. */
static void test_ended(void **state)
{
	struct output output = {.count = 0};
	struct clew_merge *merge;

	(void)state;
	assert_int_equal(clew_merge_new(CPUS, ROOM, &merge), 0);
	for (unsigned i = 0; i < 5; i++)
		feed(merge, i % 2, i, 100 + i);
	clew_merge_end(merge);
	assert_int_equal(clew_merge_run(merge, refuse, &output), -EPIPE);
	assert_int_equal(output.count, 3);
	assert_int_equal(clew_merge_run(merge, refuse, &output), 0);
	assert_int_equal(output.count, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(output.records[i].lost, i);
	clew_merge_free(merge);
}

static void test_full(void **state)
{
	struct item item = make_item(1, 0, 100);
	unsigned count = 0, given = 0;
	struct clew_merge *merge;
	struct output output;

	(void)state;
	assert_int_equal(clew_merge_new(CPUS, 4096, &merge), 0);
	assert_int_equal(clew_merge_feed(merge, CPUS, &item.header, sizeof(item)), -EINVAL);
	assert_int_equal(clew_merge_new(CLEW_STREAM_USER, 4096, &merge), -EINVAL);
	for (unsigned round = 0; round < 50; round++) {
		/* Records of many sizes, so that the queue's end cuts each somewhere. */
		while (!clew_merge_feed(merge, 1, &item.header, sizeof(item) - 4 * (count % 7))) {
			item.header.lost = ++count;
			item.header.time++;
		}
		assert_int_equal(clew_merge_feed(merge, 1, &item.header, sizeof(item)), -ENOBUFS);
		assert_true(count - given > 4096 / (sizeof(item) + 8) - 2);
		feed(merge, 0, 0, item.header.time); /* the others' queues are their own */
		advance_all(merge, item.header.time + 1);
		assert_int_equal(run(merge, &output), count - given + 1);
		for (unsigned i = 0; i + 1 < output.count; i++)
			assert_int_equal(output.records[i].lost, given + i);
		given = count;
		item.header.time++;
	}
	clew_merge_free(merge);
}

/* ---- several threads ---- */

#define FED 200000

struct feeder {
	pthread_t thread;
	struct clew_merge *merge;
	unsigned stream;
};

static void *feed_main(void *context)
{
	struct feeder *feeder = context;
	struct random random = {.state = feeder->stream};
	uint64_t time = 1000;

	for (unsigned i = 0; i < FED; i++) {
		struct item item = make_item(feeder->stream, i, time);

		while (clew_merge_feed(feeder->merge, stream_number(feeder->stream), &item.header,
				       sizeof(item)))
			sched_yield();
		time += random_below(&random, 3);
		if (random_below(&random, 8) == 0)
			clew_merge_advance(feeder->merge, stream_number(feeder->stream), time);
	}
	clew_merge_advance(feeder->merge, stream_number(feeder->stream), UINT64_MAX);
	return NULL;
}

struct check {
	struct clew_header last;
	unsigned next[STREAMS];
	unsigned count;
};

static int check_record(void *context, const struct clew_header *record)
{
	unsigned index = record->cpu == CLEW_STREAM_USER ? CPUS : record->cpu;
	const struct item *item = (const struct item *)record;
	struct check *check = context;

	if (check->count && !before(&check->last, record))
		return -EBADMSG;
	if (record->lost != check->next[index]++ || (uint8_t)item->more[2] != (uint8_t)record->lost)
		return -EBADMSG;
	check->last = *record;
	check->count++;
	return 0;
}

static void test_threads(void **state)
{
	struct check check = {.count = 0};
	struct feeder feeders[STREAMS];
	struct clew_merge *merge;

	(void)state;
	assert_int_equal(clew_merge_new(CPUS, ROOM, &merge), 0);
	for (unsigned i = 0; i < STREAMS; i++) {
		feeders[i] = (struct feeder){.merge = merge, .stream = i};
		assert_int_equal(pthread_create(&feeders[i].thread, NULL, feed_main, &feeders[i]),
				 0);
	}
	while (check.count < STREAMS * FED) {
		assert_int_equal(clew_merge_run(merge, check_record, &check), 0);
		sched_yield();
	}
	for (unsigned i = 0; i < STREAMS; i++)
		pthread_join(feeders[i].thread, NULL);
	assert_int_equal(clew_merge_late(merge), 0);
	clew_merge_free(merge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ordered), cmocka_unit_test(test_disordered),
		cmocka_unit_test(test_silent),	cmocka_unit_test(test_late),
		cmocka_unit_test(test_ended),	cmocka_unit_test(test_full),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
