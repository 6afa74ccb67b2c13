# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A library in which nothing touches a return address, for tests/unit/test_stack_use.c.
	.text
	.globl quiet
	.type quiet, @function
quiet:	.cfi_startproc
	push %rbx
	call behind
	pop %rbx
	ret
	.cfi_endproc
	.size quiet, . - quiet

# It has no name.
	.p2align 4
behind:	xor %eax, %eax
	ret
