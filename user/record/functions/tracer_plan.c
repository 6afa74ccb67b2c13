/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Looks into a file for the functions and the probes that choices are for. All that it finds is
 * planned in the file's entry, and attached by others.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "record/functions/traced_kernel.h"
#include "record/functions/traced_points.h"
#include "record/functions/traced_values.h"
#include "record/functions/tracer_state.h"
#include "record/stream/recording.h"

struct traced_file *tracer_file_of(struct clew_tracer *tracer, uint64_t device, uint64_t inode)
{
	struct traced_file **files = tracer->files.data, *file;

	for (size_t i = 0; i < tracer->files.count; i++)
		if (files[i]->device == device && files[i]->inode == inode)
			return files[i];
	file = calloc(1, sizeof(*file));
	if (!file || vector_reserve(&tracer->files, tracer->files.count + 1) < 0) {
		free(file);
		return NULL;
	}
	file->descriptor = -1;
	file->events = tracer->by_events ? &tracer->events : NULL;
	file->device = device;
	file->inode = inode;
	((struct traced_file **)tracer->files.data)[tracer->files.count++] = file;
	return file;
}

/* A file at hand. */
struct reading {
	struct traced_file *file;
	struct clew_functions *functions;
	struct clew_dwarf *dwarf; /* NULL: it has no debugging information, or nobody asked */
	const char *path;
	struct clew_message *message;
};

static int say_refused_value(const struct chosen *chosen, const char *function,
			     const struct traced_refused_value *refused,
			     struct clew_message *message)
{
	if (!refused->name[0])
		return clew_say(message, -EINVAL, "%s: the result of %s cannot be recorded: %s",
				chosen->title, function, refused->why);
	return clew_say(message, -EINVAL, "%s: '%s' of %s cannot be recorded: %s", chosen->title,
			refused->name, function, refused->why);
}

/* Adds a function with the values of a choice. Only the choice of one function has to find them. */
static int add_function(struct clew_tracer *tracer, const struct reading *reading,
			const struct clew_function_symbol *symbol, const struct chosen *chosen,
			bool only)
{
	struct traced_refused_value refused;
	struct clew_function_symbol kept;
	struct traced_values values;
	unsigned arguments;
	bool known = traced_has(reading->file, symbol, &arguments);
	bool has_values = chosen->choice.has_values && !known &&
			  traced_values_find(reading->dwarf, symbol, &chosen->choice.values,
					     &values, &refused);
	int r;

	if (chosen->choice.has_values && !known && !has_values) {
		if (only && !tracer->started)
			return say_refused_value(chosen, symbol->name, &refused, reading->message);
		tracer->traced.without_values += !symbol->refused;
	}
	r = clew_functions_keep(reading->functions, symbol,
				has_values ? values.arguments : arguments, &kept);
	if (r < 0)
		return r;
	return kept.refused
		       ? traced_refuse(&tracer->traced, kept.refused)
		       : traced_add(&tracer->traced, reading->file, reading->functions, &kept,
				    reading->path, chosen->filters, has_values ? &values : NULL);
}

static int add_chosen(struct clew_tracer *tracer, const struct reading *reading,
		      struct chosen *chosen)
{
	const struct clew_function_symbol *const *found;
	size_t count;
	int r = clew_functions_find(reading->functions, chosen->choice.glob, &found, &count);

	for (size_t i = 0; r >= 0 && i < count; i++)
		r = add_function(tracer, reading, found[i], chosen, count == 1);
	chosen->found += r < 0 ? 0 : count;
	return r < 0 ? r : 0;
}

/* Adds what the choices want of a file: first functions with values, as one that is also chosen
 * without them has them, too. */
static int add_all_chosen(struct clew_tracer *tracer, const struct reading *reading,
			  uint64_t choices)
{
	int r = 0;

	for (unsigned plain = 0; plain < 2; plain++)
		for (size_t i = 0; r >= 0 && i < tracer->count; i++)
			if (choices >> i & 1 && !tracer->chosen[i].choice.points &&
			    tracer->chosen[i].choice.has_values == !plain)
				r = add_chosen(tracer, reading, &tracer->chosen[i]);
	return r;
}

