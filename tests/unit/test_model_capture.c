/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A capture's trace as a causal trace: what is where in it, and that the trace that
 * is made of it again, with or without a detour through notation, is the same in
 * everything an answer could show.
 */
#include "convert/convert.h"
#include "explain/depend.h"
#include "explain/why.h"
#include "forest.h"
#include "relate/relate.h"
#include "same_trace.h"
#include "synthetic.h"
#include <clew/model_make.h>
#include <clew/notation.h>
#include <errno.h>
#include <stdio.h>

/* Records that contradict each other may say that two woke each other. */
static bool is_wild;

static struct clew_model *model_of(const struct clew_trace *trace)
{
	struct clew_problem *problems;
	struct clew_model *model;
	size_t count;

	assert_int_equal(clew_model_from_trace(trace, &model), 0);
	assert_int_equal(clew_model_check(model, true, &problems, &count), 0);
	for (size_t i = 0; i < count; i++)
		if (!problems[i].warning && !(is_wild && !strcmp(problems[i].kind, "cycle")))
			fail_msg("%s: %s", problems[i].kind, problems[i].message);
	free(problems);
	return model;
}

static struct clew_model *through_notation(const struct clew_model *model)
{
	struct clew_model *again;
	char *text = NULL, message[256];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	if (clew_notation_write(model, out, message, sizeof(message)) < 0)
		fail_msg("%s", message);
	assert_int_equal(fclose(out), 0);
	if (clew_notation_read(text, size, NULL, &again, message, sizeof(message)) < 0)
		fail_msg("%s", message);
	free(text);
	return again;
}

static struct clew_trace *trace_of(const struct clew_model *model)
{
	char message[256] = "";
	struct clew_trace *trace;

	if (clew_trace_from_model(model, NULL, &trace, message, sizeof(message)) < 0)
		fail_msg("%s", message);
	return trace;
}

static void goes_round(const struct clew_trace *trace)
{
	struct clew_model *model = model_of(trace), *again = through_notation(model), *third;
	struct clew_trace *back = trace_of(model), *twice = trace_of(again);

	same(trace, back);
	same(trace, twice);
	third = model_of(twice);
	assert_int_equal(third->es_count, model->es_count);
	assert_int_equal(third->dependency_count, model->dependency_count);
	clew_trace_free(back);
	clew_trace_free(twice);
	clew_model_free(model);
	clew_model_free(again);
	clew_model_free(third);
}

static uint32_t span_named(const struct clew_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->span_count; i++)
		if (!strcmp(clew_model_string(model, model->spans[i].name), name))
			return i;
	fail_msg("no span %s", name);
	return CLEW_NONE;
}

static const struct clew_es *es_of(const struct clew_model *model, const char *span,
				   uint32_t number)
{
	const struct clew_range *range = &model->spans[span_named(model, span)].elementary;

	assert_true(number < range->count);
	return &model->es[range->first + number];
}

static void assert_es(const struct clew_model *model, const char *span, uint32_t number,
		      clew_time start, clew_time end)
{
	const struct clew_es *es = es_of(model, span, number);

	assert_int_equal(es->start, start);
	assert_int_equal(es->end, end);
}

static void assert_wait(const struct clew_model *model, const char *span, uint32_t number,
			unsigned kind, const char *key, const char *value)
{
	uint32_t wait = es_of(model, span, number)->wait;

	assert_true(wait != CLEW_NONE);
	assert_int_equal(model->waits[wait].kind, kind);
	if (!key)
		return;
	if (!value)
		assert_null(clew_model_attribute(model, model->waits[wait].attributes, key));
	else
		assert_string_equal(clew_model_attribute(model, model->waits[wait].attributes, key),
				    value);
}

/* ---- what is where ---- */

