/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A token goes round a ring of tasks through pipes; then a writer waits for room
 * in a full pipe until a reader makes some. Variants: threads, processes.
 */
#include "workload.h"

#define MOST 6

static int members[MOST], ends[MOST + 1][2], count, laps;
static char object[MOST + 1][48];

static void pass(int self, int me)
{
	int next = (me + 1) % count;
	struct wl_act act;

	wl_await_blocked(members[next], SYS_read, ends[next][0]);
	wl_sleep(wl_random(1000, 200000));
	act = wl_act(self, members[next]);
	WL_CHECK(write(ends[next][1], "x", 1));
	wl_acted(&act, "pipe", "pipe", "read", object[next]);
}

static void fill(int self, int drainer)
{
	char page[4096] = "";

	WL_CHECK(fcntl(ends[count][1], F_SETPIPE_SZ, 4096));
	WL_CHECK(write(ends[count][1], page, sizeof(page)));
	wl->tasks[self].before = wl_now();
	atomic_store(&wl->tasks[drainer].step, 1);
	WL_CHECK(write(ends[count][1], page, 1));
}

static void drain(int self, int filler)
{
	struct wl_act act;
	char page[4096];

	wl_await(&wl->tasks[self].step, 1);
	wl_await_blocked(filler, SYS_write, ends[count][1]);
	wl_sleep(wl_random(1000, 200000));
	act = wl_act(self, filler);
	WL_CHECK(read(ends[count][0], page, sizeof(page)));
	wl_acted(&act, "pipe", "pipe", "write", object[count]);
}

static void play(int self)
{
	int me = self - members[0];
	char byte;

	for (int lap = 0; lap < laps; lap++) {
		wl->tasks[self].before = wl_now();
		WL_CHECK(read(ends[me][0], &byte, 1));
		/* The last pass of all would find nobody reading. */
		if (lap < laps - 1 || me < count - 1)
			pass(self, me);
	}
	if (me == 0)
		fill(self, members[1]);
	else if (me == 1)
		drain(self, members[0]);
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "pipe");
	bool processes = strcmp(wl->variant, "processes") == 0;
	struct wl_act act;

	count = wl_random(3, MOST);
	laps = wl_random(3, 8);
	for (int i = 0; i <= count; i++) {
		struct stat status;

		WL_CHECK(pipe(ends[i]));
		WL_CHECK(fstat(ends[i][0], &status));
		snprintf(object[i], sizeof(object[i]), "pipe:%llu",
			 (unsigned long long)status.st_ino);
	}
	for (int i = 0; i < count; i++)
		members[i] = self + 1 + i;
	for (int i = 0; i < count; i++) {
		if (processes)
			wl_fork(self, play);
		else
			wl_thread(self, play);
	}
	wl_await_blocked(members[0], SYS_read, ends[0][0]);
	act = wl_act(self, members[0]);
	WL_CHECK(write(ends[0][1], "x", 1));
	wl_acted(&act, "pipe", "pipe", "read", object[0]);
	for (int i = 0; i < count; i++) {
		if (processes)
			wl_reap(self, members[i]);
		else
			wl_join(self, members[i]);
	}
	wl_print();
	return 0;
}
