/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * True if a stamp is the wake of a sleep, and which type of edge it makes.
 *
 * The waker causes the wake in task context only. In any other context the waker is the
 * task that was interrupted, and no task is named.
 */
#include "base/kind.h"
#include "builder/builder.h"
#include "builder/task.h"
#include "builder/wake.h"
#include <clew/kernel/call_numbers.h>
#include <linux/futex.h>
#include <string.h>

const struct wake build_no_wake = {.descriptor = -1, .call = CLEW_NO_CALL};

/* As struct clew_sleep has it; on a poller's socket the record says how long before the wake. */
static uint64_t asked_by(const struct clew_switch *record)
{
	if (record->wake_object_kind != CLEW_OBJECT_SOCKET || !record->wake_device)
		return 0;
	if (record->wake_device == CLEW_ASKED_UNKNOWN)
		return CLEW_ASKED_SOMETIME;
	return record->wake_time - (uint64_t)record->wake_device * 1000;
}

struct wake build_wake_of(const struct clew_builder *builder, const struct task *task,
			  const struct clew_switch *record)
{
	uint64_t time = record->wake_time;
	struct wake wake;

	/* A stamp from before the last switch-in ended an earlier wait. No task wakes itself. */
	if (!(record->header.flags & (CLEW_SWITCH_NEXT_SLEPT | CLEW_SWITCH_NEXT_NEW)) ||
	    time == 0 || time < task->switched_in ||
	    (record->wake_context == CLEW_WAKE_TASK && record->waker == task->serial))
		return build_no_wake;
	wake = (struct wake){
		.time = earlier(time, builder->now),
		.object = record->wake_object,
		.waker = record->wake_context == CLEW_WAKE_TASK && !build_nobody(record->waker)
				 ? record->waker
				 : CLEW_NO_TASK,
		.asked = asked_by(record),
		.device = record->wake_object_kind == CLEW_OBJECT_SOCKET ? 0 : record->wake_device,
		.descriptor = record->wake_descriptor,
		.context = record->wake_context <= CLEW_WAKE_WORK ? record->wake_context
								  : CLEW_WAKE_UNKNOWN,
		.flags = record->wake_flags,
		.operation = record->wake_operation,
		.object_kind = record->wake_object_kind,
		.call = record->wake_call,
	};
	if (record->header.kind == CLEW_KIND_SWITCH && record->header.flags & CLEW_SWITCH_CAUSE) {
		const char *behind = (const char *)(record + 1);

		memcpy(&wake.cause,
		       behind + (record->header.flags & CLEW_SWITCH_WAIT ? sizeof(struct clew_wait)
									 : 0),
		       sizeof(wake.cause));
	}
	return wake;
}

struct wake build_timed_wake(uint64_t time)
{
	return (struct wake){
		.time = time, .descriptor = -1, .call = CLEW_NO_CALL, .context = CLEW_WAKE_TIMER};
}

static enum clew_edge_type futex_edge_type(const struct clew_wait *wait, const struct wake *wake)
{
	switch (wait->futex_class) {
	case CLEW_FUTEX_CLASS_NONE:
		return CLEW_EDGE_WAKE;
	case CLEW_FUTEX_CLASS_RWLOCK:
	case CLEW_FUTEX_CLASS_READERS:
	case CLEW_FUTEX_CLASS_WRITERS:
		if (wake->operation == CLEW_FUTEX_WAKE_MANY)
			return CLEW_EDGE_UNLOCK;
		break;
	case CLEW_FUTEX_CLASS_ROBUST:
	case CLEW_FUTEX_CLASS_PI:
		/* The kernel releases the locks of a dying owner. */
		if (wake->flags & CLEW_WAKE_EXITING)
			return CLEW_EDGE_UNLOCK;
		break;
	default:
		break;
	}
	if (wake->operation == CLEW_FUTEX_WAKE_ONE || wake->operation == CLEW_FUTEX_UNLOCK_PI)
		return CLEW_EDGE_UNLOCK;
	return CLEW_EDGE_WAKE;
}

