/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contents of a flight's pages, at each of its stages.
 *
 * When its bio is queued a flight takes off: it takes the oldest open epoch of each page.
 * When it lands, what was written meanwhile may be in it too. It is settled when no
 * write from before the landing is still to come: then its findings are emitted.
 */
#include "builder/backing.h"
#include "builder/block.h"
#include "builder/builder.h"
#include "builder/emit.h"
#include "builder/pages.h"
#include <errno.h>

/* The most edges of passes that are remembered as emitted. */
#define SENT_MOST 262144u
/* ns: an extent of a run of writes is emitted as a whole, at an interrupt that may be late. */
#define RUN_MOST (3ull * CLEW_EXTENT_AGE)

struct finding_context {
	struct clew_builder *builder;
	const struct flight *flight;
	const struct part *part;
	uint32_t above; /* as clew_page_extent.above */
};

static struct clew_object file_object(const struct file_range *range)
{
	return (struct clew_object){.kind = CLEW_OBJECT_FILE,
				    .number = range->inode,
				    .device = range->device,
				    .descriptor = -1};
}

/* If several tasks touched a block, any one may have changed it. */
static enum clew_evidence metadata_evidence(const struct clew_builder *builder, uint32_t touchers)
{
	return touchers && builder->pages.epochs.sets[touchers].count > 1 ? CLEW_EVIDENCE_CANDIDATE
									  : CLEW_EVIDENCE_EXACT;
}

static enum clew_evidence evidence_of(const struct clew_builder *builder,
				      const struct finding_context *context,
				      const struct epoch_finding *finding)
{
	if (context->part->set)
		return metadata_evidence(builder, context->part->set);
	return finding->guessed || context->flight->frozen ? CLEW_EVIDENCE_OBSERVED
							   : CLEW_EVIDENCE_EXACT;
}

/* The edge from a writer to the task whose pass over the file took its pages; once a pass. */
static int send_edge(struct clew_builder *builder, const struct flight *flight,
		     const struct part *part, uint32_t writer, uint64_t dirtied,
		     enum clew_evidence evidence)
{
	struct page_table *table = &builder->pages;
	uint64_t key = flight->why.pass ? flight->why.pass : ~flight->queued;
	struct clew_edge edge = {
		.from_at = dirtied,
		.to_at = flight->queued,
		.from = writer,
		.to = flight->task,
		.type = CLEW_EDGE_WRITEBACK,
		.evidence = evidence,
		.context = CLEW_WAKE_TASK,
		.object = file_object(&part->range),
	};

	if (writer == flight->task || writer == CLEW_NO_TASK || flight->task == CLEW_NO_TASK ||
	    build_dropped(builder, CLEW_EDGE_WRITEBACK) || map_get(&table->sent, key, writer))
		return 0;
	if (table->sent.count >= SENT_MOST)
		map_done(&table->sent);
	if (map_set(&table->sent, key, writer, 1) < 0)
		return -ENOMEM;
	return build_send_edge(builder, &edge);
}

/* Edges from the tasks that touched a block of metadata. */
static int note_touchers(struct clew_builder *builder, const struct flight *flight,
			 const struct part *part)
{
	const struct epoch_table *epochs = &builder->pages.epochs;
	int r = 0;

	for (uint32_t set = part->set; set && r >= 0; set = epochs->sets[set].parent)
		r = send_edge(builder, flight, part, epochs->sets[set].task, flight->queued,
			      metadata_evidence(builder, part->set));
	return r;
}

static int note_writers(void *pointer, const struct epoch_finding *finding)
{
	const struct finding_context *context = pointer;
	struct clew_builder *builder = context->builder;
	const struct task_set *sets = builder->pages.epochs.sets;
	int r = 0;

	for (uint32_t set = finding->set; set && r >= 0; set = sets[set].parent)
		r = send_edge(builder, context->flight, context->part, sets[set].task,
			      finding->begin, evidence_of(builder, context, finding));
	return r;
}

