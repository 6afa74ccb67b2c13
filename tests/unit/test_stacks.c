/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks of sleeps, and the functions that frames lie in. */
#include "stack_records.h"
#include "trace/stacks.h"
#include "words/samples.h"
#include "words/stack.h"

#define FILE_ONE   7u
#define AT(offset) CLEW_FRAME_IN(FILE_ONE, offset)

static void put_symbol(struct synthetic *s, uint32_t image, uint64_t start, uint64_t length,
		       const char *name)
{
	struct clew_symbol_record symbol = {
		.header = {.time = START, .kind = CLEW_KIND_SYMBOL},
		.start = start,
		.length = length,
		.image = image,
		.size = (__u16)strlen(name),
	};

	put_tail(s, &symbol, sizeof(symbol), name, strlen(name));
}

static void put_image(struct synthetic *s, uint32_t number, const char *path)
{
	struct clew_image_record image = {.header = {.time = START, .kind = CLEW_KIND_IMAGE},
					  .image = number,
					  .size = (__u16)strlen(path)};

	put_tail(s, &image, sizeof(image), path, strlen(path));
}

static const uint64_t user_frames[] = {AT(0x110), AT(0x205), AT(0x150)};
static const uint64_t kernel_frames[] = {0xffffffff81000010, 0xffffffff81000020};

/*
 * Task 1 sleeps four times: with stacks; without; with a stack whose frames were lost; and as the
 * recording ends. Task 2 has the CPU again at the moment of the first one.
 */
static struct clew_trace *make(struct synthetic *s)
{
	threads(s, 2);
	put_image(s, FILE_ONE, "/bin/one");
	put_symbol(s, FILE_ONE, 0x100, 0x80, "outer");
	put_symbol(s, FILE_ONE, 0x120, 0x10, "inner");
	put_symbol(s, FILE_ONE, 0x200, 0x10, "");
	put_symbol(s, CLEW_IMAGE_KERNEL, kernel_frames[0], 1, "schedule");
	put_stack(s, 11, 0, user_frames, 3);
	put_stack(s, 12, CLEW_STACK_KERNEL, kernel_frames, 2);
	SWITCH(s, .at = 1050, .cpu = 1, .prev = IDLE, .next = 1);
	SWITCH(s, .at = 1050, .cpu = 2, .prev = IDLE, .next = 2);
	sleeps(s, 1100, 1, 1, wait_in(SYS_nanosleep));
	sleeps(s, 1110, 2, 2, wait_in(SYS_nanosleep));
	put_waited(s, 2000, 1, 11, 12, 0);
	comes(s, 2000, 1, 1, (struct woken){.at = 1990, .by = IDLE});
	comes(s, 2000, 2, 2, (struct woken){.at = 1990, .by = IDLE});
	sleeps(s, 2100, 1, 1, wait_in(SYS_nanosleep));
	comes(s, 3000, 1, 1, (struct woken){.at = 2990, .by = IDLE});
	sleeps(s, 3100, 1, 1, wait_in(SYS_nanosleep));
	put_waited(s, 4000, 1, 99, 0, 0);
	comes(s, 4000, 1, 1, (struct woken){.at = 3990, .by = IDLE});
	sleeps(s, 4100, 1, 1, wait_in(SYS_nanosleep));
	put_waited(s, 5000, 1, 11, 0, CLEW_WAITED_STILL);
	return synthetic_trace(s, 5000, 0);
}

static const struct clew_sleep *sleep_at(const struct clew_trace *trace, uint32_t task,
					 uint64_t start)
{
	size_t count;
	const struct clew_sleep *sleeps_ = clew_trace_sleeps(trace, &count);

	for (size_t i = 0; i < count; i++)
		if (sleeps_[i].task == task && sleeps_[i].start == start)
			return &sleeps_[i];
	fail_msg("task %u does not sleep at %lu", task, (unsigned long)start);
	return NULL;
}

static void test_sleeps(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace = make(&s);
	struct clew_sleep_stacks stacks;

	(void)state;
	assert_true(clew_trace_has_stacks(trace));
	assert_true(clew_trace_sleep_stacks(trace, sleep_at(trace, 1, 1100), &stacks));
	assert_int_equal(stacks.user->count, 3);
	assert_memory_equal(stacks.user->frames, user_frames, sizeof(user_frames));
	assert_int_equal(stacks.kernel->count, 2);
	assert_int_equal(stacks.user_end, CLEW_STACK_UNREAD);
	/* At the same moment, but of another task. */
	assert_false(clew_trace_sleep_stacks(trace, sleep_at(trace, 2, 1110), &stacks));
	assert_false(clew_trace_sleep_stacks(trace, sleep_at(trace, 1, 2100), &stacks));
	assert_true(clew_trace_sleep_stacks(trace, sleep_at(trace, 1, 3100), &stacks));
	assert_null(stacks.user);
	assert_null(stacks.kernel);
	assert_int_equal(stacks.user_end, CLEW_STACK_LOST);
	assert_true(clew_trace_sleep_stacks(trace, sleep_at(trace, 1, 4100), &stacks));
	assert_int_equal(stacks.user->count, 3);
	assert_int_equal(stacks.user_end, CLEW_STACK_UNREAD);
	clew_trace_free(trace);
	synthetic_done(&s);
}

