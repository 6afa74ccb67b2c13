/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The hash map against a plain array, and its room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/map.h"

enum { KEYS = 300, STEPS = 200000 };

static void test_random(void **state)
{
	uint64_t expected[KEYS] = {0};
	struct map map = {0};
	size_t count = 0;

	(void)state;
	srandom(4711);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned key = (unsigned)random() % KEYS;
		const uint64_t *got = map_get(&map, key / 3, key % 3);

		assert_int_equal(got != NULL, expected[key] != 0);
		if (got)
			assert_int_equal(*got, expected[key]);
		if (random() % 2) {
			count += !expected[key];
			expected[key] = step + 1;
			assert_int_equal(map_set(&map, key / 3, key % 3, step + 1), 0);
		} else {
			count -= expected[key] != 0;
			expected[key] = 0;
			map_remove(&map, key / 3, key % 3);
		}
		assert_int_equal(map.count, count);
	}
	map_done(&map);
}

/* Setting keys allocates nothing up to the number that was reserved. */
static void test_room(void **state)
{
	(void)state;
	for (size_t room = 1; room < 5000; room += room / 3 + 1) {
		struct map map = {0};
		const struct map_slot *slots;

		assert_int_equal(map_set(&map, UINT64_MAX, 0, 7), 0);
		assert_int_equal(map_reserve(&map, room + 1), 0);
		slots = map.slots;
		for (size_t i = 0; i < room; i++)
			assert_int_equal(map_set(&map, i, 0, i), 0);
		assert_ptr_equal(map.slots, slots);
		assert_int_equal(*map_get(&map, UINT64_MAX, 0), 7);
		assert_int_equal(map_reserve(&map, room / 2), 0);
		assert_ptr_equal(map.slots, slots);
		map_done(&map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
