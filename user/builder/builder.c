/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The builder's outside: takes records one by one and, at the end, sends what is
 * still open. Once a taker or an allocation fails, every call returns that error.
 */
#include "builder/builder.h"
#include "builder/backing.h"
#include "builder/block.h"
#include "builder/build.h"
#include "builder/cpu.h"
#include "builder/emit.h"
#include "builder/frame.h"
#include "builder/futex.h"
#include "builder/journal.h"
#include "builder/life.h"
#include "builder/pages.h"
#include "builder/quota.h"
#include "builder/ring.h"
#include "builder/switch.h"
#include "builder/task.h"
#include "builder/wake.h"
#include "builder/where.h"
#include "builder/work.h"
#include "builder/writeback.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int clew_builder_new(const struct clew_builder_options *options,
		     const struct clew_finding_taker *takers, size_t count,
		     struct clew_builder **ret_builder)
{
	struct clew_builder *builder;
	int r;

	if (!options || (count && !takers) || !ret_builder || options->size < sizeof(*options))
		return -EINVAL;
	builder = calloc(1, sizeof(*builder));
	if (!builder)
		return -ENOMEM;
	builder->options = *options;
	builder->pages.epochs.most = options->memory_most;
	r = build_takers_set(builder, takers, count);
	if (r < 0) {
		free(builder);
		return r;
	}
	builder->links.item = sizeof(struct clew_link);
	builder->pages.writers.item = sizeof(uint32_t);
	*ret_builder = builder;
	return 0;
}

void clew_builder_free(struct clew_builder *builder)
{
	if (!builder)
		return;
	build_futexes_done(builder);
	build_tasks_done(builder);
	build_blocks_done(builder);
	build_works_done(builder);
	build_rings_done(builder);
	build_pages_done(builder);
	build_backings_done(builder);
	build_writebacks_done(builder);
	build_journals_done(builder);
	build_quotas_done(builder);
	build_frame_table_done(builder);
	map_done(&builder->function_kinds);
	vector_done(&builder->links);
	build_takers_done(builder);
	free(builder->cpus);
	free(builder);
}

struct clew_builder_forgotten clew_builder_forgotten(const struct clew_builder *builder)
{
	return (struct clew_builder_forgotten){
		.pages = builder->pages.epochs.given_up,
		.blocks = builder->journals.given_up,
	};
}

size_t clew_builder_memory(const struct clew_builder *builder, size_t *ret_tasks)
{
	if (ret_tasks)
		*ret_tasks = builder->tasks.count;
	return sizeof(*builder) + builder->cpu_count * sizeof(*builder->cpus) +
	       build_tasks_memory(builder) + build_futexes_memory(builder) +
	       build_blocks_memory(builder) + build_works_memory(builder) +
	       build_rings_memory(builder) + build_pages_memory(builder) +
	       build_backings_memory(builder) + build_writebacks_memory(builder) +
	       build_journals_memory(builder) + build_quotas_memory(builder) +
	       build_frames_memory(builder) + map_memory(&builder->function_kinds) +
	       builder->links.bytes;
}

/* Decides what was put off until the new horizon. */
static int settle(struct clew_builder *builder, uint64_t time)
{
	int r = 0;

	builder->now = later(builder->now, time);
	if (builder->futexes.queue_first)
		r = build_futex_expire(builder, builder->now, false);
	if (builder->tasks.dead_first && builder->now > BUILD_DEAD_GRACE)
		build_task_forget_dead(builder, builder->now - BUILD_DEAD_GRACE);
	if (r >= 0 && !page_queue_empty(&builder->pages.queue))
		r = build_pages_drain(builder, builder->now, false);
	if (r >= 0 && epoch_sets_many(&builder->pages.epochs))
		r = build_sets_sweep(builder);
	return r;
}

/* Takers see the state at the last multiple of CLEW_STEP, whenever the horizon passes it. */
static int step(struct clew_builder *builder, uint64_t time)
{
	int r = settle(builder, time);

	builder->stepped = time;
	for (size_t i = 0; i < builder->taker_count && r >= 0; i++)
		if (builder->takers[i].step)
			r = builder->takers[i].step(builder->takers[i].context, builder, time);
	return r;
}

static int advance(struct clew_builder *builder, uint64_t time)
{
	int r = 0;

	if (builder->steps && time >= builder->stepped + CLEW_STEP)
		r = step(builder, time - time % CLEW_STEP);
	return r < 0 ? r : settle(builder, time);
}

int clew_builder_advance(struct clew_builder *builder, uint64_t time)
{
	int r = builder->error;

	if (r < 0)
		return r;
	builder->error = advance(builder, time);
	return builder->error;
}

