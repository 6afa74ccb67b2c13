/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits for futexes: from their begin to the moment at which their holders are certain.
 *
 * Each futex keeps a log of its releases in order of time. The holders during a wait are
 * read off the log (holders.c) once the wait has ended.
 *
 * A release becomes known when the woken waiter comes on a CPU. An ended wait is
 * therefore kept back while a waiter that began before its end still sleeps, for at most
 * BUILD_GRACE.
 */
#include "builder/futex.h"
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/task.h"
#include "builder/wake.h"
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>

/* Emits a wait that is in no list any more, and frees it. */
static int send_wait(struct clew_builder *builder, struct futex_wait *wait)
{
	struct futex_table *table = &builder->futexes;
	int r = 0;

	if (!wait->sleep.blind)
		r = build_find_holders(builder, wait);
	if (r >= 0) {
		wait->sleep.holder_count = (uint32_t)r;
		wait->sleep.holders = r > 0 ? table->holders : NULL;
		r = build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_SLEEP,
							      .sleep = &wait->sleep});
	}
	free(wait->links);
	wait->links = NULL;
	wait->next = table->free_waits;
	table->free_waits = wait;
	return r < 0 ? r : 0;
}

static int send_pending(struct clew_builder *builder, struct futex_wait *wait)
{
	struct futex_table *table = &builder->futexes;

	futex_list_remove(&wait->futex->pending, wait);
	*(wait->queue_previous ? &wait->queue_previous->queue_next : &table->queue_first) =
		wait->queue_next;
	*(wait->queue_next ? &wait->queue_next->queue_previous : &table->queue_last) =
		wait->queue_previous;
	table->pending--;
	return send_wait(builder, wait);
}

/* True if no record that is still to come can change the holders of an ended wait. */
static bool settled(const struct futex_wait *wait)
{
	const struct futex *futex = wait->futex;
	const struct release *release;

	if (wait->sleep.blind)
		return true;
	if (futex->active.first && futex->active.first->start < wait->sleep.end)
		return false;
	if (wait->sleep.edge_type == CLEW_EDGE_UNLOCK)
		return true;
	release = futex_log_after(futex, wait->start);
	return release == futex_log_end(futex) || release->at > wait->sleep.end;
}

static int settle(struct clew_builder *builder, struct futex *futex)
{
	int r = 0;

	while (r >= 0 && futex->pending.first && settled(futex->pending.first))
		r = send_pending(builder, futex->pending.first);
	futex_retire(&builder->futexes, futex, builder->now);
	return r;
}

/* The lock that a wait is for. Kernel locks and locks on files belong to no memory. False: none,
 * or it is unknown. */
static bool lock_of(const struct clew_builder *builder, const struct task *task,
		    uint32_t *ret_memory, uint64_t *ret_address)
{
	const struct clew_wait *record = &task->wait;
	bool word = record->object_kind == CLEW_OBJECT_FUTEX;

	if (!task->has_wait || (!word && record->reason != CLEW_REASON_LOCK &&
				record->reason != CLEW_REASON_FILE_LOCK))
		return false;
	*ret_memory = word ? build_task_memory(builder, task) : CLEW_NO_TASK;
	*ret_address = record->reason == CLEW_REASON_FILE_LOCK
			       ? record->argument & ~CLEW_FILE_LOCK_SHARED
			       : record->object;
	return *ret_address != 0;
}

/* True if others may hold the lock together with a task that waits like this. */
static bool would_share(const struct clew_wait *wait)
{
	return (wait->reason == CLEW_REASON_LOCK && wait->lock_type & CLEW_LOCK_READ) ||
	       (wait->reason == CLEW_REASON_FILE_LOCK && wait->file_lock & CLEW_FILE_LOCK_SHARED);
}

/*
 * True if the wake itself hands over the lock: by an unlock of a PI futex, to readers of
 * glibc's rwlock, and to all that wait for a reader-writer semaphore of the kernel but a
 * writer of a plain one. In a real-time kernel each tries for itself.
 */
