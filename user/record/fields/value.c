/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values of registers, as far as they are known before the kernel side is loaded. */
#include "record/fields/value.h"

#include <linux/bpf.h>

const struct value value_of_run = {.kind = RUN}, value_decided = {.kind = DECIDED};

struct value value_known(int64_t number)
{
	return (struct value){.kind = KNOWN, .number = number};
}

bool value_is_decided(struct value value)
{
	return value.kind == DECIDED || (value.kind == KNOWN && value.asked);
}

struct value value_join(struct value a, struct value b)
{
	if (a.kind == UNSET)
		return b;
	if (b.kind == UNSET)
		return a;
	if (a.kind == b.kind && a.number == b.number) {
		a.asked |= b.asked;
		return a;
	}
	if (a.kind == FRAME && b.kind == FRAME)
		return (struct value){.kind = FRAME, .number = ALL_SLOTS};
	return a.kind == RUN && b.kind == RUN ? value_of_run : value_decided;
}

static bool compute(unsigned operation, int64_t a, int64_t b, int64_t *ret)
{
	switch (operation) {
	case BPF_ADD:
		*ret = (int64_t)((uint64_t)a + (uint64_t)b);
		return true;
	case BPF_SUB:
		*ret = (int64_t)((uint64_t)a - (uint64_t)b);
		return true;
	case BPF_AND:
		*ret = a & b;
		return true;
	case BPF_OR:
		*ret = a | b;
		return true;
	case BPF_XOR:
		*ret = a ^ b;
		return true;
	case BPF_LSH:
		*ret = (int64_t)((uint64_t)a << (b & 63));
		return true;
	case BPF_RSH:
		*ret = (int64_t)((uint64_t)a >> (b & 63));
		return true;
	default:
		return false;
	}
}

struct value value_combine(unsigned operation, struct value a, struct value b, bool wide)
{
	int64_t number;

	if (a.kind == FRAME && b.kind == KNOWN && a.number != ALL_SLOTS && wide &&
	    compute(operation, a.number, b.number, &number))
		return (struct value){.kind = FRAME, .number = number};
	if (a.kind == FRAME || b.kind == FRAME)
		return (struct value){.kind = FRAME, .number = ALL_SLOTS};
	if (a.kind == FROZEN || b.kind == FROZEN)
		return a.kind == FROZEN ? a : b;
	if (a.kind == KNOWN && b.kind == KNOWN) {
		struct value value = value_known(0);

		value.asked = a.asked || b.asked;
		if (!compute(operation, a.number, b.number, &value.number))
			return value_decided;
		if (!wide)
			value.number = (uint32_t)value.number;
		return value;
	}
	return value_is_decided(a) || value_is_decided(b) ? value_decided : value_of_run;
}

bool value_compare(unsigned operation, int64_t a, int64_t b, bool *ret_unknown)
{
	switch (operation) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JSET:
		return a & b;
	case BPF_JGT:
		return (uint64_t)a > (uint64_t)b;
	case BPF_JGE:
		return (uint64_t)a >= (uint64_t)b;
	case BPF_JLT:
		return (uint64_t)a < (uint64_t)b;
	case BPF_JLE:
		return (uint64_t)a <= (uint64_t)b;
	case BPF_JSGT:
		return a > b;
	case BPF_JSGE:
		return a >= b;
	case BPF_JSLT:
		return a < b;
	case BPF_JSLE:
		return a <= b;
	default:
		*ret_unknown = true;
		return false;
	}
}
