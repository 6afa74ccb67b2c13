/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stores the epochs of a file's pages. See epoch.h.
 *
 * A chunk holds 64 pages of a file, and a segment the pages of a chunk that have equal
 * state: a file written in one go takes one segment for each chunk. The segments of a
 * chunk are in order and do not overlap.
 */
#ifndef CLEW_BUILDER_EPOCH_CHUNK_H
#define CLEW_BUILDER_EPOCH_CHUNK_H

#include "builder/epoch.h"
#include <clew/kernel/records.h>

#define CHUNK_BITS  6u
#define CHUNK_PAGES (1u << CHUNK_BITS)

struct epoch {
	uint64_t begin, until;		   /* when it became dirty */
	uint64_t write_begin, write_until; /* of the latest write */
	struct epoch *next;		   /* a later one of the page */
	const struct flight *flight;	   /* the one that carries it; NULL: none yet */
	uint32_t opener;
	uint32_t set;	     /* tasks that wrote to the page in it */
	uint32_t set_before; /* `set` without the latest write */
	uint32_t writer;     /* task of the latest write */
	uint32_t doubtful;   /* those of set_before whose writes are known to be on this page only
				from `doubtful_until` on */
	uint64_t doubtful_until;
	uint32_t later; /* tasks that wrote to the page while it was in flight */
	bool opened;	/* it was seen to become dirty */
	bool large;	/* it became dirty with other pages of its folio */
	bool copied;	/* for the journal */
	bool landed;	/* its flight has landed */
	bool movable;	/* the latest write may prove to belong to the next epoch */
	bool began; /* the latest event, a write if there is one, began on this page, so that its
		       begin is exact for this page */
};

struct segment {
	uint8_t first, end; /* pages in the chunk */
	bool used;
	uint32_t asker; /* task that read it into the page cache, 0 unknown */
	uint64_t asked_at;
	struct epoch *epochs; /* in order */
};

struct chunk {
	uint64_t index;
	uint32_t file;
	uint16_t count, capacity;
	struct segment *segments;
};

/* An operation on the segments of a range. */
struct epoch_visit {
	const struct file_range *range;
	int (*segment)(struct epoch_table *table, struct segment *segment, uint64_t offset,
		       struct epoch_visit *visit);
	bool make;  /* makes segments where there are none */
	bool large; /* of folios of several pages */
	bool parts; /* gives the range's first page a segment of its own, if it is in flight */
	uint32_t task;
	uint64_t begin, until;
	uint64_t taken;	  /* when a bio last took pages of the file */
	uint64_t written; /* when the task last began to write to any file */
	uint64_t landed;  /* UINT64_MAX: not in the capture */
	const struct flight *flight;
	uint64_t dirtied; /* bytes of pages that were clean, and that a known write made dirty */
	void *callback, *context;
};

/* NULL: no memory. */
struct epoch *epoch_new(struct epoch_table *table);
void epoch_remove(struct epoch_table *table, struct epoch **place);

/* The first epoch that no bio carries yet. */
static inline struct epoch **epoch_first_open(struct segment *segment)
{
	struct epoch **place = &segment->epochs;

	while (*place && (*place)->flight)
		place = &(*place)->next;
	return place;
}

static inline struct epoch *epoch_last(const struct segment *segment)
{
	struct epoch *epoch = segment->epochs;

	while (epoch && epoch->next)
		epoch = epoch->next;
	return epoch;
}

/* 0 or -ENOMEM. UINT32_MAX: no page of the file is known, and none is to be made. */
int epoch_file_number(struct epoch_table *table, const struct file_range *range, bool make,
		      uint32_t *ret_file);

/* The number may be another file's then. It has no chunks. */
void epoch_file_forget(struct epoch_table *table, const struct file_range *range, uint32_t file);
/* Frees the chunk and its epochs; it is in no map any more. */
void epoch_chunk_free(struct epoch_table *table, struct chunk *chunk);
/* Bytes of epochs that are free. */
size_t epoch_free_bytes(const struct epoch_table *table);

/* NULL: nothing is known there. */
struct chunk *epoch_chunk_find(const struct epoch_table *table, uint32_t file, uint64_t index);
/* Cuts the segment that contains `page` before that page. 0 or -ENOMEM. */
int epoch_chunk_cut(struct epoch_table *table, struct chunk *chunk, unsigned page);
/* Drops segments without state, and the chunk if none is left. */
void epoch_chunk_drop_empty(struct epoch_table *table, const struct file_range *range,
			    struct chunk *chunk);

static inline uint64_t epoch_segment_bytes(const struct segment *segment)
{
	return (uint64_t)(segment->end - segment->first) << EPOCH_PAGE_BITS;
}

/* True if the pages were read in and no use of them can have been missed. */
static inline bool epoch_is_unused(const struct epoch_table *table, const struct segment *segment,
				   uint64_t inode)
{
	const uint64_t *ended = table->uses_ended;

	return segment->asker && !segment->used &&
	       (!ended || segment->asked_at > ended[clew_file_slot(inode)]);
}

/* The page after the last; the length of the range is limited. */
uint64_t epoch_page_end(const struct file_range *range);
/* Calls visit->segment for each segment of visit->range; its error, or -ENOMEM. */
int epoch_visit_range(struct epoch_table *table, struct epoch_visit *visit);

/* Forget drops all chunks; done frees all memory too. */
void epoch_chunks_forget(struct epoch_table *table);
void epoch_chunks_done(struct epoch_table *table);

#endif
