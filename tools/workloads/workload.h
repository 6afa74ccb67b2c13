/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the workloads: seed, names, tasks, and the log of what
 * they did, printed at the end as one JSON object.
 *
 * A workload knows its own causal graph because each of its acts happens when it
 * can have but one effect: before a task releases another it looks in /proc that
 * the other is off the CPU inside the call in question. Tasks that have nothing
 * to do nap, so that nothing but a timer wakes them. The log is shared memory,
 * written without locks; nothing is printed and no memory is mapped while the
 * workload runs.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define WL_TASKS   64
#define WL_EDGES   8192
#define WL_WAITS   1024
#define WL_FACTS   16
#define WL_TARGETS 12
#define WL_HOLDERS 6
#define WL_CHARGES 6
#define WL_RULES   512

#define WL_ANY_ARGUMENT ULONG_MAX
#define WL_NOBODY	(-1)
#define WL_UNCHECKED	(-2)
#define WL_FINE		__attribute__((unused)) static

struct wl_task {
	char comm[16];
	_Atomic int tid; /* in the initial pid namespace; 0 until others may look at it */
	int pid;
	uint64_t born;
	uint64_t named;		 /* until then it has its creator's name */
	uint64_t leaving;	 /* before it ends */
	_Atomic uint64_t before; /* when it began the call in which it now waits */
	_Atomic int ready;
	_Atomic int joiner; /* who waits for its end, WL_NOBODY yet */
	_Atomic int step;   /* the workload's own use */
	pthread_t thread;
	void (*function)(int self);
};

struct wl_edge {
	char type[16];
	int from;
	int to[WL_TARGETS];
	int to_count;
	bool optional; /* may be there: neither missed nor wrong */
	uint64_t at_min;
	uint64_t at_max;
	uint64_t until;	   /* when its destination is met at the latest, 0: at_max */
	char object[48];   /* kind, kind:number or empty */
	char evidence[24]; /* alternatives divided by '|' */
	char context[24];  /* likewise, "" for any */
};

struct wl_holder {
	int task;
	uint64_t to_min;
	uint64_t to_max;
};

struct wl_wait {
	int task;
	char kind[32]; /* alternatives divided by '|' */
	char call[48]; /* alternatives divided by '|', "" for none, "*" for any */
	uint64_t start_min;
	uint64_t start_max;
	uint64_t end_min;
	uint64_t end_max;
	int ended_by; /* a task, WL_NOBODY or WL_UNCHECKED */
	struct wl_holder holders[WL_HOLDERS];
	int holder_count; /* WL_UNCHECKED: the list is not checked */
	char object[48];
	char context[24]; /* of the wake: alternatives divided by '|', "" for task if a task ended
			     it and else any */
	uint64_t expires_min; /* of a timer; 0: not checked */
	uint64_t expires_max;
};

/* This much of `task`'s time must be charged to `charged` under `kind`. */
struct wl_charge {
	int task;      /* or WL_NOBODY: any */
	char kind[48]; /* alternatives divided by '|', "*" for any */
	uint64_t min;
	uint64_t max;
	int by[WL_TARGETS]; /* of a run queue's delay: who may have had the CPU */
	int by_count;
	int chain[WL_TARGETS];
	int chain_count;
	bool behind; /* and all that the chain's last waits for */
	bool cycle;
	char hops[192]; /* of the chain, divided by '|': kind of wait, kind of object and the
			   dependency that led there, divided by ':', each a word or "*"; "": not
			   checked */
};

struct wl_fact {
	int task;
	uint64_t from;
	uint64_t to;
	struct wl_charge charges[WL_CHARGES];
	int charge_count;
	uint64_t slack; /* ns by which its sleeps may last too long without an interrupt being late;
			   0: not checked */
	char says[160]; /* divided by '|': what the text of one cause must hold */
};

struct wl_log {
	char workload[32];
	char variant[32];
	uint64_t seed;
	uint64_t start;
	char claims[160];
	char skip[160];
	char place[160]; /* a directory with what only root can make: file systems, namespaces,
			    groups */
	_Atomic int numbers[32]; /* the workload's own use */
	_Atomic int task_count;
	_Atomic int edge_count;
	_Atomic int wait_count;
	_Atomic int fact_count;
	_Atomic int rule_count;
	struct wl_task tasks[WL_TASKS];
	struct wl_edge edges[WL_EDGES];
	struct wl_wait waits[WL_WAITS];
	struct wl_fact facts[WL_FACTS];
	char rules[WL_RULES][768]; /* JSON: what must hold where single acts are not known */
};