static void test_wake(void **state)
{
	struct synthetic s = {0};
	struct clew_wait wait = wait_on(SYS_read, CLEW_OBJECT_PIPE, 7),
			 timer = wait_in(SYS_nanosleep);
	const struct clew_dependency *dependency;
	struct clew_model *model;
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	/* Task 1 waits from 2000, 2 wakes it at 3000, it comes at 3100; 2 is preempted for a while;
	 * 1 sleeps 4000..4500. */
	SWITCH(&s, .at = 1500, .cpu = 0, .prev = IDLE, .next = 1);
	SWITCH(&s, .at = 1500, .cpu = 1, .prev = IDLE, .next = 2);
	sleeps(&s, 2000, 0, 1, wait);
	comes(&s, 3100, 0, 1, (struct woken){.at = 3000, .by = 2});
	SWITCH(&s, .at = 3200, .cpu = 1, .prev = 2, .next = IDLE, .flags = CLEW_SWITCH_PREEMPT);
	SWITCH(&s, .at = 3300, .cpu = 1, .prev = IDLE, .next = 2);
	sleeps(&s, 4000, 0, 1, timer);
	comes(&s, 4520, 0, 1, (struct woken){.at = 4500, .context = CLEW_WAKE_TIMER});
	t = synthetic_trace(&s, 5000, 0);
	model = model_of(t);

	assert_es(model, "task-101", 1, 1500, 2000);
	assert_es(model, "task-101", 2, 3100, 4000);
	assert_wait(model, "task-101", 2, CLEW_WAIT_PIPE, "object", "pipe:7");
	assert_wait(model, "task-101", 2, CLEW_WAIT_PIPE, "call", "read");
	/* Where the dependency tells when the wait ended, nothing says it again. */
	assert_wait(model, "task-101", 2, CLEW_WAIT_PIPE, "runqueue", NULL);
	assert_wait(model, "task-101", 3, CLEW_WAIT_SLEEP, "runqueue", "20");
	assert_wait(model, "task-101", 3, CLEW_WAIT_SLEEP, "context", "timer");
	assert_es(model, "task-102", 1, 1500, 3000);
	assert_es(model, "task-102", 2, 3000, 3200);
	assert_es(model, "task-102", 3, 3300, 5000);
	assert_wait(model, "task-102", 3, CLEW_SEGMENT_RUNQUEUE, NULL, NULL);

	assert_int_equal(model->dependency_count, 1);
	dependency = &model->dependencies[0];
	assert_string_equal(clew_model_string(model, model->types[dependency->type]), "pipe");
	assert_int_equal(dependency->mode, CLEW_MODE_SINGLE);
	assert_ptr_equal(&model->es[model->origins[dependency->origins.first]],
			 es_of(model, "task-102", 1));
	assert_ptr_equal(&model->es[model->destinations[dependency->destinations.first]],
			 es_of(model, "task-101", 2));
	assert_string_equal(clew_model_attribute(model, dependency->attributes, "evidence"),
			    "exact");
	assert_string_equal(clew_model_attribute(model, dependency->attributes, "context"), "task");
	clew_model_free(model);
	goes_round(t);
	clew_trace_free(t);
	synthetic_done(&s);
}

static const char *path_of(struct clew_model *model, const char *span, uint32_t hierarchy,
			   char path[static 128])
{
	char *text = clew_model_category_path(
		model, clew_model_category_of(model, span_named(model, span), hierarchy));

	assert_non_null(text);
	snprintf(path, 128, "%s", text);
	free(text);
	return path;
}

