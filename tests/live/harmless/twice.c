/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* getcontext returns again each time that setcontext goes back to it; so does setjmp, and vfork in
 * the child and in the parent. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define TIMES 50

static ucontext_t context;
static jmp_buf buffer;

static int contexts(void)
{
	volatile int times = 0;

	getcontext(&context);
	if (times++ < TIMES)
		setcontext(&context);
	return times - 1;
}

static int jumps(void)
{
	volatile int sum = 0;
	int value = setjmp(buffer);

	sum += value;
	if (value < TIMES)
		longjmp(buffer, value + 1);
	return sum;
}

static int children(void)
{
	int sum = 0;

	for (int i = 0; i < 5; i++) {
		int status;
		pid_t child = vfork();

		if (!child)
			_exit(i);
		waitpid(child, &status, 0);
		sum += WEXITSTATUS(status);
	}
	return sum;
}

int main(void)
{
	printf("contexts %d\n", contexts());
	printf("jumps %d\n", jumps());
	printf("children %d\n", children());
	return 3;
}
