/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Follows the files in which functions are looked for, and the links to them. See tracer.h.
 *
 * A choice names files by path, by the last part of a path, or by a process. The first is
 * one file; files of the other two may come later, and are probed when they are mapped. Probes
 * that programs carry may be chosen in whatever file they are, too.
 * Files are told apart by device and inode. Besides those that were chosen, functions are
 * probed that cut stacks, in the libraries that have them.
 *
 * At the start nothing is attached before all choices proved to be good.
 */
#include "record/functions/tracer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "clew.skel.h"
#include "record/functions/announce.h"
#include "record/functions/choice.h"
#include "record/functions/probe.h"
#include "record/functions/probe_event.h"
#include "record/functions/traced_cost.h"
#include "record/functions/traced_file.h"
#include "record/functions/traced_kernel.h"
#include "record/functions/traced_limit.h"
#include "record/functions/traced_points.h"
#include "record/stacks/objects.h"
#include "record/stream/internal.h"
#include "symbol/code/closure.h"
#include "symbol/code/lock_function.h"

#define DIGITS "0123456789"
#define PLACES (4 * CLEW_FUNCTION_SITES) /* of probes that are trace events, dropped ones too */

struct chosen {
	struct clew_function_choice choice;
	char *title;   /* the option that chose it */
	bool optional; /* the file may lack such functions */
	bool by_name;
	bool anywhere;	 /* in each file that is mapped */
	pid_t pid;	 /* by process, else 0 */
	uint8_t filters; /* the bit of that process */
	size_t found;	 /* functions that fit */
};

/* A file that was found, to be attached to. */
struct opened {
	struct traced_file *file;
	char *path;
	struct clew_opened found;
	uint64_t choices; /* a bit for each that it is of */
};

struct clew_tracer {
	struct traced traced;
	const struct bpf_program *program;	  /* at functions of programs */
	const struct bpf_program *kernel_program; /* and of the kernel */
	struct traced_file *kernel;		  /* NULL: nothing of it is recorded */
	struct clew_functions_options options;
	struct clew_closure *closure;
	struct chosen *chosen;
	size_t count;
	struct vector files;  /* struct traced_file * */
	struct vector opened; /* struct opened, at the start */
	struct traced_events events;
	bool by_events;
	struct probe_judge judge;
	const char *command; /* the program that is about to be run, or NULL */
	bool has_functions;  /* not only probes that programs carry */
	bool started;	     /* files that come from now on are probed as far as it goes */
	struct traced_limit limit;
	pthread_mutex_t lock; /* of all of it, once it has started */
};

/* Libraries with functions that cut stacks. */
static const char *const control_names[] = {"libc.so.6", "libgcc_s.so.1", "libstdc++.so.6",
					    "libc++abi.so.1", "ld-musl-x86_64.so.1"};

#define CONTROL_NAMES (sizeof(control_names) / sizeof(control_names[0]))

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool has_control(const char *path)
{
	for (size_t i = 0; i < CONTROL_NAMES; i++)
		if (!strcmp(last_name(path), control_names[i]))
			return true;
	return false;
}

/* True if probes in programs are needed. */
static bool has_user_functions(const struct clew_recorder_options *options)
{
	return options->function_count || options->lock_object_count || options->point_count;
}

