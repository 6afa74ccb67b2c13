/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blame by resource on small random traces against counting, moment by moment, who was
 * ahead in a device's queue and on those below, and who ran on the CPU that a victim
 * ran on next.
 */
#include <clew/blame.h>
#include <clew/notation.h>
#include <clew/tokens.h>

#include "model_text.h"
#include "random_model.h"

enum {
	ROUNDS = 3000,
	REQUESTS = 9,
	THREADS = 4,
	CPUS = 3,
	SLOTS = 16,
	SLOT = 10,
	LAST = SLOTS * SLOT
};

static struct clew_model *read_text(const struct text *text)
{
	struct clew_model *model;
	char message[256];

	if (clew_notation_read(text->data, text->length, NULL, &model, message, sizeof(message)) <
	    0)
		fail_msg("%s in\n%s", message, text->data);
	return model;
}

/* The number of the thread that a span of the tests is, "tN". */
static unsigned thread_of(const struct clew_model *model, uint32_t span)
{
	const char *name = clew_model_string(model, model->spans[span].name);

	assert_int_equal(name[0], 't');
	return (unsigned)(name[1] - '0');
}

/* Takes the time between two moments, both 0: all, from what is expected. Returns how many pairs.
 */
static size_t subtract(const struct clew_model *model, clew_time from, clew_time to,
		       clew_time expected[THREADS][THREADS])
{
	struct clew_blame_pair *pairs;
	size_t count;

	assert_int_equal(clew_blame_find(model,
					 &(struct clew_blame_options){.from = from, .to = to},
					 &pairs, &count),
			 0);
	for (size_t i = 0; i < count; i++)
		expected[thread_of(model, pairs[i].victim)]
			[thread_of(model, pairs[i].antagonist)] -= pairs[i].ns;
	free(pairs);
	return count;
}

/* The parts of the time before and after each moment are all of it. */
static void check_parts(const struct text *text, const struct clew_model *model,
			clew_time whole[THREADS][THREADS])
{
	for (clew_time cut = SLOT / 2; cut < LAST; cut += 3 * SLOT + 2) {
		clew_time left[THREADS][THREADS];

		memcpy(left, whole, sizeof(left));
		subtract(model, 0, cut, left);
		subtract(model, cut, LAST, left);
		for (unsigned i = 0; i < THREADS * THREADS; i++)
			if (left[i / THREADS][i % THREADS])
				fail_msg("t%u by t%u, cut at %lld: %lld too few in\n%s",
					 i / THREADS, i % THREADS, (long long)cut,
					 (long long)left[i / THREADS][i % THREADS], text->data);
	}
}

static void check(const struct text *text, clew_time expected[THREADS][THREADS], unsigned *found)
{
	struct clew_model *model = read_text(text);

	check_parts(text, model, expected);
	*found += subtract(model, 0, 0, expected) > 0;
	for (unsigned victim = 0; victim < THREADS; victim++)
		for (unsigned antagonist = 0; antagonist < THREADS; antagonist++)
			if (expected[victim][antagonist])
				fail_msg("t%u by t%u: %lld too few in\n%s", victim, antagonist,
					 (long long)expected[victim][antagonist], text->data);
	clew_model_free(model);
}

struct request {
	clew_time start, end;
	unsigned device; /* 0 is made of 1 */
	unsigned upper;	 /* REQUESTS: none */
	unsigned submitter;
};

static void random_requests(struct random_model *m, struct request requests[REQUESTS])
{
	clew_time at = 1;

	for (unsigned i = 0; i < REQUESTS; i++) {
		struct request *request = &requests[i];
		unsigned upper = pick(m, REQUESTS);

		at += 1 + pick(m, 8);
		*request = (struct request){.start = at,
					    .end = at + 1 + pick(m, 60),
					    .device = pick(m, 2),
					    .upper = REQUESTS};
		request->submitter = pick(m, THREADS);
		if (request->device == 1 && upper < i && requests[upper].device == 0)
			request->upper = upper;
	}
}

static bool within(const struct request requests[REQUESTS], unsigned request, unsigned top)
{
	return request == top || requests[request].upper == top;
}

/* The time in from..end that the victim's request, or one below it, was behind one of a submitter.
 */
static clew_time behind(const struct request requests[REQUESTS], unsigned mine, clew_time from,
			unsigned submitter)
{
	clew_time sum = 0;

	for (clew_time at = from; at < requests[mine].end; at++) {
		bool waits = false;

		for (unsigned q = 0; q < REQUESTS; q++)
			for (unsigned p = 0;
			     p < q && within(requests, q, mine) && requests[q].start <= at; p++) {
				unsigned top = requests[p].upper < REQUESTS ? requests[p].upper : p;

				waits |= requests[p].device == requests[q].device &&
					 requests[p].end > at &&
					 requests[top].submitter == submitter;
			}
		sum += waits;
	}
	return sum;
}

