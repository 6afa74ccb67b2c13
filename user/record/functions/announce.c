/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds probes in what processes map and attaches to them.
 *
 * A probe that cannot be attached is left alone: a process may end, a file system may not
 * take probes. Files are told apart by device, inode and time of change; one that
 * was asked for that a moment ago is not asked again.
 *
 * A probe that would change what its program does is left alone and counted.
 */
#include "record/functions/announce.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/map.h"
#include "base/thread.h"
#include "base/vector.h"
#include "clew.skel.h"
#include "record/functions/left_alone.h"
#include "record/functions/probe.h"
#include "record/functions/probe_judge.h"
#include "record/functions/runtimes.h"
#include "record/functions/tracer.h"
#include "record/stacks/mappings.h"
#include "record/stacks/objects.h"
#include "record/stacks/stacks.h"
#include "record/stream/clock.h"
#include "record/stream/recorder_state.h"
#include "symbol/code/probes.h"

#define SEEN_MOST  65536	/* files that are known to be looked through */
#define ASKED_BITS 8		/* of files */
#define ASKED_NS   200000000ull /* for so long it is taken to be as it was */

/* A file that a probe was attached to. */
struct probed {
	uint64_t inode, changed;
	uint32_t device;
};

/* A file by what the kernel says of its mappings. */
struct asked {
	uint64_t inode, generation;
	uint32_t major, minor;
	uint64_t time; /* ns, CLOCK_MONOTONIC */
};

struct clew_announcer {
	struct bpf_program *program;
	const struct clew_layers *layers; /* NULL none */
	struct clew_stacks *stacks;	  /* NULL: none are taken */
	struct clew_mappings *mappings;
	struct clew_tracer *tracer;	/* NULL: no functions are recorded */
	struct clew_runtimes *runtimes; /* NULL: no runtimes are */
	int sites_map;
	bool multi;
	bool started;
	int stop;
	pthread_t thread;
	struct map seen; /* files that were looked through, by device and inode -> time of change */
	struct asked asked[1 << ASKED_BITS];
	struct vector links;	  /* struct clew_probe_links */
	struct vector probed;	  /* struct probed, of those */
	struct vector places;	  /* struct clew_probe_place, of the file at hand */
	const char *path;	  /* of the file at hand */
	bool probeable;		  /* it can be probed without a wait for a server */
	struct probe_judge judge; /* of the file at hand */
	struct left_alone left;
	uint32_t sites;
};

void clew_announce_prepare(struct clew_bpf *bpf)
{
	if (!clew_probe_possible() && clew_probe_multi())
		clew_probe_prepare_multi(bpf->progs.clew_announced);
}

size_t clew_announce_sites(const struct clew_announcer *announcer)
{
	return announcer ? announcer->sites : 0;
}

/* True if a layer's probes are looked for in a file of that path: all of it, or its last name, fits
 * a pattern. */
static bool layer_wants(const struct clew_layer *layer, const char *path)
{
	const char *last = strrchr(path, '/');

	for (size_t i = 0; i < layer->glob_count; i++)
		if (!fnmatch(layer->globs[i], path, 0) ||
		    !fnmatch(layer->globs[i], last ? last + 1 : path, 0))
			return true;
	return layer->glob_count == 0;
}

static int add_site(struct clew_announcer *announcer, const struct clew_probe *probe,
		    uint32_t point)
{
	struct clew_site site = {.point = point};
	uint32_t number = announcer->sites;
	int r = vector_reserve(&announcer->places, announcer->places.count + 1);

	if (r < 0 || number == CLEW_SITES)
		return r;
	clew_probe_arguments(probe, site.arguments, CLEW_SITE_ARGUMENTS);
	if (bpf_map_update_elem(announcer->sites_map, &number, &site, BPF_ANY))
		return -errno;
	((struct clew_probe_place *)announcer->places.data)[announcer->places.count++] =
		(struct clew_probe_place){
			.offset = probe->offset, .semaphore = probe->semaphore, .cookie = number};
	announcer->sites++;
	return 0;
}

static bool is_probe(const struct clew_probe *probe, const char *provider, const char *name)
{
	return !strcmp(probe->provider, provider) && !strcmp(probe->name, name);
}

/* True if the probe, in the file at hand, is the point of that number. */
static bool is_point(const struct clew_announcer *announcer, const struct clew_probe *probe,
		     uint32_t number)
{
	const struct clew_layer_point *point;
	const struct clew_layer *layer;

	if (number < CLEW_POINT_FIRST)
		return is_probe(probe, "clew", number == CLEW_POINT_BEGIN ? "begin" : "end");
	point = clew_layers_point(announcer->layers, number - CLEW_POINT_FIRST, &layer, NULL);
	return is_probe(probe, point->provider, point->probe) &&
	       layer_wants(layer, announcer->path);
}

