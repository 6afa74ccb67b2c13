/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Findings as a stream with several takers: a taker that only counts agrees with a
 * trace beside it; a taker gets nothing that it does not want, and what it wants does
 * not depend on what others want; what nobody wants is not made.
 */
#include "builder/builder.h"
#include "page_records.h"
#include "store/schema.h"
#include "synthetic.h"
#include <errno.h>

/* ---- a taker that counts ---- */

struct count {
	size_t of[CLEW_FINDING_COUNT];
	uint64_t slept[CLEW_WAIT_KIND_COUNT]; /* ns by kind, of sleeps that ended */
	size_t lone_edges;
};

static int count_take(void *context, struct clew_finding finding)
{
	struct count *count = context;

	count->of[finding.tag]++;
	if (finding.tag == CLEW_FINDING_SLEEP && finding.sleep->end != CLEW_TIME_OPEN)
		count->slept[finding.sleep->kind] += finding.sleep->end - finding.sleep->start;
	if (finding.tag == CLEW_FINDING_EDGE)
		count->lone_edges += !finding.edge->ends_sleep;
	return 0;
}

static struct clew_finding_taker counter(struct count *count, uint32_t wants)
{
	return (struct clew_finding_taker){.wants = wants, .take = count_take, .context = count};
}

/* ---- records of all kinds at random, and some that belong together ---- */

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33) % below;
}

/* Small numbers mostly, so that records name the same things. */
static uint32_t draw_number(uint64_t *state)
{
	static const uint32_t large[] = {4096, 4096, 8192, 512, 0x700000, 0xfe00000, UINT32_MAX};

	return draw(state, 4) ? draw(state, 4)
			      : large[draw(state, sizeof(large) / sizeof(large[0]))];
}

static void put_any(struct synthetic *s, uint64_t *state, uint64_t time)
{
	_Alignas(8) uint8_t bytes[256] = {0};
	struct clew_header *header = (struct clew_header *)bytes;
	size_t size;

	header->kind = (__u8)draw(state, CLEW_KIND_COUNT);
	header->time = time;
	header->flags = (__u8)(draw(state, 3) ? draw(state, 8) : draw(state, 256));
	header->cpu = (__u16)draw(state, 3);
	size = store_record_stride(header->kind);
	if (size < sizeof(*header) || size > sizeof(bytes) ||
	    store_shape(header->kind)->tail_length)
		return;
	for (size_t at = sizeof(*header); at < size; at += 4) {
		/* The upper half of a number of 64 bits is 0 mostly. */
		uint32_t number = at % 8 && draw(state, 4) ? 0 : draw_number(state);

		memcpy(bytes + at, &number, sizeof(number));
	}
	synthetic_put(s, bytes, record_size(header));
}

/* A task writes to a file, another one has it written out, through a loop device or not. */
static void put_write(struct synthetic *s, uint64_t *state, uint64_t time)
{
	uint64_t address = 0x1000 + 16 * draw(state, 4), page = draw(state, 8),
		 sector = 8 * (uint64_t)draw(state, 8);
	uint32_t task = 1 + draw(state, 3), pages = 1 + draw(state, 3);

	writes(s, time, task, FILE_A, page, pages);
	bio(s, time + 100, address, FLUSH, sector, FILE_A, page, pages);
	if (draw(state, 2))
		BIO(s, time + 110, CLEW_BIO_REMAP, .bio = address + 2, .from_device = DISK,
		    .from_sector = sector, .device = DISK + 1, .sector = sector + 64,
		    .bytes = pages * (uint32_t)PAGE, .operation = WRITE, .task = FLUSH);
	issue(s, time + 120, address + 1, address, sector, pages);
	REQUEST(s, time + 130, CLEW_REQUEST_ISSUE, .request = address + 3, .bio = address + 2,
		.sector = sector + 64, .bytes = pages * (uint32_t)PAGE, .device = DISK + 1,
		.operation = WRITE, .allocated = time + 125);
	complete(s, time + 200, address + 1, sector, pages);
}