int clew_tracer_prepare(struct clew_bpf *bpf, const struct clew_recorder_options *options,
			unsigned cpus, struct clew_message *message)
{
	struct clew_message why;
	bool has_values;

	if (!clew_records_functions(options))
		return 0;
	if (options->kernel_function_count && traced_kernel_possible(&why))
		return clew_say(message, -ENOTSUP, "-k: %s: leave it out", why.text);
	if (has_user_functions(options)) {
		if (clew_announce_possible())
			return clew_say(message, -ENOTSUP,
					"this kernel takes no probes in programs: see `clew "
					"doctor`");
		if (clew_probe_multi() && !options->trace_events) {
			clew_probe_prepare_multi(bpf->progs.clew_function);
		} else {
			if (clew_probe_events_prepare(message))
				return -ENOTSUP;
			bpf->rodata->function_events = true;
			bpf_map__set_max_entries(bpf->maps.clew_function_places, PLACES);
		}
	}
	if (options->functions_percent)
		traced_limit_prepare(bpf, cpus);
	bpf_map__set_max_entries(bpf->maps.clew_function_sites, CLEW_FUNCTION_SITES);
	/* Any glob with parentheses may turn out to have values. */
	has_values = options->lock_object_count || options->point_count;
	for (size_t i = 0; i < options->function_count; i++)
		has_values |= strchr(options->functions[i], '(') != NULL;
	if (has_values) {
		bpf_map__set_max_entries(bpf->maps.clew_function_values, CLEW_FUNCTION_SITES);
		bpf_map__set_max_entries(bpf->maps.clew_function_unread_texts,
					 CLEW_FUNCTION_UNREAD_TEXTS);
	}
	for (size_t i = 0; i < options->function_count; i++)
		bpf->rodata->filter_functions |=
			options->functions[i][strspn(options->functions[i], DIGITS)] == ':';
	for (size_t i = 0; i < options->point_count; i++)
		bpf->rodata->filter_functions |=
			options->points[i][strspn(options->points[i], DIGITS)] == ':';
	for (size_t i = 0; i < options->lock_object_count; i++)
		bpf->rodata->filter_functions |=
			!options->lock_objects[i][strspn(options->lock_objects[i], DIGITS)];
	return 0;
}

/* ---- files ---- */

/* NULL: no memory. */
static struct traced_file *file_of(struct clew_tracer *tracer, uint64_t device, uint64_t inode)
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

/* ---- at the start ---- */

/* The file is pinned again, as the caller closes its own descriptor. */
static int add_opened(struct clew_tracer *tracer, const struct clew_object *object,
		      uint64_t choices)
{
	struct opened *all = tracer->opened.data, one = {.choices = choices};
	int r;

	for (size_t i = 0; i < tracer->opened.count; i++)
		if (all[i].file->device == object->file.device &&
		    all[i].file->inode == object->file.inode) {
			all[i].choices |= choices;
			return 0;
		}
	r = vector_reserve(&tracer->opened, tracer->opened.count + 1);
	one.file = file_of(tracer, object->file.device, object->file.inode);
	one.path = strdup(object->path);
	if (r >= 0)
		r = one.file && one.path ? clew_opened_copy(&object->file, &one.found) : -ENOMEM;
	if (r < 0) {
		free(one.path);
		return r;
	}
	((struct opened *)tracer->opened.data)[tracer->opened.count++] = one;
	return 0;
}

static int filter_process(struct clew_tracer *tracer, struct chosen *chosen)
{
	uint32_t key = (uint32_t)chosen->pid | 0x80000000u;
	unsigned others = 0;
	uint8_t bit;

	for (const struct chosen *other = tracer->chosen; other < chosen; other++) {
		if (other->pid == chosen->pid)
			chosen->filters = other->filters;
		others |= other->filters;
	}
	if (chosen->filters)
		return 0;
	bit = (uint8_t)(others + 1);
	if (!bit)
		return -E2BIG;
	chosen->filters = bit;
	return bpf_map_update_elem(
		       bpf_map__fd(tracer->traced.recorder->bpf->maps.clew_function_pids), &key,
		       &bit, BPF_ANY)
		       ? -errno
		       : 0;
}

/* A search for probes of a choice in whatever file. */
struct anywhere {
	struct clew_tracer *tracer;
	size_t number; /* of the choice */
	int error;
};

/* Takes the file. */
static void look_into(struct anywhere *anywhere, const char *path, struct clew_opened *file)
{
	struct clew_tracer *tracer = anywhere->tracer;
	const struct clew_object object = {.path = (char *)(uintptr_t)path, .file = *file};
	int copy;

	if (!anywhere->error && clew_open_read(file, CLEW_OPEN_PROBES, &copy) >= 0) {
		if (traced_points_fit(copy, tracer->chosen[anywhere->number].choice.glob))
			anywhere->error = add_opened(tracer, &object, 1ull << anywhere->number);
		close(copy);
	}
	clew_opened_close(file);
}

static bool look_into_mapping(void *context, const struct clew_mapping *mapping)
{
	struct clew_opened file;

	if (*mapping->at.path == '/' && clew_mapping_file(mapping, &file) >= 0)
		look_into(context, mapping->at.path, &file);
	return false;
}

/* Finds the files that carry a choice's probes among those that are mapped, and the program that is
 * about to be run. */
