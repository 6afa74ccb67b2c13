/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of disks, of kernel locks and of addresses, for answers about a trace and for the model
 * that is made of it alike.
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

/* The place of a futex in the memory of its process. */
struct clew_address_name {
	enum clew_address_place place;
	uint64_t offset;    /* as in struct clew_address */
	const char *symbol; /* "" none */
	const char *path;   /* of the file, "" none */
};

/* False: the capture does not say. The texts are the trace's, as the file has them. */
bool clew_trace_address(const struct clew_trace *trace, const struct clew_object *object,
			struct clew_address_name *ret_name);

/* The memory of a task, as clew_object.memory, if the place of that address was asked for by it; 0:
 * it was not. */
uint32_t clew_trace_memory_at(const struct clew_trace *trace, uint64_t address, uint32_t task);

/* "orders_lock", "orders_lock+0x28", "postgres+0x8f3a40" (as linked) or "heap+0x2c0"; NULL: the
 * capture does not say. Names of C++ and Rust are as they were written. It is not yet safe to
 * print. Returns buffer. */
const char *clew_address_name(const struct clew_trace *trace, const struct clew_object *object,
			      char *buffer, size_t size);

#endif
