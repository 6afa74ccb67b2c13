// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sleeps and what ended them: whether a stamp is the wake of this sleep, which type
 * of edge it is, and the sleep and the edge as they are sent.
 *
 * A wake is caused by the waker only in task context; in any other the waker is
 * whom the interrupt happened to interrupt, and nobody is named.
 */
#include <build/builder.h>
#include <linux/futex.h>
#include <string.h>

const struct wake build_no_wake = {.descriptor = -1};

/* The stamp for a task that was off the CPU since `task->switched_in` or later. */
struct wake build_wake_of(const struct clew_builder *builder, const struct task *task, const struct clew_switch *record)
{
	uint64_t time = record->wake_time;

	/* One older than the last switch-in ended an earlier wait; nobody wakes himself. */
	if (!(record->header.flags & (CLEW_SWITCH_NEXT_SLEPT | CLEW_SWITCH_NEXT_NEW)) || time == 0 || time < task->switched_in ||
	    (record->wake_context == CLEW_WAKE_TASK && record->waker == task->serial))
		return build_no_wake;
	return (struct wake){
		.time = earlier(time, builder->now),
		.object = record->wake_object,
		.waker = record->wake_context == CLEW_WAKE_TASK && !build_nobody(record->waker) ? record->waker : CLEW_NO_TASK,
		.device = record->wake_device,
		.descriptor = record->wake_descriptor,
		.context = record->wake_context <= CLEW_WAKE_WORK ? record->wake_context : CLEW_WAKE_UNKNOWN,
		.flags = record->wake_flags,
		.operation = record->wake_operation,
		.object_kind = record->wake_object_kind,
	};
}