static void check_place(const struct clew_trace *trace, uint64_t frame, bool kernel,
			const char *name, const char *object, uint64_t at, uint64_t start)
{
	struct clew_stack_place place;

	clew_trace_stack_place(trace, frame, kernel, &place);
	if (name)
		assert_string_equal(place.name, name);
	else
		assert_null(place.name);
	if (object)
		assert_string_equal(place.object, object);
	else
		assert_null(place.object);
	assert_int_equal(place.at, at);
	assert_int_equal(place.start, start);
}

static void test_places(void **state)
{
	struct synthetic s = {0};
	struct clew_trace *trace = make(&s);

	(void)state;
	check_place(trace, AT(0x100), false, "outer", "/bin/one", 0x100, 0x100);
	check_place(trace, AT(0x125), false, "inner", "/bin/one", 0x125, 0x120);
	check_place(trace, AT(0x130), false, "outer", "/bin/one", 0x130, 0x100);
	check_place(trace, AT(0x180), false, NULL, "/bin/one", 0x180, 0x180);
	check_place(trace, AT(0xff), false, NULL, "/bin/one", 0xff, 0xff);
	/* It has bounds, but no name. */
	check_place(trace, AT(0x205), false, NULL, "/bin/one", 0x205, 0x200);
	/* The same offset in another file, of which nothing is known. */
	check_place(trace, CLEW_FRAME_IN(8u, 0x100), false, NULL, NULL, 0x100, 0x100);
	check_place(trace, CLEW_FRAME_ADDRESS | 0x7f00, false, NULL, NULL, 0x7f00, 0x7f00);
	check_place(trace, kernel_frames[0], true, "schedule", NULL, kernel_frames[0],
		    kernel_frames[0]);
	check_place(trace, kernel_frames[1], true, NULL, NULL, kernel_frames[1], kernel_frames[1]);
	clew_trace_free(trace);
	synthetic_done(&s);
}

/* ---- samples ---- */

static void put_sample(struct synthetic *s, uint64_t at, uint32_t task, uint64_t user,
		       uint64_t kernel)
{
	struct clew_task_stacks sample = {
		.header = {.time = at, .kind = CLEW_KIND_SAMPLE},
		.task = task,
		.user = user,
		.kernel = kernel,
		.end = user ? CLEW_STACK_ROOT : CLEW_STACK_NONE,
	};

	synthetic_put(s, &sample, sizeof(sample));
}

#define ROOT_AT	 0x300
#define LEFT_AT	 0x400
#define RIGHT_AT 0x500
#define LEAF_AT	 0x600

/* main calls left and right, both of which call leaf; addresses differ within functions. */
static const uint64_t in_left[] = {AT(LEFT_AT + 4), AT(ROOT_AT)};
static const uint64_t in_left_leaf[] = {AT(LEAF_AT + 1), AT(LEFT_AT + 9), AT(ROOT_AT + 3)};
static const uint64_t in_left_leaf_too[] = {AT(LEAF_AT + 7), AT(LEFT_AT + 2), AT(ROOT_AT + 3)};
static const uint64_t in_right_leaf[] = {AT(LEAF_AT + 1), AT(RIGHT_AT), AT(ROOT_AT + 5)};

static struct clew_trace *make_samples(struct synthetic *s, const uint64_t *hashes, size_t count)
{
	threads(s, 2);
	put_image(s, FILE_ONE, "/bin/one");
	put_symbol(s, FILE_ONE, ROOT_AT, 0x10, "main");
	put_symbol(s, FILE_ONE, LEFT_AT, 0x10, "left");
	put_symbol(s, FILE_ONE, RIGHT_AT, 0x10, "right");
	put_symbol(s, FILE_ONE, LEAF_AT, 0x10, "leaf");
	put_stack(s, 21, 0, in_left, 2);
	put_stack(s, 22, 0, in_left_leaf, 3);
	put_stack(s, 23, 0, in_left_leaf_too, 3);
	put_stack(s, 24, 0, in_right_leaf, 3);
	SWITCH(s, .at = 1050, .cpu = 1, .prev = IDLE, .next = 1);
	SWITCH(s, .at = 1050, .cpu = 2, .prev = IDLE, .next = 2);
	for (size_t i = 0; i < count; i++)
		put_sample(s, 1100 + 10 * i, 1, hashes[i], 0);
	put_sample(s, 3000, 2, 24, 0);
	return synthetic_trace(s, 5000, 0);
}

