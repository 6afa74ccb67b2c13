/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds who kept whom waiting in a period. */
#include "top/pairs.h"

#include <clew/kernel/records.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/interval.h"
#include "daemon/served.h"
#include "explain/operations.h"
#include "live/charged.h"

struct finding {
	const struct clew_trace *trace;
	const struct clew_chosen *chosen;
	const struct clew_summary *summary;
	enum top_by by;
	uint64_t from, to;
	struct arena *names;
	struct map parties;  /* hash of a name -> its index */
	struct vector known; /* const char *, names of parties; the first one is "other" */
	struct map places;   /* (victim and antagonist, kind) -> index of the pair */
	struct vector pairs; /* struct top_pair */
	bool failed;	     /* no memory */
};

/* ---- parties ---- */

/* The party of that name; the first one of all if there is no room. */
static uint32_t party_named(struct finding *finding, const char *name)
{
	uint64_t hash = hash_text(HASH_SEED, name);
	const uint64_t *party = map_get(&finding->parties, hash, 0);
	struct vector *known = &finding->known;
	char *copy;

	if (party || known->count == SUMS_GROUPS_MOST)
		return party ? (uint32_t)*party : 0;
	copy = arena_copy(finding->names, name, strlen(name));
	if (!copy || vector_reserve(known, known->count + 1) < 0 ||
	    map_set(&finding->parties, hash, 0, known->count) < 0) {
		finding->failed = true;
		return 0;
	}
	((const char **)known->data)[known->count] = copy;
	return (uint32_t)known->count++;
}

static uint32_t party_of(struct finding *finding, uint32_t serial)
{
	const struct clew_trace_task *task =
		serial == CLEW_NO_TASK ? NULL : clew_trace_task(finding->trace, serial);
	uint32_t program;
	const char *name;

	if (finding->by == TOP_BY_CGROUP) {
		name = task ? clew_trace_cgroup(finding->trace, task->cgroup) : NULL;
		return party_named(finding, name ?: "unknown");
	}
	program =
		task ? clew_summary_program(finding->summary, finding->trace, serial) : UINT32_MAX;
	if (program != UINT32_MAX)
		return party_named(finding, finding->summary->programs[program].name);
	return party_named(finding, task && task->flags & CLEW_TASK_SELF ? "clew" : "unknown");
}

/* ---- charges ---- */

static void charge(struct finding *finding, uint32_t victim, uint32_t antagonist, unsigned kind,
		   uint64_t ns)
{
	uint64_t key = (uint64_t)victim << 32 | antagonist;
	const uint64_t *place = map_get(&finding->places, key, kind);
	struct vector *pairs = &finding->pairs;

	if (!ns || finding->failed)
		return;
	if (place) {
		((struct top_pair *)pairs->data)[*place].ns += ns;
		return;
	}
	if (vector_reserve(pairs, pairs->count + 1) < 0 ||
	    map_set(&finding->places, key, kind, pairs->count) < 0) {
		finding->failed = true;
		return;
	}
	((struct top_pair *)pairs->data)[pairs->count++] = (struct top_pair){
		.victim = ((const char **)finding->known.data)[victim],
		.antagonist = ((const char **)finding->known.data)[antagonist],
		.kind = kind,
		.ns = ns,
	};
}

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

/* The part of an interval in which a wait went on, within the period, ns. */
static uint64_t within(const struct finding *finding, const struct clew_sleep *sleep, uint64_t from,
		       uint64_t to)
{
	return interval_overlap(later(from, sleep->start), to < sleep->end ? to : sleep->end,
				finding->from, finding->to);
}

/* The tasks that had the lock, each for its own time. */
static void charge_holders(struct finding *finding, const struct clew_sleep *sleep)
{
	for (uint32_t i = 0; i < sleep->holder_count; i++) {
		const struct clew_holder *holder = &sleep->holders[i];

		if (charged_holder(holder))
			charge(finding, party_of(finding, sleep->task),
			       party_of(finding, holder->task), sleep->kind,
			       within(finding, sleep, holder->from, holder->to));
	}
}

/* The group that has the limit of CPU time or memory. */
static void charge_limit(struct finding *finding, const struct clew_sleep *sleep)
{
	const char *path;

	if (!charged_limit(sleep))
		return;
	path = clew_trace_cgroup(finding->trace, sleep->object.number);
	charge(finding, party_of(finding, sleep->task), party_named(finding, path ?: "unknown"),
	       sleep->kind, within(finding, sleep, 0, UINT64_MAX));
}

static void charge_waits(struct finding *finding)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(finding->trace, &count);

	for (size_t i = 0; i < count && !finding->failed; i++) {
		if (!clew_is_chosen(finding->chosen, finding->trace, sleeps[i].task) ||
		    wait_is_idle(finding->trace, &sleeps[i]))
			continue;
		charge_holders(finding, &sleeps[i]);
		charge_limit(finding, &sleeps[i]);
	}
}

