/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logical spans as tables. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answers/spans/logical_sum.h"
#include "format/text.h"
#include "words/runtime_lock.h"
#include "words/task.h"

#define OPENS_SHOWN   5
#define LOCKS_SHOWN   10
#define HOLDER_COLUMN 34

/* The part of the capture that is over, for lengths of what is still open. */
static void print_time(FILE *out, const struct clew_jobs *jobs, uint64_t at)
{
	fprintf(out, "+%-13s ",
		CLEW_OFFSET(at - clew_trace_start(jobs->trace),
			    clew_trace_end(jobs->trace) - clew_trace_start(jobs->trace)));
}

static void print_threads(FILE *out, const struct clew_jobs *jobs,
			  const struct clew_job_times *times, uint64_t at)
{
	for (uint32_t i = 0; i < times->thread_count; i++) {
		fputs(i ? ", " : " in ", out);
		clew_print_task_name(out, jobs->trace, times->threads[i], at);
	}
	if (times->more_threads)
		fputs(", ..", out);
}

static void print_waits(FILE *out, const struct clew_jobs *jobs, const struct clew_job *job)
{
	for (uint32_t i = job->first; i != CLEW_NO_NUMBER;) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);

		i = piece->next;
		if (piece->kind != CLEW_JOB_SUSPENDED)
			continue;
		fprintf(out, "%16ssuspended for %s", "",
			CLEW_DURATION(clew_trace_until(jobs->trace, piece->end) - piece->start));
		if (piece->has_why)
			fprintf(out, " (reason %" PRIu64 ")", piece->why);
		if (piece->waker != CLEW_NO_NUMBER) {
			fputs(", resumed by ", out);
			clew_print_safe(out, clew_job_name(jobs, clew_job_at(jobs, piece->waker)));
		}
		if (piece->task != CLEW_NO_TASK) {
			fputs(piece->waker != CLEW_NO_NUMBER ? " in " : ", resumed by ", out);
			clew_print_task_name(out, jobs->trace, piece->task, piece->end);
		}
		fputc('\n', out);
	}
}

static void print_job(FILE *out, const struct clew_jobs *jobs, const struct clew_job *job)
{
	struct clew_job_times times;

	clew_job_times(jobs, job, &times);
	print_time(out, jobs, job->begin);
	fprintf(out, "%9s  ", CLEW_DURATION(clew_trace_until(jobs->trace, job->end) - job->begin));
	fprintf(out, "%s.%s ", job->runtime->name, job->kind->name);
	clew_print_safe(out, clew_job_name(jobs, job));
	fprintf(out, ": %s", clew_job_closed_word(job->closed));
	if (!job->kind->submits) {
		fputs("; began by itself", out);
	} else if (!job->submitted) {
		fputs("; nobody was seen to submit it", out);
	} else {
		fputs("; submitted by ", out);
		clew_print_task_name(out, jobs->trace, job->submitter, job->begin);
		if (job->parent != CLEW_NO_NUMBER) {
			fputs(" in ", out);
			clew_print_safe(out, clew_job_name(jobs, clew_job_at(jobs, job->parent)));
		}
	}
	if (job->origins > 1)
		fprintf(out, " (and %" PRIu32 " more times)", job->origins - 1);
	fprintf(out, "; queued %s", CLEW_DURATION(times.queued));
	fprintf(out, ", ran %s", CLEW_DURATION(times.execution));
	print_threads(out, jobs, &times, job->started ?: job->begin);
	fputc('\n', out);
	print_waits(out, jobs, job);
}

static void print_histogram(FILE *out, const struct histogram *histogram)
{
	if (!histogram->count) {
		fprintf(out, "%9s  %9s  ", "-", "-");
		return;
	}
	fprintf(out, "%9s  ", CLEW_DURATION(histogram_percentile(histogram, .5)));
	fprintf(out, "%9s  ", CLEW_DURATION(histogram->greatest));
}

/* Says how a row's spans ended, unless they all just did. */
static void print_ends(FILE *out, const struct logical_row *row)
{
	const char *between = "";

	if (row->closed[CLEW_JOB_DONE] == row->count && !row->no_submit && !row->suspensions &&
	    !row->late)
		return;
	fprintf(out, "%10s", "");
	for (unsigned i = 0; i < CLEW_JOB_CLOSED_COUNT; i++)
		if (row->closed[i]) {
			fprintf(out, "%s%" PRIu64 " %s", between, row->closed[i],
				clew_job_closed_word(i));
			between = ", ";
		}
	if (row->no_start)
		fprintf(out, "; %" PRIu64 " never started", row->no_start);
	if (row->late)
		fprintf(out, "; %" PRIu64 " open for more than %s", row->late,
			CLEW_DURATION(CLEW_JOB_LATE_NS));
	if (row->no_submit)
		fprintf(out, "; of %" PRIu64 " no submit was seen", row->no_submit);
	if (row->suspensions)
		fprintf(out, "; suspended %" PRIu64 " times, for %s in all", row->suspensions,
			CLEW_DURATION(row->suspended));
	fputc('\n', out);
}