static void test_places(void **state)
{
	struct synthetic s = {0};
	struct clew_model *model;
	struct clew_range marks;
	struct clew_trace *t;
	char path[128];

	(void)state;
	/* 1 spawns process 3, which has a thread 4; runs of 1 and 3 follow on CPU 0 at once. */
	identify(&s, (struct identity){.task = 1, .comm = "sh"});
	identify(&s,
		 (struct identity){
			 .task = 3, .at = 1200, .start_time = 1200, .parent = 1, .comm = "make"});
	life(&s, CLEW_KIND_FORK, 1200, 1, 3);
	SWITCH(&s, .at = 1300, .cpu = 0, .prev = 1, .next = 3,
	       .flags = CLEW_SWITCH_NEXT_NEW | CLEW_SWITCH_PREEMPT, .woken = {.at = 1210, .by = 1});
	identify(&s, (struct identity){.task = 4,
				       .process = 3,
				       .at = 1600,
				       .start_time = 1600,
				       .parent = 3,
				       .comm = "make"});
	life(&s, CLEW_KIND_FORK, 1600, 3, 4);
	SWITCH(&s, .at = 1700, .cpu = 0, .prev = 3, .next = 1, .flags = CLEW_SWITCH_PREEMPT);
	t = synthetic_trace(&s, 2000, 0);
	model = model_of(t);
	assert_string_equal(path_of(model, "make-104", 0, path), "sh-101/make-103");
	assert_string_equal(path_of(model, "sh-101", 0, path), "sh-101");
	assert_string_equal(path_of(model, "cpu0", 1, path), "machine");
	assert_int_equal(clew_model_category_of(model, span_named(model, "cpu0"), 0), CLEW_NONE);
	assert_int_equal(clew_model_category_of(model, span_named(model, "sh-101"), 1), CLEW_NONE);
	/* Each run is an ES, named by a mark. */
	assert_es(model, "cpu0", 0, 1000, 1300);
	assert_es(model, "cpu0", 1, 1300, 1700);
	assert_es(model, "cpu0", 2, 1700, 2000);
	marks = clew_model_marks(model,
				 model->spans[span_named(model, "cpu0")].elementary.first + 1);
	assert_int_equal(marks.count, 1);
	assert_string_equal(clew_model_string(model, model->marks[marks.first].label), "make-103");
	/* From the parent's act to the child's start. */
	assert_string_equal(clew_model_string(model, model->types[model->dependencies[0].type]),
			    "fork");
	assert_int_equal(model->es[model->origins[0]].end, 1200);
	assert_int_equal(model->es[model->destinations[0]].start,
			 model->spans[span_named(model, "make-103")].start);
	clew_model_free(model);
	goes_round(t);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void test_broadcast(void **state)
{
	struct clew_wait wait = wait_futex(CLEW_FUTEX_CLASS_NONE, 0x9000, 0);
	const struct clew_dependency *dependency;
	struct synthetic s = {0};
	struct clew_model *model;
	struct clew_trace *t;

	(void)state;
	threads(&s, 4);
	SWITCH(&s, .at = 1100, .cpu = 3, .prev = IDLE, .next = 4);
	for (unsigned i = 1; i <= 3; i++) {
		SWITCH(&s, .at = 1100 + i, .cpu = i - 1, .prev = IDLE, .next = i);
		sleeps(&s, 1500 + i, i - 1, i, wait);
	}
	for (unsigned i = 1; i <= 3; i++)
		comes(&s, 2100 + i, i - 1, i,
		      (struct woken){.at = 2000 + i, .by = 4, .operation = CLEW_FUTEX_WAKE_MANY});
	t = synthetic_trace(&s, 3000, 0);
	model = model_of(t);
	assert_int_equal(model->dependency_count, 1);
	dependency = &model->dependencies[0];
	assert_int_equal(dependency->origins.count, 1);
	assert_int_equal(dependency->destinations.count, 3);
	assert_int_equal(model->es[model->origins[0]].end, 2001);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(model->es[model->destinations[i]].start, 2101 + i);
	clew_model_free(model);
	goes_round(t);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* The waker's run is not known: the origin has an ES of its own in the unknown stretch. The woken
 * one's end is before its start. */
static void test_lost(void **state)
{
	struct synthetic s = {0};
	struct clew_wait wait = wait_on(SYS_read, CLEW_OBJECT_PIPE, 7);
	struct clew_model *model;
	struct clew_trace *t;

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1100, .cpu = 0, .prev = IDLE, .next = 1);
	gap(&s, 1, 1200, 1900);
	sleeps(&s, 2000, 0, 1, wait);
	comes(&s, 3100, 0, 1, (struct woken){.at = 1990, .by = 2});
	SWITCH(&s, .at = 3500, .cpu = 1, .prev = 2, .next = IDLE, .flags = CLEW_SWITCH_PREEMPT);
	t = synthetic_trace(&s, 4000, 0);
	model = model_of(t);
	assert_int_equal(model->dependency_count, 1);
	assert_int_equal(model->es[model->origins[0]].end, 1990);
	assert_int_equal(model->es[model->destinations[0]].start, 3100);
	clew_model_free(model);
	goes_round(t);
	clew_trace_free(t);
	synthetic_done(&s);
}

static void test_identities(void **state)
{
	struct synthetic s = {0};
	struct clew_wait wait = wait_on(SYS_fsync, CLEW_OBJECT_FILE, 1234);
	char bytes[sizeof(struct clew_file_record) + 64] = {0};
	struct clew_file_record *file = (struct clew_file_record *)bytes;
	const char path[] = "/var/a b,c\\d=\"#\n", elsewhere[] = "/mnt/var/a b,c\\d=\"#\n",
		   renamed[] = "/mnt/var/other";
	struct clew_trace *t, *back;
	struct clew_model *model;
	const char *found;

	(void)state;
	identify(&s,
		 (struct identity){.task = 1, .comm = "a b,c\\#/@", .command_line = "a \"b\" c"});
	identify(&s,
		 (struct identity){
			 .task = 2, .tid = 101, .at = 2500, .start_time = 2500, .comm = "again"});
	file->header = (struct clew_header){
		.time = START, .kind = CLEW_KIND_FILE, .flags = CLEW_FILE_DELETED};
	file->inode = 1234;
	file->generation = 5;
	file->device = 8 << 20 | 1;
	file->mount_namespace = 77;
	file->path_size = sizeof(path);
	memcpy(file + 1, path, sizeof(path));
	synthetic_put(&s, file, sizeof(*file) + sizeof(path));
	wait.device = file->device;
	SWITCH(&s, .at = 1100, .cpu = 0, .prev = IDLE, .next = 1);
	rename_task(&s, 1150, 1, "two, \\names");
	sleeps(&s, 1200, 0, 1, wait);
	comes(&s, 1300, 0, 1, (struct woken){.at = 1290, .context = CLEW_WAKE_IRQ});
	SWITCH(&s, .at = 1400, .cpu = 0, .prev = 1, .next = IDLE, .flags = CLEW_SWITCH_DEAD);
	SWITCH(&s, .at = 2600, .cpu = 0, .prev = IDLE, .next = 2);
	t = synthetic_trace(&s, 3000, 0);
	goes_round(t);
	model = model_of(t);
	span_named(model, "two, \\names-101");
	span_named(model, "again-101#2");
	back = trace_of(model);
	assert_non_null(clew_trace_file(back, 8 << 20 | 1, 1234, &found));
	assert_string_equal(found, path);
	assert_int_equal(clew_trace_file(back, 8 << 20 | 1, 1234, NULL)->header.flags,
			 CLEW_FILE_DELETED);
	assert_int_equal(clew_trace_file(back, 8 << 20 | 1, 1234, NULL)->mount_namespace, 77);
	clew_trace_free(back);
	clew_model_free(model);
	clew_trace_free(t);
	/* A name that is known by the inode alone is not the opener's view, but shows a
	 * deletion; a new name stays as it is. */
	file->header.flags = 0;
	file->mount_namespace = 0;
	file->path_size = sizeof(elsewhere);
	memcpy(file + 1, elsewhere, sizeof(elsewhere));
	synthetic_put(&s, file, sizeof(*file) + sizeof(elsewhere));
	t = synthetic_trace(&s, 3000, 0);
	assert_int_equal(clew_trace_file(t, 8 << 20 | 1, 1234, &found)->header.flags, 0);
	assert_int_equal(clew_trace_file(t, 8 << 20 | 1, 1234, NULL)->mount_namespace, 77);
	assert_string_equal(found, path);
	clew_trace_free(t);
	file->path_size = sizeof(renamed);
	memcpy(file + 1, renamed, sizeof(renamed));
	file->header.time = 1001;
	synthetic_put(&s, file, sizeof(*file) + sizeof(renamed));
	t = synthetic_trace(&s, 3000, 0);
	assert_int_equal(clew_trace_file(t, 8 << 20 | 1, 1234, &found)->mount_namespace, 0);
	assert_string_equal(found, renamed);
	/* It is the same file before, which had its old name then. */
	clew_trace_file_at(t, 8 << 20 | 1, 1234, START, &found);
	assert_string_equal(found, renamed);
	clew_trace_file_then(t, 8 << 20 | 1, 1234, 1001, &found);
	assert_string_equal(found, renamed);
	clew_trace_file_then(t, 8 << 20 | 1, 1234, START, &found);
	assert_string_equal(found, path);
	assert_int_equal(clew_trace_file_key(t, 8 << 20 | 1, 1234, START).number,
			 clew_trace_file_key(t, 8 << 20 | 1, 1234, 1001).number);
	goes_round(t);
	clew_trace_free(t);
	/* Many files have its number one after the other, and the last one from 2000 on. */
	for (unsigned i = 1; i < 300; i++) {
		char many[32];

		file->header.time = 1000 + i * 2;
		file->generation++;
		file->path_size = (uint16_t)(snprintf(many, sizeof(many), "/var/n%u", i) + 1);
		memcpy(file + 1, many, file->path_size);
		synthetic_put(&s, file, sizeof(*file) + file->path_size);
	}
	t = synthetic_trace(&s, 3000, 0);
	for (unsigned i = 1; i < 300; i++) {
		char many[32];

		snprintf(many, sizeof(many), "/var/n%u", i);
		for (unsigned k = 0; k < 2; k++) {
			clew_trace_file_at(t, 8 << 20 | 1, 1234, 1000 + i * 2 + k, &found);
			assert_string_equal(found, many);
		}
	}
	clew_trace_file_at(t, 8 << 20 | 1, 1234, 1001, &found);
	assert_string_equal(found, renamed);
	goes_round(t);
	clew_trace_free(t);
	file->header.time = 2000;
	file->generation++;
	file->path_size = sizeof("/var/next");
	memcpy(file + 1, "/var/next", sizeof("/var/next"));
	synthetic_put(&s, file, sizeof(*file) + sizeof("/var/next"));
	t = synthetic_trace(&s, 3000, 0);
	goes_round(t);
	model = model_of(t);
	back = trace_of(model);
	for (unsigned i = 0; i < 2; i++) {
		const struct clew_trace *either = i ? back : t;

		clew_trace_file_at(either, 8 << 20 | 1, 1234, 1999, &found);
		assert_string_equal(found, "/var/n299");
		clew_trace_file_at(either, 8 << 20 | 1, 1234, 2000, &found);
		assert_string_equal(found, "/var/next");
		clew_trace_file(either, 8 << 20 | 1, 1234, &found);
		assert_string_equal(found, "/var/next");
	}
	clew_trace_free(back);
	clew_model_free(model);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* ---- written by hand ---- */

static void test_handwritten(void **state)
{
	static const char text[] =
		"span a [0,100]\nspan b-7 [0,100]\nspan a/call [40,50]\n"
		"wait a 60..80 futex object=futex:0x7f00 holder=b-7\ndep unlock b-7@75 -> a@80\n"
		"wait b-7 80..90 sleep\nwait b-7 20..30 fsync object=\"file:/x y\"\ndep send "
		"b-7@95 -> a@97\n";
	char message[256] = "";
	const struct clew_sleep *sleep;
	struct clew_model *model;
	struct clew_trace *t;
	const char *path;

	(void)state;
	assert_int_equal(
		clew_notation_read(text, sizeof(text) - 1, NULL, &model, message, sizeof(message)),
		0);
	t = trace_of(model);
	assert_sane(t);
	assert_int_equal(clew_trace_task_count(t), 2);
	assert_int_equal(clew_trace_task_at(t, 0)->tid, 1);
	assert_int_equal(clew_trace_task_at(t, 1)->tid, 7);
	assert_string_equal(clew_trace_task_at(t, 0)->comm, "a");
	assert_string_equal(clew_trace_task_at(t, 1)->comm, "b");
	/* The time of its calls is its own. */
	assert_piece(t, 1, 0, 60, CLEW_PIECE_RUNNING);
	sleep = sleep_of(t, 1, 0);
	assert_int_equal(sleep->start, 60);
	assert_int_equal(sleep->end, 75);
	assert_int_equal(sleep->switch_in, 80);
	assert_int_equal(sleep->ended_by, 2);
	assert_int_equal(sleep->edge_type, CLEW_EDGE_UNLOCK);
	assert_int_equal(sleep->object.number, 0x7f00);
	assert_holder(sleep, 0, 2, 60, 75, false);
	sleep = sleep_of(t, 2, 1);
	assert_int_equal(sleep->kind, CLEW_WAIT_SLEEP);
	assert_int_equal(sleep->context, CLEW_WAKE_TIMER);
	sleep = sleep_of(t, 2, 0);
	clew_trace_file(t, sleep->object.device, sleep->object.number, &path);
	assert_string_equal(path, "/x y");
	assert_int_equal(edge_to(t, 1, 1)->from, 2);
	assert_int_equal(edge_to(t, 1, 1)->to_at, 97);
	assert_string_equal(clew_trace_type_name(t, edge_to(t, 1, 1)->type), "send");
	assert_string_equal(clew_trace_type_name(t, edge_to(t, 1, 0)->type), "unlock");
	clew_trace_free(t);
	clew_model_free(model);
}

static void test_refused(void **state)
{
	static const char *const texts[] = {
		"span a [-5,100]\n",
		"span a-1 [0,100]\nwait a-1 20..30 futex runqueue=much\n",
		"span a-1 [0,100]\nwait a-1 20..30 futex holder=\"a-1 5 x\"\n",
		"span a-1 [0,100] tid=one\n",
		"span a-1 [0,100] names=\"x\"\n",
		"hierarchy cpus\nspan cpu0 [0,100] in cpus:machine cpu=0 capture=\"0 100\" "
		"capture.ledger=\"1 2\"\n",
	};
	char message[256];
	struct clew_model *model;
	struct clew_trace *t;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(clew_notation_read(texts[i], strlen(texts[i]), NULL, &model,
						    message, sizeof(message)),
				 0);
		assert_int_equal(clew_trace_from_model(model, NULL, &t, message, sizeof(message)),
				 -EINVAL);
		assert_true(message[0] != 0);
		clew_model_free(model);
	}
}

static void test_dropped(void **state)
{
	struct synthetic s = {0};
	struct clew_wait wait = wait_futex(CLEW_FUTEX_CLASS_MUTEX, 0x1000, 102);
	struct clew_trace_options options = {.size = sizeof(options),
					     .drop_types = 1u << CLEW_EDGE_UNLOCK};
	struct clew_trace *t, *dropped, *back;
	struct clew_model *model;
	char message[256];

	(void)state;
	threads(&s, 2);
	SWITCH(&s, .at = 1100, .cpu = 1, .prev = IDLE, .next = 2);
	SWITCH(&s, .at = 1100, .cpu = 0, .prev = IDLE, .next = 1);
	sleeps(&s, 1200, 0, 1, wait);
	comes(&s, 1400, 0, 1,
	      (struct woken){.at = 1390, .by = 2, .operation = CLEW_FUTEX_WAKE_ONE});
	t = synthetic_trace(&s, 2000, 0);
	dropped = synthetic_trace(&s, 2000, options.drop_types);
	assert_int_equal(sleep_of(t, 1, 0)->holder_count, 1);
	goes_round(t);
	model = model_of(t);
	assert_int_equal(clew_trace_from_model(model, &options, &back, message, sizeof(message)),
			 0);
	same(dropped, back);
	clew_trace_free(back);
	clew_model_free(model);
	clew_trace_free(t);
	clew_trace_free(dropped);
	synthetic_done(&s);
}

static uint32_t dependency_of(const struct clew_model *model, uint32_t type)
{
	uint32_t found = CLEW_NONE;

	for (uint32_t i = 0; i < model->dependency_count; i++)
		if (model->dependencies[i].type == type) {
			assert_int_equal(found, CLEW_NONE);
			found = i;
		}
	return found;
}

static void assert_end(const struct clew_model *model, const uint32_t *ends,
		       struct clew_range range, const char *span, clew_time at, bool end)
{
	const struct clew_es *es = &model->es[ends[range.first]];

	assert_int_equal(range.count, 1);
	assert_int_equal(es->span, span_named(model, span));
	assert_int_equal(end ? es->end : es->start, at);
}

static void assert_attribute(const struct clew_model *model, uint32_t dependency, const char *key,
			     const char *value)
{
	const char *has =
		clew_model_attribute(model, model->dependencies[dependency].attributes, key);

	assert_int_equal(value != NULL, has != NULL);
	if (value)
		assert_string_equal(has, value);
}

/* 1 calls 2, and looks now and then whether that is done; `words` are 1's. 3 has the same call
 * open. */
static struct clew_trace *polled(struct synthetic *s, const char *words, const char *third)
{
	threads(s, 3);
	SWITCH(s, .at = 1100, .cpu = 0, .prev = IDLE, .next = 1);
	SWITCH(s, .at = 1100, .cpu = 1, .prev = IDLE, .next = 2);
	SWITCH(s, .at = 1100, .cpu = 2, .prev = IDLE, .next = 3);
	begins(s, 1200, 1, 1, words);
	begins(s, 1250, 3, 3, third);
	sleeps(s, 1300, 0, 1, wait_in(SYS_nanosleep));
	begins(s, 1400, 2, 2, "kv get key=1 table=a\\b");
	ends(s, 1600, 2, 2);
	comes(s, 1710, 0, 1, (struct woken){.at = 1700, .context = CLEW_WAKE_TIMER});
	ends(s, 1800, 1, 1);
	ends(s, 1850, 3, 3);
	return synthetic_trace(s, 2000, 0);
}

static void test_calls(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *t = polled(&s, "app load kv/key=1 calls=kv", "app other x=1");
	struct clew_model *model = model_of(t);
	uint32_t call = dependency_of(model, CLEW_DEPENDENCY_CALL),
		 back = dependency_of(model, CLEW_DEPENDENCY_RETURN);
	const struct clew_dependency *d = model->dependencies;

	(void)state;
	assert_int_not_equal(call, CLEW_NONE);
	assert_end(model, model->origins, d[call].origins, "task-101", 1300, true);
	assert_end(model, model->destinations, d[call].destinations, "task-102", 1400, false);
	assert_attribute(model, call, "evidence", "exact");
	assert_attribute(model, call, "bridged", NULL);
	assert_attribute(model, call, "called", "kv.get");
	assert_attribute(model, call, "caller", "app.load");
	assert_attribute(model, call, "descriptors", "kv/key=1 kv/table=a\\\\b");
	assert_int_not_equal(back, CLEW_NONE);
	assert_end(model, model->origins, d[back].origins, "task-102", 1600, true);
	assert_end(model, model->destinations, d[back].destinations, "task-101", 1710, false);
	clew_model_free(model);
	goes_round(t);
	clew_trace_free(t);
	synthetic_done(&s);

	t = polled(&s, "app load kv/key=1", "app other x=1");
	model = model_of(t);
	call = dependency_of(model, CLEW_DEPENDENCY_CALL);
	assert_attribute(model, call, "evidence", "observed");
	assert_attribute(model, call, "bridged", "yes");
	clew_model_free(model);
	goes_round(t);
	clew_trace_free(t);
	synthetic_done(&s);

	/* One of two: neither is a fact. */
	t = polled(&s, "app load kv/key=1 calls=kv", "app load kv/key=1 calls=kv");
	model = model_of(t);
	assert_int_equal(dependency_of(model, CLEW_DEPENDENCY_CALL), CLEW_NONE);
	assert_int_equal(dependency_of(model, CLEW_DEPENDENCY_RETURN), CLEW_NONE);
	clew_model_free(model);
	goes_round(t);
	clew_trace_free(t);
	synthetic_done(&s);
}

/* ---- at random, contradictions and losses included ---- */

enum { TASKS = 9, CPUS = 3, RECORDS = 120, TRACES = 1500 };

static uint64_t seed;

static unsigned pick(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 20) % below;
}

