/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A stack for people begins with the function of the C library that the program called, unless
 * that is only the wrapper of the system call, and ends with the program's first function. Below
 * the former are the library's own ways into the kernel, above the latter what starts threads.
 */
#include "words/stack_shown.h"

#include <clew/tokens.h>
#include <string.h>

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

/* Functions that call a program's or a thread's first one. */
static bool is_start(const struct clew_stack_place *place)
{
	static const char *const names[] = {
		"_start",
		"_start_c",
		"_dl_start",
		"_dl_start_user",
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_call_main",
		"libc_start_main_stage2",
		"start_thread",
		"clone",
		"__clone",
		"clone3",
		"__clone3",
		"__clone_internal",
		"thread_start",
	};

	for (size_t i = 0; place->name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(place->name, names[i]))
			return true;
	return false;
}

/* Also what wakes others. */
static bool is_scheduler(const struct clew_stack_place *place)
{
	static const char *const parts[] = {"schedule", "sched_", "wake_up", "wake_function"};

	for (size_t i = 0; place->name && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(place->name, parts[i]))
			return true;
	return false;
}

/* True for "__libc_recv" of recvfrom: the sentence names the call anyway. */
static bool is_wrapper(const struct clew_stack_place *place, unsigned call)
{
	const char *of = call == CLEW_NO_CALL ? NULL : clew_call_name(call), *name = place->name;
	char bare[64];
	size_t length;

	if (!of || !name)
		return false;
	name += strspn(name, "_");
	if (!strncmp(name, "libc_", strlen("libc_")))
		name += strlen("libc_");
	length = strcspn(name, "@");
	if (length > 2 && !strncmp(name + length - 2, "64", 2))
		length -= 2;
	if (!length || length >= sizeof(bare))
		return false;
	memcpy(bare, name, length);
	bare[length] = '\0';
	return strstr(of, bare);
}

static uint32_t first_of_kernel(const struct clew_trace *trace,
				const struct clew_trace_stack *stack)
{
	struct clew_stack_place place;

	for (uint32_t i = 0; i < stack->count; i++) {
		clew_trace_stack_place(trace, stack->frames[i], true, &place);
		if (!is_scheduler(&place))
			return i;
	}
	return 0;
}

/* The end of the stack without what started the thread. */
static uint32_t end_of_user(const struct clew_trace *trace, const struct clew_trace_stack *stack)
{
	struct clew_stack_place place, outer;
	uint32_t end = stack->count;

	/* Stripped programs have no name for the function that calls the library's start. */
	if (end > 1) {
		clew_trace_stack_place(trace, stack->frames[end - 1], false, &outer);
		clew_trace_stack_place(trace, stack->frames[end - 2], false, &place);
		end -= !outer.name && is_start(&place);
	}
	for (; end; end--) {
		clew_trace_stack_place(trace, stack->frames[end - 1], false, &place);
		if (!is_start(&place) && !(is_library(&place) && !place.name))
			break;
	}
	return end;
}

/* All of it lies in libraries, and none of its outer functions has a name: the innermost, if it
 * starts no thread. */
static bool choose_nameless(const struct clew_trace *trace, const struct clew_trace_stack *stack,
			    struct clew_stack_shown *ret_shown)
{
	struct clew_stack_place place;

	clew_trace_stack_place(trace, stack->frames[0], false, &place);
	if (is_start(&place))
		return false;
	*ret_shown = (struct clew_stack_shown){.stack = stack, .end = 1};
	return true;
}

static bool choose_user(const struct clew_trace *trace, const struct clew_trace_stack *stack,
			unsigned call, bool running, struct clew_stack_shown *ret_shown)
{
	const uint32_t end = end_of_user(trace, stack);
	struct clew_stack_place place, called = {};
	uint32_t own = 0;

	if (!end)
		return choose_nameless(trace, stack, ret_shown);
	for (; own < end; own++) {
		clew_trace_stack_place(trace, stack->frames[own], false, &place);
		if (!is_library(&place))
			break;
		called = place;
	}
	*ret_shown = (struct clew_stack_shown){.stack = stack, .first = own, .end = end};
	/* A wrapper calls the kernel itself. */
	if (called.name && !(own == 1 && own < end && is_wrapper(&called, call)))
		ret_shown->first--;
	/* It ran in a function that the library does not export. */
	else if (running && own && !called.name)
		ret_shown->first--;
	return ret_shown->first < end;
}

bool clew_stack_choose(const struct clew_trace *trace, const struct clew_sleep_stacks *stacks,
		       unsigned call, bool running, struct clew_stack_shown *ret_shown)
{
	const struct clew_trace_stack *stack = stacks->user ?: stacks->kernel;

	if (!stack || !stack->count)
		return false;
	if (stacks->user)
		return choose_user(trace, stack, call, running, ret_shown);
	*ret_shown = (struct clew_stack_shown){.stack = stack,
					       .first = first_of_kernel(trace, stack),
					       .end = stack->count,
					       .kernel = true};
	return true;
}

bool clew_stack_is_repeated(struct clew_stack_nameless *nameless,
			    const struct clew_stack_place *place)
{
	if (place->name || !place->object)
		return false;
	for (unsigned i = 0; i < nameless->count; i++)
		if (!strcmp(nameless->objects[i], place->object))
			return true;
	if (nameless->count < CLEW_STACK_NAMELESS)
		nameless->objects[nameless->count++] = place->object;
	return false;
}