static int take_probe(void *context, const struct clew_probe *probe)
{
	struct clew_announcer *announcer = context;
	uint32_t points = CLEW_POINT_FIRST +
			  (announcer->layers ? (uint32_t)announcer->layers->point_count : 0);
	bool judged = false;
	const char *reason;
	int r = 0;

	for (uint32_t number = CLEW_POINT_BEGIN; r >= 0 && number < points; number++) {
		if (!is_point(announcer, probe, number))
			continue;
		reason = judged			? NULL
			 : announcer->probeable ? probe_judge_reason(&announcer->judge, probe)
						: "served";
		if (reason)
			return left_alone_add(&announcer->left, reason, probe, announcer->path);
		judged = true;
		r = add_site(announcer, probe, number);
	}
	return r;
}

/* Attaches to the probes that a file carries. `copy`: of what it holds. */
static void look_through(struct clew_announcer *announcer, const struct clew_opened *file, int copy,
			 const char *path)
{
	struct clew_probe_links links;

	announcer->places.count = 0;
	announcer->path = path;
	announcer->probeable = file->probeable;
	probe_judge_begin(&announcer->judge, copy);
	left_alone_next_file(&announcer->left);
	clew_probes_read(copy, take_probe, announcer);
	if (announcer->places.count &&
	    vector_reserve(&announcer->links, announcer->links.count + 1) >= 0 &&
	    vector_reserve(&announcer->probed, announcer->probed.count + 1) >= 0 &&
	    !clew_probe_attach(announcer->program, announcer->multi, file->path,
			       announcer->places.data, announcer->places.count, &links)) {
		((struct clew_probe_links *)announcer->links.data)[announcer->links.count++] =
			links;
		((struct probed *)announcer->probed.data)[announcer->probed.count++] =
			(struct probed){file->inode, file->changed, (uint32_t)file->device};
	}
	probe_judge_end(&announcer->judge);
}

/* Files may come and go without an end. One that is probed is remembered, lest it be probed twice.
 */
static void remember(struct clew_announcer *announcer, const struct clew_opened *file)
{
	const struct probed *probed = announcer->probed.data;

	if (announcer->seen.count >= SEEN_MOST) {
		map_done(&announcer->seen);
		for (size_t i = 0; i < announcer->probed.count; i++)
			map_set(&announcer->seen, probed[i].inode, probed[i].device,
				probed[i].changed);
	}
	map_set(&announcer->seen, file->inode, (uint32_t)file->device, file->changed);
}

/* Looks through a file unless that was done already, and returns whether it was not. */
static bool take_file(struct clew_announcer *announcer, const struct clew_opened *file,
		      const char *path)
{
	const uint64_t *known = map_get(&announcer->seen, file->inode, (uint32_t)file->device);
	int copy, r;

	if (known && *known == file->changed)
		return false;
	r = clew_open_read(file, CLEW_OPEN_PROBES, &copy);
	/* A late file may be there the next time. */
	if (r != -ETIMEDOUT)
		remember(announcer, file);
	if (r >= 0) {
		look_through(announcer, file, copy, path);
		close(copy);
	}
	return true;
}

/* The kernel's device number of a mapping is not always the one that stat(2) gives: the file is
 * asked, unless it was a moment ago. */
static bool take_mapping(void *context, const struct clew_mapping *mapping)
{
	struct clew_announcer *announcer = context;
	const struct clew_open_mapping *at = &mapping->at;
	struct asked *asked =
		&announcer->asked[at->inode * 0x9e3779b97f4a7c15ull >> (64 - ASKED_BITS)];
	uint64_t now = clew_now();
	struct clew_opened file;
	bool follows, fresh;

	if (at->pid == getpid())
		return false;
	follows = clew_tracer_follows(announcer->tracer, at->pid);
	/* A file that was scanned has no generation: another file may have the number by now. */
	if (!follows && at->generation && asked->inode == at->inode &&
	    asked->generation == at->generation && asked->major == at->major &&
	    asked->minor == at->minor && now - asked->time < ASKED_NS)
		return false;
	if (clew_mapping_file(mapping, &file) < 0)
		return false;
	*asked = (struct asked){at->inode, at->generation, at->major, at->minor, now};
	clew_tracer_file(announcer->tracer, at, &file);
	clew_runtimes_file(announcer->runtimes, at, &file);
	clew_stacks_offer(announcer->stacks, at, &file);
	fresh = take_file(announcer, &file, at->path);
	clew_opened_close(&file);
	return fresh;
}

static void take_path(struct clew_announcer *announcer, const char *path)
{
	char whole[PATH_MAX];
	struct clew_opened file;

	if (clew_open_named(path, &file, whole) < 0)
		return;
	take_file(announcer, &file, *path == '/' ? path : whole);
	clew_opened_close(&file);
}

