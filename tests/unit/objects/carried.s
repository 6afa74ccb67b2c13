# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A library that carries probes, for tests/golden/functions.py. Nothing runs it.
	.macro note provider, name, place, counter, arguments
	.pushsection .note.stapsdt, "", @note
	.balign 4
	.long 8, 992f - 991f, 3
	.asciz "stapsdt"
991:	.quad \place, 0, \counter
	.asciz "\provider"
	.asciz "\name"
	.asciz "\arguments"
992:	.balign 4
	.popsection
	.endm

	.text
	.globl carrier
	.type carrier, @function
carrier: .cfi_startproc
	push %rbx
first:	nop
second:	nop
	pop %rbx
called:	syscall
	ret
	.cfi_endproc
	.size carrier, . - carrier
	.hidden first, second, called
	.globl first, second, called

	.data
	.type known, @object
known:	.quad 0, 0
	.size known, . - known
	.section .probes, "aw", @progbits
	.globl counted
	.hidden counted
	.type counted, @object
counted: .short 0
	.size counted, . - counted

	note store, begin, first, counted, "8@%rdi -4@$3 8@8+known(%rip)"
	note store, begin, second, counted, "4@%edi -4@16(%rsp) 8@nowhere(%rip)"
	note store, end, second, 0, "8f@%xmm0 -2@known(%rip)"
	note store, call, called, 0, ""
	.section .note.GNU-stack, "", @progbits
