/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Words that a task waits for, and whose they are. Variants:
 *
 *  like    words that are no locks, in memory that looks like one of glibc's: an event in
 *          state 2; the same beside a generation, a tid and a count; an event in state 3
 *          beside a tid; and memory that cannot be told from a mutex's. Nobody holds any.
 *  pidns   a mutex that is shared with a process of another pid namespace, whose tid there
 *          is that of a bystander here. The waiter gives up.
 *  memory  two processes that share their memory have one lock in it, for three tasks.
 */
#include <linux/futex.h>
#include <sched.h>

#include "workload.h"

/* Memory that is laid out as glibc's mutex: value, count, owner, users, kind; and glibc's rwlock's
 * after its third word. */
enum { VALUE, COUNT, OWNER, USERS, KIND };

static long futex_call(_Atomic int *word, int operation, int value, uint64_t timeout)
{
	struct timespec time = {.tv_nsec = (long)timeout};

	return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value,
		       timeout ? &time : NULL, NULL, 0);
}

/* ---- like ---- */

enum { EVENT, COUNTED, STATE3, MUTEX, WAYS };

static _Atomic int *words;
static uint64_t timeout, waited_until;
static int way;

static void wait_for_word(int self)
{
	int value = way == STATE3 ? 3 : 2;

	wl->tasks[self].before = wl_now();
	atomic_store(&wl->tasks[self].step, 1);
	futex_call(words, FUTEX_WAIT, value, way == EVENT ? 0 : timeout);
	waited_until = wl_now();
	atomic_store(&wl->tasks[self].step, 2);
}

static void stand_by(int self)
{
	wl_await(&wl->tasks[self].step, 1);
}

static void fill_words(int tid)
{
	/* The words before are none of an rwlock that a writer holds. */
	words = (_Atomic int *)calloc(128, sizeof(*words)) + 64;
	words[VALUE] = way == STATE3 ? 3 : 2;
	if (way == COUNTED || way == MUTEX) {
		words[OWNER] = tid;
		words[USERS] = 1;
	}
	if (way == COUNTED)
		words[COUNT] = (int)wl_random(1, 1000);
	if (way == STATE3)
		words[KIND] = tid;
}

static void try_way(int creator, int bystander)
{
	struct wl_wait *wait;
	struct wl_act act;
	struct wl_fact *fact;
	uint64_t from;
	int waiter;

	fill_words(wl->tasks[bystander].tid);
	timeout = wl_random(10, 30) * 1000000;
	from = wl_now();
	waiter = wl_thread(creator, wait_for_word);
	if (way == EVENT) {
		wl_await_blocked(waiter, SYS_futex, (unsigned long)words);
		wl_sleep(wl_random(1, 10) * 1000000);
		atomic_store(words, 0);
		act = wl_act(creator, waiter);
		futex_call(words, FUTEX_WAKE, 1, 0);
		wl_acted(&act, "wake", "futex", "futex", "futex");
	} else {
		wl_await(&wl->tasks[waiter].step, 2);
		if (way != MUTEX) {
			wait = wl_wait(waiter, "futex", "futex", "futex");
			wl_wait_times(wait, wl->tasks[waiter].before,
				      wl->tasks[waiter].before + timeout, waited_until);
			wait->ended_by = WL_NOBODY;
		} else {
			wl_rule("\"rule\":\"guess\",\"tid\":%d,\"holder\":%d,\"from\":%llu,\"to\":%"
				"llu",
				wl->tasks[waiter].tid, wl->tasks[bystander].tid,
				(unsigned long long)wl->tasks[waiter].before,
				(unsigned long long)wl_now());
		}
	}
	if (way != MUTEX) {
		fact = wl_fact(waiter, from, wl_now());
		wl_charge(fact, bystander, "*", 0, 0);
	}
	wl_join(creator, waiter);
}

static void run_like(int creator)
{
	int order[WAYS] = {EVENT, COUNTED, STATE3, MUTEX}, bystander;

	for (int i = WAYS - 1; i > 0; i--) {
		int j = (int)wl_random(0, (uint64_t)i), other = order[i];

		order[i] = order[j];
		order[j] = other;
	}
	bystander = wl_thread(creator, stand_by);
	for (int i = 0; i < WAYS; i++) {
		way = order[i];
		try_way(creator, bystander);
	}
	atomic_store(&wl->tasks[bystander].step, 1);
	wl_join(creator, bystander);
}

/* ---- pidns ---- */

enum { HELD, GIVEN_UP, REFUSED }; /* in wl->numbers */

static pthread_mutex_t *mutex;
static int bystander;

static void hold(int self)
{
	(void)self;
	pthread_mutex_lock(mutex);
	atomic_store(&wl->numbers[HELD], 1);
	wl_await(&wl->numbers[GIVEN_UP], 1);
	pthread_mutex_unlock(mutex);
}

/* The first process of the namespace. Its next thread gets the bystander's tid there. */
static void begin_namespace(int self)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	char text[16];
	int size = snprintf(text, sizeof(text), "%d", wl->tasks[bystander].tid - 1);

	if (fd < 0 || write(fd, text, (size_t)size) != size) {
		atomic_store(&wl->numbers[REFUSED], 1);
		return;
	}
	close(fd);
	wl_join(self, wl_thread(self, hold));
}

static void give_up(int creator, uint64_t from)
{
	uint64_t before, after;
	struct timespec until;
	struct wl_wait *wait;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)wl_random(10, 30) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	before = wl_now();
	if (pthread_mutex_timedlock(mutex, &until) == 0)
		wl_die("the mutex was free");
	after = wl_now();
	wait = wl_wait(creator, "futex", "futex", "futex");
	wl_wait_times(wait, before, before, after);
	wait->start_max = after;
	wait->ended_by = WL_NOBODY;
	wl_charge(wl_fact(creator, from, after), bystander, "*", 0, 0);
}

