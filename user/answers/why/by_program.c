/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The shares of programs in a why. */
#include "answers/why/by_program.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/text.h"
#include "words/file.h"
#include "words/functions.h"
#include "words/segment.h"
#include "words/segment_text.h"
#include "words/task.h"

/* The task that had the CPU while another one was ready. */
enum holder {
	HOLDER_NONE, /* the task was not ready */
	HOLDER_UNKNOWN,
	HOLDER_IDLE,
	HOLDER_SELF,
	HOLDER_TASK,
};

struct entry {
	const struct clew_segment *segment;
	const char *comm, *by_comm;
	uint32_t device;
	uint8_t kind;
	uint8_t holder;
	bool own; /* it is the time of the task that is explained */
};

static uint32_t device_of(const struct clew_trace *trace, const struct clew_segment *segment)
{
	const struct clew_trace_request *request = clew_segment_request(trace, segment->link);

	return request && (segment->kind == CLEW_SEGMENT_DEVICE ||
			   segment->kind == CLEW_SEGMENT_QUEUED)
		       ? request->block.device
		       : 0;
}

static enum holder holder_of(const struct clew_segment *segment)
{
	if (segment->kind != CLEW_SEGMENT_RUNQUEUE)
		return HOLDER_NONE;
	if (segment->by == UINT32_MAX)
		return HOLDER_UNKNOWN;
	if (segment->by == CLEW_NO_TASK)
		return HOLDER_IDLE;
	return segment->by == segment->task ? HOLDER_SELF : HOLDER_TASK;
}

static int compare_shares(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->own != y->own)
		return x->own ? -1 : 1;
	if (x->holder != y->holder)
		return x->holder < y->holder ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return strcmp(x->comm, y->comm) ?: strcmp(x->by_comm, y->by_comm);
}

static int compare_entries(const void *a, const void *b)
{
	const struct clew_segment *x = ((const struct entry *)a)->segment,
				  *y = ((const struct entry *)b)->segment;
	int order = compare_shares(a, b);

	if (order)
		return order;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return (x > y) - (x < y);
}

static int compare_by(const void *a, const void *b)
{
	uint32_t x = ((const struct entry *)a)->segment->by,
		 y = ((const struct entry *)b)->segment->by;

	return (x > y) - (x < y);
}

static int largest_first(const void *a, const void *b)
{
	const struct clew_program_share *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->longest > y->longest) - (x->longest < y->longest);
}

/*
 * Adds up the entries of one share, which are in order of their tasks; sorts
 * them by the task that had the CPU.
 */
static struct clew_program_share add_up(struct entry *entries, size_t count)
{
	struct clew_program_share share = {.longest = entries[0].segment, .segments = count};

	for (size_t i = 0; i < count; i++) {
		const struct clew_segment *segment = entries[i].segment;
		uint64_t ns = segment->end - segment->start;

		share.ns += ns;
		share.tasks += !i || segment->task != entries[i - 1].segment->task;
		if (ns > share.longest->end - share.longest->start)
			share.longest = segment;
	}
	if (entries[0].holder != HOLDER_TASK)
		return share;
	qsort(entries, count, sizeof(*entries), compare_by);
	for (size_t i = 0; i < count; i++)
		share.by += !i || entries[i].segment->by != entries[i - 1].segment->by;
	return share;
}

int clew_by_program_make(const struct clew_trace *trace, const struct clew_why *why,
			 struct clew_program_share **ret_shares, size_t *ret_count)
{
	struct entry *entries = calloc(why->segment_count + 1, sizeof(*entries));
	struct clew_program_share *shares = calloc(why->segment_count + 1, sizeof(*shares));
	size_t count = 0;

	if (!entries || !shares) {
		free(entries);
		free(shares);
		return -ENOMEM;
	}
	for (size_t i = 0; i < why->segment_count; i++) {
		const struct clew_segment *segment = &why->segments[i];
		enum holder holder = holder_of(segment);

		entries[i] = (struct entry){
			.segment = segment,
			.kind = segment->kind,
			.own = segment->task == why->task,
			.holder = holder,
			.device = device_of(trace, segment),
			.comm = segment->task == why->task
					? ""
					: clew_trace_comm_at(trace, segment->task,
							     segment->end - 1),
			.by_comm = holder == HOLDER_TASK
					   ? clew_trace_comm_at(trace, segment->by, segment->start)
					   : "",
		};
	}
	qsort(entries, why->segment_count, sizeof(*entries), compare_entries);
	for (size_t from = 0, to; from < why->segment_count; from = to) {
		for (to = from + 1;
		     to < why->segment_count && !compare_shares(&entries[from], &entries[to]);)
			to++;
		shares[count++] = add_up(entries + from, to - from);
	}
	qsort(shares, count, sizeof(*shares), largest_first);
	free(entries);
	*ret_shares = shares;
	*ret_count = count;
	return 0;
}

