/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sleeps and what ended them: the kind of a sleep, its object, the links behind its
 * wake, and the edge to it.
 */
#include "builder/wake.h"
#include "builder/block.h"
#include "builder/builder.h"
#include "builder/cause.h"
#include "builder/emit.h"
#include "builder/futex.h"
#include "builder/journal.h"
#include "builder/ring.h"
#include "builder/task.h"
#include <clew/kernel/call_numbers.h>
#include <linux/futex.h>
#include <string.h>

#define CALL_FUTEX_WAITV 449 /* which older headers do not know */

static struct clew_object object_of(const struct clew_wait *wait, enum clew_wait_kind kind,
				    const struct wake *wake)
{
	/* It may have waited for something of the kernel's own. */
	if (kind == CLEW_WAIT_UNKNOWN && wait->flags & CLEW_WAIT_FLAG_UNSEEN)
		return (struct clew_object){.descriptor = -1};
	/* For a poller, the object that became ready says more than the epoll descriptor. */
	if ((kind == CLEW_WAIT_POLL || kind == CLEW_WAIT_IO_URING) &&
	    wake->object_kind != CLEW_OBJECT_NONE && wake->object_kind != CLEW_OBJECT_FUTEX &&
	    !build_polls_one(wait))
		return (struct clew_object){.number = wake->object,
					    .device = wake->device,
					    .descriptor = wake->descriptor,
					    .kind = wake->object_kind};
	/* futex_waitv waits for several: the object is the one that was woken. */
	if (wait->call == CALL_FUTEX_WAITV && wait->object_kind == CLEW_OBJECT_NONE &&
	    wake->object_kind == CLEW_OBJECT_FUTEX && wake->flags & CLEW_WAKE_PRIVATE &&
	    (wake->operation == CLEW_FUTEX_WAKE_ONE || wake->operation == CLEW_FUTEX_WAKE_MANY))
		return (struct clew_object){.number = wake->object,
					    .descriptor = -1,
					    .kind = CLEW_OBJECT_FUTEX,
					    .futex_operation = FUTEX_WAIT_PRIVATE};
	/* A wait for memory has nothing to do with the call's object. */
	if (kind == CLEW_WAIT_MEMORY && wait->object_kind != CLEW_OBJECT_CGROUP)
		return (struct clew_object){
			.kind = CLEW_OBJECT_MEMORY, .number = wait->reason, .descriptor = -1};
	return (struct clew_object){
		.number = wait->object,
		.device = wait->device,
		.descriptor = wait->descriptor,
		.kind = wait->object_kind,
		.futex_operation =
			wait->object_kind == CLEW_OBJECT_FUTEX ? wait->futex_operation : 0,
		.shared = wait->object_kind == CLEW_OBJECT_FUTEX &&
			  !(wait->futex_operation & FUTEX_PRIVATE_FLAG),
	};
}

static const struct clew_wait no_wait = {.descriptor = -1, .call = CLEW_NO_CALL};

struct wake_origin {
	uint64_t at;
	uint32_t task;
	uint32_t ended_by;
	int type; /* enum clew_edge_type, -1 no edge */
	uint8_t evidence;
};

static struct wake_origin origin_in_task(const struct clew_sleep *sleep,
					 const struct clew_wait *wait, unsigned state,
					 const struct wake *wake)
{
	struct wake_origin origin = {
		.at = wake->time, .task = wake->waker, .ended_by = wake->waker, .type = -1};

	if (wake->waker == CLEW_NO_TASK)
		return origin;
	/* Across a loss the stamp holds, but may belong to another wait than the one that was
	 * recorded. */
	origin.type =
		sleep->blind ? CLEW_EDGE_WAKE : build_edge_type(sleep->kind, wait, state, wake);
	origin.evidence = CLEW_EVIDENCE_EXACT;
	if (sleep->kind == CLEW_WAIT_LOCK && origin.type == CLEW_EDGE_UNLOCK &&
	    !build_owner_known(wait))
		origin.evidence = CLEW_EVIDENCE_OBSERVED;
	return origin;
}

