/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptions of what a task did, in words that people know. Announced words
 * come first, from the innermost call outwards, then from the calls that it was
 * for. Where several callers are possible, only the words count that they have
 * in common.
 */
#include "relate/internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * The index in by_task behind the task's last activity that begins at or before
 * a moment.
 */
static size_t find_behind(const struct clew_relations *relations, uint32_t serial, uint64_t at)
{
	size_t low = 0, high = relations->by_task_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct clew_activity *activity =
			relate_activity(relations, relations->by_task[middle]);

		if (activity->task < serial || (activity->task == serial && activity->begin <= at))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The innermost of the activities before an index of by_task that end at
 * `least` or later.
 */
static const struct clew_activity *find_open(const struct clew_relations *relations,
					     uint32_t serial, size_t behind, uint64_t least)
{
	const struct clew_activity *activity =
		behind ? relate_activity(relations, relations->by_task[behind - 1]) : NULL;

	if (!activity || activity->task != serial)
		return NULL;
	for (unsigned depth = 0; activity->end < least && depth < RELATE_DEPTH; depth++) {
		if (activity->parent == CLEW_NO_NUMBER)
			return NULL;
		activity = relate_activity(relations, activity->parent);
	}
	return activity->end >= least ? activity : NULL;
}

const struct clew_activity *clew_relations_at(const struct clew_relations *relations,
					      uint32_t serial, uint64_t at)
{
	return find_open(relations, serial, find_behind(relations, serial, at), at);
}

const struct clew_activity *clew_relations_run_at(const struct clew_relations *relations,
						  uint32_t serial, uint64_t at)
{
	const struct clew_activity *activity = clew_relations_at(relations, serial, at);

	while (activity && activity->part != CLEW_ACTIVITY_RUN)
		activity = activity->parent == CLEW_NO_NUMBER
				   ? NULL
				   : relate_activity(relations, activity->parent);
	return activity;
}

const struct clew_activity *clew_relations_from(const struct clew_relations *relations,
						uint32_t serial, uint64_t at, uint64_t *ret_until)
{
	size_t behind = find_behind(relations, serial, at);
	const struct clew_activity *open = find_open(relations, serial, behind, at + 1);
	const struct clew_activity *next =
		behind < relations->by_task_count
			? relate_activity(relations, relations->by_task[behind])
			: NULL;

	*ret_until = open ? open->end : CLEW_TIME_OPEN;
	if (next && next->task == serial && next->begin < *ret_until)
		*ret_until = next->begin;
	return open;
}

static bool has_name(const struct clew_description *description, const char *name)
{
	for (size_t i = 0; i < description->count; i++)
		if (!strcmp(description->words[i].name, name))
			return true;
	return false;
}

void clew_description_add(struct clew_description *description, const char *name, const char *value)
{
	if (!value || !*value || description->count == CLEW_DESCRIPTORS_MOST ||
	    has_name(description, name))
		return;
	description->words[description->count].name = name;
	description->words[description->count++].value = value;
}

static void describe_activity(const struct clew_relations *relations,
			      const struct clew_activity *activity,
			      struct clew_description *description, unsigned *budget);

/* Adds the words that several callers have in common. */
static void describe_common(const struct clew_relations *relations,
			    const struct clew_relation *relation,
			    struct clew_description *description, unsigned *budget)
{
	struct clew_description first = {}, other;

	describe_activity(relations, relate_activity(relations, relation->uppers[0]), &first,
			  budget);
	for (uint32_t i = 1; i < relation->upper_count && first.count; i++) {
		size_t kept = 0;

		other = (struct clew_description){};
		describe_activity(relations, relate_activity(relations, relation->uppers[i]),
				  &other, budget);
		for (size_t k = 0; k < first.count; k++) {
			bool alike = false;

			for (size_t j = 0; j < other.count && !alike; j++)
				alike = !strcmp(first.words[k].name, other.words[j].name) &&
					!strcmp(first.words[k].value, other.words[j].value);
			if (alike)
				first.words[kept++] = first.words[k];
		}
		first.count = kept;
	}
	for (size_t i = 0; i < first.count; i++)
		clew_description_add(description, first.words[i].name, first.words[i].value);
}

static void describe_activity(const struct clew_relations *relations,
			      const struct clew_activity *activity,
			      struct clew_description *description, unsigned *budget)
{
	const struct clew_relation *relation;

	for (; *budget; (*budget)--) {
		for (size_t i = 0;
		     i < (size_t)activity->descriptor_count + activity->attribute_count; i++)
			clew_description_add(description, activity->descriptors[i].type,
					     activity->descriptors[i].value);
		if (activity->relation != CLEW_NO_NUMBER) {
			relation = (const struct clew_relation *)relations->list.data +
				   activity->relation;
			(*budget)--;
			if (relation->upper_count == 1)
				describe_activity(relations,
						  relate_activity(relations, relation->uppers[0]),
						  description, budget);
			else
				describe_common(relations, relation, description, budget);
		}
		if (activity->parent == CLEW_NO_NUMBER || !*budget)
			return;
		activity = relate_activity(relations, activity->parent);
	}
}

/*
 * The outermost caller, if there is exactly one: its program wanted the work
 * done.
 */
static const struct clew_activity *first_caller(const struct clew_relations *relations,
						const struct clew_activity *activity)
{
	for (unsigned depth = 0; depth < RELATE_DEPTH; depth++) {
		const struct clew_relation *relation;

		if (activity->relation != CLEW_NO_NUMBER) {
			relation = (const struct clew_relation *)relations->list.data +
				   activity->relation;
			if (relation->upper_count > 1)
				return NULL;
			activity = relate_activity(relations, relation->uppers[0]);
		} else if (activity->parent != CLEW_NO_NUMBER) {
			activity = relate_activity(relations, activity->parent);
		} else {
			break;
		}
	}
	return activity;
}

/* Copies a text into the description; NULL: no room. */
static const char *keep_text(struct clew_description *description, const char *text, size_t length)
{
	char *to = description->texts + description->text_used;

	if (length >= sizeof(description->texts) - description->text_used)
		return NULL;
	memcpy(to, text, length);
	to[length] = '\0';
	description->text_used += length + 1;
	return to;
}

static void describe_group(const struct clew_relations *relations,
			   const struct clew_trace_task *task, struct clew_description *description)
{
	const char *path = clew_trace_cgroup(relations->trace, task->cgroup),
		   *last = path ? strrchr(path, '/') : NULL;
	size_t length;

	if (!path || !strcmp(path, "/"))
		return;
	clew_description_add(description, "cgroup", path);
	/* The innermost component of the path that names a service. */
	for (const char *end = path + strlen(path); last;
	     last = end > path ? memrchr(path, '/', (size_t)(end - path)) : NULL) {
		length = (size_t)(end - last - 1);
		if (length > strlen(".service") &&
		    !memcmp(end - strlen(".service"), ".service", strlen(".service"))) {
			clew_description_add(description, "service",
					     keep_text(description, last + 1, length));
			return;
		}
		end = last;
	}
}

static void describe_user(const struct clew_relations *relations,
			  const struct clew_trace_task *task, struct clew_description *description)
{
	const char *name = clew_trace_text(relations->trace, CLEW_TEXT_USER | task->user);
	char number[24];

	if (has_name(description, "user"))
		return;
	if (!name) {
		snprintf(number, sizeof(number), "uid %" PRIu32, task->user);
		name = keep_text(description, number, strlen(number));
	}
	clew_description_add(description, "user", name);
}

/*
 * A process that did not exec has the environment of the process that forked
 * it.
 */
static void describe_environment(const struct clew_relations *relations, uint32_t process,
				 struct clew_description *description)
{
	const char *names = clew_trace_meta(relations->trace, "environment");
	uint64_t number = 0;

	for (size_t length; names && *names; names += length + (names[length] == ','), number++) {
		const char *value = NULL;
		uint32_t serial = process;
		char name[CLEW_ENVIRONMENT_NAME];

		length = strcspn(names, ",");
		if (length == 0 || length >= sizeof(name))
			continue;
		memcpy(name, names, length);
		name[length] = '\0';
		for (unsigned depth = 0; !value && serial && depth < RELATE_DEPTH; depth++) {
			const struct clew_trace_task *task =
				clew_trace_task(relations->trace, serial);
			const struct clew_trace_task *parent =
				task ? clew_trace_task(relations->trace, task->parent) : NULL;

			value = clew_trace_text(relations->trace,
						CLEW_TEXT_ENVIRONMENT | number << 32 | serial);
			/*
			 * The environment of a process from before the capture
			 * was read directly.
			 */
			if (!task || !clew_trace_fork_of(relations->trace, serial))
				break;
			serial = parent ? parent->process : 0;
		}
		if (value && *value && !has_name(description, name))
			clew_description_add(description, keep_text(description, name, length),
					     value);
	}
}

void clew_relations_describe(const struct clew_relations *relations, uint32_t serial, uint64_t at,
			     struct clew_description *description)
{
	const struct clew_trace_task *task = clew_trace_task(relations->trace, serial),
				     *caller = NULL;
	const struct clew_activity *activity =
					   task ? clew_relations_at(relations, serial, at) : NULL,
				   *first;
	unsigned budget = RELATE_BUDGET;

	if (!task)
		return;
	if (activity) {
		describe_activity(relations, activity, description, &budget);
		first = first_caller(relations, activity);
		caller = first ? clew_trace_task(relations->trace, first->task) : NULL;
	}
	/* A kernel thread works for others: its own name would hide theirs. */
	if (task->flags & CLEW_TASK_KTHREAD)
		return;
	clew_description_add(description, "program",
			     clew_trace_program(relations->trace, task)
				     ?: clew_trace_comm_at(relations->trace, serial, at));
	clew_description_add(description, "executable", task->executable);
	if (caller && caller->process != task->process)
		clew_description_add(description, "caller",
				     clew_trace_program(relations->trace, caller) ?: caller->comm);
	describe_user(relations, task, description);
	describe_group(relations, task, description);
	describe_environment(relations, task->process, description);
}
