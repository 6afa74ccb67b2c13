/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names that can be asked about, for a question without an answer: names that are like the one that
 * was typed, then what was waited for longest.
 */
#include "cli/ask/ask.h"

#include "base/hash.h"
#include "base/nearest.h"
#include <clew/tokens.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/fail.h"
#include "explain/operations.h"
#include "explain/sums.h"
#include "format/text.h"
#include "words/functions.h"
#include "words/match.h"

enum { NAMED_MOST = 4, NEAR = 3 };

/* The thing that is named, by the option that names it. */
enum subject {
	SUBJECT_CALL,
	SUBJECT_LOCK,
	SUBJECT_FILE,
	SUBJECT_OPERATION,
	SUBJECT_SPAN,
	SUBJECT_COUNT
};

struct choice {
	char *name;
	uint64_t ns;
	bool near;
};

struct choices {
	const struct clew_asked_in *in;
	enum subject subject;
	const char *typed;
	bool skips_idle;
	uint64_t idle_kinds; /* as in clew_operations() */
	struct clew_sums sums;
	struct choice *list;
	size_t count;
};

static const char *typed_of(const struct clew_ask *ask, enum subject subject)
{
	const char *const typed[SUBJECT_COUNT] = {ask->call, ask->lock, ask->file, ask->operation,
						  ask->span};

	return typed[subject];
}

/* "" if the wait has no name of that kind. */
static const char *name_of_wait(const struct choices *choices, const struct clew_sleep *sleep,
				char *buffer)
{
	char socket[CLEW_UNIX_PATH_SIZE];
	const char *name = NULL;

	switch (choices->subject) {
	case SUBJECT_CALL:
		name = clew_call_name(sleep->call);
		break;
	case SUBJECT_LOCK:
		name = clew_wait_lock(choices->in->trace, sleep, buffer, CLEW_NAME_SIZE);
		return name;
	case SUBJECT_FILE:
		name = clew_wait_path(choices->in->trace, sleep, socket, sizeof(socket));
		break;
	default:
		break;
	}
	snprintf(buffer, CLEW_NAME_SIZE, "%s", name ?: "");
	return buffer;
}

static const char *name_of_activity(const struct clew_activity *activity, char *buffer)
{
	snprintf(buffer, CLEW_NAME_SIZE, "%s.%s", activity->interface, activity->operation);
	return buffer;
}

/* Names with the same hash would be one choice. */
static int add_name(struct choices *choices, const char *name, uint64_t ns, size_t item)
{
	return name[0] ? clew_sums_add(&choices->sums,
				       (struct clew_sum_key){{hash_text(HASH_SEED, name)}}, ns,
				       (uint32_t)item)
		       : 0;
}

static bool is_in(const struct clew_asked_in *in, uint32_t serial, uint64_t from, uint64_t to)
{
	const struct clew_trace_task *task = clew_trace_task(in->trace, serial);

	return task && clew_window_has(in->window, from, to) &&
	       clew_selection_wants((void *)in->selection, task);
}

static int add_waits(struct choices *choices)
{
	const struct clew_trace *trace = choices->in->trace;
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	char name[CLEW_NAME_SIZE];
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		uint64_t over = clew_sleep_over(trace, &sleeps[i]);

		if (choices->skips_idle &&
		    (sleep_is_idle(choices->in->trace, &sleeps[i]) ||
		     operation_is_idle(sleeps[i].kind, sleeps[i].call,
				       clew_trace_in_exchange(choices->in->trace, &sleeps[i]),
				       choices->idle_kinds)))
			continue;
		if (is_in(choices->in, sleeps[i].task, sleeps[i].start, over))
			r = add_name(choices, name_of_wait(choices, &sleeps[i], name),
				     over - sleeps[i].start, i);
	}
	return r;
}

