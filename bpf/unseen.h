/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flags for the events that stay unseen since the kernel refused their programs. */
#ifndef CLEW_BPF_UNSEEN_H
#define CLEW_BPF_UNSEEN_H

#include <clew/kernel/maps.h>
#include <linux/types.h>
#include <stdbool.h>

const volatile __u32 unseen; /* Fixed at load, so the tests cost nothing: enum clew_unseen. */

static __always_inline bool is_unseen(__u32 what)
{
	return unseen & what;
}

#endif
