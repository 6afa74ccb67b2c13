/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files and programs that `io` shows, and their order. Unless it is asked for, a list
 * leaves out clew itself, and files that only clew touched. Kernel threads have no waits in these
 * sums, so that none is there for being idle.
 */
#include "answers/io/io.h"

#include <clew/kernel/records.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/wrap.h"
#include "words/file.h"

bool io_shows(const struct io_answer *answer, enum io_by what)
{
	return answer->asked.by == IO_BY_ALL || answer->asked.by == what;
}

const char *io_path(const struct io_answer *answer, const struct clew_io_file *file)
{
	return clew_file_path(answer->trace, file->device, file->inode, file->at);
}

void io_print_name(FILE *stream, const struct io_answer *answer, const struct clew_io_file *file)
{
	enum { COLUMNS_BEFORE = 61 };
	char *name = NULL;
	size_t size;
	FILE *out = open_memstream(&name, &size);

	if (!out)
		return;
	clew_print_file(out, answer->trace, file->device, file->inode, file->at);
	fputs(file->deleted ? " (deleted)" : "", out);
	fclose(out);
	fprintf(stream, "%s%s\n",
		COLUMNS_BEFORE + clew_columns(name, size) > answer->asked.width ? "\n    " : "  ",
		name);
	free(name);
}

static uint32_t flags_of(const struct io_answer *answer, uint32_t task)
{
	const struct clew_trace_task *known = clew_trace_task(answer->trace, task);

	return known ? known->flags : 0;
}

/* True if nobody but clew is known to have had to do with a file. */
static bool is_own(const struct io_answer *answer, const struct clew_io_file *file)
{
	for (uint32_t i = 0; i < file->share_count; i++)
		if (!(flags_of(answer, file->shares[i].task) & CLEW_TASK_SELF))
			return false;
	return file->share_count > 0 && !file->unknown_bytes;
}

/* The keys of two rows; 0: these are equal. */
static int compare(enum io_sort sort, uint64_t waited, uint64_t other_waited, const char *name,
		   const char *other_name)
{
	if (sort == IO_SORT_WAITED && waited != other_waited)
		return waited > other_waited ? -1 : 1;
	if (sort == IO_SORT_NAME)
		return strcmp(name ?: "", other_name ?: "");
	return 0;
}

/* Equal rows keep the order that they have, which is that of their sizes. */
static int compare_files(const void *left, const void *right, void *context)
{
	const struct io_answer *answer = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct clew_io_file *x = &answer->io.files[a], *y = &answer->io.files[b];

	return compare(answer->asked.sort, x->waited_ns, y->waited_ns, io_path(answer, x),
		       io_path(answer, y))
		       ?: (a > b) - (a < b);
}

static int compare_programs(const void *left, const void *right, void *context)
{
	const struct io_answer *answer = context;
	const struct io_process *x = left, *y = right;

	return compare(answer->asked.sort, x->waited_ns, y->waited_ns, io_process_name(answer, x),
		       io_process_name(answer, y))
		       ?: (x->place > y->place) - (x->place < y->place);
}

static void choose_files(struct io_answer *answer)
{
	const char *path = answer->asked.path;

	for (uint32_t i = 0; i < answer->io.file_count; i++) {
		const struct clew_io_file *file = &answer->io.files[i];
		const char *own = io_path(answer, file);

		if (path && (!own || strcmp(own, path) != 0))
			continue;
		if (!path && !answer->asked.self && is_own(answer, file)) {
			answer->left_out.self += io_shows(answer, IO_BY_FILE);
			continue;
		}
		answer->wanted[i] = true;
		answer->files[answer->file_count++] = i;
	}
	if (answer->file_count)
		qsort_r(answer->files, answer->file_count, sizeof(*answer->files), compare_files,
			answer);
}

static void choose_programs(struct io_answer *answer)
{
	bool shown = io_shows(answer, IO_BY_PROGRAM);
	size_t kept = 0;

	for (size_t i = 0; i < answer->program_count; i++) {
		struct io_process *program = &answer->programs[i];

		if (!io_wrote(program) && !program->written_bytes && !program->waited_ns &&
		    !program->caused_ns)
			continue;
		if (!answer->asked.self && flags_of(answer, program->task) & CLEW_TASK_SELF) {
			answer->left_out.self += shown;
			continue;
		}
		program->place = i;
		answer->programs[kept++] = *program;
	}
	answer->program_count = kept;
	if (kept)
		qsort_r(answer->programs, kept, sizeof(*answer->programs), compare_programs,
			answer);
}

int io_choose(const struct clew_trace *trace, const struct io_asked *asked,
	      struct io_answer *answer)
{
	answer->trace = trace;
	answer->asked = *asked;
	answer->wanted = calloc(answer->io.file_count + 1, sizeof(*answer->wanted));
	answer->files = calloc(answer->io.file_count + 1, sizeof(*answer->files));
	answer->programs = io_by_process(answer, answer->io.shares, answer->io.share_count,
					 &answer->program_count);
	if (!answer->wanted || !answer->files || !answer->programs)
		return -ENOMEM;
	choose_files(answer);
	choose_programs(answer);
	if (asked->path && !answer->file_count)
		return -ENOENT;
	return asked->path ? clew_io_story(trace, &answer->io, answer->wanted, asked->from,
					   asked->to, &answer->events, &answer->event_count)
			   : 0;
}

void io_answer_done(struct io_answer *answer)
{
	free(answer->wanted);
	free(answer->files);
	free(answer->programs);
	free(answer->events);
	clew_io_done(&answer->io);
}
