/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of clew io, and its programs: shared by its files. */
#ifndef CLEW_CLI_IO_IO_H
#define CLEW_CLI_IO_IO_H

#include "explain/io.h"
#include "format/json.h"

#include "cli/front/options.h"
#include "cli/operand/selection.h"

struct clew_view;

/* The tables that --by leaves. */
enum io_by { IO_BY_ALL, IO_BY_PROGRAM, IO_BY_FILE, IO_BY_DISK };
/* Their order. */
enum io_sort { IO_SORT_SIZE, IO_SORT_WAITED, IO_SORT_NAME };

struct io_answer {
	const struct clew_trace *trace;
	struct clew_view *view; /* its window is taken; `sort` and `by` are not used */
	enum io_by by;
	enum io_sort sort;
	struct clew_io io;
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

/* The sums of a long capture. Returns 0 or, after clew_fail(), an exit status; *ret_names is of the
 * whole capture, and the caller's to free in either case. */
int io_sum_windows(const char *operand, struct clew_reader *reader,
		   struct clew_selection *selection, struct clew_io *ret_io,
		   struct clew_trace **ret_names);

/* Adds up shares of tasks to shares of processes, the largest first. The array is the caller's to
 * free; NULL: no memory. */
struct io_process *io_by_process(const struct io_answer *answer, const struct clew_io_share *shares,
				 size_t count, size_t *ret_count);
/* The bytes that a process wrote by calls or, where these are not recorded, made dirty. */
uint64_t io_wrote(const struct io_process *process);
const char *io_process_name(const struct io_answer *answer, const struct io_process *process);

/* Ends a row with the name of a file, on a line of its own if there is no room for it. */
void io_print_name(const struct io_answer *answer, const struct clew_io_file *file);
/* The last known path of a file; NULL: unknown. */
const char *io_path(const struct io_answer *answer, const struct clew_io_file *file);

/*
 * Chooses files, with the path `path` if it is not NULL, and programs. Returns 0 or, after
 * clew_fail(), an exit status. Undo it with io_choice_done() in either case.
 */
int io_choose(struct io_answer *answer, const char *path);
void io_choice_done(struct io_answer *answer);
/* True if a table is to be printed. */
bool io_shows(const struct io_answer *answer, enum io_by what);
int io_take_sort(const struct clew_option *option, const char *argument, void *value);
int io_take_by(const struct clew_option *option, const char *argument, void *value);

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
