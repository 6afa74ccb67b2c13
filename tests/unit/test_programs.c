/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of BPF programs against the object: each program has a row, and each row a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/libbpf.h>

#include "clew.skel.h"
#include "record/stream/program_table.h"

static void test_programs_have_rows(void **state)
{
	struct clew_bpf *bpf = clew_bpf__open();
	const struct clew_program_row *row;
	struct bpf_program *program;
	size_t count = 0;

	(void)state;
	assert_non_null(bpf);
	bpf_object__for_each_program (program, bpf->obj) {
		row = clew_program_row(bpf_program__name(program));
		if (!row)
			fail_msg("%s has no row", bpf_program__name(program));
		assert_string_equal(row->section, bpf_program__section_name(program));
		/* libbpf does not load by itself what is marked optional. */
		if (bpf_program__autoload(program) == !!(row->flags & CLEW_PROGRAM_OPTIONAL))
			fail_msg("%s is optional in one place only", row->name);
		count++;
	}
	assert_int_equal(count, clew_program_table_count);
	clew_bpf__destroy(bpf);
}

static void test_rows_are_whole(void **state)
{
	const struct clew_program_row *row = clew_program_table;
	const size_t count = clew_program_table_count;

	(void)state;
	for (size_t i = 0; i < count; i++, row++) {
		/* Names differ, so as many rows as programs means that each row has one. */
		assert_ptr_equal(clew_program_row(row->name), row);
		assert_true((row->feature != NULL) == (row->costs != NULL));
		assert_true((row->structure != NULL) || !row->other);
		if (!strncmp(row->name, "clew_cache_", 11) !=
		    !!(row->flags & CLEW_PROGRAM_PAGE_CACHE))
			fail_msg("%s: its name and its flag disagree on the page cache", row->name);
		/* A line of `clew doctor` has one row, unless one of several is enough. */
		if (row->flags & CLEW_PROGRAM_ANY)
			assert_non_null(row->feature);
		for (size_t n = i + 1; row->feature && n < count; n++)
			if (clew_program_table[n].feature &&
			    !strcmp(clew_program_table[n].feature, row->feature))
				assert_true(row->flags & clew_program_table[n].flags &
					    CLEW_PROGRAM_ANY);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs_have_rows),
		cmocka_unit_test(test_rows_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
