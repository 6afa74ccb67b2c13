/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bytes that programs wrote to files, how much of it became dirty and reached the
 * disk, who waited for that, and who caused the waits.
 */
#ifndef CLEW_EXPLAIN_IO_H
#define CLEW_EXPLAIN_IO_H

#include "explain/chosen.h"
#include "trace/trace.h"
#include <clew/tokens.h>

/* One task's part in one file. */
struct clew_io_share {
	uint32_t file; /* index of a file */
	uint32_t task;
	uint64_t asked_bytes;	/* bytes that it passed to write calls */
	uint64_t stored_bytes;	/* pages that it stored to through mappings; a page counts again
				   after each writeback */
	uint64_t dirtied_bytes; /* pages that it made dirty */
	uint64_t written_bytes; /* its part of what requests wrote; each writer of an extent gets an
				   equal part */
	uint64_t passed_bytes;	/* the part of these that it wrote to a disk that the file is
				   behind: they have counted there */
	uint64_t waited_ns;	/* how long it waited for the file */
	uint64_t caused_ns;	/* how long others waited for what it wrote */
};

/* The writes of one disk for one task to one file. */
struct clew_io_level {
	uint32_t file; /* index of a file */
	uint32_t task; /* CLEW_NO_TASK: the writer is unknown */
	uint32_t device;
	uint64_t bytes;
};

struct clew_io_file {
	uint64_t inode;
	uint64_t at;	 /* a moment at which the file had this number; before and after, others may
			    have had it */
	uint32_t device; /* of the file system */
	uint32_t requests;
	bool deleted; /* it had lost its last name by the end of the capture, as far as is known */
	uint64_t asked_bytes, stored_bytes, dirtied_bytes;
	uint64_t written_bytes, read_bytes; /* moved by requests; if others were made below for
					       these, they do not count again */
	uint64_t unknown_bytes;		    /* written by requests, by an unknown task */
	uint64_t unused_bytes;		    /* read ahead and never used */
	uint64_t again_bytes; /* asked for again, as a group's memory limit had evicted them */
	uint64_t waited_ns;
	const struct clew_io_share *shares; /* in order of task */
	uint32_t share_count;
};

struct clew_io_device {
	uint32_t device;
	uint32_t requests;
	uint64_t bytes[CLEW_REQUEST_OPERATION_COUNT]; /* by operation; only reads and writes move
							 data */
	uint64_t file_bytes;			      /* written to files */
	uint64_t reason_bytes[CLEW_REQUEST_REASON_COUNT]; /* read or written, by reason */
};

/* An event of a file. */
enum clew_io_event_kind { CLEW_IO_TOUCH, CLEW_IO_REQUEST, CLEW_IO_WAIT };
struct clew_io_event {
	uint64_t at;
	uint8_t kind; /* enum clew_io_event_kind */
	const struct clew_touch *touch;
	const struct clew_page_extent *extent; /* of a request */
	const struct clew_sleep *sleep;
};

struct clew_io {
	struct clew_io_file *files; /* most bytes moved and longest waits first */
	size_t file_count;
	struct clew_io_device *devices; /* in order of number */
	size_t device_count;
	struct clew_io_share *shares;
	size_t share_count;
	struct clew_io_level *levels; /* in no order */
	size_t level_count;
	uint32_t *sleep_files; /* by sleep of the trace: the file that it waited for */
};

/*
 * The acts of the chosen tasks from..to, ns, and whoever caused their waits: acts that began then,
 * requests that were queued then, and the part of each wait that lies within. A request that
 * carries pages of several writers counts whole for its disk, and by the bytes of the chosen ones
 * for its file. `sleep_files` is of all sleeps. Free the result with clew_io_done(). 0 or -errno.
 */
int clew_io_analyse(const struct clew_trace *trace, const struct clew_chosen *chosen, uint64_t from,
		    uint64_t to, struct clew_io *ret_io);
void clew_io_done(struct clew_io *io);

/*
 * The events from..to, ns, of the files for which `wanted` (by index) is true, in
 * order of time. The array is the caller's to free.
 */
int clew_io_story(const struct clew_trace *trace, const struct clew_io *io, const bool *wanted,
		  uint64_t from, uint64_t to, struct clew_io_event **ret_events, size_t *ret_count);

#endif
