/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions that are left in every way, in random numbers: by return, tail call, longjmp (also out
 * of a signal's handler on a stack of its own), exception, the end of the thread or the process,
 * cancellation, a crash, exec; on one stack and on many. Each function counts for itself how it was
 * entered and left.
 *
 * Usage: frames SEED. Prints {"NAME": {"count": N, "closed": {REASON: N}}, ..} and, of g_spin,
 * "inner_ns" and "outer_ns": the shortest and the longest that its calls can have taken.
 *
 * It compiles as C and as C++ (then with exceptions). TAIL: the compiler makes tail calls.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __cplusplus
#define LINKAGE extern "C"
#else
#define LINKAGE
/* The traced functions have to be visible, for a copy without symbols. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#endif
/* All recursion here ends by a jump, or with the thread. */
#pragma GCC diagnostic ignored "-Winfinite-recursion"
#ifdef __clang__
#define TRACED LINKAGE __attribute__((noinline, used, visibility("default")))
#else
#define TRACED LINKAGE __attribute__((noinline, noipa, used, visibility("default")))
#endif

#define FUNCTIONS(X)                                                                               \
	X(ret)                                                                                     \
	X(target)                                                                                  \
	X(tail)                                                                                    \
	X(recurse)                                                                                 \
	X(room)                                                                                    \
	X(jump)                                                                                    \
	X(handler)                                                                                 \
	X(raise)                                                                                   \
	X(throw)                                                                                   \
	X(destroy)                                                                                 \
	X(leave)                                                                                   \
	X(cancel)                                                                                  \
	X(crash)                                                                                   \
	X(exec)                                                                                    \
	X(exit)                                                                                    \
	X(fork)                                                                                    \
	X(yield)                                                                                   \
	X(work)                                                                                    \
	X(resume)                                                                                  \
	X(spin)

enum {
#define X(name) F_##name,
	FUNCTIONS(X)
#undef X
		F_COUNT
};

enum { RETURNED, TAIL_CALL, LONGJMP, EXCEPTION, EXIT, CANCELED, CRASH, EXEC, REASONS };

static const char *const reasons[] = {"returned", "tail-call", "longjmp", "exception",
				      "exit",	  "canceled",  "crash",	  "exec"};

/* Shared with the children. */
static struct truth {
	long begun[F_COUNT];
	long closed[F_COUNT][REASONS];
	long inner, outer; /* ns, of g_spin */
} * truth;

#define BEGIN(name)	  __atomic_fetch_add(&truth->begun[F_##name], 1, __ATOMIC_RELAXED)
#define END(name, reason) __atomic_fetch_add(&truth->closed[F_##name][reason], 1, __ATOMIC_RELAXED)

static unsigned long long state;
static volatile long sink;

static unsigned draw(unsigned below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 33) % below;
}

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000L + time.tv_nsec;
}

TRACED void g_ret(void)
{
	BEGIN(ret);
	sink = sink + 1;
	END(ret, RETURNED);
}

TRACED void g_target(void)
{
	BEGIN(target);
	sink = sink + 1;
	END(target, RETURNED);
}

TRACED void g_tail(void)
{
	BEGIN(tail);
#ifdef TAIL
	END(tail, TAIL_CALL);
	g_target();
#else
	g_target();
	END(tail, RETURNED);
	sink = sink + 1;
#endif
}

TRACED int g_recurse(int depth)
{
	int r;

	BEGIN(recurse);
	r = depth ? g_recurse(depth - 1) + 1 : 0;
	__asm__ volatile("" : "+r"(r));
	END(recurse, RETURNED);
	return r;
}

TRACED void g_room(size_t bytes)
{
	char *room;

	BEGIN(room);
	room = (char *)alloca(bytes);
	memset(room, 1, bytes);
	g_ret();
	sink = sink + room[bytes / 2];
	END(room, RETURNED);
}

static jmp_buf place;
static sigjmp_buf signal_place;

