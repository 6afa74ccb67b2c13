/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds which activity is for which.
 *
 * Activities are visited in order of begin. An activity that may still be the upper end of
 * another is in a list by its first descriptor, and is removed when a visit finds it
 * expired. So the work grows with the pairs that share a descriptor, not with all that are
 * open.
 *
 * An upper activity fits only if the lower one has all of its descriptors. Among those
 * that fit, the ones that announced the lower one's interface win, then those with equal
 * attributes; else all of them are candidates.
 *
 * Two callers of one interface carry its descriptors alike, and neither is for
 * the other. Therefore a first pass over the whole trace finds which interface
 * calls which: an interface ranks above the owner of a descriptor if it fits
 * above the owner's calls more often than below.
 */
#include "base/sort.h"
#include "relate/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RANK_EVEN (1ULL << 62)
#define RANK_SAID (1 << 20) /* for an interface that announces its callee: outweighs any count */

struct matching {
	struct clew_relations *relations;
	bool ranking;	  /* the first pass: fits are counted for the ranks and not joined */
	struct map ranks; /* by two interfaces: RANK_EVEN + how often the first was above the second
			     - how often below */
	struct map first; /* hash of a descriptor -> index + 1 of the last activity whose first
			     descriptor it is */
	uint32_t *next;	  /* by activity: the one before it in that list */
	struct vector fits; /* uint32_t */
};

static bool expired(const struct matching *matching, const struct clew_activity *upper, uint64_t at)
{
	uint64_t end = upper->end;

	if (end == CLEW_TIME_OPEN)
		return false;
	return __builtin_add_overflow(end, matching->relations->match_window, &end) ? false
										    : end < at;
}

static const struct clew_descriptor *attribute(const struct clew_activity *activity, size_t i)
{
	return &activity->descriptors[activity->descriptor_count + i];
}

static bool same(const struct clew_descriptor *a, const struct clew_descriptor *b)
{
	return a->hash == b->hash && !strcmp(a->type, b->type) && !strcmp(a->value, b->value);
}

/* The number of equal attributes, -1 if one differs. Each call has a traceparent of its own. */
static int compare_attributes(const struct clew_activity *upper, const struct clew_activity *lower)
{
	int alike = 0;

	for (size_t i = 0; i < upper->attribute_count; i++)
		for (size_t k = 0; k < lower->attribute_count; k++) {
			if (strcmp(attribute(upper, i)->type, attribute(lower, k)->type) ||
			    !strcmp(attribute(upper, i)->type, "traceparent"))
				continue;
			if (strcmp(attribute(upper, i)->value, attribute(lower, k)->value))
				return -1;
			alike++;
		}
	return alike;
}

/* The owner of a descriptor: INTERFACE of INTERFACE/TYPE, as a hash. */
static uint64_t owner_of(const struct clew_descriptor *descriptor)
{
	return relate_hash_part(HASH_SEED, descriptor->type,
				(size_t)(strrchr(descriptor->type, '/') - descriptor->type));
}

static bool owns(const struct clew_activity *activity, const struct clew_descriptor *descriptor)
{
	return relate_hash(HASH_SEED, activity->interface) == owner_of(descriptor);
}

static uint64_t rank_key(const char *interface, uint64_t owner)
{
	return relate_hash(owner, interface);
}

static int count_rank(struct matching *matching, const char *interface, uint64_t owner, int above)
{
	const uint64_t *rank = map_get(&matching->ranks, rank_key(interface, owner), 0);

	return map_set(&matching->ranks, rank_key(interface, owner), 0,
		       (rank ? *rank : RANK_EVEN) + (uint64_t)(int64_t)above);
}

/* More than 0: the interface calls the owner of the descriptor. */
static int64_t rank_of(const struct matching *matching, const char *interface,
		       const struct clew_descriptor *descriptor)
{
	const uint64_t *rank =
		map_get(&matching->ranks, rank_key(interface, owner_of(descriptor)), 0);

	return rank ? (int64_t)(*rank - RANK_EVEN) : 0;
}

