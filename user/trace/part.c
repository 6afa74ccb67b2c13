/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The findings of an interval. */
#include "trace/part.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/idle.h"
#include "trace/internal.h"
#include "trace/windows.h"

#define SIFT_LEAST 4096	     /* page extents: fewer are not worth a look */
#define LOOK_AGAIN 100000000 /* ns between two looks whether a thread's wait is over */

int trace_part_new(struct clew_trace *trace, uint64_t from, uint64_t to)
{
	struct trace_part *part = calloc(1, sizeof(*part));

	if (!part)
		return -ENOMEM;
	part->from = from > TRACE_PART_MARGIN ? from - TRACE_PART_MARGIN : 0;
	part->to = to < UINT64_MAX - TRACE_PART_MARGIN ? to + TRACE_PART_MARGIN : UINT64_MAX;
	part->look_at = to;
	part->finished.item = sizeof(uint64_t);
	part->sift_at = SIFT_LEAST;
	trace->part = part;
	return 0;
}

void trace_part_free(struct trace_part *part)
{
	if (!part)
		return;
	trace_recent_free(part->recent);
	map_done(&part->requests);
	map_done(&part->newest);
	map_done(&part->again);
	trace_pairs_done(&part->pairs);
	vector_done(&part->finished);
	free(part);
}

static bool overlaps(const struct trace_part *part, uint64_t start, uint64_t end)
{
	return end >= part->from && start <= part->to;
}

/* Finds the task of a piece that is not kept. The trace of all names has it even if no record is
 * about it. *ret_task NULL: the trace need not have it. 0 or -ENOMEM. */
static int find_passing(struct clew_trace *trace, uint32_t serial, struct trace_task **ret_task)
{
	*ret_task = trace->part->recent ? trace_task_get(trace, serial)
					: trace_task_find(trace, serial);
	return *ret_task || !trace->part->recent || trace_nobody(serial) ? 0 : -ENOMEM;
}

/* Notes what a piece of a timeline that is not kept says of its task's life. */
static int pass_piece(struct clew_trace *trace, uint32_t serial, uint64_t start, uint64_t end,
		      bool ready)
{
	struct trace_task *task;
	int r = find_passing(trace, serial, &task);

	if (task && end > task->passed)
		task->passed = end;
	/* A piece after the part says nothing of a birth that the part itself shows. */
	if (!task || (task->pieces.count && start > trace->part->from))
		return r;
	/* As in bound_timeline(): until it was made ready its creator was setting it up. */
	if (ready && !task->cut && !task->task.birth)
		task->made_ready = start;
	else if (ready && !task->cut && start > task->task.birth)
		task->task.birth = start;
	task->cut = true;
	return 0;
}

static int take_run(struct clew_trace *trace, const struct clew_run *run)
{
	struct trace_task *task;
	int r;

	if (overlaps(trace->part, run->start, run->end))
		return trace_take(trace, (struct clew_finding){CLEW_FINDING_RUN, .run = run});
	r = find_passing(trace, run->task, &task);
	if (task && run->ended == CLEW_RUN_EXITED)
		task->task.death = run->end;
	if (trace->part->works && run->end > trace->last_run)
		trace->last_run = run->end;
	if (task && trace->part->recent && run->end < trace->part->from)
		task->lead = *run;
	return r < 0 ? r : pass_piece(trace, run->task, run->start, run->end, false);
}

/* Keeps the run that came before a wait that began before the part. */
static int take_lead(struct clew_trace *trace, uint32_t serial, uint64_t start)
{
	struct trace_task *task = trace_task_find(trace, serial);
	struct clew_run lead;

	if (!task || !task->lead.end || task->lead.end > start)
		return 0;
	lead = task->lead;
	task->led = lead.end;
	task->lead.end = 0;
	/* The list of its CPU is in order of time, and begins with the part. */
	lead.cpu = UINT16_MAX;
	return trace_take(trace, (struct clew_finding){CLEW_FINDING_RUN, .run = &lead});
}

/* The trace's number of a request that is kept. 0 or -ENOMEM. */
static int own_number(struct trace_part *part, uint64_t number, uint64_t *ret_own)
{
	const uint64_t *known = map_get(&part->requests, number, 0);

	*ret_own = known ? *known : part->requests.count;
	return known ? 0 : map_set(&part->requests, number, 0, *ret_own);
}

/* Gives the requests that a sleep's links name the trace's numbers, and has them kept. */
static int renumber_links(struct clew_trace *trace, const struct clew_sleep *sleep)
{
	struct clew_link *links = (struct clew_link *)(uintptr_t)sleep->links;
	size_t count = links ? (size_t)sleep->link_count + sleep->and_count : 0;
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		if (links[i].kind == CLEW_LINK_REQUEST && links[i].number != CLEW_NO_REQUEST)
			r = own_number(trace->part, links[i].number, &links[i].number);
	}
	return r;
}

