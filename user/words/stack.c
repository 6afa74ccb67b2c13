/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks for people begin where the program's own code does: behind the calls of the C library
 * that lead into the kernel, and behind the scheduler. JSON has all frames. A function without a
 * name is told by its file and where it begins there.
 */
#include "words/stack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"
#include "trace/stacks.h"
#include "words/text.h"

#define NAME_MOST 48 /* characters of a name in text */

static const char *const end_names[CLEW_STACK_ENDS] = {
	[CLEW_STACK_NONE] = "none",	    [CLEW_STACK_ROOT] = "root",
	[CLEW_STACK_DEEP] = "deep",	    [CLEW_STACK_OUTSIDE] = "outside",
	[CLEW_STACK_NO_TABLE] = "no-table", [CLEW_STACK_NO_RULE] = "no-rule",
	[CLEW_STACK_UNREAD] = "unread",	    [CLEW_STACK_LOOP] = "loop",
	[CLEW_STACK_TORN] = "torn",	    [CLEW_STACK_COMPAT] = "compat",
};

static const char *last_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* True for the files whose functions call the kernel on a program's behalf. */
static bool is_library(const struct clew_stack_place *place)
{
	static const char *const names[] = {"libc.so",	"libc-",   "libpthread",
					    "ld-linux", "ld-musl", "[vdso]"};
	const char *object = last_name(place->object);

	for (size_t i = 0; object && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(object, names[i], strlen(names[i])))
			return true;
	return false;
}

static bool is_scheduler(const struct clew_stack_place *place)
{
	return place->name && (strstr(place->name, "schedule") || strstr(place->name, "sched_"));
}

/* The first frame that is told. */
static uint32_t first_told(const struct clew_trace *trace, const struct clew_trace_stack *stack,
			   bool kernel)
{
	struct clew_stack_place place;

	for (uint32_t i = 0; i < stack->count; i++) {
		clew_trace_stack_place(trace, stack->frames[i], kernel, &place);
		if (!(kernel ? is_scheduler(&place) : is_library(&place)))
			return i;
	}
	return 0;
}

static void print_place(FILE *out, const struct clew_stack_place *place)
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
	} else {
		fprintf(out, "0x%" PRIx64, place->start);
	}
	free(demangled);
}

bool clew_print_stack(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep,
		      unsigned most)
{
	const struct clew_trace_stack *stack;
	struct clew_sleep_stacks stacks;
	struct clew_stack_place place;
	bool kernel;
	uint32_t first;

	if (!clew_trace_sleep_stacks(trace, sleep, &stacks))
		return false;
	kernel = !stacks.user;
	stack = stacks.user ?: stacks.kernel;
	if (!stack || !stack->count)
		return false;
	first = first_told(trace, stack, kernel);
	for (uint32_t i = first; i < stack->count && i < first + most; i++) {
		clew_trace_stack_place(trace, stack->frames[i], kernel, &place);
		fputs(i > first ? " <- " : "", out);
		print_place(out, &place);
	}
	return true;
}

static void json_frames(struct clew_json *json, const struct clew_trace *trace, const char *key,
			const struct clew_trace_stack *stack, bool kernel)
{
	struct clew_stack_place place;

	clew_json_array(json, key);
	for (uint32_t i = 0; stack && i < stack->count; i++) {
		char *demangled;

		clew_trace_stack_place(trace, stack->frames[i], kernel, &place);
		demangled = place.name ? symbol_demangle(place.name, true) : NULL;
		clew_json_object(json, NULL);
		clew_json_string(json, "name", place.name);
		if (demangled)
			clew_json_string(json, "demangled", demangled);
		if (!kernel)
			clew_json_string(json, "object", place.object);
		clew_json_unsigned(json, "offset", place.offset);
		clew_json_object_end(json);
		free(demangled);
	}
	clew_json_array_end(json);
}

void clew_json_stack(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_sleep *sleep)
{
	struct clew_sleep_stacks stacks;

	if (!clew_trace_sleep_stacks(trace, sleep, &stacks)) {
		clew_json_null(json, "stack");
		return;
	}
	clew_json_object(json, "stack");
	json_frames(json, trace, "frames", stacks.user, false);
	json_frames(json, trace, "kernel", stacks.kernel, true);
	clew_json_string(json, "end",
			 stacks.user_end < CLEW_STACK_ENDS ? end_names[stacks.user_end] : NULL);
	clew_json_object_end(json);
}