static int resolve_anywhere(struct clew_tracer *tracer, size_t number, struct clew_message *message)
{
	struct anywhere anywhere = {.tracer = tracer, .number = number};
	char path[PATH_MAX], whole[PATH_MAX];
	struct clew_opened file;

	clew_mappings_scan(look_into_mapping, &anywhere);
	if (tracer->command) {
		if (strchr(tracer->command, '/') ||
		    clew_program_find(tracer->command, path, sizeof(path)) < 0)
			snprintf(path, sizeof(path), "%s", tracer->command);
		if (clew_open_named(path, &file, whole) >= 0)
			look_into(&anywhere, *whole == '/' ? whole : path, &file);
	}
	return anywhere.error < 0
		       ? clew_say(message, anywhere.error, "%s: %s", tracer->chosen[number].title,
				  strerror(-anywhere.error))
		       : 0;
}

/* Finds the files of a choice. */
static int resolve(struct clew_tracer *tracer, size_t number, struct clew_message *message)
{
	struct chosen *chosen = &tracer->chosen[number];
	struct clew_objects objects;
	int r;

	if (chosen->anywhere)
		return resolve_anywhere(tracer, number, message);
	r = clew_objects_find(chosen->choice.object, &objects, message);
	/* The question itself is wrong. */
	if (r < 0)
		return r == -ENOMEM || r == -EMFILE ? r : -EINVAL;
	chosen->pid = objects.pid;
	chosen->by_name = !objects.pid && !strchr(chosen->choice.object, '/');
	if (chosen->pid)
		r = filter_process(tracer, chosen);
	for (size_t i = 0; r >= 0 && i < objects.count; i++)
		r = add_opened(tracer, &objects.list[i], 1ull << number);
	clew_objects_done(&objects);
	if (r == -E2BIG)
		return clew_say(message, -EINVAL, "%s: more than %d processes: choose fewer",
				chosen->title, CLEW_FUNCTION_FILTERS);
	return r < 0 ? clew_say(message, r, "%s: %s", chosen->title, strerror(-r)) : 0;
}

/* Adds the libraries that have functions that cut stacks, as far as there are any. */
static int resolve_control(struct clew_tracer *tracer, struct clew_message *message)
{
	struct clew_message ignored;
	struct clew_objects objects;
	int r = 0;

	if (!tracer->has_functions)
		return 0;
	for (size_t i = 0; r >= 0 && i < CONTROL_NAMES; i++) {
		if (clew_objects_find(control_names[i], &objects, &ignored) < 0)
			continue;
		for (size_t k = 0; r >= 0 && k < objects.count; k++)
			r = add_opened(tracer, &objects.list[k], 0);
		clew_objects_done(&objects);
	}
	return r < 0 ? clew_say(message, r, "no memory for functions: free some") : 0;
}

/* The same of probes that programs carry. */
static int say_no_points(struct clew_tracer *tracer, size_t number, struct clew_message *message)
{
	const struct chosen *chosen = &tracer->chosen[number];
	const struct opened *opened = tracer->opened.data;
	char why[4400];
	int copy;

	for (size_t i = 0; i < tracer->opened.count; i++) {
		if (!(opened[i].choices >> number & 1) ||
		    clew_open_read(&opened[i].found, CLEW_OPEN_PROBES, &copy) < 0)
			continue;
		traced_points_say_none(copy, opened[i].path, chosen->choice.glob, why, sizeof(why));
		close(copy);
		return clew_say(message, -EINVAL, "%s: %s", chosen->title, why);
	}
	return clew_say(message, -EINVAL,
			"%s: no program that runs carries such a probe: name its file, as in "
			"OBJECT:%s",
			chosen->title, chosen->choice.glob);
}

/* Says which choice fits nothing, and what is alike. */
static int say_none(struct clew_tracer *tracer, size_t number, struct clew_message *message)
{
	const struct chosen *chosen = &tracer->chosen[number];
	const struct opened *opened = tracer->opened.data;
	const char *nearest = NULL;
	int r;

	if (chosen->choice.points)
		return say_no_points(tracer, number, message);
	for (size_t i = 0; i < tracer->opened.count && !nearest; i++) {
		struct clew_functions *functions;
		int copy;

		if (!(opened[i].choices >> number & 1) ||
		    clew_open_read(&opened[i].found, CLEW_OPEN_LOADED, &copy) < 0)
			continue;
		r = clew_functions_open(copy, opened[i].path, &tracer->options, &functions,
					message);
		if (r < 0) {
			close(copy);
			continue;
		}
		nearest = clew_functions_nearest(functions, chosen->choice.glob);
		r = nearest ? clew_say(message, -EINVAL, "%s: no function of that name; perhaps %s",
				       chosen->title, nearest)
			    : 0;
		clew_functions_close(functions);
		close(copy);
		if (nearest)
			return r;
	}
	return clew_say(message, -EINVAL,
			"%s: no function of that name: `clew functions %s` lists them",
			chosen->title, chosen->choice.object);
}

