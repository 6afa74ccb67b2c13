/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The programs of clew io: the sums of their tasks. The bytes that a program wrote count
 * once, on the disk that it wrote to; the disks below that one are other levels of the
 * same bytes.
 */
#include "answers/io/io.h"

#include <errno.h>
#include <stdlib.h>

#include "format/text.h"
#include "words/file.h"
#include "words/object.h"
#include "words/task.h"

/*
 * A process has the name of its first thread, which is the one that the pid
 * belongs to.
 */
const char *io_process_name(const struct io_answer *answer, const struct io_process *share)
{
	const struct clew_trace_task *task = clew_trace_task(answer->trace, share->task);
	uint64_t end = clew_trace_end(answer->trace);
	const char *name = task ? clew_process_name(answer->trace, task, end) : "";

	return name[0] ? name : clew_trace_comm_at(answer->trace, share->task, end);
}

static uint32_t pid_of(const struct io_answer *answer, uint32_t task)
{
	const struct clew_trace_task *known = clew_trace_task(answer->trace, task);

	return known ? known->pid : 0;
}

uint64_t io_wrote(const struct io_process *share)
{
	uint64_t asked = share->asked_bytes + share->stored_bytes;

	return asked ? asked : share->dirtied_bytes;
}

static int compare_pids(const void *left, const void *right)
{
	const struct io_process *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

/* The largest first, then the longest waits. */
static int compare_sizes(const void *left, const void *right)
{
	const struct io_process *a = left, *b = right;
	uint64_t a_bytes = io_wrote(a) + a->dirtied_bytes + a->written_bytes,
		 b_bytes = io_wrote(b) + b->dirtied_bytes + b->written_bytes;

	if (a_bytes != b_bytes)
		return a_bytes > b_bytes ? -1 : 1;
	if (a->waited_ns != b->waited_ns)
		return a->waited_ns > b->waited_ns ? -1 : 1;
	return compare_pids(a, b);
}

struct io_process *io_by_process(const struct io_answer *answer, const struct clew_io_share *shares,
				 size_t count, size_t *ret_count)
{
	struct io_process *all = calloc(count + 1, sizeof(*all));
	size_t kept = 0;

	for (size_t i = 0; all && i < count; i++)
		all[i] = (struct io_process){
			.task = shares[i].task,
			.pid = pid_of(answer, shares[i].task),
			.asked_bytes = shares[i].asked_bytes,
			.stored_bytes = shares[i].stored_bytes,
			.dirtied_bytes = shares[i].dirtied_bytes,
			.written_bytes = shares[i].written_bytes,
			.passed_bytes = shares[i].passed_bytes,
			.waited_ns = shares[i].waited_ns,
			.caused_ns = shares[i].caused_ns,
		};
	if (all && count)
		qsort(all, count, sizeof(*all), compare_pids);
	for (size_t i = 0; all && i < count; i++) {
		struct io_process *last = kept ? &all[kept - 1] : NULL;

		if (!last || last->pid != all[i].pid || last->pid == 0) {
			all[kept++] = all[i];
			continue;
		}
		last->asked_bytes += all[i].asked_bytes;
		last->stored_bytes += all[i].stored_bytes;
		last->dirtied_bytes += all[i].dirtied_bytes;
		last->written_bytes += all[i].written_bytes;
		last->passed_bytes += all[i].passed_bytes;
		last->waited_ns += all[i].waited_ns;
		last->caused_ns += all[i].caused_ns;
	}
	if (kept)
		qsort(all, kept, sizeof(*all), compare_sizes);
	*ret_count = kept;
	return all;
}

/* The bytes that reached the disks that it wrote to, without those below them. */
static uint64_t written_once(const struct io_process *share)
{
	return share->written_bytes - share->passed_bytes;
}

/* One disk's part of what was written. */
struct level {
	uint32_t device;
	uint64_t bytes;
};

static int compare_levels(const void *left, const void *right)
{
	const struct level *a = left, *b = right;

	return a->device < b->device ? -1 : a->device > b->device;
}

/* The sums by disk, in order of its number. The array is the caller's to free; NULL: no memory. */
static struct level *sum_levels(const struct io_answer *answer, io_is_of is_of, const void *context,
				size_t *ret_count)
{
	struct level *all = calloc(answer->io.level_count + 1, sizeof(*all));
	size_t count = 0, kept = 0;

	for (size_t i = 0; all && i < answer->io.level_count; i++) {
		const struct clew_io_level *level = &answer->io.levels[i];

		if (level->bytes && level->file != UINT32_MAX && is_of(answer, level, context))
			all[count++] = (struct level){level->device, level->bytes};
	}
	if (count)
		qsort(all, count, sizeof(*all), compare_levels);
	for (size_t i = 0; i < count; i++) {
		if (kept && all[kept - 1].device == all[i].device)
			all[kept - 1].bytes += all[i].bytes;
		else
			all[kept++] = all[i];
	}
	*ret_count = kept;
	return all;
}

int io_json_levels(struct clew_json *json, const struct io_answer *answer, io_is_of is_of,
		   const void *context)
{
	size_t count;
	struct level *levels = sum_levels(answer, is_of, context, &count);

	if (!levels)
		return -ENOMEM;
	clew_json_array(json, "levels");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(json, NULL);
		clew_json_device(json, levels[i].device);
		clew_json_unsigned(json, "bytes", levels[i].bytes);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	free(levels);
	return 0;
}

static bool is_of_process(const struct io_answer *answer, const struct clew_io_level *level,
			  const void *process)
{
	const struct io_process *share = process;

	return level->task == share->task || (share->pid && level->task != CLEW_NO_TASK &&
					      pid_of(answer, level->task) == share->pid);
}

int io_json_programs(struct clew_json *json, const struct io_answer *answer)
{
	const struct io_process *shares = answer->programs;
	size_t count = answer->program_count;
	int r = 0;

	clew_json_array(json, "programs");
	for (size_t i = 0; i < count && r == 0; i++) {
		clew_json_object(json, NULL);
		clew_json_unsigned(json, "pid", shares[i].pid);
		clew_json_string(json, "comm", io_process_name(answer, &shares[i]));
		clew_json_unsigned(json, "asked_bytes", shares[i].asked_bytes);
		clew_json_unsigned(json, "stored_bytes", shares[i].stored_bytes);
		clew_json_unsigned(json, "dirtied_bytes", shares[i].dirtied_bytes);
		clew_json_unsigned(json, "written_bytes", written_once(&shares[i]));
		r = io_json_levels(json, answer, is_of_process, &shares[i]);
		clew_json_unsigned(json, "waited_ns", shares[i].waited_ns);
		clew_json_unsigned(json, "caused_ns", shares[i].caused_ns);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	return r;
}

/* The levels of what a process wrote, if there are several. 0 or -ENOMEM. */
static int print_levels(FILE *out, const struct io_answer *answer, const struct io_process *share)
{
	size_t count;
	struct level *levels = sum_levels(answer, is_of_process, share, &count);

	if (!levels)
		return -ENOMEM;
	for (size_t i = 0; count > 1 && i < count; i++)
		fprintf(out, "%s%s on %s", i ? ", " : " (", CLEW_BYTES(levels[i].bytes),
			CLEW_DISK(answer->trace, levels[i].device));
	fputs(count > 1 ? ")\n" : "\n", out);
	free(levels);
	return 0;
}

int io_print_programs(FILE *out, const struct io_answer *answer)
{
	const struct io_process *shares = answer->programs;
	size_t count = answer->program_count;
	int r = 0;

	fprintf(out, "%10s %10s %10s %10s %10s  %s\n", "asked", "dirtied", "written", "waited",
		"caused", "PROGRAM");
	for (size_t i = 0; i < count && r == 0; i++) {
		fprintf(out, "%10s %10s %10s %10s %10s  ",
			CLEW_BYTES(shares[i].asked_bytes + shares[i].stored_bytes),
			CLEW_BYTES(shares[i].dirtied_bytes), CLEW_BYTES(written_once(&shares[i])),
			CLEW_DURATION(shares[i].waited_ns), CLEW_DURATION(shares[i].caused_ns));
		clew_print_safe(out, io_process_name(answer, &shares[i]));
		fprintf(out, "-%u", shares[i].pid);
		r = print_levels(out, answer, &shares[i]);
	}
	putc('\n', out);
	return r;
}
