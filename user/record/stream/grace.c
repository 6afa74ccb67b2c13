/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits until no program of before runs any more: all CPUs pass a grace period. */
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/stream/internal.h"

void clew_wait_for_programs(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0)) {
		struct timespec time = {.tv_nsec = 50000000};

		nanosleep(&time, NULL);
	}
}
