/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Epochs of pages.
 *
 * A folio becomes dirty as a whole, but the file system may write only the pages that
 * were stored to. The writers of an epoch are therefore the tasks that wrote to the
 * page. The task that made the folio dirty counts only if no writer is known. An epoch
 * without writers gives way to a later one that has some.
 */
#include "builder/epoch_chunk.h"
#include <errno.h>
#include <stdlib.h>

#include <clew/kernel/records.h>

#define EPOCHS_MOST  (1u << 25)
#define WRITERS_MOST 1048576u
/* ns: a page is marked clean this soon before its bio is queued. */
#define PASS_NEAR 10000000ull
/* ns: a write to a clean page makes it dirty at once. */
#define WRITE_NEAR 1000000000ull

/* ---- events ---- */

/* True if a segment is the page on which the event began. */
static bool begins_on(const struct segment *segment, uint64_t offset,
		      const struct epoch_visit *visit)
{
	return segment->end - segment->first == 1 &&
	       offset >> EPOCH_PAGE_BITS == visit->range->offset >> EPOCH_PAGE_BITS;
}

/*
 * True if the latest write of an epoch made the page dirty again, and belongs to the
 * next epoch: it may have happened so late, and the task has not written elsewhere
 * since.
 */
static bool moves_write(const struct epoch *from, const struct epoch_visit *visit)
{
	return from && from->movable && from->writer == visit->task &&
	       from->write_until >= visit->begin && from->write_begin >= visit->written;
}

static int dirty_segment(struct epoch_table *table, struct segment *segment, uint64_t offset,
			 struct epoch_visit *visit)
{
	struct epoch *last = epoch_last(segment), **open = epoch_first_open(segment), *epoch;
	uint32_t set = 0;
	bool wrote;

	segment->used = true;
	/* Written to when it was clean. */
	if (last && !last->opened && !last->flight) {
		if (last->write_until + WRITE_NEAR < visit->begin)
			last->set = last->doubtful = 0;
		last->opened = true;
		last->large = visit->large;
		last->begin = visit->begin;
		last->until = visit->until;
		last->opener = visit->task;
		last->movable = false;
		visit->dirtied += last->set ? epoch_segment_bytes(segment) : 0;
		return 0;
	}
	/* The page waits for its way from the journal to its place. */
	if (last && last->copied && !last->flight)
		return 0;
	wrote = moves_write(last, visit);
	if (wrote) {
		last->set = last->set_before;
		last->movable = false;
		/* Else it has counted as the write that made the page dirty before. */
		visit->dirtied += last->set ? epoch_segment_bytes(segment) : 0;
		set = epoch_set_with(table, 0, visit->task);
		if (set == UINT32_MAX)
			return -ENOMEM;
	}
	/* Neither of the two open epochs has a writer: the older one is over. */
	if (*open && (*open)->next && !(*open)->set && !(*open)->next->set)
		epoch_remove(table, open);
	epoch = epoch_new(table);
	if (!epoch)
		return -ENOMEM;
	*epoch = (struct epoch){
		.begin = visit->begin,
		.until = visit->until,
		.write_until = wrote ? visit->until : 0,
		.opener = visit->task,
		.writer = wrote ? visit->task : 0,
		.set = set,
		.opened = true,
		.large = visit->large,
		.began = begins_on(segment, offset, visit),
	};
	last = epoch_last(segment);
	*(last ? &last->next : &segment->epochs) = epoch;
	return 0;
}

/* Before another write becomes the latest: notes until when the write before it may not have
 * reached this page. */
static int keep_doubt(struct epoch_table *table, struct epoch *epoch,
		      const struct epoch_visit *visit)
{
	if (epoch->doubtful_until <= visit->begin)
		epoch->doubtful = 0;
	if (!epoch->writer || epoch->began || epoch->write_until <= visit->begin ||
	    epoch_set_has(table, epoch->set_before, epoch->writer))
		return 0;
	if (!epoch->doubtful || epoch->doubtful_until < epoch->write_until)
		epoch->doubtful_until = epoch->write_until;
	epoch->doubtful = epoch_set_with(table, epoch->doubtful, epoch->writer);
	return epoch->doubtful == UINT32_MAX ? -ENOMEM : 0;
}

static int write_segment(struct epoch_table *table, struct segment *segment, uint64_t offset,
			 struct epoch_visit *visit)
{
	struct epoch *last = epoch_last(segment);
	uint32_t set;

