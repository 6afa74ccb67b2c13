/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs that the kernel refuses: what is lost with each, and what is said of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/libbpf.h>

#include "record/stream/refusals.h"

static bool is_lost(const struct clew_refusals *refusals, const char *program)
{
	return clew_refusals_lost(refusals, clew_program_row(program));
}

static void expect_text(const struct clew_refusals *refusals, const char *expected)
{
	char *text = clew_refusals_text(refusals, "; ");

	assert_string_equal(text, expected);
	free(text);
}

static void test_feature_goes_as_a_whole(void **state)
{
	struct clew_refusals refusals = {.count = 0};

	(void)state;
	expect_text(&refusals, "");
	assert_true(clew_refusals_add(&refusals, clew_program_row("clew_contention_end"), "no"));
	assert_false(clew_refusals_add(&refusals, clew_program_row("clew_contention_end"), "no"));
	assert_true(is_lost(&refusals, "clew_contention_begin"));
	assert_false(is_lost(&refusals, "clew_posix_lock"));
	assert_false(is_lost(&refusals, "clew_napi_poll"));
	expect_text(&refusals, "kernel locks: no");
}

static void test_what_it_needs(void **state)
{
	struct clew_refusals refusals = {.count = 0};

	(void)state;
	clew_refusals_add(&refusals, clew_program_row("clew_napi_poll"), "no");
	assert_true(is_lost(&refusals, "clew_netif_receive_skb"));
	assert_true(is_lost(&refusals, "clew_net_dev_start_xmit"));
	expect_text(&refusals, "packets: not without turns of network devices; parts of packets: "
			       "not without turns of network devices; turns of network devices: "
			       "no; refused packets: not without turns of network devices; "
			       "attempts to connect: not without turns of network devices");
}

/* One file system's journal is no reason to lose the page cache; what drops pages is. */
static void test_page_cache(void **state)
{
	struct clew_refusals refusals = {.count = 0};

	(void)state;
	clew_refusals_add(&refusals, clew_program_row("clew_cache_jbd2_locking"), "first");
	assert_null(clew_refusals_page_cache(&refusals));
	assert_true(is_lost(&refusals, "clew_cache_jbd2_start"));
	assert_false(is_lost(&refusals, "clew_cache_xfs_sync"));
	assert_false(is_lost(&refusals, "clew_cache_dirty_folio"));
	expect_text(&refusals, "ext4 journal: first");

	clew_refusals_add(&refusals, clew_program_row("clew_cache_drop"), "second");
	assert_non_null(clew_refusals_page_cache(&refusals));
	assert_true(is_lost(&refusals, "clew_cache_xfs_sync"));
	assert_false(is_lost(&refusals, "clew_block_rq_issue"));
	expect_text(&refusals, "page cache: second");
}

/* The needs name features that there are, and no feature needs itself. */
static void test_each_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < clew_program_table_count; i++) {
		const struct clew_program_row *row = &clew_program_table[i];
		struct clew_refusals refusals = {.count = 0};

		for (size_t n = 0; n < CLEW_PROGRAM_NEEDS && row->needs[n]; n++) {
			size_t other = 0;

			while (other < clew_program_table_count &&
			       (!clew_program_table[other].feature ||
				strcmp(clew_program_table[other].feature, row->needs[n])))
				other++;
			assert_true(other < clew_program_table_count);
		}
		clew_refusals_add(&refusals, row, "no");
		for (size_t n = 0; n < clew_program_table_count; n++)
			if (clew_program_feature(&clew_program_table[n]) ==
			    clew_program_feature(row))
				assert_true(is_lost(&refusals, clew_program_table[n].name));
	}
}

/* Says something as libbpf does. */
static void warn(libbpf_print_fn_t print, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print(LIBBPF_WARN, format, arguments);
	va_end(arguments);
}

static void expect_reason(const char *log, const char *expected)
{
	const char *const program = "clew_contention_begin";
	struct clew_refusal refusal;
	libbpf_print_fn_t print;

	clew_verdict_begin();
	print = libbpf_set_print(NULL);
	warn(print, "libbpf: prog '%s': BPF program load failed: %s\n", program,
	     "Invalid argument");
	warn(print, "libbpf: prog '%s': -- BEGIN PROG LOAD LOG --\n%s-- END PROG LOAD LOG --\n",
	     program, log);
	warn(print, "libbpf: prog 'clew_contention_end': BPF program load failed: %s\n", "later");
	warn(print, "libbpf: failed to load object 'clew_bpf'\n");
	assert_true(clew_verdict_end(&refusal));
	assert_string_equal(refusal.row->name, program);
	assert_string_equal(refusal.reason, expected);
}

static void test_reasons(void **state)
{
	struct clew_refusal refusal;

	(void)state;
	expect_reason("", "clew_contention_begin: BPF program load failed: Invalid argument");
	expect_reason("0: R1=ctx() R10=fp0\n"
		      "7: <invalid CO-RE relocation>\n"
		      "failed to resolve CO-RE relocation <byte_off> [12] struct "
		      "mutex.owner.counter (0:0:0 @ offset 0)\n"
		      "processed 8 insns (limit 1000000) max_states_per_insn 0\n",
		      "mutex.owner.counter is not where clew looks");
	expect_reason("; return READ(bio, bi_private); @ block.h:12\n"
		      "9: (85) call unknown#195896080\ninvalid func unknown#195896080\n"
		      "processed 9 insns (limit 1000000)\n",
		      "clew_contention_begin: a field is not where clew looks: return READ(bio, "
		      "bi_private); @ block.h:12");
	expect_reason("BPF program is too large. Processed 1000001 insn\n"
		      "verification time 3 usec\nstack depth 400\nprocessed 1000001 insns\n",
		      "clew_contention_begin: BPF program is too large. Processed 1000001 insn");
	expect_reason("2: R1=ctx() R6=trusted_ptr_or_null_folio(id=1)\n"
		      "R6 invalid mem access 'trusted_ptr_or_null_'\n\n"
		      "Verification failed: Register Type Safety: Invalid dereference\n\n"
		      "Reason:\n  R6 may be NULL here.\n\nSuggestion:\n  Add a NULL check.\n\n"
		      "processed 3 insns (limit 1000000)\n",
		      "clew_contention_begin: R6 invalid mem access 'trusted_ptr_or_null_'");
	clew_verdict_begin();
	assert_false(clew_verdict_end(&refusal));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_feature_goes_as_a_whole),
		cmocka_unit_test(test_what_it_needs),
		cmocka_unit_test(test_page_cache),
		cmocka_unit_test(test_each_row),
		cmocka_unit_test(test_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
