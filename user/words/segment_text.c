/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The segments of a why in words. */
#include "words/segment_text.h"

#include <clew/tokens.h>
#include <stdlib.h>
#include <string.h>

#include "format/text.h"
#include "words/called.h"
#include "words/commit.h"
#include "words/deadlock.h"
#include "words/describe.h"
#include "words/file.h"
#include "words/functions.h"
#include "words/hops.h"
#include "words/hosts.h"
#include "words/limit.h"
#include "words/link.h"
#include "words/object.h"
#include "words/other_end.h"
#include "words/remote.h"
#include "words/running.h"
#include "words/segment.h"
#include "words/stack.h"
#include "words/task.h"
#include "words/tried.h"
#include "words/wait.h"
#include "words/writers.h"

/* Prints " of OBJECT", " on OBJECT"; nothing where there is no object. */
static void print_with_object(FILE *out, const char *word, const struct clew_trace *trace,
			      const struct clew_sleep *sleep)
{
	if (!sleep || !clew_waits_for_object(sleep))
		return;
	fprintf(out, " %s ", word);
	clew_print_object(out, trace, &sleep->object, sleep);
}

bool clew_print_ready(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment,
		      const char *cpu)
{
	char ready[32] = "was ready";
	int nice = trace ? clew_nice_at(trace, segment->task, segment->start) : 0;

	if (nice)
		snprintf(ready, sizeof(ready), "was ready (nice %d)", nice);
	if (segment->by == UINT32_MAX) {
		fprintf(out, "%s, but who had %s is unknown", ready, cpu);
	} else if (segment->by == CLEW_NO_TASK) {
		fprintf(out, "%s and %s idle, on its way to run", ready, cpu);
	} else if (segment->by == segment->task) {
		fprintf(out, "%s, %s just leaving it", ready, cpu);
	} else {
		fprintf(out, "%s but %s was busy with ", ready, cpu);
		return true;
	}
	return false;
}

static void print_runqueue(FILE *out, const struct clew_trace *trace,
			   const struct clew_segment *segment)
{
	struct clew_piece piece = {.cpu = UINT16_MAX};
	char cpu[24] = "its CPU";

	if (clew_trace_piece(trace, segment->task, segment->start, false, &piece) &&
	    piece.cpu != UINT16_MAX)
		snprintf(cpu, sizeof(cpu), "CPU %u", piece.cpu);
	if (segment->by == UINT32_MAX && piece.cpu == UINT16_MAX)
		fputs("was ready but had no CPU", out);
	else if (clew_print_ready(out, trace, segment, cpu))
		clew_print_task(out, trace, segment->by, segment->start);
}

/* Prints " in CALL for OBJECT", or the kind of the wait if neither is known. */
static void print_wait(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep,
		       unsigned kind)
{
	const char *call = sleep ? clew_call_name(sleep->call) : NULL;
	bool has_object = sleep && clew_waits_for_object(sleep);

	fputs("waited", out);
	if (call && sleep->object.kind != CLEW_OBJECT_FUTEX)
		fprintf(out, " in %s", call);
	if (has_object && !clew_waits_for_epoll(sleep))
		print_with_object(out, "for", trace, sleep);
	if (!call && !has_object)
		fprintf(out, " (%s)", clew_wait_kind_name(kind));
	if (sleep && clew_trace_retried(trace, sleep))
		fputs(", in several calls", out);
}

void clew_print_job(FILE *out, const struct clew_trace *trace, const struct clew_job *job)
{
	const char *name = job->label;

	if (!name && job->code)
		name = clew_trace_code(trace, job->process, job->code);
	fprintf(out, "%s.", job->runtime->name);
	clew_print_safe(out, name ?: job->kind->name);
}

char *clew_job_hop_text(const struct clew_trace *trace, const struct clew_job_hop *hop)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("had ", out);
	clew_print_job(out, trace, hop->job);
	fputs(" suspended, until ", out);
	clew_print_job(out, trace, hop->waker);
	fputs(" resumed it", out);
	return fclose(out) ? NULL : text;
}

