/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * why through announced calls: what a wait that no record explains goes on with, what
 * stays as it is, that one of several is never taken for the one; and a what-if that
 * such a dependency must not hold up.
 */
#include "convert/convert.h"
#include "explain/why.h"
#include "relate/relate.h"
#include "synthetic.h"
#include <clew/what_if.h>
#include <stdio.h>

enum { CLIENT = 1, SERVER, OTHER, TASKS = 4 };

/* Tasks 1..4, each a process with a CPU of its own; 1 calls 2. Records come in order of time, so a
 * case puts its own in between. */
struct scene {
	struct synthetic s;
	struct clew_trace *t;
	struct clew_relations *relations;
	struct clew_why why;
};

static void begin(struct scene *scene)
{
	*scene = (struct scene){};
	for (unsigned task = 1; task <= TASKS; task++)
		identify(&scene->s, (struct identity){.task = task});
	for (unsigned task = 1; task <= TASKS; task++)
		SWITCH(&scene->s, .at = 1100 + task, .cpu = task, .prev = IDLE, .next = task);
}

static void naps(struct scene *scene, uint64_t at, uint32_t task)
{
	sleeps(&scene->s, at, task, task, wait_in(SYS_nanosleep));
}

static void rings(struct scene *scene, uint64_t at, uint32_t task)
{
	comes(&scene->s, at + 10, task, task, (struct woken){.at = at, .context = CLEW_WAKE_TIMER});
}

static void explain(struct scene *scene, uint32_t task, uint64_t from, uint64_t to)
{
	uint64_t at = from, unknown = 0;

	scene->t = synthetic_trace(&scene->s, 5000, 0);
	assert_sane(scene->t);
	assert_int_equal(clew_relations_new(scene->t, NULL, &scene->relations), 0);
	assert_int_equal(clew_why_explain(scene->t, scene->relations, task, from, to, &scene->why),
			 0);
	for (size_t i = 0; i < scene->why.segment_count; i++) {
		const struct clew_segment *segment = &scene->why.segments[i];

		assert_int_equal(segment->start, at);
		assert_true(segment->end > at);
		at = segment->end;
		unknown += segment->kind == CLEW_WAIT_UNKNOWN ? segment->end - segment->start : 0;
		assert_int_equal(segment->called != NULL, segment->via_type == CLEW_EDGE_CALL);
		if (segment->called) {
			assert_int_equal(segment->called->upper_count, 1);
			/* That a sleep was for a call, no record says. */
			assert_int_equal(segment->via_evidence, CLEW_EVIDENCE_OBSERVED);
			assert_int_not_equal(segment->called->evidence, CLEW_EVIDENCE_CANDIDATE);
		}
		if (segment->perhaps)
			assert_true(segment->perhaps->upper_count > 1);
	}
	assert_int_equal(at, to);
	assert_int_equal(unknown, scene->why.unknown_ns);
}

static void done(struct scene *scene)
{
	clew_why_done(&scene->why);
	clew_relations_free(scene->relations);
	clew_trace_free(scene->t);
	synthetic_done(&scene->s);
}

/*
 * Segment i as words: "KIND TASK END CHAIN", behind it "call" and the caller where a call led
 * there, "perhaps" where one may be meant, and in which call its task is.
 */
static void assert_segment(const struct scene *scene, size_t i, const char *expected)
{
	const struct clew_segment *segment = &scene->why.segments[i];
	char text[200];
	int size;

	if (i >= scene->why.segment_count)
		fail_msg("no segment %zu: %s", i, expected);
	size = snprintf(text, sizeof(text), "%s %u %llu", clew_wait_kind_name(segment->kind),
			segment->task, (unsigned long long)segment->end);
	for (uint32_t k = 0; k < segment->chain_length; k++)
		size += snprintf(text + size, sizeof(text) - (size_t)size, " %u",
				 segment->chain[k]);
	if (segment->called)
		size += snprintf(text + size, sizeof(text) - (size_t)size, " call of %u %s%s",
				 clew_relations_upper(scene->relations, segment->called, 0)->task,
				 clew_evidence_name(segment->called->evidence),
				 segment->called->bridged ? " bridged" : "");
	if (segment->perhaps)
		size += snprintf(text + size, sizeof(text) - (size_t)size, " perhaps %u",
				 clew_relations_lower(scene->relations, segment->perhaps)->task);
	if (segment->activity)
		snprintf(text + size, sizeof(text) - (size_t)size, " in %s",
			 segment->activity->operation);
	assert_string_equal(text, expected);
}

