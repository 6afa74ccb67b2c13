/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * In a causal trace a wait is for a file by the name that it had when the wait began,
 * and for what its kernel lock belonged to then.
 */
#include "convert/convert.h"
#include "synthetic.h"

#define DEVICE (8u << 20 | 1)
#define LOCK   0x1000u

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

static void tell_lock(struct synthetic *s, uint64_t at, uint8_t member, uint64_t inode,
		      uint32_t owner)
{
	struct clew_lock_name record = {
		.header = {.time = at, .kind = CLEW_KIND_LOCK_NAME, .flags = member},
		.lock = LOCK,
		.inode = inode,
		.device = inode ? DEVICE : 0,
		.owner = owner};

	synthetic_put(s, &record, sizeof(record));
}

static void contends(struct synthetic *s, uint64_t at)
{
	struct clew_wait wait = wait_on(SYS_rename, CLEW_OBJECT_LOCK, LOCK);

	wait.reason = CLEW_REASON_LOCK;
	wait.lock_type = CLEW_LOCK_WRITE;
	sleeps(s, at, 0, 1, wait);
	comes(s, at + 100, 0, 1, (struct woken){.at = at + 90, .by = 2});
}

static void assert_lock(const struct clew_trace *t, uint64_t at, const char *expected)
{
	const char *name;

	clew_trace_lock(t, LOCK, at, &name);
	if (!expected)
		assert_null(name);
	else
		assert_string_equal(name, expected);
}

/* The same before and after a detour through a model. */
static void assert_locks(const struct clew_trace *t)
{
	/* The wait of a task that found it being sent may have begun before. */
	assert_lock(t, 1099, "mmap_lock of task-102");
	assert_lock(t, 1100, "mmap_lock of task-102");
	assert_lock(t, 1599, "mmap_lock of task-102");
	assert_lock(t, 1600, "i_rwsem of /srv");
	assert_lock(t, 2100, NULL);
	assert_lock(t, 2599, NULL);
	assert_lock(t, 2600, "mmap_lock of process 999");
	assert_lock(t, CLEW_TIME_OPEN, "mmap_lock of process 999");
}

/* One address, of one lock after another. */
static void test_locks(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t, *again;
	struct clew_model *model;
	char message[256];

	(void)state;
	threads(&s, 2);
	tell_file(&s, START, 1, "/srv");
	SWITCH(&s, .at = 1050, .cpu = 0, .prev = IDLE, .next = 1);
	SWITCH(&s, .at = 1060, .cpu = 1, .prev = IDLE, .next = 2);
	tell_lock(&s, 1100, CLEW_LOCK_MEMBER_MMAP, 0, 102);
	contends(&s, 1100);
	/* It is sent again when something else took its place in the kernel's cache. */
	tell_lock(&s, 1300, CLEW_LOCK_MEMBER_MMAP, 0, 102);
	tell_lock(&s, 1600, CLEW_LOCK_MEMBER_INODE, 7, 0);
	contends(&s, 1600);
	tell_lock(&s, 2100, CLEW_LOCK_MEMBER_NONE, 0, 0);
	contends(&s, 2100);
	tell_lock(&s, 2600, CLEW_LOCK_MEMBER_MMAP, 0, 999);
	contends(&s, 2600);
	t = synthetic_trace(&s, 3000, 0);
	assert_locks(t);
	assert_int_equal(clew_model_from_trace(t, &model), 0);
	assert_waited_for(model, "lock:mmap_lock of task-102");
	assert_waited_for(model, "lock:i_rwsem of /srv");
	assert_waited_for(model, "lock:0x1000");
	assert_waited_for(model, "lock:mmap_lock of process 999");
	assert_int_equal(clew_trace_from_model(model, NULL, &again, message, sizeof(message)), 0);
	assert_locks(again);
	clew_trace_free(again);
	clew_model_free(model);
	clew_trace_free(t);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_renamed_and_reused),
		cmocka_unit_test(test_locks),
	};

	return cmocka_run_group_tests_name("model_names", tests, NULL, NULL);
}
