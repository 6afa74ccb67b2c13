/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Switches stacks by an instruction of its own, as libraries of coroutines do: no name in the
 * program says so. */
#include <stdio.h>
#include <stdlib.h>

#define SIZE 65536

void switch_stack(void **save, void *to);

__asm__(".text\n"
	".p2align 4\n"
	".globl switch_stack\n"
	".type switch_stack, @function\n"
	"switch_stack:\n"
	"push %rbx\n"
	"push %rbp\n"
	"push %r12\n"
	"push %r13\n"
	"push %r14\n"
	"push %r15\n"
	"mov %rsp, (%rdi)\n"
	"mov %rsi, %rsp\n"
	"pop %r15\n"
	"pop %r14\n"
	"pop %r13\n"
	"pop %r12\n"
	"pop %rbp\n"
	"pop %rbx\n"
	"ret\n"
	".size switch_stack, . - switch_stack\n");

static void *outside, *inside;
static int value;

__attribute__((noinline)) static void give(int number)
{
	value = number;
	switch_stack(&inside, outside);
}

static void numbers(void)
{
	for (int i = 1;; i++)
		give(i * i);
}

int main(void)
{
	void **top = (void **)((char *)aligned_alloc(16, SIZE) + SIZE);
	long sum = 0;

	*--top = NULL;
	*--top = (void *)numbers;
	top -= 6;
	inside = top;
	for (int i = 0; i < 100; i++) {
		switch_stack(&outside, inside);
		sum += value;
	}
	printf("sum %ld\n", sum);
	return 0;
}
