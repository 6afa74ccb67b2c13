/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens and closes what records functions: takes the options as choices, plans their files,
 * attaches to these.
 *
 * A choice names files by path, by the last part of a path, or by a process. The first is
 * one file; files of the other two may come later, and are probed when they are mapped. Probes
 * that programs carry may be chosen in whatever file they are, too.
 * Files are told apart by device and inode. Besides those that were chosen, functions are
 * probed that cut stacks, in the libraries that have them.
 *
 * Nothing is loaded before all choices proved to be good.
 */
#include "record/functions/tracer.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "clew.skel.h"
#include "record/functions/probe.h"
#include "record/functions/traced_cost.h"
#include "record/functions/traced_site.h"
#include "record/functions/tracer_state.h"
#include "record/stream/clock.h"
#include "record/stream/recorder_state.h"
#include "symbol/code/lock_function.h"

static int check(struct clew_tracer *tracer, struct clew_message *message)
{
	const struct traced *traced = &tracer->traced;
	bool later = false;

	if (traced->over)
		return clew_say(message, -EINVAL,
				"%u functions, more than %u: choose fewer, or give --max-functions "
				"%u",
				traced->functions + traced->over, traced->functions_most,
				traced->functions + traced->over);
	for (size_t i = 0; i < tracer->count; i++) {
		const struct chosen *chosen = &tracer->chosen[i];

		later |= chosen->later && !chosen->found;
		if (!chosen->found && !chosen->optional && !chosen->later)
			return tracer_say_none(tracer, i, message);
	}
	if (later)
		return 0;
	if (!traced->functions && tracer->chosen[0].choice.points)
		return clew_say(message, -EINVAL,
				"%s: none of these probes can be attached to: their programs would "
				"not do the same (%s)",
				tracer->chosen[0].title,
				((const struct traced_refusal *)traced->refusals.data)->reason);
	if (!traced->functions)
		return clew_say(message, -EINVAL,
				"none of these functions can be probed: `clew functions %s '%s'` "
				"says why",
				tracer->chosen[0].choice.object, tracer->chosen[0].choice.glob);
	return 0;
}

static int plan_all(struct clew_tracer *tracer, struct clew_message *message)
{
	const struct opened *opened = tracer->opened.data;
	bool by_process;
	int r = 0;

	for (size_t i = 0; i < tracer->opened.count; i++) {
		r = tracer_plan_file(tracer, opened[i].file, &opened[i].found, opened[i].path,
				     opened[i].choices, message);
		by_process = true;
		for (size_t k = 0; k < tracer->count; k++)
			by_process &= !(opened[i].choices >> k & 1) || tracer->chosen[k].pid;
		/* Not all that a process maps can be read, and no one asked for it by name. */
		if (r < 0 && !by_process)
			return r == -ENOMEM ? r : -EINVAL;
	}
	return r;
}

static int attach_kernel(struct clew_tracer *tracer, struct clew_message *message)
{
	int r = tracer->kernel ? traced_links_attach(tracer->kernel, tracer->kernel_program, -1,
						     tracer->limit.percent)
			       : 0;

	return r < 0 ? clew_say(message, -ENOTSUP, "functions of the kernel cannot be probed: %s",
				strerror(-r))
		     : 0;
}

int tracer_attach_file(const struct clew_tracer *tracer, struct traced_file *file,
		       const struct clew_opened *found)
{
	return found->probeable ? traced_links_attach(file, tracer->program, found->path,
						      tracer->limit.percent)
				: -EREMOTE;
}

static int attach_all(struct clew_tracer *tracer, struct clew_message *message)
{
	const struct opened *opened = tracer->opened.data;

	for (size_t i = 0; i < tracer->opened.count; i++) {
		int r = tracer_attach_file(tracer, opened[i].file, &opened[i].found);

		if (r == -EREMOTE && opened[i].choices)
			return clew_say(message, -ENOTSUP,
					"%s cannot be probed: a program serves its file system "
					"(FUSE): copy the file to a disk and run it there",
					opened[i].path);
		if (r < 0 && opened[i].choices)
			return clew_say(message, -ENOTSUP, "%s cannot be probed: %s",
					opened[i].path,
					r == -524 ? "the kernel refuses an instruction of it"
						  : strerror(-r));
	}
	return 0;
}

