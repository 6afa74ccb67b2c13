/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A chain of tasks, each of which waits for the next by other means, drawn by the
 * seed: a mutex, a pipe, an eventfd, a socket, a lock of a file. The last sleeps.
 * Variants: threads, processes, and stopped, where the first of the processes is
 * stopped until the second lets it go on.
 */
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>

#include "workload.h"

#define MOST 6 /* tasks */

enum { TAKEN }; /* in wl->numbers: how many locks are taken */

enum sort { MUTEX, PIPE, EVENTFD, SOCKET, FLOCK, SORTS, STOPPED = SORTS };

/* The wait of task k, which task k + 1 ends. */
struct link {
	pthread_mutex_t mutex;
	int ends[2]; /* to read from, to write to; of a lock, the file of each */
	enum sort sort;
};

static const struct {
	const char *hop; /* kind, and kind of the object */
	const char *type, *kind, *call;
} sorts[] = {
	[MUTEX] = {"futex:futex", "unlock", "futex", "futex"},
	[PIPE] = {"pipe:pipe", "pipe", "pipe", "read"},
	[EVENTFD] = {"eventfd:eventfd", "eventfd", "eventfd", "read"},
	[SOCKET] = {"socket:socket", "socket", "socket", "read"},
	[FLOCK] = {"file:file", "unlock", "file", "flock"},
	[STOPPED] = {"stopped:", "signal", "stopped", "*"},
};

static struct link *links;
static uint64_t *times; /* of the first task: before and after */
static int members[MOST], count, locks;
static uint64_t asleep;

static bool is_lock(const struct link *link)
{
	return link->sort == MUTEX || link->sort == FLOCK;
}

static void take(struct link *link, int end)
{
	if (link->sort == MUTEX)
		pthread_mutex_lock(&link->mutex);
	else
		WL_CHECK(flock(link->ends[end], LOCK_EX));
}

static void await(struct link *link)
{
	char bytes[8];

	switch (link->sort) {
	case STOPPED:
		raise(SIGSTOP);
		break;
	case MUTEX:
	case FLOCK:
		take(link, 0);
		break;
	default:
		WL_CHECK(read(link->ends[0], bytes, sizeof(bytes)));
		break;
	}
}

static void let_go(struct link *link, int waiter)
{
	uint64_t one = 1;

	switch (link->sort) {
	case STOPPED:
		WL_CHECK(kill(wl->tasks[waiter].pid, SIGCONT));
		break;
	case MUTEX:
		pthread_mutex_unlock(&link->mutex);
		break;
	case FLOCK:
		WL_CHECK(flock(link->ends[1], LOCK_UN));
		break;
	default:
		WL_CHECK(write(link->ends[1], &one, sizeof(one)));
		break;
	}
}

static void await_waiter(const struct link *link, int waiter)
{
	uint64_t deadline = 0;

	if (link->sort == STOPPED)
		while (wl_state(wl->tasks[waiter].tid) != 'T')
			wl_nap(&deadline, "a stop");
	else
		wl_await_blocked(waiter,
				 link->sort == MUTEX   ? SYS_futex
				 : link->sort == FLOCK ? SYS_flock
						       : SYS_read,
				 link->sort == MUTEX ? (unsigned long)&link->mutex
						     : (unsigned long)link->ends[0]);
}

static void end_wait(int self, int me)
{
	struct link *link = &links[me - 1];
	struct wl_act act = wl_act(self, members[me - 1]);
	struct wl_wait *wait;

	let_go(link, members[me - 1]);
	wait = wl_acted(&act, sorts[link->sort].type, sorts[link->sort].kind,
			sorts[link->sort].call, is_lock(link) ? sorts[link->sort].kind : "");
	if (is_lock(link))
		wl_add_holder(wait, self, act.at_min, wl_now());
}