static void print_unknown(FILE *out, const struct clew_trace *trace,
			  const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = segment->sleep;

	if (segment->job) {
		fputs("had ", out);
		clew_print_job(out, trace, segment->job);
		fputs(!segment->piece || segment->piece->kind != CLEW_JOB_SUSPENDED
			      ? ", of which nothing was seen"
		      : segment->piece->task != CLEW_NO_TASK
			      ? " suspended, until its runtime resumed it (a timer or the network)"
			      : " suspended, and nobody was seen to resume it",
		      out);
		return;
	}
	if (!sleep) {
		fputs("did something that the capture does not show", out);
		return;
	}
	print_wait(out, trace, sleep, segment->unknown_kind);
	if (sleep->end == CLEW_TIME_OPEN) {
		if (clew_trace_is_cut(trace))
			fprintf(out, ", not over %s", clew_end_words(trace));
		else if (clew_trace_is_live(trace))
			fputs(", until now", out);
		else
			fputs(", and the capture ended first", out);
		clew_print_other_end(out, trace, sleep, false);
	} else if (sleep->context != CLEW_WAKE_TASK && sleep->context != CLEW_WAKE_UNKNOWN) {
		fprintf(out, ", and an interrupt ended it (%s)", clew_context_name(sleep->context));
	} else {
		fputs(", and what ended it is unknown", out);
	}
}

static void print_link(FILE *out, const struct clew_trace *trace, const struct clew_link *link)
{
	struct clew_object object = clew_link_object(link);

	clew_print_object(out, trace, &object, NULL);
}

/*
 * Prints what a request is about, without its sector: many of one kind are one cause.
 */
static void print_request(FILE *out, const struct clew_trace *trace, const struct clew_link *link)
{
	const struct clew_trace_request *request = clew_segment_request(trace, link);
	const struct clew_block_request *block = request ? &request->block : NULL;
	bool is_journal, on_disk;

	if (!block) {
		fputs("a request", out);
		return;
	}
	is_journal = block->reason == CLEW_REQUEST_REASON_JOURNAL;
	if (block->swap && block->bytes) {
		bool out_of = strcmp(clew_request_operation_name(block->operation, block->bytes),
				     "read") != 0;

		fprintf(out, "a swap-%s %s", out_of ? "out to" : "in from",
			CLEW_DISK(trace, block->device));
		return;
	}
	if (block->bytes == 0)
		fprintf(out, "a cache flush of %s", CLEW_DISK(trace, block->device));
	else
		fprintf(out, "a %s%s on %s",
			clew_request_operation_name(block->operation, block->bytes),
			is_journal ? " to the journal" : "", CLEW_DISK(trace, block->device));
	on_disk = clew_is_disk_inode(block->file_device, block->inode);
	if (block->inode && !(is_journal && on_disk) &&
	    (on_disk || clew_file_path(trace, block->file_device, block->inode, block->queued))) {
		fputs(" for ", out);
		clew_print_file(out, trace, block->file_device, block->inode, block->queued);
	}
	clew_print_other_writers(out, trace, link->number);
}

static void print_spin(FILE *out, const struct clew_trace *trace, const struct clew_spin *spin)
{
	fputs("was spinning for a kernel lock (", out);
	clew_print_spin_object(out, trace, spin);
	fputc(')', out);
	if (spin->holder != CLEW_NO_TASK) {
		fputs(" that ", out);
		clew_print_task(out, trace, spin->holder, spin->start);
		fputs(" had", out);
	}
}