/* The same with probes that it carries. */
static int add_points(struct clew_tracer *tracer, struct traced_file *file, int descriptor,
		      const char *path, uint64_t choices, struct clew_message *message)
{
	const struct traced_points_file in = {.traced = &tracer->traced,
					      .file = file,
					      .descriptor = descriptor,
					      .path = path,
					      .judge = &tracer->judge};
	int r = 0;

	for (unsigned plain = 0; plain < 2; plain++)
		for (size_t i = 0; r >= 0 && i < tracer->count; i++) {
			struct chosen *chosen = &tracer->chosen[i];
			struct traced_points_choice want = {.choice = &chosen->choice,
							    .title = chosen->title,
							    .filters = chosen->filters,
							    .strict = !tracer->started};
			size_t found;

			if (!(choices >> i & 1) || !chosen->choice.points ||
			    chosen->choice.has_values == plain)
				continue;
			r = traced_points_add(&in, &want, &found, message);
			chosen->found += r < 0 ? 0 : found;
		}
	return r;
}

/* The choices that are of functions. */
static uint64_t of_functions(const struct clew_tracer *tracer, uint64_t choices)
{
	for (size_t i = 0; i < tracer->count; i++)
		if (tracer->chosen[i].choice.points)
			choices &= ~(1ull << i);
	return choices;
}

static bool want_values(const struct clew_tracer *tracer, uint64_t choices)
{
	for (size_t i = 0; i < tracer->count; i++)
		if (choices >> i & 1 && tracer->chosen[i].choice.has_values)
			return true;
	return false;
}

static int say_not_planned(int error, struct clew_message *message)
{
	if (error == -EINVAL)
		return error;
	if (error == -ENOSPC)
		return clew_say(message, -EINVAL,
				"these functions have more than %u entries and exits: choose fewer",
				CLEW_FUNCTION_SITES);
	return error < 0 ? clew_say(message, error, "functions cannot be recorded: %s",
				    strerror(-error))
			 : 0;
}

/* Looks for the functions of some choices in a file. */
static int plan_functions(struct clew_tracer *tracer, struct traced_file *file, int descriptor,
			  const char *path, uint64_t choices, struct clew_message *message)
{
	struct clew_functions_options options = tracer->options;
	struct reading reading = {.file = file, .path = path, .message = message};
	size_t build_id_size;
	const uint8_t *build_id;
	char why[CLEW_CLOSURE_WHY];
	int r;

	if (!choices && (file->controlled || !tracer->has_functions))
		return 0;
	options.all_closed = choices && options.returns == CLEW_RETURNS_AUTO &&
			     clew_closure_program(tracer->closure, descriptor, path, why) == 1;
	r = clew_functions_open(descriptor, path, &options, &reading.functions, message);
	if (r < 0)
		return r;
	build_id = clew_functions_build_id(reading.functions, &build_id_size);
	if (want_values(tracer, choices) &&
	    clew_dwarf_open(descriptor, path, build_id, build_id_size, &reading.dwarf) == -ENOMEM)
		r = -ENOMEM;
	if (r >= 0)
		r = add_all_chosen(tracer, &reading, choices);
	if (r >= 0 && !file->controlled)
		r = traced_add_control(&tracer->traced, file, reading.functions, path);
	clew_dwarf_close(reading.dwarf);
	clew_functions_close(reading.functions);
	return say_not_planned(r, message);
}

/* Looks for what some choices are for in a file: first for probes that it carries, whose counters
 * those of functions at the same instructions share. */
static int plan(struct clew_tracer *tracer, struct traced_file *file, int descriptor,
		const char *path, uint64_t choices, struct clew_message *message)
{
	int r = say_not_planned(add_points(tracer, file, descriptor, path, choices, message),
				message);

	if (r >= 0)
		r = plan_functions(tracer, file, descriptor, path, of_functions(tracer, choices),
				   message);
	if (r >= 0)
		file->applied |= choices;
	return r;
}

int tracer_plan_file(struct clew_tracer *tracer, struct traced_file *file,
		     const struct clew_opened *found, const char *path, uint64_t choices,
		     struct clew_message *message)
{
	int copy, r = clew_open_read(
			  found, want_values(tracer, choices) ? CLEW_OPEN_WHOLE : CLEW_OPEN_LOADED,
			  &copy);

	if (r < 0)
		return clew_say(message, r, "%s: %s", path, clew_open_error(r));
	r = plan(tracer, file, copy, path, choices, message);
	close(copy);
	return r;
}

int tracer_plan_kernel(struct clew_tracer *tracer, const struct clew_recorder_options *options,
		       struct clew_message *message)
{
	int r;

	if (!options->kernel_function_count)
		return 0;
	tracer->kernel = tracer_file_of(tracer, 0, 0);
	if (!tracer->kernel)
		return clew_say(message, -ENOMEM, "no memory for functions: free some");
	tracer->kernel->kernel = true;
	tracer->kernel->events = NULL;
	tracer->kernel->controlled = true;
	r = traced_kernel_add(&tracer->traced, tracer->kernel, options->kernel_functions,
			      options->kernel_function_count, options->say, message);
	return say_not_planned(r, message);
}