TRACED void g_jump(int depth)
{
	BEGIN(jump);
	END(jump, LONGJMP);
	if (depth) {
		g_jump(depth - 1);
		sink = sink + 1;
	} else {
		longjmp(place, 1);
	}
}

/* On a stack of its own; jumps out of every second signal. */
TRACED void g_handler(int number)
{
	(void)number;
	BEGIN(handler);
	g_ret();
	if (truth->begun[F_handler] & 1) {
		END(handler, LONGJMP);
		END(raise, LONGJMP);
		siglongjmp(signal_place, 1);
	}
	END(handler, RETURNED);
}

TRACED void g_raise(void)
{
	BEGIN(raise);
	raise(SIGUSR1);
	END(raise, RETURNED);
	sink = sink + 1;
}

TRACED void g_destroy(void)
{
	BEGIN(destroy);
	sink = sink + 1;
	END(destroy, RETURNED);
}

#ifdef __cplusplus
struct Held {
	~Held()
	{
		g_destroy();
	}
};

TRACED void g_throw(int depth)
{
	BEGIN(throw);
	END(throw, EXCEPTION);
	Held held;
	if (depth) {
		g_throw(depth - 1);
		sink = sink + 1;
	} else {
		throw 5;
	}
}
#endif

TRACED void g_leave(int depth)
{
	BEGIN(leave);
	END(leave, EXIT);
#ifdef __cplusplus
	Held held;
#endif
	if (depth) {
		g_leave(depth - 1);
		sink = sink + 1;
	} else {
		pthread_exit(NULL);
	}
}

static volatile int waiting;

TRACED void g_cancel(int depth)
{
	BEGIN(cancel);
	END(cancel, CANCELED);
#ifdef __cplusplus
	Held held;
#endif
	if (depth) {
		g_cancel(depth - 1);
		sink = sink + 1;
	} else {
		waiting = 1;
		for (;;)
			pause();
	}
}

TRACED void g_crash(void)
{
	BEGIN(crash);
	END(crash, CRASH);
	*(volatile int *)0 = 1;
}

TRACED void g_exec(void)
{
	BEGIN(exec);
	END(exec, EXEC);
	execl("/bin/true", "true", (char *)NULL);
	sink = sink + 1;
}

TRACED void g_exit(void)
{
	BEGIN(exit);
	END(exit, EXIT);
	_exit(0);
}

TRACED int g_fork(void)
{
	int pid;

	BEGIN(fork);
	pid = fork();
	if (pid)
		END(fork, RETURNED);
	return pid;
}

/* ---- coroutines ---- */

#define COROUTINES 8

static ucontext_t scheduler, coroutines[COROUTINES];
static int current;

TRACED void g_yield(void)
{
	BEGIN(yield);
	swapcontext(&coroutines[current], &scheduler);
	END(yield, RETURNED);
	sink = sink + 1;
}

TRACED void g_work(int depth)
{
	BEGIN(work);
	if (depth)
		g_work(depth - 1);
	else
		g_yield();
	g_ret();
	END(work, RETURNED);
	sink = sink + 1;
}

static void coroutine(void)
{
	for (int depth = 0;; depth = (depth + 1) % 5)
		g_work(depth);
}

TRACED void g_resume(int number)
{
	BEGIN(resume);
	current = number;
	swapcontext(&scheduler, &coroutines[number]);
	END(resume, RETURNED);
	sink = sink + 1;
}

TRACED void g_spin(long ns)
{
	long begin = now();

	BEGIN(spin);
	while (now() - begin < ns)
		;
	END(spin, RETURNED);
	truth->inner += now() - begin;
}

/* ---- the program ---- */

static void *leave_main(void *depth)
{
	g_leave((int)(long)depth);
	return NULL;
}

static void *cancel_main(void *depth)
{
	g_cancel((int)(long)depth);
	return NULL;
}

static void *call_main(void *count)
{
	for (long i = 0; i < (long)count; i++) {
		g_ret();
		g_tail();
	}
	return NULL;
}

