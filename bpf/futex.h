/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Futexes: what the memory around a futex word says about the lock and its
 * holder, and what a waker's call does.
 */
#ifndef CLEW_BPF_FUTEX_H
#define CLEW_BPF_FUTEX_H

#include "call.h"
#include <clew/kernel/records.h>
#include <linux/types.h>
#include <stdbool.h>

#define FUTEX_CMD_MASK	   0x7f
#define FUTEX_PRIVATE_FLAG 0x80
#define FUTEX_WAIT	   0
#define FUTEX_WAKE	   1
#define FUTEX_LOCK_PI	   6
#define FUTEX_UNLOCK_PI	   7
#define FUTEX_WAIT_BITSET  9
#define FUTEX_WAKE_BITSET  10
#define FUTEX_LOCK_PI2	   13
#define FUTEX_TID_MASK	   0x3fffffff
#define FUTEX_WAITERS	   0x80000000u

#define GLIBC_MUTEX_TYPE      0x3
#define GLIBC_MUTEX_RECURSIVE 1
#define GLIBC_MUTEX_ROBUST    0x10
/* Robust, PI or with a priority ceiling */
#define GLIBC_MUTEX_SPECIAL 0x70
#define GLIBC_MUTEX_SHARED  0x80
/* Bits that a glibc mutex kind may have: type 0-3, robust, PI, protect,
 * pshared, elision. */
#define GLIBC_MUTEX_BITS 0x3f3
/* In the first word of glibc's rwlock: a writer holds it. */
#define GLIBC_RWLOCK_WRITER 0x2
/* Rust's RwLock: how many readers hold it, all bits: a writer does; and who waits. */
#define RUST_READERS	  0x3fffffffu
#define RUST_READERS_WAIT 0x40000000u
#define RUST_WRITERS_WAIT 0x80000000u
/* The highest tid that the kernel ever gives (PID_MAX_LIMIT). */
#define TID_LIMIT 4194304

/* An element of futex_waitv's array. */
struct futex_entry {
	__u64 value;
	__u64 address;
	__u32 flags;
	__u32 reserved;
};

struct glibc_mutex {
	__u32 lock;
	__u32 count;
	__u32 owner;
	__u32 users;
	__u32 kind;
};

/* Only a recursive mutex counts how often its owner locked it. */
static __always_inline bool counts_rightly(const struct glibc_mutex *mutex)
{
	return !mutex->count || mutex->kind & GLIBC_MUTEX_SPECIAL ||
	       (mutex->kind & GLIBC_MUTEX_TYPE) == GLIBC_MUTEX_RECURSIVE;
}

/*
 * Classifies the memory around a futex word, for a FUTEX_WAIT that expects
 * `wait->expected`. glibc's plain mutex waits for the value 2, its rwlock for
 * 3. Condition variables, semaphores, joins and barriers wait for other values,
 * or fail the test of the neighbouring words.
 */
static __always_inline void classify_futex(struct clew_wait *wait, const struct glibc_mutex *mutex)
{
	__u32 operation = wait->futex_operation & FUTEX_CMD_MASK;
	bool shared = !(wait->futex_operation & FUTEX_PRIVATE_FLAG);
	__u32 expected = wait->expected;

	if ((mutex->kind & ~GLIBC_MUTEX_BITS) == 0 &&
	    !!(mutex->kind & GLIBC_MUTEX_SHARED) == shared) {
		if (expected == 2 && mutex->owner && mutex->owner <= TID_LIMIT && mutex->users &&
		    mutex->users < TID_LIMIT && counts_rightly(mutex)) {
			wait->futex_class = CLEW_FUTEX_CLASS_MUTEX;
			wait->owner = mutex->owner;
			return;
		}
		if ((expected & FUTEX_WAITERS) && (mutex->kind & GLIBC_MUTEX_ROBUST)) {
			wait->futex_class = CLEW_FUTEX_CLASS_ROBUST;
			wait->owner = mutex->lock & FUTEX_TID_MASK;
			return;
		}
		if (expected == 2 && operation == FUTEX_WAIT && !mutex->owner && !mutex->count) {
			wait->futex_class = CLEW_FUTEX_CLASS_BUSY;
			return;
		}
	}
	/* Inside a condition variable somebody may wait for 3, too, but with FUTEX_WAIT. */
	if (expected != 3 || operation != FUTEX_WAIT_BITSET ||
	    (wait->flags & CLEW_WAIT_FLAG_COMPAT))
		return;
	/*
	 * After __wrphase_futex the words at 8 and 12 are zero and __cur_writer
	 * is at 16; after __writers_futex those at 4 and 8 are zero and it is
	 * at 12. See rwlock_state().
	 */
	if (!mutex->owner && !mutex->users && mutex->kind && mutex->kind <= TID_LIMIT)
		wait->owner = mutex->kind;
	else if (!mutex->count && !mutex->owner && mutex->users && mutex->users <= TID_LIMIT)
		wait->owner = mutex->users;
	if (wait->owner)
		wait->futex_class = CLEW_FUTEX_CLASS_RWLOCK;
}

