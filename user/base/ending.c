/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The wish to end stays known once it was seen: whoever takes the signal later has it end. */
#include "base/ending.h"

#include <signal.h>
#include <stdatomic.h>

#include "base/clock.h"

static _Atomic uint64_t since; /* ns; 0: the end has not come */

void ending_set(bool ends)
{
	atomic_store(&since, ends ? clock_read(CLOCK_MONOTONIC) : 0);
}

static bool is_wished_for(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

uint64_t ending_since(void)
{
	if (!atomic_load(&since) && is_wished_for())
		ending_set(true);
	return atomic_load(&since);
}
