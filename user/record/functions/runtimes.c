/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The runtimes of a recording. Nothing is attached before the costs in all files that are mapped at
 * the start were said. A runtime with points that the kernel single-steps is recorded only if
 * options.stepped_points allows that.
 *
 * A file is known by its device and inode; one that was looked through is not looked through
 * again.
 */
#include "record/functions/runtimes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vector.h"
#include "clew.skel.h"
#include "record/functions/probe.h"
#include "record/functions/probe_cost.h"
#include "record/functions/runtime_file.h"
#include "record/stacks/mappings.h"
#include "record/stacks/objects.h"
#include "record/stream/recorder_state.h"
#include "symbol/elf/library.h"

#define PATTERN_MOST 64	   /* files that a pattern stands for before the command begins */
#define SEEN_MOST    65536 /* files that are known to be looked through */
#define LINE_MOST    (PATH_MAX + CLEW_RUNTIME_WHY + 128)

/* A file in which points were found, to be attached to. */
struct planned {
	struct clew_opened file;
	struct vector places; /* struct clew_probe_place */
};

struct clew_runtimes {
	struct clew_recorder *recorder;
	const struct clew_layers *layers;
	const struct clew_recorder_options *options;
	struct clew_probe_cost cost;
	struct map seen;       /* files */
	struct vector planned; /* struct planned, at the start */
	struct vector links;   /* struct clew_probe_links */
	uint32_t sites;
	char *text;
	size_t text_size;
	bool started;
	const char *refused; /* the first runtime that is refused for its cost, NULL none */
};

/* Notes what became of a runtime in a file. */
static int note(struct clew_runtimes *runtimes, const struct clew_runtime *runtime, size_t points,
		uint32_t ns, const char *path, const char *why)
{
	char line[LINE_MOST], *larger;
	int length = snprintf(line, sizeof(line), "%s\t%zu\t%u\t%s\t%s\n", runtime->name, points,
			      ns, path, why);

	if (length < 0 || length >= (int)sizeof(line))
		return 0;
	larger = realloc(runtimes->text, runtimes->text_size + (size_t)length + 1);
	if (!larger)
		return -ENOMEM;
	runtimes->text = larger;
	memcpy(larger + runtimes->text_size, line, (size_t)length + 1);
	runtimes->text_size += (size_t)length;
	return 0;
}

static void tell(const struct clew_runtimes *runtimes, const struct clew_runtime *runtime,
		 const struct runtime_found *found, const char *path, uint32_t dearest,
		 size_t stepped)
{
	char line[LINE_MOST];
	int length;

	if (!runtimes->options->say)
		return;
	if (found->why[0])
		length = snprintf(line, sizeof(line), "%s is not recorded in %s: %s", runtime->name,
				  path, found->why);
	else
		length = snprintf(line, sizeof(line),
				  "%s in %s: %zu points; each takes %.1f us at most%s",
				  runtime->name, path, found->points, dearest / 1e3,
				  stepped ? ", as the kernel single-steps some" : "");
	if (length > 0 && length < (int)sizeof(line))
		runtimes->options->say(line);
}

/* The single events of a span unless one of them is dear and the alternative is not. */
static void choose_events(const struct clew_runtimes *runtimes, struct runtime_found *found)
{
	struct runtime_site *sites = found->sites.data;
	uint32_t single = 0, cheap = 0;
	bool use_cheap;
	size_t kept = 0;

	for (size_t i = 0; i < found->sites.count; i++) {
		uint32_t ns = clew_probe_cost_of(&runtimes->cost, sites[i].class);

		if (sites[i].single && ns > single)
			single = ns;
		if (sites[i].cheap && ns > cheap)
			cheap = ns;
	}
	use_cheap = cheap && cheap < single;
	for (size_t i = 0; i < found->sites.count; i++)
		if (use_cheap ? !sites[i].single : !sites[i].cheap)
			sites[kept++] = sites[i];
	found->sites.count = kept;
}