static void print_device(FILE *out, const struct clew_trace *trace,
			 const struct clew_segment *segment)
{
	fputs(segment->kind == CLEW_SEGMENT_DEVICE ? "had the device busy with "
						   : "had, not yet issued to the device, ",
	      out);
	print_request(out, trace, segment->link);
	if (segment->below) {
		fputs(", by way of ", out);
		print_request(out, trace, segment->below);
	} else if (clew_segment_done_below(trace, segment)) {
		fputs(", done on the disk below and not yet told", out);
	}
	if (clew_segment_read_again(trace, segment))
		fputs(", again, as a group's memory limit had evicted it", out);
}

/* A wait that went on past the moment at which its timer was due. */
static void print_late(FILE *out, const struct clew_trace *trace,
		       const struct clew_segment *segment)
{
	bool sleeps = segment->kind == CLEW_WAIT_SLEEP;

	fprintf(out, "%s on past ", sleeps ? "slept" : "waited");
	if (clew_is_own_timeout(trace, segment->sleep)) {
		fputs(sleeps ? "its time, " : "its timeout, ", out);
	} else {
		fputs("the time of ", out);
		clew_print_timer(out, trace, segment->sleep);
		fputs(", ", out);
	}
	fputs(segment->late == CLEW_LATE_SLACK ? "within its timer's slack"
					       : "as the timer's interrupt came late",
	      out);
}

/* Segments that are about a lock, a request, a work item or a timer rather than the wait's object.
 * False: this one is not, and nothing is printed. */
static bool print_step(FILE *out, const struct clew_trace *trace,
		       const struct clew_segment *segment)
{
	if (segment->job) {
		fputs("had ", out);
		clew_print_job(out, trace, segment->job);
		fputs(" in a queue, ready to run", out);
	} else if (segment->spin) {
		print_spin(out, trace, segment->spin);
	} else if (segment->kind == CLEW_SEGMENT_DEVICE || segment->kind == CLEW_SEGMENT_QUEUED) {
		print_device(out, trace, segment);
	} else if (segment->kind == CLEW_WAIT_WORK && segment->link) {
		fputs("waited for a worker to begin ", out);
		print_link(out, trace, segment->link);
		if (segment->link->flags & CLEW_LINK_RESCUER)
			fputs(", which a rescuer did for want of memory", out);
	} else if (segment->late) {
		print_late(out, trace, segment);
	} else {
		return false;
	}
	return true;
}

/* A request that the I/O limit of a cgroup held back. */
static void print_limit(FILE *out, const struct clew_trace *trace,
			const struct clew_segment *segment)
{
	const struct clew_trace_request *request = clew_segment_request(trace, segment->link);

	fputs("had ", out);
	print_request(out, trace, segment->link);
	fputs(" held back", out);
	if (request) {
		fputs(" by ", out);
		clew_print_limit(out, trace, &request->block);
	}
}

/* A task that the kernel holds back: at its quota, its runtime, or the limit of dirty memory. */
static void print_throttle(FILE *out, const struct clew_trace *trace,
			   const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = segment->sleep;
	const char *call = (sleep ? clew_call_name(sleep->call) : NULL) ?: "the kernel";

	if (segment->link) {
		print_limit(out, trace, segment);
	} else if (sleep && sleep->object.kind == CLEW_OBJECT_CGROUP) {
		fputs("was kept off the CPU: the quota is used up of ", out);
		clew_print_object(out, trace, &sleep->object, sleep);
	} else if (sleep && sleep->object.kind == CLEW_OBJECT_TIMER) {
		fputs("was kept off the CPU: it has used up its own runtime of this period "
		      "(SCHED_DEADLINE)",
		      out);
	} else if (sleep && sleep->object.kind == CLEW_OBJECT_DEVICE) {
		fprintf(out, "was slowed down in %s, as too much is dirty for %s", call,
			CLEW_DISK(trace, sleep->object.device));
	} else if (sleep && sleep->flags & CLEW_WAIT_FLAG_IOWAIT) {
		fprintf(out, "was held back in %s", call);
		print_with_object(out, "of", trace, sleep);
		fputs(", as its disk has enough to write", out);
	} else {
		print_wait(out, trace, sleep, segment->kind);
	}
}