/* Counts a pair that fits for the ranks of its interfaces. */
static int count_ranks(struct matching *matching, const struct clew_activity *upper,
		       const struct clew_activity *lower)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < upper->descriptor_count; i++) {
		if (owns(lower, &upper->descriptors[i]))
			r = count_rank(matching, upper->interface, owner_of(&upper->descriptors[i]),
				       1);
		else if (owns(upper, &upper->descriptors[i]))
			r = count_rank(matching, lower->interface, owner_of(&upper->descriptors[i]),
				       -1);
	}
	return r;
}

/*
 * True if the ranks forbid the pair: the lower interface calls the one that the
 * upper serves, or ranks as high.
 */
static bool is_out_of_order(const struct matching *matching, const struct clew_activity *upper,
			    const struct clew_activity *lower)
{
	for (size_t i = 0; i < upper->descriptor_count; i++) {
		const struct clew_descriptor *descriptor = &upper->descriptors[i];

		if (owns(lower, descriptor) ? rank_of(matching, upper->interface, descriptor) < 0
					    : rank_of(matching, lower->interface, descriptor) > 0)
			return true;
	}
	return false;
}

/* True if `lower` has all descriptors of `upper` and is not its peer. */
static bool fits(const struct matching *matching, const struct clew_activity *upper,
		 const struct clew_activity *lower)
{
	if (!strcmp(upper->interface, lower->interface) ||
	    (upper->calls && lower->calls && !strcmp(upper->calls, lower->calls)))
		return false;
	if (!matching->ranking && is_out_of_order(matching, upper, lower))
		return false;
	for (size_t i = 0; i < upper->descriptor_count; i++) {
		bool found = false;

		for (size_t k = 0; k < lower->descriptor_count && !found; k++)
			found = same(&upper->descriptors[i], &lower->descriptors[k]);
		if (!found)
			return false;
	}
	return compare_attributes(upper, lower) >= 0;
}

/*
 * Searches above `lower`. `budget` limits the visits, as several ways may lead
 * to the same activities.
 */
static bool look_above(const struct clew_relations *relations, uint32_t upper, uint32_t lower,
		       unsigned *budget)
{
	const struct clew_activity *activity;
	const struct clew_relation *relation;

	/* An upper activity begins first. */
	if (lower <= upper || !*budget)
		return lower == upper;
	(*budget)--;
	activity = relate_activity(relations, lower);
	if (activity->parent != CLEW_NO_NUMBER &&
	    look_above(relations, upper, activity->parent, budget))
		return true;
	if (activity->relation == CLEW_NO_NUMBER)
		return false;
	relation = (const struct clew_relation *)relations->list.data + activity->relation;
	for (uint32_t i = 0; i < relation->upper_count; i++)
		if (look_above(relations, upper, relation->uppers[i], budget))
			return true;
	return false;
}

/* True if relations found so far put `upper` above `lower`. */
static bool is_above(const struct clew_relations *relations, uint32_t upper, uint32_t lower)
{
	unsigned budget = RELATE_BUDGET;

	return upper != lower && look_above(relations, upper, lower, &budget);
}

static int add_fit(struct matching *matching, uint32_t place)
{
	uint32_t *fit = matching->fits.data;

	for (size_t i = 0; i < matching->fits.count; i++)
		if (fit[i] == place)
			return 0;
	if (vector_reserve(&matching->fits, matching->fits.count + 1) < 0)
		return -ENOMEM;
	((uint32_t *)matching->fits.data)[matching->fits.count++] = place;
	return 0;
}

/* Finds all that fit; they are in `fits`. */
static int find_fits(struct matching *matching, uint32_t lower)
{
	const struct clew_activity *activity = relate_activity(matching->relations, lower);
	int r = 0;

	matching->fits.count = 0;
	for (size_t i = 0; r >= 0 && i < activity->descriptor_count; i++) {
		uint64_t *head = map_get(&matching->first, activity->descriptors[i].hash, 0);
		uint32_t before = CLEW_NO_NUMBER,
			 at = head && *head ? (uint32_t)(*head - 1) : CLEW_NO_NUMBER;

		for (uint32_t next; r >= 0 && at != CLEW_NO_NUMBER; at = next) {
			const struct clew_activity *upper =
				relate_activity(matching->relations, at);

			next = matching->next[at];
			if (expired(matching, upper, activity->begin)) {
				if (before == CLEW_NO_NUMBER)
					*head = next == CLEW_NO_NUMBER ? 0 : (uint64_t)next + 1;
				else
					matching->next[before] = next;
				continue;
			}
			before = at;
			if (fits(matching, upper, activity))
				r = matching->ranking ? count_ranks(matching, upper, activity)
						      : add_fit(matching, at);
		}
	}
	return r;
}