/* A task waits for a lock, and gets it. */
static void put_lock(struct synthetic *s, uint64_t *state, uint64_t time)
{
	uint32_t task = 1 + draw(state, 3), owner = 1 + draw(state, 3);

	sleeps(s, time, task, task,
	       wait_futex(CLEW_FUTEX_CLASS_MUTEX, 0x5000 + 64 * draw(state, 2), 100 + owner));
	if (draw(state, 4))
		comes(s, time + 200, task, task,
		      (struct woken){.at = time + 190,
				     .by = owner,
				     .operation = CLEW_FUTEX_WAKE_ONE,
				     .flags = CLEW_WAKE_PRIVATE});
}

/* A tick, a switch-out or a span of a task in one of two calls. */
static void put_where(struct synthetic *s, uint64_t *state, uint64_t at)
{
	uint64_t begin = at - draw(state, 2000);
	unsigned event = draw(state, 3);

	WHERE(s, at, event | (draw(state, 2) ? CLEW_WHERE_STAYED : 0), .task = 1 + draw(state, 4),
	      .call = draw(state, 2) ? SYS_read : SYS_clone, .identity = draw(state, 2),
	      .faults = (uint32_t)at / 100, .begin = begin, .faults_before = (uint32_t)begin / 100);
}

/* Two functions, each with an entry and a return, and longjmp. */
static void put_sites(struct synthetic *s)
{
	static const uint16_t roles[] = {CLEW_SITE_ENTER, CLEW_SITE_RET, CLEW_SITE_ENTER,
					 CLEW_SITE_RET, CLEW_SITE_LONGJMP};

	for (uint16_t site = 0; site < 5; site++) {
		struct clew_site_record record = {
			.header = {.time = START, .kind = CLEW_KIND_SITE},
			.function = site / 2,
			.site = site,
			.roles = roles[site],
			.way = CLEW_SITE_WAY_EXITS,
		};

		synthetic_put(s, &record, sizeof(record));
	}
}

static void put_function(struct synthetic *s, uint64_t *state, uint64_t time)
{
	struct clew_function record = {.header = {.time = time, .kind = CLEW_KIND_FUNCTION},
				       .stack = 0x1000 + 16 * draw(state, 8),
				       .task = 1 + draw(state, 4),
				       .site = (uint16_t)draw(state, 5)};

	synthetic_put(s, &record, sizeof(record));
}

static void put_random(struct synthetic *s, uint64_t state, unsigned count)
{
	uint64_t time = START;

	threads(s, 4);
	put_sites(s);
	for (unsigned i = 0; i < count; i++) {
		time += 1000 + (draw(&state, 32) ? draw(&state, 1000) : draw(&state, 200000000));
		switch (draw(&state, 10)) {
		case 0:
			put_write(s, &state, time);
			break;
		case 1:
			put_lock(s, &state, time);
			break;
		case 2:
			put_where(s, &state, time);
			break;
		case 3:
			put_function(s, &state, time);
			break;
		default:
			put_any(s, &state, time);
		}
	}
}

/* ---- tests ---- */

static void expect_equal_counts(const struct clew_trace *trace, const struct count *count)
{
	uint64_t slept[CLEW_WAIT_KIND_COUNT] = {0};
	const struct clew_sleep *sleeps;
	size_t found;

	clew_trace_runs(trace, &found);
	assert_int_equal(found, count->of[CLEW_FINDING_RUN]);
	sleeps = clew_trace_sleeps(trace, &found);
	assert_int_equal(found, count->of[CLEW_FINDING_SLEEP]);
	for (size_t i = 0; i < found; i++)
		if (sleeps[i].end != CLEW_TIME_OPEN)
			slept[sleeps[i].kind] += sleeps[i].end - sleeps[i].start;
	assert_memory_equal(slept, count->slept, sizeof(slept));
	assert_int_equal(trace->readies.count, count->of[CLEW_FINDING_READY]);
	assert_int_equal(trace->lone_edges.count, count->lone_edges);
	assert_int_equal(trace->below.count, count->of[CLEW_FINDING_BELOW]);
	assert_int_equal(trace->spins.count, count->of[CLEW_FINDING_SPIN]);
	assert_int_equal(trace->stays.count + trace->ticks.count, count->of[CLEW_FINDING_STAY]);
	assert_int_equal(trace->tallies.count, count->of[CLEW_FINDING_TALLY]);
	assert_int_equal(trace->frames.count, count->of[CLEW_FINDING_FRAME]);
}

