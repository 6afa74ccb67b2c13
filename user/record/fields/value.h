/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values of registers, as far as they are known before the kernel side is loaded. */
#ifndef CLEW_RECORD_FIELDS_VALUE_H
#define CLEW_RECORD_FIELDS_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#define ALL_SLOTS INT64_MIN

enum value_kind {
	UNSET,	 /* no way here was seen yet */
	RUN,	 /* of the run: the kernel verifies whatever it may be */
	KNOWN,	 /* `number` */
	DECIDED, /* at load, or it is not known whether then */
	FRAME,	 /* a place `number` bytes from the frame's end; ALL_SLOTS: somewhere in it */
	FROZEN,	 /* a place among the constants */
};

struct value {
	uint8_t kind;
	bool asked; /* KNOWN: by a question to the kernel */
	int64_t number;
};

extern const struct value value_of_run, value_decided;

struct value value_known(int64_t number);
/* True if the kernel decides it at load. */
bool value_is_decided(struct value value);
/* The value of a register after two ways to an instruction. */
struct value value_join(struct value a, struct value b);
/* `operation`: BPF_ADD and its like; `wide`: of 64 bits. */
struct value value_combine(unsigned operation, struct value a, struct value b, bool wide);
/* True if the comparison, as BPF_JEQ, holds. */
bool value_compare(unsigned operation, int64_t a, int64_t b, bool *ret_unknown);

#endif