/* The origin is the task of the last link. */
static struct wake_origin origin_of_links(const struct clew_sleep *sleep, const struct links *links,
					  const struct wake_origin *in_task)
{
	const struct clew_link *first = &links->of[0], *last = &links->of[links->count - 1];
	struct wake_origin origin = {
		.at = last->at, .task = last->task, .type = -1, .evidence = last->evidence};

	/* For a barrier item, and an item whose queueing was not recorded, only the worker is
	 * known. */
	if (first->kind == CLEW_LINK_WORK &&
	    (first->flags & CLEW_LINK_BARRIER || (links->count == 1 && last->task == CLEW_NO_TASK)))
		return *in_task;
	if (origin.task == CLEW_NO_TASK || origin.at == 0)
		return origin;
	switch (last->kind) {
	case CLEW_LINK_REQUEST:
		origin.type =
			sleep->kind == CLEW_WAIT_IO_URING ? CLEW_EDGE_IO_URING : CLEW_EDGE_REQUEST;
		break;
	case CLEW_LINK_PACKET:
		origin.type = CLEW_EDGE_SOCKET;
		origin.ended_by = origin.task;
		break;
	case CLEW_LINK_TIMER:
		origin.type = CLEW_EDGE_TIMER;
		/* A task's own timeout is part of its wait. */
		if (origin.task == sleep->task && origin.at >= sleep->start)
			origin.type = -1;
		if (first->kind == CLEW_LINK_WORK) {
			origin.type = CLEW_EDGE_WORK;
			origin.ended_by = origin.task;
		}
		break;
	case CLEW_LINK_WORK:
		origin.type = CLEW_EDGE_WORK;
		origin.ended_by = origin.task;
		break;
	default:
		break;
	}
	return origin;
}

/* For io_uring the origin is the submission, whatever context posted the completion. */
static bool origin_of_ring(const struct clew_builder *builder, const struct task *task,
			   const struct clew_wait *wait, const struct wake *wake,
			   struct wake_origin *origin)
{
	struct ring_submission submission;

	if (wait->object_kind != CLEW_OBJECT_IO_URING ||
	    !build_ring_submission(builder, task, wait->object, wake, &submission))
		return false;
	origin->type = CLEW_EDGE_IO_URING;
	origin->evidence = CLEW_EVIDENCE_EXACT;
	origin->task = submission.task;
	origin->at = submission.at;
	return true;
}

/* Keeps the links, followed by the other requests of the same call that had to end too. */
static int keep_links(struct clew_builder *builder, const struct task *task,
		      struct clew_sleep *sleep, const struct links *links, const struct wake *wake)
{
	const struct clew_link *last = &links->of[links->count - 1];
	struct vector *vector = &builder->links;
	struct clew_link *to;
	int r = vector_reserve(vector, (size_t)links->count + task->ended_count);

	if (r < 0)
		return r;
	to = vector->data;
	memcpy(to, links->of, links->count * sizeof(*to));
	sleep->links = to;
	sleep->link_count = (uint16_t)links->count;
	if (last->kind != CLEW_LINK_REQUEST || last->task != task->serial ||
	    sleep->kind == CLEW_WAIT_IO_URING)
		return 0;
	for (uint32_t i = 0; i < task->ended_count; i++) {
		const struct clew_link *other = &task->ended[i];

		if (other->number != last->number && other->end <= wake->time && other->at &&
		    other->at >= task->call_run)
			to[links->count + sleep->and_count++] = *other;
	}
	return 0;
}

/* True if a wait of this kind may be for a page that is swapped out, or being swapped out. */
static bool may_swap(unsigned kind, const struct clew_wait *wait)
{
	return wait->flags & (CLEW_WAIT_FLAG_FAULT | CLEW_WAIT_FLAG_IOWAIT) &&
	       kind != CLEW_WAIT_LOCK && kind != CLEW_WAIT_JOURNAL && kind != CLEW_WAIT_THROTTLE &&
	       kind != CLEW_WAIT_STOPPED;
}

