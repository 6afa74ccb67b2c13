/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Follows functions while they are recorded: files that processes map later are probed, and
 * functions whose calls cost too much lose their probes.
 */
#include <errno.h>
#include <stdlib.h>

#include "record/functions/probe.h"
#include "record/functions/tracer.h"
#include "record/functions/tracer_state.h"
#include "record/stream/clock.h"
#include "record/stream/recorder_state.h"

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

		if (chosen->pid ? chosen->pid == mapping->pid
		    : chosen->by_name
			    ? !strcmp(tracer_last_name(mapping->path), chosen->choice.object)
			    : chosen->anywhere)
			choices |= 1ull << i;
	}
	if (!choices && !(tracer->has_functions && tracer_has_control(mapping->path)))
		return;
	file = tracer_file_of(tracer, found->device, found->inode);
	if (!file || (!(choices & ~file->applied) && (file->controlled || !tracer->has_functions)))
		return;
	/* A file that cannot be read or probed is left alone. */
	if (found->probeable && tracer_plan_file(tracer, file, found, mapping->path,
						 choices & ~file->applied, &ignored) >= 0)
		tracer_attach_file(tracer, file, found);
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
	struct clew_recorder_summary *summary = &tracer->traced.recorder->files.summary;
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