static void print_rows(FILE *out, const struct logical_sum *sum)
{
	const struct logical_row *rows = sum->rows.data;

	if (!sum->rows.count)
		return;
	fprintf(out, "%8s  %9s  %9s  %9s  %9s  %9s  %9s\n", "", "queued", "", "ran", "", "total",
		"");
	fprintf(out, "%8s  %9s  %9s  %9s  %9s  %9s  %9s  %s\n", "spans", "p50", "max", "p50", "max",
		"p50", "max", "logical span");
	for (size_t i = 0; i < sum->rows.count; i++) {
		fprintf(out, "%8" PRIu64 "  ", rows[i].count);
		print_histogram(out, &rows[i].queued);
		print_histogram(out, &rows[i].execution);
		print_histogram(out, &rows[i].total);
		fprintf(out, "%s.%s ", rows[i].runtime->name, rows[i].kind->name);
		clew_print_safe(out, rows[i].name);
		fputc('\n', out);
		print_ends(out, &rows[i]);
	}
	fputc('\n', out);
}

/* Says how much was seen of each runtime's spans. */
static void print_totals(FILE *out, const struct logical_sum *sum)
{
	const struct logical_row *rows = sum->totals.data;

	for (size_t i = 0; i < sum->totals.count; i++) {
		fprintf(out, "%s: %" PRIu64 " of %" PRIu64 " spans seen from submit to end",
			rows[i].runtime->name, rows[i].built, rows[i].count);
		if (rows[i].cross_thread)
			fprintf(out, "; %" PRIu64 " ran in another thread than their submitter's",
				rows[i].cross_thread);
		if (rows[i].children)
			fprintf(out,
				"; %" PRIu64 " submitted by other spans, at most %" PRIu64
				" above each other",
				rows[i].children, rows[i].depth);
		fputc('\n', out);
	}
	if (sum->totals.count)
		fputc('\n', out);
}

static void print_waited(FILE *out, const struct logical_sum *sum)
{
	const struct logical_waits *rows = sum->waits.data;

	for (size_t i = 0; i < sum->waits.count; i++) {
		fprintf(out, "%s.%s: %s waited %" PRIu64 " times", rows[i].runtime->name,
			rows[i].kind->name,
			rows[i].kind->of == CLEW_RUNTIME_NONE ? "threads" : "spans", rows[i].count);
		if (rows[i].length.count) {
			fprintf(out, ", p50 %s",
				CLEW_DURATION(histogram_percentile(&rows[i].length, .5)));
			fprintf(out, ", max %s", CLEW_DURATION(rows[i].length.greatest));
		}
		fprintf(out, "; woken %" PRIu64 " times\n", rows[i].woken);
	}
	if (sum->waits.count)
		fputc('\n', out);
}

/* The holders of a lock while it was waited for. */
static void print_holders(FILE *out, const struct clew_jobs *jobs, const struct logical_lock *lock)
{
	for (size_t i = 0; i < lock->holder_count && i < LOGICAL_HOLDERS; i++) {
		const struct logical_holder *holder = &lock->holders[i];

		fprintf(out, "%*s%9s  ", HOLDER_COLUMN, "", CLEW_DURATION(holder->ns));
		if (holder->name)
			clew_print_safe(out, holder->name);
		else
			clew_print_task_name(out, jobs->trace, holder->task, lock->wait->from);
		fprintf(out, " had it%s\n", 2 * holder->exact_ns < holder->ns ? ", observed" : "");
	}
	if (lock->holder_count > LOGICAL_HOLDERS)
		fprintf(out, "%*sand %zu more\n", HOLDER_COLUMN, "",
			lock->holder_count - LOGICAL_HOLDERS);
}

/* The locks that cost most. */
static int print_locks(FILE *out, const struct clew_logical *logical)
{
	const struct clew_jobs *jobs = logical->jobs;
	struct logical_locks locks;
	int r = logical_locks(logical, &locks);
	const struct logical_lock *list = locks.list.data;

	if (r >= 0 && locks.list.count)
		fprintf(out, "%8s  %9s  %9s  lock\n", "waits", "total", "max");
	for (size_t i = 0; r >= 0 && i < locks.list.count && i < LOCKS_SHOWN; i++) {
		fprintf(out, "%8" PRIu64 "  %9s  %9s  ", list[i].count, CLEW_DURATION(list[i].ns),
			CLEW_DURATION(list[i].max));
		clew_print_runtime_lock(out, list[i].wait);
		fputs(" of ", out);
		clew_print_task_name(out, jobs->trace, list[i].wait->task, list[i].wait->from);
		fputc('\n', out);
		print_holders(out, jobs, &list[i]);
	}
	if (locks.list.count > LOCKS_SHOWN)
		fprintf(out, "and %zu locks more\n", locks.list.count - LOCKS_SHOWN);
	if (locks.list.count)
		fputc('\n', out);
	logical_locks_done(&locks);
	return r;
}

