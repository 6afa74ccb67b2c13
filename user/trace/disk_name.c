/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of disks. */
#include "trace/name.h"

#include <stdio.h>

#include "base/device.h"

const char *clew_disk_name(const struct clew_trace *trace, uint32_t device, char *buffer,
			   size_t size)
{
	const char *name = clew_trace_text(trace, CLEW_TEXT_DISK | device);
	bool plain = name && name[0];

	for (const char *at = name; plain && *at; at++)
		plain = *at >= ' ' && *at <= '~';
	if (plain)
		snprintf(buffer, size, "%s", name);
	else
		snprintf(buffer, size, "%s", DEVICE_TEXT(device));
	return buffer;
}