static int send_range(const struct finding_context *context, const struct epoch_finding *finding)
{
	struct clew_builder *builder = context->builder;
	const struct epoch_table *epochs = &builder->pages.epochs;
	const struct part *part = context->part;
	struct vector *writers = &builder->pages.writers;
	uint32_t count = finding->set ? epochs->sets[finding->set].count : 0;
	bool squeezed = context->flight->squeezed;
	uint32_t later_most = finding->later ? epochs->sets[finding->later].count : 0,
		 later_count = 0;
	struct clew_page_extent extent = {
		.inode = part->range.inode,
		.device = part->range.device,
		.offset = finding->offset,
		.bytes = finding->bytes,
		.sector = context->flight->sector +
			  (squeezed ? 0
				    : (part->at + finding->offset - part->range.offset) >>
					      BLOCK_SECTOR_BITS),
		.dirtied = finding->begin,
		.request = context->flight->request,
		.above = context->above,
		.evidence = evidence_of(builder, context, finding),
		.known = finding->known,
	};
	uint32_t *tasks;

	if (vector_reserve(writers, (size_t)count + later_most + 1) < 0)
		return -ENOMEM;
	tasks = writers->data;
	epoch_set_tasks(epochs, finding->set, tasks);
	epoch_set_tasks(epochs, finding->later, tasks + count);
	for (uint32_t i = 0; i < later_most; i++)
		if (!epoch_set_has(epochs, finding->set, tasks[count + i]))
			tasks[count + later_count++] = tasks[count + i];
	extent.writers = tasks;
	extent.writer_count = count + later_count;
	extent.later_count = later_count;
	if (context->flight->write && extent.writer_count &&
	    build_is_backed(context->flight->disk)) {
		struct build_origin origin = {.sector = extent.sector,
					      .bytes = squeezed ? context->flight->bytes
								: extent.bytes,
					      .queued = context->flight->queued,
					      .landed = context->flight->landed,
					      .set = epoch_set_union(&builder->pages.epochs,
								     finding->set, finding->later)};

		if (origin.set == UINT32_MAX ||
		    build_origin_add(builder, context->flight->disk, &origin) < 0)
			return -ENOMEM;
	}
	return build_emit(builder,
			  (struct clew_finding){.tag = CLEW_FINDING_PAGES, .pages = &extent});
}

/* A file behind a loop device: the writers of each page are those of the upper request. */
static int send_backing(const struct finding_context *flight, const struct epoch_finding *finding)
{
	struct finding_context copy = *flight, *context = &copy;
	uint64_t end = finding->offset + finding->bytes;
	struct epoch_finding run = *finding;
	struct file_range page = {.inode = context->part->range.inode,
				  .device = context->part->range.device};
	int r = 0;

	run.bytes = 0;
	for (page.offset = finding->offset; page.offset < end && r >= 0;
	     page.offset += page.bytes) {
		uint32_t set, later = 0, above;

		page.bytes =
			earlier(end, ((page.offset >> EPOCH_PAGE_BITS) + 1) << EPOCH_PAGE_BITS) -
			page.offset;
		r = build_origin_take(context->builder, &page, context->flight->queued, &set);
		if (r < 0)
			return r;
		above = set ? build_disk_over(context->builder, page.inode, page.device) : 0;
		if (!set) {
			set = finding->set;
			later = finding->later;
		}
		if (run.bytes &&
		    (set != run.set || later != run.later || above != context->above)) {
			r = send_range(context, &run);
			run.offset = page.offset;
			run.bytes = 0;
		}
		context->above = above;
		run.set = set;
		run.later = later;
		run.bytes += page.bytes;
	}
	return r < 0 || !run.bytes ? r : send_range(context, &run);
}

static int send_extent(void *pointer, const struct epoch_finding *finding)
{
	const struct finding_context *context = pointer;
	const struct file_range *range = &context->part->range;

	if (context->flight->write &&
	    build_is_backing(context->builder, range->inode, range->device))
		return send_backing(context, finding);
	return send_range(context, finding);
}

