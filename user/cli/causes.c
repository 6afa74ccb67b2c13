// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The segments of a why in words, and the causes they add up to.
 *
 * A segment of another task is told with what it has to do with the waiting one:
 * the last of the chain sleeps then, and that sleep says on what, and who held it.
 */
#include "causes.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"
#include "called.h"
#include "commit.h"
#include "link.h"
#include "object.h"
#include "text.h"
#include "writers.h"

static const struct clew_trace_request *request_of(const struct clew_trace *trace, const struct clew_link *link)
{
	const struct clew_trace_request *requests;
	size_t count;

	if (!link || link->kind != CLEW_LINK_REQUEST)
		return NULL;
	requests = clew_trace_requests(trace, &count);
	return link->number < count ? &requests[link->number] : NULL;
}

/* Whether all that was asked for below a segment's request was over by then. */
static bool is_done_below(const struct clew_trace *trace, const struct clew_segment *segment)
{
	const struct clew_trace_request *upper = request_of(trace, segment->link), *requests;
	size_t count;

	if (segment->kind != CLEW_SEGMENT_DEVICE || segment->below || !upper || !upper->lower_count)
		return false;
	requests = clew_trace_requests(trace, &count);
	for (uint32_t i = 0; i < upper->lower_count; i++)
		if (upper->lower[i] < count &&
		    (!requests[upper->lower[i]].block.completed || requests[upper->lower[i]].block.completed > segment->start))
			return false;
	return true;
}

/* The task that waits for the segment's, CLEW_NO_TASK where there is none. A task that sleeps is the last of the chain itself. */
static uint32_t waiter_of(const struct clew_segment *segment)
{
	uint32_t length = segment->chain_length;

	if (length && segment->chain[length - 1] == segment->task)
		length--;
	return length ? segment->chain[length - 1] : CLEW_NO_TASK;
}

/* The sleep of the waiting task during a segment, or NULL. */
static const struct clew_sleep *awaiting_sleep(const struct clew_trace *trace, const struct clew_segment *segment)
{
	uint32_t waiter = waiter_of(segment);
	struct clew_piece piece;

	if (waiter == CLEW_NO_TASK || !clew_trace_piece(trace, waiter, segment->start, false, &piece))
		return NULL;
	return piece.kind == CLEW_PIECE_SLEEP ? piece.sleep : NULL;
}

/* Whether a segment that led to a wait by a work item is from before the item was queued: then it is not its worker's. */
static bool is_queuer(const struct clew_sleep *sleep, const struct clew_segment *segment)
{
	return segment->via_type == CLEW_EDGE_WORK && sleep && sleep->edge_type == CLEW_EDGE_WORK && sleep->link_count &&
	       segment->start < sleep->links[sleep->link_count - 1].at;
}

uint64_t clew_awaited_until(const struct clew_trace *trace, const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = awaiting_sleep(trace, segment);

	return sleep ? sleep->end : CLEW_TIME_OPEN;
}

static bool holds(const struct clew_sleep *sleep, const struct clew_segment *segment)
{
	for (uint32_t i = 0; sleep && i < sleep->holder_count; i++)
		if (sleep->holders[i].task == segment->task && sleep->holders[i].from <= segment->start &&
		    segment->start < sleep->holders[i].to)
			return true;
	return false;
}

/* " of OBJECT", " on OBJECT": nothing where there is no object. */
static void print_with_object(FILE *out, const char *word, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (!sleep || !clew_waits_for_object(sleep))
		return;
	fprintf(out, " %s ", word);
	clew_print_object(out, trace, &sleep->object, sleep);
}

