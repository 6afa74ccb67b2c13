/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `io`: files, programs and disks, as text and as JSON. */
#ifndef CLEW_ANSWERS_IO_IO_H
#define CLEW_ANSWERS_IO_IO_H

#include <stdio.h>

#include "answers/sums.h"
#include "explain/io.h"
#include "format/json.h"

/* The tables that --by leaves. */
enum io_by { IO_BY_ALL, IO_BY_PROGRAM, IO_BY_FILE, IO_BY_DISK };
/* Their order. */
enum io_sort { IO_SORT_SIZE, IO_SORT_WAITED, IO_SORT_NAME };

struct io_asked {
	enum io_by by;
	enum io_sort sort;
	const char *path;  /* only this file, and its story; NULL: all */
	bool self;	   /* clew's own programs and files, too */
	uint64_t from, to; /* ns, CLOCK_MONOTONIC */
	size_t width;	   /* columns of text */
};

struct io_answer {
	struct io_asked asked;
	const struct clew_trace *trace;
	struct clew_io io;
	struct clew_left_out left_out;
	/* The choice of io_choose(). */
	bool *wanted;	 /* by file */
	uint32_t *files; /* the same, in their order */
	size_t file_count;
	struct io_process *programs;
	size_t program_count;
	struct clew_io_event *events;
	size_t event_count;
};

/* The sums of all tasks of a process. */
struct io_process {
	uint32_t task; /* one of them */
	uint32_t pid;
	size_t place; /* among those in order of size */
	uint64_t asked_bytes, stored_bytes, dirtied_bytes;
	uint64_t written_bytes, passed_bytes; /* as those of struct clew_io_share */
	uint64_t waited_ns, caused_ns;
};

/* Chooses files and programs of answer->io; `trace` has their names. 0, -ENOENT: there is no such
 * file, or -ENOMEM. io_answer_done() in any case. */
int io_choose(const struct clew_trace *trace, const struct io_asked *asked,
	      struct io_answer *answer);
void io_answer_done(struct io_answer *answer);

/* Print what was chosen, and what is missing from it. 0 or -ENOMEM. */
int clew_print_io(FILE *out, const struct io_answer *answer);
int clew_json_io(struct clew_json *json, const struct io_answer *answer);

/* ---- for the files of the answer ---- */

/* Adds up shares of tasks to shares of processes, the largest first. The array is the caller's to
 * free; NULL: no memory. */
struct io_process *io_by_process(const struct io_answer *answer, const struct clew_io_share *shares,
				 size_t count, size_t *ret_count);
/* The bytes that a process wrote by calls or, where these are not recorded, made dirty. */
uint64_t io_wrote(const struct io_process *process);
const char *io_process_name(const struct io_answer *answer, const struct io_process *process);

/* Ends a row with the name of a file, on a line of its own if there is no room for it. */
void io_print_name(FILE *out, const struct io_answer *answer, const struct clew_io_file *file);
/* The last known path of a file; NULL: unknown. */
const char *io_path(const struct io_answer *answer, const struct clew_io_file *file);

/* True if a table is to be printed. */
bool io_shows(const struct io_answer *answer, enum io_by what);

/* The field "levels": the sums by disk of those for which `is_of` is true. 0 or -ENOMEM,
 * as the next two. */
typedef bool (*io_is_of)(const struct io_answer *answer, const struct clew_io_level *level,
			 const void *context);
int io_json_levels(struct clew_json *json, const struct io_answer *answer, io_is_of is_of,
		   const void *context);

int io_json_programs(struct clew_json *json, const struct io_answer *answer);
int io_print_programs(FILE *out, const struct io_answer *answer);

#endif