static int take_off(struct clew_builder *builder, struct flight *flight)
{
	struct finding_context context = {.builder = builder, .flight = flight};
	int r = 0;

	for (uint32_t i = 0; flight->write && !flight->direct && i < flight->part_count && r >= 0;
	     i++) {
		context.part = &flight->parts[i];
		r = flight->journal && !flight->metadata
			    ? epoch_copy_off(&builder->pages.epochs, &context.part->range, flight)
			    : epoch_take_off(&builder->pages.epochs, &context.part->range, flight,
					     flight->queued);
		if (r >= 0 && flight->metadata)
			r = note_touchers(builder, flight, context.part);
		else if (r >= 0 && build_wants(builder, CLEW_FINDING_EDGE))
			r = epoch_flight(&builder->pages.epochs, &context.part->range, flight,
					 false, note_writers, &context);
	}
	return r;
}

/* Direct I/O: the data comes from, or goes to, the task's own memory. */
static int send_direct(struct finding_context *context)
{
	const struct flight *flight = context->flight;
	const struct part *part = context->part;
	struct epoch_finding finding = {
		.offset = part->range.offset, .bytes = part->range.bytes, .begin = flight->queued};

	if (flight->write && flight->task != CLEW_NO_TASK) {
		finding.known = true;
		finding.set = epoch_set_with(&context->builder->pages.epochs, 0, flight->task);
		if (finding.set == UINT32_MAX)
			return -ENOMEM;
	}
	return send_extent(context, &finding);
}

static int ignore_finding(void *context, const struct epoch_finding *finding)
{
	(void)context;
	(void)finding;
	return 0;
}

static int settle(struct clew_builder *builder, struct flight *flight)
{
	struct finding_context context = {.builder = builder, .flight = flight};
	bool wanted =
		build_wants(builder, CLEW_FINDING_PAGES) && flight->request != CLEW_NO_REQUEST;
	int r = 0;

	for (uint32_t i = 0; i < flight->part_count && r >= 0; i++) {
		const struct part *part = context.part = &flight->parts[i];

		if (flight->direct)
			r = wanted ? send_direct(&context) : 0;
		else if (flight->write)
			r = epoch_flight(&builder->pages.epochs, &part->range, flight, true,
					 wanted && !flight->metadata ? send_extent : ignore_finding,
					 &context);
		if (r >= 0 && wanted && flight->metadata)
			r = send_range(&context,
				       &(struct epoch_finding){.offset = part->range.offset,
							       .bytes = part->range.bytes,
							       .set = part->set,
							       .known = part->set});
		if (r >= 0 && wanted && !flight->direct && !flight->write)
			r = send_extent(&context,
					&(struct epoch_finding){.offset = part->range.offset,
								.bytes = part->range.bytes});
	}
	flight_free(&builder->pages, flight);
	return r;
}

/* True if it carries pages of a file behind a loop device. Its upper request is settled before it.
 */
static bool is_lower(const struct clew_builder *builder, const struct flight *flight)
{
	return flight->write && flight->part_count &&
	       build_is_backing(builder, flight->parts[0].range.inode,
				flight->parts[0].range.device);
}

int flight_advance(struct clew_builder *builder, struct flight *flight, enum flight_stage stage)
{
	int r = 0;

	switch (stage) {
	case FLIGHT_TAKES_OFF:
		return take_off(builder, flight);
	case FLIGHT_LANDS:
		for (uint32_t i = 0;
		     flight->write && !flight->direct && i < flight->part_count && r >= 0; i++)
			r = epoch_land(&builder->pages.epochs, &flight->parts[i].range, flight,
				       flight->landed);
		/* A write that seemed to come before the bio may prove to have come after it. */
		if (r >= 0)
			r = page_queue_put(
				&builder->pages.queue,
				(struct page_event){
					.at = later(flight->landed == CLEW_TIME_OPEN
							    ? 0
							    : flight->landed,
						    flight->queued) +
					      RUN_MOST +
					      (is_lower(builder, flight) ? BUILD_UPPER_MOST : 0),
					.flight = flight,
					.stage = FLIGHT_SETTLED});
		return r;
	case FLIGHT_SETTLED:
		return settle(builder, flight);
	}
	return 0;
}