/* Two takers of one builder get the same. */
static void side_by_side(void **state)
{
	size_t findings[CLEW_FINDING_COUNT] = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= 80; seed++) {
		struct count count = {0};
		struct clew_finding_taker takers[2];
		struct synthetic s = {0};
		struct clew_trace *trace;

		put_random(&s, seed, 1500);
		assert_int_equal(clew_trace_new(NULL, START, &trace), 0);
		takers[0] = clew_trace_taker(trace);
		takers[1] = counter(&count, CLEW_FINDINGS_ALL);
		synthetic_feed(&s, UINT64_MAX / 2, 0, takers, 2);
		assert_int_equal(clew_trace_finish(trace, UINT64_MAX / 2), 0);
		expect_equal_counts(trace, &count);
		for (unsigned tag = 0; tag < CLEW_FINDING_COUNT; tag++)
			findings[tag] += count.of[tag];
		clew_trace_free(trace);
		synthetic_done(&s);
	}
	/* Each tag was put to the test; random records have no functions. */
	for (unsigned tag = 0; tag < CLEW_FINDING_COUNT; tag++)
		if (tag != CLEW_FINDING_FRAME && tag != CLEW_FINDING_ENTERED)
			assert_in_range(findings[tag], 50, SIZE_MAX);
}

/* All findings of one tag, by a checksum of their contents. */
struct digest {
	uint64_t sum;
	size_t count;
	enum clew_finding_tag tag;
};

