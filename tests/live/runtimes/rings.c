/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests to an io_uring: rings COUNT SEED. Each is a nop, a read of a file, a timeout or a read
 * of a pipe that is written later; up to eight are under way. Prints for each its id, which is its
 * user_data, its operation, when it was submitted, and when its completion was seen.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES 16
#define MOST	4096
#define FLIGHT	8

struct item {
	int shape;
	long from, to, seen;
	struct __kernel_timespec timeout;
	char buffer[64];
};

static const char *const names[] = {"nop", "read", "timeout", "read"};

static struct item items[MOST];
static struct io_uring_params parameters;
static char *submissions, *completions;
static struct io_uring_sqe *entries;
static int ring, pipes[2], file, left;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint32_t *word(char *map, uint32_t offset)
{
	return (uint32_t *)(map + offset);
}

static void submit(int id)
{
	struct item *item = &items[id];
	uint32_t tail = *word(submissions, parameters.sq_off.tail);
	uint32_t slot = tail & *word(submissions, parameters.sq_off.ring_mask);
	struct io_uring_sqe *entry = &entries[slot];

	memset(entry, 0, sizeof(*entry));
	entry->user_data = (uint64_t)id;
	entry->opcode = item->shape == 0   ? IORING_OP_NOP
			: item->shape == 2 ? IORING_OP_TIMEOUT
					   : IORING_OP_READ;
	entry->fd = item->shape == 1 ? file : item->shape == 3 ? pipes[0] : -1;
	entry->addr = (uint64_t)(uintptr_t)item->buffer;
	entry->len = item->shape == 3 ? 1 : sizeof(item->buffer);
	if (item->shape == 2) {
		item->timeout.tv_nsec = rand() % 500 * 1000;
		entry->addr = (uint64_t)(uintptr_t)&item->timeout;
		entry->len = 1;
	}
	word(submissions, parameters.sq_off.array)[slot] = slot;
	__atomic_store_n(word(submissions, parameters.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
	left++;
	item->from = now();
	syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0);
	item->to = now();
}

/* Takes what is complete, and waits for one if `wait`. */
static void reap(int wait)
{
	uint32_t *head = word(completions, parameters.cq_off.head);

	if (wait)
		syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	while (*head !=
	       __atomic_load_n(word(completions, parameters.cq_off.tail), __ATOMIC_ACQUIRE)) {
		struct io_uring_cqe *all =
			(struct io_uring_cqe *)(completions + parameters.cq_off.cqes);

		items[all[*head & *word(completions, parameters.cq_off.ring_mask)].user_data].seen =
			now();
		__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
		left--;
	}
}

static char *map(size_t size, uint64_t at)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, (off_t)at);
}

int main(int argument_count, char **arguments)
{
	int count = argument_count > 1 ? atoi(arguments[1]) : 0, waiting = 0;

	srand(argument_count > 2 ? (unsigned)atoi(arguments[2]) : 1);
	ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &parameters);
	file = open("/proc/self/exe", O_RDONLY);
	if (ring < 0 || file < 0 || pipe(pipes))
		return 1;
	submissions = map(parameters.sq_off.array + parameters.sq_entries * 4, IORING_OFF_SQ_RING);
	completions =
		map(parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe),
		    IORING_OFF_CQ_RING);
	entries = (struct io_uring_sqe *)map(parameters.sq_entries * sizeof(*entries),
					     IORING_OFF_SQES);
	for (int i = 0; i < count && i < MOST; i++) {
		items[i].shape = rand() % 4;
		submit(i);
		waiting += items[i].shape == 3;
		reap(0);
		for (; left >= FLIGHT || (i + 1 == count && left); reap(1))
			for (; waiting; waiting--)
				if (write(pipes[1], "", 1) != 1)
					return 1;
	}
	usleep(10000);
	for (int i = 0; i < count && i < MOST; i++)
		printf("%d %s %ld %ld %ld\n", i, names[items[i].shape], items[i].from, items[i].to,
		       items[i].seen);
	return 0;
}
