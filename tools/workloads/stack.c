/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits in chains of functions that are known, each in a thread of its own.
 *
 * Usage: stack [--hang | --await]
 *
 * Prints a JSON object a thread before it waits, one a line: its tid, the name of the case, when it
 * says that (`said`, ns), and `chain`, the functions of this program that it waits in, innermost
 * first, with `at`: the offset in the file that a stack has of each; null where it calls libc. With
 * --hang one thread waits until the program is killed; with --await until there is something to
 * read, or its end.
 */
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONG_NS	  20000000 /* a wait that is to have a stack */
#define SHORT_NS  100000   /* and one that is to have none */
#define DEEP	  60
#define TOO_DEEP  200
#define CHAIN	  256
#define BIG_STACK (1 << 16)

/* The functions that the thread is in, outermost first. */
struct trail {
	const char *names[CHAIN];
	uintptr_t back[CHAIN]; /* the address to which each returns; 0: in libc */
	unsigned count;
};

static _Thread_local struct trail trail;
static _Thread_local const char *case_name;
static uintptr_t bias; /* from an address to its offset in the file */

#define KEEP __attribute__((noinline, noclone, used))

/* Notes the function that it is in. A function that ends with a tail call is left out. */
#define ENTER()                                                                                    \
	do {                                                                                       \
		trail.names[trail.count] = __func__;                                               \
		trail.back[trail.count++] = (uintptr_t)__builtin_return_address(0);                \
	} while (0)
/* The same in a function that libc calls. */
#define ENTER_FROM_LIBC() trail.names[trail.count] = __func__, trail.back[trail.count++] = 0
/* Keeps the call before it from being a tail call. */
#define LEAVE()                                                                                    \
	do {                                                                                       \
		__asm__ volatile("" ::: "memory");                                                 \
		trail.count--;                                                                     \
	} while (0)

/* Says where the thread is about to wait. */
static void say(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct timespec now;

	pthread_mutex_lock(&lock);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("{\"tid\": %d, \"case\": \"%s\", \"said\": %lld, \"chain\": [", gettid(), case_name,
	       now.tv_sec * 1000000000ll + now.tv_nsec);
	for (unsigned i = trail.count; i-- > 0;) {
		printf("%s{\"name\": \"%s\", \"at\": ", i + 1 < trail.count ? ", " : "",
		       trail.names[i]);
		if (i + 1 < trail.count && trail.back[i + 1])
			printf("%lu}", (unsigned long)(trail.back[i + 1] - 1 - bias));
		else
			printf("null}");
	}
	puts("]}");
	fflush(stdout);
	pthread_mutex_unlock(&lock);
}

static struct timespec after(long ns)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_nsec += ns;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

/* ---- ways to wait ---- */

KEEP static void wait_sleep(void)
{
	struct timespec time = {.tv_nsec = LONG_NS};

	ENTER();
	say();
	nanosleep(&time, NULL);
	LEAVE();
}

KEEP static void wait_short(void)
{
	struct timespec time = {.tv_nsec = SHORT_NS};

	ENTER();
	say();
	for (int i = 0; i < 20; i++)
		nanosleep(&time, NULL);
	LEAVE();
}

static inline void bare_sleep(const struct timespec *time)
{
#ifdef __aarch64__
	register long result __asm__("x0") = (long)time, rest __asm__("x1") = 0;
	register long number __asm__("x8") = SYS_nanosleep;

	__asm__ volatile("svc #0" : "+r"(result) : "r"(rest), "r"(number) : "memory");
#else
	long result = SYS_nanosleep;

	__asm__ volatile("syscall" : "+a"(result) : "D"(time), "S"(NULL) : "rcx", "r11", "memory");
#endif
}

/* A system call of its own: no frame of libc. */
KEEP static void wait_bare(void)
{
	struct timespec time = {.tv_nsec = LONG_NS};

	ENTER();
	say();
	bare_sleep(&time);
	LEAVE();
}

static void *write_later(void *argument)
{
	struct timespec time = {.tv_nsec = LONG_NS};

	nanosleep(&time, NULL);
	if (write(*(int *)argument, "x", 1) != 1)
		abort();
	return NULL;
}

KEEP static void wait_pipe(void)
{
	pthread_t thread;
	int ends[2];
	char byte;

	ENTER();
	say();
	if (pipe(ends) || pthread_create(&thread, NULL, write_later, &ends[1]) ||
	    read(ends[0], &byte, 1) != 1)
		abort();
	LEAVE();
	pthread_join(thread, NULL);
}