static void run_namespaces(int creator)
{
	pthread_mutexattr_t attributes;
	uint64_t before = wl_now();
	int first;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	mutex = wl_shared(4096);
	pthread_mutex_init(mutex, &attributes);
	bystander = wl_thread(creator, stand_by);
	if (unshare(CLONE_NEWPID) < 0)
		wl_skip("a new pid namespace is refused");
	first = wl_fork(creator, begin_namespace);
	while (!atomic_load(&wl->numbers[HELD]) && !atomic_load(&wl->numbers[REFUSED]))
		wl_sleep(100000);
	if (atomic_load(&wl->numbers[REFUSED]))
		wl_skip("tids cannot be chosen");
	give_up(creator, wl_now());
	atomic_store(&wl->numbers[GIVEN_UP], 1);
	wl_reap(creator, first);
	/* The namespace's first process ends only when all tids in it are free again. */
	wl_edge("wake|exit", first + 1, first, before, "")->optional = true;
	atomic_store(&wl->tasks[bystander].step, 1);
	wl_join(creator, bystander);
}

/* ---- memory ---- */

enum { FIRST_RELEASE, SECOND_RELEASE, LAST_RELEASE, RELEASES };

static _Atomic int lock[8];
static _Atomic bool may_end;
static uint64_t release_min[RELEASES], release_max[RELEASES];

/* As glibc's mutex does it. It uses no thread-local memory: the other process has this one's. */
static void take(int tid)
{
	int found = 0;

	atomic_fetch_add(&lock[USERS], 1);
	if (!atomic_compare_exchange_strong(&lock[VALUE], &found, 1))
		while (atomic_exchange(&lock[VALUE], 2) != 0)
			futex_call(&lock[VALUE], FUTEX_WAIT, 2, 0);
	atomic_store(&lock[OWNER], tid);
}

static void let_go(int number)
{
	atomic_store(&lock[OWNER], 0);
	atomic_fetch_sub(&lock[USERS], 1);
	release_min[number] = wl_now();
	if (atomic_exchange(&lock[VALUE], 0) == 2)
		futex_call(&lock[VALUE], FUTEX_WAKE, 1, 0);
	release_max[number] = wl_now();
}

static int run_process(void *argument)
{
	const struct timespec nap = {.tv_nsec = 100000};
	struct wl_task *self = argument;
	int tid = (int)syscall(SYS_gettid);

	self->pid = tid;
	self->before = self->named = wl_now();
	atomic_store(&self->tid, tid);
	take(tid);
	wl_spin(2000000);
	let_go(SECOND_RELEASE);
	while (!atomic_load(&may_end))
		syscall(SYS_nanosleep, &nap, NULL);
	return 0;
}

static void hold_first(int self)
{
	take(wl->tasks[self].tid);
	atomic_store(&wl->numbers[HELD], 1);
	wl_await_blocked(0, SYS_futex, (unsigned long)lock);
	wl_sleep(wl_random(1, 5) * 1000000);
	let_go(FIRST_RELEASE);
}

static struct wl_wait *log_wait(int task, int by, int release)
{
	struct wl_wait *wait = wl_wait(task, "futex", "futex", "futex");

	wl_wait_times(wait, wl->tasks[task].before, release_min[release], release_max[release]);
	wait->start_max = release_min[FIRST_RELEASE];
	wait->ended_by = by;
	wl_edge("unlock", by, task, release_min[release], "futex")->at_max = release_max[release];
	return wait;
}

static void run_memory(int creator)
{
	char *stack = (char *)wl_shared(65536);
	int holder = wl_thread(creator, hold_first), process;
	struct wl_wait *wait;
	uint64_t before;

	wl_await(&wl->numbers[HELD], 1);
	process = wl_new_task();
	wl_copy(wl->tasks[process].comm, sizeof(wl->tasks[process].comm), wl->tasks[creator].comm);
	before = wl_now();
	WL_CHECK(clone(run_process, stack + 65536, CLONE_VM | SIGCHLD, &wl->tasks[process]));
	wl_edge("fork", creator, process, before, "");
	wl_await_blocked(process, SYS_futex, (unsigned long)lock);
	wl->tasks[creator].before = wl_now();
	take(wl->tasks[creator].tid);
	let_go(LAST_RELEASE);
	before = wl_now();
	atomic_store(&may_end, true);
	if (wait4(wl->tasks[process].pid, NULL, 0, NULL) < 0)
		wl_die("wait4: %s", strerror(errno));
	wl_edge("exit", process, creator, before, "")->optional = true;
	/* The holder may not have returned from its release before all others are done. */
	wl_join(creator, holder);
	wait = log_wait(process, holder, FIRST_RELEASE);
	wl_add_holder(wait, holder, release_min[FIRST_RELEASE], release_max[FIRST_RELEASE]);
	wait = log_wait(creator, process, SECOND_RELEASE);
	wl_add_holder(wait, holder, release_min[FIRST_RELEASE], release_max[FIRST_RELEASE]);
	wl_add_holder(wait, process, release_min[SECOND_RELEASE], release_max[SECOND_RELEASE]);
}

int main(int argc, char **argv)
{
	int creator = wl_begin(argc, argv, "owner");

	if (strcmp(wl->variant, "pidns") == 0)
		run_namespaces(creator);
	else if (strcmp(wl->variant, "memory") == 0)
		run_memory(creator);
	else
		run_like(creator);
	wl_print();
	return 0;
}