static void charge_cpus(struct finding *finding)
{
	const struct map *had = &finding->summary->times.had_cpu;

	for (size_t i = 0; i < had->capacity && !finding->failed; i++)
		if (had->slots[i].used)
			charge(finding, party_of(finding, (uint32_t)had->slots[i].key),
			       party_of(finding, had->slots[i].part), CLEW_SEGMENT_RUNQUEUE,
			       had->slots[i].value);
}

/* ---- disks ---- */

/* A request that ended, or a wait that one did end. */
struct event {
	uint64_t at;
	const struct clew_block_request *request; /* NULL: a wait */
	const struct clew_sleep *sleep;
};

static int by_time(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	/* A wait comes behind the request that ends it. */
	return (b->request != NULL) - (a->request != NULL);
}

static struct event *find_events(struct finding *finding, size_t *ret_count)
{
	size_t request_count, sleep_count, count = 0;
	const struct clew_trace_request *requests =
		clew_trace_requests(finding->trace, &request_count);
	const struct clew_sleep *sleeps = clew_trace_sleeps(finding->trace, &sleep_count);
	struct event *events = malloc((request_count + sleep_count + 1) * sizeof(*events));

	for (size_t i = 0; events && i < request_count; i++)
		if (requests[i].block.queued && requests[i].block.completed)
			events[count++] = (struct event){.at = requests[i].block.completed,
							 .request = &requests[i].block};
	for (size_t i = 0; events && i < sleep_count; i++)
		if (charged_request(&sleeps[i]) &&
		    clew_is_chosen(finding->chosen, finding->trace, sleeps[i].task))
			events[count++] = (struct event){.at = sleeps[i].end, .sleep = &sleeps[i]};
	if (events && count)
		qsort(events, count, sizeof(*events), by_time);
	*ret_count = count;
	return events;
}

static void charge_request(void *context, const struct served_wait *wait, uint32_t group,
			   uint64_t ns)
{
	charge(context, wait->group, group, SUMS_DISK, ns);
}

static void await(struct finding *finding, struct served *served, const struct clew_sleep *sleep)
{
	const struct clew_link *link = charged_request(sleep);
	uint64_t queued = charged_from(link->at, link->released);

	served_await(
		served, link->device,
		&(struct served_wait){.from = later(later(sleep->start, queued), finding->from),
				      .to = sleep->end,
				      .queued = queued,
				      .task = sleep->task,
				      .group = party_of(finding, sleep->task)});
}

static void charge_disks(struct finding *finding)
{
	struct served served = {.charge = charge_request, .context = finding};
	size_t count;
	struct event *events = find_events(finding, &count);

	finding->failed |= !events;
	for (size_t i = 0; events && i < count && !finding->failed; i++) {
		const struct clew_block_request *request = events[i].request;

		if (!request) {
			await(finding, &served, events[i].sleep);
			continue;
		}
		if (served_add(&served, request->device,
			       &(struct served_request){
				       .queued = charged_from(request->queued, request->released),
				       .end = request->completed,
				       .task = request->submitter,
				       .group = party_of(finding, request->submitter)}) < 0)
			finding->failed = true;
	}
	served_step(&served, UINT64_MAX);
	served_done(&served);
	free(events);
}

/* ---- all ---- */

static int most_first(const void *left, const void *right)
{
	const struct top_pair *a = left, *b = right;
	int order;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	order = strcmp(a->victim, b->victim) ?: strcmp(a->antagonist, b->antagonist);
	return order ?: (int)a->kind - (int)b->kind;
}

int top_pairs_find(const struct clew_trace *trace, const struct clew_chosen *chosen,
		   const struct clew_summary *summary, enum top_by by, struct top_pairs *ret_pairs)
{
	struct finding finding = {.trace = trace,
				  .chosen = chosen,
				  .summary = summary,
				  .by = by,
				  .from = clew_trace_start(trace),
				  .to = clew_trace_end(trace),
				  .names = &ret_pairs->names,
				  .known.item = sizeof(const char *),
				  .pairs.item = sizeof(struct top_pair)};
	size_t count;

	*ret_pairs = (struct top_pairs){};
	party_named(&finding, "other");
	charge_waits(&finding);
	charge_cpus(&finding);
	charge_disks(&finding);
	count = finding.pairs.count;
	ret_pairs->pairs = malloc((count + 1) * sizeof(*ret_pairs->pairs));
	if (!ret_pairs->pairs)
		finding.failed = true;
	if (!finding.failed && count) {
		memcpy(ret_pairs->pairs, finding.pairs.data, count * sizeof(*ret_pairs->pairs));
		qsort(ret_pairs->pairs, count, sizeof(*ret_pairs->pairs), most_first);
	}
	ret_pairs->count = finding.failed ? 0 : count;
	map_done(&finding.parties);
	map_done(&finding.places);
	vector_done(&finding.known);
	vector_done(&finding.pairs);
	return finding.failed ? -ENOMEM : 0;
}

void top_pairs_done(struct top_pairs *pairs)
{
	free(pairs->pairs);
	arena_done(&pairs->names);
	*pairs = (struct top_pairs){};
}
