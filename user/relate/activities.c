/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From announcements to activities.
 *
 * Calls of a thread nest. An end names its begin by the token, or else by
 * interface and operation; it also ends all calls within that one whose end is
 * missing. A token that is used anew ends the call that had it. The end of an
 * asynchronous call may come from another thread.
 */
#include "relate/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MOST 128 /* of the name of a kind of handle, with its NUL */

/* The words of an announcement, in memory of this structure. */
struct words {
	const char *interface;
	const char *operation;
	const char *rest[RELATE_WORDS_MOST];
	size_t count;
};

static const char *next_word(const char **at, const char *end)
{
	const char *word = *at;

	if (word >= end)
		return NULL;
	*at += strnlen(word, (size_t)(end - word)) + 1;
	return word;
}

static void split_words(const struct clew_announce *announce, struct words *ret_words)
{
	const char *at = (const char *)(announce + 1), *end = at + announce->size, *word;

	ret_words->interface = next_word(&at, end);
	ret_words->operation = next_word(&at, end);
	ret_words->count = 0;
	while (ret_words->count < RELATE_WORDS_MOST && (word = next_word(&at, end)))
		ret_words->rest[ret_words->count++] = word;
}

static uint32_t process_of(const struct clew_relations *relations, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(relations->trace, serial);

	return task ? task->process : serial;
}

static struct clew_activity *innermost(const struct clew_relations *relations, uint32_t serial)
{
	const uint64_t *place = map_get(&relations->last, serial, 0);

	return place && *place ? relate_activity(relations, *place - 1) : NULL;
}

static int set_innermost(struct clew_relations *relations, uint32_t serial, uint32_t place)
{
	return map_set(&relations->last, serial, 0,
		       place == CLEW_NO_NUMBER ? 0 : (uint64_t)place + 1);
}

/*
 * Takes one word TYPE=VALUE as a descriptor, of this interface or of the one
 * that the word names.
 */
static int take_descriptor(struct clew_relations *relations, const char *interface,
			   const char *name, size_t length, const char *value,
			   struct clew_descriptor *ret_descriptor)
{
	bool whole = memchr(name, '/', length);
	size_t before = whole ? 0 : strlen(interface) + 1;
	char *type = arena_take(&relations->arena, before + length + 1);

	if (!type)
		return -ENOMEM;
	if (!whole)
		stpcpy(stpcpy(type, interface), "/");
	memcpy(type + before, name, length);
	type[before + length] = '\0';
	*ret_descriptor = (struct clew_descriptor){
		.type = type,
		.value = value,
		.hash = relate_hash(relate_hash(HASH_SEED, type), value),
	};
	return 0;
}

/*
 * The name of the kind of handle that the first `length` bytes of a word spell;
 * NULL: none.
 */
static bool names_handle(const struct clew_layer *layer, const char *word, size_t length,
			 char ret_name[NAME_MOST])
{
	if (length >= NAME_MOST)
		return false;
	memcpy(ret_name, word, length);
	ret_name[length] = '\0';
	return relate_is_handle(layer, ret_name);
}

/* Takes the descriptors, then the attributes of an activity that begins. */
static int take_words(struct clew_relations *relations, struct clew_activity *activity,
		      const struct words *words, const struct clew_layer *layer, uint32_t process)
{
	struct clew_descriptor descriptors[RELATE_WORDS_MOST], attributes[RELATE_WORDS_MOST], *all;
	uint32_t count = 0, attribute_count = 0;

	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->rest[i], *value = strchr(word, '=');
		size_t length = value ? (size_t)(value++ - word) : 0;
		char name[NAME_MOST];
		int r = 0;

		if (!length) {
			activity->is_async |= !strcmp(word, "async");
			continue;
		}
		if (*word == '@') {
			attributes[attribute_count++] = (struct clew_descriptor){
				.type = arena_copy(&relations->arena, word + 1, length - 1),
				.value = value};
			r = attributes[attribute_count - 1].type ? 0 : -ENOMEM;
		} else if (length == strlen("calls") && !memcmp(word, "calls", length)) {
			activity->calls = value;
		} else if (layer && names_handle(layer, word, length, name)) {
			const struct handle *handle =
				relate_find_handle(relations, process, layer->name, name, value);

			for (uint32_t k = 0;
			     handle && k < handle->count && count < RELATE_WORDS_MOST; k++)
				descriptors[count++] = handle->descriptors[k];
		} else if (count < RELATE_WORDS_MOST) {
			r = take_descriptor(relations, activity->interface, word, length, value,
					    &descriptors[count++]);
		}
		if (r < 0)
			return r;
	}
	if (count + attribute_count == 0)
		return 0;
	all = arena_take(&relations->arena, (count + attribute_count) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	memcpy(all, descriptors, count * sizeof(*all));
	memcpy(all + count, attributes, attribute_count * sizeof(*all));
	activity->descriptors = all;
	activity->descriptor_count = (uint16_t)count;
	activity->attribute_count = (uint16_t)attribute_count;
	return 0;
}

