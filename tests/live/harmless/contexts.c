/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Coroutines of the C library, which also switch in the middle of a sort. */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define COROUTINES 4
#define VALUES	   40

static ucontext_t back, contexts[COROUTINES];
static char stacks[COROUTINES][65536];
static int turn, left = COROUTINES;
static long sum;

static void yield(void)
{
	int me = turn;

	turn = (turn + 1) % COROUTINES;
	swapcontext(&contexts[me], &contexts[turn]);
}

static int compare(const void *a, const void *b)
{
	yield();
	return *(const int *)a - *(const int *)b;
}

static void work(int number)
{
	int values[VALUES];

	for (int i = 0; i < VALUES; i++)
		values[i] = (i * 7919 + number * 31) % 97;
	qsort(values, VALUES, sizeof(values[0]), compare);
	for (int i = 0; i < VALUES; i++)
		sum += (long)values[i] * (i + 1);
	if (!--left)
		setcontext(&back);
	for (;;)
		yield();
}

int main(void)
{
	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&contexts[i], (void (*)(void))work, 1, i);
	}
	swapcontext(&back, &contexts[0]);
	printf("sum %ld, left %d\n", sum, left);
	return 0;
}
