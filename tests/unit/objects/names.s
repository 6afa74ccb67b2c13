# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A library whose functions have several names, one or none, for tests/unit/test_names.c.
# Nothing runs it.
	.macro begin name
	.p2align 4
	.type \name, @function
\name:	.cfi_startproc
	.endm
	.macro end name
	.cfi_endproc
	.size \name, . - \name
	.endm

	.text
# Three names: the global one is told. 9 bytes, then padding.
	.globl shown
	begin shown
	.skip 8, 0x90
	ret
	end shown
	.set aa_local, shown
	.type aa_local, @function
	.size aa_local, 9
	.weak weak_shown
	.set weak_shown, shown
	.type weak_shown, @function
	.size weak_shown, 9

# Two names of one binding: the one with fewer underscores.
	begin __plain
	.skip 8, 0x90
	ret
	end __plain
	.set plain, __plain
	.type plain, @function
	.size plain, 9

# A weak name without an underscore, and a shorter one: as fwrite and cfree of the C library.
	.globl _IO_given
	begin _IO_given
	.skip 8, 0x90
	ret
	end _IO_given
	.weak given
	.set given, _IO_given
	.type given, @function
	.size given, 9
	.globl afree
	begin afree
	.skip 8, 0x90
	ret
	end afree
	.globl ofre
	.set ofre, afree
	.type ofre, @function
	.size ofre, 9

# A name that is not exported.
	begin hidden
	.skip 8, 0x90
	ret
	end hidden

# No name at all, but .eh_frame has its bounds.
	.p2align 4
	.cfi_startproc
nameless:
	.type nameless, @notype
	.skip 8, 0x90
	ret
	.cfi_endproc

# A function within another one.
	.globl outer
	begin outer
	.skip 4, 0x90
inner:	.skip 4, 0x90
	.type inner, @function
	.size inner, . - inner
	.skip 4, 0x90
	ret
	end outer

# Nothing says what this is.
	.p2align 4
unknown: .skip 16, 0x90
	.type unknown, @notype
