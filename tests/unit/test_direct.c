/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The places of direct I/O's bios on the kernel side, run here: who gets one in a set
 * that is full, and when a bio whose end was not seen loses its own.
 */
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* The part of BPF that bpf/direct.h needs, in place of its includes. */
#define __BPF_HELPERS__
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) value *name
#define barrier()	    __asm__ volatile("" ::: "memory")
#define bpf_map_lookup_elem look_up
#pragma GCC diagnostic ignored "-Wunknown-pragmas"

static char *sets;
static size_t set_size;

static void *look_up(const void *map, const uint32_t *index)
{
	(void)map;
	return sets + *index * set_size;
}

#include "../../bpf/direct.h"

#define QUEUED 1000000000000ull

static int begin(void **state)
{
	(void)state;
	set_size = sizeof(struct direct_set);
	sets = calloc(1 << DIRECT_SET_BITS, set_size);
	return sets ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	free(sets);
	return 0;
}

/* Addresses of bios that share one set. */
static void find_rivals(uint64_t *ret_bios, size_t count)
{
	const struct direct_set *set = NULL;
	size_t found = 0;

	for (uint64_t bio = 0xffff888000000000ull; found < count; bio += 64) {
		if (!found)
			set = direct_set(bio);
		if (direct_set(bio) == set)
			ret_bios[found++] = bio;
	}
}

static struct direct *keep(uint64_t bio, uint64_t now)
{
	struct direct *slot = direct_claim(bio, now);

	assert_non_null(slot);
	slot->queued = now;
	slot->whole = 0;
	direct_keep(slot, bio);
	return slot;
}

static void test_full(void **state)
{
	uint64_t bios[DIRECT_SLOTS + 1];
	struct direct *slots[DIRECT_SLOTS];

	(void)state;
	find_rivals(bios, DIRECT_SLOTS + 1);
	for (unsigned i = 0; i < DIRECT_SLOTS; i++)
		slots[i] = keep(bios[i], QUEUED + i);
	assert_null(direct_claim(bios[DIRECT_SLOTS], QUEUED + 100));
	assert_null(direct_find(bios[DIRECT_SLOTS], 0));
	for (unsigned i = 0; i < DIRECT_SLOTS; i++)
		assert_ptr_equal(direct_find(bios[i], 0), slots[i]);
	/* Nothing is known of another whole bio. */
	assert_null(direct_find(bios[0], bios[1]));
	direct_free(slots[2]);
	assert_null(direct_find(bios[2], 0));
	assert_ptr_equal(keep(bios[DIRECT_SLOTS], QUEUED + 200), slots[2]);
}

static void test_age(void **state)
{
	uint64_t bios[DIRECT_SLOTS + 1];
	struct direct *slots[DIRECT_SLOTS], *slot;

	(void)state;
	find_rivals(bios, DIRECT_SLOTS + 1);
	for (unsigned i = 0; i < DIRECT_SLOTS; i++)
		slots[i] = keep(bios[i], QUEUED + 10 * i);
	assert_null(direct_claim(bios[DIRECT_SLOTS], QUEUED + SLOT_AGE));
	/* Another CPU's clock is behind. */
	assert_null(direct_claim(bios[DIRECT_SLOTS], QUEUED - 1));
	slot = direct_claim(bios[DIRECT_SLOTS], QUEUED + SLOT_AGE + 1);
	assert_ptr_equal(slot, slots[0]);
	assert_null(direct_find(bios[0], 0));
	/* While it is written to it is nobody else's, however old what is in it is. */
	assert_null(direct_claim(bios[0], QUEUED + SLOT_AGE + 2));
	slot->queued = QUEUED + SLOT_AGE + 1;
	direct_keep(slot, bios[DIRECT_SLOTS]);
	assert_ptr_equal(direct_find(bios[DIRECT_SLOTS], 0), slot);
	for (unsigned i = 1; i < DIRECT_SLOTS; i++)
		assert_ptr_equal(direct_find(bios[i], 0), slots[i]);
}

static void test_again(void **state)
{
	uint64_t bios[DIRECT_SLOTS + 1];
	struct direct *slot;

	(void)state;
	find_rivals(bios, DIRECT_SLOTS + 1);
	slot = keep(bios[0], QUEUED);
	assert_ptr_equal(direct_claim(bios[0], QUEUED + 1), slot);
	direct_keep(slot, bios[0]);
	for (unsigned i = 1; i < DIRECT_SLOTS; i++)
		keep(bios[i], QUEUED);
	direct_forget(bios[DIRECT_SLOTS]);
	assert_ptr_equal(direct_find(bios[0], 0), slot);
	direct_forget(bios[0]);
	assert_null(direct_find(bios[0], 0));
	assert_ptr_equal(keep(bios[DIRECT_SLOTS], QUEUED), slot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_full, begin, end),
		cmocka_unit_test_setup_teardown(test_age, begin, end),
		cmocka_unit_test_setup_teardown(test_again, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