static bool grants(const struct clew_wait *wait, const struct wake *wake)
{
	if (wake->operation == CLEW_FUTEX_UNLOCK_PI)
		return true;
	if (wait->object_kind == CLEW_OBJECT_FUTEX)
		return wait->futex_class == CLEW_FUTEX_CLASS_RWLOCK &&
		       wake->operation == CLEW_FUTEX_WAKE_MANY;
	return wait->reason == CLEW_REASON_LOCK && !(wait->lock_type & CLEW_LOCK_RT) &&
	       wait->lock_type & (CLEW_LOCK_READ | CLEW_LOCK_PERCPU);
}

/* The tasks among which the owner of a futex word is looked up. */
static enum tid_scope scope_of(const struct clew_wait *wait)
{
	if (wait->futex_class == CLEW_FUTEX_CLASS_PI)
		return TID_OF_KERNEL;
	return wait->futex_operation & FUTEX_PRIVATE_FLAG ? TID_OF_MEMORY : TID_OF_ANY;
}

int build_futex_wait(struct clew_builder *builder, struct task *task)
{
	struct futex_table *table = &builder->futexes;
	const struct clew_wait *record = &task->wait;
	bool word = record->object_kind == CLEW_OBJECT_FUTEX,
	     on_file = record->reason == CLEW_REASON_FILE_LOCK;
	bool shared = word && !(record->futex_operation & FUTEX_PRIVATE_FLAG),
	     held = !word || record->futex_class != CLEW_FUTEX_CLASS_NONE;
	uint64_t address, released_at = task->released_at;
	uint32_t memory, owner = CLEW_NO_TASK;
	struct futex_wait *wait;
	struct futex *futex;

	task->released_at = 0;
	if (!(builder->wanted & BUILD_SLEEP_TAGS))
		return 0;
	if (!lock_of(builder, task, &memory, &address) || build_dropped(builder, CLEW_EDGE_UNLOCK))
		return 0;
	futex = futex_find(table, memory, address, builder->now);
	if (!word)
		owner = build_task_by_tid(builder, record->owner);
	else if (held)
		owner = build_task_resolve(builder, task, record->owner, scope_of(record));
	if (futex && released_at) {
		struct release *release = futex_log_after(futex, released_at - 1);

		for (; release < futex_log_end(futex) && release->at == released_at; release++) {
			if (release->woken == task->serial) {
				release->again = task->since;
				release->owner = owner;
			}
		}
	}
	if (!held)
		return 0;
	if (!futex)
		futex = futex_new(table, memory, address);
	wait = table->free_waits;
	if (wait)
		table->free_waits = wait->next;
	else if (futex && (wait = malloc(sizeof(*wait))))
		table->memory += sizeof(*wait);
	if (!futex || !wait)
		return -ENOMEM;
	futex_not_idle(table, futex);
	*wait = (struct futex_wait){
		.owner = on_file ? CLEW_NO_TASK : owner,
		.process = on_file ? owner : CLEW_NO_TASK,
		/* Writers of a rwlock sleep on while readers, and others, have it in turn. */
		.sure = word ? record->futex_class != CLEW_FUTEX_CLASS_RWLOCK &&
					record->futex_class != CLEW_FUTEX_CLASS_BUSY
			     : build_owner_known(record),
		.word = word,
		.start = task->since,
		.read_at = builder->now,
	};
	futex_add_active(futex, wait);
	futex->shared |= shared;
	/* The kernel itself takes it for one. */
	futex->lock |= record->futex_class == CLEW_FUTEX_CLASS_PI;
	task->futex_wait = wait;
	return 0;
}

void build_futex_cancel(struct clew_builder *builder, struct task *task)
{
	struct futex_table *table = &builder->futexes;
	struct futex_wait *wait = task->futex_wait;

	if (!wait)
		return;
	task->futex_wait = NULL;
	futex_list_remove(&wait->futex->active, wait);
	futex_retire(table, wait->futex, builder->now);
	wait->next = table->free_waits;
	table->free_waits = wait;
}

static bool was_woken(const struct futex *futex, uint32_t task)
{
	for (unsigned i = 0; i < BUILD_WOKEN_LATELY; i++)
		if (futex->woken[i] == task)
			return task != CLEW_NO_TASK;
	return false;
}