static struct wl_log *wl;
static int wl_log_fd = -1;
static _Thread_local uint64_t wl_random_state;

WL_FINE uint64_t wl_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* The time that the calling thread has run, by its own clock: without interrupts and what the
 * hypervisor took, on most kernels. */
WL_FINE uint64_t wl_own_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* The time that a thread's own clock leaves out, on one CPU or (-1) on all, since the machine's
 * start: in steps of the clock's tick. */
WL_FINE uint64_t wl_nobodys_time(int cpu)
{
	unsigned long long irq = 0, softirq = 0, steal = 0;
	char line[512], name[16] = "cpu ";
	FILE *file = fopen("/proc/stat", "re");

	if (cpu >= 0)
		snprintf(name, sizeof(name), "cpu%d ", cpu);
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0)
			sscanf(line + strlen(name), "%*u %*u %*u %*u %*u %llu %llu %llu", &irq,
			       &softirq, &steal);
	if (file)
		fclose(file);
	return (irq + softirq + steal) * (1000000000 / sysconf(_SC_CLK_TCK));
}

__attribute__((noreturn, format(printf, 1, 2))) WL_FINE void wl_die(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s: ", wl ? wl->workload : "workload");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	kill(0, SIGTERM);
	_exit(1);
}

#define WL_CHECK(call)                                                                             \
	({                                                                                         \
		__typeof__(call) wl_result = (call);                                               \
		if (wl_result < 0)                                                                 \
			wl_die("%s: %s", #call, strerror(errno));                                  \
		wl_result;                                                                         \
	})

/* splitmix64, one state a thread, seeded from the run's seed and the task. */
WL_FINE uint64_t wl_random(uint64_t low, uint64_t high)
{
	uint64_t value = (wl_random_state += 0x9e3779b97f4a7c15ull);

	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
	return low + (value ^ (value >> 31)) % (high - low + 1);
}

WL_FINE void wl_sleep(uint64_t ns)
{
	struct timespec time = {.tv_sec = ns / 1000000000u, .tv_nsec = ns % 1000000000u};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time) == EINTR)
		;
}

WL_FINE void wl_spin(uint64_t ns)
{
	uint64_t end = wl_now() + ns;

	while (wl_now() < end)
		;
}

WL_FINE void wl_nap(uint64_t *deadline, const char *what)
{
	if (!*deadline)
		*deadline = wl_now() + 20000000000ull;
	else if (wl_now() > *deadline)
		wl_die("waited 20 s for %s", what);
	wl_sleep(30000);
}

WL_FINE void wl_await(_Atomic int *word, int value)
{
	uint64_t deadline = 0;

	while (atomic_load(word) != value)
		wl_nap(&deadline, "a word in memory");
}

/* Naps until a word is not zero; returns it. */
WL_FINE int wl_await_order(_Atomic int *word)
{
	uint64_t deadline = 0;
	int order;

	while ((order = atomic_load(word)) == 0)
		wl_nap(&deadline, "an order");
	return order;
}

WL_FINE void wl_own_ids(int *ret_pid, int *ret_tid)
{
	char link[64] = "";

	/* /proc is the initial namespace's, and so are the numbers in this link. */
	if (readlink("/proc/thread-self", link, sizeof(link) - 1) < 0 ||
	    sscanf(link, "%d/task/%d", ret_pid, ret_tid) != 2)
		wl_die("/proc/thread-self: %s", strerror(errno));
}

WL_FINE char wl_state(int tid)
{
	char path[64], text[256], *end;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return 0;
	text[size] = '\0';
	end = strrchr(text, ')');
	return end ? end[2] : 0;
}

/*
 * True if a task sleeps in system call `number` with that first argument. The call's
 * file alone shows it too for one that is stopped, or woken but not yet ready.
 */