static int add_activities(struct choices *choices)
{
	size_t count;
	const struct clew_activity *all;
	char name[CLEW_NAME_SIZE];
	int r = 0;

	if (!choices->in->relations)
		return 0;
	all = clew_relations_activities(choices->in->relations, &count);
	for (size_t i = 0; i < count && r >= 0; i++) {
		uint64_t end = clew_trace_until(choices->in->trace, all[i].end);

		if (all[i].part != CLEW_ACTIVITY_RUN &&
		    is_in(choices->in, all[i].task, all[i].begin, end))
			r = add_name(choices, name_of_activity(&all[i], name), end - all[i].begin,
				     i);
	}
	return r;
}

/* Functions that no chosen thread was in are none that can be asked about. */
static int add_frames(struct choices *choices)
{
	const struct clew_trace *trace = choices->in->trace;
	size_t tasks = clew_trace_task_count(trace), count;
	int r = 0;

	for (size_t i = 0; i < tasks && r >= 0; i++) {
		uint32_t serial = clew_trace_task_at(trace, i)->serial;
		const struct clew_trace_frame *frames = clew_trace_frames(trace, serial, &count);

		for (size_t k = 0; k < count && r >= 0; k++) {
			uint64_t end = clew_trace_until(trace, frames[k].end);

			if (is_in(choices->in, serial, frames[k].start, end))
				r = add_name(choices, clew_function_name(trace, frames[k].function),
					     end - frames[k].start, frames[k].function);
		}
	}
	return r;
}

/* True if few letters or less than half of them are to be changed. */
static bool is_alike(const char *a, const char *b)
{
	size_t length = strlen(a) > strlen(b) ? strlen(a) : strlen(b);
	unsigned distance = word_distance(a, b);

	return distance < NEAR || distance * 2 < length;
}

/* True if the typed word is part of a name, or like it or one of its words. */
static bool is_near(const char *typed, const char *name)
{
	char word[WORD_DISTANCE_MOST];

	if (strstr(name, typed) || is_alike(typed, name))
		return true;
	for (size_t length; *name; name += length + (name[length] != '\0')) {
		length = strcspn(name, " ./");
		if (length >= sizeof(word) || length <= NEAR)
			continue;
		memcpy(word, name, length);
		word[length] = '\0';
		if (is_alike(typed, word))
			return true;
	}
	return false;
}

