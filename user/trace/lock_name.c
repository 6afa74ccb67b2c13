/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the owners of kernel locks. An address may be used again by another lock, so each lock
 * that had it is kept, with the time from which on it did.
 */
#include "trace/name.h"

#include "trace/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Each task that contends for a lock sends what it belongs to, unless another one just did. The
 * first name of an address so holds for those, too, whose wait began while it was being sent.
 */
#define MOST_LATE 100000000u /* ns */

static struct trace_lock *newest(const struct clew_trace *trace, uint64_t lock)
{
	const uint64_t *place = map_get(&trace->locks, lock, 0);

	return place ? (struct trace_lock *)(uintptr_t)*place : NULL;
}

static bool is_same(const struct clew_lock_name *a, const struct clew_lock_name *b)
{
	return a->header.flags == b->header.flags && a->inode == b->inode &&
	       a->device == b->device && a->owner == b->owner && a->process == b->process;
}

int trace_take_lock_name(struct clew_trace *trace, const struct clew_lock_name *record)
{
	struct trace_lock *known = newest(trace, record->lock), *lock;

	if (known && is_same(&known->record, record))
		return 0;
	lock = arena_take(&trace->arena, sizeof(*lock));
	if (!lock)
		return -ENOMEM;
	*lock = (struct trace_lock){
		.older = known, .number = known ? known->number + 1 : 0, .record = *record};
	return map_set(&trace->locks, record->lock, 0, (uintptr_t)lock);
}

const struct clew_lock_name *clew_trace_lock(const struct clew_trace *trace, uint64_t address,
					     uint64_t at, const char **ret_name)
{
	const struct trace_lock *lock = newest(trace, address);

	while (lock && lock->record.header.time > at &&
	       (lock->older || lock->record.header.time - at > MOST_LATE))
		lock = lock->older;
	*ret_name = lock ? lock->name : NULL;
	return *ret_name ? &lock->record : NULL;
}

const char *clew_lock_member(const struct clew_lock_name *lock)
{
	static const char *const members[CLEW_LOCK_MEMBER_COUNT] = {
		[CLEW_LOCK_MEMBER_MMAP] = "mmap_lock",
		[CLEW_LOCK_MEMBER_INODE] = "i_rwsem",
		[CLEW_LOCK_MEMBER_INVALIDATE] = "invalidate_lock",
		[CLEW_LOCK_MEMBER_MAPPINGS] = "i_mmap_rwsem",
		[CLEW_LOCK_MEMBER_POSITION] = "f_pos_lock",
		[CLEW_LOCK_MEMBER_UNMOUNT] = "s_umount",
		[CLEW_LOCK_MEMBER_FREEZE] = "s_writers",
		[CLEW_LOCK_MEMBER_PIPE] = "mutex",
	};
	unsigned member = lock ? lock->header.flags : CLEW_LOCK_MEMBER_NONE;

	return member < CLEW_LOCK_MEMBER_COUNT ? members[member] : NULL;
}

/* A process by its last name, and a file by the one that it had when the lock was met. */
static void print_name(const struct clew_trace *trace, const struct clew_lock_name *lock,
		       char *name, size_t size)
{
	const struct clew_trace_task *task =
		lock->process == CLEW_NO_TASK ? NULL : clew_trace_task(trace, lock->process);
	const char *member = clew_lock_member(lock), *path;

	clew_trace_file_then(trace, lock->device, lock->inode, lock->header.time, &path);
	if (lock->header.flags == CLEW_LOCK_MEMBER_MMAP && task && task->tid)
		snprintf(name, size, "%s of %s-%" PRIu32, member, task->comm, task->tid);
	else if (lock->header.flags == CLEW_LOCK_MEMBER_MMAP)
		snprintf(name, size, "%s of process %" PRIu32, member, lock->owner);
	else if (lock->header.flags == CLEW_LOCK_MEMBER_PIPE)
		snprintf(name, size, "%s of pipe:[%" PRIu64 "]", member, (uint64_t)lock->inode);
	else if (path[0])
		snprintf(name, size, "%s of %s", member, path);
	else
		snprintf(name, size, "%s of inode %" PRIu64 " on %s", member, (uint64_t)lock->inode,
			 CLEW_DISK(trace, lock->device));
}

int trace_finish_lock_names(struct clew_trace *trace)
{
	char name[CLEW_PATH_SIZE + 64];

	for (size_t i = 0; i < trace->locks.capacity; i++) {
		if (!trace->locks.slots[i].used)
			continue;
		for (struct trace_lock *lock = (void *)(uintptr_t)trace->locks.slots[i].value; lock;
		     lock = lock->older) {
			if (!clew_lock_member(&lock->record))
				continue;
			print_name(trace, &lock->record, name, sizeof(name));
			lock->name = arena_copy(&trace->arena, name, strlen(name));
			if (!lock->name)
				return -ENOMEM;
		}
	}
	return 0;
}
