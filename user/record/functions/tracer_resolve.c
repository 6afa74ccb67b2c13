/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the files of choices at the start: by path, by the last part of a path, by a process, or
 * wherever a probe is carried. Says which choice fits nothing.
 *
 * Invariant: each file is in tracer->opened once, with all choices that are for it.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/machine.h"
#include "clew.skel.h"
#include "record/functions/traced_points.h"
#include "record/functions/tracer_state.h"
#include "record/stacks/mappings.h"
#include "record/stacks/objects.h"
#include "record/stream/recorder_state.h"

/* Libraries with functions that cut stacks. */
static const char *const control_names[] = {"libc.so.6", "libgcc_s.so.1", "libstdc++.so.6",
					    "libc++abi.so.1", CLEW_MACHINE_MUSL};

#define CONTROL_NAMES (sizeof(control_names) / sizeof(control_names[0]))

bool tracer_has_control(const char *path)
{
	for (size_t i = 0; i < CONTROL_NAMES; i++)
		if (!strcmp(tracer_last_name(path), control_names[i]))
			return true;
	return false;
}

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
	one.file = tracer_file_of(tracer, object->file.device, object->file.inode);
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
	unsigned others = 0;

	for (const struct chosen *other = tracer->chosen; other < chosen; other++) {
		if (other->pid == chosen->pid)
			chosen->filters = other->filters;
		others |= other->filters;
	}
	if (chosen->filters)
		return 0;
	chosen->filters = (uint8_t)(others + 1);
	return chosen->filters ? 0 : -E2BIG;
}

int tracer_filter_processes(const struct clew_tracer *tracer, struct clew_message *message)
{
	int map = bpf_map__fd(tracer->traced.recorder->bpf->maps.clew_function_pids);

	for (size_t i = 0; i < tracer->count; i++) {
		const struct chosen *chosen = &tracer->chosen[i];
		uint32_t key = (uint32_t)chosen->pid | 0x80000000u;

		if (chosen->pid && bpf_map_update_elem(map, &key, &chosen->filters, BPF_ANY))
			return clew_say(message, -errno, "%s: %s", chosen->title, strerror(errno));
	}
	return 0;
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
	tracer->chosen[number].later = tracer->command;
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

int tracer_resolve(struct clew_tracer *tracer, size_t number, struct clew_message *message)
{
	struct chosen *chosen = &tracer->chosen[number];
	struct clew_objects objects;
	int r;

	if (chosen->anywhere)
		return resolve_anywhere(tracer, number, message);
	r = clew_objects_find(chosen->choice.object, &objects, message);
	if (r == -ENOENT && tracer->command && !strchr(chosen->choice.object, '/')) {
		chosen->by_name = chosen->later = true;
		return 0;
	}
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

int tracer_resolve_control(struct clew_tracer *tracer, struct clew_message *message)
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

/* Says that a choice of probes that programs carry fits nothing, and what is alike. */
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

int tracer_say_none(struct clew_tracer *tracer, size_t number, struct clew_message *message)
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
