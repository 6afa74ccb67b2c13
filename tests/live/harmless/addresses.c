/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that ask where they return to: themselves, by the frame pointer of their caller, and
 * the loader, which finds the next function of a name from there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wframe-address"

extern char __executable_start, etext;

static int is_own(const void *address)
{
	return (const char *)address >= &__executable_start && (const char *)address < &etext;
}

__attribute__((noinline)) static int own(void)
{
	return is_own(__builtin_return_address(0));
}

/* The caller's place, too. */
__attribute__((noinline, noclone)) static int callers(void)
{
	return is_own(__builtin_return_address(1));
}

__attribute__((noinline, noclone)) static int asks_callers(int value)
{
	int is_callers = callers();

	/* So it is a call, and no jump. */
	__asm__ volatile("");
	return is_callers + value;
}

/* A jump, not a call: the loader returns to whoever called this. */
__attribute__((noinline)) static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* One of the C library's has this name, too. */
int rand(void)
{
	return 4;
}

int main(void)
{
	int owned = 0, called = 0, found = 0;

	for (int i = 0; i < 50; i++) {
		void *other = next("rand");

		owned += own();
		called += asks_callers(0);
		found += other && other != (void *)rand;
	}
	printf("own %d, callers %d, next %d\n", owned, called, found);
	return 0;
}
