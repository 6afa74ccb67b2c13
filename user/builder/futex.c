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
	release = futex_release_after(futex, wait->start);
	return release == futex_releases_end(futex) || release->at > wait->sleep.end;
}

static int settle(struct clew_builder *builder, struct futex *futex)
{
	int r = 0;

	while (r >= 0 && futex->pending.first && settled(futex->pending.first))
		r = send_pending(builder, futex->pending.first);
	futex_retire(&builder->futexes, futex, builder->now);
	return r;
}

static bool is_bitset(const struct clew_wait *wait)
{
	return (wait->futex_operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

/* True if a wait may be for either word of glibc's rwlock, which stand beside each other: readers
 * sleep on the first one, writers on both. */
static bool may_be_rwlock(const struct clew_wait *wait)
{
	return wait->expected == 3 && !(wait->flags & CLEW_WAIT_FLAG_COMPAT) &&
	       (wait->futex_class == CLEW_FUTEX_CLASS_RWLOCK ||
		(wait->futex_class == CLEW_FUTEX_CLASS_NONE && is_bitset(wait)));
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
	if (word && may_be_rwlock(record))
		*ret_address &= ~(uint64_t)(sizeof(uint64_t) - 1);
	if (word && record->futex_class == CLEW_FUTEX_CLASS_WRITERS)
		*ret_address -= sizeof(uint32_t);
	return *ret_address != 0;
}

/*
 * Next to the word the memory changes while a lock changes hands, and need not look like a lock
 * when a waiter falls asleep. A waiter for the same value of a word that is known waits for the
 * same.
 */
static void recognise(const struct futex *futex, struct clew_wait *wait)
{
	if (!futex || !futex->lock)
		return;
	if (futex->class == CLEW_FUTEX_CLASS_READERS &&
	    wait->futex_class == CLEW_FUTEX_CLASS_NONE && wait->expected == UINT32_MAX)
		wait->futex_class = CLEW_FUTEX_CLASS_READERS;
	if ((futex->class == CLEW_FUTEX_CLASS_MUTEX && wait->expected == 2 &&
	     (wait->futex_class == CLEW_FUTEX_CLASS_NONE ||
	      wait->futex_class == CLEW_FUTEX_CLASS_BUSY)) ||
	    (futex->class == CLEW_FUTEX_CLASS_RWLOCK && may_be_rwlock(wait)))
		wait->futex_class = futex->class;
}

/* True if nothing but the value of a word makes it look like a lock, and it says nothing of its
 * owner. */
static bool bare_word(const struct clew_wait *wait)
{
	return wait->futex_class == CLEW_FUTEX_CLASS_BUSY ||
	       wait->futex_class == CLEW_FUTEX_CLASS_READERS ||
	       wait->futex_class == CLEW_FUTEX_CLASS_WRITERS;
}

/* The process that holds a lock on a file, unless it is the waiter's own: then another thread of it
 * does, and which one is unknown. */
static uint32_t other_process(const struct clew_builder *builder, const struct task *task,
			      uint32_t process)
{
	const struct task *holder = build_task_find(builder, process);

	return holder && holder->process != task->process ? process : CLEW_NO_TASK;
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

/* True if the word before the one of a wait is the known state of Rust's RwLock. */
static bool is_writers_word(struct clew_builder *builder, uint32_t memory,
			    const struct clew_wait *wait)
{
	const struct futex *state;

	if (wait->object_kind != CLEW_OBJECT_FUTEX || wait->futex_class != CLEW_FUTEX_CLASS_NONE ||
	    wait->futex_operation != (FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG))
		return false;
	state = futex_find(&builder->futexes, memory, wait->object - sizeof(uint32_t),
			   builder->now);
	return state && state->lock && state->class == CLEW_FUTEX_CLASS_READERS;
}

/* The tasks among which the owner of a futex word is looked up. */
static enum tid_scope scope_of(const struct clew_wait *wait)
{
	if (wait->futex_class == CLEW_FUTEX_CLASS_PI)
		return TID_OF_KERNEL;
	return wait->futex_operation & FUTEX_PRIVATE_FLAG ? TID_OF_MEMORY : TID_OF_ANY;
}

/* The release that woke a task at a moment; NULL: none is known. */
static struct release *release_of(const struct futex *futex, const struct task *task, uint64_t at)
{
	struct release *release = futex_release_after(futex, at - 1);

	for (; release < futex_releases_end(futex) && release->at == at; release++)
		if (release->woken == task->serial)
			return release;
	return NULL;
}

/* The release that ended the last sleep of a task; NULL: none did, or it is forgotten. */
static struct release *last_release(struct clew_builder *builder, const struct task *task)
{
	struct futex *futex;
	uint64_t address;
	uint32_t memory;

	if (!task->released_at || !lock_of(builder, task, &memory, &address))
		return NULL;
	futex = futex_find(&builder->futexes, memory, address, builder->now);
	return futex ? release_of(futex, task, task->released_at) : NULL;
}

void build_futex_left(struct clew_builder *builder, struct task *task, bool took)
{
	uint64_t ran = builder->now - task->switched_in;
	struct release *release;

	if (!task->taking)
		return;
	task->taking -= took ? task->taking : earlier(task->taking, ran);
	release = took ? NULL : last_release(builder, task);
	if (release && !release->left_at)
		release->left_at = builder->now;
}

void build_futex_back(struct clew_builder *builder, struct task *task)
{
	struct release *release = task->taking ? last_release(builder, task) : NULL;
	unsigned times = 0;

	if (!release || !release->left_at)
		return;
	while (times < BUILD_BACK && release->back_at[times])
		times++;
	if (times < BUILD_BACK)
		release->back_at[times] = builder->now;
	else
		task->taking = 0;
}

/* The holder by what the kernel and the word say; *process: a process of which any thread may be
 * it. */
static void find_owner(struct clew_builder *builder, const struct task *task, uint32_t *owner,
		       uint32_t *process)
{
	const struct clew_wait *record = &task->wait;

	if (record->reason == CLEW_REASON_FILE_LOCK && !(record->flags & CLEW_WAIT_FLAG_TAKER))
		*process = other_process(builder, task, build_task_by_tid(builder, record->owner));
	else if (record->object_kind != CLEW_OBJECT_FUTEX)
		*owner = build_task_by_tid(builder, record->owner);
	else if (record->futex_class != CLEW_FUTEX_CLASS_NONE)
		*owner = build_task_resolve(builder, task, record->owner, scope_of(record));
}

/* NULL: no memory. */
static struct futex_wait *new_wait(struct futex_table *table)
{
	struct futex_wait *wait = table->free_waits;

	if (wait) {
		table->free_waits = wait->next;
		return wait;
	}
	wait = malloc(sizeof(*wait));
	if (wait)
		table->memory += sizeof(*wait);
	return wait;
}

/* Learns from a wait which kind of lock it is at. */
static void learn_class(struct futex *futex, const struct clew_wait *record, uint32_t owner)
{
	bool word = record->object_kind == CLEW_OBJECT_FUTEX;

	futex->shared |= word && !(record->futex_operation & FUTEX_PRIVATE_FLAG);
	if (record->futex_class == CLEW_FUTEX_CLASS_READERS ||
	    record->futex_class == CLEW_FUTEX_CLASS_WRITERS)
		futex->class = CLEW_FUTEX_CLASS_READERS;
	else if (word && owner != CLEW_NO_TASK)
		futex->class = record->futex_class;
	/* The kernel itself takes it for one. */
	futex->lock |= record->futex_class == CLEW_FUTEX_CLASS_PI;
}

int build_futex_wait(struct clew_builder *builder, struct task *task)
{
	struct futex_table *table = &builder->futexes;
	const struct clew_wait *record = &task->wait;
	bool word = record->object_kind == CLEW_OBJECT_FUTEX,
	     on_file = record->reason == CLEW_REASON_FILE_LOCK, held;
	uint64_t address, released_at = task->released_at;
	uint32_t memory, owner = CLEW_NO_TASK, process = CLEW_NO_TASK;
	struct futex_wait *wait;
	struct futex *futex;
	int r;

	task->released_at = 0;
	task->taking = 0;
	if (!(builder->wanted & BUILD_SLEEP_TAGS))
		return 0;
	if (!lock_of(builder, task, &memory, &address) || build_dropped(builder, CLEW_EDGE_UNLOCK))
		return 0;
	futex = futex_find(table, memory, address, builder->now);
	if (word)
		recognise(futex, &task->wait);
	if (!futex && is_writers_word(builder, memory, record)) {
		task->wait.futex_class = CLEW_FUTEX_CLASS_WRITERS;
		lock_of(builder, task, &memory, &address);
		futex = futex_find(table, memory, address, builder->now);
	}
	held = !word || record->futex_class != CLEW_FUTEX_CLASS_NONE;
	find_owner(builder, task, &owner, &process);
	if (futex && released_at) {
		struct release *release = release_of(futex, task, released_at);

		if (release) {
			release->again = task->since;
			release->owner = owner;
		}
	}
	if (!held)
		return 0;
	if (!futex)
		futex = futex_new(table, memory, address);
	wait = futex ? new_wait(table) : NULL;
	if (!wait)
		return -ENOMEM;
	futex_not_idle(table, futex);
	*wait = (struct futex_wait){
		.owner = owner,
		.process = process,
		.on_file = on_file,
		.threads = process != CLEW_NO_TASK && build_task_threads(builder, process) > 1,
		/* Writers of a rwlock sleep on while readers, and others, have it in turn. */
		.sure = word ? record->futex_class != CLEW_FUTEX_CLASS_RWLOCK && !bare_word(record)
			     : build_owner_known(record),
		.word = word,
		.start = task->since,
		.ran_at = task->switched_in,
		.read_at = builder->now,
	};
	futex_add_active(futex, wait);
	r = futex_attempt_add(table, futex,
			      &(struct attempt){.at = task->since,
						.ran_at = task->switched_in,
						.task = task->serial,
						.owner = owner});
	if (r < 0)
		return r;
	learn_class(futex, record, owner);
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

/* True if the wake of a waiter proves that what it waits for is a lock. */
static bool proves_lock(const struct futex_wait *wait, const struct task *task,
			const struct wake *wake)
{
	const struct futex *futex = wait->futex;

	if (wait->owner != CLEW_NO_TASK && wait->owner == wake->waker)
		return true;
	/* A counter of events has a value once only, and events change it. */
	if (is_bitset(&task->wait) && wait->start <= futex->woken_at)
		return false;
	return was_woken(futex, wake->waker);
}

bool build_futex_is_lock(const struct task *task, const struct wake *wake)
{
	const struct futex_wait *wait = task->futex_wait;

	return !wait || !bare_word(&task->wait) || wait->futex->lock ||
	       proves_lock(wait, task, wake);
}

/* Learns from the wake of a waiter whether the word is a lock. */
static void learn(struct futex *futex, const struct futex_wait *wait, const struct task *task,
		  const struct wake *wake)
{
	if (futex->lock || !wait->word || wake->time == 0 || wake->context != CLEW_WAKE_TASK ||
	    (wake->operation == CLEW_FUTEX_NOT && wait->sleep.edge_type != CLEW_EDGE_UNLOCK))
		return;
	futex->lock = proves_lock(wait, task, wake);
	if (!futex->woken[0])
		futex->woken_at = wake->time;
	memmove(futex->woken + 1, futex->woken, sizeof(futex->woken) - sizeof(futex->woken[0]));
	futex->woken[0] = task->serial;
}

/* Keeps an ended wait until later records show who had the lock, for BUILD_GRACE at most. */
static void await_proof(struct clew_builder *builder, struct futex_wait *wait)
{
	struct futex_table *table = &builder->futexes;

	futex_list_insert(&wait->futex->pending, wait->futex->pending.last, wait);
	wait->queue_previous = table->queue_last;
	*(table->queue_last ? &table->queue_last->queue_next : &table->queue_first) = wait;
	table->queue_last = wait;
	table->pending++;
	wait->deadline = builder->now + BUILD_GRACE;
}

/* Joins the word that a waker's call names with the one that a waiter slept at. The address in the
 * waker's call is the same futex only if the waiter was in a futex call, too. */
static int join_waker(struct clew_builder *builder, struct futex *futex, const struct task *task,
		      const struct wake *wake)
{
	const struct task *waker;
	uint64_t address = wake->object;

	if (task->wait.object_kind != CLEW_OBJECT_FUTEX ||
	    task->wait.futex_operation & FUTEX_PRIVATE_FLAG ||
	    wake->object_kind != CLEW_OBJECT_FUTEX || !wake->object ||
	    wake->flags & CLEW_WAKE_PRIVATE)
		return 0;
	waker = build_task_find(builder, wake->waker);
	if (!waker)
		return 0;
	if (may_be_rwlock(&task->wait))
		address &= ~(uint64_t)(sizeof(uint64_t) - 1);
	return futex_join(&builder->futexes, futex, build_task_memory(builder, waker), address,
			  builder->now);
}

/* Adds the release by which a waiter was woken. */
static int add_release(struct clew_builder *builder, struct futex *futex, const struct task *task,
		       const struct clew_sleep *sleep, const struct wake *wake)
{
	struct release release = {
		.at = wake->time,
		.releaser = wake->waker,
		.woken = task->serial,
		/* After a switch that was not seen this is when it was found to run. */
		.ran_at = grants(&task->wait, wake)	       ? wake->time
			  : sleep->switch_in == CLEW_TIME_OPEN ? CLEW_TIME_OPEN
							       : builder->now,
		.earliest = sleep->switch_in,
		.timed = task->wait.object_kind == CLEW_OBJECT_FUTEX && is_bitset(&task->wait),
		/* Readers are admitted together. */
		.many = wake->operation == CLEW_FUTEX_WAKE_MANY || would_share(&task->wait),
	};
	int r = futex_release_add(&builder->futexes, futex, &release);

	return r < 0 ? r : join_waker(builder, futex, task, wake);
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
	/* It was woken, perhaps by a release, at a moment that is not known. */
	if (sleep->blind) {
		r = futex_release_add(table, futex,
				      &(struct release){.at = sleep->switch_in,
							.releaser = CLEW_NO_TASK,
							.woken = task->serial,
							.ran_at = sleep->switch_in,
							.earliest = sleep->switch_in,
							.timed = true});
		if (r < 0)
			return r;
	}
	await_proof(builder, wait);
	if (sleep->edge_type == CLEW_EDGE_UNLOCK) {
		r = add_release(builder, futex, task, sleep, wake);
		if (r < 0)
			return r;
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