static void test_devices(void **state)
{
	struct random_model m = {.seed = 4242};
	unsigned found = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		clew_time expected[THREADS][THREADS] = {{0}}, from;
		struct request requests[REQUESTS];
		struct text text = {};
		unsigned mine = pick(&m, REQUESTS);

		random_requests(&m, requests);
		requests[mine].submitter = 0;
		requests[mine].upper = REQUESTS;
		from = requests[mine].start - 2 + pick(&m, 6);
		if (from < 1 || from >= requests[mine].end)
			from = requests[mine].start;
		text_add(&text, "hierarchy processes devices\n");
		for (unsigned i = 0; i < THREADS; i++)
			text_add(&text, "span t%u [0,1000] in processes:p\n", i);
		text_add(&text, "span d0 [0,1000] in devices:0\nspan d1 [0,1000] in devices:1\n");
		for (unsigned i = 0; i < REQUESTS; i++) {
			text_add(&text, "span d%u/r%u [%lld,%lld] no-call submitter=%s%u",
				 requests[i].device, i, (long long)requests[i].start,
				 (long long)requests[i].end,
				 requests[i].upper < REQUESTS ? "worker" : "t",
				 requests[i].submitter);
			text_add(&text, " below=\"");
			for (unsigned k = 0; k < REQUESTS; k++)
				if (requests[k].upper == i)
					text_add(&text, "%u ", k);
			text_add(&text, "\"\n");
		}
		text_add(&text, "wait t0 %lld..%lld read\n", (long long)from,
			 (long long)requests[mine].end);
		text_add(&text, "dep request d%u/r%u@%lld -> t0@%lld\n", requests[mine].device,
			 mine, (long long)requests[mine].end, (long long)requests[mine].end);
		for (unsigned submitter = 1; submitter < THREADS; submitter++)
			expected[0][submitter] = behind(requests, mine, from, submitter);
		check(&text, expected, &found);
		free(text.data);
	}
	assert_true(found > ROUNDS / 2);
}

/* The thread that runs on each CPU in each slot, none twice in one; THREADS nobody. */
static void random_turns(struct random_model *m, unsigned turns[CPUS][SLOTS])
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		for (unsigned cpu = 0; cpu < CPUS; cpu++) {
			unsigned thread = pick(m, THREADS + 2);

			turns[cpu][slot] = thread < THREADS ? thread : THREADS;
			for (unsigned other = 0; other < cpu; other++)
				if (turns[other][slot] == thread)
					turns[cpu][slot] = THREADS;
		}
	}
}

/* The CPU that a thread has in a slot, CPUS none. */
static unsigned cpu_in(unsigned turns[CPUS][SLOTS], unsigned thread, unsigned slot)
{
	unsigned cpu = 0;

	while (cpu < CPUS && turns[cpu][slot] != thread)
		cpu++;
	return cpu;
}

static void add_thread(struct text *text, unsigned turns[CPUS][SLOTS], unsigned thread,
		       clew_time expected[THREADS])
{
	unsigned first = SLOTS, last = 0;

	for (unsigned slot = 0; slot < SLOTS; slot++) {
		if (cpu_in(turns, thread, slot) == CPUS)
			continue;
		first = first == SLOTS ? slot : first;
		last = slot;
	}
	if (first == SLOTS)
		return;
	text_add(text, "span t%u [%u,%u] in processes:p\n", thread, first * SLOT,
		 (last + 1) * SLOT);
	for (unsigned slot = first; slot < last; slot++) {
		unsigned end = slot + 1, cpu;

		if (cpu_in(turns, thread, slot) == CPUS)
			continue;
		while ((cpu = cpu_in(turns, thread, end)) == CPUS)
			end++;
		if (end == slot + 1)
			continue;
		text_add(text, "wait t%u %u..%u runqueue\n", thread, (slot + 1) * SLOT, end * SLOT);
		for (unsigned i = slot + 1; i < end; i++)
			if (turns[cpu][i] < THREADS)
				expected[turns[cpu][i]] += SLOT;
	}
}

static void test_cpus(void **state)
{
	struct random_model m = {.seed = 777};
	unsigned found = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		clew_time expected[THREADS][THREADS] = {{0}};
		unsigned turns[CPUS][SLOTS];
		struct text text = {};

		random_turns(&m, turns);
		text_add(&text, "hierarchy processes cpus\n");
		for (unsigned thread = 0; thread < THREADS; thread++)
			add_thread(&text, turns, thread, expected[thread]);
		for (unsigned cpu = 0; cpu < CPUS; cpu++) {
			text_add(&text, "span cpu%u [0,%u] in cpus:machine\n", cpu, LAST);
			for (unsigned slot = 1; slot < SLOTS; slot++)
				text_add(&text, "split cpu%u %u\n", cpu, slot * SLOT);
			/* A mark where two ESs meet goes into the first of them: it still counts
			 * from there on. */
			for (unsigned slot = 0; slot < SLOTS; slot++)
				text_add(&text, "mark cpu%u %s%u@%u\n", cpu,
					 turns[cpu][slot] < THREADS ? "t" : "nobody",
					 turns[cpu][slot], slot * SLOT);
		}
		check(&text, expected, &found);
		free(text.data);
	}
	assert_true(found > ROUNDS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