/* Names the timer that ended a wait. */
static void print_until(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	fputs(", until ", out);
	clew_print_timer(out, trace, sleep);
	if (!clew_is_own_timeout(trace, sleep))
		fputs(" went off", out);
}

/* Prints what is known of the end of a wait: a timer, a packet, or a device. */
static void print_first_link(FILE *out, const struct clew_trace *trace,
			     const struct clew_sleep *sleep)
{
	if (!sleep || !sleep->link_count)
		return;
	switch (sleep->links[0].kind) {
	case CLEW_LINK_TIMER:
		print_until(out, trace, sleep);
		break;
	case CLEW_LINK_PACKET:
		fputs(", a packet being on its way", out);
		break;
	case CLEW_LINK_IRQ:
		fputs(", for what came from outside by ", out);
		clew_print_first_link(out, trace, sleep);
		break;
	default:
		break;
	}
}

/* A message that is on its way between hosts, whose clocks are known only so well. */
static void print_way(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep,
		      uint32_t task)
{
	uint64_t error;

	fputs(", while it was on the way between the hosts", out);
	if (clew_hosts_error(trace, sleep->from, task, &error))
		fprintf(out, ", give or take %s", CLEW_DURATION(error));
}

static void print_leaf(FILE *out, const struct clew_trace *trace,
		       const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = segment->sleep;
	const char *call = sleep ? clew_call_name(sleep->call) : NULL;

	if (print_step(out, trace, segment))
		return;
	switch (segment->kind) {
	case CLEW_WAIT_READ:
	case CLEW_WAIT_WRITE:
	case CLEW_WAIT_FSYNC:
		fprintf(out, "waited for the disk: %s", call ?: clew_wait_kind_name(segment->kind));
		print_with_object(out, "of", trace, sleep);
		break;
	case CLEW_WAIT_FILE:
		fprintf(out, "waited in the file system: %s", call ?: "a file call");
		print_with_object(out, "of", trace, sleep);
		break;
	case CLEW_WAIT_IO:
		fputs("waited for I/O", out);
		if (call)
			fprintf(out, " in %s", call);
		break;
	case CLEW_WAIT_FAULT:
		fputs("waited for a page of its memory", out);
		if (call)
			fprintf(out, " (page fault in %s)", call);
		break;
	case CLEW_WAIT_SLEEP:
		if (sleep && clew_trace_tried(trace, sleep)) {
			clew_print_tried(out, trace, clew_trace_tried(trace, sleep));
			fputs(clew_tried_alone(clew_trace_tried(trace, sleep)), out);
			break;
		}
		fputs("slept", out);
		if (call)
			fprintf(out, " in %s", call);
		if (sleep && sleep->link_count && sleep->links[0].kind == CLEW_LINK_TIMER &&
		    !clew_is_own_timeout(trace, sleep))
			print_until(out, trace, sleep);
		break;
	case CLEW_WAIT_IDLE:
		fputs("was idle", out);
		break;
	case CLEW_WAIT_STOPPED:
		fputs(sleep && sleep->frozen ? "was frozen" : "was stopped", out);
		break;
	case CLEW_WAIT_THROTTLE:
		print_throttle(out, trace, segment);
		break;
	default:
		print_wait(out, trace, sleep, segment->kind);
		if (segment->held)
			clew_print_held(out, segment->held, sleep);
		else if (sleep && sleep->across)
			print_way(out, trace, sleep, segment->task);
		else if (!sleep || !clew_print_remote(out, ": ", trace, sleep))
			print_first_link(out, trace, sleep);
		break;
	}
}