static void in_child(void (*function)(void))
{
	pid_t pid = fork();

	if (!pid) {
		function();
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static void run_threads(unsigned count)
{
	pthread_t threads[64];

	for (unsigned i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, call_main, (void *)(long)(1 + draw(50)));
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = draw(20); i > 0; i--) {
		pthread_create(&threads[0], NULL, leave_main, (void *)(long)draw(6));
		pthread_join(threads[0], NULL);
	}
	for (unsigned i = draw(10); i > 0; i--) {
		waiting = 0;
		pthread_create(&threads[0], NULL, cancel_main, (void *)(long)draw(6));
		while (!waiting)
			usleep(500);
		pthread_cancel(threads[0]);
		pthread_join(threads[0], NULL);
	}
}

static void run_signals(void)
{
	struct sigaction action = {};
	stack_t stack = {};

	stack.ss_size = 65536;
	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	action.sa_handler = g_handler;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	for (volatile unsigned i = 2 * draw(20); i > 0; i = i - 1)
		if (!sigsetjmp(signal_place, 1))
			g_raise();
}

static void run_coroutines(void)
{
	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = malloc(16384);
		coroutines[i].uc_stack.ss_size = 16384;
		makecontext(&coroutines[i], coroutine, 0);
	}
	for (int i = 0; i < 20 * COROUTINES; i++)
		g_resume(i % COROUTINES);
	for (unsigned i = draw(1000); i > 0; i--)
		g_resume((int)draw(COROUTINES));
	/* They are in these calls when the process ends. */
	truth->closed[F_yield][EXIT] = truth->begun[F_yield] - truth->closed[F_yield][RETURNED];
	truth->closed[F_work][EXIT] = truth->begun[F_work] - truth->closed[F_work][RETURNED];
}

static void run_jumps(void)
{
	for (volatile unsigned i = draw(100); i > 0; i = i - 1)
		if (!setjmp(place))
			g_jump((int)draw(8));
#ifdef __cplusplus
	for (unsigned i = draw(100); i > 0; i--)
		try {
			g_throw((int)draw(8));
		} catch (int) {
		}
#endif
}

static void print_truth(void)
{
	static const char *const names[] = {
#define X(name) "g_" #name,
		FUNCTIONS(X)
#undef X
	};
	const char *between = "{";

	for (unsigned i = 0; i < F_COUNT; i++) {
		const char *comma = "";

		if (!truth->begun[i])
			continue;
		printf("%s\"%s\": {\"count\": %ld, \"closed\": {", between, names[i],
		       truth->begun[i]);
		between = ", ";
		for (unsigned k = 0; k < REASONS; k++)
			if (truth->closed[i][k]) {
				printf("%s\"%s\": %ld", comma, reasons[k], truth->closed[i][k]);
				comma = ", ";
			}
		printf("}");
		if (i == F_spin)
			printf(", \"inner_ns\": %ld, \"outer_ns\": %ld", truth->inner,
			       truth->outer);
		printf("}");
	}
	puts("}");
}

int main(int argc, char **argv)
{
	const struct rlimit no_core = {};

	setrlimit(RLIMIT_CORE, &no_core);
	state = argc > 1 ? strtoull(argv[1], NULL, 10) * 2654435761u + 88172645463325252u : 1;
	truth = (struct truth *)mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	call_main((void *)(long)(1 + draw(300)));
	for (unsigned i = draw(3); i > 0; i--)
		g_recurse((int)draw(1000));
	for (unsigned i = draw(50); i > 0; i--)
		g_room(1 + draw(20000));
	run_jumps();
	run_signals();
	for (unsigned i = draw(6); i > 0; i--) {
		in_child(g_crash);
		in_child(g_exec);
		in_child(g_exit);
	}
	for (unsigned i = draw(6); i > 0; i--) {
		if (!g_fork()) {
			g_ret();
			_exit(0);
		}
		wait(NULL);
	}
	run_threads(1 + draw(64));
	for (unsigned i = draw(20); i > 0; i--) {
		long begin = now();

		g_spin(1000 + (long)draw(200000));
		truth->outer += now() - begin;
	}
	run_coroutines();
	print_truth();
	return 0;
}