static int compare_choices(const void *left, const void *right)
{
	const struct choice *a = left, *b = right;

	if (a->near != b->near)
		return a->near ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void choices_done(struct choices *choices)
{
	for (size_t i = 0; i < choices->count; i++)
		free(choices->list[i].name);
	free(choices->list);
	clew_sums_done(&choices->sums);
}

/* Fills in the list: near names first, then by time. 0 or -ENOMEM. */
static int choices_make(struct choices *choices)
{
	size_t count, item_count;
	struct clew_sum *groups = NULL;
	char name[CLEW_NAME_SIZE];
	int r = choices->subject == SUBJECT_SPAN	? add_frames(choices)
		: choices->subject == SUBJECT_OPERATION ? add_activities(choices)
							: add_waits(choices);

	if (r >= 0)
		r = clew_sums_make(&choices->sums, &groups, &count);
	if (r < 0)
		return r;
	choices->list = calloc(count + 1, sizeof(*choices->list));
	for (size_t i = 0; i < count && choices->list; i++) {
		uint32_t item = groups[i].longest;

		if (choices->subject == SUBJECT_SPAN)
			snprintf(name, sizeof(name), "%s",
				 clew_function_name(choices->in->trace, item));
		else if (choices->subject == SUBJECT_OPERATION)
			name_of_activity(&clew_relations_activities(choices->in->relations,
								    &item_count)[item],
					 name);
		else
			name_of_wait(choices,
				     &clew_trace_sleeps(choices->in->trace, &item_count)[item],
				     name);
		choices->list[i] = (struct choice){
			.name = strdup(name),
			.ns = groups[i].total,
			.near = choices->typed && is_near(choices->typed, name),
		};
		if (!choices->list[i].name)
			break;
		choices->count++;
	}
	free(groups);
	if (!choices->list || choices->count < count)
		return -1;
	qsort(choices->list, count, sizeof(*choices->list), compare_choices);
	return 0;
}

/* "fsync (1.20 s), futex (3.10 ms) and 4 more". */
static void print_choices(FILE *out, const struct choices *choices)
{
	for (size_t i = 0; i < choices->count && i < NAMED_MOST; i++)
		fprintf(out, "%s%s (%s)", i ? ", " : "", choices->list[i].name,
			CLEW_DURATION(choices->list[i].ns));
	if (choices->count > NAMED_MOST)
		fprintf(out, " and %zu more", choices->count - NAMED_MOST);
}

static bool is_there(const struct choices *choices)
{
	const struct choice *list = choices->list;

	for (size_t i = 0; i < choices->count; i++) {
		char *dot = strchr(list[i].name, '.');

		switch (choices->subject) {
		case SUBJECT_FILE:
			if (clew_match_path(choices->typed, list[i].name))
				return true;
			break;
		case SUBJECT_SPAN:
			if (clew_match_function(choices->typed, &(struct clew_trace_function){
									.name = list[i].name,
									.title = list[i].name,
									.readable = list[i].name}))
				return true;
			break;
		case SUBJECT_OPERATION:
			if (clew_match_list(choices->typed, list[i].name) ||
			    (dot && clew_match_list(choices->typed, dot + 1)))
				return true;
			break;
		default:
			if (clew_match_list(choices->typed, list[i].name))
				return true;
			break;
		}
	}
	return false;
}

static const char *const options[SUBJECT_COUNT] = {"call", "lock", "file", "operation", "span"};
static const char *const verbs[SUBJECT_COUNT] = {"waited in", "waited for", "waited for",
						 "announced", "was in"};
static const char *const nothing[SUBJECT_COUNT] = {
	"waited in a system call", "waited for a lock", "waited for a file that has a name",
	"announced an operation", "was in a traced function"};

/* Says what there is in place of what was typed. */
static int fail_of(const struct choices *choices, int status)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!choices->count)
		return clew_fail(CLEW_EXIT_NEGATIVE,
				 "--%s: no chosen thread %s in that time: ask for other threads or "
				 "a longer time",
				 options[choices->subject], nothing[choices->subject]);
	out = open_memstream(&text, &size);
	if (out) {
		print_choices(out, choices);
		fclose(out);
	}
	status = clew_fail(status, "--%s: no chosen thread %s '%s': there is %s",
			   options[choices->subject], verbs[choices->subject], choices->typed,
			   text ?: "more");
	free(text);
	return status;
}

/* The name of a system call that is like a word, of those with few letters to change; NULL. */
static const char *nearest_call(const char *typed)
{
	const char *nearest = NULL;
	unsigned least = NEAR;

	for (unsigned call = 0; call < ASK_CALLS; call++) {
		unsigned distance = word_distance(typed, clew_call_name(call));

		if (distance < least && distance < strlen(typed)) {
			least = distance;
			nearest = clew_call_name(call);
		}
	}
	return nearest;
}

static bool any_call(const char *typed)
{
	for (unsigned call = 0; call < ASK_CALLS; call++)
		if (clew_match_list(typed, clew_call_name(call)))
			return true;
	return false;
}

/* Where what was typed is known, it is an answer that nobody waited for it. */
static int fail_unknown(const struct ask_search *search, const struct choices *choices)
{
	const char *nearest;

	if (choices->subject == SUBJECT_CALL && !any_call(choices->typed)) {
		nearest = nearest_call(choices->typed);
		return nearest ? clew_fail(CLEW_EXIT_INPUT,
					   "--call: there is no system call '%s': is %s meant?",
					   choices->typed, nearest)
			       : fail_of(choices, CLEW_EXIT_INPUT);
	}
	return fail_of(choices,
		       choices->subject == SUBJECT_CALL ||
				       (choices->subject == SUBJECT_FILE && search->knows_file)
			       ? CLEW_EXIT_NEGATIVE
			       : CLEW_EXIT_INPUT);
}