void clew_print_activity(FILE *out, const struct clew_trace *trace,
			 const struct clew_segment *segment)
{
	if (segment->cycle && clew_trace_stuck_step(trace, segment->task)) {
		fputs("was in a ", out);
		clew_print_deadlock(out, trace, clew_trace_deadlock_of(trace, segment->task),
				    segment->task);
	} else if (segment->cycle) {
		fputs("waited in a circle", out);
		print_with_object(out, "on", trace, segment->sleep);
	} else if (segment->kind == CLEW_SEGMENT_RUNNING) {
		fputs("was running", out);
		clew_print_stay(out, segment->stay);
	} else if (segment->kind == CLEW_SEGMENT_RUNQUEUE) {
		print_runqueue(out, trace, segment);
	} else if (segment->kind == CLEW_WAIT_UNKNOWN) {
		print_unknown(out, trace, segment);
	} else {
		print_leaf(out, trace, segment);
	}
}

/*
 * By what means a task was woken. For a file, the call matters: the one who
 * unlocks it wakes tasks that wait in flock().
 */
static void print_means(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const char *call = sleep && sleep->object.kind == CLEW_OBJECT_FILE
				   ? clew_call_name(sleep->call)
				   : NULL;

	if (call)
		fprintf(out, " in %s", call);
	print_with_object(out, call ? "of" : "through", trace, sleep);
}

/* Prints what a segment's task then did, up to the name of the task that waited for it. */
static void print_deed(FILE *out, const struct clew_trace *trace,
		       const struct clew_segment *segment, const struct clew_sleep *sleep)
{
	switch (segment->via_type) {
	case CLEW_EDGE_UNLOCK:
		fputs("released the lock", out);
		/* The only locks that are known by a function alone are those of sockets. */
		if (sleep && sleep->object.kind == CLEW_OBJECT_FUNCTION)
			fputs(" of a socket", out);
		else
			print_with_object(out, "of", trace, sleep);
		fputs(" to ", out);
		break;
	case CLEW_EDGE_EXIT:
		fputs("ended, as ", out);
		break;
	case CLEW_EDGE_VFORK:
		fputs("ended or started a program, as ", out);
		break;
	case CLEW_EDGE_WORK:
		fputs(clew_segment_queues(sleep, segment) ? "queued the work that woke "
							  : "did the work that woke ",
		      out);
		break;
	case CLEW_EDGE_REQUEST:
		fputs(segment->via_evidence == CLEW_EVIDENCE_EXACT || clew_is_imported(trace)
			      ? "had its request done, as "
			      : "left a place at the full device, as ",
		      out);
		break;
	case CLEW_EDGE_TIMER:
		fputs("armed the timer of ", out);
		break;
	case CLEW_EDGE_SIGNAL:
		fputs("signalled ", out);
		break;
	case CLEW_EDGE_JOURNAL:
		fputs("committed the journal, as ", out);
		break;
	default:
		fputs(sleep && sleep->frozen ? "thawed " : "woke ", out);
		break;
	}
}

/* Prints the words behind the name of the task that waited. */
static void print_deed_end(FILE *out, const struct clew_trace *trace,
			   const struct clew_segment *segment, const struct clew_sleep *sleep,
			   uint32_t waiter)
{
	struct clew_commit commit;

	switch (segment->via_type) {
	case CLEW_EDGE_UNLOCK:
	case CLEW_EDGE_WORK:
	case CLEW_EDGE_TIMER:
	case CLEW_EDGE_SIGNAL:
		break;
	case CLEW_EDGE_EXIT:
	case CLEW_EDGE_VFORK:
	case CLEW_EDGE_REQUEST:
		fputs(" awaited", out);
		break;
	case CLEW_EDGE_JOURNAL:
		fputs(" awaited", out);
		clew_commit_find(trace, segment->task, sleep ? sleep->end : segment->end, waiter,
				 &commit);
		clew_print_commit(out, trace, &commit, segment->start);
		break;
	default:
		print_means(out, trace, sleep);
		break;
	}
}

