/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Relations: calls that nest, callers by signature, what decides between them, and
 * what people call a task's doing. Random announcements are joined a second time by
 * a plain search of all pairs.
 */
#include "synthetic.h"

#include "relate/relate.h"
#include <stdio.h>

/* Processes 1..count of one thread, named t1.. */
static void processes(struct synthetic *s, unsigned count)
{
	static const char *const names[] = {"", "t1", "t2", "t3", "t4", "t5", "t6"};

	for (unsigned task = 1; task <= count; task++)
		identify(s, (struct identity){.task = task, .comm = names[task]});
}

struct joined {
	struct synthetic records;
	struct clew_trace *trace;
	struct clew_relations *relations;
	const struct clew_activity *activities;
	const struct clew_relation *list;
	size_t activity_count, count;
};

static void join_with(struct joined *j, uint64_t window)
{
	const struct clew_relations_options options = {.size = sizeof(options),
						       .match_window = window};

	j->trace = synthetic_trace(&j->records, 100000, 0);
	assert_int_equal(clew_relations_new(j->trace, &options, &j->relations), 0);
	j->activities = clew_relations_activities(j->relations, &j->activity_count);
	j->list = clew_relations_list(j->relations, &j->count);
}

static void done(struct joined *j)
{
	clew_relations_free(j->relations);
	clew_trace_free(j->trace);
	synthetic_done(&j->records);
}

static void assert_word(struct joined *j, uint32_t task, uint64_t at, const char *name,
			const char *value)
{
	struct clew_description description = {};

	clew_relations_describe(j->relations, task, at, &description);
	for (size_t i = 0; i < description.count; i++)
		if (!strcmp(description.words[i].name, name)) {
			if (!value)
				fail_msg("%s is %s", name, description.words[i].value);
			assert_string_equal(description.words[i].value, value);
			return;
		}
	if (value)
		fail_msg("%s is not there", name);
}

static void test_nesting(void **state)
{
	struct joined j = {};

	(void)state;
	processes(&j.records, 3);
	begins(&j.records, 2000, 1, 1, "app load step=1");
	begins(&j.records, 2010, 1, 2, "kv get key=17");
	begins(&j.records, 2020, 1, 3, "kv lost part=1");
	begins(&j.records, 2030, 2, 0, "app other step=2");
	ends(&j.records, 2040, 1, 2);
	ends(&j.records, 2050, 3,
	     1); /* in another thread, of another process: no such call there */
	begins(&j.records, 2060, 1, 0, "kv check");
	ends(&j.records, 2070, 1, 0);
	ends(&j.records, 2080, 1, 1);
	ends(&j.records, 2090, 1, 9); /* began before the capture */
	join_with(&j, 0);
	assert_int_equal(j.activity_count, 5);
	assert_int_equal(j.count, 3);
	for (size_t i = 0; i < j.count; i++) {
		assert_true(j.list[i].nested);
		assert_false(j.list[i].bridged);
		assert_int_equal(j.list[i].evidence, CLEW_EVIDENCE_EXACT);
	}
	assert_int_equal(j.list[0].lower, 1);
	assert_int_equal(j.list[0].uppers[0], 0);
	assert_int_equal(j.list[1].uppers[0], 1);
	assert_int_equal(j.activities[2].end, 2040);
	assert_int_equal(j.list[2].lower, 4);
	assert_int_equal(j.list[2].uppers[0], 0);
	assert_int_equal(j.activities[4].end, 2070);
	assert_int_equal(j.activities[0].end, 2080);
	assert_int_equal(j.activities[3].end, CLEW_TIME_OPEN);
	assert_word(&j, 1, 2025, "kv/key", "17");
	assert_word(&j, 1, 2025, "app/step", "1");
	assert_word(&j, 1, 2055, "kv/key", NULL);
	assert_word(&j, 1, 2055, "app/step", "1");
	assert_word(&j, 1, 2085, "app/step", NULL);
	assert_word(&j, 1, 1999, "app/step", NULL);
	assert_word(&j, 2, 90000, "app/step", "2");
	done(&j);
}

