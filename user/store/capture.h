/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The capture file (.clew): writing, reading, recovering. docs/file-format.md
 * specifies the bytes. Functions return 0 or -errno and never print; where an
 * error needs words, they are left in a buffer of the caller's.
 *
 * A reader is for one thread at a time. A writer's streams may be fed by
 * different threads, but clew_writer_put() and clew_writer_flush() of one
 * stream must not overlap, nor any call clew_writer_close(). The writer's other
 * functions may be called from any thread.
 */
#ifndef CLEW_STORE_CAPTURE_H
#define CLEW_STORE_CAPTURE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/records.h>

/*
 * Streams below CLEW_STREAM_USER are CPUs. This one has the records that user
 * space makes: what iterators found, texts, gaps of no CPU.
 */
#define CLEW_STREAM_USER 0xffff

/* One row of the ledger: counts of one record kind on one CPU. */
struct clew_ledger_row {
	uint32_t cpu;
	uint32_t kind; /* enum clew_kind */
	uint64_t seen;
	uint64_t filtered;
	uint64_t reserved;
	uint64_t read;
	uint64_t stored;
	uint64_t lost;
	uint64_t missed;
};

/* A reading of three clocks at one moment, ns. */
struct clew_clock {
	uint64_t monotonic;
	uint64_t boot;
	uint64_t wall;
};

/*
 * A moment from which on the records name again what they refer to. Until another moment the user
 * stream says once more of each task who it is and what it waits for, so that the capture can be
 * read from there on. Both ns, monotonic.
 */
struct clew_keyframe {
	uint64_t from;
	uint64_t until;
};

struct clew_cost {
	uint64_t user_ns; /* CPU time of clew's own threads */
	uint64_t bpf_ns;  /* run time of its programs, scaled from samples */
	bool bpf_sampled; /* false: no sample was taken, bpf_ns is meaningless */
};

/* ---- writing ---- */

struct clew_writer;

struct clew_writer_options {
	size_t size;	/* sizeof(struct clew_writer_options) */
	bool sync;	/* each chunk is on the medium before the next one is begun */
	bool waits;	/* until clew_writer_begin() records are kept in memory and the file is not
			   changed */
	unsigned cpus;	/* how many CPU streams there may be */
	uint64_t quick; /* bytes that quick chunks may take of the file, which are made while CPUs
			   are busy (docs/file-format.md); 0: none */
	uint64_t quick_time; /* ns: for so long at most columns are made of them at the end, the
				rest of them stays; 0: of all */
	bool quick_stays;    /* for tests: they are left in the file when it is closed */
	const _Atomic bool *quick_busy; /* for tests: whether CPUs are busy, until it is closed,
					   too; NULL: as they are */
};

/*
 * Creates the file, or takes one that is there (-EBUSY: another writer has it),
 * and truncates it, unless the writer `waits`. The file is written around the
 * page cache (O_DIRECT, else each write is flushed and dropped). The writer has
 * a thread of its own that writes and threads that encode, two for every 8 CPUs
 * or part of them, and at most 16.
 */
int clew_writer_open(const char *path, const struct clew_writer_options *options,
		     struct clew_writer **ret_writer);

/*
 * Truncates the file and lets it have the records. Called once, and only if the
 * writer `waits`.
 */
int clew_writer_begin(struct clew_writer *writer);

/*
 * Adds the pair to the file's description of itself (kernel, host, cpus, start,
 * end, ...).
 */
int clew_writer_meta(struct clew_writer *writer, const char *key, const char *value);
int clew_writer_clock(struct clew_writer *writer, const struct clew_clock *clock);
/* To be called when all records of the keyframe were put. */
int clew_writer_keyframe(struct clew_writer *writer, const struct clew_keyframe *keyframe);

/*
 * Appends one record (struct clew_header and what follows; in a CPU's stream
 * header.cpu becomes the stream's number). Records of one stream come in order
 * of time and from one thread at a time; different streams may be fed by
 * different threads. The record is copied, and encoded later by another thread.
 * Waits while too many records wait to be encoded. Returns 0, or the first
 * error the file met (-ENOSPC, ...).
 */
int clew_writer_put(struct clew_writer *writer, unsigned stream, const void *record, size_t size);

/*
 * Hands the stream's open chunk to the encoder if it was begun `age` ns or more
 * before `now`.
 */
int clew_writer_flush(struct clew_writer *writer, unsigned stream, uint64_t now, uint64_t age);

/*
 * To be called where a keyframe begins. A reader that begins there decodes few rows before it: a
 * slow stream goes on in a new chunk, unless the open one is small, as small chunks take more of
 * the file.
 */
int clew_writer_cut(struct clew_writer *writer, unsigned stream);

/*
 * Replaces the ledger: the last one written is valid. Gaps are GAP records, put
 * like any other.
 */
int clew_writer_ledger(struct clew_writer *writer, const struct clew_ledger_row *rows, size_t count,
		       const struct clew_cost *cost);

