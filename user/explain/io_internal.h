/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sums of io.h while they are made. */
#ifndef CLEW_EXPLAIN_IO_INTERNAL_H
#define CLEW_EXPLAIN_IO_INTERNAL_H

#include "base/map.h"
#include "base/vector.h"
#include "explain/io.h"
#include "trace/windows.h"

#define NO_FILE UINT32_MAX

struct sums {
	const struct clew_trace *trace;
	const struct clew_chosen *chosen;
	uint64_t from, to;			/* ns: what lies outside is not counted */
	const struct clew_trace_window *window; /* NULL, or only waits that belong to it count */
	const struct clew_trace_request *requests;
	size_t request_count;
	struct vector files;   /* struct clew_io_file */
	struct vector shares;  /* struct clew_io_share */
	struct vector devices; /* struct clew_io_device */
	struct vector levels;  /* struct clew_io_level */
	struct map file_places, share_places, device_places;
	struct map level_places; /* (file << 32 | task, device) -> level */
	uint64_t *uppers;	 /* by request: 1 + that which it was made below for, 0 none */
	struct map counted;	 /* file -> the last request counted for it */
	struct map last_touched; /* task -> file */
	const struct clew_edge **
		origins; /* dependencies of types journal and throttle, by destination, then time */
	size_t origin_count;
	uint32_t *sleep_files;
};

/* The file that had this inode number at a moment. 0 or -ENOMEM. */
int io_file_of(struct sums *sums, uint64_t inode, uint32_t device, uint64_t at, uint32_t *ret_file);
/* The same by its key; `file` says which inode that is. */
int io_file_by_key(struct sums *sums, struct clew_file_key key, const struct clew_io_file *file,
		   uint32_t *ret_file);
struct clew_io_file *io_file_at(const struct sums *sums, uint32_t file);
/* The result is valid until the next call; NULL: no memory. */
struct clew_io_share *io_share_of(struct sums *sums, uint32_t file, uint32_t task);

/* All of a trace, until more is said. */
void io_sums_init(struct sums *sums, const struct clew_trace *trace,
		  const struct clew_chosen *chosen);
void io_sums_done(struct sums *sums);
int io_add_touch(struct sums *sums, const struct clew_touch *touch);
/* The answer; nothing can be added after it. */
int io_finish(struct sums *sums, struct clew_io *io);

static inline bool io_is_within(const struct sums *sums, uint64_t at)
{
	return at >= sums->from && at <= sums->to;
}

static inline bool io_does(const struct clew_block_request *block,
			   enum clew_request_operation operation)
{
	return clew_request_operation(block->operation, block->bytes) == operation;
}

/* ---- io_requests.c ---- */

/* Finds the requests that were made below for others; before any request is added. */
int io_find_uppers(struct sums *sums);
int io_add_request(struct sums *sums, const struct clew_trace_request *request);
/* The result is valid until the next call; NULL: no memory. */
struct clew_io_device *io_device_of(struct sums *sums, uint32_t device);
int io_add_level(struct sums *sums, uint32_t file, uint32_t task, uint32_t device, uint64_t bytes);

/* ---- io_waits.c ---- */

/* True if an edge names one of those that a wait is due to, but does not end it. */
static inline bool io_is_origin(const struct clew_edge *edge)
{
	return !edge->ends_sleep &&
	       (edge->type == CLEW_EDGE_JOURNAL || edge->type == CLEW_EDGE_THROTTLE);
}

/* True if a touch shows that its task has to do with the file at that moment. */
static inline bool io_is_by_task(const struct clew_touch *touch)
{
	return touch->event != CLEW_TOUCH_UNUSED && touch->event != CLEW_TOUCH_DELETED &&
	       touch->event != CLEW_TOUCH_DROP;
}

/* The edges have to stay until waits are added. */
int io_find_origins(struct sums *sums, const struct clew_edge *edges, size_t count);
/* `touches`: in order of `begin`. */
int io_add_sleeps(struct sums *sums, const struct clew_touch *touches, size_t touch_count);

#endif