static void take_program(struct clew_announcer *announcer, const char *program)
{
	char path[4096];

	if (strchr(program, '/'))
		take_path(announcer, program);
	else if (clew_program_find(program, path, sizeof(path)) >= 0)
		take_path(announcer, path);
}

/* The files that fit a pattern. */
static void take_pattern(struct clew_announcer *announcer, const char *pattern)
{
	int copy, r = clew_open_glob(pattern, &copy);
	FILE *paths = r < 0 ? NULL : fdopen(copy, "r");
	char *path = NULL;
	size_t room = 0;

	if (r >= 0 && !paths)
		close(copy);
	while (paths && getdelim(&path, &room, '\0', paths) > 0)
		take_path(announcer, path);
	free(path);
	if (paths)
		fclose(paths);
}

/* Objects that a layer names by their whole path are probed before anybody runs them. */
static void take_objects(struct clew_announcer *announcer)
{
	for (size_t i = 0; announcer->layers && i < announcer->layers->count; i++) {
		const struct clew_layer *layer = &announcer->layers->layers[i];

		for (size_t k = 0; k < layer->glob_count; k++)
			if (layer->globs[k][0] == '/')
				take_pattern(announcer, layer->globs[k]);
	}
}

static int fill_points(struct clew_announcer *announcer, const struct clew_bpf *bpf)
{
	for (uint32_t i = 0; announcer->layers && i < announcer->layers->point_count; i++)
		if (bpf_map_update_elem(bpf_map__fd(bpf->maps.clew_points), &i,
					&clew_layers_point(announcer->layers, i, NULL, NULL)->point,
					BPF_ANY))
			return -errno;
	return 0;
}

static void *announcer_main(void *argument)
{
	struct clew_announcer *announcer = argument;

	pthread_setname_np(pthread_self(), "clew-announce");
	while (!clew_mappings_wait(announcer->mappings, announcer->stop, take_mapping, announcer))
		;
	return NULL;
}

int clew_announce_open(struct clew_recorder *recorder, const char *program,
		       struct clew_announcer **ret, struct clew_message *message)
{
	struct clew_announcer *announcer;
	int error;

	*ret = NULL;
	if (clew_probe_possible() || bpf_program__fd(recorder->bpf->progs.clew_announced) < 0)
		return 0;
	announcer = calloc(1, sizeof(*announcer));
	if (!announcer)
		return clew_say(message, -ENOMEM, "no memory for the announcements: free some");
	announcer->program = recorder->bpf->progs.clew_announced;
	announcer->multi = bpf_program__expected_attach_type(announcer->program) != 0;
	announcer->layers = recorder->options.layers;
	announcer->tracer = recorder->tracer;
	announcer->runtimes = recorder->runtimes;
	announcer->stacks = recorder->stacks;
	announcer->sites_map = bpf_map__fd(recorder->bpf->maps.clew_sites);
	announcer->links.item = sizeof(struct clew_probe_links);
	announcer->probed.item = sizeof(struct probed);
	announcer->places.item = sizeof(struct clew_probe_place);
	left_alone_init(&announcer->left);
	announcer->stop = eventfd(0, EFD_CLOEXEC);
	error = announcer->stop < 0 ? -errno : fill_points(announcer, recorder->bpf);
	if (!error)
		error = clew_mappings_open(recorder->cpu_count, &announcer->mappings);
	if (!error) {
		if (program)
			take_program(announcer, program);
		take_objects(announcer);
		clew_mappings_scan(take_mapping, announcer);
		clew_stacks_wait(announcer->stacks);
		error = store_thread_start(&announcer->thread, announcer_main, announcer);
		announcer->started = !error;
	}
	if (error) {
		free(clew_announce_close(announcer));
		return clew_say(message, error,
				"programs' announcements cannot be followed: %s: free some memory "
				"and descriptors",
				strerror(-error));
	}
	*ret = announcer;
	return 0;
}

char *clew_announce_close(struct clew_announcer *announcer)
{
	uint64_t one = 1;
	char *left;

	if (!announcer)
		return NULL;
	if (announcer->started && write(announcer->stop, &one, sizeof(one)) == sizeof(one))
		store_thread_join(announcer->thread);
	clew_probe_detach(announcer->links.data, announcer->links.count);
	left = left_alone_text(&announcer->left);
	left_alone_done(&announcer->left);
	vector_done(&announcer->links);
	vector_done(&announcer->probed);
	vector_done(&announcer->places);
	map_done(&announcer->seen);
	clew_mappings_close(announcer->mappings);
	if (announcer->stop >= 0)
		close(announcer->stop);
	free(announcer);
	return left;
}
