/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The machine's numbers and names in ELF files, in the dynamic linker's cache and among the flags
 * of threads; and code by the way in which the kernel runs it where a probe is: emulated, nothing,
 * and single-stepped.
 */
#ifndef CLEW_ARCH_MACHINE_H
#define CLEW_ARCH_MACHINE_H

#include <elf.h>

#ifdef __aarch64__
#define CLEW_MACHINE_NAME      "arm64"
#define CLEW_MACHINE_ELF       EM_AARCH64
#define CLEW_MACHINE_RELATIVE  R_AARCH64_RELATIVE
#define CLEW_MACHINE_CACHE     0x0a03 /* of the cache: a library of glibc */
#define CLEW_MACHINE_LIBRARIES "aarch64-linux-gnu"
#define CLEW_MACHINE_MUSL      "ld-musl-aarch64.so.1"
#define CLEW_CODE_EMULATED     "b 1f; 1:"
#define CLEW_CODE_NOP	       "nop"
#define CLEW_CODE_NOP5	       "nop"
#define CLEW_CODE_STEPPED      "add x0, x0, #0"
#define CLEW_NOPS_SINCE_MINOR  13 /* of Linux 6: no nop is single-stepped from there on */
#define CLEW_FLAG_RESUME       2  /* a thread's flags, as kernels before 6.18 number them */
#define CLEW_FLAG_SIGNAL       0
#else
#define CLEW_MACHINE_NAME      "x86-64"
#define CLEW_MACHINE_ELF       EM_X86_64
#define CLEW_MACHINE_RELATIVE  R_X86_64_RELATIVE
#define CLEW_MACHINE_CACHE     0x0303
#define CLEW_MACHINE_LIBRARIES "x86_64-linux-gnu"
#define CLEW_MACHINE_MUSL      "ld-musl-x86_64.so.1"
#define CLEW_CODE_EMULATED     "push %rax; pop %rax"
#define CLEW_CODE_NOP	       ".byte 0x0f, 0x1f, 0x40, 0x00"
#define CLEW_CODE_NOP5	       ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#define CLEW_CODE_STEPPED      "mov %rdi, %rax"
#define CLEW_NOPS_SINCE_MINOR  18
#define CLEW_FLAG_RESUME       1
#define CLEW_FLAG_SIGNAL       2
#endif

#endif