/* The request that ended a sleep may show what the sleep was for. */
static void reconsider_kind(struct clew_sleep *sleep, const struct clew_wait *wait, unsigned state,
			    const struct links *links)
{
	const struct clew_link *last = links->count ? &links->of[links->count - 1] : NULL;

	if (!last || last->kind != CLEW_LINK_REQUEST)
		return;
	/* The wait used a completion, but was for a request: the call gives the better kind. */
	if (sleep->kind == CLEW_WAIT_WORK)
		sleep->kind = (uint8_t)clew_classify_wait(wait, state, -1);
	/* A request of another task that merely ended at the same time proves nothing. */
	if (last->flags & CLEW_LINK_SWAP &&
	    (last->evidence == CLEW_EVIDENCE_EXACT || last->task == sleep->task) && !sleep->blind &&
	    may_swap(sleep->kind, wait)) {
		sleep->kind = CLEW_WAIT_MEMORY;
		sleep->object = (struct clew_object){
			.kind = CLEW_OBJECT_DEVICE, .device = last->device, .descriptor = -1};
	}
	/* These calls read one file and write another. The object of the record is the file that is
	 * read; the request shows that the sleep was for the other one. */
	if (sleep->kind == CLEW_WAIT_READ &&
	    (wait->call == CLEW_NR_sendfile || wait->call == CLEW_NR_copy_file_range) &&
	    last->flags & CLEW_LINK_WRITE && last->task == sleep->task && !sleep->blind) {
		sleep->kind = CLEW_WAIT_WRITE;
		sleep->object = (struct clew_object){.descriptor = -1};
	}
}

/*
 * A task that sleeps for I/O, and is woken by a request's interrupt after that request
 * ended, waited for a free tag of the device: the request gave its tag back.
 */
static void link_tag_owner(struct clew_builder *builder, const struct clew_wait *wait,
			   const struct wake *wake, struct links *links)
{
	const struct clew_cause *cause = &wake->cause;
	const struct request *request;

	if (!(wait->flags & CLEW_WAIT_FLAG_IOWAIT) || !cause->last_request ||
	    (cause->kind != CLEW_CAUSE_IRQ && cause->kind != CLEW_CAUSE_SOFTIRQ))
		return;
	request = build_request_at(builder, cause->last_request, wake->time);
	if (!request)
		return;
	links->of[0] = build_request_link(request, wake->time);
	links->of[0].evidence = CLEW_EVIDENCE_OBSERVED;
	links->count = 1;
}

/* True if a task that sleeps for I/O is woken by the timer of a disk's limit on writes: then it was
 * throttled. */
static bool limited(const struct clew_builder *builder, const struct clew_wait *wait,
		    const struct links *links)
{
	const uint64_t *kind;

	if (!(wait->flags & CLEW_WAIT_FLAG_IOWAIT) || links->count == 0 ||
	    links->of[0].kind != CLEW_LINK_TIMER)
		return false;
	kind = map_get(&builder->function_kinds, links->of[0].number, 0);
	return kind && *kind == CLEW_WAIT_THROTTLE;
}

/* True if the edge follows the links instead of the waking task. */
static bool goes_by_links(const struct clew_sleep *sleep, const struct links *links,
			  const struct wake *wake)
{
	if (links->count == 0 || sleep->blind)
		return false;
	/* An idle worker waits for work, not for the request whose end queues some, nor for another
	 * worker. */
	if (sleep->kind == CLEW_WAIT_IDLE &&
	    (links->of[0].kind == CLEW_LINK_WORK || links->of[0].kind == CLEW_LINK_REQUEST))
		return false;
	/* A worker that releases a lock acts for itself, even after it has completed a request. */
	return sleep->kind != CLEW_WAIT_LOCK ||
	       (links->of[0].kind != CLEW_LINK_WORK &&
		(links->of[0].kind != CLEW_LINK_REQUEST || wake->context != CLEW_WAKE_TASK));
}

