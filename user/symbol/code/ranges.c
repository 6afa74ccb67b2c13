/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ranges of code: of names, and of .eh_frame where no name has the code. A name of no
 * size has the size of the unwind entry that begins there. Entries of the PLT are no
 * functions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/code/function_internal.h"
#include "symbol/elf/eh_frame.h"

#define FRAMES_MOST (256u << 20) /* bytes of .eh_frame */
#define RANGES_MOST (1u << 24)
#define NESTED_MOST 8 /* ranges that begin within another, when one is searched for */

struct frame_range {
	uint64_t start, size;
};

static int add_frame(void *context, uint64_t start, uint64_t size)
{
	struct vector *frames = context;
	int r = frames->count < RANGES_MOST ? vector_reserve(frames, frames->count + 1) : -EFBIG;

	if (r >= 0)
		((struct frame_range *)frames->data)[frames->count++] =
			(struct frame_range){start, size};
	return r;
}

static int compare_frames(const void *a, const void *b)
{
	const struct frame_range *left = a, *right = b;

	return left->start != right->start ? (left->start < right->start ? -1 : 1)
	       : left->size != right->size ? (left->size > right->size ? -1 : 1)
					   : 0;
}

static int read_frames(const struct clew_functions *functions, struct vector *frames)
{
	const Elf64_Shdr *section = elf_file_section(&functions->file, ".eh_frame");
	uint8_t *bytes;
	int r;

	if (!section || section->sh_type == SHT_NOBITS)
		return 0;
	if (section->sh_size > FRAMES_MOST)
		return -EFBIG;
	r = elf_file_read(&functions->file, section->sh_offset, section->sh_size, &bytes);
	if (r < 0)
		return r;
	r = eh_frame_walk(bytes, section->sh_size, section->sh_addr, add_frame, frames);
	free(bytes);
	if (frames->count > 1)
		qsort(frames->data, frames->count, sizeof(struct frame_range), compare_frames);
	return r;
}

/* The first unwind entry that begins there or later: its number. */
static size_t find_frame(const struct vector *frames, uint64_t start)
{
	const struct frame_range *all = frames->data;
	size_t low = 0, high = frames->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool functions_in_plt(const struct clew_functions *functions, uint64_t address)
{
	for (unsigned i = 0; i < functions->file.header.e_shnum; i++) {
		const Elf64_Shdr *section = &functions->file.sections[i];

		if (address >= section->sh_addr && address - section->sh_addr < section->sh_size &&
		    section->sh_name < functions->file.names_size)
			return !strncmp(functions->file.names + section->sh_name, ".plt", 4) ||
			       !strncmp(functions->file.names + section->sh_name, ".iplt", 5);
	}
	return false;
}

static int add_range(struct clew_functions *functions, struct range range)
{
	const struct code_segment *segment = functions_segment_at(functions, range.start);
	int r = functions->ranges.count < RANGES_MOST
			? vector_reserve(&functions->ranges, functions->ranges.count + 1)
			: -EFBIG;

	if (r < 0 || !segment || functions_in_plt(functions, range.start))
		return r;
	range.segment = segment;
	/* Numbers of bytes within a range have 32 bits. */
	if (range.size > segment->address + segment->size - range.start || range.size > UINT32_MAX)
		range.size = 0;
	ranges_of(functions)[functions->ranges.count++] = range;
	return 0;
}

/* Ranges of the names; a name of no size within another's range is a label. */
static int add_named(struct clew_functions *functions, const struct vector *frames)
{
	const struct function_name *names = names_of(functions);
	uint64_t covered = 0;
	int r = 0;

	for (size_t i = 0, next; r >= 0 && i < functions->names.count; i = next) {
		struct range range = {.start = names[i].address,
				      .name = (uint32_t)i,
				      .kind = names[i].cold ? RANGE_COLD : RANGE_NAMED};
		size_t frame = find_frame(frames, range.start);
		const struct frame_range *found = frames->data;

		for (next = i; next < functions->names.count && names[next].address == range.start;
		     next++) {
			if (names[next].size > range.size)
				range.size = names[next].size;
			range.ifunc |= names[next].ifunc;
		}
		range.name_count = (uint32_t)(next - i);
		if (!range.size && frame < frames->count && found[frame].start == range.start)
			range.size = found[frame].size;
		if (!range.size && range.start < covered)
			continue;
		r = add_range(functions, range);
		if (range.size <= UINT64_MAX - range.start && range.start + range.size > covered)
			covered = range.start + range.size;
	}
	return r;
}

static int add_hidden(struct clew_functions *functions, const struct vector *frames)
{
	const struct frame_range *all = frames->data;
	size_t named = functions->ranges.count, at = 0;
	uint64_t covered = 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < frames->count; i++) {
		for (; at < named && ranges_of(functions)[at].start <= all[i].start; at++) {
			const struct range *range = &ranges_of(functions)[at];

			/* Also of no size: it has this start. */
			if (range->start + range->size + !range->size > covered)
				covered = range->start + range->size + !range->size;
		}
		if (all[i].start < covered)
			continue;
		r = add_range(functions, (struct range){.start = all[i].start,
							.size = all[i].size,
							.kind = RANGE_HIDDEN});
		if (all[i].size <= UINT64_MAX - all[i].start)
			covered = all[i].start + all[i].size;
	}
	return r;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

int functions_make_ranges(struct clew_functions *functions)
{
	struct vector frames = {.item = sizeof(struct frame_range)};
	int r;

	functions->ranges.item = sizeof(struct range);
	r = read_frames(functions, &frames);
	if (r >= 0)
		r = add_named(functions, &frames);
	if (r >= 0)
		r = add_hidden(functions, &frames);
	vector_done(&frames);
	if (functions->ranges.count > 1)
		qsort(functions->ranges.data, functions->ranges.count, sizeof(struct range),
		      compare_ranges);
	for (size_t i = 0; i < functions->ranges.count; i++) {
		ranges_of(functions)[i].owner = (uint32_t)i;
		ranges_of(functions)[i].next_part = NO_RANGE;
	}
	return r;
}

uint32_t functions_range_at(const struct clew_functions *functions, uint64_t address)
{
	const struct range *ranges = ranges_of(functions);
	size_t low = 0, high = functions->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (unsigned i = 0; low-- && i < NESTED_MOST; i++)
		if (ranges[low].start == address || address - ranges[low].start < ranges[low].size)
			return (uint32_t)low;
	return NO_RANGE;
}