static void play(int self)
{
	int me = self - members[0];

	if (me > 0 && is_lock(&links[me - 1])) {
		take(&links[me - 1], 1);
		atomic_fetch_add(&wl->numbers[TAKEN], 1);
	}
	wl_await(&wl->numbers[TAKEN], locks);
	if (me < count - 1) {
		wl->tasks[self].before = wl_now();
		await(&links[me]);
		if (me == 0) {
			times[1] = wl_now();
			times[0] = wl->tasks[self].before;
			atomic_store(&wl->tasks[self].step, 1);
		}
	} else {
		for (int i = 0; i < count - 1; i++)
			await_waiter(&links[i], members[i]);
		wl_sleep(asleep);
	}
	if (me > 0)
		end_wait(self, me);
}

static void make_link(struct link *link, bool stopped)
{
	static pthread_mutexattr_t attributes;
	char path[64];

	link->sort = stopped ? STOPPED : wl_random(0, SORTS - 1);
	switch (link->sort) {
	case MUTEX:
		pthread_mutexattr_init(&attributes);
		pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
		pthread_mutex_init(&link->mutex, &attributes);
		break;
	case PIPE:
		WL_CHECK(pipe(link->ends));
		break;
	case EVENTFD:
		link->ends[0] = link->ends[1] = WL_CHECK(eventfd(0, 0));
		break;
	case SOCKET:
		WL_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, link->ends));
		break;
	case FLOCK:
		/* An open file of its own for each: that is what flock() locks for. */
		link->ends[0] = WL_CHECK(memfd_create("lock", 0));
		snprintf(path, sizeof(path), "/proc/self/fd/%d", link->ends[0]);
		link->ends[1] = WL_CHECK(open(path, O_RDWR | O_CLOEXEC));
		break;
	default:
		break;
	}
	locks += is_lock(link);
}

/* All sleep during the last one's sleep, each for its reason. */
static void tell(void)
{
	struct wl_fact *fact = wl_fact(members[0], times[0], times[1]);
	struct wl_charge *charge = wl_charge(fact, members[count - 1], "sleep",
					     asleep - asleep / 50 - 200000, times[1] - times[0]);
	size_t hops = 0, says = 0;

	for (int i = 0; i < count; i++) {
		charge->chain[charge->chain_count++] = members[i];
		hops += snprintf(charge->hops + hops, sizeof(charge->hops) - hops, "%s%s:%s",
				 i ? "|" : "",
				 i < count - 1 ? sorts[links[i].sort].hop : "sleep:timer",
				 i ? sorts[links[i - 1].sort].type : "");
		if (i < count - 1)
			says += snprintf(fact->says + says, sizeof(fact->says) - says,
					 "-%d <- (%s|", wl->tasks[members[i]].tid,
					 links[i].sort == STOPPED ? "stopped" : "");
	}
	wl_copy(fact->says + says, sizeof(fact->says) - says, "slept");
}

int main(int argc, char **argv)
{
	int self = wl_begin(argc, argv, "hops");
	bool stopped = strcmp(wl->variant, "stopped") == 0;
	bool threads = strcmp(wl->variant, "threads") == 0;

	links = wl_shared(sizeof(*links) * MOST);
	times = wl_shared(2 * sizeof(*times));
	count = wl_random(3, MOST);
	asleep = wl_random(5, 20) * 1000000;
	for (int i = 0; i < count - 1; i++)
		make_link(&links[i], stopped && i == 0);
	for (int i = 0; i < count; i++)
		members[i] = self + 1 + i;
	for (int i = 0; i < count; i++) {
		if (threads)
			wl_thread(self, play);
		else
			wl_fork(self, play);
	}
	/* A stop would wake a parent that waits for its child. */
	wl_await(&wl->tasks[members[0]].step, 1);
	for (int i = 0; i < count; i++) {
		if (threads)
			wl_join(self, members[i]);
		else
			wl_reap(self, members[i]);
	}
	tell();
	wl_print();
	return 0;
}
