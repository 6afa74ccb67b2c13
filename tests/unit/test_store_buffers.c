/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Buffers for records: each is one's own, all that are promised come without the kernel, and there
 * are more than those. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "store/buffers.h"

#define COUNT 4
#define SIZE  5000
#define MORE  3

static void test_each_is_ones_own(void **state)
{
	uint8_t *taken[COUNT + MORE];
	struct store_buffers *buffers;

	(void)state;
	assert_int_equal(store_buffers_new(COUNT, SIZE, &buffers), 0);
	for (unsigned lap = 0; lap < 3; lap++) {
		for (unsigned i = 0; i < COUNT + MORE; i++) {
			taken[i] = store_buffers_take(buffers);
			assert_non_null(taken[i]);
			memset(taken[i], i + 1, SIZE);
			memset(store_buffers_note(buffers, taken[i]), i + 1, STORE_BUFFERS_NOTE);
		}
		for (unsigned i = 0; i < COUNT + MORE; i++) {
			const uint8_t *note = store_buffers_note(buffers, taken[i]);

			assert_true(note >= taken[i] + SIZE);
			for (unsigned at = 0; at < SIZE; at++)
				assert_int_equal(taken[i][at], i + 1);
			for (unsigned at = 0; at < STORE_BUFFERS_NOTE; at++)
				assert_int_equal(note[at], i + 1);
		}
		/* In another order each time. */
		for (unsigned i = 0; i < COUNT + MORE; i++)
			store_buffers_give(buffers, taken[(i * 3 + lap) % (COUNT + MORE)]);
	}
	store_buffers_give(buffers, NULL);
	store_buffers_free(buffers);
	store_buffers_free(NULL);
}

static void test_the_warm_one_comes_first(void **state)
{
	struct store_buffers *buffers;
	uint8_t *first, *second;

	(void)state;
	assert_int_equal(store_buffers_new(COUNT, SIZE, &buffers), 0);
	first = store_buffers_take(buffers);
	second = store_buffers_take(buffers);
	store_buffers_give(buffers, second);
	store_buffers_give(buffers, first);
	assert_ptr_equal(store_buffers_take(buffers), first);
	assert_ptr_equal(store_buffers_take(buffers), second);
	/* A buffer that is not given back is freed all the same. */
	store_buffers_free(buffers);
}

/* The memory that this process has mapped. */
static unsigned long mapped_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages;
}

static void test_mappings_stay_as_they_are(void **state)
{
	struct store_buffers *buffers;
	uint8_t *taken[COUNT];
	unsigned long before;

	(void)state;
	assert_int_equal(store_buffers_new(COUNT, 64u << 20, &buffers), 0);
	mapped_pages();
	before = mapped_pages();
	for (unsigned i = 0; i < COUNT; i++)
		taken[i] = store_buffers_take(buffers);
	assert_int_equal(mapped_pages(), before);
	for (unsigned i = 0; i < COUNT; i++)
		store_buffers_give(buffers, taken[i]);
	assert_int_equal(mapped_pages(), before);
	store_buffers_free(buffers);
	assert_true(mapped_pages() < before);
}

/* Where so much may not be promised, each is asked for as it is needed. */
static void test_little_may_be_promised(void **state)
{
	struct store_buffers *buffers;
	struct rlimit limit, low;
	uint8_t *buffer;
	int r;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_DATA, &limit), 0);
	low = limit;
	low.rlim_cur = 512ul << 20;
	assert_int_equal(setrlimit(RLIMIT_DATA, &low), 0);
	r = store_buffers_new(1000, 16u << 20, &buffers);
	setrlimit(RLIMIT_DATA, &limit);
	assert_int_equal(r, 0);
	buffer = store_buffers_take(buffers);
	assert_non_null(buffer);
	buffer[(16u << 20) - 1] = 1;
	store_buffers_give(buffers, buffer);
	store_buffers_free(buffers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_is_ones_own),
		cmocka_unit_test(test_the_warm_one_comes_first),
		cmocka_unit_test(test_mappings_stay_as_they_are),
		cmocka_unit_test(test_little_may_be_promised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
