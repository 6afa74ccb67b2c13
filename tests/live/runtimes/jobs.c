/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue of jobs of one's own, in two processes whose jobs have the same addresses: jobs COUNT
 * SEED. A few jobs, which are used again at once, are each run by a worker, dropped before that,
 * put again although it was not run, or waits in the middle until another thread wakes it. Prints
 * for each use the process, when the job was put, what became of it, the threads that ran and woke
 * it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS 5

struct queue {
	int length;
};

struct job {
	const char *name;
	int waits, woken;
	pid_t runner;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job jobs[JOBS];
static struct job *wanted; /* to be run */
static int over;
static const char item_name[] = "item";

#define POINT __attribute__((noinline, noclone, used, visibility("default")))

POINT void queue_put(struct queue *queue, struct job *job)
{
	queue->length += job->name != NULL;
	__asm__ volatile("" ::: "memory");
}

POINT void queue_drop(struct queue *queue, struct job *job)
{
	queue->length -= job->name != NULL;
	__asm__ volatile("" ::: "memory");
}

POINT void job_wait(struct job *job)
{
	job->waits = 2;
	__asm__ volatile("" ::: "memory");
}

POINT void job_wake(struct job *job)
{
	job->woken = 1;
	__asm__ volatile("" ::: "memory");
}

POINT void job_go_on(struct job *job)
{
	job->waits = 0;
	__asm__ volatile("" ::: "memory");
}

POINT int job_run(struct job *job)
{
	int sum = 0;

	for (int i = 0; i < 2000; i++)
		sum += i ^ job->waits;
	if (job->waits) {
		pthread_mutex_lock(&lock);
		job_wait(job);
		pthread_cond_broadcast(&changed);
		while (!job->woken)
			pthread_cond_wait(&changed, &lock);
		job_go_on(job);
		pthread_mutex_unlock(&lock);
	}
	return sum;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *worker(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	while (!over) {
		struct job *job = wanted;

		if (!job) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		wanted = NULL;
		pthread_mutex_unlock(&lock);
		job->runner = gettid();
		job_run(job);
		pthread_mutex_lock(&lock);
		job->runner = -job->runner;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Until the worker has run the job; it is woken if it waits. */
static void let_run(struct job *job)
{
	pthread_mutex_lock(&lock);
	wanted = job;
	pthread_cond_broadcast(&changed);
	while (job->runner >= 0) {
		if (job->waits == 2 && !job->woken) {
			job_wake(job);
			pthread_cond_broadcast(&changed);
		}
		pthread_cond_wait(&changed, &lock);
	}
	pthread_mutex_unlock(&lock);
}

static void use(int count, unsigned seed)
{
	static const char *const words[] = {"done", "waited", "canceled", "superseded"};
	struct queue queue = {0};
	pthread_t thread;
	int again = 0;

	srand(seed);
	/* A probe reads only what is in memory. */
	(void)*(volatile const char *)item_name;
	pthread_create(&thread, NULL, worker, NULL);
	for (int i = 0; i < count; i++) {
		struct job *job = &jobs[i % JOBS];
		int shape = rand() % 4;
		uint64_t from, to;

		/* The next use of the same job is the second submit. */
		if (again) {
			shape = rand() % 2;
			again = 0;
			job = &jobs[(i - 1) % JOBS];
		}
		if (i + 1 == count)
			shape %= 2;
		*job = (struct job){.name = item_name, .waits = shape == 1};
		from = now();
		queue_put(&queue, job);
		to = now();
		if (shape == 2)
			queue_drop(&queue, job);
		else if (shape == 3)
			again = 1;
		else
			let_run(job);
		printf("%d %d %llu %llu %s %d %d\n", (int)getpid(), i, (unsigned long long)from,
		       (unsigned long long)to, words[shape], (int)-job->runner, (int)gettid());
		fflush(stdout);
	}
	pthread_mutex_lock(&lock);
	over = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	pid_t child;

	if (argc != 3)
		return 2;
	child = fork();
	use(atoi(argv[1]) / 2, (unsigned)atoi(argv[2]) + (child ? 0 : 100));
	if (child)
		wait(NULL);
	return 0;
}
