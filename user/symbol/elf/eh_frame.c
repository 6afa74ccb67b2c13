/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ranges of .eh_frame, without their programs. */
#include "symbol/elf/eh_frame.h"

#include "symbol/elf/call_frame.h"

struct taker {
	int (*found)(void *context, uint64_t start, uint64_t size);
	void *context;
};

static int take_range(void *context, const struct call_frame_range *range)
{
	const struct taker *taker = context;

	return taker->found(taker->context, range->start, range->size);
}

int eh_frame_walk(const uint8_t *section, size_t size, uint64_t address,
		  int (*found)(void *context, uint64_t start, uint64_t size), void *context)
{
	struct call_frame_section frames = {.data = section, .size = size, .address = address};
	struct taker taker = {.found = found, .context = context};

	return call_frame_walk(&frames, take_range, &taker);
}
