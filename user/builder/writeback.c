/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why something is written, by what the task that queues a bio is doing: a pass of the
 * flusher over a file, a sync of its own, or a commit.
 *
 * An order is a writeback work item of the kernel: somebody wants pages written, and a
 * flusher serves it. A stint is an interval in which a flusher serves one order. The
 * end of a sync is not recorded: it ends with its call, at the latest when the task has
 * slept in another call.
 */
#include "builder/writeback.h"
#include "builder/block.h"
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/journal.h"
#include "builder/task.h"
#include "builder/work.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's numbers for why the flusher writes (enum wb_reason). */
enum { ASKED_BACKGROUND, ASKED_MEMORY, ASKED_SYNC, ASKED_PERIODIC };

/* ns: a dirtier that has the background pass begun queues the flusher's work item at once, and
 * sleeps if it is made to wait. */
#define WAKE_NEAR 10000000ull
/* ns in which what was dirtied counts half. */
#define DIRTY_FADE  1000000000ull
#define ORDERS_MOST 65536u

struct order {
	uint64_t at;
	uint32_t task;
};

/* A flusher's time on one order, or a part of it. */
struct stint {
	uint64_t began, ended; /* began 0: none; ended UINT64_MAX: it goes on */
	uint64_t work;
	struct why_written why;
	uint32_t disk;
	uint16_t asked;
};

/* Past stints are kept, as workers that write for a flusher may be late. */
#define STINTS_PAST 15u

/* The file that a task writes out, and why. */
struct flush {
	uint64_t inode; /* of the file that it makes a pass over, 0 none */
	uint64_t sync_inode;
	uint64_t awaited;
	uint32_t awaited_device;
	uint32_t device, sync_device;
	uint32_t sync_call; /* call_id of the syncing call */
	uint32_t sync_in;   /* system call number of that call, plus 1 */
	uint64_t pass, sync_pass;
	struct stint now, past[STINTS_PAST]; /* the current or last stint, and those before it,
						the latest first */
	bool syncs;
	bool commits;
	bool next; /* it began another work item since the last stint */
};

static struct flush *flush_get(struct clew_builder *builder, uint32_t serial)
{
	struct task *task = build_task_get(builder, serial);

	if (task && !task->flush) {
		task->flush = calloc(1, sizeof(*task->flush));
		builder->writebacks.memory += task->flush ? sizeof(*task->flush) : 0;
	}
	return task ? task->flush : NULL;
}

void build_flush_next(struct task *task)
{
	if (!task->flush)
		return;
	task->flush->commits = task->flush->syncs = false;
	task->flush->next = true;
}

void build_flush_done(struct clew_builder *builder, struct task *task)
{
	if (task->flush)
		builder->writebacks.memory -= sizeof(*task->flush);
	free(task->flush);
	task->flush = NULL;
}

/* ---- orders and passes ---- */

static int feed_queue(struct clew_builder *builder, const struct clew_writeback *record)
{
	struct writeback_table *table = &builder->writebacks;
	struct order *order;

	if (record->work == 0 || build_nobody(record->task))
		return 0;
	/* Orders whose end was lost pile up. */
	if (table->all_orders.count >= ORDERS_MOST) {
		map_done(&table->orders);
		vector_done(&table->all_orders);
	}
	order = writeback_entry(&table->orders, &table->all_orders, sizeof(*order), record->work);
	if (!order)
		return -ENOMEM;
	*order = (struct order){.at = builder->now, .task = record->task};
	return 0;
}

/* The task that started background writeback, if the flusher runs the work item it queued. */
static uint32_t waker_of(const struct clew_builder *builder, const struct task *task,
			 const struct background *background)
{
	const struct clew_link *queued;
	struct links links = {0};

	if (!background || background->task == CLEW_NO_TASK ||
	    !build_work_links(task, builder->now, &links) || !links.count)
		return CLEW_NO_TASK;
	queued = &links.of[0];
	return queued->task == background->task && queued->at >= background->at &&
			       queued->at - background->at < WAKE_NEAR
		       ? background->task
		       : CLEW_NO_TASK;
}

