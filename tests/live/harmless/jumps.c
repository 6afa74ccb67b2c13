/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Jumps out of a sort, and out of signal handlers on a stack of their own. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static jmp_buf out;
static sigjmp_buf again;
static int compared;
static volatile int handled;

static int compare(const void *a, const void *b)
{
	if (++compared % 11 == 0)
		longjmp(out, compared % 7 + 1);
	return *(const int *)a - *(const int *)b;
}

static void handle(int number)
{
	handled += number == SIGUSR1;
	siglongjmp(again, 1);
}

int main(void)
{
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_NODEFER};
	volatile long sum = 0;

	for (volatile int i = 0; i < 60; i++) {
		int values[50], value = setjmp(out);

		for (int k = 0; k < 50; k++)
			values[k] = (k * 7919) % 97;
		if (!value)
			qsort(values, 50, sizeof(values[0]), compare);
		sum += value;
	}
	printf("sum %ld\n", sum);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	while (handled < 40)
		if (!sigsetjmp(again, 1))
			raise(SIGUSR1);
	printf("handled %d\n", handled);
	return 0;
}