/* Address of the first word of the rwlock that the futex seems to belong to. */
static __always_inline void *rwlock_state(const struct glibc_mutex *mutex, __u64 address)
{
	bool phase = !mutex->owner && !mutex->users && mutex->kind && mutex->kind <= TID_LIMIT;

	return (void *)(address - (phase ? 8 : 12));
}

/* Takes back what a writer's lock resembles but is none. */
static __always_inline void check_rwlock(struct clew_wait *wait, __u32 state)
{
	if (state & GLIBC_RWLOCK_WRITER)
		return;
	wait->futex_class = CLEW_FUTEX_CLASS_NONE;
	wait->owner = 0;
}

/*
 * True if a task waits as Rust's library does, without a timeout and for a word
 * of its process. glibc's condition variables, semaphores and joins name the
 * clock besides.
 */
static __always_inline bool waits_for_bare_word(const struct call *call)
{
	return (__u32)call->argument[1] == (FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG) &&
	       (__u32)call->argument[2] != 3 && !call->argument[3] &&
	       call->argument[0] >= sizeof(__u32);
}

/* True if a word of Rust's RwLock says that it is held, and that those wait who
 * set `waiting`. A thread that parks waits for a word with all bits set. */
static __always_inline bool rwlock_in_use(__u32 word, __u32 waiting)
{
	__u32 readers = word & RUST_READERS;

	return word & waiting && word != ~0u &&
	       (readers == RUST_READERS || (readers && readers <= TID_LIMIT));
}

/* `before`: the word before the one that the task waits for. Rust's Mutex has
 * three states, its RwLock a word for writers after that of its state. */
static __always_inline void classify_bare_word(struct clew_wait *wait, __u32 before)
{
	if (wait->expected == 2)
		wait->futex_class = CLEW_FUTEX_CLASS_BUSY;
	else if (rwlock_in_use(wait->expected, RUST_READERS_WAIT))
		wait->futex_class = CLEW_FUTEX_CLASS_READERS;
	else if (rwlock_in_use(before, RUST_WRITERS_WAIT))
		wait->futex_class = CLEW_FUTEX_CLASS_WRITERS;
}

static __always_inline bool futex_memory_matters(const struct clew_wait *wait,
						 const struct call *call)
{
	__u32 operation = wait->futex_operation & FUTEX_CMD_MASK;

	/* glibc uses FUTEX_WAIT_BITSET for a mutex only with a timeout. */
	if (operation == FUTEX_WAIT_BITSET && wait->expected != 3 && !call->argument[3])
		return false;
	return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
	       operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2;
}

static __always_inline void classify_futex_any(struct clew_wait *wait, struct glibc_mutex *mutex)
{
	__u32 operation = wait->futex_operation & FUTEX_CMD_MASK;

	/* In 32-bit programs the kind comes before the users. Their rwlock
	 * differs and is not classified. */
	if (wait->flags & CLEW_WAIT_FLAG_COMPAT) {
		__u32 kind = mutex->users;

		mutex->users = mutex->kind;
		mutex->kind = kind;
	}

	if (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2) {
		wait->futex_class = CLEW_FUTEX_CLASS_PI;
		wait->owner = mutex->lock & FUTEX_TID_MASK;
	} else {
		classify_futex(wait, mutex);
	}
}

static __always_inline __u8 futex_wake_operation(const struct call *call)
{
	switch (call->argument[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		return (__u32)call->argument[2] == 1 ? CLEW_FUTEX_WAKE_ONE : CLEW_FUTEX_WAKE_MANY;
	case FUTEX_UNLOCK_PI:
		return CLEW_FUTEX_UNLOCK_PI;
	}
	return CLEW_FUTEX_OTHER;
}

#endif