static int add_places(struct clew_runtimes *runtimes, const struct runtime_found *found,
		      struct vector *places)
{
	const struct runtime_site *sites = found->sites.data;
	int map = bpf_map__fd(runtimes->recorder->bpf->maps.clew_moment_sites);

	for (size_t i = 0; i < found->sites.count; i++) {
		uint32_t number = runtimes->sites;

		if (number == CLEW_MOMENT_SITES)
			return -ENOSPC;
		if (vector_reserve(places, places->count + 1) < 0)
			return -ENOMEM;
		if (bpf_map_update_elem(map, &number, &sites[i].site, BPF_ANY))
			return -errno;
		((struct clew_probe_place *)places->data)[places->count++] =
			(struct clew_probe_place){.offset = sites[i].offset,
						  .semaphore = sites[i].semaphore,
						  .cookie = number};
		runtimes->sites++;
	}
	return 0;
}

/* Looks for one runtime in a file. */
static int look_for(struct clew_runtimes *runtimes, const struct clew_runtime *runtime, int copy,
		    const char *path, struct vector *places)
{
	struct runtime_found found;
	size_t stepped = 0;
	uint32_t dearest = 0;
	int r = runtime_find(runtime, copy, path, runtimes->cost.long_nops_stepped, &found);

	choose_events(runtimes, &found);
	for (size_t i = 0; i < found.sites.count; i++) {
		const struct runtime_site *site = (struct runtime_site *)found.sites.data + i;
		uint32_t ns = clew_probe_cost_of(&runtimes->cost, site->class);

		stepped += site->class == CLEW_PROBE_STEPPED;
		dearest = ns > dearest ? ns : dearest;
	}
	if (r >= 0 && stepped && !runtimes->options->stepped_points) {
		snprintf(found.why, sizeof(found.why),
			 "the kernel single-steps %zu of its points (%.0f us each): --max-cost "
			 "allows that",
			 stepped, dearest / 1e3);
		found.sites.count = 0;
		if (!runtimes->refused)
			runtimes->refused = runtime->name;
	}
	if (r >= 0 && (found.why[0] || found.sites.count)) {
		tell(runtimes, runtime, &found, path, dearest, stepped);
		r = note(runtimes, runtime, found.why[0] ? 0 : found.points, dearest, path,
			 found.why);
	}
	if (r >= 0)
		r = add_places(runtimes, &found, places);
	runtime_found_done(&found);
	return r;
}

static int attach(struct clew_runtimes *runtimes, const struct clew_opened *file,
		  const struct vector *places)
{
	struct bpf_program *program = runtimes->recorder->bpf->progs.clew_moment;
	bool multi = bpf_program__expected_attach_type(program) != 0;
	int r = vector_reserve(&runtimes->links, runtimes->links.count + 1);

	if (r < 0 || !places->count)
		return r;
	r = clew_probe_attach(program, multi, file->path, places->data, places->count,
			      (struct clew_probe_links *)runtimes->links.data +
				      runtimes->links.count);
	runtimes->links.count += r >= 0;
	return r;
}

static bool is_seen(struct clew_runtimes *runtimes, const struct clew_opened *file)
{
	const uint64_t *known = map_get(&runtimes->seen, file->inode, (uint32_t)file->device);

	if (known && *known == file->changed)
		return true;
	return runtimes->seen.count >= SEEN_MOST ||
	       map_set(&runtimes->seen, file->inode, (uint32_t)file->device, file->changed) < 0;
}