bool build_futex_is_lock(const struct task *task, const struct wake *wake)
{
	const struct futex_wait *wait = task->futex_wait;

	return !wait || task->wait.futex_class != CLEW_FUTEX_CLASS_BUSY || wait->futex->lock ||
	       was_woken(wait->futex, wake->waker);
}

/* Learns from the wake of a waiter whether the word is a lock. */
static void learn(struct futex *futex, const struct futex_wait *wait, const struct task *task,
		  const struct wake *wake)
{
	if (futex->lock || !wait->word || wake->time == 0 || wake->context != CLEW_WAKE_TASK ||
	    (wake->operation == CLEW_FUTEX_NOT && wait->sleep.edge_type != CLEW_EDGE_UNLOCK))
		return;
	futex->lock = (wait->owner != CLEW_NO_TASK && wait->owner == wake->waker) ||
		      was_woken(futex, wake->waker);
	memmove(futex->woken + 1, futex->woken, sizeof(futex->woken) - sizeof(futex->woken[0]));
	futex->woken[0] = task->serial;
}

int build_futex_ended(struct clew_builder *builder, struct task *task,
		      const struct clew_sleep *sleep, const struct wake *wake)
{
	struct futex_table *table = &builder->futexes;
	struct futex_wait *wait = task->futex_wait;
	struct futex *futex = wait->futex;
	int r;

	task->futex_wait = NULL;
	futex_list_remove(&futex->active, wait);
	wait->sleep = *sleep;
	wait->ended = true;
	if (task->wait.futex_class == CLEW_FUTEX_CLASS_RWLOCK)
		wait->sure = grants(&task->wait, wake);
	learn(futex, wait, task, wake);
	if (sleep->link_count > 0) {
		size_t bytes =
			(size_t)(sleep->link_count + sleep->and_count) * sizeof(*wait->links);

		wait->links = malloc(bytes);
		if (!wait->links)
			return -ENOMEM;
		wait->sleep.links = memcpy(wait->links, sleep->links, bytes);
	}
	if (sleep->end == CLEW_TIME_OPEN) {
		r = send_wait(builder, wait);
		futex_retire(table, futex, builder->now);
		return r;
	}
	futex_list_insert(&futex->pending, futex->pending.last, wait);
	wait->queue_previous = table->queue_last;
	*(table->queue_last ? &table->queue_last->queue_next : &table->queue_first) = wait;
	table->queue_last = wait;
	table->pending++;
	wait->deadline = builder->now + BUILD_GRACE;
	if (sleep->edge_type == CLEW_EDGE_UNLOCK) {
		struct release release = {
			.at = wake->time,
			.releaser = wake->waker,
			.woken = task->serial,
			.ran_at = grants(&task->wait, wake) ? wake->time : sleep->switch_in,
			.timed = wait->word &&
				 (task->wait.futex_operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET,
			/* Readers are admitted together. */
			.many = wake->operation == CLEW_FUTEX_WAKE_MANY || would_share(&task->wait),
		};

		r = futex_log_add(table, futex, &release);
		if (r < 0)
			return r;
		/* The address in the waker's call is the same futex only if the waiter was in a
		 * futex call, too. */
		if (task->wait.object_kind == CLEW_OBJECT_FUTEX &&
		    !(task->wait.futex_operation & FUTEX_PRIVATE_FLAG) &&
		    wake->object_kind == CLEW_OBJECT_FUTEX && wake->object &&
		    !(wake->flags & CLEW_WAKE_PRIVATE)) {
			const struct task *waker = build_task_find(builder, wake->waker);

			r = waker ? futex_join(table, futex, build_task_memory(builder, waker),
					       wake->object, builder->now)
				  : 0;
			if (r < 0)
				return r;
		}
	}
	return settle(builder, futex);
}

int build_futex_expire(struct clew_builder *builder, uint64_t now, bool all)
{
	struct futex_table *table = &builder->futexes;
	struct futex_wait *wait;

	while ((wait = table->queue_first) &&
	       (all || wait->deadline <= now || table->pending > BUILD_PENDING_MAX)) {
		struct futex *futex = wait->futex;
		int r = send_pending(builder, wait);

		futex_retire(table, futex, builder->now);
		if (r < 0)
			return r;
	}
	return 0;
}