/* True if a wait, by all that a trace may find out of it, separates operations, is one for an
 * answer, or shows that one is. */
static bool may_separate(const struct clew_sleep *sleep)
{
	return sleep->open || sleep->kind == CLEW_WAIT_IDLE || sleep->kind == CLEW_WAIT_SIGNAL ||
	       sleep->kind == CLEW_WAIT_SLEEP || sleep->kind == CLEW_WAIT_SOCKET ||
	       sleep->kind == CLEW_WAIT_PIPE || sleep->kind == CLEW_WAIT_UNKNOWN ||
	       (sleep->kind == CLEW_WAIT_FUTEX && !sleep->holder_count) ||
	       operation_is_idle(sleep->kind, sleep->call, false, 0);
}

void trace_part_drop_works(struct clew_trace *trace)
{
	if (!trace->part->works)
		return;
	for (size_t i = 0; i < trace->tasks.count; i++) {
		trace_task_at(trace, i)->pieces.count = 0;
		trace_task_at(trace, i)->last_start = 0;
	}
	trace->sleeps.count = 0;
	trace->waited.count = 0;
	trace->last_run = 0;
	trace->part->sleeps = 0;
	trace->part->works = false;
}

/* Keeps a wait that may separate operations, without its holders and later links. A wait that does
 * not is kept if it is the first one behind such a wait: it shows that these do not follow each
 * other. */
static int keep_work(struct clew_trace *trace, const struct clew_sleep *sleep)
{
	struct trace_task *task = trace_task_get(trace, sleep->task);
	struct clew_sleep own = *sleep;

	if (!task)
		return trace_nobody(sleep->task) ? 0 : -ENOMEM;
	if (!may_separate(sleep) && task->pieces.count && sleep->start >= task->last_start &&
	    !may_separate(
		    trace_sleep_at(trace, task->pieces.data[task->pieces.count - 1] & PIECE_INDEX)))
		return 0;
	if (trace->part->sleeps == trace->part->works_most) {
		if (!trace->part->works_until)
			trace->part->works_until = sleep->start > TRACE_WORKS_LATE
							   ? sleep->start - TRACE_WORKS_LATE
							   : 1;
		return 0;
	}
	own.number = trace->part->sleeps++;
	own.holder_count = 0;
	own.link_count = own.link_count && own.links[0].kind == CLEW_LINK_TIMER;
	own.and_count = 0;
	/* A thread that waits for a lock's holder is not signalled: trace/rest.c asks. */
	if (sleep->holder_count)
		own.edge_type = CLEW_EDGE_UNLOCK;
	return trace_take(trace, (struct clew_finding){CLEW_FINDING_SLEEP, .sleep = &own});
}

static int take_sleep(struct clew_trace *trace, const struct clew_sleep *sleep)
{
	struct trace_part *part = trace->part;
	struct clew_sleep own = *sleep;
	int r;

	if (!overlaps(part, sleep->start, sleep->switch_in)) {
		r = pass_piece(trace, sleep->task, sleep->start,
			       sleep->end == CLEW_TIME_OPEN ? CLEW_TIME_OPEN : sleep->switch_in,
			       false);
		if (r == 0 && part->works)
			r = keep_work(trace, sleep);
		if (r < 0 || !part->recent || sleep->switch_in >= part->from)
			return r;
		return trace_exchange_pass(trace, sleep);
	}
	r = take_lead(trace, sleep->task, sleep->start);
	if (r < 0)
		return r;
	own.number = part->sleeps++;
	r = trace_take(trace, (struct clew_finding){CLEW_FINDING_SLEEP, .sleep = &own});
	return r < 0 ? r : renumber_links(trace, trace_sleep_at(trace, own.number));
}

static int take_ready(struct clew_trace *trace, const struct clew_ready *ready)
{
	if (overlaps(trace->part, ready->start, ready->end)) {
		int r = take_lead(trace, ready->task, ready->start);

		return r < 0 ? r
			     : trace_take(trace, (struct clew_finding){CLEW_FINDING_READY,
								       .ready = ready});
	}
	return pass_piece(trace, ready->task, ready->start, ready->end, true);
}

static uint64_t *finished_word(const struct trace_part *part, uint64_t number)
{
	size_t word = number / 64;

	return word < part->finished.count ? (uint64_t *)part->finished.data + word : NULL;
}

