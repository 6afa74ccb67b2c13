# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A library in which one function switches stacks: it has no name and no unwind entry. For
# tests/unit/test_stack_use.c. Nothing runs it.
	.text
	.globl quiet
	.type quiet, @function
quiet:	xor %eax, %eax
	ret
	.size quiet, . - quiet

	.p2align 4
	push %rbx
	mov %rsp, (%rdi)
	mov %rsi, %rsp
	pop %rbx
	ret
