/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The closed lists of words: complete, without doubles, and read back as written.
 */
#include "synthetic.h"

static void wait_kinds_round_trip(void **state)
{
	(void)state;
	for (int kind = 0; kind < CLEW_SEGMENT_KIND_COUNT; kind++)
		assert_int_equal(clew_wait_kind_from_name(clew_wait_kind_name((unsigned)kind)),
				 kind);
	assert_string_equal(clew_wait_kind_name(CLEW_WAIT_IO_URING), "io_uring");
	assert_string_equal(clew_wait_kind_name(CLEW_SEGMENT_RUNQUEUE), "runqueue");
	assert_string_equal(clew_wait_kind_name(200), "unknown");
	assert_int_equal(clew_wait_kind_from_name("nonsense"), -1);
	assert_int_equal(clew_wait_kind_from_name(NULL), -1);
}

static void edge_types_round_trip(void **state)
{
	(void)state;
	for (int type = 0; type < CLEW_EDGE_TYPE_COUNT; type++) {
		const char *relation = clew_edge_relation((unsigned)type);

		assert_int_equal(clew_edge_type_from_name(clew_edge_type_name((unsigned)type)),
				 type);
		assert_true(!strcmp(relation, "vertical") ==
			    (type == CLEW_EDGE_CALL || type == CLEW_EDGE_RETURN ||
			     type == CLEW_EDGE_SUBMIT || type == CLEW_EDGE_REQUEST));
	}
	assert_int_equal(clew_edge_type_from_name("Fork"), -1);
}

static void contexts_and_evidence(void **state)
{
	static const char *const contexts[] = {"unknown", "task", "irq", "softirq",
					       "timer",	  "ipi",  "work"};

	(void)state;
	for (unsigned context = 0; context <= CLEW_WAKE_WORK; context++)
		assert_string_equal(clew_context_name(context), contexts[context]);
	assert_string_equal(clew_context_name(77), "unknown");
	assert_string_equal(clew_evidence_name(CLEW_EVIDENCE_EXACT), "exact");
	assert_string_equal(clew_evidence_name(CLEW_EVIDENCE_OBSERVED), "observed");
	assert_string_equal(clew_evidence_name(CLEW_EVIDENCE_CANDIDATE), "candidate");
}

static void requests(void **state)
{
	(void)state;
	assert_string_equal(clew_request_operation_name(0, 512), "read");
	assert_string_equal(clew_request_operation_name(1 | 1u << 18, 512), "write");
	assert_string_equal(clew_request_operation_name(1 | 1u << 18, 0), "flush");
	assert_string_equal(clew_request_operation_name(2, 0), "flush");
	assert_string_equal(clew_request_operation_name(77, 0), "other");
	assert_int_equal(clew_request_operation_from_name("flush"), CLEW_REQUEST_FLUSH);
	assert_int_equal(clew_request_operation_from_name("vda"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wait_kinds_round_trip),
		cmocka_unit_test(edge_types_round_trip),
		cmocka_unit_test(contexts_and_evidence),
		cmocka_unit_test(requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
