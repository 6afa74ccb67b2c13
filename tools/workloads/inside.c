/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread that runs in one known thing at a time: a system call in a tight loop,
 * user space alone, fork of a large process, page faults, exec out of one, and
 * yields. Prints for each phase its thread, its begin and end (CLOCK_MONOTONIC, ns),
 * its time in user mode and in the kernel (ns), and its page faults, as a JSON list.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PHASE  500000000ull /* ns */
#define LARGE  (64u << 20)
#define PIECE  (1u << 20)
#define PARTS  10
#define YIELDS 2000

static char *memory;
static bool some;

struct phase {
	const char *name;
	uint64_t begin;
	struct rusage usage;
};

static void die(const char *what)
{
	fprintf(stderr, "inside: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

static struct phase begin(const char *name)
{
	struct phase phase = {.name = name};

	getrusage(RUSAGE_THREAD, &phase.usage);
	phase.begin = now();
	return phase;
}

static void end(const struct phase *phase)
{
	uint64_t at = now();
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	printf("%s{\"name\":\"%s\",\"tid\":%ld,\"begin\":%ju,\"end\":%ju,\"user\":%ju,"
	       "\"kernel\":%ju,\"faults\":%ld}",
	       some ? ",\n" : "[", phase->name, syscall(SYS_gettid), (uintmax_t)phase->begin,
	       (uintmax_t)at, (uintmax_t)(ns_of(&usage.ru_utime) - ns_of(&phase->usage.ru_utime)),
	       (uintmax_t)(ns_of(&usage.ru_stime) - ns_of(&phase->usage.ru_stime)),
	       usage.ru_minflt - phase->usage.ru_minflt);
	fflush(stdout);
	some = true;
}

static void run_user(void)
{
	struct phase phase = begin("user");
	volatile uint64_t sum = 0;

	/* The clock is read in user space. */
	while (now() - phase.begin < PHASE)
		for (unsigned i = 0; i < 100000; i++)
			sum += i;
	end(&phase);
}

static void run_getrandom(void)
{
	struct phase phase = begin("getrandom");

	while (now() - phase.begin < PHASE)
		if (getrandom(memory, PIECE, 0) < 0)
			die("getrandom");
	end(&phase);
}

/* Each call lasts for several ticks, as only time between two of them is known. */
static void run_read(void)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct phase phase = begin("read");
	struct iovec parts[PARTS];

	for (int i = 0; i < PARTS; i++)
		parts[i] = (struct iovec){memory, LARGE};
	while (now() - phase.begin < PHASE)
		if (readv(zero, parts, PARTS) != (ssize_t)PARTS * LARGE)
			die("readv");
	end(&phase);
	close(zero);
}

/* Half of the time in short calls, half in user space: no stay can be known. */
static void run_mixed(void)
{
	struct phase phase = begin("mixed");
	volatile uint64_t sum = 0;

	while (now() - phase.begin < PHASE) {
		if (getrandom(memory, 4096, 0) < 0)
			die("getrandom");
		for (unsigned i = 0; i < 10000; i++)
			sum += i;
	}
	end(&phase);
}

/* The child takes a copy of all page tables, waits, and makes exec drop them. */
static void run_fork(void)
{
	char descriptor[16];
	char *arguments[] = {"/proc/self/exe", descriptor, NULL};
	struct phase phase;
	int channel[2];
	pid_t pid;
	char byte;

	if (pipe(channel) < 0)
		die("pipe");
	snprintf(descriptor, sizeof(descriptor), "%d", channel[0]);
	phase = begin("fork");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		if (read(channel[0], &byte, 1) != 1)
			_exit(1);
		phase = begin("exec");
		printf(",\n{\"name\":\"exec\",\"tid\":%ld,\"begin\":%ju}", syscall(SYS_gettid),
		       (uintmax_t)phase.begin);
		fflush(stdout);
		execv(arguments[0], arguments);
		_exit(1);
	}
	end(&phase);
	phase = begin("faults");
	for (size_t at = 0; at < LARGE; at += 4096)
		memory[at]++;
	end(&phase);
	if (write(channel[1], "x", 1) != 1 || waitpid(pid, NULL, 0) != pid)
		die("child");
}

static void pin(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		die("sched_setaffinity");
}

/* Two processes on one CPU: one spins, the other gives the CPU up again and again. */
static void run_yield(void)
{
	struct phase phase;
	pid_t pid;

	pin();
	pid = fork();
	if (pid == 0) {
		for (;;)
			sched_yield();
	}
	phase = begin("yield");
	for (unsigned i = 0; i < YIELDS; i++)
		sched_yield();
	end(&phase);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	/* A program that the child of run_fork() became. */
	if (argc > 1)
		return printf(",\n{\"name\":\"became\",\"tid\":%ld,\"begin\":%ju}",
			      syscall(SYS_gettid), (uintmax_t)now()) < 0;
	(void)argv;
	memory = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	madvise(memory, LARGE, MADV_NOHUGEPAGE);
	memset(memory, 1, LARGE);
	run_user();
	run_getrandom();
	run_read();
	run_mixed();
	run_fork();
	run_yield();
	puts("]");
	return 0;
}
