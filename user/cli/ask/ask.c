/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finding the waits that a question is about. A wait is for the files for which `clew io` counts
 * it.
 */
#include "cli/ask/ask.h"

#include <clew/tokens.h>
#include <stdlib.h>

#include "cli/front/fail.h"
#include "explain/io.h"
#include "words/file.h"
#include "words/functions.h"
#include "words/match.h"

/* ---- what fits ---- */

static bool wanted(void *context, const struct clew_trace_task *task)
{
	const struct ask_search *search = context;

	return clew_selection_wants((void *)search->in->selection, task);
}

static bool for_file(const struct ask_search *search, const struct clew_sleep *sleep)
{
	const struct clew_trace *trace = search->in->trace;
	size_t count;
	uint32_t file = search->sleep_files[sleep - clew_trace_sleeps(trace, &count)];
	char buffer[CLEW_UNIX_PATH_SIZE];
	const char *path = clew_wait_path(trace, sleep, buffer, sizeof(buffer));

	return path ? clew_match_path(search->ask->file, path)
		    : file != UINT32_MAX && search->files[file];
}

static bool for_lock(const struct ask_search *search, const struct clew_sleep *sleep)
{
	char name[CLEW_NAME_SIZE];

	return clew_wait_lock(search->in->trace, sleep, name, sizeof(name))[0] &&
	       clew_match_list(search->ask->lock, name);
}

/* True if the thread was in an announced call that fits, at any depth, or ran a logical span that
 * does. `runs`: calls do not count. */
static bool in_activity(const struct ask_search *search, uint32_t task, uint64_t at,
			const char *globs, bool runs)
{
	size_t count;
	const struct clew_activity *all, *activity;

	if (!search->in->relations)
		return false;
	all = clew_relations_activities(search->in->relations, &count);
	activity = clew_relations_at(search->in->relations, task, at);
	for (; activity;
	     activity = activity->parent == CLEW_NO_NUMBER ? NULL : &all[activity->parent])
		if ((!runs || activity->part == CLEW_ACTIVITY_RUN) &&
		    clew_match_activity(globs, activity))
			return true;
	return false;
}

static bool in_operation(const struct ask_search *search, uint32_t task, uint64_t at)
{
	return in_activity(search, task, at, search->ask->operation, false);
}

/* True if the thread was in an activation that fits, at any depth, or ran a logical span that
 * does. */
static bool in_span(const struct ask_search *search, uint32_t task, uint64_t at)
{
	const struct clew_trace *trace = search->in->trace;
	const struct clew_trace_frame *frame = clew_trace_frame_at(trace, task, at);
	uint32_t count = clew_trace_function_count(trace);

	for (; frame; frame = clew_trace_frame_parent(trace, frame))
		if (search->functions && frame->function < count &&
		    search->functions[frame->function] && frame->end > at)
			return true;
	return in_activity(search, task, at, search->ask->span, true);
}

static bool fits(void *context, const struct clew_sleep *sleep)
{
	const struct ask_search *search = context;
	const struct clew_ask *ask = search->ask;

	return (!ask->call || (sleep->call < ASK_CALLS && search->calls[sleep->call])) &&
	       (!ask->lock || for_lock(search, sleep)) && (!ask->file || for_file(search, sleep)) &&
	       (!ask->operation || in_operation(search, sleep->task, sleep->start)) &&
	       (!ask->span || in_span(search, sleep->task, sleep->start));
}

static bool spins(void *context, const struct clew_spin *spin)
{
	const struct ask_search *search = context;
	char name[CLEW_NAME_SIZE];

	clew_spin_lock(search->in->trace, spin, name, sizeof(name));
	return clew_match_list(search->ask->lock, name) &&
	       (!search->ask->operation || in_operation(search, spin->task, spin->start)) &&
	       (!search->ask->span || in_span(search, spin->task, spin->start));
}

/* A run of a logical span is a part of that. */
static bool announced(void *context, const struct clew_activity *activity)
{
	const struct ask_search *search = context;

	if (activity->part == CLEW_ACTIVITY_RUN)
		return false;
	if (!search->ask->operation)
		return activity->part == CLEW_ACTIVITY_JOB &&
		       clew_match_activity(search->ask->span, activity);
	return clew_match_activity(search->ask->operation, activity) &&
	       (!search->ask->span || in_span(search, activity->task, activity->begin));
}

