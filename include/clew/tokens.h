/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The closed lists of words that all answers use: wait kinds, wake contexts,
 * dependency types, evidence, and operations and reasons of requests.
 * docs/answers.md explains the words.
 */
#ifndef CLEW_TOKENS_H
#define CLEW_TOKENS_H

enum clew_request_operation {
	CLEW_REQUEST_READ,
	CLEW_REQUEST_WRITE,
	CLEW_REQUEST_FLUSH,
	CLEW_REQUEST_DISCARD,
	CLEW_REQUEST_ZEROES,
	CLEW_REQUEST_OTHER,
	CLEW_REQUEST_OPERATION_COUNT,
};

enum clew_wait_kind {
#define CLEW_WAIT_KIND(NAME, ...) CLEW_WAIT_##NAME,
#define CLEW_SEGMENT_KIND(...)
#include <clew/wait_kinds.def>
	CLEW_WAIT_KIND_COUNT,
	/* where time went apart from waits: segments of a path or a why */
	CLEW_SEGMENT_BEFORE_FIRST = CLEW_WAIT_KIND_COUNT - 1,
#define CLEW_WAIT_KIND(...)
#define CLEW_SEGMENT_KIND(NAME, ...) CLEW_SEGMENT_##NAME,
#include <clew/wait_kinds.def>
	CLEW_SEGMENT_KIND_COUNT,
};

enum clew_edge_type {
#define CLEW_EDGE_TYPE(NAME, ...) CLEW_EDGE_##NAME,
#include <clew/edge_types.def>
	CLEW_EDGE_TYPE_COUNT,
};

enum clew_evidence {
	CLEW_EVIDENCE_EXACT,
	CLEW_EVIDENCE_OBSERVED,
	CLEW_EVIDENCE_CANDIDATE,
	CLEW_EVIDENCE_COUNT,
};

/* Why a request was made. */
enum clew_request_reason {
	CLEW_REQUEST_REASON_UNKNOWN,
	CLEW_REQUEST_REASON_BACKGROUND, /* more was dirty than the background limit allows */
	CLEW_REQUEST_REASON_PERIODIC,	/* it had been dirty for long */
	CLEW_REQUEST_REASON_SYNC,	/* sync, syncfs: all files */
	CLEW_REQUEST_REASON_FSYNC,	/* fsync, msync, sync_file_range: this file */
	CLEW_REQUEST_REASON_MEMORY,	/* memory was short */
	CLEW_REQUEST_REASON_THROTTLED,	/* background, while a task that dirtied pages was held back
					 */
	CLEW_REQUEST_REASON_DIRECT,
	CLEW_REQUEST_REASON_JOURNAL,
	CLEW_REQUEST_REASON_METADATA,
	CLEW_REQUEST_REASON_READAHEAD,
	CLEW_REQUEST_REASON_READ,
	CLEW_REQUEST_REASON_CALL, /* another call: a close, a rename, a truncation; a sync if the
				     file system does not report its own */
	CLEW_REQUEST_REASON_COUNT,
};

/*
 * The word for a value; "unknown" for one outside its list. Never NULL, never
 * to be freed.
 */
const char *clew_wait_kind_name(unsigned kind);	 /* wait and segment kinds */
const char *clew_context_name(unsigned context); /* enum clew_wake_context */
const char *clew_edge_type_name(unsigned type);
const char *clew_evidence_name(unsigned evidence);
const char *clew_request_reason_name(unsigned reason);
const char *clew_frame_closed_name(unsigned closed); /* how an activation of a function ended */

/*
 * The word for the operation of a block request. `operation`: the kernel's number, of which the low
 * byte counts; `bytes`: how many it moves. A write of no bytes is a flush of
 * the device's cache.
 */
enum clew_request_operation clew_request_operation(unsigned operation, unsigned bytes);
const char *clew_request_operation_name(unsigned operation, unsigned bytes);
int clew_request_operation_from_name(const char *name);

/*
 * The name of a system call by its native number; NULL for 0xffff (no call). It
 * lives as long as the program.
 */
const char *clew_call_name(unsigned call);
/* The number of a system call; 0xffff: there is no such name. */
unsigned clew_call_from_name(const char *name);

/* The value of a word; -1: it is not in the list. */
int clew_wait_kind_from_name(const char *name);
int clew_edge_type_from_name(const char *name);
int clew_request_reason_from_name(const char *name);

/* "vertical" or "horizontal": the relation of a dependency type. */
const char *clew_edge_relation(unsigned type);

#endif