/* Records of this kind put so far on a stream: the ledger's "stored". */
uint64_t clew_writer_stored(const struct clew_writer *writer, unsigned stream, unsigned kind);

/* Bytes of the file so far. */
uint64_t clew_writer_bytes(const struct clew_writer *writer);

/* The first error the file met, or 0. */
int clew_writer_error(const struct clew_writer *writer);

/*
 * Encodes and writes what is left, writes the index, trims and closes the file
 * and frees the writer. A file that was not begun stays as it was.
 */
int clew_writer_close(struct clew_writer *writer);

/* ---- reading ---- */

struct clew_reader;

struct clew_capture_info {
	uint64_t bytes;
	bool complete;		 /* it has an index, and no joined segment lacks one: the recording
				    was not killed */
	bool imported;		 /* another tracer recorded it */
	uint64_t damaged_chunks; /* skipped: bad checksum or contents; complete once all was read or
				    checked */
	uint64_t quick_records;	 /* that are not columns, as CPUs were busy; once all was checked */
	uint64_t start;		 /* ns, monotonic: when recording was enabled */
	uint64_t end;		 /* when it was disabled; of an incomplete file, its last record */
	unsigned cpus;
	const struct clew_ledger_row *ledger;
	size_t ledger_count;
	const struct clew_gap *
		gaps; /* in order of time; those of CLEW_GAP_IN_FILE once all was read or checked */
	size_t gap_count;
	const struct clew_clock *clocks;
	size_t clock_count;
	const struct clew_keyframe *keyframes; /* in order of time */
	size_t keyframe_count;
	struct clew_cost cost;
	uint64_t counts[CLEW_KIND_COUNT];	/* records in the file, by kind */
	uint64_t column_bytes[CLEW_KIND_COUNT]; /* compressed bytes of the kind's columns (a share
						   of the frame by encoded size) */
};

/* Records in the file, of all kinds. */
static inline uint64_t clew_capture_records(const struct clew_capture_info *info)
{
	uint64_t records = 0;

	for (unsigned kind = 0; kind < CLEW_KIND_COUNT; kind++)
		records += info->counts[kind];
	return records;
}

/*
 * Opens a capture, and rebuilds the index of one that has none. `message` gets
 * one line of words when the result is not 0: -EINVAL foreign or malformed,
 * -ENODATA empty or without one whole chunk of records, or what open(2) or read(2)
 * returned.
 */
int clew_reader_open(const char *path, struct clew_reader **ret_reader, char *message,
		     size_t message_size);

/* True if the file begins as a capture does: 1, 0 or -errno. */
int clew_capture_probe(const char *path);

const struct clew_capture_info *clew_reader_info(const struct clew_reader *reader);

/* A value of the file's description of itself, or NULL. */
const char *clew_reader_meta(const struct clew_reader *reader, const char *key);
/* All of them, by number from 0, in the order they were written: the key and its value; NULL: there
 * are no more. */
const char *clew_reader_meta_at(const struct clew_reader *reader, size_t number,
				const char **ret_value);

/*
 * The next record of all streams in order of time. At the same time the user
 * stream comes first, then the CPUs by number; records of a stream keep the
 * order in which they were put. Where rows are missing from the file, a GAP
 * record with CLEW_GAP_IN_FILE comes in their place. The record belongs to the
 * reader and is valid until the next call. A thread of the reader's own decodes
 * ahead in large captures. Returns 1 with a record, 0 at the end, or -errno.
 */
int clew_reader_next(struct clew_reader *reader, const struct clew_header **ret_record);

/*
 * Checks whether each chunk is whole, without decoding it, so that the info
 * says what is damaged and missing. The reader is at the end afterwards.
 */
int clew_reader_check(struct clew_reader *reader);

/* Goes back to the first record. */
int clew_reader_rewind(struct clew_reader *reader);

/*
 * Goes to the last keyframe that is not after `time` (ns), or to an earlier one if no more than
 * `rows` records between the two are to be decoded; one of a slow stream counts as 20. No record
 * before it comes then. Returns the keyframe, or NULL: there is none, and reading begins at the
 * first record.
 */
const struct clew_keyframe *clew_reader_seek(struct clew_reader *reader, uint64_t time,
					     uint64_t rows);

/*
 * True if a record that clew_reader_next() returned says again in what state a task or a connection
 * is, for readers that begin at a later keyframe than this one has begun at.
 */
bool clew_reader_is_again(const struct clew_reader *reader, const struct clew_header *record);

/*
 * Divides the capture into windows of about `rows` records: *ret_ends has the end of each (ns), in
 * order, the last one being UINT64_MAX. It is the caller's to free. 0 or -ENOMEM.
 */
int clew_reader_divide(const struct clew_reader *reader, uint64_t rows, uint64_t **ret_ends,
		       size_t *ret_count);

/* From now on no thread decodes ahead, so that the process may fork between two records. Before the
 * first record. */
void clew_reader_alone(struct clew_reader *reader);

void clew_reader_close(struct clew_reader *reader);

#endif