static void assert_segments(const struct scene *scene, const char *const *expected, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_segment(scene, i, expected[i]);
	assert_int_equal(scene->why.segment_count, count);
}

#define SEGMENTS(scene, ...)                                                                       \
	assert_segments(scene, (const char *const[]){__VA_ARGS__},                                 \
			sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Nobody wakes anybody: both look at memory now and then. */
static void announced(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	begins(&scene.s, 1900, CLIENT, 1, "app load kv/key=1 calls=kv");
	naps(&scene, 2000, CLIENT);
	begins(&scene.s, 2100, SERVER, 1, "kv get key=1");
	naps(&scene, 2300, SERVER);
	rings(&scene, 2400, SERVER);
	ends(&scene.s, 2600, SERVER, 1);
	rings(&scene, 3000, CLIENT);
	ends(&scene.s, 3100, CLIENT, 1);
	naps(&scene, 3200, CLIENT);
	rings(&scene, 3400, CLIENT);
	explain(&scene, CLIENT, 1950, 3420);
	SEGMENTS(&scene, "running 1 2000 in load", "sleep 1 2100 1 in load",
		 "running 2 2300 1 call of 1 exact in get",
		 "sleep 2 2400 1 2 call of 1 exact in get",
		 "runqueue 2 2410 1 call of 1 exact in get",
		 "running 2 2600 1 call of 1 exact in get", "sleep 1 3000 1 in load",
		 "runqueue 1 3010 in load", "running 1 3100 in load", "running 1 3200",
		 "sleep 1 3400 1", "runqueue 1 3410", "running 1 3420");
	done(&scene);
}

/* One of two callers: neither has waited for it for certain. */
static void candidates(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	begins(&scene.s, 1900, CLIENT, 1, "app load kv/key=1 calls=kv");
	begins(&scene.s, 1910, OTHER, 1, "app load kv/key=1 calls=kv");
	naps(&scene, 2000, CLIENT);
	begins(&scene.s, 2100, SERVER, 1, "kv get key=1");
	ends(&scene.s, 2600, SERVER, 1);
	rings(&scene, 3000, CLIENT);
	explain(&scene, CLIENT, 1950, 3020);
	SEGMENTS(&scene, "running 1 2000 in load", "sleep 1 2100 1 in load",
		 "sleep 1 2600 1 perhaps 2 in load", "sleep 1 3000 1 in load",
		 "runqueue 1 3010 in load", "running 1 3020 in load");
	assert_int_equal(scene.why.segments[2].via_type, -1);
	done(&scene);
}

/* 3 passes on what 1 asks of it, and announces nothing: its waits for 2 are 1's call of it. */
static void bridged(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	begins(&scene.s, 1900, CLIENT, 1, "app load kv/key=1");
	sleeps(&scene.s, 2000, CLIENT, CLIENT, wait_on(SYS_read, CLEW_OBJECT_PIPE, 7));
	naps(&scene, 2050, OTHER);
	begins(&scene.s, 2100, SERVER, 1, "kv get key=1");
	ends(&scene.s, 2600, SERVER, 1);
	rings(&scene, 2700, OTHER);
	comes(&scene.s, 2810, CLIENT, CLIENT,
	      (struct woken){
		      .at = 2800, .by = OTHER, .object_kind = CLEW_OBJECT_PIPE, .object = 7});
	ends(&scene.s, 2900, CLIENT, 1);
	explain(&scene, CLIENT, 2000, 2820);
	SEGMENTS(&scene, "running 3 2050 1", "sleep 3 2100 1 3",
		 "running 2 2600 1 3 call of 1 observed bridged in get", "sleep 3 2700 1 3",
		 "runqueue 3 2710 1", "running 3 2800 1", "runqueue 1 2810 in load",
		 "running 1 2820 in load");
	done(&scene);
}

/* 3 is a layer of its own, and calls nobody: 1's other call is nothing to its waits. */
static void recorded_layer(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	begins(&scene.s, 1900, CLIENT, 1, "app load kv/key=1");
	sleeps(&scene.s, 2000, CLIENT, CLIENT, wait_on(SYS_read, CLEW_OBJECT_PIPE, 7));
	begins(&scene.s, 2020, OTHER, 1, "cache look x=1");
	naps(&scene, 2050, OTHER);
	begins(&scene.s, 2100, SERVER, 1, "kv get key=1");
	ends(&scene.s, 2600, SERVER, 1);
	rings(&scene, 2700, OTHER);
	ends(&scene.s, 2750, OTHER, 1);
	comes(&scene.s, 2810, CLIENT, CLIENT,
	      (struct woken){
		      .at = 2800, .by = OTHER, .object_kind = CLEW_OBJECT_PIPE, .object = 7});
	explain(&scene, CLIENT, 2000, 2820);
	SEGMENTS(&scene, "running 3 2020 1", "running 3 2050 1 in look", "sleep 3 2700 1 3 in look",
		 "runqueue 3 2710 1 in look", "running 3 2750 1 in look", "running 3 2800 1",
		 "runqueue 1 2810 in load", "running 1 2820 in load");
	done(&scene);
}

/* For dependencies of a type: so many, of this evidence. */
static void assert_evidence(const struct clew_model *model, uint32_t type, unsigned count,
			    const char *expected)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < model->dependency_count; i++)
		if (model->dependencies[i].type == type) {
			found++;
			assert_string_equal(clew_model_attribute(model,
								 model->dependencies[i].attributes,
								 "evidence"),
					    expected);
		}
	assert_int_equal(found, count);
}

