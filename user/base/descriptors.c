/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The descriptors that a process begins with. */
#include "base/descriptors.h"

#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

static void close_between(unsigned first, unsigned last)
{
	struct rlimit limit;

	if (first > last || close_range(first, last, 0) == 0)
		return;
	/* A filter of system calls may refuse it. */
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max > 1u << 20)
		limit.rlim_max = 1u << 20;
	for (unsigned fd = first; fd <= last && fd < limit.rlim_max; fd++)
		close((int)fd);
}

void descriptors_keep(int kept)
{
	unsigned first = STDERR_FILENO + 1;

	if (kept < (int)first) {
		close_between(first, UINT_MAX);
		return;
	}
	close_between(first, (unsigned)kept - 1);
	close_between((unsigned)kept + 1, UINT_MAX);
}