/* An order is recorded once. A flusher that returns to it for more pages keeps the reason it had.
 */
static struct why_written why_of_order(const struct clew_builder *builder, const struct task *task,
				       const struct clew_writeback *record)
{
	const struct writeback_table *table = &builder->writebacks;
	const uint64_t *known = record->work ? map_get(&table->orders, record->work, 0) : NULL;
	struct order *order = known ? (struct order *)table->all_orders.data + *known : NULL;
	const struct flush *flush = task->flush;
	struct why_written why = {.task = CLEW_NO_TASK};

	if (order && order->at) {
		why.task = order->task;
		order->at = 0;
	} else if (!flush->next && flush->now.began && flush->now.work == record->work &&
		   flush->now.asked == record->reason) {
		return flush->now.why;
	}
	switch (record->reason) {
	case ASKED_MEMORY:
		why.reason = CLEW_REQUEST_REASON_MEMORY;
		break;
	case ASKED_SYNC:
		why.reason = CLEW_REQUEST_REASON_SYNC;
		break;
	case ASKED_PERIODIC:
		why.reason = CLEW_REQUEST_REASON_PERIODIC;
		break;
	case ASKED_BACKGROUND:
		why.reason = CLEW_REQUEST_REASON_BACKGROUND;
		if (why.task == CLEW_NO_TASK)
			why.task = waker_of(builder, task,
					    writeback_entry_find(&table->wakes, &table->all_wakes,
								 record->device));
		break;
	default: /* to free space, for example: no task asked for it */
		why.reason = CLEW_REQUEST_REASON_UNKNOWN;
	}
	return why;
}

static int feed_start(struct clew_builder *builder, const struct clew_writeback *record)
{
	struct flush *flush = flush_get(builder, record->task);
	struct stint stint = {
		.began = builder->now,
		.ended = UINT64_MAX,
		.work = record->work,
		.disk = record->device,
		.asked = record->reason,
	};

	if (!flush)
		return build_nobody(record->task) ? 0 : -ENOMEM;
	stint.why = why_of_order(builder, build_task_find(builder, record->task), record);
	memmove(&flush->past[1], &flush->past[0], sizeof(flush->past) - sizeof(flush->past[0]));
	flush->past[0] = flush->now;
	flush->past[0].ended = earlier(flush->now.ended, builder->now);
	flush->now = stint;
	flush->next = false;
	return 0;
}

static int feed_end(struct clew_builder *builder, const struct clew_writeback *record)
{
	struct task *task = build_task_find(builder, record->task);

	if (task && task->flush)
		task->flush->now.ended = earlier(task->flush->now.ended, builder->now);
	return 0;
}

static int feed_wake(struct clew_builder *builder, const struct clew_writeback *record)
{
	struct writeback_table *table = &builder->writebacks;
	struct background *background = writeback_entry(&table->wakes, &table->all_wakes,
							sizeof(*background), record->device);

	if (!background)
		return -ENOMEM;
	*background = (struct background){.at = builder->now,
					  .task = build_nobody(record->task) ? CLEW_NO_TASK
									     : record->task};
	return 0;
}

static int feed_inode(struct clew_builder *builder, const struct clew_writeback *record)
{
	struct flush *flush = flush_get(builder, record->task);

	if (!flush)
		return build_nobody(record->task) ? 0 : -ENOMEM;
	flush->inode = record->header.flags == CLEW_WRITEBACK_INODE_BEGIN ? record->inode : 0;
	flush->device = record->device;
	flush->pass = ++builder->writebacks.passes;
	return 0;
}

static int feed_sync(struct clew_builder *builder, const struct clew_writeback *record)
{
	struct flush *flush = flush_get(builder, record->task);
	const struct task *task = build_task_find(builder, record->task);
	struct clew_touch touch = {
		.begin = builder->now,
		.end = builder->now,
		.inode = record->inode,
		.device = record->device,
		.task = record->task,
		.event = CLEW_TOUCH_SYNC,
	};

	if (!flush)
		return build_nobody(record->task) ? 0 : -ENOMEM;
	flush->syncs = true;
	flush->sync_inode = record->inode;
	flush->sync_device = record->device;
	flush->sync_call = task->call_id;
	flush->sync_in = record->call;
	flush->sync_pass = ++builder->writebacks.passes;
	return build_emit(builder,
			  (struct clew_finding){.tag = CLEW_FINDING_TOUCH, .touch = &touch});
}