KEEP static void wait_condition(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	ENTER();
	say();
	until = after(LONG_NS);
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &until);
	pthread_mutex_unlock(&mutex);
	LEAVE();
}

KEEP static void wait_poll(void)
{
	ENTER();
	say();
	poll(NULL, 0, LONG_NS / 1000000);
	LEAVE();
}

KEEP static void wait_child(void)
{
	struct timespec time = {.tv_nsec = LONG_NS};
	pid_t child;

	ENTER();
	say();
	child = fork();
	if (!child) {
		nanosleep(&time, NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	LEAVE();
}

KEEP static void wait_for_ever(void)
{
	ENTER();
	say();
	for (;;)
		pause();
}

KEEP static void wait_for_input(void)
{
	char byte;

	ENTER();
	say();
	if (read(STDIN_FILENO, &byte, 1) < 0)
		abort();
	LEAVE();
}

/* ---- ways to get there ---- */

KEEP static void call_leaf(void)
{
	ENTER();
	wait_bare();
	LEAVE();
}

KEEP static void recurse(int more)
{
	ENTER();
	if (more)
		recurse(more - 1);
	else
		wait_sleep();
	LEAVE();
}

KEEP static void call_deep(void)
{
	ENTER();
	recurse(DEEP);
	LEAVE();
}

KEEP static void call_too_deep(void)
{
	ENTER();
	recurse(TOO_DEEP);
	LEAVE();
}

/* It is gone when its callee runs. */
KEEP static void jump_on(void)
{
	wait_sleep();
}

KEEP static void call_tail(void)
{
	ENTER();
	jump_on();
	LEAVE();
}

KEEP static void on_signal(int number)
{
	(void)number;
	ENTER_FROM_LIBC();
	wait_sleep();
	LEAVE();
}

KEEP static void call_signal(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	ENTER();
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	LEAVE();
}

KEEP static void call_signal_apart(void)
{
	static char stack[BIG_STACK];
	stack_t apart = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	ENTER();
	sigaltstack(&apart, NULL);
	sigaction(SIGUSR2, &action, NULL);
	raise(SIGUSR2);
	LEAVE();
}

KEEP static void call_alloca(void)
{
	volatile char *room = __builtin_alloca(1000 + (unsigned)getpid() % 1000);

	ENTER();
	room[0] = 1;
	wait_sleep();
	room[1] = room[0];
	LEAVE();
}

KEEP static int compare(const void *a, const void *b)
{
	ENTER_FROM_LIBC();
	wait_sleep();
	LEAVE();
	return *(const int *)a - *(const int *)b;
}

/* libc is between this and the function that waits. */
KEEP static void call_back(void)
{
	int numbers[] = {2, 1};

	ENTER();
	qsort(numbers, 2, sizeof(numbers[0]), compare);
	LEAVE();
}

/* A frame whose stack is aligned anew. */
KEEP static void call_aligned(void)
{
	volatile char room[256] __attribute__((aligned(64)));

	ENTER();
	room[0] = 1;
	wait_sleep();
	room[1] = room[0];
	LEAVE();
}

/* ---- cases ---- */

struct wait_case {
	const char *name;
	void (*function)(void);
};

static const struct wait_case cases[] = {
	{"leaf", call_leaf},	 {"deep", call_deep},		{"too-deep", call_too_deep},
	{"tail", call_tail},	 {"signal", call_signal},	{"signal-apart", call_signal_apart},
	{"alloca", call_alloca}, {"callback", call_back},	{"aligned", call_aligned},
	{"pipe", wait_pipe},	 {"condition", wait_condition}, {"poll", wait_poll},
	{"child", wait_child},	 {"short", wait_short},
};

KEEP static void *run_case(void *argument)
{
	const struct wait_case *one = argument;

	case_name = one->name;
	ENTER();
	one->function();
	LEAVE();
	return NULL;
}

static void run_one(const struct wait_case *one)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_case, (void *)one))
		abort();
	pthread_join(thread, NULL);
}

static int find_bias(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *program = &info->dlpi_phdr[i];

		if (program->p_type == PT_LOAD && program->p_flags & PF_X)
			bias = info->dlpi_addr + program->p_vaddr - program->p_offset;
	}
	return 1; /* the first one is the program */
}

int main(int argc, char **argv)
{
	dl_iterate_phdr(find_bias, NULL);
	if (argc > 1 && !strcmp(argv[1], "--hang"))
		run_one(&(struct wait_case){"hang", wait_for_ever});
	else if (argc > 1 && !strcmp(argv[1], "--await"))
		run_one(&(struct wait_case){"await", wait_for_input});
	else
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			run_one(&cases[i]);
	return 0;
}
