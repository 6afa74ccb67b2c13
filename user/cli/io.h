/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of clew io share: the answer, and its programs. */
#ifndef CLEW_CLI_IO_H
#define CLEW_CLI_IO_H

#include "explain/io.h"
#include "words/json.h"

struct clew_window;

struct io_answer {
	const struct clew_trace *trace;
	const struct clew_window *window; /* taken */
	struct clew_io io;
	bool *wanted; /* by file */
	struct clew_io_event *events;
	size_t event_count;
};

/* The sums of all tasks of a process. */
struct io_process {
	uint32_t task; /* one of them */
	uint32_t pid;
	uint64_t asked_bytes, stored_bytes, dirtied_bytes;
	uint64_t written_bytes, passed_bytes; /* as those of struct clew_io_share */
	uint64_t waited_ns, caused_ns;
};

/* Adds up shares of tasks to shares of processes, the largest first. The array is the caller's to
 * free; NULL: no memory. */
struct io_process *io_by_process(const struct io_answer *answer, const struct clew_io_share *shares,
				 size_t count, size_t *ret_count);
/* What a process wrote: the bytes of its calls, or where these are not recorded, what it made
 * dirty. */
uint64_t io_wrote(const struct io_process *process);
const char *io_process_name(const struct io_answer *answer, const struct io_process *process);

/* The field "dev". */
void io_json_device(struct clew_json *json, uint32_t device);
/* The field "levels": the sums by disk of those for which `is_of` is true. Returns an exit status,
 * as the next two. */
typedef bool (*io_is_of)(const struct io_answer *answer, const struct clew_io_level *level,
			 const void *context);
int io_json_levels(struct clew_json *json, const struct io_answer *answer, io_is_of is_of,
		   const void *context);

int io_json_programs(struct clew_json *json, const struct io_answer *answer);
int io_print_programs(const struct io_answer *answer);

#endif