/* One task, or the name that several have in common. */
static void print_tasks(FILE *out, const struct clew_trace *trace, uint32_t task, uint64_t at,
			size_t count)
{
	if (count == 1) {
		clew_print_task(out, trace, task, at);
		return;
	}
	clew_print_safe(out, clew_trace_comm_at(trace, task, at));
	fprintf(out, " (%zu tasks)", count);
}

void clew_print_broadly(FILE *out, const struct clew_trace *trace,
			const struct clew_segment *segment)
{
	uint32_t device = device_of(trace, segment);

	if (segment->kind == CLEW_SEGMENT_RUNQUEUE) {
		clew_print_ready(out, NULL, segment, "its CPU");
	} else if (segment->kind == CLEW_SEGMENT_RUNNING) {
		fputs("was running", out);
	} else if (segment->kind == CLEW_SEGMENT_DEVICE && device) {
		fprintf(out, "had %s busy with requests", CLEW_DISK(trace, device));
	} else if (segment->kind == CLEW_SEGMENT_QUEUED && device) {
		fprintf(out, "had requests not yet issued to %s", CLEW_DISK(trace, device));
	} else if (segment->kind == CLEW_WAIT_UNKNOWN) {
		fputs("waited for what cannot be followed", out);
	} else {
		fprintf(out, "waited (%s)", clew_wait_kind_name(segment->kind));
	}
}

/* The functions in which a share's tasks ran; nothing where memory is short. */
static void print_share_functions(FILE *out, const struct clew_trace *trace,
				  const struct clew_why *why, const struct clew_segment *longest)
{
	const struct clew_segment **same = NULL;
	const char *comm = clew_trace_comm_at(trace, longest->task, longest->end - 1);
	size_t count = 0;

	if (longest->kind == CLEW_SEGMENT_RUNNING && clew_has_functions(trace))
		same = calloc(why->segment_count, sizeof(*same));
	for (size_t i = 0; same && i < why->segment_count; i++) {
		const struct clew_segment *segment = &why->segments[i];

		if (segment->kind == longest->kind &&
		    (segment->task == why->task) == (longest->task == why->task) &&
		    (segment->task == why->task ||
		     !strcmp(comm, clew_trace_comm_at(trace, segment->task, segment->end - 1))))
			same[count++] = segment;
	}
	if (count)
		clew_print_functions(out, trace, same, count);
	free(same);
}

void clew_print_program_share(FILE *out, const struct clew_trace *trace, const struct clew_why *why,
			      const struct clew_program_share *share)
{
	const struct clew_segment *segment = share->longest;

	print_tasks(out, trace, segment->task, segment->end - 1, share->tasks);
	fputs(segment->kind == CLEW_SEGMENT_RUNNING && segment->task == why->task ? " itself "
										  : " ",
	      out);
	clew_print_broadly(out, trace, segment);
	if (holder_of(segment) == HOLDER_TASK)
		print_tasks(out, trace, segment->by, segment->start, share->by);
	print_share_functions(out, trace, why, segment);
}

void clew_json_program_share(struct clew_json *json, const struct clew_trace *trace,
			     const struct clew_why *why, const struct clew_program_share *share)
{
	const struct clew_segment *longest = share->longest;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out) {
		clew_print_program_share(out, trace, why, share);
		fclose(out);
	}
	clew_json_object(json, NULL);
	clew_json_unsigned(json, "ns", share->ns);
	clew_json_string(json, "text", text);
	clew_json_number(json, "share", (double)share->ns / (double)(why->to - why->from));
	clew_json_string(json, "kind", clew_wait_kind_name(longest->kind));
	clew_json_string(json, "comm", clew_trace_comm_at(trace, longest->task, longest->end - 1));
	clew_json_unsigned(json, "tasks", share->tasks);
	clew_json_string(json, "by",
			 share->by ? clew_trace_comm_at(trace, longest->by, longest->start) : NULL);
	clew_json_unsigned(json, "by_tasks", share->by);
	clew_json_unsigned(json, "segments", share->segments);
	clew_json_object_end(json);
	free(text);
}
