/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers of sleeps, requests and passes of a builder that has run for long: findings are the
 * same where they go past 2^32, but for the numbers, and a trace says that it has no room.
 */
#include "builder/builder.h"
#include "page_records.h"
#include <errno.h>

#define ROUNDS 1500u
#define LATE   ((1ull << 32) - 1000)

/* All findings, by a checksum in which numbers count from `base`. */
struct taken {
	uint64_t base, sum, highest;
	size_t of[CLEW_FINDING_COUNT];
	size_t request_links;
	bool sleeps[4 * ROUNDS], requests[4 * ROUNDS]; /* numbers that there were */
};

static void add(struct taken *taken, uint64_t value)
{
	taken->sum = (taken->sum ^ value) * 0x100000001b3ull;
	taken->sum ^= taken->sum >> 29;
}

static void add_number(struct taken *taken, uint64_t number)
{
	assert_in_range(number, taken->base, taken->base + 4 * ROUNDS - 1);
	add(taken, number - taken->base);
	if (number > taken->highest)
		taken->highest = number;
}

/* Two things never have one number. */
static void add_own(struct taken *taken, bool *there, uint64_t number)
{
	add_number(taken, number);
	assert_false(there[number - taken->base]);
	there[number - taken->base] = true;
}

static void add_links(struct taken *taken, const struct clew_link *links, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		add(taken, links[i].kind);
		add(taken, links[i].at);
		if (links[i].kind != CLEW_LINK_REQUEST)
			continue;
		taken->request_links++;
		add_number(taken, links[i].number);
	}
}

static int take(void *context, struct clew_finding finding)
{
	struct taken *taken = context;

	taken->of[finding.tag]++;
	switch (finding.tag) {
	case CLEW_FINDING_SLEEP:
		add_own(taken, taken->sleeps, finding.sleep->number);
		add(taken, finding.sleep->start);
		add(taken, finding.sleep->end);
		add(taken, finding.sleep->kind);
		add_links(taken, finding.sleep->links,
			  finding.sleep->link_count + finding.sleep->and_count);
		break;
	case CLEW_FINDING_REQUEST:
		add_own(taken, taken->requests, finding.request->number);
		add(taken, finding.request->queued);
		add(taken, finding.request->completed);
		break;
	case CLEW_FINDING_BELOW:
		add_number(taken, finding.below->upper);
		add_number(taken, finding.below->lower);
		break;
	case CLEW_FINDING_PAGES:
		add_number(taken, finding.pages->request);
		add(taken, finding.pages->offset);
		for (uint32_t i = 0; i < finding.pages->writer_count; i++)
			add(taken, finding.pages->writers[i]);
		break;
	case CLEW_FINDING_EDGE:
		add(taken, finding.edge->type);
		add(taken, finding.edge->from);
		add(taken, finding.edge->to);
		add(taken, finding.edge->to_at);
		add_links(taken, finding.edge->links,
			  finding.edge->link_count + finding.edge->and_count);
		break;
	default:
		break;
	}
	return 0;
}

/*
 * A task writes to a file and awaits that the disk has it. The disk is on another one, where the
 * request is.
 */
static void put_round(struct synthetic *s, uint64_t at, unsigned round)
{
	uint64_t address = 0x1000 + 16 * (round % 8), sector = 8 * (uint64_t)(round % 64);

	writes(s, at, 1, FILE_A, round % 128, 1);
	bio(s, at + 100, address, 1, sector, FILE_A, round % 128, 1);
	BIO(s, at + 110, CLEW_BIO_REMAP, .bio = address + 2, .from_device = DISK,
	    .from_sector = sector, .device = DISK + 1, .sector = sector + 64,
	    .bytes = (uint32_t)PAGE, .operation = WRITE, .task = 1);
	REQUEST(s, at + 120, CLEW_REQUEST_ISSUE, .request = address + 3, .bio = address + 2,
		.sector = sector + 64, .bytes = (uint32_t)PAGE, .device = DISK + 1,
		.operation = WRITE, .allocated = at + 115);
	sleeps(s, at + 200, 0, 1, wait_on(SYS_fsync, CLEW_OBJECT_FILE, FILE_A));
	REQUEST(s, at + 400, CLEW_REQUEST_COMPLETE, .request = address + 3, .sector = sector + 64,
		.bytes = (uint32_t)PAGE, .device = DISK + 1, .operation = WRITE);
	BIO(s, at + 405, CLEW_BIO_COMPLETE, .bio = address, .device = DISK);
	comes(s, at + 500, 0, 1,
	      (struct woken){
		      .at = at + 410,
		      .by = IDLE,
		      .context = CLEW_WAKE_IRQ,
		      .cause = {.kind = CLEW_CAUSE_REQUEST, .object = address + 3},
	      });
}

