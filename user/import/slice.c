/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes activations of functions of what programs mark as begun and ended in a tracer's text. A
 * mark names no function of a file: each name is a function of its own, and the stack pointer is
 * made up from how deep a thread is.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "import/state.h"

#define FUNCTIONS_MOST (UINT16_MAX / 2) /* each has two sites */
#define STACK_TOP      UINT64_C(0x7fff00000000)
#define STACK_STEP     64
#define NO_FUNCTION    UINT32_MAX

static int put_site(struct import *import, uint32_t function, unsigned role, const char *name,
		    size_t length)
{
	struct {
		struct clew_site_record record;
		char strings[IMPORT_SLICE_NAME + 3];
	} full = {
		.record = {.function = function,
			   .site = (uint16_t)(2 * function + (role != CLEW_SITE_ENTER)),
			   .roles = (uint16_t)role,
			   .way = CLEW_SITE_WAY_EXITS,
			   .size = (uint16_t)(length + 3)},
	};

	/* No file, the name, no arguments. */
	memcpy(full.strings + 1, name, length);
	return import_put(import, CLEW_STREAM_USER, &full.record.header, CLEW_KIND_SITE,
			  sizeof(full.record) + full.record.size);
}

/* The number of a name; NO_FUNCTION: there are too many. */
static int find_function(struct import *import, const char *name, size_t length,
			 uint32_t *ret_function)
{
	uint64_t hash = hash_bytes(HASH_SEED, name, length), *known;
	int r;

	known = map_get(&import->functions, hash, (uint32_t)length);
	*ret_function = known ? (uint32_t)*known : NO_FUNCTION;
	if (known || import->functions.count >= FUNCTIONS_MOST)
		return 0;
	*ret_function = (uint32_t)import->functions.count;
	r = map_set(&import->functions, hash, (uint32_t)length, *ret_function);
	if (r >= 0)
		r = put_site(import, *ret_function, CLEW_SITE_ENTER, name, length);
	return r < 0 ? r : put_site(import, *ret_function, CLEW_SITE_RET, name, length);
}

static int put_function(struct import *import, const struct line *line, uint32_t task,
			unsigned site, size_t depth)
{
	struct clew_function record = {
		.task = task, .site = (uint16_t)site, .stack = STACK_TOP - depth * STACK_STEP};

	return import_put(import, line->cpu, &record.header, CLEW_KIND_FUNCTION, sizeof(record));
}

int import_slice_begin(struct import *import, const struct line *line, const struct event *event)
{
	struct import_task *task;
	struct vector *open;
	uint32_t function;
	int r;

	task = import_task(import, line->tid, line->comm, &r);
	if (!task)
		return r;
	r = find_function(import, event->name, event->name_length, &function);
	open = &task->slices;
	open->item = sizeof(function);
	if (r < 0 || vector_reserve(open, open->count + 1) < 0)
		return r < 0 ? r : -ENOMEM;
	((uint32_t *)open->data)[open->count++] = function;
	if (function == NO_FUNCTION) {
		import->sums->others++;
		return 0;
	}
	import->sums->has |= CLEW_IMPORT_SLICES;
	return put_function(import, line, task->serial, 2 * function, open->count);
}

/* An end whose begin is not in the trace is left out. */
int import_slice_end(struct import *import, const struct line *line)
{
	struct import_task *task;
	uint32_t function;
	int r;

	task = import_task(import, line->tid, line->comm, &r);
	if (!task || !task->slices.count)
		return r;
	function = ((const uint32_t *)task->slices.data)[task->slices.count - 1];
	r = function == NO_FUNCTION ? 0
				    : put_function(import, line, task->serial, 2 * function + 1,
						   task->slices.count);
	task->slices.count--;
	return r;
}

void import_slices_lost(struct import *import)
{
	struct import_task *tasks = import->tasks.data;

	for (size_t i = 0; i < import->tasks.count; i++)
		tasks[i].slices.count = 0;
}

void import_slices_done(struct import *import)
{
	struct import_task *tasks = import->tasks.data;

	for (size_t i = 0; i < import->tasks.count; i++)
		vector_done(&tasks[i].slices);
	map_done(&import->functions);
}