int clew_builder_feed(struct clew_builder *builder, const struct clew_header *record)
{
	int r = builder->error;

	if (r < 0)
		return r;
	r = advance(builder, record->time);
	if (r >= 0 && build_needs(builder, record->kind)) {
		switch (record->kind) {
		case CLEW_KIND_SWITCH:
			r = build_feed_switch(builder, (const struct clew_switch *)record);
			break;
		case CLEW_KIND_STATE:
			r = build_feed_state(builder, (const struct clew_switch *)record);
			break;
		case CLEW_KIND_WORK:
			r = build_feed_work(builder, (const struct clew_work *)record);
			break;
		case CLEW_KIND_BIO:
			r = build_feed_bio(builder, (const struct clew_bio *)record);
			break;
		case CLEW_KIND_LIMIT:
			r = build_feed_limit(builder, (const struct clew_limit *)record);
			break;
		case CLEW_KIND_REQUEST:
			r = build_feed_request(builder, (const struct clew_request *)record);
			break;
		case CLEW_KIND_EXTENT:
			r = build_feed_extent(builder, (const struct clew_extent *)record);
			break;
		case CLEW_KIND_PAGES:
			r = build_feed_pages(builder, (const struct clew_pages *)record);
			break;
		case CLEW_KIND_WRITEBACK:
			r = build_feed_writeback(builder, (const struct clew_writeback *)record);
			break;
		case CLEW_KIND_JOURNAL:
			r = build_feed_journal(builder, (const struct clew_journal *)record);
			break;
		case CLEW_KIND_LOCK:
			r = build_feed_lock(builder, (const struct clew_lock *)record);
			break;
		case CLEW_KIND_WHERE:
			r = build_feed_where(builder, (const struct clew_where *)record);
			break;
		case CLEW_KIND_FUNCTION:
			r = build_feed_function(builder, (const struct clew_function *)record);
			break;
		case CLEW_KIND_RING:
			r = build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
								      .identity = record});
			r = r < 0 ? r : build_feed_ring(builder, (const struct clew_ring *)record);
			break;
		case CLEW_KIND_REFILL:
			r = build_feed_refill(builder, (const struct clew_refill *)record);
			break;
		default:
			r = build_feed_identity(builder, record);
			break;
		}
	}
	builder->error = r < 0 ? r : 0;
	return builder->error;
}

static int finish_task(struct clew_builder *builder, struct task *task, bool last_pass)
{
	struct wake *wake = &task->stop_wake;
	int r = build_ring_release(builder, task);

	if (r >= 0)
		r = build_where_flush(builder, task);
	if (r >= 0 && last_pass)
		r = build_frames_finish(builder, task);
	if (r < 0)
		return r;
	switch ((enum task_state)task->state) {
	case TASK_RUNNING:
		if (!last_pass)
			return 0;
		return build_send_run(builder, task, task->cpu, task->since, builder->now,
				      CLEW_RUN_OPEN, task->open_start);
	case TASK_READY:
		/* Found runnable and never switched: it may have run all the time. */
		if (!last_pass || task->found || builder->loss_to > task->since)
			return 0;
		return build_send_ready(builder, task, task->since, CLEW_TIME_OPEN);
	case TASK_SLEEPING:
		/* First those that were woken: they tell of releases. */
		if (task->stop_woken && wake->time > builder->now)
			task->stop_woken = false;
		if (task->stop_woken == last_pass)
			return 0;
		if (!last_pass) {
			task->state = TASK_UNKNOWN;
			return build_end_sleep(builder, task, wake, wake->time, CLEW_TIME_OPEN,
					       false);
		}
		return build_end_sleep(builder, task, &build_no_wake, CLEW_TIME_OPEN,
				       CLEW_TIME_OPEN, false);
	default:
		return 0;
	}
}

int clew_builder_finish(struct clew_builder *builder, uint64_t end)
{
	struct task_table *table = &builder->tasks;
	int r = builder->error;

	builder->now = later(end, later(builder->last_switch, builder->options.start));
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; r >= 0 && i < table->page_count; i++)
			for (size_t k = 0; r >= 0 && table->pages[i] && k < 1 << TASK_PAGE_BITS;
			     k++)
				if (table->pages[i]->tasks[k])
					r = finish_task(builder, table->pages[i]->tasks[k], pass);
	if (r >= 0)
		r = build_futex_expire(builder, builder->now, true);
	if (r >= 0)
		r = build_blocks_finish(builder);
	if (r >= 0)
		r = build_pages_drain(builder, builder->now, true);
	for (size_t i = 0; r >= 0 && i < builder->cpu_count; i++) {
		const struct cpu *cpu = &builder->cpus[i];

		if (cpu->known && cpu->current == CLEW_NO_TASK)
			r = build_send_run(builder, NULL, (uint16_t)i, cpu->since, builder->now,
					   CLEW_RUN_OPEN, cpu->open_start);
	}
	builder->error = r < 0 ? r : -ESHUTDOWN;
	return r < 0 ? r : 0;
}
