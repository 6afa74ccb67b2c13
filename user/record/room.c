/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory and the open files that a recorder needs, and what limits leave it. The kernel
 * kills what needs more, so the rings are chosen to fit, or the recording is refused.
 *
 * The need was measured: loading peaks at 56 MiB, and at 9 MiB more for each program that is
 * verified beside another one. Each CPU takes its ring and buffers of its drain, and stacks take
 * the heap of unwind tables and the names of what they met.
 */
#include "record/room.h"
#include "record/recorder.h"
#include "record/stream/kernel.h"

#include <errno.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/memory_left.h"

#define NEED_BASE     (60ull << 20)
#define NEED_A_CPU    (4ull << 20)
#define NEED_CPUS     (168ull << 20) /* of all CPUs at most: tools/many_cpus.c measures it */
#define NEED_STACKS   (72ull << 20)
#define NEED_A_HELPER (16ull << 20) /* that verifies a program meanwhile */
#define RING_LEAST    (64ull << 10) /* of those that are chosen here */
#define TRIES	      5
#define TRY_AFTER     100000000 /* ns */
#define MEBIBYTES(n)  ((double)(n) / (1 << 20))

#define RING_SIZE_MAX	(8UL << 20)
#define RING_SIZE_TOTAL (512UL << 20)

static size_t default_ring_size(unsigned cpus)
{
	size_t size = RING_SIZE_MAX;

	while (size > RING_SIZE_TOTAL / cpus && size > 65536)
		size /= 2;
	return size;
}

/*
 * The size of a CPU's two rings together. Half of it is a BPF ring buffer,
 * whose size must be a power of two and a multiple of the page size.
 */
size_t clew_ring_size(size_t wanted, unsigned cpus)
{
	size_t size = 8 * sysconf(_SC_PAGESIZE);

	wanted = wanted ? wanted : default_ring_size(cpus);
	while (size < wanted)
		size *= 2;
	return size;
}

static uint64_t need(unsigned cpus, uint64_t ring, bool stacks)
{
	uint64_t buffers = cpus * NEED_A_CPU;

	return NEED_BASE + cpus * ring + (buffers < NEED_CPUS ? buffers : NEED_CPUS) +
	       (stacks ? NEED_STACKS : 0);
}

/* The memory that is left, once what processes before have freed had time to come back. */
static uint64_t room_for(uint64_t needed)
{
	uint64_t left = memory_left_in_groups();

	for (int i = 0; i < TRIES && left < needed; i++) {
		nanosleep(&(struct timespec){.tv_nsec = TRY_AFTER}, NULL);
		left = memory_left_in_groups();
	}
	return left;
}

int clew_recorder_fit(struct clew_recorder_options *options, struct clew_message *message)
{
	int cpus = clew_kernel_cpus();
	bool stacks = options->stack_threshold != 0, dropped = false;
	uint64_t left, ring, usual;

	message->text[0] = '\0';
	if (cpus <= 0)
		return 0; /* clew_recorder_open() says so */
	ring = usual = clew_ring_size(options->ring_size, (unsigned)cpus);
	left = room_for(need((unsigned)cpus, ring, stacks));
	if (left < need((unsigned)cpus, ring, stacks) && options->stacks_if_possible) {
		stacks = false;
		dropped = true;
		options->stack_threshold = 0;
	}
	while (!options->ring_size && ring > RING_LEAST &&
	       left < need((unsigned)cpus, ring, stacks))
		ring /= 2;
	if (left < need((unsigned)cpus, ring, stacks))
		return clew_say(message, -ENOMEM,
				"recording needs %.0f MiB of memory, and this memory cgroup has "
				"room for %.0f MiB: raise its limit, or record from outside it",
				MEBIBYTES(need((unsigned)cpus, ring, stacks)), MEBIBYTES(left));
	if (ring != usual) {
		options->ring_size = ring;
		clew_say(message, 0,
			 "this memory cgroup has room for %.0f MiB: %seach CPU's ring has %.0f "
			 "KiB, and may overflow sooner",
			 MEBIBYTES(left), dropped ? "no stacks are taken, " : "",
			 (double)ring / 1024);
	} else if (dropped) {
		clew_say(message, 0,
			 "this memory cgroup has room for %.0f MiB: no stacks are taken",
			 MEBIBYTES(left));
	}
	return 0;
}

size_t clew_room_for_helpers(size_t wanted)
{
	uint64_t left = memory_left_in_groups(),
		 most = left > NEED_BASE ? (left - NEED_BASE) / NEED_A_HELPER : 0;

	return most < wanted ? most : wanted;
}

void clew_recorder_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
