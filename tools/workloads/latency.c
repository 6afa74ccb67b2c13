/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls functions of known lengths, and measures each call by its own clocks: time, and CPU time of
 * the thread.
 *
 * Usage: latency CALLS DIRECTORY
 *
 * spin() runs, rest() sleeps, take_lock() waits for a mutex that another thread holds, put() waits
 * for a file in DIRECTORY to reach the disk, ask() waits for another thread's answer at a socket,
 * and both() calls spin() and rest(). Prints a JSON object: by path, the length of each call in
 * order, and the CPU time of all, ns; and how many sleeps gave the CPU up. A sleep whose timer
 * fires before the thread is switched out is not one of them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define KEEP	 __attribute__((noinline, noclone, used))
#define MOST	 10000
#define STEP	 100000 /* ns; calls take one to ten of them */
#define FEW	 10	/* one call of so many waits for the disk */
#define PUT_SIZE 65536

struct path {
	const char *name;
	uint64_t lengths[MOST];
	uint64_t running;
	int count;
};

static struct path spins = {.name = "spin"}, rests = {.name = "rest"}, boths = {.name = "both"},
		   asks = {.name = "ask"}, locks = {.name = "take_lock"}, writes = {.name = "put"};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t wanted, held;
static uint64_t hold;
static int sockets[2], file;
static volatile int sum;
static long sleeps;

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static long own_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void pause_for(uint64_t ns)
{
	struct timespec time = {.tv_nsec = (long)ns};
	long before = own_switches();

	nanosleep(&time, NULL);
	__atomic_add_fetch(&sleeps, own_switches() - before, __ATOMIC_RELAXED);
}

/* The statements behind calls keep them from being tail calls. */
KEEP static void spin(uint64_t ns)
{
	uint64_t start = now(CLOCK_MONOTONIC);

	while (now(CLOCK_MONOTONIC) - start < ns)
		sum++;
}

KEEP static void rest(uint64_t ns)
{
	pause_for(ns);
	sum++;
}

KEEP static void both(uint64_t ns)
{
	spin(ns / 2);
	rest(ns / 2);
	sum++;
}

KEEP static void take_lock(uint64_t ns)
{
	(void)ns;
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	sum++;
}

KEEP static void put(uint64_t ns)
{
	static char bytes[PUT_SIZE];

	memset(bytes, (int)ns, sizeof(bytes));
	if (pwrite(file, bytes, sizeof(bytes), 0) < 0 || fsync(file) < 0)
		exit(1);
	sum++;
}

KEEP static void ask(uint64_t ns)
{
	if (write(sockets[0], &ns, sizeof(ns)) < 0 || read(sockets[0], &ns, sizeof(ns)) < 0)
		exit(1);
	sum++;
}

static void *holder(void *unused)
{
	(void)unused;
	for (;;) {
		sem_wait(&wanted);
		pthread_mutex_lock(&mutex);
		sem_post(&held);
		pause_for(hold);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *server(void *unused)
{
	uint64_t ns;

	while (read(sockets[1], &ns, sizeof(ns)) == sizeof(ns)) {
		pause_for(ns);
		if (write(sockets[1], &ns, sizeof(ns)) < 0)
			break;
	}
	return unused;
}

static void measure(struct path *path, void (*call)(uint64_t), uint64_t ns)
{
	uint64_t running = now(CLOCK_THREAD_CPUTIME_ID), start = now(CLOCK_MONOTONIC);

	call(ns);
	path->lengths[path->count++] = now(CLOCK_MONOTONIC) - start;
	path->running += now(CLOCK_THREAD_CPUTIME_ID) - running;
}

static void print(const struct path *path, const char *before)
{
	printf("%s\"%s\": {\"running\": %llu, \"lengths\": [", before, path->name,
	       (unsigned long long)path->running);
	for (int i = 0; i < path->count; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)path->lengths[i]);
	fputs("]}", stdout);
}

int main(int count, char **arguments)
{
	int calls = count == 3 ? atoi(arguments[1]) : 0;
	char name[4096];
	pthread_t threads[2];

	if (calls < 1 || calls > MOST) {
		fputs("usage: latency CALLS DIRECTORY\n", stderr);
		return 2;
	}
	snprintf(name, sizeof(name), "%s/latency-%d", arguments[2], (int)getpid());
	file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0 || unlink(name) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0 ||
	    sem_init(&wanted, 0, 0) < 0 || sem_init(&held, 0, 0) < 0 ||
	    pthread_create(&threads[0], NULL, holder, NULL) ||
	    pthread_create(&threads[1], NULL, server, NULL)) {
		perror("latency");
		return 1;
	}
	for (int i = 0; i < calls; i++) {
		uint64_t ns = (uint64_t)(i * 7 % 10 + 1) * STEP;

		measure(&spins, spin, ns);
		measure(&rests, rest, ns);
		measure(&boths, both, ns);
		measure(&asks, ask, ns);
		hold = ns;
		sem_post(&wanted);
		sem_wait(&held);
		measure(&locks, take_lock, ns);
		if (i % FEW == 0)
			measure(&writes, put, ns);
	}
	print(&spins, "{\"paths\": {");
	print(&rests, ", ");
	print(&boths, ", ");
	print(&asks, ", ");
	print(&locks, ", ");
	print(&writes, ", ");
	printf("}, \"sleeps\": %ld}\n", __atomic_load_n(&sleeps, __ATOMIC_RELAXED));
	return 0;
}