static int check(struct clew_tracer *tracer, struct clew_message *message)
{
	const struct traced *traced = &tracer->traced;

	if (traced->over)
		return clew_say(message, -EINVAL,
				"%u functions, more than %u: choose fewer, or give --max-functions "
				"%u",
				traced->functions + traced->over, traced->functions_most,
				traced->functions + traced->over);
	for (size_t i = 0; i < tracer->count; i++)
		if (!tracer->chosen[i].found && !tracer->chosen[i].optional)
			return say_none(tracer, i, message);
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

/* Copies what some choices need of a file, and looks for what they are for. */
static int read_and_plan(struct clew_tracer *tracer, struct traced_file *file,
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

static int plan_all(struct clew_tracer *tracer, struct clew_message *message)
{
	const struct opened *opened = tracer->opened.data;
	bool by_process;
	int r = 0;

	for (size_t i = 0; i < tracer->opened.count; i++) {
		r = read_and_plan(tracer, opened[i].file, &opened[i].found, opened[i].path,
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

/* Finds the functions of the kernel. */
static int plan_kernel(struct clew_tracer *tracer, const struct clew_recorder_options *options,
		       struct clew_message *message)
{
	int r;

	if (!options->kernel_function_count)
		return 0;
	tracer->kernel = file_of(tracer, 0, 0);
	if (!tracer->kernel)
		return clew_say(message, -ENOMEM, "no memory for functions: free some");
	tracer->kernel->kernel = true;
	tracer->kernel->events = NULL;
	tracer->kernel->controlled = true;
	r = traced_kernel_add(&tracer->traced, tracer->kernel, options->kernel_functions,
			      options->kernel_function_count, options->say, message);
	return say_not_planned(r, message);
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

/* -EREMOTE: the kernel would wait for a server, with the program's memory locked. */
static int attach_file(const struct clew_tracer *tracer, struct traced_file *file,
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
		int r = attach_file(tracer, opened[i].file, &opened[i].found);

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
		      struct clew_tracer **ret, struct clew_message *message)
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
	tracer->program = recorder->bpf->progs.clew_function;
	tracer->by_events = recorder->bpf->rodata->function_events;
	tracer->events.places = bpf_map__fd(recorder->bpf->maps.clew_function_places);
	tracer->kernel_program = recorder->bpf->progs.clew_kernel_function;
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

int clew_tracer_open(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		     struct clew_tracer **ret, struct clew_message *message)
{
	struct clew_tracer *tracer = NULL;
	int r;

	*ret = NULL;
	if (!clew_records_functions(options))
		return 0;
	r = new_tracer(recorder, options, &tracer, message);
	for (size_t i = 0; r >= 0 && i < tracer->count; i++)
		r = resolve(tracer, i, message);
	if (r >= 0)
		r = resolve_control(tracer, message);
	if (r >= 0)
		r = plan_all(tracer, message);
	if (r >= 0)
		r = plan_kernel(tracer, options, message);
	if (r >= 0)
		r = check(tracer, message);
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
	if (tracer)
		close_opened(tracer);
	if (r < 0) {
		clew_tracer_close(tracer);
		return r;
	}
	tracer->started = true;
	*ret = tracer;
	return 0;
}

/* ---- later ---- */

bool clew_tracer_follows(const struct clew_tracer *tracer, pid_t pid)
{
	for (size_t i = 0; tracer && i < tracer->count; i++)
		if (tracer->chosen[i].pid == pid)
			return true;
	return false;
}

static void take_file(struct clew_tracer *tracer, const struct clew_open_mapping *mapping,
		      const struct clew_opened *found)
{
	struct clew_message ignored;
	struct traced_file *file;
	uint64_t choices = 0;

	for (size_t i = 0; i < tracer->count; i++) {
		const struct chosen *chosen = &tracer->chosen[i];

		if (chosen->pid	      ? chosen->pid == mapping->pid
		    : chosen->by_name ? !strcmp(last_name(mapping->path), chosen->choice.object)
				      : chosen->anywhere)
			choices |= 1ull << i;
	}
	if (!choices && !(tracer->has_functions && has_control(mapping->path)))
		return;
	file = file_of(tracer, found->device, found->inode);
	if (!file || (!(choices & ~file->applied) && (file->controlled || !tracer->has_functions)))
		return;
	/* A file that cannot be read or probed is left alone. */
	if (found->probeable && read_and_plan(tracer, file, found, mapping->path,
					      choices & ~file->applied, &ignored) >= 0)
		attach_file(tracer, file, found);
}

void clew_tracer_file(struct clew_tracer *tracer, const struct clew_open_mapping *mapping,
		      const struct clew_opened *file)
{
	if (!tracer)
		return;
	pthread_mutex_lock(&tracer->lock);
	take_file(tracer, mapping, file);
	pthread_mutex_unlock(&tracer->lock);
}

/* ---- what costs too much ---- */

/* Attaches to the files of dropped functions again, without these. */
static void renew(struct clew_tracer *tracer, const struct clew_dropped *dropped, size_t count)
{
	struct vector old = {.item = sizeof(struct clew_probe_links)};
	struct traced_file **files = tracer->files.data;

	for (size_t i = 0; i < tracer->files.count; i++)
		for (size_t k = 0; k < count; k++)
			if (traced_function_at(&tracer->traced, dropped[k].function)->file ==
			    files[i]) {
				/* If it fails, the probes stay and do nothing. */
				traced_links_renew(&tracer->traced, files[i],
						   files[i]->kernel ? tracer->kernel_program
								    : tracer->program,
						   &old);
				break;
			}
	clew_probe_detach(old.data, old.count);
	vector_done(&old);
}

/* Notes a function for the summary. 0 or -ENOMEM. */
static int note_dropped(struct clew_tracer *tracer, const struct clew_dropped *dropped)
{
	struct clew_recorder_summary *summary = &tracer->traced.recorder->summary;
	size_t size = (summary->dropped_count + 1) * sizeof(*summary->dropped);
	struct clew_dropped_function *all = realloc(summary->dropped, size);
	double seconds = (double)dropped->period / 1e9;

	if (!all)
		return -ENOMEM;
	summary->dropped = all;
	all[summary->dropped_count] = (struct clew_dropped_function){
		.name = strdup(traced_function_at(&tracer->traced, dropped->function)->name),
		.calls_per_second = (double)dropped->calls / seconds,
		.share = (double)dropped->cost / (double)dropped->period,
	};
	if (!all[summary->dropped_count].name)
		return -ENOMEM;
	summary->dropped_count++;
	return 0;
}

int clew_tracer_tick(struct clew_tracer *tracer, uint64_t now)
{
	struct clew_dropped *dropped;
	size_t count;
	int r;

	if (!tracer)
		return 0;
	pthread_mutex_lock(&tracer->lock);
	r = traced_limit_check(&tracer->limit, &tracer->traced, now, &dropped, &count);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		r = traced_drop(&tracer->traced, dropped[i].function, &dropped[i]);
		if (r >= 0)
			r = note_dropped(tracer, &dropped[i]);
	}
	if (r >= 0 && count) {
		renew(tracer, dropped, count);
		/* While both links were there, each call counted twice. */
		r = traced_limit_begin(&tracer->limit, &tracer->traced, clew_now());
	}
	pthread_mutex_unlock(&tracer->lock);
	free(dropped);
	return r;
}

void clew_tracer_close(struct clew_tracer *tracer)
{
	struct vector links = {.item = sizeof(struct clew_probe_links)};
	struct traced_file **files;

	if (!tracer)
		return;
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
	vector_done(&tracer->opened);
	traced_limit_close(&tracer->limit);
	traced_done(&tracer->traced);
	pthread_mutex_destroy(&tracer->lock);
	for (size_t i = 0; i < CLEW_CHOICES_MOST; i++)
		free(tracer->chosen[i].title);
	free(tracer->chosen);
	clew_closure_free(tracer->closure);
	free(tracer);
}