/* 3 holds a lock that 1 waits for: what 3 slept for is not what 1 asked of 2. */
static void holder(void **state)
{
	struct clew_model *model;
	struct scene scene;

	(void)state;
	begin(&scene);
	begins(&scene.s, 1900, CLIENT, 1, "app load kv/key=1 calls=kv");
	begins(&scene.s, 1950, SERVER, 1, "kv get key=1");
	sleeps(&scene.s, 2000, CLIENT, CLIENT,
	       shared(wait_futex(CLEW_FUTEX_CLASS_MUTEX, 0x1000, 100 + OTHER)));
	naps(&scene, 2100, OTHER);
	ends(&scene.s, 2350, SERVER, 1);
	rings(&scene, 2400, OTHER);
	comes(&scene.s, 2510, CLIENT, CLIENT,
	      (struct woken){.at = 2500, .by = OTHER, .operation = CLEW_FUTEX_WAKE_ONE});
	ends(&scene.s, 2900, CLIENT, 1);
	explain(&scene, CLIENT, 2000, 2520);
	SEGMENTS(&scene, "running 3 2100 1", "sleep 3 2400 1 3", "runqueue 3 2410 1",
		 "running 3 2500 1", "runqueue 1 2510 in load", "running 1 2520 in load");
	assert_int_equal(clew_model_from_trace(scene.t, &model), 0);
	assert_evidence(model, CLEW_DEPENDENCY_CALL, 1, "exact");
	assert_evidence(model, CLEW_DEPENDENCY_RETURN, 0, NULL);
	clew_model_free(model);
	done(&scene);
}

/* 3 told 1 before 2's call was over: that is not what 3 waited for, but 4's is. */
static void over_too_late(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	begins(&scene.s, 1900, CLIENT, 1, "app load kv/key=1");
	sleeps(&scene.s, 2000, CLIENT, CLIENT, wait_on(SYS_read, CLEW_OBJECT_PIPE, 7));
	naps(&scene, 2050, OTHER);
	begins(&scene.s, 2100, SERVER, 1, "kv get key=1");
	begins(&scene.s, 2200, 4, 1, "kv get key=1");
	ends(&scene.s, 2600, 4, 1);
	rings(&scene, 2700, OTHER);
	comes(&scene.s, 2810, CLIENT, CLIENT,
	      (struct woken){
		      .at = 2800, .by = OTHER, .object_kind = CLEW_OBJECT_PIPE, .object = 7});
	ends(&scene.s, 2850, SERVER, 1);
	ends(&scene.s, 2900, CLIENT, 1);
	explain(&scene, CLIENT, 2000, 2820);
	SEGMENTS(&scene, "running 3 2050 1", "sleep 3 2200 1 3",
		 "running 4 2600 1 3 call of 1 observed bridged in get", "sleep 3 2700 1 3",
		 "runqueue 3 2710 1", "running 3 2800 1", "runqueue 1 2810 in load",
		 "running 1 2820 in load");
	done(&scene);
}

