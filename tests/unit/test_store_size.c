/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests the cost of a switch in the file and in time, on switches like those of a parallel
 * build: short tasks by the hundred on 2 CPUs, exponential times between
 * switches, log-normal wake delays. The bounds on bytes are the product's; times
 * are printed only, since a test shares its machine.
 */
#include <math.h>
#include <sys/stat.h>
#include <time.h>

#include "store_records.h"

#define CPUS	  2
#define ALIVE	  6					  /* tasks a CPU at one time */
#define SLOT	  sizeof(((union any_record *)0)->change) /* bytes a prepared record has */
#define NS_SWITCH 50000.0
#define NS_WAKE	  5000.0

struct task {
	uint32_t serial;
	unsigned left; /* switches until it ends */
	bool slept;
	bool begun;
	uint64_t pipe;
};

struct build {
	struct random random;
	struct task tasks[CPUS][ALIVE];
	unsigned running[CPUS]; /* ALIVE: the CPU is idle */
	uint64_t time[CPUS];
	uint32_t serials;
};

static double uniform(struct random *random)
{
	return ((double)(random_next(random) >> 11) + 1) / 9007199254740993.0;
}

static uint64_t exponential(struct random *random, double mean)
{
	return (uint64_t)(-mean * log(uniform(random)));
}

static uint64_t log_normal(struct random *random, double median)
{
	return (uint64_t)(median * exp(0.7 * sqrt(-2 * log(uniform(random))) *
				       cos(6.283185307 * uniform(random))));
}

static void new_task(struct build *build, struct task *task)
{
	*task = (struct task){
		.serial = ++build->serials,
		.left = 20 + random_below(&build->random, 200),
		.pipe = 40000 + build->serials / 3,
	};
}

static void fill_wait(struct build *build, const struct task *task, struct clew_wait *wait)
{
	wait->flags = CLEW_WAIT_FLAG_DETAIL;
	wait->descriptor = -1;
	switch (random_below(&build->random, 10)) {
	case 0: /* a child */
		wait->call = 61;
		wait->object_kind = CLEW_OBJECT_CHILD;
		wait->object = (uint64_t)-1;
		break;
	case 1: /* a page that is read in */
		wait->call = CLEW_NO_CALL;
		wait->flags |= CLEW_WAIT_FLAG_FAULT | CLEW_WAIT_FLAG_IOWAIT;
		break;
	case 2: /* a file */
		wait->call = 0;
		wait->object_kind = CLEW_OBJECT_FILE;
		wait->object = 1000000 + random_below(&build->random, 3000);
		wait->device = 8 << 20 | 1;
		wait->descriptor = 3;
		wait->flags |= CLEW_WAIT_FLAG_IOWAIT;
		break;
	default: /* make's and the compilers' pipes */
		wait->call = task->serial & 1;
		wait->object_kind = CLEW_OBJECT_PIPE;
		wait->object = task->pipe;
		wait->device = 14;
		wait->descriptor = wait->call ? 1 : 3 + task->serial % 2;
	}
}