static void close_opened(struct clew_tracer *tracer)
{
	struct opened *opened = tracer->opened.data;

	for (size_t i = 0; i < tracer->opened.count; i++) {
		free(opened[i].path);
		clew_opened_close(&opened[i].found);
	}
	vector_done(&tracer->opened);
}

/* `option`: what it is of; `text`: as `parse` takes it. */
static int
add_choice(struct clew_tracer *tracer, const char *option, const char *of, const char *text,
	   int (*parse)(const char *, struct clew_function_choice *, struct clew_message *),
	   struct clew_message *message)
{
	struct chosen *chosen = &tracer->chosen[tracer->count];
	int r;

	if (tracer->count == CLEW_CHOICES_MOST)
		return clew_say(message, -EINVAL,
				"functions are chosen more than %d times: use globs",
				CLEW_CHOICES_MOST);
	r = parse(text, &chosen->choice, message);
	if (asprintf(&chosen->title, "%s %s", option, of) < 0) {
		chosen->title = NULL;
		return clew_say(message, -ENOMEM, "no memory for functions: free some");
	}
	tracer->count++;
	chosen->anywhere = !*chosen->choice.object;
	tracer->has_functions |= !chosen->choice.points;
	return r;
}

static int choose(struct clew_tracer *tracer, const struct clew_recorder_options *options,
		  struct clew_message *message)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < options->function_count; i++)
		r = add_choice(tracer, "-f", options->functions[i], options->functions[i],
			       clew_choice_parse, message);
	for (size_t i = 0; r >= 0 && i < options->point_count; i++)
		r = add_choice(tracer, "--usdt", options->points[i], options->points[i],
			       clew_choice_parse_points, message);
	for (size_t i = 0; r >= 0 && i < options->lock_object_count * CLEW_LOCK_CHOICES; i++) {
		const char *object = options->lock_objects[i / CLEW_LOCK_CHOICES];
		char text[4200];

		snprintf(text, sizeof(text), "%s:%s", object,
			 clew_lock_choices[i % CLEW_LOCK_CHOICES]);
		r = add_choice(tracer, "--lock-holds", object, text, clew_choice_parse, message);
		/* Static programs have only the functions that they call, mutexes before all. */
		if (r >= 0)
			tracer->chosen[tracer->count - 1].optional = i % CLEW_LOCK_CHOICES > 0;
	}
	return r;
}

static int new_tracer(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		      bool by_events, struct clew_tracer **ret, struct clew_message *message)
{
	struct clew_tracer *tracer = calloc(1, sizeof(*tracer));

	if (tracer)
		tracer->chosen = calloc(CLEW_CHOICES_MOST, sizeof(*tracer->chosen));
	if (!tracer || !tracer->chosen || clew_closure_new(&tracer->closure) < 0) {
		if (tracer)
			free(tracer->chosen);
		free(tracer);
		return clew_say(message, -ENOMEM, "no memory for functions: free some");
	}
	*ret = tracer;
	store_lock_init(&tracer->lock);
	tracer->by_events = by_events;
	tracer->traced.recorder = recorder;
	tracer->command = options->program;
	tracer->traced.functions_most = options->functions_most;
	tracer->traced.sites.item = sizeof(struct clew_function_site);
	tracer->files.item = sizeof(struct traced_file *);
	tracer->opened.item = sizeof(struct opened);
	clew_probe_cost_measure(&tracer->traced.cost);
	tracer->options = (struct clew_functions_options){
		.size = sizeof(tracer->options),
		.strict_entry = options->strict_entry,
		.long_nops_stepped = tracer->traced.cost.long_nops_stepped,
		.returns = options->returns,
	};
	return choose(tracer, options, message);
}