/* A token that is used anew: the end of the call that had it was not heard. */
static void test_tokens(void **state)
{
	struct joined j = {};

	(void)state;
	processes(&j.records, 2);
	begins(&j.records, 2000, 1, 1, "a x");
	begins(&j.records, 2010, 1, 2, "a y");
	begins(&j.records, 2020, 1, 1, "a x");
	ends(&j.records, 2030, 1, 1);
	begins(&j.records, 2040, 1, 5, "a asynchronous async");
	begins(&j.records, 2050, 1, 6, "a z");
	ends(&j.records, 2060, 1, 6);
	ends(&j.records, 2070, 1, 5);
	join_with(&j, 0);
	assert_int_equal(j.activity_count, 5);
	assert_int_equal(j.activities[0].end, 2020);
	assert_int_equal(j.activities[1].end, 2020);
	assert_int_equal(j.activities[2].parent, CLEW_NO_NUMBER);
	assert_true(j.activities[3].is_async);
	assert_int_equal(j.activities[3].end, 2070);
	assert_int_equal(j.activities[4].parent, CLEW_NO_NUMBER);
	assert_int_equal(j.count, 1);
	assert_null(clew_relations_at(j.relations, 1, 2045));
	done(&j);
}

static void assert_relation(const struct joined *j, uint32_t lower, unsigned evidence, bool bridged,
			    uint32_t count, uint32_t first, uint32_t second)
{
	for (size_t i = 0; i < j->count; i++) {
		if (j->list[i].lower != lower || j->list[i].nested)
			continue;
		assert_int_equal(j->list[i].evidence, evidence);
		assert_int_equal(j->list[i].bridged, bridged);
		assert_int_equal(j->list[i].upper_count, count);
		assert_int_equal(j->list[i].uppers[0], first);
		if (count > 1)
			assert_int_equal(j->list[i].uppers[1], second);
		return;
	}
	fail_msg("nothing is above %u", lower);
}

