/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sums of what a recorded command took: whose time counts, and under what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "live/took.h"

enum { NAMESPACE = 77, PID = 50, ROOT = 2, CHILD = 3, OTHER = 9 };

static void take(struct took *took, enum clew_finding_tag tag, const void *what)
{
	const struct clew_finding finding = {.tag = tag, .identity = what};

	assert_int_equal(took_take(took, finding), 0);
}

static struct clew_task_record task(uint32_t serial, uint32_t parent, uint32_t pid)
{
	return (struct clew_task_record){.header.kind = CLEW_KIND_TASK,
					 .task = serial,
					 .process = serial,
					 .parent = parent,
					 .pid_namespace = NAMESPACE,
					 .nspid = {pid},
					 .nspid_count = 1};
}

/* A command that was let go at 100, with a child, beside another process. */
static struct took begin(void)
{
	const struct clew_task_record root = task(ROOT, 1, PID), other = task(OTHER, 1, 60);
	const struct clew_life fork = {.header.kind = CLEW_KIND_FORK, .task = ROOT, .other = CHILD};
	const struct clew_sleep first = {
		.start = 10, .end = 100, .switch_in = 100, .task = ROOT, .open = CLEW_OPEN_START};
	struct took took;

	took_init(&took, PID, NAMESPACE);
	take(&took, CLEW_FINDING_IDENTITY, &other);
	take(&took, CLEW_FINDING_IDENTITY, &root);
	take(&took, CLEW_FINDING_SLEEP, &first);
	take(&took, CLEW_FINDING_IDENTITY, &fork);
	return took;
}

static void knows_the_command(void **state)
{
	struct took took = begin();
	const struct clew_life end = {
		.header = {.kind = CLEW_KIND_EXIT, .time = 900}, .task = ROOT, .other = 0};
	struct clew_task_record inner = task(20, 1, PID);

	(void)state;
	take(&took, CLEW_FINDING_IDENTITY, &end);
	assert_int_equal(took.root, ROOT);
	assert_int_equal(took.from, 100);
	assert_int_equal(took.to, 900);
	assert_int_equal(took.threads.count, 2);
	took_done(&took);
	/* The same number in another namespace is another process. */
	took_init(&took, PID, NAMESPACE);
	inner.pid_namespace = NAMESPACE + 1;
	take(&took, CLEW_FINDING_IDENTITY, &inner);
	assert_int_equal(took.root, CLEW_NO_TASK);
	took_done(&took);
}

static void adds_up_time(void **state)
{
	struct took took = begin();
	const struct clew_run run = {.start = 100, .end = 130, .task = CHILD};
	const struct clew_run others = {.start = 130, .end = 190, .task = OTHER};
	const struct clew_ready ready = {.start = 130, .end = 190, .task = CHILD};
	const struct clew_sleep slept = {.start = 200,
					 .end = 250,
					 .switch_in = 260,
					 .task = CHILD,
					 .kind = CLEW_WAIT_FSYNC,
					 .from = OTHER,
					 .object = {.kind = CLEW_OBJECT_FILE, .number = 5}};
	const struct took_object *most;

	(void)state;
	take(&took, CLEW_FINDING_RUN, &run);
	take(&took, CLEW_FINDING_RUN, &others);
	take(&took, CLEW_FINDING_READY, &ready);
	take(&took, CLEW_FINDING_SLEEP, &slept);
	assert_int_equal(took.running, 30);
	assert_int_equal(took.ready, 60 + 10);
	assert_int_equal(took.waited[CLEW_WAIT_FSYNC], 50);
	assert_int_equal(*map_get(&took.others, OTHER, 0), 60);
	most = took_most(&took, CLEW_WAIT_FSYNC);
	assert_non_null(most);
	assert_int_equal(most->ns, 50);
	assert_int_equal(most->by, OTHER);
	assert_false(most->held);
	assert_null(took_most(&took, CLEW_WAIT_READ));
	took_done(&took);
}

static void counts_waits_once(void **state)
{
	struct took took = begin();
	const struct clew_holder holder = {
		.task = CHILD, .evidence = CLEW_EVIDENCE_EXACT, .from = 300, .to = 400};
	const struct clew_link request = {.kind = CLEW_LINK_REQUEST, .task = CHILD};
	struct clew_sleep sleep = {.start = 300,
				   .end = 400,
				   .switch_in = 400,
				   .task = ROOT,
				   .kind = CLEW_WAIT_CHILD,
				   .from = CHILD};

	(void)state;
	/* The child's time meanwhile counts, and not the wait for it. */
	take(&took, CLEW_FINDING_SLEEP, &sleep);
	assert_int_equal(took.waited[CLEW_WAIT_CHILD], 0);
	/* A lock that it held is named. */
	sleep.kind = CLEW_WAIT_FUTEX;
	sleep.holders = &holder;
	sleep.holder_count = 1;
	take(&took, CLEW_FINDING_SLEEP, &sleep);
	assert_int_equal(took.waited[CLEW_WAIT_FUTEX], 100);
	assert_true(took_most(&took, CLEW_WAIT_FUTEX)->held);
	assert_int_equal(took_most(&took, CLEW_WAIT_FUTEX)->by, CHILD);
	/* A request of the command is for the disk, whoever of it made that. */
	sleep.kind = CLEW_WAIT_READ;
	sleep.holder_count = 0;
	sleep.links = &request;
	sleep.link_count = 1;
	take(&took, CLEW_FINDING_SLEEP, &sleep);
	assert_int_equal(took.waited[CLEW_WAIT_READ], 100);
	assert_int_equal(took_most(&took, CLEW_WAIT_READ)->by, CLEW_NO_TASK);
	/* A wait without a seen end is left out. */
	sleep.kind = CLEW_WAIT_FUTEX;
	sleep.end = CLEW_TIME_OPEN;
	take(&took, CLEW_FINDING_SLEEP, &sleep);
	assert_int_equal(took.waited[CLEW_WAIT_FUTEX], 100);
	took_done(&took);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_the_command),
		cmocka_unit_test(adds_up_time),
		cmocka_unit_test(counts_waits_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
