/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace in the formats of other tools. A format writes to a stream in one pass over the
 * trace, and needs little memory besides.
 *
 * A wait, run or request of which only a part lies in from..to is written whole, with its true
 * times: nothing seems to begin or end where the interval does.
 */
#ifndef CLEW_EXPORT_EXPORT_H
#define CLEW_EXPORT_EXPORT_H

#include <stdio.h>

#include "explain/why.h"

/* The way in which a stack is made, in formats that add up stacks. */
enum clew_export_stacks {
	CLEW_STACKS_OFF_CPU,  /* of each wait: the code that waited, and for what */
	CLEW_STACKS_WAKE,     /* of each wait: what those did meanwhile that it waited for */
	CLEW_STACKS_CRITICAL, /* the same of each operation */
	CLEW_STACKS_ON_CPU,   /* of each sample: the code that ran */
};

/* The encoding of OTLP. */
enum clew_export_encoding {
	CLEW_ENCODING_JSON,
	CLEW_ENCODING_PROTOBUF,
};

struct clew_post;

struct clew_export {
	const char *name; /* the capture's, for commands that a format gives */
	const struct clew_trace *trace;
	const struct clew_relations *relations; /* NULL: announced calls are left out */
	/* The tasks that are asked for; NULL: all. */
	bool (*wanted)(void *context, const struct clew_trace_task *task);
	void *context;
	uint64_t from; /* ns, CLOCK_MONOTONIC */
	uint64_t to;
	bool begun_in; /* what began before `from` is left out, lest two exports add it up */
	/* Operations to be explained, the longest first. */
	const struct clew_operation *operations;
	size_t operation_count;
	uint32_t slowest; /* how many were asked for */
	enum clew_export_stacks stacks;
	bool idle;	  /* waits for work count, too */
	bool spreadsheet; /* csv: no text begins a formula */
	size_t most;	  /* dot: nodes of an operation; otlp: spans */
	enum clew_export_encoding encoding;
	struct clew_post *post; /* otlp: it is handed to this instead of written; or NULL */
	FILE *out;		/* errors stay on it */
	const char *folder;	/* of formats that write several files, instead of `out` */
	/* Called from time to time with the share that is written, 0..1. */
	void (*progress)(void *context, double done);
	void *progress_context;
};

struct clew_export_format {
	const char *name;
	const char *summary; /* which tools read it */
	bool binary;	     /* it is nothing for a terminal */
	bool stacks;	     /* it adds up stacks */
	bool lines;	     /* .. with lines of the source, if the trace has them */
	bool calls;	     /* it is about functions and announced calls alone */
	bool folder;	     /* it writes files into a folder */
	unsigned wait_bytes; /* about so many for each wait of the trace; 0: it is small */
	bool without_self;   /* time of clew itself is left out */
	/* Writes all of it. 0, -ENOMEM, or -E2BIG: it would be more than its readers take. Errors
	 * of the stream are the caller's to find. */
	int (*write)(const struct clew_export *export);
	bool alone;	  /* it is about operations alone */
	unsigned slowest; /* operations that it explains unless another number is asked for */
	unsigned most;	  /* steps or spans of one, likewise; 0: it has no such limit */
};

/* All formats, ended by one without a name. */
extern const struct clew_export_format clew_export_formats[];

/* The format of this name, or NULL. */
const struct clew_export_format *clew_export_find(const char *name);

int clew_export_perfetto(const struct clew_export *export);
/* -ESPIPE: the stream is no regular file. */
int clew_export_sqlite(const struct clew_export *export);
/* -errno also of files that cannot be written. */
int clew_export_csv(const struct clew_export *export);
/* -errno also of files that cannot be written. */
int clew_export_ctf(const struct clew_export *export);
int clew_export_html(const struct clew_export *export);
int clew_export_folded(const struct clew_export *export);
int clew_export_pprof(const struct clew_export *export);
int clew_export_chrome(const struct clew_export *export);
int clew_export_dot(const struct clew_export *export);
int clew_export_otlp(const struct clew_export *export);
int clew_export_proto(const struct clew_export *export);
#define CLEW_CHROME_MOST 2000000 /* events */

/* True if a task is known and asked for. */
bool clew_export_wants(const struct clew_export *export, uint32_t serial);
/* True if start..end is to be in the export: it lies in the interval, at least in part. `end` may
 * be CLEW_TIME_OPEN. */
static inline bool clew_export_has(const struct clew_export *export, uint64_t start, uint64_t end)
{
	return start <= export->to && end >= export->from &&
	       (!export->begun_in || start >= export->from);
}

/* "COMM-TID" of a task at a moment. Returns buffer. */
#define EXPORT_TASK_SIZE (CLEW_COMM_SIZE + 16)
const char *export_task_name(const struct clew_trace *trace, uint32_t serial, uint64_t at,
			     char buffer[EXPORT_TASK_SIZE]);

#endif
