/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wakes: what a record says of one, and how a sleep is explained and ended by it.
 */
#ifndef CLEW_BUILDER_WAKE_H
#define CLEW_BUILDER_WAKE_H

#include "builder/findings.h"

struct clew_builder;
struct task;

struct wake {
	uint64_t time; /* 0: no valid stamp */
	uint64_t object;
	uint64_t asked; /* SOCKET: as in struct clew_sleep */
	uint32_t waker;
	uint32_t device;
	int32_t descriptor;
	uint8_t context;
	uint8_t flags;
	uint8_t operation;
	uint8_t object_kind;
	uint16_t call; /* the waker's */
	struct clew_cause cause;
	const struct clew_link *own; /* a request of the sleeper that ended just before, where the
					record has no cause; NULL none */
};

#define BUILD_STATE_INTERRUPTIBLE 1u   /* of clew_switch.prev_state */
#define BUILD_STATE_STOPPED	  0xcu /* stopped or traced */
#define BUILD_STATE_TRACED	  0x8u

/* ---- wake_type.c ---- */

/* A wake that says nothing. */
extern const struct wake build_no_wake;
/* The stamp in a record by which a task comes on a CPU, if it is a wake of the task's last sleep.
 */
struct wake build_wake_of(const struct clew_builder *builder, const struct task *task,
			  const struct clew_switch *record);
/* A wake by a timer at that moment, from no task. */
struct wake build_timed_wake(uint64_t time);
/* The type of the edge from this wake to a sleep of that kind, in that scheduler state. */
enum clew_edge_type build_edge_type(enum clew_wait_kind kind, const struct clew_wait *wait,
				    unsigned state, const struct wake *wake);
/* True if one descriptor in poll or select is all that is waited for, so that the wait names the
 * object. An epoll instance watches others. */
bool build_polls_one(const struct clew_wait *wait);

/* ---- wake.c ---- */

/*
 * Ends the sleep a task is in. `end` is CLEW_TIME_OPEN while it sleeps on at the
 * capture's end. The sleep is emitted, or kept back by futex.c or ring.c, which emit
 * it later.
 */
int build_end_sleep(struct clew_builder *builder, struct task *task, const struct wake *wake,
		    uint64_t end, uint64_t switch_in, bool blind);
/* The sleep that a task is in, as far as it is known; without holders. */
struct clew_sleep build_open_sleep(const struct clew_builder *builder, const struct task *task);
/* A sleep whose beginning was not recorded. */
int build_unseen_sleep(struct clew_builder *builder, struct task *task, const struct wake *wake,
		       uint64_t start, uint64_t switch_in);
/* The edge of a wake whose sleep is unknown. */
int build_lone_wake(struct clew_builder *builder, const struct task *task, const struct wake *wake);

#endif