int build_feed_writeback(struct clew_builder *builder, const struct clew_writeback *record)
{
	switch (record->header.flags) {
	case CLEW_WRITEBACK_QUEUE:
		return feed_queue(builder, record);
	case CLEW_WRITEBACK_START:
		return feed_start(builder, record);
	case CLEW_WRITEBACK_END:
		return feed_end(builder, record);
	case CLEW_WRITEBACK_WAKE:
		return feed_wake(builder, record);
	case CLEW_WRITEBACK_INODE_BEGIN:
	case CLEW_WRITEBACK_INODE_END:
		return feed_inode(builder, record);
	case CLEW_WRITEBACK_SYNC_ENTER:
		return feed_sync(builder, record);
	default:
		return 0;
	}
}

/* ---- why a bio is queued ---- */

/* True if a bio belongs to a sync of a task. A task for which a worker writes may be in its next
 * call by now. */
static bool syncs_for(const struct clew_builder *builder, const struct task *task,
		      const struct clew_bio *record, uint64_t at)
{
	const struct flush *flush = task->flush;
	bool own = at == builder->now;

	/* Some calls write pages before they drop them, and are no sync. */
	if (!flush->syncs || (own && record->call != flush->sync_in))
		return false;
	return task->call_id <= flush->sync_call + 1 ||
	       (own && record->inode == flush->sync_inode &&
		record->file_device == flush->sync_device);
}

static const struct stint *stint_at(const struct flush *flush, uint64_t at)
{
	if (flush->now.began && flush->now.began <= at)
		return at < flush->now.ended ? &flush->now : NULL;
	for (unsigned i = 0; i < STINTS_PAST && flush->past[i].began; i++)
		if (flush->past[i].began <= at)
			return at < flush->past[i].ended ? &flush->past[i] : NULL;
	return NULL;
}

/* The reason by what a task was doing at `at`. The bio may be queued by a worker on its behalf. */
static struct why_written why_in_task(const struct clew_builder *builder, const struct task *task,
				      const struct clew_bio *record, uint64_t at)
{
	const struct writeback_table *table = &builder->writebacks;
	const struct flush *flush = task ? task->flush : NULL;
	struct why_written why = {.reason = CLEW_REQUEST_REASON_UNKNOWN};
	const struct stint *stint;

	if (!flush)
		return why;
	if (flush->commits)
		return (struct why_written){.reason = CLEW_REQUEST_REASON_JOURNAL,
					    .pass = flush->pass};
	if (record->operation & BLOCK_META)
		return (struct why_written){.reason = CLEW_REQUEST_REASON_METADATA};
	stint = stint_at(flush, at);
	if (stint) {
		why = stint->why;
		why.pass = flush->pass;
		/* The task that started it may be made to wait after that. */
		if (why.reason == CLEW_REQUEST_REASON_BACKGROUND) {
			const struct background *background =
				writeback_entry_find(&table->wakes, &table->all_wakes, stint->disk);

			if (background && background->throttled && background->task == why.task)
				why.reason = CLEW_REQUEST_REASON_THROTTLED;
		}
	} else if (syncs_for(builder, task, record, at)) {
		why = (struct why_written){.reason = CLEW_REQUEST_REASON_FSYNC,
					   .task = task->serial,
					   .pass = flush->sync_pass};
	}
	return why;
}

struct why_written build_why_written(struct clew_builder *builder, const struct clew_bio *record)
{
	const struct task *task =
		build_nobody(record->task) ? NULL : build_task_find(builder, record->task);
	uint32_t operation = record->operation & BLOCK_OPERATION;
	struct why_written why;
	struct links links = {0};
	bool disk_page, journaled;