/* Looks through a file that no one has looked through; the places are the caller's. */
static int look_into(struct clew_runtimes *runtimes, const struct clew_opened *file,
		     const char *path, struct vector *places)
{
	bool wanted = false;
	int copy, r;

	*places = (struct vector){.item = sizeof(struct clew_probe_place)};
	for (size_t i = 0; i < runtimes->layers->runtime_count; i++)
		wanted |= runtime_wants(&runtimes->layers->runtimes[i], path);
	if (!wanted || !file->probeable || is_seen(runtimes, file))
		return 0;
	r = clew_open_read(file, CLEW_OPEN_WHOLE, &copy);
	/* A file that cannot be read is left alone. */
	if (r < 0)
		return 0;
	for (size_t i = 0; r >= 0 && i < runtimes->layers->runtime_count; i++)
		if (runtime_wants(&runtimes->layers->runtimes[i], path))
			r = look_for(runtimes, &runtimes->layers->runtimes[i], copy, path, places);
	close(copy);
	return r;
}

void clew_runtimes_file(struct clew_runtimes *runtimes, const struct clew_open_mapping *mapping,
			const struct clew_opened *file)
{
	struct vector places;

	if (!runtimes || !runtimes->started)
		return;
	if (look_into(runtimes, file, mapping->path, &places) >= 0)
		attach(runtimes, file, &places);
	vector_done(&places);
}

/* ---- the start ---- */

/* True if files of that process are asked for. */
static bool is_target(const struct clew_runtimes *runtimes, pid_t pid)
{
	const struct clew_recorder_options *options = runtimes->options;

	if (!options->runtimes_auto)
		return true;
	for (size_t i = 0; i < options->pid_count; i++)
		if (options->pids[i] == pid)
			return true;
	return !options->pid_count && !options->program;
}

/* The file is pinned again if it is kept, as the caller closes its own descriptor. */
static int plan_file(struct clew_runtimes *runtimes, const struct clew_opened *file,
		     const char *path)
{
	struct planned planned;
	int r = look_into(runtimes, file, path, &planned.places);

	if (r >= 0 && planned.places.count)
		r = vector_reserve(&runtimes->planned, runtimes->planned.count + 1);
	if (r >= 0 && planned.places.count)
		r = clew_opened_copy(file, &planned.file);
	if (r < 0 || !planned.places.count) {
		vector_done(&planned.places);
		return r;
	}
	((struct planned *)runtimes->planned.data)[runtimes->planned.count++] = planned;
	return 0;
}

static bool plan_mapping(void *context, const struct clew_mapping *mapping)
{
	struct clew_runtimes *runtimes = context;
	struct clew_opened file;
	bool wanted = false;

	for (size_t i = 0; i < runtimes->layers->runtime_count; i++)
		wanted |= runtime_wants(&runtimes->layers->runtimes[i], mapping->at.path);
	if (!wanted || mapping->at.pid == getpid() || !is_target(runtimes, mapping->at.pid) ||
	    clew_mapping_file(mapping, &file) < 0)
		return false;
	plan_file(runtimes, &file, mapping->at.path);
	clew_opened_close(&file);
	return true;
}

/* A file that is about to be run or mapped. */
static void plan_program(struct clew_runtimes *runtimes, const char *program)
{
	char path[PATH_MAX], whole[PATH_MAX];
	struct clew_opened file;

	if (strchr(program, '/') || clew_program_find(program, path, sizeof(path)) < 0)
		snprintf(path, sizeof(path), "%s", program);
	if (clew_open_named(path, &file, whole) < 0)
		return;
	plan_file(runtimes, &file, *whole == '/' ? whole : path);
	clew_opened_close(&file);
}

/* The files of a pattern: a library by its name, others by their whole path. */
static void plan_pattern(struct clew_runtimes *runtimes, const char *pattern)
{
	char path[PATH_MAX];
	glob_t files;

	if (*pattern != '/') {
		if (!clew_library_find(pattern, path, sizeof(path)))
			plan_program(runtimes, path);
		return;
	}
	if (!glob(pattern, 0, NULL, &files))
		for (size_t i = 0; i < files.gl_pathc && i < PATTERN_MOST; i++)
			plan_program(runtimes, files.gl_pathv[i]);
	globfree(&files);
}