static void print_runqueue(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment)
{
	struct clew_piece piece = {.cpu = UINT16_MAX};
	char cpu[24] = "its CPU";

	if (clew_trace_piece(trace, segment->task, segment->start, false, &piece) && piece.cpu != UINT16_MAX)
		snprintf(cpu, sizeof(cpu), "CPU %u", piece.cpu);
	if (segment->by == UINT32_MAX && piece.cpu == UINT16_MAX) {
		fputs("was ready but had no CPU", out);
	} else if (segment->by == UINT32_MAX) {
		fprintf(out, "was ready, but who had %s is unknown", cpu);
	} else if (segment->by == CLEW_NO_TASK) {
		fprintf(out, "was ready and %s idle, on its way to run", cpu);
	} else if (segment->by == segment->task) {
		fprintf(out, "was ready, %s just leaving it", cpu);
	} else {
		fprintf(out, "was ready but %s was busy with ", cpu);
		clew_print_task(out, trace, segment->by, segment->start);
	}
}

/* " in CALL for OBJECT", or of what kind the wait is if neither is known. */
static void print_wait(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep, unsigned kind)
{
	const char *call = sleep ? clew_call_name(sleep->call) : NULL;
	bool has_object = sleep && clew_waits_for_object(sleep);

	fputs("waited", out);
	if (call && sleep->object.kind != CLEW_OBJECT_FUTEX)
		fprintf(out, " in %s", call);
	print_with_object(out, "for", trace, sleep);
	if (!call && !has_object)
		fprintf(out, " (%s)", clew_wait_kind_name(kind));
}

static void print_unknown(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = segment->sleep;

	if (!sleep) {
		fputs("did something that the capture does not show", out);
		return;
	}
	print_wait(out, trace, sleep, segment->unknown_kind);
	if (sleep->end == CLEW_TIME_OPEN)
		fputs(", and the capture ended first", out);
	else if (sleep->context != CLEW_WAKE_TASK && sleep->context != CLEW_WAKE_UNKNOWN)
		fprintf(out, ", and an interrupt ended it (%s)", clew_context_name(sleep->context));
	else
		fputs(", and what ended it is unknown", out);
}

static void print_link(FILE *out, const struct clew_trace *trace, const struct clew_link *link)
{
	struct clew_object object = clew_link_object(link);

	clew_print_object(out, trace, &object, NULL);
}

/* What a request is about, without its place: many of one kind are one cause. */
static void print_request(FILE *out, const struct clew_trace *trace, const struct clew_link *link)
{
	const struct clew_trace_request *request = request_of(trace, link);
	const struct clew_block_request *block = request ? &request->block : NULL;
	bool is_journal, on_disk;

	if (!block) {
		fputs("a request", out);
		return;
	}
	is_journal = block->reason == CLEW_REQUEST_REASON_JOURNAL;
	if (block->swap && block->bytes) {
		bool out_of = strcmp(clew_request_operation_name(block->operation, block->bytes), "read") != 0;

		fprintf(out, "a swap-%s %s", out_of ? "out to" : "in from", CLEW_DISK(trace, block->device));
		return;
	}
	if (block->bytes == 0)
		fprintf(out, "a cache flush of %s", CLEW_DISK(trace, block->device));
	else
		fprintf(out, "a %s%s on %s", clew_request_operation_name(block->operation, block->bytes),
			is_journal ? " to the journal" : "", CLEW_DISK(trace, block->device));
	on_disk = clew_is_disk_inode(block->file_device, block->inode);
	if (block->inode && !(is_journal && on_disk) &&
	    (on_disk || clew_file_path(trace, block->file_device, block->inode, block->queued))) {
		fputs(" for ", out);
		clew_print_file(out, trace, block->file_device, block->inode, block->queued);
	}
	clew_print_other_writers(out, trace, link->number);
}

