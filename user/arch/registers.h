/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The machine's general registers: what each is called, which have arguments, and where a probe
 * finds them. A number is that of the machine's encoding.
 */
#ifndef CLEW_ARCH_REGISTERS_H
#define CLEW_ARCH_REGISTERS_H

#include <stddef.h>
#include <stdint.h>

#define CLEW_REGISTER_ARGUMENTS 6 /* integers and pointers that are passed in registers */

/* The number of the register of a name, be it the name of a part of it, or -1. */
int clew_register_find(const char *name, size_t length);
/* Its offset in the registers that a probe sees (the kernel's struct pt_regs), or -1. */
int clew_register_offset(int number);
/* The register of an argument, 0 to 5, and of the result. -1: there is none. */
int clew_register_of_argument(unsigned argument);
int clew_register_of_result(void);
/* The argument in a register by its number, and by DWARF's number of it; -1: none. */
int clew_register_argument(int number);
int clew_register_argument_dwarf(unsigned number);
/* The offset of the instruction pointer among the registers that a probe sees, or -1. */
int clew_register_instruction(void);

#endif