/* The next switch on a CPU; returns the record's size. */
static size_t next_switch(struct build *build, unsigned cpu, union any_record *any)
{
	struct clew_switch *record = &any->change.record;
	struct random *random = &build->random;
	struct task *tasks = build->tasks[cpu], *prev = NULL, *next = NULL;
	size_t size = sizeof(*record);

	memset(any, 0, sizeof(any->change));
	build->time[cpu] += exponential(random, NS_SWITCH);
	record->header = (struct clew_header){
		.time = build->time[cpu], .cpu = cpu, .kind = CLEW_KIND_SWITCH};
	if (build->running[cpu] < ALIVE)
		prev = &tasks[build->running[cpu]];
	/* To the idle task at times, else to one of those alive, mostly the first ones. */
	if (!prev || random_below(random, 3)) {
		do
			build->running[cpu] = random_below(random, 1 + random_below(random, ALIVE));
		while (prev == &tasks[build->running[cpu]]);
		next = &tasks[build->running[cpu]];
	} else {
		build->running[cpu] = ALIVE;
	}

	if (prev) {
		record->prev = prev->serial;
		if (!--prev->left) {
			record->header.flags |= CLEW_SWITCH_DEAD;
			record->prev_state = 0x80;
			new_task(build, prev);
		} else if (!next || random_below(random, 5)) {
			record->header.flags |= CLEW_SWITCH_SLEEP | CLEW_SWITCH_WAIT;
			fill_wait(build, prev, &any->change.wait);
			record->prev_state = any->change.wait.flags & CLEW_WAIT_FLAG_IOWAIT ? 2 : 1;
			prev->slept = true;
			size += sizeof(struct clew_wait);
		} else {
			record->header.flags |= CLEW_SWITCH_PREEMPT;
			prev->slept = false;
		}
	}
	if (next) {
		record->next = next->serial;
		if (!next->begun || next->slept) {
			record->header.flags |=
				next->begun ? CLEW_SWITCH_NEXT_SLEPT : CLEW_SWITCH_NEXT_NEW;
			record->wake_time = record->header.time - 800 - log_normal(random, NS_WAKE);
			record->waker =
				random_below(random, 3)
					? record->prev
					: build->tasks[!cpu][random_below(random, ALIVE)].serial;
			record->wake_context =
				random_below(random, 6) ? CLEW_WAKE_TASK : CLEW_WAKE_IRQ;
			record->wake_call = record->wake_context == CLEW_WAKE_TASK
						    ? random_below(random, 2)
						    : CLEW_NO_CALL;
			record->wake_descriptor = -1;
		}
		next->begun = true;
	}
	return size;
}

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static void measure(const char *what, size_t count, uint64_t flush_ns, double most_columns,
		    double most_file)
{
	struct build build = {.random = {42},
			      .serials = 5000,
			      .running = {ALIVE, ALIVE},
			      .time = {1000000000, 1000000000}};
	double start, close_start, put_ns, close_ns, read_ns, columns, file;
	const struct clew_header *record;
	struct clew_reader *reader;
	struct clew_writer *writer;
	uint8_t *buffer = malloc(count * SLOT);
	uint64_t flushed = 0;
	size_t used = 0, seen = 0;
	char path[64];

	/* All records in advance, so that only the writer is measured. */
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		for (unsigned i = 0; i < ALIVE; i++)
			new_task(&build, &build.tasks[cpu][i]);
	for (size_t i = 0; i < count; i++) {
		union any_record any;

		next_switch(&build, build.time[0] <= build.time[1] ? 0 : 1, &any);
		memcpy(buffer + used, &any, sizeof(any.change));
		used += SLOT;
	}

	temporary_path(path);
	writer = open_writer(path, CPUS, false);
	/* Encoding is other threads' work. */
	start = now(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t at = 0; at < used; at += SLOT) {
		const struct clew_header *header = (const struct clew_header *)(buffer + at);

		assert_int_equal(clew_writer_put(writer, header->cpu, header, SLOT), 0);
		if (header->time - flushed < flush_ns)
			continue;
		flushed = header->time;
		for (unsigned cpu = 0; cpu < CPUS; cpu++)
			clew_writer_flush(writer, cpu, header->time, flush_ns / 2);
	}
	close_start = now(CLOCK_MONOTONIC);
	assert_int_equal(clew_writer_close(writer), 0);
	close_ns = now(CLOCK_MONOTONIC) - close_start;
	put_ns = (now(CLOCK_PROCESS_CPUTIME_ID) - start) / count;

	start = now(CLOCK_THREAD_CPUTIME_ID);
	reader = open_reader(path);
	while (clew_reader_next(reader, &record) == 1)
		seen++;
	read_ns = (now(CLOCK_THREAD_CPUTIME_ID) - start) / count;
	assert_int_equal(seen, count);
	columns = (double)clew_reader_info(reader)->column_bytes[CLEW_KIND_SWITCH] / count;
	file = (double)clew_reader_info(reader)->bytes / count;
	clew_reader_close(reader);
	unlink(path);
	free(buffer);
	print_message("%s: columns %.2f, file %.2f bytes a switch; put and encode %.0f ns, close "
		      "%.1f ms, read and merge %.0f ns a record\n",
		      what, columns, file, put_ns, close_ns / 1e6, read_ns);
	assert_true(columns <= most_columns);
	assert_true(file <= most_file);
}

static void test_parallel_build(void **state)
{
	(void)state;
	measure("400,000 switches", 400000, 500000000, 6, 7);
}

/* Ten times slower than that, a chunk is not full in half a second. */
static void test_slow_build(void **state)
{
	(void)state;
	measure("400,000 switches, flushed often", 400000, 20000000, 6, 7);
	measure("20,000 switches, flushed often", 20000, 20000000, 6, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parallel_build),
		cmocka_unit_test(test_slow_build),
	};

	return cmocka_run_group_tests_name("store_size", tests, NULL, NULL);
}