static struct clew_wait any_wait(void)
{
	switch (pick(6)) {
	case 0:
		return wait_futex(CLEW_FUTEX_CLASS_MUTEX, 0x1000 + 64 * pick(2), 101 + pick(TASKS));
	case 1:
		return wait_futex(CLEW_FUTEX_CLASS_NONE, 0x9000, 0);
	case 2:
		return wait_on(SYS_read, CLEW_OBJECT_PIPE, 1 + pick(3));
	case 3:
		return wait_on(SYS_epoll_wait, CLEW_OBJECT_EPOLL, 5);
	case 4:
		return wait_in(SYS_nanosleep);
	default:
		return wait_on(SYS_fsync, CLEW_OBJECT_FILE, 8);
	}
}

static struct woken any_wake(uint64_t now)
{
	uint64_t before = pick(60);

	return (struct woken){
		.at = pick(8) ? now - before : 0,
		.by = pick(TASKS + 2),
		.context = pick(4) ? CLEW_WAKE_TASK : (uint8_t)(CLEW_WAKE_IRQ + pick(3)),
		.operation = (uint8_t)pick(3),
		.object_kind = pick(3) ? 0 : CLEW_OBJECT_EVENTFD,
		.object = 3,
	};
}

static void any_switch(struct synthetic *s, uint64_t now, uint32_t *running)
{
	unsigned cpu = pick(CPUS), flags = 0;
	uint32_t prev = pick(20) ? running[cpu] : pick(TASKS + 1), next = pick(TASKS + 1);
	struct clew_wait wait = any_wait();
	bool sleeps_now = prev && pick(3);

	for (unsigned i = 0; i < CPUS; i++)
		if (next && running[i] == next && pick(30))
			next = IDLE;
	if (pick(10) == 0)
		wait.flags |= CLEW_WAIT_FLAG_SAME_CALL;
	if (!sleeps_now)
		flags |= pick(30) == 0 ? CLEW_SWITCH_DEAD : pick(2) ? CLEW_SWITCH_PREEMPT : 0;
	if (next && pick(20) == 0)
		flags |= CLEW_SWITCH_NEXT_NEW;
	SWITCH(s, .at = now, .cpu = cpu, .prev = prev, .next = next, .flags = flags,
	       .wait = sleeps_now ? &wait : NULL,
	       .woken = next && pick(4) ? any_wake(now) : (struct woken){0});
	running[cpu] = next;
}