WL_FINE bool wl_is_blocked(int tid, long number, unsigned long argument)
{
	char path[64], text[256];
	unsigned long first = 0;
	long call = -1;
	char state;
	ssize_t size;
	int fd;

	if (tid == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return false;
	text[size] = '\0';
	if (sscanf(text, "%ld 0x%lx", &call, &first) < 1)
		return false;
	if (call != number || (argument != WL_ANY_ARGUMENT && first != argument))
		return false;
	state = wl_state(tid);
	return state == 'S' || state == 'D';
}

WL_FINE void wl_await_blocked(int task, long number, unsigned long argument)
{
	uint64_t deadline = 0;

	while (!wl_is_blocked(wl->tasks[task].tid, number, argument))
		wl_nap(&deadline, "a task to block");
}

WL_FINE long wl_voluntary_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* The number of times that it lost its CPU while it could have run. */
WL_FINE long wl_preemptions(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

WL_FINE void wl_copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
}

/* A name that is a test of its own for whoever prints it. */
WL_FINE void wl_make_name(char name[16])
{
	static const char *const heads[] = {"ada",  "bo",   "cy",   "dr",   "Eva", "fn",
					    "go x", "h\"i", "i\\o", "j(k)", "k:v", "lu"};
	static const char *const tails[] = {"rin", "-9", "_t", "zz", ".so", "/0", "'s", " ok"};

	snprintf(name, 16, "%s%s%u", heads[wl_random(0, 11)], tails[wl_random(0, 7)],
		 (unsigned)wl_random(0, 999));
}

/* ---- the log ---- */

WL_FINE struct wl_edge *wl_edge(const char *type, int from, int to, uint64_t at_min,
				const char *object)
{
	int index = atomic_fetch_add(&wl->edge_count, 1);
	struct wl_edge *edge = &wl->edges[index];

	if (index >= WL_EDGES)
		wl_die("too many edges");
	edge->at_max = wl_now();
	wl_copy(edge->type, sizeof(edge->type), type);
	edge->from = from;
	edge->to[0] = to;
	edge->to_count = 1;
	edge->at_min = at_min;
	wl_copy(edge->object, sizeof(edge->object), object);
	wl_copy(edge->evidence, sizeof(edge->evidence), "exact");
	return edge;
}

WL_FINE struct wl_wait *wl_wait(int task, const char *kind, const char *call, const char *object)
{
	int index = atomic_fetch_add(&wl->wait_count, 1);
	struct wl_wait *wait = &wl->waits[index];

	if (index >= WL_WAITS)
		wl_die("too many waits");
	wait->task = task;
	wl_copy(wait->kind, sizeof(wait->kind), kind);
	wl_copy(wait->call, sizeof(wait->call), call);
	wl_copy(wait->object, sizeof(wait->object), object);
	wait->ended_by = WL_UNCHECKED;
	return wait;
}

WL_FINE void wl_wait_times(struct wl_wait *wait, uint64_t start_min, uint64_t end_min,
			   uint64_t end_max)
{
	wait->start_min = start_min;
	wait->start_max = end_min;
	wait->end_min = end_min;
	wait->end_max = end_max;
}

WL_FINE void wl_add_holder(struct wl_wait *wait, int task, uint64_t to_min, uint64_t to_max)
{
	wait->holders[wait->holder_count++] =
		(struct wl_holder){.task = task, .to_min = to_min, .to_max = to_max};
}

WL_FINE struct wl_fact *wl_fact(int task, uint64_t from, uint64_t to)
{
	struct wl_fact *fact = &wl->facts[atomic_fetch_add(&wl->fact_count, 1)];

	fact->task = task;
	fact->from = from;
	fact->to = to;
	return fact;
}

WL_FINE struct wl_charge *wl_charge(struct wl_fact *fact, int task, const char *kind, uint64_t min,
				    uint64_t max)
{
	struct wl_charge *charge = &fact->charges[fact->charge_count++];

	charge->task = task;
	wl_copy(charge->kind, sizeof(charge->kind), kind);
	charge->min = min;
	charge->max = max;
	return charge;
}

/* The members of a JSON object that says what must hold; see rules in tests/live/_rules.py. */
__attribute__((format(printf, 1, 2))) WL_FINE void wl_rule(const char *format, ...)
{
	int index = atomic_fetch_add(&wl->rule_count, 1), size;
	va_list arguments;

	if (index >= WL_RULES)
		wl_die("too many rules");
	va_start(arguments, format);
	size = vsnprintf(wl->rules[index], sizeof(wl->rules[index]), format, arguments);
	va_end(arguments);
	if (size >= (int)sizeof(wl->rules[index]))
		wl_die("a rule is too long");
}

/*
 * In from..to the task slept `count` times (as the kernel counted: its voluntary
 * switches), in one of these calls, in waits of one of these kinds. If `edge` is not
 * "", one of this type from `origin` (WL_UNCHECKED: any of the workload's) ended each.
 */
WL_FINE void wl_slept(int task, uint64_t from, uint64_t to, long count, const char *calls,
		      const char *kinds, const char *edge, int origin, const char *object)
{
	char tid[16] = "";

	if (origin >= 0)
		snprintf(tid, sizeof(tid), "%d", wl->tasks[origin].tid);
	wl_rule("\"rule\":\"waits\",\"tid\":%d,\"from\":%llu,\"to\":%llu,\"count\":[%ld,%ld],"
		"\"calls\":\"%s\",\"kinds\":\"%s\",\"edge\":\"%"
		"s\","
		"\"origins\":[%s],\"object\":\"%s\"",
		wl->tasks[task].tid, (unsigned long long)from, (unsigned long long)to, count, count,
		calls, kinds, edge, tid, object);
}

/*
 * A release: one task ends the wait of another that sleeps already. Begin it right
 * before the act and end it right after: that logs the edge and the wait.
 */
struct wl_act {
	int from;
	int to;
	uint64_t before;
	uint64_t at_min;
};

WL_FINE struct wl_act wl_act(int from, int to)
{
	struct wl_act act = {.from = from, .to = to, .before = wl->tasks[to].before};

	act.at_min = wl_now();
	return act;
}

WL_FINE struct wl_wait *wl_acted(const struct wl_act *act, const char *type, const char *kind,
				 const char *call, const char *object)
{
	uint64_t at_max = wl_now();
	struct wl_wait *wait;

	wl_edge(type, act->from, act->to, act->at_min, object)->at_max = at_max;
	wait = wl_wait(act->to, kind, call, object);
	wl_wait_times(wait, act->before, act->at_min, at_max);
	wait->ended_by = act->from;
	return wait;
}

/* ---- tasks ---- */

WL_FINE int wl_new_task(void)
{
	int task = atomic_fetch_add(&wl->task_count, 1);

	if (task >= WL_TASKS)
		wl_die("too many tasks");
	wl_make_name(wl->tasks[task].comm);
	wl->tasks[task].joiner = WL_NOBODY;
	wl->tasks[task].born = wl_now();
	return task;
}

/* The first act of a new task: takes its name, touches its stack, says who it is. */
WL_FINE void wl_introduce(int self)
{
	struct wl_task *task = &wl->tasks[self];
	volatile char stack[16384];
	int tid;

	for (size_t i = 0; i < sizeof(stack); i += 1024)
		stack[i] = 0;
	/* So that no two processes meet later at a page of the log. */
	madvise(wl, sizeof(*wl), MADV_POPULATE_WRITE);
	wl_random_state = wl->seed * 1000003 + self * 7919 + 1;
	prctl(PR_SET_NAME, task->comm);
	task->named = wl_now();
	prctl(PR_SET_TIMERSLACK, 1);
	wl_own_ids(&task->pid, &tid);
	/* /proc learns its name here: two at once would wait for each other in there. */
	wl_is_blocked(tid, -1, 0);
	wl_state(tid);
	atomic_store(&task->tid, tid);
	atomic_store(&task->ready, 1);
}

/* Returns when another task sleeps in call `number`, waiting for this one's end. */
WL_FINE void wl_leave(int self, long number)
{
	struct wl_task *task = &wl->tasks[self];
	uint64_t deadline = 0;

	while (atomic_load(&task->joiner) == WL_NOBODY)
		wl_nap(&deadline, "a task to join");
	wl_await_blocked(task->joiner, number, WL_ANY_ARGUMENT);
	task->leaving = wl_now();
}

WL_FINE void *wl_thread_main(void *argument)
{
	int self = (int)(intptr_t)argument;

	wl_introduce(self);
	wl->tasks[self].function(self);
	wl_leave(self, SYS_futex);
	return NULL;
}

/* Starts a thread; returns once it has introduced itself. */
WL_FINE int wl_thread(int creator, void (*function)(int self))
{
	int task = wl_new_task();
	pthread_attr_t attributes;
	uint64_t before;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 * 1024);
	wl->tasks[task].function = function;
	before = wl_now();
	errno = pthread_create(&wl->tasks[task].thread, &attributes, wl_thread_main,
			       (void *)(intptr_t)task);
	if (errno)
		wl_die("pthread_create: %s", strerror(errno));
	wl_edge("fork", creator, task, before, "");
	wl_await(&wl->tasks[task].ready, 1);
	return task;
}