/* Nothing is known of lost calls, and calls from outside belong to nobody here. */
static void unfollowed(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	begins(&scene.s, 1900, CLIENT, 1, "app load kv/key=1 calls=kv");
	sleeps(&scene.s, 2000, CLIENT, CLIENT, wait_on(SYS_read, CLEW_OBJECT_PIPE, 7));
	begins(&scene.s, 2100, SERVER, 1, "kv get key=1");
	gap(&scene.s, CLIENT, 2050, 2300);
	ends(&scene.s, 2600, SERVER, 1);
	comes(&scene.s, 2810, CLIENT, CLIENT,
	      (struct woken){.at = 2800, .context = CLEW_WAKE_TIMER});
	sleeps(&scene.s, 2900, CLIENT, CLIENT, wait_on(SYS_recvfrom, CLEW_OBJECT_SOCKET, 8));
	begins(&scene.s, 2950, SERVER, 1, "kv get key=1");
	comes(&scene.s, 3310, CLIENT, CLIENT,
	      interrupted(3300, CLEW_WAKE_SOFTIRQ,
			  (struct clew_cause){.kind = CLEW_CAUSE_IRQ, .object = 24}));
	ends(&scene.s, 3400, SERVER, 1);
	ends(&scene.s, 3500, CLIENT, 1);
	explain(&scene, CLIENT, 2000, 3320);
	SEGMENTS(&scene, "unknown 1 2800 1 in load", "runqueue 1 2810 in load",
		 "running 1 2900 in load", "socket 1 3300 1 in load", "runqueue 1 3310 in load",
		 "running 1 3320 in load");
	done(&scene);
}

/* Two callers' calls take turns, and a long one lies behind more short ones than are looked at. */
static void order(void **state)
{
	struct scene scene;
	uint64_t at = 2100;

	(void)state;
	begin(&scene);
	begins(&scene.s, 1900, CLIENT, 1, "app load kv/key=1 calls=kv");
	begins(&scene.s, 1910, OTHER, 1, "app load kv/key=2 calls=kv");
	naps(&scene, 2000, OTHER);
	begins(&scene.s, 2050, 4, 1, "kv stream key=2");
	for (unsigned i = 0; i < 700; i++, at += 3) {
		begins(&scene.s, at, SERVER, i + 2, i % 7 == 6 ? "kv get key=1" : "kv get key=2");
		ends(&scene.s, at + 1, SERVER, i + 2);
	}
	ends(&scene.s, 4300, 4, 1);
	rings(&scene, 4400, OTHER);
	ends(&scene.s, 4500, OTHER, 1);
	ends(&scene.s, 4510, CLIENT, 1);
	explain(&scene, OTHER, 4210, 4420);
	SEGMENTS(&scene, "running 4 4300 3 call of 3 exact in stream", "sleep 3 4400 3 in load",
		 "runqueue 3 4410 in load", "running 3 4420 in load");
	done(&scene);
}

/* A wait that a wake explains needs no call; one that the capture's end cut off does. */
static void wakes_first(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	begins(&scene.s, 1900, CLIENT, 1, "app load kv/key=1 calls=kv");
	sleeps(&scene.s, 2000, CLIENT, CLIENT, wait_on(SYS_read, CLEW_OBJECT_PIPE, 7));
	begins(&scene.s, 2100, SERVER, 1, "kv get key=1");
	ends(&scene.s, 2600, SERVER, 1);
	comes(&scene.s, 2810, CLIENT, CLIENT,
	      (struct woken){
		      .at = 2800, .by = SERVER, .object_kind = CLEW_OBJECT_PIPE, .object = 7});
	ends(&scene.s, 2900, CLIENT, 1);
	begins(&scene.s, 3000, CLIENT, 1, "app load kv/key=2 calls=kv");
	sleeps(&scene.s, 3100, CLIENT, CLIENT, wait_on(SYS_read, CLEW_OBJECT_PIPE, 7));
	begins(&scene.s, 3200, SERVER, 1, "kv get key=2");
	stop_asleep(&scene.s, 5000, CLIENT, wait_on(SYS_read, CLEW_OBJECT_PIPE, 7),
		    (struct woken){0});
	explain(&scene, CLIENT, 2000, 5000);
	SEGMENTS(&scene, "running 2 2100 1", "running 2 2600 1 in get", "running 2 2800 1",
		 "runqueue 1 2810 in load", "running 1 2900 in load", "running 1 3000",
		 "running 1 3100 in load", "unknown 1 3200 1 in load",
		 "running 2 5000 1 call of 1 exact in get");
	assert_int_equal(scene.why.unknown_ns, 100);
	done(&scene);
}

/* The wait is for the call of two that ends last; asynchronous ones take nobody's time; the
 * disk is not a call. */