/* Waits that have a step or a lock of their own to tell of. True: told. */
static bool print_step(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment)
{
	if (segment->spin) {
		const struct clew_spin *spin = segment->spin;
		struct clew_object object = {.kind = CLEW_OBJECT_LOCK, .number = spin->lock, .device = spin->type, .descriptor = -1};

		fputs("was spinning for a kernel lock (", out);
		clew_print_object(out, trace, &object, NULL);
		fputc(')', out);
		if (spin->holder != CLEW_NO_TASK) {
			fputs(" that ", out);
			clew_print_task(out, trace, spin->holder, spin->start);
			fputs(" had", out);
		}
		return true;
	}
	if (segment->kind == CLEW_SEGMENT_DEVICE || segment->kind == CLEW_SEGMENT_QUEUED) {
		fputs(segment->kind == CLEW_SEGMENT_DEVICE ? "had the device busy with " : "had, not yet issued to the device, ", out);
		print_request(out, trace, segment->link);
		if (segment->below) {
			fputs(", by way of ", out);
			print_request(out, trace, segment->below);
		} else if (is_done_below(trace, segment)) {
			fputs(", done on the disk below and not yet told", out);
		}
		return true;
	}
	if (segment->kind == CLEW_WAIT_WORK && segment->link) {
		fputs("waited for a worker to begin ", out);
		print_link(out, trace, segment->link);
		if (segment->link->flags & CLEW_LINK_RESCUER)
			fputs(", which a rescuer did for want of memory", out);
		return true;
	}
	if (segment->late) {
		bool sleeps = segment->kind == CLEW_WAIT_SLEEP;

		fprintf(out, "%s on past ", sleeps ? "slept" : "waited");
		if (clew_is_own_timeout(trace, segment->sleep)) {
			fputs(sleeps ? "its time, " : "its timeout, ", out);
		} else {
			fputs("the time of ", out);
			clew_print_timer(out, trace, segment->sleep);
			fputs(", ", out);
		}
		fputs(segment->late == CLEW_LATE_SLACK ? "within its timer's slack" : "as the timer's interrupt came late", out);
		return true;
	}
	if (segment->kind == CLEW_WAIT_THROTTLE && segment->sleep && segment->sleep->object.kind == CLEW_OBJECT_CGROUP) {
		fputs("was kept off the CPU: the quota is used up of ", out);
		clew_print_object(out, trace, &segment->sleep->object, segment->sleep);
		return true;
	}
	return false;
}

/* Of a wait that a timer ended. */
static void print_until(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	fputs(", until ", out);
	clew_print_timer(out, trace, sleep);
	if (!clew_is_own_timeout(trace, sleep))
		fputs(" went off", out);
}

static void print_leaf(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = segment->sleep;
	const char *call = sleep ? clew_call_name(sleep->call) : NULL;
	bool by_timer = sleep && sleep->link_count && sleep->links[0].kind == CLEW_LINK_TIMER;

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
		fputs("slept", out);
		if (call)
			fprintf(out, " in %s", call);
		if (by_timer && !clew_is_own_timeout(trace, sleep))
			print_until(out, trace, sleep);
		break;
	case CLEW_WAIT_IDLE:
		fputs("was idle", out);
		break;
	case CLEW_WAIT_STOPPED:
		fputs("was stopped", out);
		break;
	case CLEW_WAIT_THROTTLE:
		if (sleep && sleep->object.kind == CLEW_OBJECT_DEVICE) {
			fprintf(out, "was slowed down in %s, as too much is dirty for %s", call ?: "the kernel",
				CLEW_DISK(trace, sleep->object.device));
			break;
		}
		if (sleep && sleep->flags & CLEW_WAIT_FLAG_IOWAIT) {
			fprintf(out, "was held back in %s", call ?: "the kernel");
			print_with_object(out, "of", trace, sleep);
			fputs(", as its disk has enough to write", out);
			break;
		}
		print_wait(out, trace, sleep, segment->kind);
		break;
	default:
		print_wait(out, trace, sleep, segment->kind);
		if (by_timer)
			print_until(out, trace, sleep);
		else if (sleep && sleep->link_count && sleep->links[0].kind == CLEW_LINK_PACKET)
			fputs(", a packet being on its way", out);
		else if (sleep && sleep->link_count && sleep->links[0].kind == CLEW_LINK_IRQ) {
			fputs(", for what came from outside by ", out);
			clew_print_first_link(out, trace, sleep);
		}
		break;
	}
}