static size_t name_values(struct clew_relations *relations, const struct words *words,
			  struct relate_value *ret_values)
{
	size_t count = 0;

	for (size_t i = 0; i < words->count; i++) {
		const char *value = strchr(words->rest[i], '=');

		ret_values[count].name = value ? arena_copy(&relations->arena, words->rest[i],
							    (size_t)(value - words->rest[i]))
					       : NULL;
		if (!ret_values[count].name)
			continue;
		ret_values[count++].value = value + 1;
	}
	return count;
}

/*
 * Applies a layer's rules to the values of a call that has ended or is a
 * moment: first those of its begin, then those of its end.
 */
static int apply_call(struct clew_relations *relations, uint32_t process,
		      const struct clew_layer *layer, const struct clew_layer_call *call,
		      const struct clew_announce *begin, const struct words *end)
{
	struct relate_value values[2 * RELATE_WORDS_MOST];
	struct words words;
	size_t count;

	if (!call->rule_count && !call->drops)
		return 0;
	split_words(begin, &words);
	count = name_values(relations, &words, values);
	if (end)
		count += name_values(relations, end, values + count);
	return relate_apply_rules(relations, process, layer, call, values, count);
}

/* Ends an activity and all that is still open in it. */
static int close_activity(struct clew_relations *relations, uint32_t place, uint64_t at)
{
	struct clew_activity *activity = relate_activity(relations, place),
			     *inner = innermost(relations, activity->task);

	activity->end = at;
	if (activity->token)
		map_remove(&relations->open, activity->token,
			   process_of(relations, activity->task));
	if (activity->is_async)
		return 0;
	for (; inner && inner != activity;
	     inner = inner->parent == CLEW_NO_NUMBER ? NULL
						     : relate_activity(relations, inner->parent))
		if (inner->end == CLEW_TIME_OPEN)
			inner->end = at;
	return inner ? set_innermost(relations, activity->task, activity->parent) : 0;
}

static bool is_end_of(const struct clew_activity *activity, const struct clew_announce *announce,
		      const struct words *words)
{
	if (announce->token)
		return activity->token == announce->token;
	return !words->operation || (!strcmp(activity->interface, words->interface) &&
				     !strcmp(activity->operation, words->operation));
}

/*
 * The open activity that an announcement ends; CLEW_NO_NUMBER: it began before
 * the capture.
 */
static uint32_t find_begin(struct clew_relations *relations, const struct clew_announce *announce,
			   const struct words *words)
{
	const uint64_t *place = map_get(&relations->last, announce->task, 0);
	uint32_t at = place && *place ? (uint32_t)(*place - 1) : CLEW_NO_NUMBER;

	for (unsigned depth = 0; at != CLEW_NO_NUMBER && depth < RELATE_DEPTH;
	     at = relate_activity(relations, at)->parent, depth++)
		if (relate_activity(relations, at)->end == CLEW_TIME_OPEN &&
		    is_end_of(relate_activity(relations, at), announce, words))
			return at;
	place = announce->token ? map_get(&relations->open, announce->token,
					  process_of(relations, announce->task))
				: NULL;
	return place && *place ? (uint32_t)(*place - 1) : CLEW_NO_NUMBER;
}

/*
 * Ends what must have ended before a call begins: the call that had its token,
 * or a layer's call of the same operation whose end is missing because of an
 * error.
 */