/* Fills in what the wake says about a sleep. */
static int explain_end(struct clew_builder *builder, const struct task *task,
		       struct clew_sleep *sleep, const struct clew_wait *wait,
		       const struct wake *wake)
{
	struct wake_origin origin, in_task;
	struct links links;
	int r = 0;

	sleep->edge_type = -1;
	sleep->context = CLEW_WAKE_UNKNOWN;
	if (wake->time == 0)
		return 0;
	sleep->raw_end = wake->time;
	sleep->context = wake->context;
	sleep->operation = wake->operation;
	build_limit_awaited(builder, wake, sleep);
	build_links(builder, wake, &links);
	/* It waited for an acknowledgement of what it had written before. */
	if (links.count && links.of[0].kind == CLEW_LINK_PACKET && links.of[0].task == CLEW_NO_TASK)
		links.of[0].begin = sleep->start;
	link_tag_owner(builder, wait, wake, &links);
	if (limited(builder, wait, &links))
		sleep->kind = CLEW_WAIT_THROTTLE;
	reconsider_kind(sleep, wait, task->sleep_state, &links);
	in_task = origin_in_task(sleep, wait, task->sleep_state, wake);
	if (in_task.type == CLEW_EDGE_UNLOCK && !build_futex_is_lock(task, wake))
		in_task.type = CLEW_EDGE_WAKE;
	origin = in_task;
	if (wake->context == CLEW_WAKE_TASK && wake->waker != CLEW_NO_TASK) {
		const struct task *waker = build_task_find(builder, wake->waker);

		if (waker && waker->worker)
			sleep->context = CLEW_WAKE_WORK;
	}
	if (goes_by_links(sleep, &links, wake)) {
		r = keep_links(builder, task, sleep, &links, wake);
		origin = origin_of_links(sleep, &links, &in_task);
	}
	if (r >= 0 && sleep->kind == CLEW_WAIT_IO_URING && !sleep->blind &&
	    (in_task.type < 0 || in_task.type == CLEW_EDGE_WAKE))
		origin_of_ring(builder, task, wait, wake, &origin);
	if (origin.type == CLEW_EDGE_WAKE && sleep->kind == CLEW_WAIT_JOURNAL && !sleep->blind) {
		origin.type = CLEW_EDGE_JOURNAL;
		origin.evidence = (uint8_t)build_journal_evidence(builder, task, origin.task);
	}
	if (r < 0 || origin.type < 0) {
		sleep->ended_by = origin.ended_by;
		return r;
	}
	if (build_dropped(builder, (enum clew_edge_type)origin.type)) {
		sleep->context = CLEW_WAKE_UNKNOWN;
		sleep->links = NULL;
		sleep->link_count = sleep->and_count = 0;
		return 0;
	}
	sleep->ended_by = origin.ended_by;
	sleep->edge_type = (int8_t)origin.type;
	sleep->edge_evidence = origin.evidence;
	sleep->from = origin.task;
	sleep->from_at = origin.at;
	return 0;
}

/* True if completions that the task itself posts after its wake may name the submission. */
static bool awaits_completion(const struct clew_wait *wait, const struct clew_sleep *sleep)
{
	if (sleep->kind != CLEW_WAIT_IO_URING || wait->object_kind != CLEW_OBJECT_IO_URING ||
	    sleep->blind || sleep->raw_end == 0 || sleep->end == CLEW_TIME_OPEN ||
	    sleep->switch_in == CLEW_TIME_OPEN)
		return false;
	if (sleep->edge_type == CLEW_EDGE_IO_URING)
		return sleep->link_count >
		       0; /* by a request's submitter, until the ring names the submission */
	return sleep->edge_type < 0 || sleep->edge_type == CLEW_EDGE_WAKE;
}

/* The kernel function that a task waits in, 0 unknown. For a kernel thread it is the object. */
static uint64_t waiting_function(const struct clew_wait *wait)
{
	if (wait->reason == CLEW_REASON_FUNCTION)
		return wait->function;
	return wait->object_kind == CLEW_OBJECT_FUNCTION ? wait->object : 0;
}

/* A task's sleep, as known before its end. */
static struct clew_sleep begun_sleep(const struct clew_builder *builder, const struct task *task,
				     const struct clew_wait *wait)
{
	const uint64_t waits_in = waiting_function(wait),
		       *function = waits_in ? map_get(&builder->function_kinds, waits_in, 0) : NULL;
	const bool at_socket = wait->object_kind == CLEW_OBJECT_SOCKET && !wait->reason;

	return (struct clew_sleep){
		.start = later(task->since, task->frontier),
		.task = task->serial,
		.call_id = task->call_id,
		.call = wait->call,
		.kind = (uint8_t)clew_classify_wait(task->has_wait ? wait : NULL, task->sleep_state,
						    function ? (int)*function : -1),
		.flags = wait->flags,
		.open = (uint8_t)(task->open_start ? CLEW_OPEN_START : 0),
		.number = task->number,
		.asked = at_socket ? wait->asked : 0,
		.away = at_socket ? wait->away : 0,
		.state = (uint8_t)task->sleep_state,
		.frozen = clew_is_frozen(task->has_wait ? wait : NULL, task->sleep_state),
	};
}

struct clew_sleep build_open_sleep(const struct clew_builder *builder, const struct task *task)
{
	const struct clew_wait *wait = task->has_wait ? &task->wait : &no_wait;
	struct clew_sleep sleep = begun_sleep(builder, task, wait);