static void keep_fits(struct matching *matching, const bool *keep)
{
	uint32_t *fit = matching->fits.data;
	size_t count = 0;

	for (size_t i = 0; i < matching->fits.count; i++)
		if (keep[i])
			fit[count++] = fit[i];
	matching->fits.count = count;
}

/*
 * Drops fits that relations join already: those above the lower activity, and
 * those above another fit.
 */
static void drop_joined(struct matching *matching, uint32_t lower, bool *keep)
{
	const uint32_t *fit = matching->fits.data;

	for (size_t i = 0; i < matching->fits.count; i++) {
		keep[i] = !is_above(matching->relations, fit[i], lower);
		for (size_t k = 0; keep[i] && k < matching->fits.count; k++)
			keep[i] = k == i || !is_above(matching->relations, fit[i], fit[k]);
	}
	keep_fits(matching, keep);
}

static bool announced(const struct clew_activity *upper, const struct clew_activity *lower)
{
	return upper->calls && !strcmp(upper->calls, lower->interface);
}

/*
 * Keeps those that announced the interface, if any did; of these, those with
 * equal attributes, if any have. Returns whether either decided.
 */
static bool decide(struct matching *matching, const struct clew_activity *lower, bool *keep)
{
	const uint32_t *fit = matching->fits.data;
	bool any = false, decided = false;

	for (size_t i = 0; i < matching->fits.count; i++)
		any |= keep[i] = announced(relate_activity(matching->relations, fit[i]), lower);
	if (any)
		keep_fits(matching, keep);
	decided = any;
	any = false;
	for (size_t i = 0; i < matching->fits.count; i++)
		any |= keep[i] =
			compare_attributes(relate_activity(matching->relations, fit[i]), lower) > 0;
	if (any)
		keep_fits(matching, keep);
	return decided || any;
}

static int add_relation(struct clew_relations *relations, const struct clew_relation *relation)
{
	if (vector_reserve(&relations->list, relations->list.count + 1) < 0)
		return -ENOMEM;
	((struct clew_relation *)relations->list.data)[relations->list.count++] = *relation;
	return 0;
}

static int compare_places(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* The activity that submitted a logical span, or resumed it before a run, and when; CLEW_NO_NUMBER:
 * none is known. Keys have joined these: nothing is matched. */
static uint32_t above_job(const struct clew_relations *relations,
			  const struct clew_activity *activity, uint64_t *ret_at)
{
	const struct clew_jobs *jobs = relations->jobs;
	const struct clew_job *job = clew_job_at(jobs, activity->job);
	const struct clew_activity *at;
	uint32_t before = CLEW_NO_NUMBER;

	*ret_at = job->submitted;
	if (activity->part == CLEW_ACTIVITY_JOB) {
		if (!job->submitted)
			return CLEW_NO_NUMBER;
		at = clew_relations_at(relations, job->submitter, job->submitted);
		return at ? (uint32_t)(at - relate_activity(relations, 0)) : CLEW_NO_NUMBER;
	}
	for (uint32_t i = job->first; i != CLEW_NO_NUMBER; i = clew_job_piece_at(jobs, i)->next) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);

		if (piece->kind == CLEW_JOB_RUNS && piece->start == activity->begin)
			break;
		if (piece->kind == CLEW_JOB_SUSPENDED)
			before = i;
	}
	if (before == CLEW_NO_NUMBER)
		return relations->job_activities[activity->job];
	if (clew_job_piece_at(jobs, before)->waker == CLEW_NO_NUMBER)
		return CLEW_NO_NUMBER;
	*ret_at = clew_job_piece_at(jobs, before)->end;
	at = clew_relations_at(relations, clew_job_piece_at(jobs, before)->task, *ret_at);
	return at ? (uint32_t)(at - relate_activity(relations, 0)) : CLEW_NO_NUMBER;
}