static int close_before(struct clew_relations *relations, const struct clew_announce *announce,
			const struct words *words)
{
	const uint64_t *place = announce->token ? map_get(&relations->open, announce->token,
							  process_of(relations, announce->task))
						: NULL;
	const struct clew_layer *layer = NULL;
	uint32_t at;

	if (place)
		return close_activity(relations, (uint32_t)(*place - 1), announce->header.time);
	if (announce->token || !words->operation ||
	    !relate_layer_call(relations, words->interface, words->operation, &layer))
		return 0;
	at = find_begin(relations, announce, words);
	return at == CLEW_NO_NUMBER ? 0 : close_activity(relations, at, announce->header.time);
}

static int begin_activity(struct clew_relations *relations, const struct clew_announce *announce,
			  uint32_t number)
{
	const uint32_t process = process_of(relations, announce->task);
	const struct clew_layer *layer = NULL;
	const struct clew_layer_call *call;
	struct clew_activity *activity, *outer;
	uint32_t place = (uint32_t)relations->activities.count, outer_place;
	struct words words;
	int r;

	split_words(announce, &words);
	r = close_before(relations, announce, &words);
	if (r < 0)
		return r;
	outer = innermost(relations, announce->task);
	outer_place = outer ? (uint32_t)(outer - relate_activity(relations, 0)) : CLEW_NO_NUMBER;
	if (vector_reserve(&relations->activities, relations->activities.count + 1) < 0)
		return -ENOMEM;
	activity = relate_activity(relations, place);
	*activity = (struct clew_activity){
		.begin = announce->header.time,
		.end = CLEW_TIME_OPEN,
		.token = announce->token,
		.task = announce->task,
		.parent = outer_place,
		.job = CLEW_NO_NUMBER,
		.relation = number,
		/*
		 * The text could not be read: all that is known is that there
		 * was a call.
		 */
		.interface = words.operation ? words.interface : "",
		.operation = words.operation ? words.operation : "",
	};
	activity->name =
		relate_hash(relate_hash(HASH_SEED, activity->interface), activity->operation);
	relations->activities.count++;
	call = relate_layer_call(relations, activity->interface, activity->operation, &layer);
	r = take_words(relations, activity, &words, layer, process);
	if (r < 0)
		return r;
	if (call && !call->end.provider) {
		activity->end = activity->begin;
		return apply_call(relations, process, layer, call, announce, NULL);
	}
	if (announce->token)
		r = map_set(&relations->open, announce->token, process, (uint64_t)place + 1);
	return r < 0 || activity->is_async ? r : set_innermost(relations, announce->task, place);
}

static int end_activity(struct clew_relations *relations,
			const struct clew_announce *const *announcements,
			const struct clew_announce *announce)
{
	const uint32_t process = process_of(relations, announce->task);
	const struct clew_layer *layer;
	const struct clew_layer_call *call;
	struct clew_activity *activity;
	struct words words;
	uint32_t place;
	int r = 0;

	split_words(announce, &words);
	place = find_begin(relations, announce, &words);
	if (place == CLEW_NO_NUMBER)
		return 0;
	activity = relate_activity(relations, place);
	call = relate_layer_call(relations, activity->interface, activity->operation, &layer);
	if (call)
		r = apply_call(relations, process, layer, call, announcements[activity->relation],
			       &words);
	return r < 0 ? r : close_activity(relations, place, announce->header.time);
}

/* ---- logical spans ---- */

/* An activity begins or ends. The ends of runs come before begins. */
struct change {
	uint64_t at;
	uint32_t number; /* of the span or the piece */
	uint8_t order;	 /* 0 a run ends, 1 a span begins, 2 a run begins, 3 an announcement */
};

static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left, *b = right;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int add_job(struct clew_relations *relations, uint32_t number, uint32_t run)
{
	const struct clew_job *job = clew_job_at(relations->jobs, number);
	const struct clew_job_piece *piece =
		run == CLEW_NO_NUMBER ? NULL : clew_job_piece_at(relations->jobs, run);
	const uint32_t place = (uint32_t)relations->activities.count;
	uint32_t task = piece ? piece->task : job->submitter;
	struct clew_activity *activity, *outer;

	if (vector_reserve(&relations->activities, relations->activities.count + 1) < 0)
		return -ENOMEM;
	if (task == CLEW_NO_TASK && job->first != CLEW_NO_NUMBER)
		task = clew_job_piece_at(relations->jobs, job->first)->task;
	outer = piece ? innermost(relations, task) : NULL;
	activity = relate_activity(relations, place);
	*activity = (struct clew_activity){
		.begin = piece ? piece->start : job->begin,
		.end = piece ? piece->end : job->end,
		.task = task,
		.parent =
			outer ? (uint32_t)(outer - relate_activity(relations, 0)) : CLEW_NO_NUMBER,
		.relation = CLEW_NO_NUMBER,
		.is_async = !piece,
		.part = piece ? CLEW_ACTIVITY_RUN : CLEW_ACTIVITY_JOB,
		.job = number,
		.interface = job->runtime->name,
		.operation = clew_job_name(relations->jobs, job),
	};
	activity->name =
		relate_hash(relate_hash(HASH_SEED, activity->interface), activity->operation);
	relations->activities.count++;
	if (!piece) {
		relations->job_activities[number] = place;
		return 0;
	}
	relations->run_activities[run] = place;
	return set_innermost(relations, task, place);
}