void clew_print_activity(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment)
{
	if (segment->cycle) {
		fputs("waited in a circle (deadlock)", out);
		print_with_object(out, "on", trace, segment->sleep);
	} else if (segment->kind == CLEW_SEGMENT_RUNNING) {
		fputs("was running", out);
	} else if (segment->kind == CLEW_SEGMENT_RUNQUEUE) {
		print_runqueue(out, trace, segment);
	} else if (segment->kind == CLEW_WAIT_UNKNOWN) {
		print_unknown(out, trace, segment);
	} else {
		print_leaf(out, trace, segment);
	}
}

/* What the segment's task has to do with the one that waits for it. */
static void print_relation(FILE *out, const struct clew_trace *trace, const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = awaiting_sleep(trace, segment);
	uint32_t waiter = waiter_of(segment);
	struct clew_commit commit;

	if (holds(sleep, segment)) {
		fputs(" held the lock (", out);
		clew_print_object(out, trace, &sleep->object, sleep);
		fputs(") that ", out);
		clew_print_task(out, trace, waiter, segment->start);
		fputs(" wanted, and ", out);
		return;
	}
	fputs(", which then ", out);
	switch (segment->via_type) {
	case CLEW_EDGE_UNLOCK:
		fputs("released the lock", out);
		/* Of locks that no tracepoint tells of only a socket's is known by its function. */
		if (sleep && sleep->object.kind == CLEW_OBJECT_FUNCTION)
			fputs(" of a socket", out);
		else
			print_with_object(out, "of", trace, sleep);
		fputs(" to ", out);
		clew_print_task(out, trace, waiter, segment->start);
		break;
	case CLEW_EDGE_FORK:
	case CLEW_EDGE_EXEC:
		fputs(segment->via_type == CLEW_EDGE_FORK ? "started " : "went on as ", out);
		clew_print_task(out, trace, segment->born, clew_awaited_until(trace, segment));
		break;
	case CLEW_EDGE_EXIT:
	case CLEW_EDGE_VFORK:
		fputs(segment->via_type == CLEW_EDGE_EXIT ? "ended, as " : "ended or started a program, as ", out);
		clew_print_task(out, trace, waiter, segment->start);
		fputs(" awaited", out);
		break;
	case CLEW_EDGE_WORK:
		fputs(is_queuer(sleep, segment) ? "queued the work that woke " : "did the work that woke ", out);
		clew_print_task(out, trace, waiter, segment->start);
		break;
	case CLEW_EDGE_REQUEST:
		fputs(segment->via_evidence == CLEW_EVIDENCE_EXACT ? "had its request done, as " : "left a place at the full device, as ",
		      out);
		clew_print_task(out, trace, waiter, segment->start);
		fputs(" awaited", out);
		break;
	case CLEW_EDGE_TIMER:
		fputs("armed the timer of ", out);
		clew_print_task(out, trace, waiter, segment->start);
		break;
	case CLEW_EDGE_SIGNAL:
		fputs("signalled ", out);
		clew_print_task(out, trace, waiter, segment->start);
		break;
	case CLEW_EDGE_JOURNAL:
		clew_commit_find(trace, segment->task, sleep ? sleep->end : segment->end, waiter, &commit);
		fputs("committed the journal, as ", out);
		clew_print_task(out, trace, waiter, segment->start);
		fputs(" awaited", out);
		clew_print_commit(out, trace, &commit, segment->start);
		break;
	default:
		fputs("woke ", out);
		clew_print_task(out, trace, waiter, segment->start);
		print_with_object(out, "through", trace, sleep);
		break;
	}
	fputs(", ", out);
}

static char *cause_text(const struct clew_trace *trace, const struct clew_relations *relations, const struct clew_segment *segment,
			const struct clew_beside *beside)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	clew_print_task(out, trace, segment->task, segment->end - 1);
	if (segment->called)
		clew_print_called(out, trace, relations, segment->called);
	else if (waiter_of(segment) != CLEW_NO_TASK)
		print_relation(out, trace, segment);
	else
		fputs(segment->kind == CLEW_SEGMENT_RUNNING ? " itself " : " ", out);
	clew_print_activity(out, trace, segment);
	clew_print_activity_call(out, relations, segment);
	clew_print_perhaps(out, trace, relations, segment);
	clew_print_beside(out, trace, beside);
	return fclose(out) == 0 ? text : NULL;
}