static void digest_bytes(struct digest *digest, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		digest->sum = (digest->sum ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3ull;
}

static void digest_sleep(struct digest *digest, struct clew_sleep sleep)
{
	digest_bytes(digest, sleep.holders, sleep.holder_count * sizeof(*sleep.holders));
	digest_bytes(digest, sleep.links,
		     ((size_t)sleep.link_count + sleep.and_count) * sizeof(*sleep.links));
	sleep.holders = NULL;
	sleep.links = NULL;
	digest_bytes(digest, &sleep.start, 4 * sizeof(sleep.start));
	digest_bytes(digest, &sleep.from_at, sizeof(sleep.from_at));
	digest_bytes(digest, &sleep.object.number, sizeof(sleep.object.number));
	digest_bytes(digest, &sleep.number, sizeof(sleep.number));
	digest_bytes(digest, &sleep.kind, 1);
	digest_bytes(digest, &sleep.edge_type, 1);
}

static int digest_take(void *context, struct clew_finding finding)
{
	struct digest *digest = context;
	const struct clew_edge *edge = finding.edge;
	const struct clew_page_extent *pages = finding.pages;

	assert_int_equal(finding.tag, digest->tag);
	digest->count++;
	switch (finding.tag) {
	case CLEW_FINDING_IDENTITY:
		digest_bytes(digest, finding.identity, sizeof(*finding.identity));
		break;
	case CLEW_FINDING_RUN:
		digest_bytes(digest, &finding.run->start, 2 * sizeof(finding.run->start));
		break;
	case CLEW_FINDING_SLEEP:
		digest_sleep(digest, *finding.sleep);
		break;
	case CLEW_FINDING_READY:
		digest_bytes(digest, &finding.ready->start, 2 * sizeof(finding.ready->start));
		break;
	case CLEW_FINDING_EDGE:
		digest_bytes(digest, &edge->from_at, 2 * sizeof(edge->from_at));
		digest_bytes(digest, &edge->from, 2 * sizeof(edge->from));
		digest_bytes(digest, &edge->type, 2);
		digest_bytes(digest, edge->from_comm, sizeof(edge->from_comm));
		break;
	case CLEW_FINDING_REQUEST:
	case CLEW_FINDING_SERVED:
		digest_bytes(digest, &finding.request->sector,
			     offsetof(struct clew_block_request, reason) + 1);
		break;
	case CLEW_FINDING_BELOW:
		digest_bytes(digest, finding.below, sizeof(*finding.below));
		break;
	case CLEW_FINDING_SPIN:
		digest_bytes(digest, &finding.spin->start, 3 * sizeof(finding.spin->start));
		break;
	case CLEW_FINDING_PAGES:
		digest_bytes(digest, pages->writers, pages->writer_count * sizeof(*pages->writers));
		digest_bytes(digest, &pages->inode, 6 * sizeof(pages->inode));
		digest_bytes(digest, &pages->later_count, 2 * sizeof(pages->later_count));
		break;
	case CLEW_FINDING_TOUCH:
		digest_bytes(digest, &finding.touch->begin, offsetof(struct clew_touch, event) + 1);
		break;
	case CLEW_FINDING_STAY:
		digest_bytes(digest, &finding.stay->start,
			     offsetof(struct clew_stay, evidence) + 1);
		break;
	case CLEW_FINDING_TALLY:
		digest_bytes(digest, &finding.tally->start, offsetof(struct clew_tally, what) + 1);
		break;
	case CLEW_FINDING_FRAME:
	case CLEW_FINDING_ENTERED:
		digest_bytes(digest, &finding.frame->start, offsetof(struct clew_frame, flags) + 1);
		break;
	case CLEW_FINDING_COUNT:
		fail();
	}
	return 0;
}

/* A taker that wants one tag alone gets what it would get if others wanted all. */
static void wanting_less(void **state)
{
	(void)state;
	for (uint64_t seed = 100; seed <= 140; seed++) {
		struct digest among[CLEW_FINDING_COUNT] = {0};
		struct clew_finding_taker takers[CLEW_FINDING_COUNT];
		struct synthetic s = {0};

		put_random(&s, seed, 1500);
		for (unsigned tag = 0; tag < CLEW_FINDING_COUNT; tag++) {
			among[tag].tag = (enum clew_finding_tag)tag;
			takers[tag] = (struct clew_finding_taker){.wants = CLEW_FINDING_BIT(tag),
								  .take = digest_take,
								  .context = &among[tag]};
		}
		synthetic_feed(&s, UINT64_MAX / 2, 0, takers, CLEW_FINDING_COUNT);
		for (unsigned tag = 0; tag < CLEW_FINDING_COUNT; tag++) {
			struct digest alone = {.tag = (enum clew_finding_tag)tag};

			takers[tag].context = &alone;
			synthetic_feed(&s, UINT64_MAX / 2, 0, &takers[tag], 1);
			assert_int_equal(alone.count, among[tag].count);
			assert_int_equal(alone.sum, among[tag].sum);
		}
		synthetic_done(&s);
	}
}

static void feed(struct clew_builder *builder, const struct synthetic *s)
{
	for (size_t at = 0; at < s->size;
	     at += record_size((const struct clew_header *)(s->bytes + at)))
		assert_int_equal(
			clew_builder_feed(builder, (const struct clew_header *)(s->bytes + at)), 0);
}

static struct clew_builder *builder_that_wants(const struct synthetic *s, struct count *count,
					       uint32_t wants)
{
	struct clew_builder_options options = {.size = sizeof(options), .start = START};
	struct clew_finding_taker taker = counter(count, wants);
	struct clew_builder *builder;

	assert_int_equal(clew_builder_new(&options, &taker, 1, &builder), 0);
	feed(builder, s);
	return builder;
}

/* A finding that nobody wants takes no memory: pages, block requests and locks are not followed. */
static void unwanted_is_not_made(void **state)
{
	struct count count = {0};
	struct clew_builder *builder;
	struct synthetic s = {0};

	(void)state;
	put_random(&s, 7, 3000);

	builder = builder_that_wants(&s, &count, CLEW_FINDINGS_ALL);
	assert_in_range(build_pages_memory(builder), 1, SIZE_MAX);
	assert_in_range(builder->blocks.memory, 1, SIZE_MAX);
	assert_in_range(build_futexes_memory(builder), 1, SIZE_MAX);
	clew_builder_free(builder);

	builder = builder_that_wants(&s, &count, CLEW_FINDING_BIT(CLEW_FINDING_RUN));
	assert_int_equal(build_pages_memory(builder), 0);
	assert_int_equal(builder->blocks.memory, 0);
	assert_int_equal(build_futexes_memory(builder), 0);
	assert_int_equal(builder->works.memory + builder->rings.memory, 0);
	assert_int_equal(build_journals_memory(builder) + build_writebacks_memory(builder), 0);
	clew_builder_free(builder);

	builder = builder_that_wants(&s, &count,
				     CLEW_FINDING_BIT(CLEW_FINDING_REQUEST) |
					     CLEW_FINDING_BIT(CLEW_FINDING_SLEEP));
	assert_in_range(builder->blocks.memory, 1, SIZE_MAX);
	assert_in_range(build_futexes_memory(builder), 1, SIZE_MAX);
	assert_int_equal(build_pages_memory(builder), 0);
	clew_builder_free(builder);
	synthetic_done(&s);
}

static int refuse(void *context, struct clew_finding finding)
{
	(void)finding;
	++*(unsigned *)context;
	return -ENOSPC;
}

/* An error of a taker stops the builder, and those after it get nothing more. */
static void refusal(void **state)
{
	struct clew_builder_options options = {.size = sizeof(options), .start = START};
	struct count count = {0};
	unsigned calls = 0;
	struct clew_finding_taker takers[2] = {
		{.wants = CLEW_FINDING_BIT(CLEW_FINDING_RUN), .take = refuse, .context = &calls},
		counter(&count, CLEW_FINDINGS_ALL)};
	struct clew_builder *builder;
	struct synthetic s = {0};

	(void)state;
	threads(&s, 1);
	SWITCH(&s, .at = 1100, .cpu = 0, .prev = IDLE, .next = 1);
	assert_int_equal(clew_builder_new(&options, takers, 2, &builder), 0);
	assert_int_equal(clew_builder_feed(builder, (const struct clew_header *)s.bytes), 0);
	assert_int_equal(
		clew_builder_feed(
			builder,
			(const struct clew_header *)(s.bytes + record_size((const void *)s.bytes))),
		-ENOSPC);
	assert_int_equal(clew_builder_advance(builder, 2000), -ENOSPC);
	assert_int_equal(clew_builder_finish(builder, 2000), -ENOSPC);
	assert_int_equal(calls, 1);
	assert_int_equal(count.of[CLEW_FINDING_IDENTITY], 1);
	assert_int_equal(count.of[CLEW_FINDING_RUN], 0);
	clew_builder_free(builder);
	synthetic_done(&s);
}

/* Advancing changes no finding, but brings those that were put off before the next record. */
static void advancing(void **state)
{
	struct clew_builder_options options = {.size = sizeof(options), .start = START};
	struct count plain = {0}, advanced = {0};
	struct clew_finding_taker taker = counter(&advanced, CLEW_FINDINGS_ALL);
	struct clew_builder *builder;
	struct synthetic s = {0};
	uint64_t last = 0;
	size_t before;

	(void)state;
	put_random(&s, 11, 3000);
	assert_int_equal(clew_builder_new(&options, &taker, 1, &builder), 0);
	for (size_t at = 0; at < s.size;) {
		const struct clew_header *record = (const struct clew_header *)(s.bytes + at);

		for (; last < record->time; last += 1 + (record->time - last) / 2)
			assert_int_equal(clew_builder_advance(builder, last), 0);
		assert_int_equal(clew_builder_feed(builder, record), 0);
		at += record_size(record);
	}
	before = advanced.of[CLEW_FINDING_TOUCH];
	assert_int_equal(clew_builder_advance(builder, last + 10 * BUILD_PAGES_GRACE), 0);
	assert_in_range(advanced.of[CLEW_FINDING_TOUCH], before + 1, SIZE_MAX);
	assert_int_equal(clew_builder_finish(builder, last + 10 * BUILD_PAGES_GRACE), 0);
	clew_builder_free(builder);

	taker.context = &plain;
	synthetic_feed(&s, last + 10 * BUILD_PAGES_GRACE, 0, &taker, 1);
	assert_memory_equal(&plain, &advanced, sizeof(plain));
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(side_by_side),
		cmocka_unit_test(wanting_less),
		cmocka_unit_test(unwanted_is_not_made),
		cmocka_unit_test(advancing),
		cmocka_unit_test(refusal),
	};

	return cmocka_run_group_tests_name("build_takers", tests, NULL, NULL);
}