static int join_job(struct clew_relations *relations, uint32_t lower)
{
	struct clew_activity *activity = relate_activity(relations, lower);
	uint64_t at;
	const uint32_t upper = above_job(relations, activity, &at);
	struct clew_relation relation = {.at = at,
					 .lower = lower,
					 .upper_count = 1,
					 .evidence = CLEW_EVIDENCE_EXACT,
					 .submitted = true};

	if (upper >= lower)
		return 0;
	relation.uppers = arena_copy(&relations->arena, &upper, sizeof(upper));
	if (!relation.uppers)
		return -ENOMEM;
	activity->relation = (uint32_t)relations->list.count;
	return add_relation(relations, &relation);
}

static int join(struct matching *matching, uint32_t lower)
{
	struct clew_relations *relations = matching->relations;
	struct clew_activity *activity = relate_activity(relations, lower);
	struct clew_relation relation = {
		.lower = lower, .upper_count = 1, .evidence = CLEW_EVIDENCE_EXACT, .nested = true};
	bool decided, *keep;
	int r = 0;

	if (!*activity->interface)
		return 0;
	if (activity->part != CLEW_ACTIVITY_CALL)
		return join_job(relations, lower);
	if (activity->parent != CLEW_NO_NUMBER) {
		relation.uppers =
			arena_copy(&relations->arena, &activity->parent, sizeof(activity->parent));
		r = relation.uppers ? add_relation(relations, &relation) : -ENOMEM;
	}
	r = r < 0 ? r : find_fits(matching, lower);
	if (r < 0 || matching->fits.count == 0)
		return r;
	keep = malloc(matching->fits.count * sizeof(*keep));
	if (!keep)
		return -ENOMEM;
	drop_joined(matching, lower, keep);
	decided = matching->fits.count && decide(matching, activity, keep);
	free(keep);
	if (matching->fits.count == 0)
		return 0;
	relation.nested = false;
	relation.upper_count = (uint32_t)matching->fits.count;
	qsort(matching->fits.data, matching->fits.count, sizeof(uint32_t), compare_places);
	relation.uppers = arena_copy(&relations->arena, matching->fits.data,
				     matching->fits.count * sizeof(uint32_t));
	if (!relation.uppers)
		return -ENOMEM;
	relation.evidence = relation.upper_count > 1 ? CLEW_EVIDENCE_CANDIDATE
			    : decided		     ? CLEW_EVIDENCE_EXACT
						     : CLEW_EVIDENCE_OBSERVED;
	relation.bridged = !announced(relate_activity(relations, relation.uppers[0]), activity);
	activity->relation = (uint32_t)relations->list.count;
	return add_relation(relations, &relation);
}

/* Adds an activity to the possible upper ends. */
static int enter(struct matching *matching, uint32_t place)
{
	const struct clew_activity *activity = relate_activity(matching->relations, place);
	const uint64_t *head;

	matching->next[place] = CLEW_NO_NUMBER;
	if (activity->descriptor_count == 0)
		return 0;
	head = map_get(&matching->first, activity->descriptors[0].hash, 0);
	if (head && *head)
		matching->next[place] = (uint32_t)(*head - 1);
	return map_set(&matching->first, activity->descriptors[0].hash, 0, (uint64_t)place + 1);
}