static void put_rounds(struct synthetic *s)
{
	threads(s, 1);
	SWITCH(s, .at = START + 100, .cpu = 0, .prev = IDLE, .next = 1);
	for (unsigned round = 0; round < ROUNDS; round++)
		put_round(s, START + 1000 + round * 10000ull, round);
}

/* A builder that has counted so far already. */
static struct clew_builder *begin(const struct clew_finding_taker *taker, uint64_t base)
{
	struct clew_builder_options options = {.size = sizeof(options), .start = START};
	struct clew_builder *builder;

	assert_int_equal(clew_builder_new(&options, taker, 1, &builder), 0);
	builder->sleep_count = base;
	builder->blocks.numbers = base;
	builder->writebacks.passes = base;
	return builder;
}

static void run(struct taken *taken, const struct synthetic *s, uint64_t base)
{
	struct clew_finding_taker taker = {
		.wants = CLEW_FINDINGS_ALL, .take = take, .context = taken};
	struct clew_builder *builder = begin(&taker, base);

	taken->base = base;
	feed_all(builder, s);
	assert_int_equal(clew_builder_finish(builder, START + ROUNDS * 10000ull + 20000), 0);
	clew_builder_free(builder);
}

static void same_beyond(void **state)
{
	struct taken *early = calloc(1, sizeof(*early)), *late = calloc(1, sizeof(*late));
	struct synthetic s = {0};

	(void)state;
	assert_non_null(early);
	assert_non_null(late);
	put_rounds(&s);
	run(early, &s, 0);
	run(late, &s, LATE);
	assert_in_range(early->of[CLEW_FINDING_SLEEP], ROUNDS, SIZE_MAX);
	assert_in_range(early->of[CLEW_FINDING_REQUEST], ROUNDS, SIZE_MAX);
	assert_in_range(early->of[CLEW_FINDING_BELOW], ROUNDS, SIZE_MAX);
	assert_in_range(early->of[CLEW_FINDING_PAGES], ROUNDS, SIZE_MAX);
	assert_in_range(early->request_links, ROUNDS, SIZE_MAX);
	assert_in_range(late->highest, 1ull << 32, UINT64_MAX);
	assert_memory_equal(early->of, late->of, sizeof(early->of));
	assert_int_equal(early->sum, late->sum);
	free(early);
	free(late);
	synthetic_done(&s);
}

/* A trace has room for fewer sleeps than that: it says so, and does not mix them up. */
static void too_many_for_a_trace(void **state)
{
	struct clew_finding_taker taker;
	struct clew_builder *builder;
	struct synthetic s = {0};
	struct clew_trace *trace;
	int r = 0;

	(void)state;
	put_rounds(&s);
	assert_int_equal(clew_trace_new(NULL, START, &trace), 0);
	taker = clew_trace_taker(trace);
	builder = begin(&taker, LATE);
	for (size_t at = 0; at < s.size && r >= 0;
	     at += record_size((const struct clew_header *)(s.bytes + at)))
		r = clew_builder_feed(builder, (const struct clew_header *)(s.bytes + at));
	assert_int_equal(r, -EFBIG);
	clew_builder_free(builder);
	clew_trace_free(trace);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_beyond),
		cmocka_unit_test(too_many_for_a_trace),
	};

	return cmocka_run_group_tests_name("build_numbers", tests, NULL, NULL);
}