/* Joins a thread, which ends only when the joiner sleeps. */
WL_FINE void wl_join(int joiner, int task)
{
	uint64_t before = wl_now();
	struct wl_wait *wait;

	atomic_store(&wl->tasks[task].joiner, joiner);
	pthread_join(wl->tasks[task].thread, NULL);
	wl_edge("wake", task, joiner, wl->tasks[task].leaving, "futex");
	wait = wl_wait(joiner, "futex", "futex", "futex");
	wl_wait_times(wait, before, wl->tasks[task].leaving, wl_now());
	wait->ended_by = task;
}

/* Starts a process that runs `function` and then ends when its parent waits for it. */
WL_FINE int wl_fork(int creator, void (*function)(int self))
{
	int task = wl_new_task();
	uint64_t before = wl_now();
	pid_t pid = WL_CHECK(fork());

	if (pid == 0) {
		wl_introduce(task);
		function(task);
		wl_leave(task, SYS_wait4);
		_exit(0);
	}
	wl_edge("fork", creator, task, before, "");
	wl_await(&wl->tasks[task].ready, 1);
	return task;
}

/* Waits for the end of a process that was forked in the initial namespace. */
WL_FINE void wl_reap(int parent, int task)
{
	pid_t pid = wl->tasks[task].pid;
	uint64_t before = wl_now();
	struct wl_wait *wait;

	atomic_store(&wl->tasks[task].joiner, parent);
	if (wait4(pid, NULL, 0, NULL) != pid)
		wl_die("wait4: %s", strerror(errno));
	wl_edge("exit", task, parent, wl->tasks[task].leaving, "");
	wait = wl_wait(parent, "child", "wait4", "");
	wl_wait_times(wait, before, wl->tasks[task].leaving, wl_now());
	wait->ended_by = task;
}