static void any_record(struct synthetic *s, uint64_t now, uint32_t *running)
{
	char name[8];

	switch (pick(40)) {
	case 0:
		gap(s, pick(CPUS), now - pick(80), now);
		break;
	case 1:
		life(s, CLEW_KIND_FORK, now, 1 + pick(TASKS), 1 + pick(TASKS + 1));
		break;
	case 2:
		life(s, CLEW_KIND_EXEC, now, 1 + pick(TASKS), 1 + pick(TASKS));
		break;
	case 3:
		life(s, CLEW_KIND_EXIT, now, 1 + pick(TASKS), 0);
		break;
	case 4:
		snprintf(name, sizeof(name), "n%u", pick(5));
		rename_task(s, now, 1 + pick(TASKS), name);
		break;
	default:
		any_switch(s, now, running);
		break;
	}
}

static const char *const any_words[] = {
	"app load kv/key=1 calls=kv",
	"app load kv/key=2",
	"kv get key=1",
	"kv get key=2 async",
	"store read kv/key=1",
	"app idle",
	"",
};

static void any_announcement(struct synthetic *s, uint64_t now, unsigned number)
{
	const unsigned random = number * 2654435761u >> 8;

	announce(s, now, 1 + random % TASKS, random / 16 % 4 == 0, random / 64 % 3,
		 any_words[random / 256 % (sizeof(any_words) / sizeof(any_words[0]))]);
}