int clew_tracer_choose(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		       struct clew_tracer **ret, struct clew_message *message)
{
	struct clew_tracer *tracer;
	bool by_events;
	int r;

	*ret = NULL;
	if (!clew_records_functions(options))
		return 0;
	r = tracer_possible(options, &by_events, message);
	if (r >= 0)
		r = new_tracer(recorder, options, by_events, ret, message);
	tracer = *ret;
	for (size_t i = 0; r >= 0 && i < tracer->count; i++)
		r = tracer_resolve(tracer, i, message);
	if (r >= 0)
		r = tracer_resolve_control(tracer, message);
	if (r >= 0)
		r = plan_all(tracer, message);
	if (r >= 0)
		r = tracer_plan_kernel(tracer, options, message);
	return r < 0 ? r : check(tracer, message);
}

/* Nothing was loaded when the tracer was made. */
static int connect_kernel(struct clew_tracer *tracer, struct clew_message *message)
{
	const struct clew_bpf *bpf = tracer->traced.recorder->bpf;
	int r;

	tracer->program = bpf->progs.clew_function;
	tracer->kernel_program = bpf->progs.clew_kernel_function;
	tracer->events.places = bpf_map__fd(bpf->maps.clew_function_places);
	r = tracer_filter_processes(tracer, message);
	if (r < 0)
		return r;
	r = traced_sites_begin(&tracer->traced);
	return r < 0 ? clew_say(message, r, "functions cannot be recorded: %s", strerror(-r)) : 0;
}

int clew_tracer_open(struct clew_tracer *tracer, const struct clew_recorder_options *options,
		     struct clew_message *message)
{
	int r;

	if (!tracer)
		return 0;
	r = connect_kernel(tracer, message);
	if (r >= 0)
		traced_cost_say(&tracer->traced, &tracer->files, options);
	if (r >= 0)
		r = traced_cost_write(&tracer->traced);
	if (r >= 0 &&
	    traced_limit_open(&tracer->limit, &tracer->traced, options->functions_percent) < 0)
		r = clew_say(message, -ENOMEM, "no memory for functions: free some");
	if (r >= 0)
		r = attach_all(tracer, message);
	if (r >= 0)
		r = attach_kernel(tracer, message);
	if (r >= 0)
		r = traced_limit_begin(&tracer->limit, &tracer->traced, clew_now());
	close_opened(tracer);
	tracer->started = r >= 0;
	return r;
}

/* Says what no file had that the command mapped. */
static void tell_missing(const struct clew_tracer *tracer)
{
	void (*say)(const char *line) = tracer->traced.recorder->options.say;
	char line[4400];

	for (size_t i = 0; say && tracer->started && i < tracer->count; i++) {
		if (!tracer->chosen[i].later || tracer->chosen[i].found)
			continue;
		snprintf(line, sizeof(line),
			 "%s: no file that was mapped has it, so nothing of it is recorded",
			 tracer->chosen[i].title);
		say(line);
	}
}

void clew_tracer_close(struct clew_tracer *tracer)
{
	struct vector links = {.item = sizeof(struct clew_probe_links)};
	struct traced_file **files;

	if (!tracer)
		return;
	tell_missing(tracer);
	files = tracer->files.data;
	/* Together, as each takes a while; what finds no room is detached with its descriptor. */
	for (size_t i = 0; i < tracer->files.count; i++)
		if (traced_links_take(files[i], &links) < 0)
			break;
	clew_probe_detach(links.data, links.count);
	vector_done(&links);
	for (size_t i = 0; i < tracer->files.count; i++) {
		traced_file_done(files[i]);
		free(files[i]);
	}
	vector_done(&tracer->files);
	close_opened(tracer);
	traced_limit_close(&tracer->limit);
	traced_done(&tracer->traced);
	pthread_mutex_destroy(&tracer->lock);
	for (size_t i = 0; i < CLEW_CHOICES_MOST; i++)
		free(tracer->chosen[i].title);
	free(tracer->chosen);
	clew_closure_free(tracer->closure);
	free(tracer);
}
