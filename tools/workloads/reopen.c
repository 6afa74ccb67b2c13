/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A task makes a pipe, a socket or an eventfd, waits for it and closes it, over and
 * over: the kernel gives the next one the memory of the last, but it is another thing.
 */
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "workload.h"

enum { MAIN, READER, WRITER };

static const char *const kinds[] = {"pipe", "socket", "eventfd"};
static int laps;

/* The state of a lap, shared by both. */
static _Atomic int lap_begun, lap_done;
static int ends[2], kind;
static char object[48];

static void make(void)
{
	struct stat status;
	char path[64], line[128];
	unsigned id = 0;
	FILE *file;

	switch (kind) {
	case 0:
		WL_CHECK(pipe(ends));
		break;
	case 1:
		WL_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
		break;
	default:
		ends[0] = ends[1] = WL_CHECK(eventfd(0, 0));
	}
	WL_CHECK(fstat(ends[0], &status));
	snprintf(object, sizeof(object), "%s:%llu", kinds[kind], (unsigned long long)status.st_ino);
	if (kind < 2)
		return;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", ends[0]);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "eventfd-id: %u", &id);
	if (file)
		fclose(file);
	/* Before Linux 5.2 there is none. */
	snprintf(object, sizeof(object), id ? "eventfd:%u" : "eventfd", id);
}

static void read_all(int self)
{
	uint64_t count;

	for (int lap = 1; lap <= laps; lap++) {
		kind = wl_random(0, 2);
		make();
		wl->tasks[self].before = wl_now();
		atomic_store(&lap_begun, lap);
		WL_CHECK(read(ends[0], &count, sizeof(count)));
		wl_await(&lap_done, lap);
		close(ends[0]);
		if (ends[1] != ends[0])
			close(ends[1]);
	}
}

static void write_all(int self)
{
	uint64_t one = 1;
	struct wl_act act;

	for (int lap = 1; lap <= laps; lap++) {
		wl_await(&lap_begun, lap);
		wl_await_blocked(READER, SYS_read, ends[0]);
		act = wl_act(self, READER);
		WL_CHECK(write(ends[1], &one, sizeof(one)));
		wl_acted(&act, kinds[kind], kinds[kind], "read", object);
		atomic_store(&lap_done, lap);
	}
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "reopen");

	laps = wl_random(20, 40);
	wl_thread(self, read_all);
	wl_thread(self, write_all);
	wl_join(self, READER);
	wl_join(self, WRITER);
	wl_print();
	return 0;
}
