/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures each way to probe a function of the kernel: how much longer a call of vfs_write takes
 * with it, and how many returns it sees of calls of vfs_read that are open at the same time. Prints
 * a JSON object on a line for each way.
 */
#include <bpf/libbpf.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tiers.skel.h"

#define ROUNDS	200
#define CALLS	200 /* a round: the fastest round counts */
#define READERS 64
#define STACK	(64 << 10)

static int null;
static int ends[2];

/* ns of a call, the fastest round's. */
static double time_calls(void)
{
	double best = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct timespec from, to;
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < CALLS; i++)
			if (write(null, "", 1) != 1)
				err(1, "/dev/null");
		clock_gettime(CLOCK_MONOTONIC, &to);
		ns = ((double)(to.tv_sec - from.tv_sec) * 1e9 +
		      (double)(to.tv_nsec - from.tv_nsec)) /
		     CALLS;
		best = !round || ns < best ? ns : best;
	}
	return best;
}

static void *read_one(void *task)
{
	char byte;

	__atomic_store_n((int *)task, gettid(), __ATOMIC_RELEASE);
	if (read(ends[0], &byte, 1) != 1)
		err(1, "pipe");
	return NULL;
}

static void await_sleep(const int *task)
{
	char path[64], line[512];
	const char *state = NULL;

	while (!state || state[2] != 'S') {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
			 __atomic_load_n(task, __ATOMIC_ACQUIRE));
		file = fopen(path, "re");
		state = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
		if (file)
			fclose(file);
		sched_yield();
	}
}

/* Calls that go on at the same time: each sleeps until all do. */
static void read_together(void)
{
	pthread_t threads[READERS];
	static int tasks[READERS];
	pthread_attr_t attributes;

	memset(tasks, 0, sizeof(tasks));
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	for (int i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], &attributes, read_one, &tasks[i]))
			errx(1, "no more threads");
	for (int i = 0; i < READERS; i++)
		await_sleep(&tasks[i]);
	for (int i = 0; i < READERS; i++)
		if (write(ends[1], "", 1) != 1)
			err(1, "pipe");
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
}

static struct bpf_link *attach(const struct tiers *bpf, const char *way, const char *what)
{
	char name[32];
	struct bpf_program *program;

	snprintf(name, sizeof(name), "%s_%s", way, what);
	program = bpf_object__find_program_by_name(bpf->obj, name);
	return program ? bpf_program__attach(program) : NULL;
}

/* Loads the programs of one way alone: a kernel that lacks another one would refuse all. */
static struct tiers *load(const char *way)
{
	struct tiers *bpf = tiers__open();
	struct bpf_program *program;

	if (!bpf)
		err(1, "open");
	bpf_object__for_each_program (program, bpf->obj)
		bpf_program__set_autoload(program,
					  !strncmp(bpf_program__name(program), way, strlen(way)));
	if (tiers__load(bpf)) {
		tiers__destroy(bpf);
		return NULL;
	}
	bpf->bss->target = (uint32_t)getpid();
	return bpf;
}

/* Reads the count of a pair's probes, and sets it to 0. */
static uint64_t taken(__u64 *counter)
{
	return __atomic_exchange_n(counter, 0, __ATOMIC_SEQ_CST);
}

/* False: the kernel does not have that way. */
static bool print_cost(struct tiers *bpf, const char *way)
{
	double plain = time_calls(), entry, pair;
	struct bpf_link *first = attach(bpf, way, "write_entry"), *second;

	entry = time_calls();
	second = first ? attach(bpf, way, "write_return") : NULL;
	taken(&bpf->bss->entries);
	pair = time_calls();
	if (second)
		printf("{\"way\":\"%s\",\"calls\":%d,\"entries\":%" PRIu64 ",\"returns\":%" PRIu64
		       ",\"plain_ns\":%.0f,\"entry_ns\":%.0f,\"pair_ns\":%.0f,",
		       way, ROUNDS * CALLS, taken(&bpf->bss->entries), taken(&bpf->bss->returns),
		       plain, entry - plain, pair - plain);
	bpf_link__destroy(first);
	bpf_link__destroy(second);
	return second;
}

static void print_together(struct tiers *bpf, const char *way)
{
	struct bpf_link *first = attach(bpf, way, "read_entry"),
			*second = attach(bpf, way, "read_return");

	read_together();
	printf("\"together\":%d,\"together_entries\":%" PRIu64 ",\"together_returns\":%" PRIu64
	       "}\n",
	       READERS, taken(&bpf->bss->entries), taken(&bpf->bss->returns));
	bpf_link__destroy(first);
	bpf_link__destroy(second);
}

int main(void)
{
	static const char *const ways[] = {"fentry", "many", "single"};

	libbpf_set_print(NULL);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null < 0 || pipe(ends))
		err(1, "pipe");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct tiers *bpf = load(ways[i]);

		if (bpf && print_cost(bpf, ways[i]))
			print_together(bpf, ways[i]);
		else
			printf("{\"way\":\"%s\",\"calls\":0}\n", ways[i]);
		tiers__destroy(bpf);
	}
	return 0;
}