	if (!last || last->flight) {
		struct epoch *epoch = epoch_new(table);

		if (!epoch)
			return -ENOMEM;
		*(last ? &last->next : &segment->epochs) = epoch;
		last = epoch;
	}
	if (last->opened && !last->set)
		visit->dirtied += epoch_segment_bytes(segment);
	set = epoch_set_with(table, last->set, visit->task);
	if (set == UINT32_MAX)
		return -ENOMEM;
	if (keep_doubt(table, last, visit) < 0)
		return -ENOMEM;
	/* The write that made the page dirty belongs to this epoch, unless a bio took pages of the
	 * file since. */
	last->movable =
		last->opened && !(last->opener == visit->task && visit->begin <= last->until &&
				  visit->taken <= last->begin);
	last->set_before = last->set;
	last->set = set;
	last->writer = visit->task;
	last->write_begin = visit->begin;
	last->write_until = visit->until;
	last->began = begins_on(segment, offset, visit);
	return 0;
}

static int drop_segment(struct epoch_table *table, struct segment *segment, uint64_t offset,
			struct epoch_visit *visit)
{
	struct epoch **open = epoch_first_open(segment);
	epoch_unused unused = (epoch_unused)visit->callback;
	uint32_t asker = epoch_is_unused(table, segment, visit->range->inode) ? segment->asker : 0;

	while (*open)
		epoch_remove(table, open);
	segment->asker = 0;
	if (!asker || !unused)
		return 0;
	return unused(visit->context, offset, epoch_segment_bytes(segment), asker);
}

static int clear_segment(struct epoch_table *table, struct segment *segment, uint64_t offset,
			 struct epoch_visit *visit)
{
	(void)table;
	(void)offset;
	(void)visit;
	for (struct epoch *epoch = *epoch_first_open(segment); epoch; epoch = epoch->next) {
		epoch->set = epoch->set_before = epoch->doubtful = 0;
		epoch->movable = false;
	}
	return 0;
}

static int ask_segment(struct epoch_table *table, struct segment *segment, uint64_t offset,
		       struct epoch_visit *visit)
{
	(void)table;
	(void)offset;
	segment->asker = visit->task;
	segment->asked_at = visit->begin;
	segment->used = false;
	return 0;
}

static int use_segment(struct epoch_table *table, struct segment *segment, uint64_t offset,
		       struct epoch_visit *visit)
{
	epoch_used used = (epoch_used)visit->callback;

	(void)table;
	if (!segment->asker || segment->used)
		return 0;
	segment->used = true;
	return used ? used(visit->context, offset, epoch_segment_bytes(segment), segment->asker,
			   segment->asked_at)
		    : 0;
}

/*
 * The oldest open epoch takes off. An epoch without writers is over if there is a later
 * one: its folio was written without this page.
 */
static int take_off_segment(struct epoch_table *table, struct segment *segment, uint64_t offset,
			    struct epoch_visit *visit)
{
	struct epoch **open = epoch_first_open(segment), *epoch;

	(void)offset;
	while (*open && !(*open)->set && (*open)->next &&
	       ((*open)->next->set || (*open)->next->begin + PASS_NEAR < visit->begin))
		epoch_remove(table, open);
	if (*open) {
		(*open)->flight = visit->flight;
		(*open)->copied = false;
		return 0;
	}
	/* Another part of a page, or a copy for another device, shares the epoch in flight. */
	for (epoch = segment->epochs; epoch && epoch->next;)
		epoch = epoch->next;
	if (epoch && epoch->flight != visit->flight && !epoch->landed) {
		struct epoch *copy = epoch_new(table);

		if (!copy)
			return -ENOMEM;
		*copy = *epoch;
		copy->next = NULL;
		copy->flight = visit->flight;
		epoch->next = copy;
	}
	return 0;
}

static int redirty_segment(struct epoch_table *table, struct segment *segment, uint64_t offset,
			   struct epoch_visit *visit)
{
	struct epoch *last = epoch_last(segment);

	(void)table;
	(void)offset;
	(void)visit;
	/* Some kernels tell of the first dirtying only by the commit. */
	if (last && !last->flight && !last->opened) {
		last->opened = true;
		last->begin = last->write_begin;
		last->until = last->write_until;
		last->movable = false;
	}
	return 0;
}

/* All that is open goes to the journal. Later writes join it until the page goes to its place.
 */
static int copy_off_segment(struct epoch_table *table, struct segment *segment, uint64_t offset,
			    struct epoch_visit *visit)
{
	struct epoch **open = epoch_first_open(segment), *copy, *next;

	(void)offset;
	if (!*open)
		return 0;
	while ((next = (*open)->next)) {
		uint32_t set = epoch_set_union(table, (*open)->set, next->set);

		if (set == UINT32_MAX)
			return -ENOMEM;
		next->set = set;
		next->begin = (*open)->begin;
		epoch_remove(table, open);
	}
	copy = epoch_new(table);
	if (!copy)
		return -ENOMEM;
	(*open)->copied = true;
	(*open)->movable = false;
	(*open)->opened |= (*open)->set != 0;
	*copy = **open;
	copy->flight = visit->flight;
	copy->next = *open;
	*open = copy;
	return 0;
}