static void check_told(const uint64_t *hashes, size_t count, const char *expected)
{
	struct synthetic s = {0};
	struct clew_trace *trace = make_samples(&s, hashes, count);
	struct clew_samples samples = {};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(clew_samples_add(&samples, trace, 1, 1000, 5000), 0);
	assert_int_equal(samples.samples.count, count);
	assert_int_equal(clew_print_samples(out, "", trace, &samples), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
	clew_samples_done(&samples);
	clew_trace_free(trace);
	synthetic_done(&s);
}

static void test_samples_told(void **state)
{
	const uint64_t leaf[] = {22, 23, 22, 23, 22, 21, 24, 24};
	const uint64_t both[] = {22, 23, 24, 24, 21, 21, 21, 24, 24, 99};
	const uint64_t few[] = {22, 24, 23};
	const uint64_t lost[] = {99, 99, 99, 99, 99};

	(void)state;
	check_told(leaf, 8, "62 % in leaf <- left <- main (5 of 8 samples)");
	/* left has 5 of the 10 samples, none of its functions has 5; one sample has no frames. */
	check_told(both, 10, "50 % in left <- main (5 of 10 samples): 20 % in leaf");
	/* Too few for shares. */
	check_told(few, 3, "in leaf <- left <- main (2 of 3 samples)");
	check_told(lost, 5, "");
	check_told(NULL, 0, "");
}

/* ---- what text shows ---- */

#define FILE_LIBC   8u
#define LIBC(place) CLEW_FRAME_IN(FILE_LIBC, place)

#define START_AT     0x10 /* _start, in the program */
#define NAMELESS_AT  0x700
#define NAMELESS_TOO 0x800
#define PRINT_AT     0x20 /* of the library */
#define READ_AT	     0x40
#define INNER_AT     0x60 /* without a name, as all that it does not export */
#define THREAD_AT    0x80
#define CLONE_AT     0xa0
#define CALLS_MAIN   0xc0

/* A task that sleeps once in read() with a stack, and five samples of it with the same one. */
static void check_shown(const uint64_t *frames, uint32_t count, const char *expected_wait,
			const char *expected_samples)
{
	struct synthetic s = {0};
	struct clew_samples samples = {};
	struct clew_trace *trace;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	long border;

	threads(&s, 1);
	put_image(&s, FILE_ONE, "/bin/one");
	put_image(&s, FILE_LIBC, "/lib/libc.so.6");
	put_symbol(&s, FILE_ONE, START_AT, 0x10, "_start");
	put_symbol(&s, FILE_ONE, ROOT_AT, 0x10, "main");
	put_symbol(&s, FILE_ONE, NAMELESS_AT, 0x10, "");
	put_symbol(&s, FILE_ONE, NAMELESS_TOO, 0x10, "");
	put_symbol(&s, FILE_LIBC, PRINT_AT, 0x10, "fprintf");
	put_symbol(&s, FILE_LIBC, READ_AT, 0x10, "__libc_read");
	put_symbol(&s, FILE_LIBC, INNER_AT, 0x10, "");
	put_symbol(&s, FILE_LIBC, CLONE_AT, 0x10, "__clone3");
	put_symbol(&s, FILE_LIBC, CALLS_MAIN, 0x10, "__libc_start_main");
	put_stack(&s, 31, 0, frames, count);
	SWITCH(&s, .at = 1050, .cpu = 1, .prev = IDLE, .next = 1);
	for (unsigned i = 0; i < 5; i++)
		put_sample(&s, 1060 + i, 1, 31, 0);
	sleeps(&s, 1100, 1, 1, wait_in(SYS_read));
	put_waited(&s, 2000, 1, 31, 0, 0);
	comes(&s, 2000, 1, 1, (struct woken){.at = 1990, .by = IDLE});
	trace = synthetic_trace(&s, 5000, 0);
	assert_int_equal(clew_has_stack(trace, sleep_at(trace, 1, 1100)), !!expected_wait[0]);
	clew_print_in_stack(out, "", trace, sleep_at(trace, 1, 1100));
	fflush(out);
	assert_string_equal(text, expected_wait);
	border = ftell(out);
	assert_int_equal(clew_samples_add(&samples, trace, 1, 1000, 5000), 0);
	assert_int_equal(clew_print_samples(out, "", trace, &samples), 0);
	fclose(out);
	assert_string_equal(text + border, expected_samples);
	free(text);
	clew_samples_done(&samples);
	clew_trace_free(trace);
	synthetic_done(&s);
}

static void test_shown(void **state)
{
	/* The library's own ways into the kernel, and what starts a program, are left out. */
	const uint64_t prints[] = {LIBC(READ_AT), LIBC(INNER_AT), LIBC(PRINT_AT),
				   AT(ROOT_AT),	  LIBC(INNER_AT), AT(START_AT)};
	const uint64_t reads[] = {LIBC(READ_AT), AT(NAMELESS_AT), AT(NAMELESS_TOO),
				  AT(ROOT_AT),	 LIBC(THREAD_AT), LIBC(CLONE_AT)};
	const uint64_t copies[] = {LIBC(INNER_AT), AT(ROOT_AT), AT(START_AT)};
	const uint64_t inside[] = {LIBC(READ_AT), LIBC(PRINT_AT), LIBC(THREAD_AT), LIBC(CLONE_AT)};
	const uint64_t begins[] = {AT(START_AT)};
	const uint64_t stripped[] = {LIBC(PRINT_AT), AT(NAMELESS_AT), LIBC(INNER_AT),
				     LIBC(CALLS_MAIN), AT(NAMELESS_TOO)};

	(void)state;
	check_shown(prints, 6, "fprintf <- main", "100 % in fprintf <- main (5 of 5 samples)");
	/* A lone read() of a sleep in read is its wrapper; the nameless are told once. */
	check_shown(reads, 6, "one+0x700 <- main",
		    "100 % in __libc_read <- one+0x700 <- main (5 of 5 samples)");
	/* It computed in a function that the library does not export. */
	check_shown(copies, 3, "main", "100 % in libc.so.6+0x60 <- main (5 of 5 samples)");
	check_shown(inside, 4, "fprintf", "100 % in fprintf (5 of 5 samples)");
	check_shown(stripped, 5, "fprintf <- one+0x700",
		    "100 % in fprintf <- one+0x700 (5 of 5 samples)");
	/* Nothing is better than "100 % in _start". */
	check_shown(begins, 1, "", "");
}

/* Many functions, none of which has one sample in 20: no share, and no count of nothing. */
static void test_many_functions(void **state)
{
	struct synthetic s = {0};
	struct clew_samples samples = {};
	struct clew_trace *trace;
	char *text = NULL, name[16];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	threads(&s, 1);
	put_image(&s, FILE_ONE, "/bin/one");
	SWITCH(&s, .at = 1050, .cpu = 1, .prev = IDLE, .next = 1);
	for (unsigned i = 0; i < 40; i++) {
		const uint64_t frame = AT(0x1000 + 0x10 * i);

		snprintf(name, sizeof(name), "task_%u", i);
		put_symbol(&s, FILE_ONE, 0x1000 + 0x10 * i, 0x10, name);
		put_stack(&s, 100 + i, 0, &frame, 1);
		put_sample(&s, 1100 + i, 1, 100 + i, 0);
	}
	trace = synthetic_trace(&s, 5000, 0);
	assert_int_equal(clew_samples_add(&samples, trace, 1, 1000, 5000), 0);
	assert_int_equal(samples.samples.count, 40);
	assert_int_equal(clew_print_samples(out, "", trace, &samples), 0);
	fclose(out);
	assert_string_equal(text, "");
	free(text);
	clew_samples_done(&samples);
	clew_trace_free(trace);
	synthetic_done(&s);
}

static void test_samples_found(void **state)
{
	const uint64_t hashes[] = {21, 22, 23};
	struct synthetic s = {0};
	struct clew_trace *trace = make_samples(&s, hashes, 3);
	const struct clew_task_stacks *samples;
	size_t count;

	(void)state;
	samples = clew_trace_samples(trace, 1, 1110, 1120, &count);
	assert_int_equal(count, 1);
	assert_int_equal(samples->user, 22);
	assert_null(clew_trace_samples(trace, 1, 1121, 5000, &count));
	assert_non_null(clew_trace_samples(trace, 2, 0, 5000, &count));
	assert_int_equal(count, 1);
	assert_null(clew_trace_samples(trace, 3, 0, 5000, &count));
	clew_trace_free(trace);
	synthetic_done(&s);
}

static void test_none(void **state)
{
	struct synthetic s = {0};
	struct clew_sleep_stacks stacks;
	struct clew_trace *trace;

	(void)state;
	threads(&s, 1);
	SWITCH(&s, .at = 1050, .cpu = 1, .prev = IDLE, .next = 1);
	sleeps(&s, 1100, 1, 1, wait_in(SYS_nanosleep));
	trace = synthetic_trace(&s, 5000, 0);
	assert_false(clew_trace_has_stacks(trace));
	assert_false(clew_trace_sleep_stacks(trace, sleep_at(trace, 1, 1100), &stacks));
	clew_trace_free(trace);
	synthetic_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sleeps),	     cmocka_unit_test(test_places),
		cmocka_unit_test(test_samples_told), cmocka_unit_test(test_samples_found),
		cmocka_unit_test(test_shown),	     cmocka_unit_test(test_many_functions),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