/* Libraries that the command may map, before it does: its first calls would be missed else. */
static void plan_libraries(struct clew_runtimes *runtimes)
{
	for (size_t i = 0; i < runtimes->layers->runtime_count; i++) {
		const struct clew_runtime *runtime = &runtimes->layers->runtimes[i];

		for (size_t k = 0; k < runtime->object_count; k++)
			for (size_t n = 0; n < runtime->objects[k].glob_count; n++)
				plan_pattern(runtimes, runtime->objects[k].globs[n]);
	}
}

static int attach_planned(struct clew_runtimes *runtimes, struct clew_message *message)
{
	const struct planned *planned = runtimes->planned.data;

	for (size_t i = 0; i < runtimes->planned.count; i++) {
		int r = attach(runtimes, &planned[i].file, &planned[i].places);

		if (r < 0)
			return clew_say(message, r == -ENOMEM ? r : -ENOTSUP,
					"points of a runtime cannot be probed: %s",
					r == -524 ? "the kernel refuses an instruction"
						  : strerror(-r));
	}
	return 0;
}

static void forget_planned(struct clew_runtimes *runtimes)
{
	struct planned *planned = runtimes->planned.data;

	for (size_t i = 0; i < runtimes->planned.count; i++) {
		clew_opened_close(&planned[i].file);
		vector_done(&planned[i].places);
	}
	vector_done(&runtimes->planned);
}

int clew_runtimes_open(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		       struct clew_runtimes **ret, struct clew_message *message)
{
	struct clew_runtimes *runtimes;
	int r = 0;

	*ret = NULL;
	if (!clew_records_runtimes(options) ||
	    bpf_program__fd(recorder->bpf->progs.clew_moment) < 0)
		return 0;
	runtimes = calloc(1, sizeof(*runtimes));
	if (!runtimes)
		return clew_say(message, -ENOMEM, "no memory for runtimes: free some");
	runtimes->recorder = recorder;
	runtimes->options = &recorder->options;
	runtimes->layers = options->layers;
	runtimes->planned.item = sizeof(struct planned);
	runtimes->links.item = sizeof(struct clew_probe_links);
	clew_probe_cost_measure(&runtimes->cost);
	clew_mappings_scan(plan_mapping, runtimes);
	if (options->program) {
		plan_program(runtimes, options->program);
		plan_libraries(runtimes);
	}
	if (runtimes->refused && !options->runtimes_auto)
		r = clew_say(message, -EINVAL,
			     "--runtime %s: the kernel single-steps some of its points here, some "
			     "%.0f us each: give --max-cost PERCENT to record it all the same",
			     runtimes->refused, runtimes->cost.stepped / 1e3);
	if (r >= 0)
		r = attach_planned(runtimes, message);
	forget_planned(runtimes);
	runtimes->started = true;
	if (r < 0) {
		free(clew_runtimes_close(runtimes));
		return r;
	}
	*ret = runtimes;
	return 0;
}

/* Says which runtimes no file had. */
static void tell_missing(const struct clew_runtimes *runtimes)
{
	for (size_t i = 0; i < runtimes->layers->runtime_count; i++) {
		const char *name = runtimes->layers->runtimes[i].name, *at = runtimes->text;
		size_t length = strlen(name);
		char line[256];

		while (at && *at && (strncmp(at, name, length) || at[length] != '\t'))
			at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
		if ((at && *at) || !runtimes->layers->runtimes[i].object_count ||
		    runtimes->options->runtimes_auto || !runtimes->options->say)
			continue;
		snprintf(line, sizeof(line),
			 "%s: no program that ran has it, so nothing of it is "
			 "recorded",
			 name);
		runtimes->options->say(line);
	}
}

char *clew_runtimes_close(struct clew_runtimes *runtimes)
{
	char *text;

	if (!runtimes)
		return NULL;
	clew_probe_detach(runtimes->links.data, runtimes->links.count);
	tell_missing(runtimes);
	text = runtimes->text;
	vector_done(&runtimes->links);
	map_done(&runtimes->seen);
	free(runtimes);
	return text;
}
