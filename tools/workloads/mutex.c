/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A mutex handed over between three tasks, round after round, each time from one
 * holder through two waiters in a known order. Variants: normal, pi, robust
 * (three threads); shared, shared-pi (three processes that map the lock at
 * different addresses); pidns (three threads of the first process of a pid
 * namespace of its own); flock, posix (three processes, and instead of a mutex a
 * lock on a file, or on a part of one).
 */
#include <sched.h>
#include <sys/file.h>

#include "workload.h"

#define MEMBERS 3

enum { ORDER = 0, ROUND = 3, LOCKED = 4, DONE = 5, MAPPED = 6, START = 7 }; /* in wl->numbers */

static pthread_mutex_t *mutex; /* this process's mapping of it */
static int mutex_fd = -1;
static enum { MUTEX, FLOCK, POSIX } sort;
static const char *const kinds[] = {"futex", "file", "file"}, *const calls[] = {"futex", "flock",
										"fcntl"};
#ifdef SYS_fcntl64
static const long numbers[] = {SYS_futex, SYS_flock, SYS_fcntl64};
#else
static const long numbers[] = {SYS_futex, SYS_flock, SYS_fcntl};
#endif
static int rounds;
static int members[MEMBERS];

/* The observations of the two waiters of a round, shared between processes. */
struct round {
	uint64_t before[MEMBERS];
	uint64_t release_min[MEMBERS];
	uint64_t release_max[MEMBERS];
	_Atomic unsigned long address[MEMBERS];
};
static struct round *current;

static int set_range(short type)
{
	struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = 100, .l_len = 10};

	return fcntl(mutex_fd, F_SETLKW, &range);
}

static void take(void)
{
	if (sort == MUTEX)
		pthread_mutex_lock(mutex);
	else
		WL_CHECK(sort == FLOCK ? flock(mutex_fd, LOCK_EX) : set_range(F_WRLCK));
}

static void let_go(void)
{
	if (sort == MUTEX)
		pthread_mutex_unlock(mutex);
	else
		WL_CHECK(sort == FLOCK ? flock(mutex_fd, LOCK_UN) : set_range(F_UNLCK));
}

static void await_waiter(int member)
{
	uint64_t deadline = 0;

	while (!atomic_load(&current->address[member]))
		wl_nap(&deadline, "a waiter's address");
	wl_await_blocked(members[member], numbers[sort], current->address[member]);
}

static void release(int place, int next)
{
	current->release_min[place] = wl_now();
	let_go();
	current->release_max[place] = wl_now();
	if (next >= 0)
		wl_edge("unlock", members[wl->numbers[ORDER + place]], members[next],
			current->release_min[place], kinds[sort])
			->at_max = current->release_max[place];
}

static void play(int self)
{
	int me = 0;

	while (wl->tasks[members[me]].tid != wl->tasks[self].tid)
		me++;
	for (int round = 1; round <= rounds; round++) {
		int place = 0, first, second;

		wl_await(&wl->numbers[ROUND], round);
		while (wl->numbers[ORDER + place] != me)
			place++;
		first = wl->numbers[ORDER + 1];
		second = wl->numbers[ORDER + 2];
		current->address[me] =
			sort == MUTEX ? (unsigned long)mutex : (unsigned long)mutex_fd;
		if (place == 1)
			wl_await(&wl->numbers[LOCKED], 1);
		if (place == 2) {
			wl_await(&wl->numbers[LOCKED], 1);
			await_waiter(first);
		}
		current->before[place] = wl_now();
		take();
		if (place == 0) {
			atomic_store(&wl->numbers[LOCKED], 1);
			await_waiter(first);
			await_waiter(second);
			wl_sleep(wl_random(100000, 2000000));
			release(0, first);
		} else if (place == 1) {
			wl_spin(wl_random(1000, 500000));
			release(1, second);
		} else {
			release(2, -1);
		}
		atomic_fetch_add(&wl->numbers[DONE], 1);
	}
}

static void log_waits(const int order[MEMBERS])
{
	int holder = members[order[0]], first = members[order[1]], second = members[order[2]];
	struct wl_wait *wait = wl_wait(first, kinds[sort], calls[sort], kinds[sort]);

	wl_wait_times(wait, current->before[1], current->release_min[0], current->release_max[0]);
	wait->ended_by = holder;
	wl_add_holder(wait, holder, current->release_min[0], current->release_max[0]);
	wait = wl_wait(second, kinds[sort], calls[sort], kinds[sort]);
	wl_wait_times(wait, current->before[2], current->release_min[1], current->release_max[1]);
	wait->start_max = current->release_min[0];
	wait->ended_by = first;
	wl_add_holder(wait, holder, current->release_min[0], current->release_max[0]);
	wl_add_holder(wait, first, current->release_min[1], current->release_max[1]);
}

