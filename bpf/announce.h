/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes in user space: those of clew/announce.h, and those that the
 * description of a layer names.
 *
 * The program at a probe does not sleep: text that is not in memory is left
 * out. The values of a layer's point are sent as they were read; the drain
 * turns them into words.
 */
#ifndef CLEW_BPF_ANNOUNCE_H
#define CLEW_BPF_ANNOUNCE_H

#include "arch.h"
#include "read.h"
#include <bpf/bpf_helpers.h>
#include <clew/kernel/maps.h>
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CLEW_SITES);
	__type(key, __u32);
	__type(value, struct clew_site);
} clew_sites SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CLEW_POINTS);
	__type(key, __u32);
	__type(value, struct clew_point);
} clew_points SEC(".maps");

struct announce_record {
	struct clew_announce announce;
	char text[CLEW_ANNOUNCE_TEXT];
};

/* Reads an argument of a probe. False, and 0, if it cannot be read. */
static __always_inline bool read_argument(struct pt_regs *registers, struct clew_site *site,
					  __u32 number, __u64 *ret_value)
{
	struct clew_operand *operand;
	__u64 value = 0;
	__u8 shift;

	*ret_value = 0;
	if (number >= CLEW_SITE_ARGUMENTS)
		return false;
	operand = &site->arguments[number];
	if (operand->kind == CLEW_OPERAND_CONSTANT) {
		*ret_value = operand->value;
		return true;
	}
	if (operand->kind == CLEW_OPERAND_NONE ||
	    bpf_probe_read_kernel(&value, sizeof(value), (void *)registers + operand->base))
		return false;
	if (operand->kind == CLEW_OPERAND_MEMORY &&
	    bpf_probe_read_user(&value, sizeof(value), (void *)(value + operand->value)))
		return false;
	shift = operand->shift & 63;
	value <<= shift;
	*ret_value = operand->is_signed ? (__u64)((__s64)value >> shift) : value >> shift;
	return true;
}

/* Follows the chain of reads that leads to a value. False if one fails. */
static __always_inline bool follow_steps(struct clew_point_value *wanted, __u64 *value)
{
	for (int i = 0; i < CLEW_POINT_STEPS; i++) {
		struct clew_step *step = &wanted->steps[i];
		__u32 bytes = step->size > 8 ? 8 : step->size;
		__u8 shift = (64 - 8 * bytes) & 63;
		__u64 read = 0;

		*value += step->add;
		if (!bytes)
			continue;
		if (bpf_probe_read_user(&read, bytes, (void *)*value))
			return false;
		*value = step->is_signed ? (__u64)((__s64)(read << shift) >> shift) : read;
	}
	return true;
}

#define POINT_TEXT_MAX 128

/*
 * Writes value after value: numbers as eight bytes, texts with their NUL. A
 * value that cannot be read sets its bit in the flags and takes no room in the
 * text.
 */
static __noinline __u32 point_emit(struct pt_regs *registers, struct clew_site *site,
				   struct clew_point *point, struct announce_record *record)
{
	__u32 size = 0, unknown = 0;

	for (__u32 i = 0; i < CLEW_POINT_VALUES; i++) {
		struct clew_point_value *wanted = &point->values[i];
		__u32 max = wanted->text_max;
		__u64 value;
		long got;

		if (i >= point->count)
			break;
		size &= CLEW_ANNOUNCE_TEXT - 1;
		if (size > CLEW_ANNOUNCE_TEXT - POINT_TEXT_MAX ||
		    !read_argument(registers, site, wanted->argument, &value) ||
		    !follow_steps(wanted, &value)) {
			unknown |= 1u << i;
			continue;
		}
		if (!wanted->is_text) {
			bpf_probe_read_kernel(record->text + size, sizeof(value), &value);
			size += sizeof(value);
			continue;
		}
		if (max > POINT_TEXT_MAX)
			max = POINT_TEXT_MAX;
		got = read_text(record->text + size, max, value);
		if (got <= 0)
			unknown |= 1u << i;
		else
			size += (__u32)got;
	}
	record->announce.header.flags = unknown;
	return size & (CLEW_ANNOUNCE_TEXT - 1);
}

#endif
