/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations in which functions are on the path, beside it, in a lock's section, in a pipeline, or
 * in one branch of several; requests to a server, which announces them as store.get; and operations
 * that compute, or read a file from its disk. Prints a sum that no delay may change.
 *
 * Usage: delays MODE COUNT [FILE]
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../include/clew/announce.h"

#define SLACK 3000000ull /* ns by which one branch takes longer than the other one */
#define WORK  300000ull
#define BURN  10000000ull /* ns of CPU time */
#define READ  262144	  /* bytes */

#define VISIBLE __attribute__((noinline, visibility("default")))

void on_path(void), off_path(void), section(void);
void path_operation(void), branch_operation(void), pipe_operation(void), lock_operation(void);
void burn_operation(void), read_operation(void);

static uint64_t sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t served = PTHREAD_COND_INITIALIZER;
static unsigned long next_ticket, serving;

static void rest(uint64_t ns)
{
	const struct timespec time = {.tv_nsec = (long)ns};

	nanosleep(&time, NULL);
}

/* The functions that are made to take longer. */
VISIBLE void on_path(void)
{
	rest(WORK);
	__atomic_add_fetch(&sum, 1, __ATOMIC_RELAXED);
}

VISIBLE void off_path(void)
{
	rest(WORK);
	__atomic_add_fetch(&sum, 2, __ATOMIC_RELAXED);
}

VISIBLE void section(void)
{
	rest(WORK);
	sum += 3;
}

struct stage {
	sem_t come, done;
	void (*work)(void);
	uint64_t more;
};

static void *stage_run(void *context)
{
	struct stage *stage = context;

	for (;;) {
		sem_wait(&stage->come);
		stage->work();
		if (stage->more)
			rest(stage->more);
		sem_post(&stage->done);
	}
	return NULL;
}

/* Keeps a thread on one CPU, if there is that one: a function that takes longer keeps its CPU busy,
 * and would delay whoever has to wake there. */
static void keep_on(pthread_t thread, unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(thread, sizeof(set), &set);
}

static struct stage *stage_start(void (*work)(void), uint64_t more, unsigned cpu)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	pthread_t thread;

	stage->work = work;
	stage->more = more;
	sem_init(&stage->come, 0, 0);
	sem_init(&stage->done, 0, 0);
	pthread_create(&thread, NULL, stage_run, stage);
	keep_on(thread, cpu);
	return stage;
}

static void nothing(void)
{
}

static struct stage *branches[2];

static void *room;
static int file;

VISIBLE void burn_operation(void)
{
	struct timespec now;
	uint64_t from, ns;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	from = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	} while (ns < from + BURN);
}

VISIBLE void read_operation(void)
{
	if (pread(file, room, READ, 0) != READ)
		exit(1);
}

/* The operations. */
VISIBLE void path_operation(void)
{
	on_path();
	rest(WORK);
}

VISIBLE void branch_operation(void)
{
	for (unsigned i = 0; i < 2; i++)
		sem_post(&branches[i]->come);
	for (unsigned i = 0; i < 2; i++)
		sem_wait(&branches[i]->done);
}

VISIBLE void pipe_operation(void)
{
	for (unsigned i = 0; i < 2; i++) {
		sem_post(&branches[i]->come);
		sem_wait(&branches[i]->done);
	}
}

/* A lock that is taken in the order in which threads come: of a plain one the last owner mostly
 * takes it again, and the others wait for longer than any measurement. */
VISIBLE void lock_operation(void)
{
	unsigned long ticket;

	pthread_mutex_lock(&lock);
	ticket = next_ticket++;
	while (serving != ticket)
		pthread_cond_wait(&served, &lock);
	pthread_mutex_unlock(&lock);
	section();
	pthread_mutex_lock(&lock);
	serving++;
	pthread_cond_broadcast(&served);
	pthread_mutex_unlock(&lock);
}

static unsigned long count;

static void *lock_run(void *context)
{
	for (unsigned long i = 0; i < count; i++)
		lock_operation();
	return context;
}

static void run_locks(void)
{
	pthread_t threads[3];

	for (unsigned i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, lock_run, NULL);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* Answers until the connection ends. */
static void serve(int listener)
{
	int connection = accept(listener, NULL, NULL);
	char byte;

	prctl(PR_SET_NAME, "delayed");
	while (read(connection, &byte, 1) == 1) {
		clew_announce_call(1, "store", "get");
		on_path();
		clew_announce_done(1);
		if (write(connection, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static int run_requests(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0),
	    one = 1;
	char byte = 0;

	if (listener < 0 || client < 0 || bind(listener, (struct sockaddr *)&address, size) < 0 ||
	    listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &size) < 0)
		return 1;
	if (!fork()) {
		keep_on(pthread_self(), 1);
		close(client);
		serve(listener);
	}
	close(listener);
	prctl(PR_SET_NAME, "asking");
	if (connect(client, (struct sockaddr *)&address, size) < 0)
		return 1;
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	for (unsigned long i = 0; i < count; i++) {
		if (write(client, &byte, 1) != 1 || read(client, &byte, 1) != 1)
			return 1;
		sum++;
		rest(WORK);
	}
	close(client);
	return wait(NULL) < 0;
}

static void run(void (*operation)(void))
{
	for (unsigned long i = 0; i < count; i++)
		operation();
}

int main(int argc, char **argv)
{
	const char *mode = argc >= 3 ? argv[1] : "";

	count = argc >= 3 ? strtoul(argv[2], NULL, 10) : 0;
	/* A sleep that ends with other timers' would end sooner beside a busy CPU. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (strcmp(mode, "lock") != 0)
		keep_on(pthread_self(), 0);
	if (!strcmp(mode, "path")) {
		run(path_operation);
	} else if (!strcmp(mode, "fan")) {
		branches[0] = stage_start(on_path, SLACK, 0);
		branches[1] = stage_start(off_path, 0, 1);
		run(branch_operation);
	} else if (!strcmp(mode, "pipe")) {
		branches[0] = stage_start(on_path, 0, 0);
		branches[1] = stage_start(nothing, WORK, 1);
		run(pipe_operation);
	} else if (!strcmp(mode, "lock")) {
		run_locks();
	} else if (!strcmp(mode, "serve")) {
		if (run_requests())
			return 1;
	} else if (!strcmp(mode, "burn")) {
		run(burn_operation);
	} else if (!strcmp(mode, "read") && argc == 4) {
		file = open(argv[3], O_RDONLY | O_DIRECT);
		if (file < 0 || posix_memalign(&room, 4096, READ))
			return 1;
		run(read_operation);
	} else {
		fputs("usage: delays path|fan|pipe|lock|serve|burn|read COUNT [FILE]\n", stderr);
		return 2;
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