static int join_all(struct clew_relations *relations)
{
	struct matching matching = {
		.relations = relations,
		.next = malloc((relations->activities.count + 1) * sizeof(uint32_t)),
		.fits = {.item = sizeof(uint32_t)},
	};
	int r = matching.next ? 0 : -ENOMEM;

	matching.ranking = true;
	for (size_t i = 0; r >= 0 && i < relations->activities.count; i++) {
		const struct clew_activity *activity = relate_activity(relations, i);

		if (activity->calls)
			r = count_rank(&matching, activity->interface,
				       relate_hash(HASH_SEED, activity->calls), RANK_SAID);
		r = r < 0 ? r : find_fits(&matching, (uint32_t)i);
		r = r < 0 ? r : enter(&matching, (uint32_t)i);
	}
	matching.ranking = false;
	map_done(&matching.first);
	matching.first = (struct map){};
	for (size_t i = 0; r >= 0 && i < relations->activities.count; i++) {
		r = join(&matching, (uint32_t)i);
		r = r < 0 ? r : enter(&matching, (uint32_t)i);
	}
	map_done(&matching.first);
	map_done(&matching.ranks);
	free(matching.next);
	vector_done(&matching.fits);
	return r;
}

static int order_by_task(struct clew_relations *relations)
{
	size_t count = relations->activities.count;
	struct sort_key *keys = malloc((2 * count + 1) * sizeof(*keys));

	relations->by_task = malloc((count + 1) * sizeof(*relations->by_task));
	if (!keys || !relations->by_task) {
		free(keys);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		if (!relate_activity(relations, i)->is_async)
			keys[relations->by_task_count++] = (struct sort_key){
				.key = relate_activity(relations, i)->task, .index = (uint32_t)i};
	sort_keys(keys, keys + relations->by_task_count, relations->by_task_count);
	for (size_t i = 0; i < relations->by_task_count; i++)
		relations->by_task[i] = keys[i].index;
	free(keys);
	return 0;
}

static int read_layers(struct clew_relations *relations)
{
	const char *text = clew_trace_meta(relations->trace, "layers");
	char message[300];

	return text ? clew_layers_read(text, strlen(text), "layers", &relations->layers, message,
				       sizeof(message))
		    : 0;
}

int clew_relations_new(const struct clew_trace *trace, const struct clew_relations_options *options,
		       struct clew_relations **ret_relations)
{
	struct clew_relations *relations = calloc(1, sizeof(*relations));
	int r;

	if (!relations)
		return -ENOMEM;
	relations->trace = trace;
	relations->match_window = options ? options->match_window : 0;
	relations->activities.item = sizeof(struct clew_activity);
	relations->list.item = sizeof(struct clew_relation);
	relations->handles.item = sizeof(struct handle);
	r = read_layers(relations);
	relations->jobs = clew_trace_jobs(trace);
	if (r >= 0 && !relations->jobs && relations->layers && relations->layers->runtime_count) {
		r = clew_jobs_new(trace, relations->layers, &relations->own_jobs);
		relations->jobs = relations->own_jobs;
	}
	r = r < 0 ? r : relate_make_activities(relations);
	r = r < 0 ? r : order_by_task(relations);
	r = r < 0 ? r : join_all(relations);
	r = r < 0 ? r : relate_order_calls(relations);
	map_done(&relations->open);
	map_done(&relations->last);
	if (r < 0) {
		clew_relations_free(relations);
		return r;
	}
	*ret_relations = relations;
	return 0;
}

void clew_relations_free(struct clew_relations *relations)
{
	if (!relations)
		return;
	clew_jobs_free(relations->own_jobs);
	free(relations->job_activities);
	free(relations->run_activities);
	clew_layers_free(relations->layers);
	vector_done(&relations->activities);
	vector_done(&relations->list);
	vector_done(&relations->handles);
	map_done(&relations->handle_places);
	map_done(&relations->open);
	map_done(&relations->last);
	arena_done(&relations->arena);
	free(relations->by_task);
	free(relations->calls);
	free(relations->calls_of);
	free(relations);
}

const struct clew_jobs *clew_relations_jobs(const struct clew_relations *relations)
{
	return relations->jobs;
}

const struct clew_activity *clew_relations_activities(const struct clew_relations *relations,
						      size_t *ret_count)
{
	*ret_count = relations->activities.count;
	return relations->activities.data;
}

const struct clew_relation *clew_relations_list(const struct clew_relations *relations,
						size_t *ret_count)
{
	*ret_count = relations->list.count;
	return relations->list.data;
}

const struct clew_trace *clew_relations_trace(const struct clew_relations *relations)
{
	return relations->trace;
}