/* In some traces threads also call traced functions, whenever that is. */
static struct clew_trace *trace_with_frames(const struct synthetic *s, uint64_t end, unsigned round)
{
	static struct forest forest;
	struct clew_finding_taker taker;
	struct clew_trace *trace;

	assert_int_equal(clew_trace_new(NULL, START, &trace), 0);
	random_state = round + 1;
	add_functions(trace);
	for (unsigned task = 1; task <= TASKS && round % 4 < 3; task++) {
		static const uint8_t values[] = {1, 2, 3, 0xfe};
		struct clew_frame *frame = forest.frames;

		forest.count = 0;
		forest.serial = task;
		forest.longest = 20 + draw(100);
		forest_grow(&forest, CLEW_NO_NUMBER, 0, START + draw(20), end + draw(20));
		if (forest.count && draw(2)) {
			frame->closed = CLEW_FRAME_OPEN;
			frame->end = CLEW_TIME_OPEN;
		}
		for (; frame < forest.frames + forest.count; frame++) {
			if (frame->end != CLEW_TIME_OPEN)
				frame->closed = (uint8_t)draw(CLEW_FRAME_OPEN);
			if (draw(8))
				continue;
			frame->values = values;
			frame->values_size = (uint16_t)draw(4);
			frame->returned_size = (uint16_t)draw(2);
			frame->end_task = 1 + draw(TASKS);
			frame->unread = (uint16_t)draw(3);
		}
		forest_feed(&forest, task, TASKS + 1, trace);
	}
	taker = clew_trace_taker(trace);
	synthetic_feed(s, end, 0, &taker, 1);
	assert_int_equal(clew_trace_finish(trace, end), 0);
	return trace;
}

