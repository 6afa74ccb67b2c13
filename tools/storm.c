/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A storm of context switches at a chosen rate, for measuring a recorder: on
 * each CPU given, two processes pass a byte to and fro through two pipes. Where a
 * rate is asked for, one of each pair spins between rounds; it never sleeps for
 * it, so that every switch is one of the pair's own.
 *
 * Prints "ROUNDS SECONDS SWITCHES_PER_SECOND"; a round is two switches on one
 * CPU, or four where a pair lies across two.
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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_PAIRS 64

static uint64_t now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0) {
		fprintf(stderr, "storm: CPU %d: %s\n", cpu, strerror(errno));
		exit(3);
	}
}

static void echo(int in, int out)
{
	char byte;

	while (read(in, &byte, 1) == 1)
		if (write(out, &byte, 1) != 1)
			break;
	_exit(0);
}

/* One pair's first process: rounds until `end`, at most one in each `period` ns. */
static uint64_t drive(int in, int out, uint64_t end, double period)
{
	uint64_t rounds = 0, begin = now_ns(), now = begin;
	char byte = 'x';

	while (now < end) {
		if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
			break;
		rounds++;
		do
			now = now_ns();
		while ((double)(now - begin) < period * (double)rounds && now < end);
	}
	return rounds;
}

static uint64_t run_pair(int first, int second, uint64_t end, double period)
{
	int to[2], from[2], status;
	uint64_t rounds;
	pid_t child;

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0) {
		perror("storm: pipe");
		exit(3);
	}
	child = fork();
	if (child < 0) {
		perror("storm: fork");
		exit(3);
	}
	if (child == 0) {
		close(to[1]);
		close(from[0]);
		pin(second);
		echo(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	pin(first);
	rounds = drive(from[0], to[1], end, period);
	close(to[1]);
	waitpid(child, &status, 0);
	return rounds;
}

static int usage(void)
{
	fprintf(stderr, "Usage: storm SECONDS SWITCHES_PER_SECOND|0 CPU[-CPU] ...\n"
			"  CPU      a pair of processes on this CPU\n"
			"  CPU-CPU  a pair of processes across two CPUs\n");
	return 2;
}

int main(int argc, char **argv)
{
	int pairs = argc - 3, switches_a_round = 0;
	uint64_t *rounds, total = 0, begin, end;
	pid_t children[MOST_PAIRS];
	double seconds, rate, took;

	if (pairs < 1 || pairs > MOST_PAIRS)
		return usage();
	seconds = atof(argv[1]);
	rate = atof(argv[2]);
	if (seconds <= 0 || rate < 0)
		return usage();
	rounds = mmap(NULL, sizeof(*rounds) * MOST_PAIRS, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (rounds == MAP_FAILED) {
		perror("storm: mmap");
		return 3;
	}
	begin = now_ns();
	end = begin + (uint64_t)(seconds * 1e9);
	for (int index = 0; index < pairs; index++) {
		int first = 0, second = 0;
		int given = sscanf(argv[3 + index], "%d-%d", &first, &second);

		if (given < 1)
			return usage();
		if (given == 1)
			second = first;
		switches_a_round = first == second ? 2 : 4;
		children[index] = fork();
		if (children[index] < 0) {
			perror("storm: fork");
			return 3;
		}
		if (children[index] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			rounds[index] =
				run_pair(first, second, end,
					 rate > 0 ? 1e9 * switches_a_round * pairs / rate : 0);
			_exit(0);
		}
	}
	for (int index = 0; index < pairs; index++) {
		int status;

		if (waitpid(children[index], &status, 0) < 0 || status != 0)
			return 3;
		total += rounds[index];
	}
	took = (double)(now_ns() - begin) / 1e9;
	printf("%llu %.6f %.0f\n", (unsigned long long)total, took,
	       (double)total * switches_a_round / took);
	return 0;
}
