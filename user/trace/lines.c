/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens the debugging information of a file when the first of its frames is asked for, and keeps
 * what was found of each frame.
 */
#include "trace/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/regular.h"
#include "symbol/elf/names.h"
#include "trace/internal.h"

struct file {
	struct clew_lines *lines; /* NULL: there are none */
	int object;		  /* what the lines are read from, -1: elsewhere */
	uint64_t bias;
};

/* A frame's entry. */
struct known {
	uint64_t start;
	size_t count;
	struct clew_line lines[];
};

struct trace_lines {
	struct vector files;	       /* struct file */
	struct vector states;	       /* struct clew_lines_file, of each file */
	struct map numbers;	       /* image -> index of its file */
	struct map frames;	       /* -> const struct known * */
	struct debug_servers *servers; /* NULL: not asked */
	struct arena arena;
};

int clew_trace_use_lines(struct clew_trace *trace, struct debug_servers *servers)
{
	trace->lines = calloc(1, sizeof(*trace->lines));
	if (!trace->lines) {
		debug_servers_free(servers);
		return -ENOMEM;
	}
	trace->lines->servers = servers;
	trace->lines->files.item = sizeof(struct file);
	trace->lines->states.item = sizeof(struct clew_lines_file);
	return 0;
}

bool clew_trace_has_lines(const struct clew_trace *trace)
{
	return trace->lines;
}

void trace_lines_free(struct trace_lines *lines)
{
	struct file *files;

	if (!lines)
		return;
	files = lines->files.data;
	for (size_t i = 0; i < lines->files.count; i++) {
		clew_lines_close(files[i].lines);
		if (files[i].object >= 0)
			close(files[i].object);
	}
	vector_done(&lines->files);
	vector_done(&lines->states);
	map_done(&lines->numbers);
	map_done(&lines->frames);
	debug_servers_free(lines->servers);
	arena_done(&lines->arena);
	free(lines);
}

const struct clew_lines_file *clew_trace_lines_files(const struct clew_trace *trace,
						     size_t *ret_count)
{
	*ret_count = trace->lines ? trace->lines->states.count : 0;
	return *ret_count ? trace->lines->states.data : NULL;
}

/* Opens the file at an image's path, if it is the one that was recorded; else -1. */
static int open_object(const struct trace_image *image, enum clew_lines_state *ret_state)
{
	uint8_t id[CLEW_BUILD_ID_BYTES];
	int object = regular_open(image->path);

	*ret_state = object == -EISDIR || object == -EBADMSG ? CLEW_LINES_CHANGED
		     : object < 0			     ? CLEW_LINES_GONE
							     : CLEW_LINES_NONE;
	if (object < 0)
		return -1;
	if (clew_build_id(object, id) == image->build_id_size &&
	    !memcmp(id, image->build_id, image->build_id_size))
		return object;
	close(object);
	*ret_state = CLEW_LINES_CHANGED;
	return -1;
}

static enum clew_lines_state state_of(enum debug_missing missing, enum clew_lines_state object)
{
	switch (missing) {
	case DEBUG_UNASKED:
		return CLEW_LINES_UNASKED;
	case DEBUG_OTHER:
		return CLEW_LINES_OTHER;
	case DEBUG_SHARED:
		return CLEW_LINES_SHARED;
	case DEBUG_UNREADABLE:
		return CLEW_LINES_UNREADABLE;
	default:
		return object;
	}
}

static enum clew_lines_state open_file(struct debug_servers *servers,
				       const struct trace_image *image, struct file *ret_file)
{
	enum debug_missing missing = DEBUG_MISSING;
	enum clew_lines_state state;

	*ret_file = (struct file){.object = -1, .bias = image->bias};
	if (!image->build_id_size)
		return CLEW_LINES_UNNAMED;
	ret_file->object = open_object(image, &state);
	if (!image->linked &&
	    (ret_file->object < 0 || !clew_code_bias(ret_file->object, &ret_file->bias)))
		return state == CLEW_LINES_NONE ? CLEW_LINES_UNNAMED : state;
	if (clew_lines_open(ret_file->object, image->build_id, image->build_id_size, servers,
			    &ret_file->lines, &missing) < 0)
		return state_of(missing, state);
	return CLEW_LINES_FOUND;
}

/* The file of an image, opened when it is asked for at first; NULL: it has none, or no memory. */
static struct file *file_of(const struct clew_trace *trace, uint32_t number)
{
	struct trace_lines *lines = trace->lines;
	const uint64_t *known = map_get(&lines->numbers, number, 0);
	const struct trace_image *image;
	struct clew_lines_file *state;
	size_t count = lines->files.count;

	if (known)
		return (struct file *)lines->files.data + *known;
	known = map_get(&trace->images, number, 0);
	image = known ? (const struct trace_image *)(uintptr_t)*known : NULL;
	/* Code that no file has is not in any source. */
	if (!image || image->jit || image->path[0] != '/' ||
	    vector_reserve(&lines->files, count + 1) < 0 ||
	    vector_reserve(&lines->states, count + 1) < 0 ||
	    map_set(&lines->numbers, number, 0, count) < 0)
		return NULL;
	state = (struct clew_lines_file *)lines->states.data + count;
	state->path = image->path;
	state->state = open_file(lines->servers, image, (struct file *)lines->files.data + count);
	lines->files.count = lines->states.count = count + 1;
	return (struct file *)lines->files.data + count;
}

/* NULL: nothing is known, or no memory. */
static const struct known *find(const struct clew_trace *trace, uint64_t frame)
{
	struct trace_lines *lines = trace->lines;
	uint64_t *cached = map_get(&lines->frames, frame, 0);
	struct known *known = NULL;
	struct clew_lines_at at;
	struct file *file;

	if (cached)
		return (const struct known *)(uintptr_t)*cached;
	file = file_of(trace, CLEW_FRAME_IMAGE(frame));
	if (file && file->lines &&
	    clew_lines_find(file->lines, CLEW_FRAME_OFFSET(frame) + file->bias, &at)) {
		known = arena_take(&lines->arena,
				   sizeof(*known) + at.count * sizeof(known->lines[0]));
		if (!known)
			return NULL;
		known->start = at.start ? at.start - file->bias : 0;
		known->count = at.count;
		memcpy(known->lines, at.lines, at.count * sizeof(known->lines[0]));
	}
	return map_set(&lines->frames, frame, 0, (uintptr_t)known) < 0 ? NULL : known;
}

void clew_trace_stack_places(const struct clew_trace *trace, uint64_t frame, bool kernel,
			     struct clew_stack_places *ret_places)
{
	const struct known *known = NULL;
	struct clew_stack_place place;

	clew_trace_stack_place(trace, frame, kernel, &place);
	if (trace->lines && !kernel && !place.outside)
		known = find(trace, frame);
	ret_places->count = known ? known->count : 1;
	ret_places->places[0] = place;
	/* The capture's name comes first: a function may have several. */
	if (known && !place.name && known->start) {
		place.name = known->lines[known->count - 1].name;
		place.start = place.name ? known->start : place.start;
	}
	for (size_t i = 0; known && i < known->count; i++) {
		struct clew_stack_place *to = &ret_places->places[i];

		*to = place;
		to->file = known->lines[i].file;
		to->line = known->lines[i].line;
		to->inlined = known->lines[i].inlined;
		if (to->inlined)
			to->name = known->lines[i].name;
	}
}