static void limit(struct epoch_table *table)
{
	if (table->epochs >= EPOCHS_MOST) {
		table->given_up += table->epochs;
		epoch_forget(table);
	}
	epoch_make_room(table);
}

/* The number of tasks whose last write is known. */
static size_t writers_most(const struct epoch_table *table)
{
	size_t most = table->most / 8 / (2 * sizeof(struct map_slot));

	return table->most && most < WRITERS_MOST ? most : WRITERS_MOST;
}

int epoch_dirty(struct epoch_table *table, const struct file_range *range,
		const struct epoch_dirtying *by, uint64_t *ret_dirtied)
{
	struct epoch_visit visit = {.range = range,
				    .segment = dirty_segment,
				    .make = true,
				    .large = by->large,
				    .task = by->task,
				    .begin = by->begin,
				    .until = by->until,
				    .parts = true};
	const uint64_t *written = map_get(&table->written, by->task, 0);
	int r;

	visit.written = by->own ? UINT64_MAX : written ? *written : 0;
	limit(table);
	r = epoch_visit_range(table, &visit);
	*ret_dirtied = visit.dirtied;
	return r;
}

int epoch_write(struct epoch_table *table, const struct file_range *range, uint32_t task,
		uint64_t begin, uint64_t until, uint64_t *ret_dirtied)
{
	struct epoch_visit visit = {.range = range,
				    .segment = write_segment,
				    .make = true,
				    .task = task,
				    .begin = begin,
				    .until = until,
				    .parts = true};
	uint32_t file;
	int r;

	limit(table);
	if (!map_get(&table->hooked, range->device, 0) &&
	    map_set(&table->hooked, range->device, 0, 1) < 0)
		return -ENOMEM;
	if (epoch_file_number(table, range, false, &file) >= 0 && file != UINT32_MAX)
		visit.taken = table->file_taken[file];
	if (table->written.count >= writers_most(table))
		map_done(&table->written);
	if (map_set(&table->written, task, 0, begin) < 0)
		return -ENOMEM;
	r = epoch_visit_range(table, &visit);
	*ret_dirtied = visit.dirtied;
	return r;
}

int epoch_drop(struct epoch_table *table, const struct file_range *range, epoch_unused unused,
	       void *context)
{
	struct epoch_visit visit = {.range = range,
				    .segment = drop_segment,
				    .callback = (void *)unused,
				    .context = context};

	return epoch_visit_range(table, &visit);
}

int epoch_clear(struct epoch_table *table, const struct file_range *range)
{
	struct epoch_visit visit = {.range = range, .segment = clear_segment};

	return epoch_visit_range(table, &visit);
}

int epoch_ask(struct epoch_table *table, const struct file_range *range, uint32_t task, uint64_t at)
{
	struct epoch_visit visit = {
		.range = range, .segment = ask_segment, .make = true, .task = task, .begin = at};

	limit(table);
	return epoch_visit_range(table, &visit);
}

int epoch_use(struct epoch_table *table, const struct file_range *range, epoch_used used,
	      void *context)
{
	struct epoch_visit visit = {.range = range,
				    .segment = use_segment,
				    .callback = (void *)used,
				    .context = context};

	return epoch_visit_range(table, &visit);
}

int epoch_uses_end(struct epoch_table *table, uint64_t inode, uint64_t at)
{
	if (!table->uses_ended) {
		table->uses_ended = calloc(CLEW_FILE_SLOTS, sizeof(*table->uses_ended));
		if (!table->uses_ended)
			return -ENOMEM;
		table->memory += CLEW_FILE_SLOTS * sizeof(*table->uses_ended);
	}
	table->uses_ended[clew_file_slot(inode)] = at;
	return 0;
}

int epoch_take_off(struct epoch_table *table, const struct file_range *range, struct flight *flight,
		   uint64_t at)
{
	struct epoch_visit visit = {
		.range = range, .segment = take_off_segment, .flight = flight, .begin = at};
	uint32_t file;

	if (epoch_file_number(table, range, false, &file) >= 0 && file != UINT32_MAX)
		table->file_taken[file] = at;
	return epoch_visit_range(table, &visit);
}

int epoch_redirty(struct epoch_table *table, const struct file_range *range)
{
	struct epoch_visit visit = {.range = range, .segment = redirty_segment};

	return epoch_visit_range(table, &visit);
}

int epoch_copy_off(struct epoch_table *table, const struct file_range *range, struct flight *flight)
{
	struct epoch_visit visit = {.range = range, .segment = copy_off_segment, .flight = flight};

	return epoch_visit_range(table, &visit);
}
