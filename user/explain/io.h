/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What became of what programs asked of files: how much they wrote, how much of it
 * became dirty, how much went to the disk, who waited for that and who caused the wait.
 */
#ifndef CLEW_EXPLAIN_IO_H
#define CLEW_EXPLAIN_IO_H

#include "trace/trace.h"
#include <clew/tokens.h>

/* What one task has to do with one file. */
struct clew_io_share {
	uint32_t file; /* index of a file */
	uint32_t task;
	uint64_t asked_bytes;	/* written by calls */
	uint64_t stored_bytes;	/* pages stored to through mappings, at least once each pass */
	uint64_t dirtied_bytes; /* folios that it made dirty, whole */
	uint64_t written_bytes; /* its part of what requests carried: of what several wrote, each
				   has an equal part */
	uint64_t waited_ns;	/* slept for the file */
	uint64_t caused_ns;	/* that others slept for what it wrote */
};

struct clew_io_file {
	uint64_t inode;
	uint64_t at;	 /* a moment at which it had that number: others may have had it before and
			    after */
	uint32_t device; /* of the file system */
	uint32_t requests;
	uint64_t asked_bytes, stored_bytes, dirtied_bytes;
	uint64_t written_bytes, read_bytes; /* by requests */
	uint64_t unknown_bytes;		    /* written, and by whom is unknown */
	uint64_t unused_bytes;		    /* read ahead, and nobody used it */
	uint64_t waited_ns;
	const struct clew_io_share *shares; /* in order of task */
	uint32_t share_count;
};

struct clew_io_device {
	uint32_t device;
	uint32_t requests;
	uint64_t bytes[CLEW_REQUEST_OPERATION_COUNT]; /* of requests that do this; only reads and
							 writes move data */
	uint64_t file_bytes;			      /* written, of files */
	uint64_t reason_bytes[CLEW_REQUEST_REASON_COUNT]; /* read or written for each reason */
};

/* Something that happened to a file, in order of `at`. */
enum clew_io_event_kind { CLEW_IO_TOUCH, CLEW_IO_REQUEST, CLEW_IO_WAIT };
struct clew_io_event {
	uint64_t at;
	uint8_t kind; /* enum clew_io_event_kind */
	const struct clew_touch *touch;
	const struct clew_page_extent *extent; /* of a request */
	const struct clew_sleep *sleep;
};

struct clew_io {
	struct clew_io_file *files; /* those with most written and waited for first */
	size_t file_count;
	struct clew_io_device *devices; /* in order of number */
	size_t device_count;
	struct clew_io_share *shares;
	size_t share_count;
	uint32_t *sleep_files; /* by sleep of the trace: the file it is for, UINT32_MAX none */
};

int clew_io_analyse(const struct clew_trace *trace, struct clew_io *ret_io);
void clew_io_done(struct clew_io *io);

/* The story of the files for which `wanted` is true, by index. The array is the caller's to free.
 */
int clew_io_story(const struct clew_trace *trace, const struct clew_io *io, const bool *wanted,
		  struct clew_io_event **ret_events, size_t *ret_count);

#endif