static void which(void **state)
{
	struct scene scene;

	(void)state;
	begin(&scene);
	begins(&scene.s, 1900, CLIENT, 1, "app load kv/key=1 calls=kv");
	naps(&scene, 2000, CLIENT);
	begins(&scene.s, 2100, SERVER, 1, "kv get key=1");
	begins(&scene.s, 2200, OTHER, 1, "kv get key=1 shard=2");
	begins(&scene.s, 2250, 4, 1, "kv get key=1 shard=3 async");
	ends(&scene.s, 2400, SERVER, 1);
	ends(&scene.s, 2600, OTHER, 1);
	ends(&scene.s, 2700, 4, 1);
	rings(&scene, 2800, CLIENT);
	sleeps(&scene.s, 2900, CLIENT, CLIENT, wait_on(SYS_fsync, CLEW_OBJECT_FILE, 8));
	begins(&scene.s, 2950, SERVER, 1, "kv get key=1");
	comes(&scene.s, 3010, CLIENT, CLIENT, (struct woken){.at = 3000, .context = CLEW_WAKE_IRQ});
	ends(&scene.s, 3100, CLIENT, 1);
	begins(&scene.s, 3150, CLIENT, 2, "app load kv/key=1 calls=kv async");
	naps(&scene, 3200, CLIENT);
	begins(&scene.s, 3250, SERVER, 1, "kv get key=1");
	rings(&scene, 3400, CLIENT);
	explain(&scene, CLIENT, 2000, 3420);
	SEGMENTS(&scene, "sleep 1 2100 1 in load", "running 2 2200 1 call of 1 exact in get",
		 "running 3 2600 1 call of 1 exact in get", "sleep 1 2800 1 in load",
		 "runqueue 1 2810 in load", "running 1 2900 in load", "fsync 1 3000 1 in load",
		 "runqueue 1 3010 in load", "running 1 3100 in load", "running 1 3200",
		 "sleep 1 3400 1", "runqueue 1 3410", "running 1 3420");
	done(&scene);
}

/* When what was called begins, were the trace run again with a program. */
static clew_time begin_with(const struct clew_model *model, const char *text)
{
	struct clew_query_error error = {0};
	struct clew_program *program;
	struct clew_model *after;
	struct clew_what_if result;
	clew_time at = -1;

	assert_int_equal(clew_program_compile(text, strlen(text), false, &program, &error), 0);
	if (clew_what_if(model, program, NULL, &after, &result, &error) < 0)
		fail_msg("%s: %s", text, error.message);
	assert_int_equal(result.backward_edges, 0);
	for (uint32_t i = 0; i < after->dependency_count; i++)
		if (after->dependencies[i].type == CLEW_DEPENDENCY_CALL)
			at = after->es[after->destinations[after->dependencies[i]
								   .destinations.first]]
				     .start;
	clew_model_free(after);
	clew_program_free(program);
	return at;
}

/* A called activity begins when its thread comes to it, but not before its caller has called. The
 * last two programs have it run in order of time. */
static void run_again(void **state)
{
	struct clew_model *model;
	struct scene scene;

	(void)state;
	begin(&scene);
	begins(&scene.s, 1900, CLIENT, 1, "app load kv/key=1 calls=kv");
	naps(&scene, 2001, CLIENT);
	begins(&scene.s, 2102, SERVER, 1, "kv get key=1");
	ends(&scene.s, 2602, SERVER, 1);
	rings(&scene, 3000, CLIENT);
	explain(&scene, CLIENT, 2000, 3000);
	assert_int_equal(clew_model_from_trace(scene.t, &model), 0);
	assert_evidence(model, CLEW_DEPENDENCY_CALL, 1, "exact");
	assert_evidence(model, CLEW_DEPENDENCY_RETURN, 1, "observed");
	assert_int_equal(begin_with(model, ""), 2102);
	assert_int_equal(begin_with(model, "scale spans(task-102) by .95;"), 2052);
	assert_int_equal(begin_with(model, "scale spans(task-102) by .5;"), 2001);
	assert_int_equal(begin_with(model, "scale spans(task-101) by 2;"), 2901);
	assert_int_equal(
		begin_with(model,
			   "scale spans(task-102) by .95; apply concurrency(1) to spans(nobody);"),
		2052);
	assert_int_equal(begin_with(model, "scale spans(task-102) by .5; scale dependencies(call) "
					   "from spans(**) to spans(**) by 1;"),
			 2102);
	clew_model_free(model);
	done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(announced),   cmocka_unit_test(candidates),
		cmocka_unit_test(bridged),     cmocka_unit_test(recorded_layer),
		cmocka_unit_test(holder),      cmocka_unit_test(over_too_late),
		cmocka_unit_test(unfollowed),  cmocka_unit_test(order),
		cmocka_unit_test(wakes_first), cmocka_unit_test(which),
		cmocka_unit_test(run_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