/* Everything that cause_text() looks at, but for names: equal keys have equal words. */
struct cause_key {
	uint32_t task;
	uint32_t by;
	uint32_t waiter;
	uint32_t born;
	uint16_t cpu;
	uint16_t call;
	uint8_t kind;
	uint8_t unknown_kind;
	int8_t via_type;
	uint8_t via_evidence; /* of a request */
	bool cycle;
	bool holds;
	bool queues;
	uint8_t late;
	uint8_t object_kind;
	uint8_t awaited_kind;
	uint8_t end;  /* how an unknown wait ended */
	uint8_t step; /* through what */
	uint32_t device;
	uint32_t awaited_device;
	uint32_t writers[8]; /* of a request */
	uint32_t below_writers[8];
	uint32_t below_device;
	uint32_t below_file_device;
	uint8_t below_operation;
	uint8_t below_step;
	bool below_flush;
	bool done_below;
	uint64_t below;
	struct clew_commit commit;
	uint64_t object;
	uint64_t awaited;
	struct clew_call_key called, perhaps;
	uint64_t activity; /* name of the call */
	uint64_t timer;
	uint32_t armed_by;
};

struct keyed_segment {
	struct cause_key key;
	const struct clew_segment *segment;
};

/* What print_request() says of a request's reason. */
static uint8_t step_of(const struct clew_block_request *block)
{
	return block->reason == CLEW_REQUEST_REASON_JOURNAL ? 1 : block->swap ? 2 : 0;
}

static void key_request(const struct clew_trace *trace, const struct clew_segment *segment, const struct clew_block_request *block,
			struct cause_key *key)
{
	const struct clew_trace_request *below = request_of(trace, segment->below);

	key->object_kind = CLEW_OBJECT_REQUEST;
	key->device = block->device;
	key->object = block->inode;
	key->by = block->file_device;
	key->call = block->operation & 0xff;
	key->end = block->bytes == 0;
	key->step = step_of(block);
	key->done_below = is_done_below(trace, segment);
	if (below) {
		key->below_device = below->block.device;
		key->below_flush = below->block.bytes == 0;
		key->below_operation = below->block.operation & 0xff;
		key->below_step = step_of(&below->block);
		key->below_file_device = below->block.file_device;
		key->below = below->block.inode;
		clew_request_writers(trace, segment->below->number, key->below_writers,
				     sizeof(key->below_writers) / sizeof(key->below_writers[0]));
	}
	clew_request_writers(trace, segment->link->number, key->writers, sizeof(key->writers) / sizeof(key->writers[0]));
}

static void make_key(const struct clew_trace *trace, const struct clew_relations *relations, const struct clew_segment *segment,
		     struct cause_key *key)
{
	const struct clew_sleep *awaiting = awaiting_sleep(trace, segment);
	const struct clew_trace_request *request = request_of(trace, segment->link);
	const struct clew_sleep *sleep = segment->sleep;
	struct clew_piece piece;

