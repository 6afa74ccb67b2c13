/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts that all records share: the header, the kinds, sizes and the clock. See records.h.
 */
#ifndef CLEW_KERNEL_RECORDS_HEADER_H
#define CLEW_KERNEL_RECORDS_HEADER_H

#include <linux/types.h>

#define CLEW_COMM_SIZE	       16
#define CLEW_NSPID_LEVELS      8
#define CLEW_COMMAND_LINE_SIZE 256
#define CLEW_PATH_SIZE	       1024
#define CLEW_TEXT_SIZE	       256
#define CLEW_UNIX_PATH_SIZE    108
#define CLEW_ANNOUNCE_TEXT     512

/*
 * To record an event takes 200 ns or more, and to read the clock 20 to 40: the bits below 128 ns
 * are noise, and would take up seven eighths of a byte of each time in a file. All times are
 * rounded down to whole steps of it, except a timer's slack and the readings of all three clocks.
 */
#define CLEW_CLOCK_STEP	 128
#define CLEW_CLOCK(time) ((time) & ~(CLEW_CLOCK_STEP - 1ULL))

/* Value of a call field where the task is in no system call. */
#define CLEW_NO_CALL 0xffff

#define CLEW_RECORD_KIND(NAME, name, number, ...) CLEW_KIND_##NAME = (number),
#define CLEW_LEDGER_KIND(NAME, name, number)	  CLEW_KIND_##NAME = (number),
enum clew_kind {
#include <clew/kernel/kinds.def>
};

/* Its size is the highest kind's number and one. */
#define CLEW_RECORD_KIND(NAME, name, number, ...) char name##_[(number) + 1];
#define CLEW_LEDGER_KIND(NAME, name, number)	  char name##_[(number) + 1];
union clew_kind_numbers {
#include <clew/kernel/kinds.def>
};
enum { CLEW_KIND_COUNT = sizeof(union clew_kind_numbers) };

/* Schemas and masks have room for that many kinds. */
#define CLEW_KINDS_MAX 64
_Static_assert(CLEW_KIND_COUNT <= CLEW_KINDS_MAX, "too many kinds of records");

/* A kind's bit in a mask of kinds. The last bit stands for all kinds from there on. */
static inline __u64 clew_kind_bit(unsigned kind)
{
	return 1ULL << (kind < CLEW_KINDS_MAX ? kind : CLEW_KINDS_MAX - 1);
}

struct clew_header {
	__u64 time;
	__u32 lost; /* records this CPU has lost since the start, modulo 2^32 */
	__u16 cpu;
	__u8 kind;  /* enum clew_kind */
	__u8 flags; /* by kind */
};

/* Devices are numbered as in the kernel: major << 20 | minor. */
#define CLEW_DEVICE_MAJOR(device) ((device) >> 20)
#define CLEW_DEVICE_MINOR(device) ((device)&0xfffff)

#define CLEW_ASSERT_LAYOUT(type, member, offset)                                                   \
	_Static_assert(__builtin_offsetof(type, member) == (offset), #type "." #member)
#define CLEW_ASSERT_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)

CLEW_ASSERT_SIZE(struct clew_header, 16);
CLEW_ASSERT_LAYOUT(struct clew_header, kind, 14);

#endif