static int note_finished(struct trace_part *part, uint64_t number)
{
	struct vector *finished = &part->finished;
	size_t words = number / 64 + 1;
	int r = vector_reserve(finished, words);

	if (r < 0)
		return r;
	while (finished->count < words)
		((uint64_t *)finished->data)[finished->count++] = 0;
	*finished_word(part, number) |= 1ull << number % 64;
	return 0;
}

/* True if a request is over and is not kept. */
static bool is_past(const struct trace_part *part, uint64_t number)
{
	const uint64_t *word = finished_word(part, number);

	return word && *word >> number % 64 & 1 && !map_get(&part->requests, number, 0);
}

/* Notes when something was asked for that is later than what a map has. 0 or -ENOMEM. */
static int note_later(struct map *map, uint64_t key, uint32_t device, uint64_t at)
{
	uint64_t *known = map_get(map, key, device);

	if (!known)
		return map_set(map, key, device, at);
	*known = at > *known ? at : *known;
	return 0;
}

/* Notes what a request that is not kept says of others: see trace_finish_requests(). */
static int pass_request(struct clew_trace *trace, const struct clew_block_request *request)
{
	uint64_t at = trace_asked_at(request);
	int r;

	if (!request->completed)
		return 0;
	r = note_later(&trace->part->newest, request->device, 0, at);
	if (r == 0 && request->bytes && trace->gaps.count)
		r = note_later(&trace->part->again, request->sector, request->device, at);
	return r;
}

static int take_request(struct clew_trace *trace, const struct clew_block_request *request)
{
	struct trace_part *part = trace->part;
	struct clew_block_request own = *request;
	uint64_t begin = trace_asked_at(request),
		 end = request->completed ? request->completed + TRACE_PART_REQUESTS : UINT64_MAX;
	int r = note_finished(part, request->number);

	if (r < 0)
		return r;
	if (!overlaps(part, begin, end) && !map_get(&part->requests, own.number, 0))
		return pass_request(trace, request);
	r = own_number(part, request->number, &own.number);
	if (r < 0)
		return r;
	return trace_take(trace, (struct clew_finding){CLEW_FINDING_REQUEST, .request = &own});
}

/* Drops what belongs to requests that are over and are not kept. */
static void sift(struct clew_trace *trace)
{
	const struct trace_part *part = trace->part;
	struct clew_page_extent *extents = trace->page_extents.data;
	struct clew_below *below = trace->below.data;
	size_t kept = 0;

	for (size_t i = 0; i < trace->page_extents.count; i++)
		if (!is_past(part, extents[i].request))
			extents[kept++] = extents[i];
	trace->page_extents.count = kept;
	kept = 0;
	for (size_t i = 0; i < trace->below.count; i++)
		if (!is_past(part, below[i].upper) && !is_past(part, below[i].lower))
			below[kept++] = below[i];
	trace->below.count = kept;
}

/* Keeps what belongs to a request of which nothing is known yet, or that is kept. */
static int take_belonging(struct clew_trace *trace, struct clew_finding finding)
{
	struct trace_part *part = trace->part;
	uint64_t number =
		finding.tag == CLEW_FINDING_PAGES ? finding.pages->request : finding.below->upper;

	if (is_past(part, number))
		return 0;
	if (trace->page_extents.count + trace->below.count >= part->sift_at) {
		sift(trace);
		part->sift_at = 2 * (trace->page_extents.count + trace->below.count) + SIFT_LEAST;
	}
	return trace_take(trace, finding);
}

/* Records that are about a moment, and not about who or what something is. */
static bool is_momentary(const struct trace_part *part, const struct clew_header *record)
{
	return record->kind == CLEW_KIND_WAITED ||
	       (record->kind == CLEW_KIND_SAMPLE && !part->samples);
}

/* True if the stacks of all waits are kept, as some of them show a wait for work. */
static bool keeps_stacks(const struct trace_part *part, const struct clew_header *record)
{
	return part->works && record->kind == CLEW_KIND_WAITED && !part->works_until;
}

static bool edge_is_kept(const struct trace_part *part, const struct clew_edge *edge)
{
	/* These edges name the maker of a task, which is asked for at any time later. */
	if (edge->type == CLEW_EDGE_FORK || edge->type == CLEW_EDGE_EXEC)
		return true;
	return overlaps(part, edge->from_at, edge->to_at);
}

