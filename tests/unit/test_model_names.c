/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * In a causal trace a wait is for a file by the name that it had when the wait began.
 */
#include "convert/convert.h"
#include "synthetic.h"

#define DEVICE (8u << 20 | 1)

static void tell_file(struct synthetic *s, uint64_t at, uint32_t generation, const char *path)
{
	struct {
		struct clew_file_record file;
		char path[32];
	} record = {.file = {.header = {.time = at, .kind = CLEW_KIND_FILE},
			     .inode = 7,
			     .generation = generation,
			     .device = DEVICE,
			     .path_size = (uint16_t)(strlen(path) + 1)}};

	memcpy(record.path, path, record.file.path_size);
	synthetic_put(s, &record, sizeof(record.file) + record.file.path_size);
}

static void assert_waited_for(const struct clew_model *model, const char *object)
{
	bool found = false;

	for (uint32_t i = 0; i < model->wait_count && !found; i++) {
		const char *told =
			clew_model_attribute(model, model->waits[i].attributes, "object");

		found = told && !strcmp(told, object);
	}
	if (!found)
		fail_msg("no wait for %s", object);
}

static void waits(struct synthetic *s, uint64_t at)
{
	struct clew_wait wait = wait_on(SYS_fsync, CLEW_OBJECT_FILE, 7);

	wait.device = DEVICE;
	sleeps(s, at, 0, 1, wait);
	comes(s, at + 100, 0, 1, (struct woken){.at = at + 90, .by = 2});
}

static void test_renamed_and_reused(void **state)
{
	struct synthetic s = {0};
	struct clew_model *model;
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	tell_file(&s, START, 1, "/new");
	SWITCH(&s, .at = 1050, .cpu = 0, .prev = IDLE, .next = 1);
	SWITCH(&s, .at = 1060, .cpu = 1, .prev = IDLE, .next = 2);
	waits(&s, 1100);
	tell_file(&s, 1500, 1, "/old");
	waits(&s, 1600);
	tell_file(&s, 2000, 2, "/another");
	waits(&s, 2100);
	t = synthetic_trace(&s, 3000, 0);
	assert_int_equal(clew_model_from_trace(t, &model), 0);
	assert_waited_for(model, "file:/new");
	assert_waited_for(model, "file:/old");
	assert_waited_for(model, "file:/another");
	clew_model_free(model);
	clew_trace_free(t);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_renamed_and_reused),
	};

	return cmocka_run_group_tests_name("model_names", tests, NULL, NULL);
}