/* The changes of all spans and runs, in order. *ret_changes is to be freed. */
static int list_changes(struct clew_relations *relations, struct change **ret_changes,
			size_t *ret_count)
{
	const struct clew_jobs *jobs = relations->jobs;
	size_t spans = jobs ? jobs->list.count : 0, pieces = jobs ? jobs->pieces.count : 0;
	struct change *changes = malloc((spans + 2 * pieces + 1) * sizeof(*changes));

	*ret_changes = changes;
	*ret_count = 0;
	relations->job_activities = calloc(spans + 1, sizeof(uint32_t));
	relations->run_activities = calloc(pieces + 1, sizeof(uint32_t));
	if (!changes || !relations->job_activities || !relations->run_activities)
		return -ENOMEM;
	for (uint32_t i = 0; i < spans; i++)
		changes[(*ret_count)++] = (struct change){clew_job_at(jobs, i)->begin, i, 1};
	for (uint32_t i = 0; i < pieces; i++) {
		const struct clew_job_piece *piece = clew_job_piece_at(jobs, i);

		if (piece->kind != CLEW_JOB_RUNS)
			continue;
		changes[(*ret_count)++] = (struct change){piece->start, i, 2};
		if (piece->end != CLEW_TIME_OPEN)
			changes[(*ret_count)++] = (struct change){piece->end, i, 0};
	}
	if (*ret_count)
		qsort(changes, *ret_count, sizeof(*changes), compare_changes);
	return 0;
}

static int take_change(struct clew_relations *relations, const struct change *change)
{
	switch (change->order) {
	case 0:
		return close_activity(relations, relations->run_activities[change->number],
				      change->at);
	case 1:
		return add_job(relations, change->number, CLEW_NO_NUMBER);
	default:
		return add_job(relations, clew_job_piece_at(relations->jobs, change->number)->job,
			       change->number);
	}
}

int relate_make_activities(struct clew_relations *relations)
{
	size_t count, change_count, change = 0;
	const struct clew_announce *const *announcements =
		clew_trace_announcements(relations->trace, &count);
	struct change *changes;
	int r = list_changes(relations, &changes, &change_count);

	if (r >= 0 && count >= CLEW_NO_NUMBER)
		r = -EFBIG;
	for (size_t i = 0; r >= 0 && i < count; i++) {
		while (r >= 0 && change < change_count &&
		       changes[change].at <= announcements[i]->header.time)
			r = take_change(relations, &changes[change++]);
		if (r < 0 || announcements[i]->task == CLEW_NO_TASK)
			continue;
		r = announcements[i]->event
			    ? end_activity(relations, announcements, announcements[i])
			    : begin_activity(relations, announcements[i], (uint32_t)i);
	}
	while (r >= 0 && change < change_count)
		r = take_change(relations, &changes[change++]);
	free(changes);
	for (size_t i = 0; i < relations->activities.count; i++) {
		struct clew_activity *activity = relate_activity(relations, i);
		const struct clew_trace_task *task;

		activity->relation = CLEW_NO_NUMBER;
		if (activity->part != CLEW_ACTIVITY_CALL)
			continue;
		task = clew_trace_task(relations->trace,
				       activity->token ? process_of(relations, activity->task)
						       : activity->task);
		/*
		 * A thread's open calls end with it, but for those with a
		 * token: they may end in another thread.
		 */
		if (activity->end == CLEW_TIME_OPEN && task && task->death != CLEW_TIME_OPEN)
			activity->end = task->death;
	}
	return r;
}
