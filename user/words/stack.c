/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks for people are short (words/stack_shown.h). A function without a name is called by its
 * file and where it begins there, the first one of each file.
 */
#include "words/stack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "format/text.h"
#include "symbol/elf/demangle.h"
#include "words/hops.h"
#include "words/stack_shown.h"

#define NAME_MOST 48 /* characters of a name in text */
#define WHY_MOST  3  /* functions in a line of a why */

static const char *last_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static void print_function(FILE *out, const struct clew_stack_place *place)
{
	char *demangled = place->name ? symbol_demangle(place->name, false) : NULL;
	const char *name = demangled ?: place->name;
	char cut[NAME_MOST + 3];

	if (name) {
		snprintf(cut, sizeof(cut), "%.*s%s", NAME_MOST, name,
			 strlen(name) > NAME_MOST ? ".." : "");
		clew_print_safe(out, cut);
	} else if (place->object) {
		clew_print_safe(out, last_name(place->object));
		fprintf(out, "+0x%" PRIx64, place->start);
	} else if (place->outside) {
		fprintf(out, "0x%" PRIx64, place->start);
	} else {
		fputc('?', out);
	}
	free(demangled);
}

void clew_print_stack_place(FILE *out, const struct clew_stack_place *place)
{
	print_function(out, place);
	if (!place->file && !place->inlined)
		return;
	fputs(" (", out);
	if (place->file)
		clew_print_safe(out, last_name(place->file));
	if (place->file && place->line)
		fprintf(out, ":%u", place->line);
	if (place->inlined)
		fputs(place->file ? ", inlined" : "inlined", out);
	fputc(')', out);
}

uint64_t clew_stack_place_key(const struct clew_trace *trace, const struct clew_stack_place *place,
			      uint64_t frame, bool kernel)
{
	if (!place->inlined)
		return clew_stack_function_key(trace, frame, kernel);
	return hash_text(HASH_SEED, place->name ?: "");
}

uint64_t clew_stack_line_key(const struct clew_stack_place *place)
{
	return hash_mix(hash_text(HASH_SEED, place->file ?: ""), place->line);
}

uint64_t clew_stack_function_key(const struct clew_trace *trace, uint64_t frame, bool kernel)
{
	struct clew_stack_place place;
	uint64_t key = 1;

	clew_trace_stack_place(trace, frame, kernel, &place);
	if (!kernel && !(place.jit && place.name))
		return place.outside ? frame : CLEW_FRAME_IN(CLEW_FRAME_IMAGE(frame), place.start);
	/* Each address in the kernel has its own record. A function that was compiled again lies
	 * elsewhere. */
	for (const char *at = place.name; at && *at; at++)
		key = hash_mix(key, (unsigned char)*at);
	return place.name ? key : frame;
}

static bool find_told(const struct clew_trace *trace, const struct clew_sleep *sleep,
		      struct clew_stack_shown *ret_told)
{
	struct clew_sleep_stacks stacks;

	return sleep && clew_trace_sleep_stacks(trace, sleep, &stacks) &&
	       clew_stack_choose(trace, &stacks, sleep->call, false, ret_told);
}

/* Takes at most `most` places of a stack that are told. */
static void told_places(const struct clew_trace *trace, const struct clew_stack_shown *told,
			unsigned most,
			void (*take)(void *context, const struct clew_trace *trace,
				     const struct clew_stack_place *place, uint64_t frame),
			void *context)
{
	struct clew_stack_nameless nameless = {};
	struct clew_stack_places at;
	unsigned count = 0;

	for (uint32_t i = told->first; i < told->end && count < most; i++) {
		clew_trace_stack_places(trace, told->stack->frames[i], told->kernel, &at);
		for (size_t j = 0; j < at.count && count < most; j++) {
			if (clew_stack_is_repeated(&nameless, &at.places[j]))
				continue;
			take(context, trace, &at.places[j], told->stack->frames[i]);
			count++;
		}
	}
}

struct told_text {
	FILE *out;
	const char *before; /* the next one */
};

static void print_told_place(void *context, const struct clew_trace *trace,
			     const struct clew_stack_place *place, uint64_t frame)
{
	struct told_text *text = context;

	(void)trace;
	(void)frame;
	fputs(text->before, text->out);
	text->before = " <- ";
	clew_print_stack_place(text->out, place);
}

static void print_told(FILE *out, const struct clew_trace *trace,
		       const struct clew_stack_shown *told, unsigned most)
{
	struct told_text text = {.out = out, .before = ""};

	told_places(trace, told, most, print_told_place, &text);
}

bool clew_print_stack(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep,
		      unsigned most)
{
	struct clew_stack_shown told;

	if (!find_told(trace, sleep, &told))
		return false;
	print_told(out, trace, &told, most);
	return true;
}

bool clew_print_waker_stack(FILE *out, const char *lead, const struct clew_trace *trace,
			    const struct clew_sleep *sleep, unsigned most)
{
	struct clew_sleep_stacks stacks;
	struct clew_stack_shown told;

	if (!sleep || !clew_trace_waker_stacks(trace, sleep->ended_by, sleep->raw_end, &stacks) ||
	    !clew_stack_choose(trace, &stacks, CLEW_NO_CALL, false, &told))
		return false;
	fputs(lead, out);
	print_told(out, trace, &told, most);
	return true;
}

bool clew_has_stack(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	struct clew_stack_shown told;

	return find_told(trace, sleep, &told);
}

void clew_print_in_stack(FILE *out, const char *lead, const struct clew_trace *trace,
			 const struct clew_sleep *sleep)
{
	struct clew_stack_shown told;

	if (!find_told(trace, sleep, &told))
		return;
	fputs(lead, out);
	clew_print_stack(out, trace, sleep, WHY_MOST);
}

const struct clew_sleep *clew_stack_sleep(const struct clew_segment *segment)
{
	const struct clew_sleep *sleep = segment->sleep;

	return sleep && sleep->task == segment->task && segment->kind != CLEW_SEGMENT_RUNNING &&
			       segment->kind != CLEW_SEGMENT_RUNQUEUE
		       ? sleep
		       : NULL;
}

struct told_key {
	uint64_t key;
	bool kernel;
};

static void mix_told_place(void *context, const struct clew_trace *trace,
			   const struct clew_stack_place *place, uint64_t frame)
{
	struct told_key *told = context;

	told->key = hash_mix(told->key, clew_stack_place_key(trace, place, frame, told->kernel));
	told->key = hash_mix(told->key, clew_stack_line_key(place));
}

uint64_t clew_stack_key(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	struct clew_stack_shown told;
	struct told_key key = {.key = 1};

	if (!find_told(trace, sleep, &told))
		return 0;
	key.kernel = told.kernel;
	told_places(trace, &told, WHY_MOST, mix_told_place, &key);
	return key.key ?: 1;
}

void clew_stack_share(const struct clew_trace *trace, const struct clew_why *why,
		      uint64_t *ret_waited, uint64_t *ret_with)
{
	struct clew_stack_shown told;

	*ret_waited = *ret_with = 0;
	for (size_t i = 0; i < why->segment_count; i++) {
		const struct clew_segment *segment = &why->segments[i];
		const struct clew_sleep *sleep = segment->chain_length
							 ? clew_hop_sleep(trace, segment, 0)
							 : clew_stack_sleep(segment);

		if (!sleep)
			continue;
		*ret_waited += segment->end - segment->start;
		if (find_told(trace, sleep, &told))
			*ret_with += segment->end - segment->start;
	}
}