	if (record->header.flags & CLEW_BIO_SWAP)
		return (struct why_written){.reason = CLEW_REQUEST_REASON_MEMORY};
	if (record->index == UINT64_MAX && record->inode)
		return (struct why_written){.reason = CLEW_REQUEST_REASON_DIRECT};
	if (operation == BLOCK_READ) {
		if (record->operation & BLOCK_META)
			return (struct why_written){.reason = CLEW_REQUEST_REASON_METADATA};
		return (struct why_written){.reason = record->operation & BLOCK_READ_AHEAD
							      ? CLEW_REQUEST_REASON_READAHEAD
							      : CLEW_REQUEST_REASON_READ};
	}
	disk_page = build_is_disk_page(builder, record->inode, record->file_device, record->device,
				       &journaled);
	if (!disk_page && record->inode && record->file_device &&
	    record->file_device != record->device &&
	    map_set(&builder->writebacks.disks, record->file_device, 0, record->device) < 0)
		return (struct why_written){0};
	why = why_in_task(builder, task, record, builder->now);
	/* A worker, unless it is a flusher on an order, writes for the task that queued its item,
	 * and so on up the links. */
	if (why.reason == CLEW_REQUEST_REASON_UNKNOWN && task && task->worker &&
	    !(task->flush && stint_at(task->flush, builder->now)))
		build_work_links(task, builder->now, &links);
	for (uint32_t i = 0; i < links.count && why.reason == CLEW_REQUEST_REASON_UNKNOWN; i++)
		if (!build_nobody(links.of[i].task))
			why = why_in_task(builder, build_task_find(builder, links.of[i].task),
					  record, links.of[i].at);
	/* Neither a flusher nor a recorded sync: the call itself writes the file out, as ext4 does
	 * at the close of a file that replaces another. */
	if (why.reason == CLEW_REQUEST_REASON_UNKNOWN && task && !task->worker &&
	    !(task->wait.flags & CLEW_WAIT_FLAG_KTHREAD) && !task->kworker && record->inode &&
	    !disk_page && builder->loss_to == 0)
		why = (struct why_written){.reason = CLEW_REQUEST_REASON_CALL,
					   .task = task->serial};
	/* For metadata, what is written says more than why it is written. */
	if (why.reason != CLEW_REQUEST_REASON_JOURNAL &&
	    (disk_page || record->operation & BLOCK_META))
		why.reason =
			(record->operation & (BLOCK_META | BLOCK_IDLE)) == (BLOCK_META | BLOCK_IDLE)
				? CLEW_REQUEST_REASON_JOURNAL
				: CLEW_REQUEST_REASON_METADATA;
	return why;
}

int build_committing(struct clew_builder *builder, uint32_t task, bool begins)
{
	struct flush *flush = flush_get(builder, task);

	if (!flush)
		return build_nobody(task) ? 0 : -ENOMEM;
	flush->commits = begins;
	flush->pass = ++builder->writebacks.passes;
	return 0;
}

int build_awaits(struct clew_builder *builder, uint32_t task, uint64_t transaction, uint32_t device)
{
	struct flush *flush = flush_get(builder, task);

	if (!flush)
		return build_nobody(task) ? 0 : -ENOMEM;
	flush->awaited = transaction;
	flush->awaited_device = device;
	return 0;
}

bool build_awaited(const struct task *task, uint64_t *ret_transaction, uint32_t *ret_device)
{
	if (!task->flush || !task->flush->awaited)
		return false;
	*ret_transaction = task->flush->awaited;
	*ret_device = task->flush->awaited_device;
	return true;
}

void build_writebacks_done(struct clew_builder *builder)
{
	struct writeback_table *table = &builder->writebacks;

	map_done(&table->orders);
	map_done(&table->wakes);
	map_done(&table->disks);
	map_done(&table->systems);
	vector_done(&table->all_orders);
	vector_done(&table->all_wakes);
	vector_done(&table->all_systems);
}

size_t build_writebacks_memory(const struct clew_builder *builder)
{
	const struct writeback_table *table = &builder->writebacks;

	return table->memory + map_memory(&table->orders) + map_memory(&table->wakes) +
	       map_memory(&table->disks) + map_memory(&table->systems) + table->all_orders.bytes +
	       table->all_wakes.bytes + table->all_systems.bytes;
}
