# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A library whose functions have known entries, exits and parts, for
# tests/unit/test_functions.c. Nothing runs it.
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

	.text
# Pushes at once.
	begin pushes
	push %rbp
	pop %rbp
	ret
	end pushes

# A second name of it, and an older version.
	.globl alias_pushes
	.set alias_pushes, pushes
	.type alias_pushes, @function

# Slides past a load, to the jump; argument 2 is overwritten.
	begin past_load
	endbr64
	mov 0x10(%rdi), %eax
	mov %rax, %rdx
	test %eax, %eax
past_load_at:
	jne 1f
	ret
1:	mov $1, %eax
	ret
	end past_load
	.globl past_load_at
	.hidden past_load_at

# Behind a store nothing may be probed.
	begin behind_store
	mov %rdi, (%rsi)
	push %rbx
	pop %rbx
	ret
	end behind_store

# What a jump leads to is no entry.
	begin looped
	mov %rdi, %rax
1:	dec %rax
	jne 1b
	ret
	end looped

# The stack pointer is 0x28 lower at the entry.
	begin lowered
	sub $0x28, %rsp
	xor %eax, %eax
	call pushes
	add $0x28, %rsp
	ret
	end lowered

# Begins with the nop that becomes a call.
	begin nop5
	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00
	ret
	end nop5

	begin endbr_nop5
	endbr64
	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00
	ret
	end endbr_nop5

# Such a nop behind another instruction is no place, the ret is.
	begin late_nop5
	mov %edi, %eax
	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00
	mov %rax, (%rdi)
	ret
	end late_nop5

	begin begins_vex
	vmovdqu %xmm0, (%rdi)
	ret
	end begins_vex

	begin begins_syscall
	syscall
	ret
	end begins_syscall

	begin begins_lock
	lock addl $1, (%rdi)
	ret
	end begins_lock

	begin begins_int3
	int3
	ret
	end begins_int3

# Entry and exit are one instruction.
	begin thunk
	mov $1, %esi
	jmp called
	end thunk

	begin tail
	test %edi, %edi
	je pushes
	jmp *%rax
	end tail

	begin tail_memory
	mov (%rdi), %rax
	jmp *0x18(%rax)
	end tail_memory

	begin tail_got
	jmp *elsewhere@GOTPCREL(%rip)
	end tail_got

	begin tail_indexed
	jmp *(%rdi, %rsi, 8)
	end tail_indexed

	begin returns_more
	push %rbp
	pop %rbp
	ret $16
	end returns_more

# A jump to the own start.
	begin again
	dec %edi
	jne again
	ret
	end again

# A switch, as GCC writes it for position-independent code.
	begin switched
	cmp $3, %edi
	ja 9f
	lea table(%rip), %rdx
	mov %edi, %edi
	movslq (%rdx, %rdi, 4), %rax
	add %rdx, %rax
	jmp *%rax
1:	mov $1, %eax
	ret
2:	mov $2, %eax
	ret
9:	xor %eax, %eax
	ret
	end switched
	.section .rodata
	.p2align 2
table:	.long 1b - table, 2b - table, 2b - table, 9b - table
	.text

# The same through pointers that the loader makes.
	begin dispatched
	lea pointers(%rip), %rdx
	jmp *(%rdx, %rdi, 8)
1:	mov $1, %eax
	ret
2:	mov $2, %eax
	ret
	end dispatched
	.section .data.rel.ro, "aw"
	.p2align 3
pointers: .quad 1b, 2b
	.text

# Reads of such a table that is one of functions.
	begin chosen
	lea functions(%rip), %rdx
	mov (%rdx, %rdi, 8), %rax
	jmp *%rax
	end chosen
# The same in the jump itself.
	begin chosen_at_once
	lea functions(%rip), %rdx
	jmp *(%rdx, %rdi, 8)
	end chosen_at_once
	.section .data.rel.ro, "aw"
functions: .quad hidden_pushes, hidden_thunk
	.text
	begin hidden_pushes, local
	push %rax
	pop %rax
	ret
	end hidden_pushes
	begin hidden_thunk, local
	jmp pushes
	end hidden_thunk

# Has a part elsewhere.
	begin parted
	push %rbx
	test %edi, %edi
	je parted.cold
1:	pop %rbx
	ret
	end parted
	.section .text.unlikely, "ax"
	.type parted.cold, @function
parted.cold: .cfi_startproc
	xor %eax, %eax
	jmp 1b
	.cfi_endproc
	.size parted.cold, . - parted.cold
	.text

# Jumps to a range without a name, which nobody else knows.
	begin continued
	push %rbx
	jmp 1f
	end continued
	.p2align 4
	.cfi_startproc
1:	pop %rbx
	ret
	.cfi_endproc

# A range without a name that is called as well is a function of its own.
	begin shared
	push %rbx
	pop %rbx
	jmp 1f
	end shared
	.p2align 4
	.cfi_startproc
1:	xor %eax, %eax
	ret
	.cfi_endproc
	begin sharing
	call 1b
	ret
	end sharing

# Calls of all kinds: closed, open by a pointer, open by a call out of the file, recursive.
	begin called
	push %rbx
	call pushes
	pop %rbx
	ret
	end called

	begin calls_pointer
	push %rbx
	call *%rdi
	pop %rbx
	ret
	end calls_pointer

	begin calls_out
	push %rbx
	call elsewhere@PLT
	pop %rbx
	ret
	end calls_out

	begin calls_open
	push %rbx
	call calls_out
	pop %rbx
	ret
	end calls_open

	begin calls_itself
	push %rbx
	call calls_itself
	pop %rbx
	ret
	end calls_itself

	begin calls_back
	push %rbx
	call called_back
	pop %rbx
	ret
	end calls_back

	begin called_back
	push %rbx
	call calls_back
	pop %rbx
	ret
	end called_back

	begin never_returns
	push %rbx
1:	jmp 1b
	end never_returns

	begin cut_off
	push %rbx
	.byte 0x0f, 0x04
	ret
	end cut_off

# Of no size: the unwind entry has it, or nothing has.
	.globl unsized
	.type unsized, @function
	.p2align 4
unsized: .cfi_startproc
	push %rbx
	pop %rbx
	ret
	.cfi_endproc

	.globl unranged
	.type unranged, @function
	.p2align 4
unranged:
	ret

	.globl resolved
	.type resolved, @gnu_indirect_function
	.p2align 4
resolved: .cfi_startproc
	lea pushes(%rip), %rax
	ret
	.cfi_endproc
	.size resolved, . - resolved

	begin _ZN5names6mangleEiRKd
	push %rbx
	pop %rbx
	ret
	end _ZN5names6mangleEiRKd

	.symver old_pushes, versioned@OLD_1
	.globl old_pushes
	.type old_pushes, @function
	.p2align 4
old_pushes: push %rbx
	pop %rbx
	ret
	.size old_pushes, . - old_pushes
	.symver new_pushes, versioned@@NEW_2
	.globl new_pushes
	.type new_pushes, @function
	.p2align 4
new_pushes: push %rbx
	nop
	pop %rbx
	ret
	.size new_pushes, . - new_pushes
	.section .note.GNU-stack, "", @progbits