int ask_fail(const struct ask_search *search)
{
	for (unsigned subject = 0; subject < SUBJECT_COUNT; subject++) {
		struct choices choices = {.in = search->in,
					  .subject = subject,
					  .typed = typed_of(search->ask, subject)};
		int status = 0;

		if (!choices.typed)
			continue;
		if (choices_make(&choices) < 0)
			status = clew_fail(CLEW_EXIT_SYSTEM, "out of memory: free some and try "
							     "again");
		else if (!is_there(&choices))
			status = fail_unknown(search, &choices);
		choices_done(&choices);
		if (status)
			return status;
	}
	return clew_fail(CLEW_EXIT_NEGATIVE,
			 "nothing fits all that was asked for: leave out one of the options");
}

/* ---- when there is no operation ---- */

/* The number of idle waits, by call: "3 epoll_wait, 1 read". Without kinds, sleeps are idle
 * where nothing else is. */
static void print_idle(FILE *out, const struct clew_asked_in *in, uint64_t idle_kinds)
{
	size_t count, by_call[ASK_CALLS] = {0};
	const struct clew_sleep *sleeps = clew_trace_sleeps(in->trace, &count);
	unsigned named = 0;

	for (size_t i = 0; i < count; i++)
		if ((operation_is_idle(sleeps[i].kind, sleeps[i].call,
				       clew_trace_in_exchange(in->trace, &sleeps[i]), idle_kinds) ||
		     (!idle_kinds && sleeps[i].kind == CLEW_WAIT_SLEEP)) &&
		    is_in(in, sleeps[i].task, sleeps[i].start,
			  clew_sleep_over(in->trace, &sleeps[i])))
			by_call[sleeps[i].call < ASK_CALLS ? sleeps[i].call : 0]++;
	for (; named < NAMED_MOST; named++) {
		unsigned most = 0;

		for (unsigned call = 1; call < ASK_CALLS; call++)
			if (by_call[call] > by_call[most])
				most = call;
		if (!by_call[most])
			break;
		fprintf(out, "%s%zu %s", named ? ", " : "", by_call[most], clew_call_name(most));
		by_call[most] = 0;
	}
	if (!named)
		fputs("none", out);
}

/* A word as a shell takes it. */
static void print_word(FILE *out, const char *option, const char *word)
{
	bool plain = word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_-./,:+=")] == '\0';

	fprintf(out, plain ? " %s%s" : " %s'%s'", option, word);
}

/* The command that asks for a call in the same place. */
static void print_command(FILE *out, const struct clew_asked_in *in, const char *call,
			  uint32_t slowest)
{
	const struct clew_selection *selection = in->selection;

	fputs("clew why", out);
	if (in->operand && strcmp(in->operand, CLEW_DEFAULT_TRACE) != 0)
		print_word(out, "", in->operand);
	if (selection->tid.given)
		fprintf(out, " --tid %u", selection->tid.value);
	if (selection->pid.given)
		fprintf(out, " --pid %u", selection->pid.value);
	if (selection->comm)
		print_word(out, "--comm ", selection->comm);
	if (in->window->from_text)
		print_word(out, "--from=", in->window->from_text);
	if (in->window->to_text)
		print_word(out, "--to=", in->window->to_text);
	fprintf(out, " --call %s", call);
	if (slowest > 1)
		fprintf(out, " --slowest %u", slowest);
}

int clew_ask_offer(const struct clew_asked_in *in, uint64_t idle_kinds, uint32_t slowest)
{
	struct choices choices = {
		.in = in, .subject = SUBJECT_CALL, .skips_idle = true, .idle_kinds = idle_kinds};
	char *text = NULL;
	size_t size;
	FILE *out = choices_make(&choices) < 0 ? NULL : open_memstream(&text, &size);
	int status;

	if (!out) {
		choices_done(&choices);
		return clew_fail_memory();
	}
	fputs("no operation lies between two idle waits of the chosen threads (idle waits: ", out);
	print_idle(out, in, idle_kinds);
	fputs("): ", out);
	if (choices.count) {
		fputs("ask about a call, as in `", out);
		print_command(out, in, choices.list[0].name, slowest);
		fputs("`; most waiting was in ", out);
		print_choices(out, &choices);
	} else {
		fputs("choose others, or other waits with --idle", out);
	}
	fclose(out);
	status = clew_fail(CLEW_EXIT_NEGATIVE, "%s", text);
	free(text);
	choices_done(&choices);
	return status;
}