/* The director: picks the order of each round and writes down what it led to. */
static void direct(void)
{
	for (int round = 1; round <= rounds; round++) {
		int order[MEMBERS] = {0, 1, 2};

		for (int i = MEMBERS - 1; i > 0; i--) {
			int j = wl_random(0, i), other = order[i];

			order[i] = order[j];
			order[j] = other;
		}
		for (int i = 0; i < MEMBERS; i++)
			wl->numbers[ORDER + i] = order[i];
		wl->numbers[LOCKED] = 0;
		wl->numbers[DONE] = 0;
		memset(current, 0, sizeof(*current));
		atomic_store(&wl->numbers[ROUND], round);
		wl_await(&wl->numbers[DONE], MEMBERS);
		log_waits(order);
	}
}

static void map_mutex(int pages_before)
{
	/* Pages in front keep the addresses of different processes apart. */
	WL_CHECK(mmap(NULL, (pages_before + 1) * 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0) == MAP_FAILED
			 ? -1
			 : 0);
	mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, mutex_fd, 0);
	if (mutex == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
}

static void play_process(int self)
{
	/* One after the other: the page they share has a lock of its own. */
	wl_await(&wl->numbers[MAPPED], self - members[0]);
	if (sort == MUTEX) {
		map_mutex(self);
	} else {
		char path[64];

		/* An open file of its own: that is what flock() locks for. */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", mutex_fd);
		mutex_fd = WL_CHECK(open(path, O_RDWR | O_CLOEXEC));
	}
	atomic_fetch_add(&wl->numbers[MAPPED], 1);
	wl_await(&wl->numbers[START], 1);
	play(self);
}

static void play_thread(int self)
{
	wl_await(&wl->numbers[START], 1);
	play(self);
}

static void run_threads(int creator)
{
	for (int i = 0; i < MEMBERS; i++)
		members[i] = wl_thread(creator, play_thread);
	atomic_store(&wl->numbers[START], 1);
	direct();
	for (int i = 0; i < MEMBERS; i++)
		wl_join(creator, members[i]);
}

static void run_processes(int creator)
{
	int base = wl->task_count;

	for (int i = 0; i < MEMBERS; i++)
		members[i] = base + i;
	for (int i = 0; i < MEMBERS; i++)
		wl_fork(creator, play_process);
	wl_await(&wl->numbers[MAPPED], MEMBERS);
	atomic_store(&wl->numbers[START], 1);
	direct();
	for (int i = 0; i < MEMBERS; i++)
		wl_reap(creator, members[i]);
}

/* The threads' tids are 2, 3, 4 in the namespace: so the lock names its owners. */
static void run_namespace(int creator)
{
	uint64_t before = wl_now();
	int first;

	if (unshare(CLONE_NEWPID) < 0)
		wl_skip("a new pid namespace is refused");
	first = wl_fork(creator, run_threads);
	wl_reap(creator, first);
	/* The namespace's first process ends only when all tids in it are free again. */
	for (int task = first + 1; task <= first + MEMBERS; task++)
		wl_edge("wake|exit", task, first, before, "")->optional = true;
}

int main(int argc, char **argv)
{
	int main_task = wl_begin(argc, argv, "mutex");
	const char *variant = wl->variant;
	pthread_mutexattr_t attributes;
	bool shared = strncmp(variant, "shared", 6) == 0;

	sort = strcmp(variant, "flock") == 0   ? FLOCK
	       : strcmp(variant, "posix") == 0 ? POSIX
					       : MUTEX;

	rounds = wl_random(5, 12);
	current = wl_shared(sizeof(*current));
	mutex_fd = WL_CHECK(memfd_create("mutex", 0));
	WL_CHECK(ftruncate(mutex_fd, 4096));
	map_mutex(0);
	pthread_mutexattr_init(&attributes);
	if (strstr(variant, "pi") && strcmp(variant, "pidns") != 0)
		pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	if (strcmp(variant, "robust") == 0)
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	if (shared)
		pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(mutex, &attributes);
	if (strcmp(variant, "pidns") == 0)
		run_namespace(main_task);
	else if (shared || sort != MUTEX)
		run_processes(main_task);
	else
		run_threads(main_task);
	wl_print();
	return 0;
}