static void test_callers(void **state)
{
	static const struct {
		const char *first, *second, *lower;
		unsigned evidence;
		bool bridged;
		uint32_t count, upper;
	} cases[] = {
		{"app load kv/key=1 kv/table=t", "app load kv/key=1 kv/table=t",
		 "kv get key=1 table=t", CLEW_EVIDENCE_CANDIDATE, true, 2, 0},
		{"app load kv/key=1 kv/table=t", "report load kv/key=1", "kv get key=1 table=t",
		 CLEW_EVIDENCE_CANDIDATE, true, 2, 0},
		{"app load kv/key=1", "app load kv/key=2", "kv get key=1", CLEW_EVIDENCE_OBSERVED,
		 true, 1, 0},
		{"app load kv/key=1 kv/table=t", "app load kv/key=1", "kv get key=1",
		 CLEW_EVIDENCE_OBSERVED, true, 1, 1},
		{"app load kv/key=1", "report load kv/key=1 calls=kv", "kv get key=1",
		 CLEW_EVIDENCE_EXACT, false, 1, 1},
		{"app load kv/key=1 calls=kv", "report load kv/key=1 calls=kv", "kv get key=1",
		 CLEW_EVIDENCE_CANDIDATE, false, 2, 0},
		{"app load kv/key=1 calls=kv @id=3", "report load kv/key=1 calls=kv @id=4",
		 "kv get key=1 @id=4", CLEW_EVIDENCE_EXACT, false, 1, 1},
		{"app load kv/key=1 @id=3", "app load kv/key=1", "kv get key=1 @id=3",
		 CLEW_EVIDENCE_EXACT, true, 1, 0},
		{"app load kv/key=1 calls=kv @traceparent=3", "report load kv/key=1",
		 "kv get key=1 @traceparent=5", CLEW_EVIDENCE_EXACT, false, 1, 0},
		{"app load kv/key=1 @id=3", "app load kv/key=1", "kv get key=1 @id=5",
		 CLEW_EVIDENCE_OBSERVED, true, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct joined j = {};

		processes(&j.records, 3);
		begins(&j.records, 2000, 1, 1, cases[i].first);
		begins(&j.records, 2010, 2, 1, cases[i].second);
		begins(&j.records, 2020, 3, 1, cases[i].lower);
		ends(&j.records, 2030, 3, 1);
		ends(&j.records, 2040, 2, 1);
		ends(&j.records, 2050, 1, 1);
		join_with(&j, 0);
		assert_int_equal(j.count, 1);
		assert_relation(&j, 2, cases[i].evidence, cases[i].bridged, cases[i].count,
				cases[i].upper, 1);
		done(&j);
	}
}

static void test_types(void **state)
{
	struct joined j = {};

	(void)state;
	processes(&j.records, 3);
	begins(&j.records, 2000, 1, 1, "posix open filehandle=3");
	begins(&j.records, 2010, 2, 1, "mpi open filehandle=3");
	begins(&j.records, 2020, 3, 1, "app nothing");
	begins(&j.records, 2030, 3, 2, "app all");
	join_with(&j, 0);
	assert_int_equal(j.count, 1);
	assert_true(j.list[0].nested);
	done(&j);
}

static void test_layers(void **state)
{
	struct joined j = {};

	(void)state;
	processes(&j.records, 4);
	begins(&j.records, 2000, 1, 1, "app load kv/key=1 calls=kv name=x");
	ends(&j.records, 2001, 1, 1);
	begins(&j.records, 2005, 1, 1, "app load kv/key=1 calls=kv");
	begins(&j.records, 2010, 2, 1, "kv get key=1 calls=store");
	begins(&j.records, 2020, 3, 1, "store read kv/key=1 page=5");
	begins(&j.records, 2025, 3, 2, "disk read kv/key=1");
	ends(&j.records, 2030, 3, 1);
	ends(&j.records, 2040, 2, 1);
	ends(&j.records, 2050, 1, 1);
	join_with(&j, 0);
	assert_relation(&j, 2, CLEW_EVIDENCE_EXACT, false, 1, 1, 0);
	assert_relation(&j, 3, CLEW_EVIDENCE_EXACT, false, 1, 2, 0);
	assert_int_equal(j.count, 3);
	assert_word(&j, 3, 2027, "store/page", "5");
	assert_word(&j, 3, 2027, "kv/key", "1");
	assert_word(&j, 3, 2027, "caller", "t1");
	done(&j);
}

/* A value on which all possible callers agree is said; else it would be a guess. */
static void test_common_words(void **state)
{
	struct joined j = {};

	(void)state;
	processes(&j.records, 3);
	begins(&j.records, 1990, 1, 9, "web page url=/same user=ann");
	begins(&j.records, 1995, 2, 9, "web page url=/same user=bob");
	begins(&j.records, 2000, 1, 1, "app load kv/key=1");
	begins(&j.records, 2010, 2, 1, "app load kv/key=1");
	begins(&j.records, 2020, 3, 1, "kv get key=1");
	join_with(&j, 0);
	assert_relation(&j, 4, CLEW_EVIDENCE_CANDIDATE, true, 2, 2, 3);
	assert_word(&j, 3, 2025, "web/url", "/same");
	assert_word(&j, 3, 2025, "web/user", NULL);
	assert_word(&j, 3, 2025, "caller", NULL);
	done(&j);
}

static void test_window(void **state)
{
	(void)state;
	for (uint64_t window = 0; window < 3; window++) {
		struct joined j = {};

		processes(&j.records, 2);
		begins(&j.records, 2000, 1, 1, "app load kv/key=1");
		ends(&j.records, 2010, 1, 1);
		begins(&j.records, 2012, 2, 1, "kv get key=1");
		join_with(&j, window);
		assert_int_equal(j.count, window == 2);
		done(&j);
	}
}

/* ---- the same by a search of all pairs ---- */

enum { RANDOM_TASKS = 6, RANDOM_STEPS = 60 };

struct plain {
	uint64_t begin, end;
	unsigned interface, key, extra; /* 0: carries no extra */
};

static unsigned next_random(unsigned *seed, unsigned below)
{
	*seed = *seed * 1103515245 + 12345;
	return (*seed >> 16) % below;
}

/* Uppers a..c carry what the lower s has; the lower's own descriptor it alone has. */
static void check_random(unsigned seed)
{
	struct plain calls[RANDOM_STEPS], open[RANDOM_TASKS + 1] = {};
	unsigned where[RANDOM_TASKS + 1] = {}, count = 0;
	struct joined j = {};
	char words[100];

	processes(&j.records, RANDOM_TASKS);
	for (unsigned i = 0; i < RANDOM_STEPS; i++) {
		unsigned task = 1 + next_random(&seed, RANDOM_TASKS);
		uint64_t at = 2000 + 10 * i;

		if (open[task].begin) {
			calls[where[task]].end = at;
			open[task].begin = 0;
			ends(&j.records, at, task, 1);
			continue;
		}
		open[task].begin = at;
		where[task] = count;
		calls[count] = (struct plain){at, CLEW_TIME_OPEN, next_random(&seed, 4),
					      next_random(&seed, 3), next_random(&seed, 3)};
		snprintf(words, sizeof(words), "%c do s/key=%u%s%s", "abcs"[calls[count].interface],
			 calls[count].key, calls[count].extra ? " s/extra=" : "",
			 calls[count].extra == 1 ? "1"
			 : calls[count].extra	 ? "2"
						 : "");
		begins(&j.records, at, task, 1, words);
		/* A called activity ends before its callers do: so it is known who calls whom. */
		if (calls[count].interface == 3) {
			calls[count].end = at + 5;
			open[task].begin = 0;
			ends(&j.records, at + 5, task, 1);
		}
		count++;
	}
	join_with(&j, 0);
	assert_int_equal(j.activity_count, count);
	for (unsigned lower = 0; lower < count; lower++) {
		unsigned expected[RANDOM_STEPS], found = 0;

		for (unsigned upper = 0; upper < lower && calls[lower].interface == 3; upper++)
			if (calls[upper].interface != 3 && calls[upper].end >= calls[lower].begin &&
			    calls[upper].key == calls[lower].key &&
			    (!calls[upper].extra || calls[upper].extra == calls[lower].extra))
				expected[found++] = upper;
		if (calls[lower].interface != 3)
			continue;
		if (!found) {
			assert_int_equal(j.activities[lower].relation, CLEW_NO_NUMBER);
			continue;
		}
		assert_relation(&j, lower,
				found > 1 ? CLEW_EVIDENCE_CANDIDATE : CLEW_EVIDENCE_OBSERVED, true,
				found, expected[0], expected[1]);
		for (unsigned i = 0; i < found; i++)
			assert_int_equal(j.list[j.activities[lower].relation].uppers[i],
					 expected[i]);
	}
	done(&j);
}

static void test_random(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 300; seed++)
		check_random(seed);
}

/* Many calls open at once with the same descriptor's type: the work is that of the pairs that
 * match. */
static void test_many(void **state)
{
	enum { MANY = 20000 };
	struct joined j = {};
	char words[64];

	(void)state;
	processes(&j.records, 3);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(words, sizeof(words), "app load kv/key=%u async", i);
		begins(&j.records, 2000 + i, 1, i + 1, words);
	}
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(words, sizeof(words), "kv get key=%u", i);
		begins(&j.records, 30000 + 2 * i, 2, 1, words);
		ends(&j.records, 30001 + 2 * i, 2, 1);
	}
	join_with(&j, 0);
	assert_int_equal(j.count, MANY);
	assert_relation(&j, MANY + 7, CLEW_EVIDENCE_OBSERVED, true, 1, 7, 0);
	done(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting), cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_callers), cmocka_unit_test(test_types),
		cmocka_unit_test(test_layers),	cmocka_unit_test(test_common_words),
		cmocka_unit_test(test_window),	cmocka_unit_test(test_random),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