static enum clew_edge_type futex_edge_type(const struct clew_wait *wait, const struct wake *wake)
{
	switch (wait->futex_class) {
	case CLEW_FUTEX_CLASS_NONE:
		return CLEW_EDGE_WAKE;
	case CLEW_FUTEX_CLASS_RWLOCK:
		if (wake->operation == CLEW_FUTEX_WAKE_MANY)
			return CLEW_EDGE_UNLOCK;
		break;
	case CLEW_FUTEX_CLASS_ROBUST:
	case CLEW_FUTEX_CLASS_PI:
		/* The kernel releases what a dying owner held. */
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

static enum clew_edge_type poll_edge_type(const struct wake *wake)
{
	switch (wake->object_kind) {
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
	default:
		return CLEW_EDGE_WAKE;
	}
}

enum clew_edge_type build_edge_type(enum clew_wait_kind kind, const struct clew_wait *wait, unsigned state, const struct wake *wake)
{
	if (kind == CLEW_WAIT_CHILD && wake->flags & CLEW_WAKE_EXITING)
		return CLEW_EDGE_EXIT;
	/* A signal that was pending wakes only who sleeps interruptibly. */
	if (kind == CLEW_WAIT_STOPPED || wake->flags & CLEW_WAKE_STOPPED ||
	    (wake->flags & CLEW_WAKE_SIGNAL && state & BUILD_STATE_INTERRUPTIBLE))
		return CLEW_EDGE_SIGNAL;
	switch (kind) {
	case CLEW_WAIT_VFORK:
		return CLEW_EDGE_VFORK;
	case CLEW_WAIT_FUTEX:
		return futex_edge_type(wait, wake);
	case CLEW_WAIT_PIPE:
		return CLEW_EDGE_PIPE;
	case CLEW_WAIT_SOCKET:
		return CLEW_EDGE_SOCKET;
	case CLEW_WAIT_EVENTFD:
		return CLEW_EDGE_EVENTFD;
	case CLEW_WAIT_IPC:
		return CLEW_EDGE_IPC;
	case CLEW_WAIT_POLL:
	case CLEW_WAIT_IO_URING:
		return poll_edge_type(wake);
	default:
		return CLEW_EDGE_WAKE;
	}
}

bool build_dropped(const struct clew_builder *builder, enum clew_edge_type type)
{
	return builder->options.drop_types >> type & 1;
}

int build_send_edge(struct clew_builder *builder, struct clew_edge *edge)
{
	const struct task *task;

	if (!builder->sink.edge)
		return 0;
	task = edge->from_comm[0] ? NULL : build_task_find(builder, edge->from);
	if (task)
		memcpy(edge->from_comm, task->comm, sizeof(edge->from_comm));
	task = edge->to_comm[0] ? NULL : build_task_find(builder, edge->to);
	if (task)
		memcpy(edge->to_comm, task->comm, sizeof(edge->to_comm));
	return builder->sink.edge(builder->sink.context, edge);
}

static struct clew_object object_of(const struct clew_wait *wait, enum clew_wait_kind kind, const struct wake *wake)
{
	/* Of a poller, that which made it ready says more than its epoll descriptor. */
	if ((kind == CLEW_WAIT_POLL || kind == CLEW_WAIT_IO_URING) && wake->object_kind != CLEW_OBJECT_NONE &&
	    wake->object_kind != CLEW_OBJECT_FUTEX)
		return (struct clew_object){
			.number = wake->object, .device = wake->device, .descriptor = wake->descriptor, .kind = wake->object_kind};
	return (struct clew_object){
		.number = wait->object,
		.device = wait->device,
		.descriptor = wait->descriptor,
		.kind = wait->object_kind,
		.futex_operation = wait->futex_operation,
		.shared = wait->object_kind == CLEW_OBJECT_FUTEX && !(wait->futex_operation & FUTEX_PRIVATE_FLAG),
	};
}

static const struct clew_wait no_wait = {.descriptor = -1, .call = CLEW_NO_CALL};

/* Fills in what the wake says of a sleep, and sends the edge if there is one. */
static int explain_end(struct clew_builder *builder, struct clew_sleep *sleep, const struct clew_wait *wait, unsigned state,
		       const struct wake *wake)
{
	enum clew_edge_type type;
	struct clew_edge edge;

	sleep->edge_type = -1;
	sleep->context = CLEW_WAKE_UNKNOWN;
	if (wake->time == 0)
		return 0;
	sleep->raw_end = wake->time;
	sleep->context = wake->context;
	sleep->operation = wake->operation;
	if (wake->waker == CLEW_NO_TASK)
		return 0;
	/* Across a loss the stamp holds but may be of another wait than the one seen to begin. */
	type = sleep->blind ? CLEW_EDGE_WAKE : build_edge_type(sleep->kind, wait, state, wake);
	if (build_dropped(builder, type)) {
		sleep->context = CLEW_WAKE_UNKNOWN;
		return 0;
	}
	sleep->ended_by = wake->waker;
	sleep->edge_type = (int8_t)type;
	sleep->edge_evidence = CLEW_EVIDENCE_EXACT;
	edge = (struct clew_edge){
		.from_at = wake->time,
		.to_at = sleep->end,
		.from = wake->waker,
		.to = sleep->task,
		.type = (uint8_t)type,
		.evidence = sleep->edge_evidence,
		.context = sleep->context,
		.operation = sleep->operation,
		.ends_sleep = true,
		.object = sleep->object,
	};
	return build_send_edge(builder, &edge);
}

int build_end_sleep(struct clew_builder *builder, struct task *task, const struct wake *wake, uint64_t end, uint64_t switch_in, bool blind)
{
	const struct clew_wait *wait = task->has_wait ? &task->wait : &no_wait;
	struct clew_sleep sleep = {
		.start = later(task->since, task->frontier),
		.task = task->serial,
		.call_id = task->call_id,
		.call = wait->call,
		.kind = (uint8_t)clew_classify_wait(task->has_wait ? wait : NULL, task->sleep_state),
		.flags = wait->flags,
		.open = (uint8_t)((task->open_start ? CLEW_OPEN_START : 0) | (end == CLEW_TIME_OPEN ? CLEW_OPEN_END : 0)),
		.number = task->number,
	};
	int r;

	/* A gap anywhere may have hidden that it ran and slept anew. */
	sleep.blind = blind || builder->loss_to > sleep.start;
	sleep.end = later(end, sleep.start);
	sleep.switch_in = later(switch_in, sleep.end == CLEW_TIME_OPEN ? 0 : sleep.end);
	sleep.object = object_of(wait, sleep.kind, wake);
	if (wait->object_kind == CLEW_OBJECT_EPOLL)
		sleep.poller = (uint16_t)(1 | wait->object * 0x9e3779b97f4a7c15ull >> 48);
	r = explain_end(builder, &sleep, wait, task->sleep_state, wake);
	if (r < 0)
		return r;
	task->frontier = sleep.switch_in;
	task->released_at = sleep.edge_type == CLEW_EDGE_UNLOCK ? wake->time : 0;
	if (task->futex_wait)
		return build_futex_ended(builder, task, &sleep, wake);
	return builder->sink.sleep ? builder->sink.sleep(builder->sink.context, &sleep) : 0;
}

int build_unseen_sleep(struct clew_builder *builder, struct task *task, const struct wake *wake, uint64_t start, uint64_t switch_in)
{
	task->since = start;
	task->has_wait = false;
	task->sleep_state = 0;
	task->open_start = true;
	task->number = builder->sleep_count++;
	task->call_id++;
	return build_end_sleep(builder, task, wake, wake->time, switch_in, false);
}

int build_lone_wake(struct clew_builder *builder, const struct task *task, const struct wake *wake)
{
	struct clew_edge edge = {
		.from_at = wake->time,
		.to_at = wake->time,
		.from = wake->waker,
		.to = task->serial,
		.type = CLEW_EDGE_WAKE,
		.evidence = CLEW_EVIDENCE_EXACT,
		.context = wake->context,
		.operation = wake->operation,
		.object = {.descriptor = -1},
	};

	if (wake->time == 0 || wake->waker == CLEW_NO_TASK || build_dropped(builder, CLEW_EDGE_WAKE))
		return 0;
	return build_send_edge(builder, &edge);
}