/* ---- programs that a workload executes: itself once more, with the same log ---- */

/* Becomes a new program in the same process; `next` is the task it is then. */
__attribute__((noreturn)) WL_FINE void wl_execute(int self, int next)
{
	char task[16], log[16];
	char *arguments[] = {"/proc/self/exe", "--continue", task, log, NULL};
	char *environment[] = {NULL};

	snprintf(task, sizeof(task), "%d", next);
	snprintf(log, sizeof(log), "%d", wl_log_fd);
	wl->tasks[self].before = wl_now();
	execve(arguments[0], arguments, environment);
	wl_die("execve: %s", strerror(errno));
}

/* If this is such a program, lives its life and does not return. */
WL_FINE void wl_continue(int argc, char **argv)
{
	int self;

	if (argc != 4 || strcmp(argv[1], "--continue") != 0)
		return;
	self = atoi(argv[2]);
	wl_log_fd = atoi(argv[3]);
	wl = mmap(NULL, sizeof(*wl), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, wl_log_fd,
		  0);
	if (wl == MAP_FAILED)
		_exit(1);
	wl->tasks[self].born = wl_now();
	wl_introduce(self);
	wl_leave(self, SYS_wait4);
	_exit(0);
}

/* ---- begin and end ---- */

/* A stretch of shared memory that exists before the workload runs. */
WL_FINE void *wl_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	return memory;
}

