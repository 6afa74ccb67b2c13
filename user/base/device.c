/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The numbers of a device as text. */
#include "base/device.h"

#include <stdio.h>

#include <clew/kernel/records.h>

#define MAJOR_MOST 0xfff
#define MINOR_MOST 0xfffff

const char *device_text(uint32_t device, char *buffer)
{
	snprintf(buffer, DEVICE_TEXT_SIZE, "%u:%u", CLEW_DEVICE_MAJOR(device),
		 CLEW_DEVICE_MINOR(device));
	return buffer;
}

bool device_read(const char *text, uint32_t *ret_device)
{
	unsigned major, minor;
	int used = 0;

	if (sscanf(text, "%u:%u%n", &major, &minor, &used) != 2 || text[used] ||
	    major > MAJOR_MOST || minor > MINOR_MOST)
		return false;
	*ret_device = (uint32_t)major << 20 | minor;
	return true;
}