/* A copy that a fork made of an open activation is none of its own. */
static bool activated(void *context, const struct clew_trace_frame *frame)
{
	const struct ask_search *search = context;

	return !(frame->flags & CLEW_FRAME_INHERITED) &&
	       frame->function < clew_trace_function_count(search->in->trace) &&
	       search->functions && search->functions[frame->function];
}

/* ---- the search ---- */

static int choose_calls(struct ask_search *search)
{
	bool any = false;

	if (!search->ask->call)
		return 0;
	for (unsigned call = 0; call < ASK_CALLS; call++) {
		search->calls[call] = clew_match_list(search->ask->call, clew_call_name(call));
		any |= search->calls[call];
	}
	return any ? 0 : ask_fail(search);
}

static int choose_functions(struct ask_search *search)
{
	const struct clew_trace *trace = search->in->trace;
	uint32_t count = clew_trace_function_count(trace);
	bool any = false, has_jobs = false;

	if (!search->ask->span)
		return 0;
	if (search->in->relations) {
		size_t activities;
		const struct clew_activity *all =
			clew_relations_activities(search->in->relations, &activities);

		has_jobs = clew_relations_jobs(search->in->relations);
		for (size_t i = 0; i < activities && !any; i++)
			any = all[i].part == CLEW_ACTIVITY_JOB &&
			      clew_match_activity(search->ask->span, &all[i]);
	}
	if (!clew_has_functions(trace) && (any || has_jobs))
		return any ? 0 : ask_fail(search);
	if (!clew_has_functions(trace))
		return clew_fail(CLEW_EXIT_INPUT,
				 "--span: no function was traced: record them with `clew record -f "
				 "FILE:GLOB`, or logical spans with --runtime");
	search->functions = calloc(count + 1ul, sizeof(*search->functions));
	if (!search->functions)
		return clew_fail_memory();
	for (uint32_t i = 0; i < count; i++) {
		const struct clew_trace_function *function = clew_trace_function(trace, i);

		search->functions[i] = function && clew_match_function(search->ask->span, function);
		any |= search->functions[i];
	}
	return any ? 0 : ask_fail(search);
}

static int choose_files(struct ask_search *search, struct clew_io *io)
{
	const struct clew_trace *trace = search->in->trace;
	const struct clew_chosen all = {};

	if (!search->ask->file)
		return 0;
	if (clew_io_analyse(trace, &all, 0, CLEW_TIME_OPEN, io) < 0)
		return clew_fail_memory();
	search->files = calloc(io->file_count + 1, sizeof(*search->files));
	if (!search->files)
		return clew_fail_memory();
	for (size_t i = 0; i < io->file_count; i++) {
		const char *path = clew_file_path(trace, io->files[i].device, io->files[i].inode,
						  io->files[i].at);

		search->files[i] = path && clew_match_path(search->ask->file, path);
		search->knows_file |= search->files[i];
	}
	search->sleep_files = io->sleep_files;
	return 0;
}

int clew_ask_find(const struct clew_ask *ask, const struct clew_asked_in *in,
		  struct clew_operation **ret_found, size_t *ret_count)
{
	struct ask_search search = {.ask = ask, .in = in};
	bool waits = ask->call || ask->file || ask->lock;
	struct clew_asked asked = {
		.wanted = wanted,
		.fits = waits ? fits : NULL,
		.spins = ask->lock && !ask->call && !ask->file ? spins : NULL,
		.announced = waits || (!ask->operation && !ask->span) ? NULL : announced,
		.activated = waits || ask->operation ? NULL : activated,
		.context = &search,
		.waits_alone = ask->lock,
		.from = in->window->from,
		.to = in->window->to};
	struct clew_io io = {};
	int status = choose_calls(&search);

	*ret_found = NULL;
	*ret_count = 0;
	if (!status)
		status = choose_functions(&search);
	if (!status)
		status = choose_files(&search, &io);
	if (!status &&
	    clew_operations_asked(in->trace, in->relations, &asked, ret_found, ret_count) < 0)
		status = clew_fail_memory();
	if (!status && !*ret_count)
		status = ask_fail(&search);
	free(search.functions);
	free(search.files);
	clew_io_done(&io);
	return status;
}