static bool is_kept(const struct trace_part *part, const struct clew_finding *finding)
{
	switch (finding->tag) {
	case CLEW_FINDING_IDENTITY:
		return !is_momentary(part, finding->identity) ||
		       finding->identity->time >= part->from ||
		       keeps_stacks(part, finding->identity);
	case CLEW_FINDING_EDGE:
		return edge_is_kept(part, finding->edge);
	case CLEW_FINDING_SPIN:
		return overlaps(part, finding->spin->start, finding->spin->end);
	case CLEW_FINDING_STAY:
		return overlaps(part, finding->stay->start, finding->stay->end);
	case CLEW_FINDING_TALLY:
		return overlaps(part, finding->tally->start, finding->tally->end);
	case CLEW_FINDING_FRAME:
		return overlaps(part, finding->frame->start, finding->frame->end);
	case CLEW_FINDING_TOUCH:
		/* An entry that was not used until now may be used in the rest of the capture. */
		return !(part->cut && finding->touch->event == CLEW_TOUCH_UNUSED) &&
		       overlaps(part, finding->touch->begin, finding->touch->end);
	default:
		return true;
	}
}

/* True if something that may be remembered was over before the part. */
static bool comes_before(const struct trace_part *part, const struct clew_finding *finding)
{
	switch (finding->tag) {
	case CLEW_FINDING_RUN:
		return finding->run->end < part->from;
	case CLEW_FINDING_STAY:
		return finding->stay->end < part->from;
	case CLEW_FINDING_TALLY:
		return finding->tally->end < part->from;
	case CLEW_FINDING_IDENTITY:
		return is_momentary(part, finding->identity) &&
		       finding->identity->time < part->from;
	default:
		return false;
	}
}

uint64_t clew_trace_works_until(const struct clew_trace *trace)
{
	return trace->part && trace->part->works_until ? trace->part->works_until : UINT64_MAX;
}

int trace_part_take(void *context, struct clew_finding finding)
{
	struct clew_trace *trace = context;
	struct trace_part *part = trace->part;
	int r = part->tell ? part->tell(part->tell_context, trace, &finding, part->here) : 0;

	if (r < 0)
		return r;
	if (part->recent && comes_before(part, &finding))
		trace_recent_note(part->recent, &finding);
	switch (finding.tag) {
	case CLEW_FINDING_RUN:
		return take_run(trace, finding.run);
	case CLEW_FINDING_SLEEP:
		return take_sleep(trace, finding.sleep);
	case CLEW_FINDING_READY:
		return take_ready(trace, finding.ready);
	case CLEW_FINDING_REQUEST:
		return take_request(trace, finding.request);
	case CLEW_FINDING_PAGES:
	case CLEW_FINDING_BELOW:
		return take_belonging(trace, finding);
	default:
		return is_kept(part, &finding) ? trace_take(trace, finding) : 0;
	}
}

struct thread_look {
	const struct clew_trace *trace;
	uint64_t to;
	uint32_t thread;
	bool waits;
};

/* Notes that the thread is in a wait that began in the interval or before. */
static int look_at_open(void *context, struct clew_finding finding)
{
	struct thread_look *look = context;
	bool ready = finding.tag == CLEW_FINDING_READY;
	uint64_t start = ready ? finding.ready->start : finding.sleep->start;
	const struct clew_trace_task *task =
		clew_trace_task(look->trace, ready ? finding.ready->task : finding.sleep->task);

	look->waits |= task && task->tid == look->thread && start <= look->to;
	return 0;
}

static bool has_thread(const struct clew_trace *trace, uint32_t thread)
{
	for (size_t i = 0, count = clew_trace_task_count(trace); i < count; i++)
		if (clew_trace_task_at(trace, i)->tid == thread)
			return true;
	return false;
}

bool trace_part_is_over(struct clew_trace *trace, const struct clew_builder *builder,
			uint32_t thread, uint64_t time)
{
	struct trace_part *part = trace->part;
	struct thread_look look = {
		.trace = trace, .to = part->to - TRACE_PART_MARGIN, .thread = thread};

	part->look_at = time + LOOK_AGAIN;
	clew_builder_open(builder, look_at_open, &look);
	if (look.waits || !has_thread(trace, thread))
		part->over_at = 0;
	else if (!part->over_at)
		part->over_at = time;
	part->early = part->over_at && time >= part->over_at + TRACE_PART_MARGIN;
	return part->early;
}

static uint64_t number_of(const struct trace_part *part, uint64_t number)
{
	const uint64_t *own = map_get(&part->requests, number, 0);

	return own ? *own : CLEW_NO_REQUEST;
}

void trace_part_finish(struct clew_trace *trace)
{
	const struct trace_part *part = trace->part;
	struct clew_page_extent *extents = trace->page_extents.data;
	struct clew_below *below = trace->below.data;

	for (size_t i = 0; i < trace->page_extents.count; i++)
		extents[i].request = number_of(part, extents[i].request);
	for (size_t i = 0; i < trace->below.count; i++)
		below[i] = (struct clew_below){.upper = number_of(part, below[i].upper),
					       .lower = number_of(part, below[i].lower)};
}