	/* Padding takes part in the comparison. */
	memset(key, 0, sizeof(*key));
	key->task = segment->task;
	key->kind = segment->kind;
	key->cycle = segment->cycle;
	key->late = segment->late;
	key->via_type = segment->via_type;
	key->via_evidence = segment->via_type == CLEW_EDGE_REQUEST ? segment->via_evidence : 0;
	key->waiter = waiter_of(segment);
	key->born = segment->born;
	key->holds = holds(awaiting, segment);
	key->queues = is_queuer(awaiting, segment);
	clew_call_key(relations, segment->called, &key->called);
	clew_call_key(relations, segment->perhaps, &key->perhaps);
	key->activity = segment->activity ? segment->activity->name : 0;
	if (segment->kind == CLEW_SEGMENT_RUNQUEUE) {
		key->by = segment->by;
		key->cpu = clew_trace_piece(trace, segment->task, segment->start, false, &piece) ? piece.cpu : UINT16_MAX;
	}
	if (segment->via_type == CLEW_EDGE_JOURNAL)
		clew_commit_find(trace, segment->task, awaiting ? awaiting->end : segment->end, key->waiter, &key->commit);
	if (awaiting) {
		key->awaited_kind = awaiting->object.kind;
		key->awaited_device = awaiting->object.device;
		key->awaited = awaiting->object.number;
	}
	if (segment->spin) {
		key->object_kind = CLEW_OBJECT_LOCK;
		key->object = segment->spin->lock;
		key->device = segment->spin->type;
		key->by = segment->spin->holder;
	} else if (request) {
		key_request(trace, segment, &request->block, key);
	} else if (segment->link) {
		key->object_kind = CLEW_OBJECT_WORK;
		key->object = segment->link->number;
	} else if (sleep && segment->kind != CLEW_SEGMENT_RUNNING && segment->kind != CLEW_SEGMENT_RUNQUEUE) {
		key->unknown_kind = segment->unknown_kind;
		key->call = sleep->call;
		key->end = sleep->end == CLEW_TIME_OPEN ? UINT8_MAX : sleep->context;
		key->step = sleep->link_count ? sleep->links[0].kind : 0;
		if (key->step == CLEW_LINK_TIMER) {
			key->timer = sleep->links[0].number;
			key->armed_by = sleep->links[0].task;
		}
		key->object_kind = sleep->object.kind;
		key->device = sleep->object.device;
		key->object = sleep->object.number;
	}
}

static int compare_keys(const void *a, const void *b)
{
	const struct keyed_segment *one = a, *other = b;
	int order = memcmp(&one->key, &other->key, sizeof(one->key));

	return order ?: (one->segment > other->segment) - (one->segment < other->segment);
}

static int compare_causes(const void *a, const void *b)
{
	const struct clew_why_cause *one = a, *other = b;

	if (one->ns != other->ns)
		return one->ns < other->ns ? 1 : -1;
	return (one->first > other->first) - (one->first < other->first);
}

int clew_causes_make(const struct clew_trace *trace, const struct clew_relations *relations, const struct clew_why *why,
		     struct clew_why_cause **ret_causes, size_t *ret_count)
{
	struct keyed_segment *keyed = calloc(why->segment_count + 1, sizeof(*keyed));
	struct clew_why_cause *causes = calloc(why->segment_count + 1, sizeof(*causes));
	const struct clew_segment **same = calloc(why->segment_count + 1, sizeof(*same));
	size_t count = 0;

	if (!keyed || !causes || !same)
		goto no_memory;
	for (size_t i = 0; i < why->segment_count; i++) {
		keyed[i].segment = &why->segments[i];
		make_key(trace, relations, keyed[i].segment, &keyed[i].key);
	}
	qsort(keyed, why->segment_count, sizeof(*keyed), compare_keys);
	for (size_t i = 0; i < why->segment_count; i++)
		same[i] = keyed[i].segment;
	for (size_t from = 0, to; from < why->segment_count; from = to) {
		struct clew_why_cause *cause = &causes[count++];
		const struct clew_segment *longest = same[from];
		struct clew_beside beside;

		cause->first = same[from];
		for (to = from; to < why->segment_count && !memcmp(&keyed[to].key, &keyed[from].key, sizeof(keyed[to].key)); to++) {
			cause->ns += same[to]->end - same[to]->start;
			cause->segments++;
			/* Of several names that a task had, the one it had longest. */
			if (same[to]->end - same[to]->start > longest->end - longest->start)
				longest = same[to];
		}
		if (clew_beside_find(trace, same + from, to - from, &beside) < 0)
			goto no_memory;
		cause->text = cause_text(trace, relations, longest, &beside);
		if (!cause->text)
			goto no_memory;
	}
	qsort(causes, count, sizeof(*causes), compare_causes);
	free(same);
	free(keyed);
	*ret_causes = causes;
	*ret_count = count;
	return 0;

no_memory:
	free(same);
	free(keyed);
	clew_causes_free(causes, count);
	return -ENOMEM;
}

void clew_causes_free(struct clew_why_cause *causes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(causes[i].text);
	free(causes);
}
