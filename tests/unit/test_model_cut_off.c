/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The causal trace of a capture that was cut off: a request that is open at its end may be over
 * from where one of the streams ends.
 */
#include "convert/convert.h"
#include "synthetic.h"

#define DISK (254u << 20)

static void asks(struct synthetic *s, uint64_t at, uint64_t request, uint64_t sector)
{
	REQUEST(s, at, CLEW_REQUEST_ISSUE, .request = request, .sector = sector, .bytes = 4096,
		.device = DISK, .allocated = at - 10, .task = 1);
}

static void assert_request(const struct clew_model *model, const char *name, clew_time start,
			   clew_time end)
{
	for (uint32_t i = 0; i < model->span_count; i++) {
		if (strcmp(clew_model_string(model, model->spans[i].name), name))
			continue;
		assert_int_equal(model->spans[i].start, start);
		assert_int_equal(model->spans[i].end, end);
		return;
	}
	fail_msg("no request %s", name);
}

/* `first_until`, `second_until`: to when they are known to be in hand. */
static void check(bool cut, uint64_t first_until, uint64_t second_until)
{
	clew_time first_end = first_until == CLEW_TIME_OPEN ? 4000 : (clew_time)first_until;
	clew_time second_end = second_until == CLEW_TIME_OPEN ? 4000 : (clew_time)second_until;
	const struct clew_trace_request *requests;
	struct synthetic s = {0};
	size_t count;
	struct clew_model *model;
	struct clew_trace *t;

	threads(&s, 1);
	SWITCH(&s, .at = 1100, .cpu = 0, .prev = IDLE, .next = 1);
	asks(&s, 2010, 0x9000, 800);
	asks(&s, 2510, 0x9008, 1600);
	if (cut) {
		cut_off(&s, 1, 2300, 4000);
		cut_off(&s, 0, 4000, 4000);
	}
	t = synthetic_trace(&s, 4000, 0);
	requests = clew_trace_requests(t, &count);
	assert_int_equal(count, 2);
	assert_int_equal(requests[0].until, first_until);
	assert_int_equal(requests[1].until, second_until);
	assert_int_equal(clew_model_from_trace(t, &model), 0);
	assert_request(model, "read 800+8", 2000, first_end);
	assert_request(model, "read 1600+8", 2500, second_end);
	clew_model_free(model);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void test_open_requests(void **state)
{
	(void)state;
	check(false, CLEW_TIME_OPEN, CLEW_TIME_OPEN);
	check(true, 2300, 2510);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_requests),
	};

	return cmocka_run_group_tests_name("model_cut_off", tests, NULL, NULL);
}
