/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hands out waits, times without a CPU, and requests that have not ended. */
#include "builder/block.h"
#include "builder/builder.h"
#include "builder/futex.h"
#include "builder/task.h"
#include "builder/wake.h"

/* The holder of the lock when the task began to wait. False: that is not known. */
static bool holder_of(const struct task *task, struct clew_holder *ret_holder)
{
	const struct futex_wait *wait = task->futex_wait;
	uint32_t holder;

	/* A word may only look as if it had the number of a task. */
	if (!wait || (wait->word && !wait->futex->lock))
		return false;
	holder = wait->owner != CLEW_NO_TASK ? wait->owner : wait->process;
	*ret_holder = (struct clew_holder){.task = holder,
					   .evidence = wait->sure ? CLEW_EVIDENCE_EXACT
								  : CLEW_EVIDENCE_CANDIDATE,
					   .from = wait->start,
					   .to = CLEW_TIME_OPEN};
	return holder != CLEW_NO_TASK;
}

static int take_open(const struct clew_builder *builder, const struct task *task,
		     int (*take)(void *context, struct clew_finding finding), void *context)
{
	struct clew_holder holder;
	struct clew_sleep sleep;

	if (task->state == TASK_READY && !task->found && builder->loss_to <= task->since)
		return take(context, (struct clew_finding){
					     .tag = CLEW_FINDING_READY,
					     .ready = &(struct clew_ready){.start = task->since,
									   .end = CLEW_TIME_OPEN,
									   .task = task->serial}});
	if (task->state != TASK_SLEEPING)
		return 0;
	sleep = build_open_sleep(builder, task);
	if (holder_of(task, &holder)) {
		sleep.holders = &holder;
		sleep.holder_count = 1;
	}
	return take(context, (struct clew_finding){.tag = CLEW_FINDING_SLEEP, .sleep = &sleep});
}

int clew_builder_open(const struct clew_builder *builder,
		      int (*take)(void *context, struct clew_finding finding), void *context)
{
	const struct task_table *table = &builder->tasks;
	int r = 0;

	for (size_t i = 0; i < table->page_count && r >= 0; i++)
		for (size_t k = 0; table->pages[i] && k <= TASK_PAGE_MASK && r >= 0; k++)
			if (table->pages[i]->tasks[k])
				r = take_open(builder, table->pages[i]->tasks[k], take, context);
	return r;
}

int clew_builder_open_requests(const struct clew_builder *builder,
			       int (*take)(void *context, struct clew_finding finding),
			       void *context)
{
	const struct block_table *table = &builder->blocks;
	int r = 0;

	for (size_t i = 0; i < table->disk_count && r >= 0; i++)
		for (const struct request *request = table->disks[i].first; request && r >= 0;
		     request = request->next)
			if (builder->loss_to <= request->block.issued)
				r = take(context,
					 (struct clew_finding){.tag = CLEW_FINDING_REQUEST,
							       .request = &request->block});
	return r;
}
