/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Moves a workload's task into a group of the place. */
#ifndef WORKLOAD_GROUP_H
#define WORKLOAD_GROUP_H

#include "workload.h"

/* The calling process enters the place's group `name`. */
WL_FINE void wl_enter_group(const char *name)
{
	char path[64], text[16];
	int file, size, got;

	snprintf(path, sizeof(path), "%.40s/cgroup.procs", name);
	file = WL_CHECK(open(wl_place(path), O_WRONLY | O_CLOEXEC));
	size = snprintf(text, sizeof(text), "%d", getpid());
	got = WL_CHECK(write(file, text, size));
	if (got != size)
		wl_die("%s: short write", path);
	close(file);
}

#endif
