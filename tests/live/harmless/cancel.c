/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads that are cancelled, that end themselves in a function, and that clean up behind them. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t ready, never;
static int cleaned[3];

static void clean(void *number)
{
	cleaned[*(int *)number]++;
}

__attribute__((noinline)) static void end(int number)
{
	pthread_cleanup_push(clean, &number);
	if (number == 1)
		pthread_exit(NULL);
	sem_post(&ready);
	for (;;)
		sem_wait(&never);
	pthread_cleanup_pop(0);
}

static void *work(void *number)
{
	pthread_cleanup_push(clean, number);
	if (*(int *)number)
		end(*(int *)number);
	pthread_cleanup_pop(1);
	return number;
}

int main(void)
{
	int kinds[] = {0, 1, 2}, cancelled = 0;

	sem_init(&ready, 0, 0);
	sem_init(&never, 0, 0);
	for (int i = 0; i < 30; i++) {
		pthread_t thread;
		void *result;

		pthread_create(&thread, NULL, work, &kinds[i % 3]);
		if (i % 3 == 2) {
			sem_wait(&ready);
			pthread_cancel(thread);
		}
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	printf("cleaned %d %d %d, cancelled %d\n", cleaned[0], cleaned[1], cleaned[2], cancelled);
	return 0;
}