/* Queues in which spans waited, and where those were submitted that are not over. */
static void print_depths(FILE *out, const struct logical_sum *sum)
{
	const struct clew_jobs *jobs = sum->logical->jobs;
	const struct logical_queue *queues = sum->queues.data;
	const struct logical_open *opens = sum->opens.data;
	bool any = sum->opens.count;

	for (size_t i = 0; i < sum->queues.count; i++) {
		const uint64_t *most = queues[i].most, *now = queues[i].now;

		if (!most[CLEW_JOB_QUEUED])
			continue;
		any = true;
		fprintf(out, "%s.%s in ", queues[i].runtime->name, queues[i].kind->name);
		clew_print_task_name(out, jobs->trace, queues[i].process,
				     clew_trace_end(jobs->trace));
		if (queues[i].has_queue)
			fprintf(out, ", queue 0x%" PRIx64, queues[i].queue);
		fprintf(out, ": at most %" PRIu64 " queued and %" PRIu64 " running at once",
			most[CLEW_JOB_QUEUED], most[CLEW_JOB_RUNS]);
		if (now[CLEW_JOB_QUEUED] + now[CLEW_JOB_RUNS] + now[CLEW_JOB_SUSPENDED])
			fprintf(out,
				"; at the end %" PRIu64 " queued, %" PRIu64 " running, %" PRIu64
				" suspended",
				now[CLEW_JOB_QUEUED], now[CLEW_JOB_RUNS], now[CLEW_JOB_SUSPENDED]);
		fputc('\n', out);
	}
	for (size_t i = 0; i < sum->opens.count && i < OPENS_SHOWN; i++) {
		fprintf(out, "open at the end: %" PRIu64 " of %s.%s ", opens[i].count,
			opens[i].job->runtime->name, opens[i].job->kind->name);
		clew_print_safe(out, opens[i].name);
		if (opens[i].in) {
			fputs(", submitted in ", out);
			clew_print_safe(out, opens[i].in);
		} else if (opens[i].job->submitter != CLEW_NO_TASK) {
			fputs(", submitted by ", out);
			clew_print_task_name(out, jobs->trace, opens[i].job->submitter,
					     opens[i].job->begin);
		}
		fputs(", the first ", out);
		fprintf(out, "%s before the end\n",
			CLEW_DURATION(clew_trace_end(jobs->trace) - opens[i].job->begin));
	}
	if (any)
		fputc('\n', out);
}

/* Says of each runtime where it was looked for, and what of it never came. */
static void print_runtimes(FILE *out, const struct clew_logical *logical)
{
	const char *at = clew_trace_meta(logical->jobs->trace, "runtimes");
	const struct clew_layers *layers = logical->jobs->layers;
	struct logical_file file;

	while (logical_next_file(&at, &file)) {
		clew_print_safe(out, file.name);
		fputs(*file.why ? " is not recorded in " : " in ", out);
		clew_print_safe(out, file.path);
		if (*file.why) {
			fputs(": ", out);
			clew_print_safe(out, file.why);
		} else {
			fprintf(out, ": %u points, %.1f us each at most", file.points,
				file.ns / 1e3);
		}
		fputc('\n', out);
	}
	for (size_t i = 0; i < layers->runtime_count; i++)
		for (size_t k = 0; k < layers->runtimes[i].span_count; k++) {
			const struct clew_runtime *runtime = &layers->runtimes[i];
			const char *verbs[3];
			size_t count =
				logical_never_seen(logical, runtime, &runtime->spans[k], verbs, 3);

			for (size_t n = 0; n < count; n++)
				fprintf(out, "%s.%s: other points of it were met, %s never was\n",
					runtime->name, runtime->spans[k].name, verbs[n]);
		}
}

int clew_print_logical(FILE *out, const struct clew_logical *logical, size_t *ret_count)
{
	struct logical_sum sum;
	int r = logical_sum(logical, &sum);

	*ret_count = sum.count;
	for (size_t i = 0; r >= 0 && logical->each && i < logical->jobs->list.count; i++)
		if (clew_logical_wants(logical, clew_job_at(logical->jobs, i)))
			print_job(out, logical->jobs, clew_job_at(logical->jobs, i));
	if (r >= 0 && logical->each && sum.count)
		fputc('\n', out);
	if (r >= 0) {
		print_rows(out, &sum);
		print_totals(out, &sum);
		print_waited(out, &sum);
		r = print_locks(out, logical);
		print_depths(out, &sum);
		print_runtimes(out, logical);
	}
	logical_sum_done(&sum);
	return r;
}
