/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of disks and of kernel locks, for answers about a trace and for the model that is
 * made of it alike.
 */
#ifndef CLEW_TRACE_NAME_H
#define CLEW_TRACE_NAME_H

#include "trace/trace.h"

/* The name of a disk, safe to print, or MAJOR:MINOR if the capture has no printable name. Returns
 * buffer. */
const char *clew_disk_name(const struct clew_trace *trace, uint32_t device, char *buffer,
			   size_t size);
/* The same with a buffer of its own, as an argument. */
#define CLEW_DISK(trace, device)                                                                   \
	clew_disk_name(trace, device, (char[CLEW_TEXT_SIZE]){0}, CLEW_TEXT_SIZE)

/* The member of a kernel structure that a lock is, as the kernel's source has it; NULL for NULL and
 * for a member that this version does not know. */
const char *clew_lock_member(const struct clew_lock_name *lock);

#endif