bool build_polls_one(const struct clew_wait *wait)
{
	return wait->descriptor >= 0 && wait->object_kind != CLEW_OBJECT_NONE &&
	       wait->object_kind != CLEW_OBJECT_EPOLL && wait->object_kind != CLEW_OBJECT_IO_URING;
}

static enum clew_edge_type poll_edge_type(const struct clew_wait *wait, const struct wake *wake)
{
	switch (build_polls_one(wait) ? wait->object_kind : wake->object_kind) {
	case CLEW_OBJECT_PIPE:
		return CLEW_EDGE_PIPE;
	case CLEW_OBJECT_SOCKET:
		return CLEW_EDGE_SOCKET;
	case CLEW_OBJECT_EVENTFD:
		return CLEW_EDGE_EVENTFD;
	case CLEW_OBJECT_IPC:
		return CLEW_EDGE_IPC;
	case CLEW_OBJECT_PIDFD:
		return wake->flags & CLEW_WAKE_EXITING ? CLEW_EDGE_EXIT : CLEW_EDGE_WAKE;
	case CLEW_OBJECT_FILE:
		/* Message queues are files of their own file system. */
		return wake->call == CLEW_NR_mq_timedsend || wake->call == CLEW_NR_mq_timedreceive
			       ? CLEW_EDGE_IPC
			       : CLEW_EDGE_WAKE;
	case CLEW_OBJECT_NONE:
		/* With several descriptors it is unknown which became ready, but the end of a task
		 * is what was waited for. */
		return wake->flags & CLEW_WAKE_ENDED ? CLEW_EDGE_EXIT : CLEW_EDGE_WAKE;
	default:
		return CLEW_EDGE_WAKE;
	}
}

static enum clew_edge_type ring_edge_type(const struct clew_wait *wait, const struct wake *wake)
{
	enum clew_edge_type type = poll_edge_type(wait, wake);

	/* libaio: an operation that completes during io_submit is completed by the submitter. */
	if (type == CLEW_EDGE_WAKE &&
	    (wait->call == CLEW_NR_io_getevents || wait->call == CLEW_NR_io_pgetevents))
		return CLEW_EDGE_IO_URING;
	return type;
}

enum clew_edge_type build_edge_type(enum clew_wait_kind kind, const struct clew_wait *wait,
				    unsigned state, const struct wake *wake)
{
	/* execve waits until the process's other threads are gone. */
	if (wake->flags & CLEW_WAKE_EXITING &&
	    (kind == CLEW_WAIT_CHILD ||
	     (kind == CLEW_WAIT_FILE &&
	      (wait->call == CLEW_NR_execve || wait->call == CLEW_NR_execveat))))
		return CLEW_EDGE_EXIT;
	/* The tracer resumes it, without a signal. */
	if (state & BUILD_STATE_TRACED && !(wake->flags & CLEW_WAKE_SIGNAL))
		return CLEW_EDGE_WAKE;
	/* A pending signal wakes interruptible sleeps only. Thawing sends no signal. */
	if (state & BUILD_STATE_STOPPED || wake->flags & CLEW_WAKE_STOPPED ||
	    (wake->flags & CLEW_WAKE_SIGNAL && state & BUILD_STATE_INTERRUPTIBLE))
		return CLEW_EDGE_SIGNAL;
	switch (kind) {
	case CLEW_WAIT_FUTEX:
		return futex_edge_type(wait, wake);
	case CLEW_WAIT_FILE:
		return wait->reason == CLEW_REASON_FILE_LOCK && wake->operation == CLEW_FILE_UNLOCK
			       ? CLEW_EDGE_UNLOCK
			       : CLEW_EDGE_WAKE;
	case CLEW_WAIT_POLL:
		return poll_edge_type(wait, wake);
	case CLEW_WAIT_IO_URING:
		return ring_edge_type(wait, wake);
	default:
		return clew_wait_kind_edge(kind);
	}
}