	sleep.end = sleep.switch_in = CLEW_TIME_OPEN;
	sleep.open |= CLEW_OPEN_END;
	sleep.edge_type = -1;
	sleep.blind = builder->loss_to > sleep.start;
	sleep.object = object_of(wait, sleep.kind, &build_no_wake);
	return sleep;
}

int build_end_sleep(struct clew_builder *builder, struct task *task, const struct wake *wake,
		    uint64_t end, uint64_t switch_in, bool blind)
{
	const struct clew_wait *wait = task->has_wait ? &task->wait : &no_wait;
	struct clew_sleep sleep = begun_sleep(builder, task, wait);
	int r;

	/* It was frozen as it slept, and what it slept for came meanwhile. */
	if (wake->flags & CLEW_WAKE_FROZEN) {
		sleep.kind = CLEW_WAIT_STOPPED;
		sleep.frozen = true;
	}
	if (end == CLEW_TIME_OPEN)
		sleep.open |= CLEW_OPEN_END;
	/* A gap on any CPU may hide that the task ran and slept again. */
	sleep.blind = blind || builder->loss_to > sleep.start;
	sleep.hidden = sleep.blind && builder->loss_to <= sleep.start;
	sleep.end = later(end, sleep.start);
	sleep.switch_in = later(switch_in, sleep.end == CLEW_TIME_OPEN ? 0 : sleep.end);
	if (!(builder->wanted & BUILD_SLEEP_TAGS)) {
		task->frontier = sleep.switch_in;
		return 0;
	}
	sleep.object = object_of(wait, sleep.kind, wake);
	if (sleep.object.kind == CLEW_OBJECT_FUTEX && !sleep.object.shared)
		sleep.object.memory = build_task_memory(builder, task);
	if (wake->asked && sleep.object.kind == CLEW_OBJECT_SOCKET &&
	    sleep.object.number == wake->object) {
		sleep.asked = wake->asked;
		sleep.away = wake->flags & CLEW_WAKE_AWAY ? 1 : 0;
	}
	if (wait->object_kind == CLEW_OBJECT_EPOLL)
		sleep.poller = (uint16_t)(1 | wait->object * 0x9e3779b97f4a7c15ull >> 48);
	r = explain_end(builder, task, &sleep, wait, wake);
	if (r < 0)
		return r;
	if (sleep.kind == CLEW_WAIT_FAULT || sleep.kind == CLEW_WAIT_STOPPED) {
		/* A fault or stop is not about the call's object. */
		sleep.object = (struct clew_object){.descriptor = -1};
	} else if (sleep.kind == CLEW_WAIT_SLEEP && sleep.link_count > 0 &&
		   sleep.links[0].kind == CLEW_LINK_TIMER &&
		   (sleep.object.kind == CLEW_OBJECT_NONE ||
		    sleep.object.kind == CLEW_OBJECT_FUNCTION)) {
		/* The timer says more than nothing, and more than the name of the function that the
		 * task waits in. */
		sleep.object.kind = CLEW_OBJECT_TIMER;
		sleep.object.number = sleep.links[0].number;
	} else if (wait->reason == CLEW_REASON_FUNCTION && sleep.object.kind == CLEW_OBJECT_NONE) {
		sleep.object.kind = CLEW_OBJECT_FUNCTION;
		sleep.object.number = wait->function;
	}
	if (sleep.object.kind == CLEW_OBJECT_LOCK)
		sleep.object.lock_type = (uint32_t)wait->lock_type;
	task->frontier = sleep.switch_in;
	task->slept_from = sleep.blind ? 0 : sleep.start;
	task->slept_until = sleep.end;
	task->released_at = sleep.edge_type == CLEW_EDGE_UNLOCK ? wake->time : 0;
	task->taking = task->released_at ? BUILD_TAKING : 0;
	if (task->futex_wait) {
		r = build_send_edge_of(builder, &sleep);
		return r < 0 ? r : build_futex_ended(builder, task, &sleep, wake);
	}
	if (awaits_completion(wait, &sleep))
		return build_ring_keep(builder, task, &sleep);
	return build_send_sleep(builder, &sleep);
}

int build_unseen_sleep(struct clew_builder *builder, struct task *task, const struct wake *wake,
		       uint64_t start, uint64_t switch_in)
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

	if (wake->time == 0 || wake->waker == CLEW_NO_TASK ||
	    build_dropped(builder, CLEW_EDGE_WAKE))
		return 0;
	return build_send_edge(builder, &edge);
}