/* The segment's task has the other end of what is waited for, or serves its file system. */
static void print_end(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment,
		      const struct clew_sleep *sleep, uint32_t waiter)
{
	if (segment->via_type == CLEW_EDGE_WAKE)
		fputs(" may wake from ", out);
	else
		fputs(segment->via_type == CLEW_EDGE_REQUEST ? ", which serves "
							     : " has the other end of ",
		      out);
	if (!sleep || !clew_waits_for_object(sleep) ||
	    !clew_print_object(out, trace, &sleep->object, sleep))
		fputs("what it polls", out);
	fputs(" that ", out);
	clew_print_task(out, trace, waiter, segment->start);
	clew_print_in_function(out, trace, waiter, segment->start);
	fputs(segment->via_type == CLEW_EDGE_REQUEST ? " waits for, " : " waits for, and ", out);
}

/* Prints what the segment's task has to do with the one that waits for it. */
static void print_relation(FILE *out, const struct clew_trace *trace,
			   const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = clew_segment_awaiting(trace, segment);
	uint32_t waiter = clew_segment_waiter(segment);

	if (clew_segment_holds(sleep, segment)) {
		fputs(" held the lock (", out);
		clew_print_object(out, trace, &sleep->object, sleep);
		fputs(") that ", out);
		clew_print_task(out, trace, waiter, segment->start);
		fputs(" wanted", out);
		clew_print_in_function(out, trace, waiter, segment->start);
		fputs(", and ", out);
		return;
	}
	if (sleep && clew_trace_tried(trace, sleep)) {
		fputs(clew_tried_relation(clew_trace_tried(trace, sleep)), out);
		clew_print_task(out, trace, waiter, segment->start);
		putc(' ', out);
		clew_print_tried(out, trace, clew_trace_tried(trace, sleep));
		fputs(", and ", out);
		return;
	}
	if (segment->by_end) {
		print_end(out, trace, segment, sleep, waiter);
		return;
	}
	if (segment->via_type == CLEW_EDGE_EXIT && sleep && sleep->end == CLEW_TIME_OPEN) {
		fputs(" is the child that ", out);
		clew_print_task(out, trace, waiter, segment->start);
		fputs(" waits for, and ", out);
		return;
	}
	sleep = sleep ? clew_trace_last_slice(trace, sleep) : NULL;
	fputs(", which then ", out);
	if (segment->via_type == CLEW_EDGE_FORK || segment->via_type == CLEW_EDGE_EXEC) {
		fputs(segment->via_type == CLEW_EDGE_FORK ? "started " : "went on as ", out);
		clew_print_task(out, trace, segment->born,
				clew_segment_awaited_until(trace, segment));
	} else {
		print_deed(out, trace, segment, sleep);
		clew_print_task(out, trace, waiter, segment->start);
		clew_print_in_function(out, trace, waiter, segment->start);
		print_deed_end(out, trace, segment, sleep, waiter);
		if (sleep && clew_trace_retried(trace, sleep))
			fputs(" after a wait in several calls", out);
	}
	fputs(", ", out);
}

char *clew_segment_text(const struct clew_trace *trace, const struct clew_relations *relations,
			const struct clew_segment *segment, const struct clew_beside *beside)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	clew_print_task(out, trace, segment->task, segment->end - 1);
	if (segment->called)
		clew_print_called(out, trace, relations, segment->called);
	else if (clew_segment_waiter(segment) != CLEW_NO_TASK)
		print_relation(out, trace, segment);
	else
		fputs(segment->kind == CLEW_SEGMENT_RUNNING ? " itself " : " ", out);
	clew_print_activity(out, trace, segment);
	clew_print_segment_function(out, trace, segment);
	if (!clew_has_functions(trace))
		clew_print_in_stack(out, ", in ", trace, clew_stack_sleep(segment));
	clew_print_activity_call(out, relations, segment);
	clew_print_perhaps(out, trace, relations, segment);
	clew_print_beside(out, trace, beside);
	clew_print_chain(out, trace, segment);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