static void test_random(void **state)
{
	(void)state;
	is_wild = true;
	for (unsigned round = 0; round <= TRACES; round++) {
		struct synthetic s = {0};
		uint32_t running[CPUS] = {0};
		uint64_t now = START;
		struct clew_trace *t;

		/* The last one has a wait that begins while its lock is held already. */
		seed = round < TRACES ? 88172645463325252ull + round * 7919
				      : 99172645463325252ull + 3681 * 7919;
		for (unsigned task = 1; task <= TASKS; task++)
			if (pick(8))
				identify(&s, (struct identity){.task = task,
							       .process = pick(2) ? 1 + pick(TASKS)
										  : task,
							       .parent = pick(TASKS + 2),
							       .tid = pick(6) ? 0 : 101});
		for (unsigned task = 1; task <= TASKS; task++)
			if (pick(3) == 0)
				found_asleep(&s, now, task, any_wait());
			else if (round % 8 == 7 && task == 1)
				found_dead(&s, now, task);
		for (unsigned i = pick(RECORDS); i > 0; i--) {
			now += 1 + pick(3) * pick(20);
			any_record(&s, now, running);
			if (round % 2)
				any_announcement(&s, now, round * RECORDS + i);
		}
		now += pick(50);
		for (unsigned task = 1; task <= TASKS; task++)
			if (pick(3) == 0)
				stop_asleep(&s, now, task, any_wait(),
					    pick(2) ? any_wake(now) : (struct woken){0});
		t = trace_with_frames(&s, now, round);
		goes_round(t);
		clew_trace_free(t);
		synthetic_done(&s);
	}
	assert_true(followed > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wake),	   cmocka_unit_test(test_places),
		cmocka_unit_test(test_broadcast),  cmocka_unit_test(test_lost),
		cmocka_unit_test(test_identities), cmocka_unit_test(test_handwritten),
		cmocka_unit_test(test_refused),	   cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_calls),	   cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests_name("model_capture", tests, NULL, NULL);
}
