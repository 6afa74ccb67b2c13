/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sets of packed numbers against the sorted numbers themselves. */
#include "base/multiset.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw.h"

#define MOST 3000

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* A set of these numbers, which are sorted. */
static struct multiset make(uint64_t *values, size_t count)
{
	struct multiset set = {};

	qsort(values, count, sizeof(*values), by_value);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && values[next] == values[i];)
			next++;
		assert_int_equal(multiset_add(&set, values[i], next - i), 0);
	}
	return set;
}

static void assert_same(const struct multiset *set, const uint64_t *values, size_t count)
{
	assert_int_equal(set->count, count);
	for (size_t i = 0; i < count; i += 1 + count / 100)
		assert_int_equal(multiset_at(set, i), values[i]);
	if (count) {
		assert_int_equal(multiset_at(set, count - 1), values[count - 1]);
		assert_int_equal(set->greatest, values[count - 1]);
	}
}

/* Numbers of few bits repeat often, of many bits hardly ever. */
static void test_random(void **unused)
{
	static uint64_t values[2 * MOST];

	(void)unused;
	for (unsigned bits = 1; bits <= 64; bits++) {
		size_t first = draw_word() % MOST, second = draw_word() % MOST;
		struct multiset a, b;

		for (size_t i = 0; i < first + second; i++)
			values[i] = draw_word() >> (64 - bits);
		a = make(values, first);
		b = make(values + first, second);
		assert_same(&a, values, first);
		assert_same(&b, values + first, second);
		assert_int_equal(multiset_join(&a, &b), 0);
		assert_same(&b, values + first, second);
		qsort(values, first + second, sizeof(*values), by_value);
		assert_same(&a, values, first + second);
		multiset_done(&a);
		multiset_done(&b);
	}
}

static void test_empty(void **unused)
{
	uint64_t values[] = {0, UINT64_MAX};
	struct multiset empty = {}, set = make(values, 2);

	(void)unused;
	assert_int_equal(multiset_at(&empty, 0), 0);
	assert_int_equal(multiset_join(&set, &empty), 0);
	assert_same(&set, values, 2);
	assert_int_equal(multiset_join(&empty, &set), 0);
	assert_same(&empty, values, 2);
	multiset_done(&empty);
	multiset_done(&set);
}

/* A billion numbers, a million of which differ, take four bytes for each of these. */
static void test_size(void **unused)
{
	struct multiset set = {};

	(void)unused;
	for (uint64_t i = 1; i <= 1000000; i++)
		assert_int_equal(multiset_add(&set, i * 1000, 1000), 0);
	assert_int_equal(set.count, 1000000000);
	assert_in_range(set.size, 3999000, 4001000);
	multiset_done(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_size),
	};

	random_state = 88172645463325252ull;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