/* Parses `--seed N`, `--variant WORD` and `--place DIRECTORY`; returns the main task. */
WL_FINE int wl_begin(int argc, char **argv, const char *workload)
{
	const char *variant = "", *place = "";
	uint64_t seed = 1;
	int self;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--seed") == 0)
			seed = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--variant") == 0)
			variant = argv[i + 1];
		else if (strcmp(argv[i], "--place") == 0)
			place = argv[i + 1];
	}
	/* A session of its own, so that wl_die can end all of it and no one else. */
	setpgid(0, 0);
	wl_log_fd = WL_CHECK(memfd_create("workload", 0));
	WL_CHECK(ftruncate(wl_log_fd, sizeof(*wl)));
	wl = mmap(NULL, sizeof(*wl), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, wl_log_fd,
		  0);
	if (wl == MAP_FAILED)
		wl_die("mmap: %s", strerror(errno));
	wl_copy(wl->workload, sizeof(wl->workload), workload);
	wl_copy(wl->variant, sizeof(wl->variant), variant);
	wl_copy(wl->place, sizeof(wl->place), place);
	wl_copy(wl->claims, sizeof(wl->claims),
		"fork exec exit vfork unlock pipe socket eventfd ipc signal wake");
	wl->seed = seed;
	wl_random_state = seed * 1000003;
	self = wl_new_task();
	wl_introduce(self);
	/* From here on it has its name. */
	wl->start = wl_now();
	return self;
}

WL_FINE void wl_print_text(const char *text)
{
	putchar('"');
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else
			putchar(*text);
	putchar('"');
}

WL_FINE void wl_print_words(const char *name, const char *words, char divider)
{
	printf("\"%s\":[", name);
	for (const char *end; *words; words = *end ? end + 1 : end) {
		const char *word = words;
		size_t length;

		end = strchrnul(words, divider);
		length = (size_t)(end - words);
		if (!strcmp(name, "call"))
			word = wl_own_call(word, &length);
		printf("\"%.*s\"%s", (int)length, word, *end ? "," : "");
	}
	printf("],");
}

WL_FINE void wl_print_tids(const char *name, const int *tasks, int count)
{
	printf("\"%s\":[", name);
	for (int i = 0; i < count; i++)
		printf("%s%d", i ? "," : "", wl->tasks[tasks[i]].tid);
	printf("],");
}

WL_FINE void wl_print_tid(const char *name, int task)
{
	if (task == WL_NOBODY)
		printf("\"%s\":null,", name);
	else if (task >= 0)
		printf("\"%s\":%d,", name, wl->tasks[task].tid);
}

WL_FINE void wl_print_wait(const struct wl_wait *wait)
{
	wl_print_tid("tid", wait->task);
	wl_print_words("kind", wait->kind, '|');
	wl_print_words("call", wait->call, '|');
	printf("\"start_min\":%llu,\"start_max\":%llu,", (unsigned long long)wait->start_min,
	       (unsigned long long)wait->start_max);
	printf("\"end_min\":%llu,\"end_max\":%llu,", (unsigned long long)wait->end_min,
	       (unsigned long long)wait->end_max);
	wl_print_tid("ended_by", wait->ended_by);
	if (wait->holder_count != WL_UNCHECKED) {
		printf("\"holders\":[");
		for (int i = 0; i < wait->holder_count; i++) {
			printf("%s{", i ? "," : "");
			wl_print_tid("tid", wait->holders[i].task);
			printf("\"to_min\":%llu,\"to_max\":%llu}",
			       (unsigned long long)wait->holders[i].to_min,
			       (unsigned long long)wait->holders[i].to_max);
		}
		printf("],");
	}
	wl_print_words("context", wait->context, '|');
	if (wait->expires_max)
		printf("\"expires_min\":%llu,\"expires_max\":%llu,",
		       (unsigned long long)wait->expires_min,
		       (unsigned long long)wait->expires_max);
	printf("\"object\":\"%s\"", wait->object);
}

