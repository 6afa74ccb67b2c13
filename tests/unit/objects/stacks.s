# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Functions that leave their return address alone, and functions that do not, for
# tests/unit/test_stack_use.c. Nothing runs them.
	.macro begin name, visibility=globl
	.p2align 4
	.\visibility \name
	.type \name, @function
\name:	.cfi_startproc
	.endm
	.macro end name
	.cfi_endproc
	.size \name, . - \name
	.endm
# Jumps to the entry %rdi of a table.
	.macro jump_by table
	lea \table(%rip), %rdx
	movslq (%rdx,%rdi,4), %rax
	add %rdx, %rax
	jmp *%rax
	.endm

	.text
# ---- that leave it alone ----

	begin keeps_frame
	push %rbp
	mov %rsp, %rbp
	sub $0x20, %rsp
	mov 0x10(%rbp), %rax
	mov 0x30(%rsp), %rdx
	leave
	ret
	end keeps_frame

# Room of a size that the program computes, given back by lea from the frame pointer.
	begin keeps_alloca
	push %rbp
	mov %rsp, %rbp
	push %r12
	push %rbx
	sub %rdi, %rsp
	and $-16, %rsp
	mov %rsp, %rax
	mov 8(%rsp), %rcx
	lea -0x10(%rbp), %rsp
	pop %rbx
	pop %r12
	pop %rbp
	ret
	end keeps_alloca

	begin keeps_by_move
	push %rbp
	mov %rsp, %rbp
	and $-64, %rsp
	sub $0x80, %rsp
	mov %rbp, %rsp
	pop %rbp
	ret
	end keeps_by_move

# Two ways to the end, with one depth each.
	begin keeps_early
	test %edi, %edi
	je 1f
	push %rbx
	sub $0x10, %rsp
	mov %rdi, 8(%rsp)
	add $0x10, %rsp
	pop %rbx
1:	ret
	end keeps_early

# Behind the call, which does not return, lies what is reached before anything is pushed.
	begin keeps_behind_call
	test %edi, %edi
	je 1f
	push %rbx
	call elsewhere@PLT
1:	xor %eax, %eax
	ret
	end keeps_behind_call

# What is given to a function on the stack is taken back.
	begin keeps_pushed
	push $1
	push $2
	call elsewhere@PLT
	add $0x10, %rsp
	ret
	end keeps_pushed

# The address of arguments on the stack, for va_list, is above the return address.
	begin keeps_variadic
	sub $0x18, %rsp
	lea 0x20(%rsp), %rax
	mov %rax, 8(%rsp)
	mov %rsp, %rdi
	call elsewhere@PLT
	add $0x18, %rsp
	ret
	end keeps_variadic

# A switch with pushed registers.
	begin keeps_switch
	push %rbx
	cmp $1, %edi
	ja 9f
	jump_by table
.Lzero:	mov $1, %eax
	pop %rbx
	ret
.Lone:	mov $2, %eax
9:	pop %rbx
	ret
	end keeps_switch

# Two switches with pushed registers, and one behind a jump to a part that has none on the stack.
	begin keeps_own_switch
	push %rbx
	cmp $1, %edi
	ja 9f
	jump_by own_table
.Lown_zero:
	jump_by own_table+8
.Lown_one:
	mov $2, %eax
9:	pop %rbx
	jmp .Lown_part
	end keeps_own_switch

# It has no name, as in a stripped file.
	.p2align 4
.Lown_part:
	.cfi_startproc
	cmp $1, %edi
	ja 9f
	jump_by part_table
.Lpart_zero:
	mov $1, %eax
	ret
.Lpart_one:
	mov $2, %eax
9:	ret
	.cfi_endproc

# A barrier adds nothing to what the stack pointer points to.
	begin keeps_barrier
	lock orl $0, (%rsp)
	ret
	end keeps_barrier

	begin keeps_tail
	mov (%rdi), %rax
	jmp *0x18(%rax)
	end keeps_tail

# ---- that do not ----

# As libraries of coroutines do it.
	begin switches
	push %rbp
	push %rbx
	mov %rsp, (%rdi)
	mov %rsi, %rsp
	pop %rbx
	pop %rbp
	ret
	end switches

	begin switches_by_load
	mov 8(%rdi), %rsp
	ret
	end switches_by_load

	begin switches_by_exchange
	xchg %rsp, %rdi
	ret
	end switches_by_exchange

	begin switches_by_leave
	mov %rdi, %rbp
	leave
	ret
	end switches_by_leave

	begin switches_if
	test %esi, %esi
	cmovne %rdi, %rsp
	ret
	end switches_if

# As setjmp and getcontext do it.
	begin reads
	mov (%rsp), %rax
	mov %rax, 0x38(%rdi)
	xor %eax, %eax
	ret
	end reads

	begin reads_in_frame
	push %rbp
	mov %rsp, %rbp
	mov 8(%rbp), %rax
	pop %rbp
	ret
	end reads_in_frame

# Behind a jump, where the depth is another one.
	begin reads_on_one_way
	push %rbx
	test %edi, %edi
	je 1f
	mov (%rsp), %rax
	pop %rbx
	ret
1:	mov 8(%rsp), %rax
	pop %rbx
	ret
	end reads_on_one_way

	begin reads_by_copy
	mov %rsp, %rax
	sub $0x18, %rsp
	push (%rax)
	add $0x20, %rsp
	ret
	end reads_by_copy

# mcount: the return address of whoever called it.
	begin reads_callers
	mov 8(%rbp), %rdi
	ret
	end reads_callers

# The same, behind its own frame.
	begin reads_callers_frame
	push %rbp
	mov %rsp, %rbp
	sub $0x10, %rsp
	mov (%rbp), %rax
	mov 8(%rax), %rax
	leave
	ret
	end reads_callers_frame

# As profilers walk: from frame to frame.
	begin reads_chain
	mov %rbp, %rax
1:	test %rax, %rax
	je 2f
	mov 8(%rax), %rdx
	mov %rdx, (%rdi)
	mov (%rax), %rax
	jmp 1b
2:	ret
	end reads_chain

	begin changes
	sub $8, %rsp
	mov %rdi, 8(%rsp)
	add $8, %rsp
	ret
	end changes

# vfork keeps it in a register.
	begin takes
	pop %rdi
	mov $58, %eax
	syscall
	push %rdi
	ret
	end takes

	begin takes_by_add
	mov %rdi, %rcx
	add $8, %rsp
	jmp *%rcx
	end takes_by_add

# A jump, made of a return.
	begin elsewhere_pushed
	push %rdi
	ret
	end elsewhere_pushed

	begin passes
	mov %rsp, %rdi
	push %rbx
	call elsewhere@PLT
	pop %rbx
	ret
	end passes

# ---- their callers ----

	begin calls_switches
	push %rbx
	call switches
	pop %rbx
	ret
	end calls_switches

	begin calls_caller
	push %rbx
	call calls_switches
	pop %rbx
	ret
	end calls_caller

	begin jumps_to_reads
	mov $1, %esi
	jmp reads
	end jumps_to_reads

	begin calls_kept
	push %rbx
	call keeps_frame
	pop %rbx
	ret
	end calls_kept

	.section .rodata
	.p2align 2
table:	.long .Lzero - table, .Lone - table
own_table: .long .Lown_zero - own_table, .Lown_one - own_table
	.long .Lown_one - own_table - 8, .Lown_one - own_table - 8
part_table: .long .Lpart_zero - part_table, .Lpart_one - part_table