WL_FINE void wl_print_fact(const struct wl_fact *fact)
{
	wl_print_tid("tid", fact->task);
	wl_print_words("says", fact->says, '|');
	printf("\"from\":%llu,\"to\":%llu,\"slack\":%llu,\"charges\":[",
	       (unsigned long long)fact->from, (unsigned long long)fact->to,
	       (unsigned long long)fact->slack);
	for (int i = 0; i < fact->charge_count; i++) {
		const struct wl_charge *charge = &fact->charges[i];

		printf("%s{", i ? "," : "");
		wl_print_tid("tid", charge->task);
		if (charge->by_count)
			wl_print_tids("by", charge->by, charge->by_count);
		if (charge->chain_count)
			wl_print_tids("chain", charge->chain, charge->chain_count);
		wl_print_words("kind", charge->kind, '|');
		if (charge->hops[0])
			wl_print_words("hops", charge->hops, '|');
		printf("\"min\":%llu,\"max\":%llu,\"behind\":%s,\"cycle\":%s}",
		       (unsigned long long)charge->min, (unsigned long long)charge->max,
		       charge->behind ? "true" : "false", charge->cycle ? "true" : "false");
	}
	printf("]");
}

/* Prints further members, each after a comma. */
static void (*wl_print_more)(void);

/* Prints the causal graph. Only the task that began may do so, when all others are at rest. */
WL_FINE void wl_print(void)
{
	printf("{\"workload\":\"%s\",\"variant\":\"%s\",\"seed\":%llu,\"start\":%llu,\"end\":%llu,",
	       wl->workload, wl->variant, (unsigned long long)wl->seed,
	       (unsigned long long)wl->start, (unsigned long long)wl_now());
	if (wl->skip[0]) {
		printf("\"skip\":");
		wl_print_text(wl->skip);
		printf(",");
	}
	wl_print_words("claims", wl->claims, ' ');
	printf("\"tasks\":[");
	for (int i = 0; i < wl->task_count; i++) {
		const struct wl_task *task = &wl->tasks[i];

		printf("%s{\"tid\":%d,\"pid\":%d,\"born\":%llu,\"named\":%llu,\"comm\":",
		       i ? "," : "", task->tid, task->pid, (unsigned long long)task->born,
		       (unsigned long long)task->named);
		wl_print_text(task->comm);
		printf("}");
	}
	printf("],\n\"edges\":[");
	for (int i = 0; i < wl->edge_count; i++) {
		const struct wl_edge *edge = &wl->edges[i];

		printf("%s{", i ? ",\n" : "");
		wl_print_words("type", edge->type, '|');
		wl_print_tid("from", edge->from);
		wl_print_tids("to", edge->to, edge->to_count);
		wl_print_words("evidence", edge->evidence, '|');
		wl_print_words("context", edge->context, '|');
		printf("\"at_min\":%llu,\"at_max\":%llu,\"until\":%llu,\"optional\":%s,\"object\":"
		       "\"%s\"}",
		       (unsigned long long)edge->at_min, (unsigned long long)edge->at_max,
		       (unsigned long long)(edge->until ? edge->until : edge->at_max),
		       edge->optional ? "true" : "false", edge->object);
	}
	printf("],\n\"waits\":[");
	for (int i = 0; i < wl->wait_count; i++) {
		printf("%s{", i ? ",\n" : "");
		wl_print_wait(&wl->waits[i]);
		printf("}");
	}
	printf("],\n\"why\":[");
	for (int i = 0; i < wl->fact_count; i++) {
		printf("%s{", i ? ",\n" : "");
		wl_print_fact(&wl->facts[i]);
		printf("}");
	}
	printf("],\n\"rules\":[");
	for (int i = 0; i < wl->rule_count; i++)
		printf("%s{%s}", i ? ",\n" : "", wl->rules[i]);
	printf("]");
	if (wl_print_more)
		wl_print_more();
	printf("}\n");
	fflush(stdout);
}

/* Says why this workload cannot run here. */
__attribute__((noreturn)) WL_FINE void wl_skip(const char *reason)
{
	wl_copy(wl->skip, sizeof(wl->skip), reason);
	wl_print();
	_exit(0);
}

/* The path of something in the place, which must be there. */
WL_FINE const char *wl_place(const char *name)
{
	static _Thread_local char path[256];
	char reason[64];

	snprintf(path, sizeof(path), "%s/%s", wl->place, name);
	snprintf(reason, sizeof(reason), "no such place: %s", name);
	if (!wl->place[0] || access(path, F_OK) < 0)
		wl_skip(reason);
	return path;
}

#endif
