/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Joins the ranges that are one function. A compiler says so by a part's name. A range that has
 * no name, that nobody calls and no pointer leads to is a part of the function
 * whose jumps alone lead to it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/code/function_internal.h"

#define ROUNDS_MOST 8 /* parts that only parts lead to */
#define MANY	    (NO_RANGE - 1)

/* Bytes of the name without what says that it is a part. */
static size_t whole_length(const char *name)
{
	const char *end = strstr(name, ".cold"), *next;

	if (!end)
		end = strstr(name, ".__part.");
	while (end && (next = strstr(end + 1, ".cold")))
		end = next;
	return end ? (size_t)(end - name) : strlen(name);
}

/* Ranges by a name of theirs. */
struct named {
	const struct function_name *name;
	uint32_t range;
};

static int compare_named(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name->name, ((const struct named *)b)->name->name);
}

static int compare_prefix(const char *name, const char *key, size_t length)
{
	int order = strncmp(name, key, length);

	return order ? order : name[length] != '\0';
}

/* The range with a part's name without the suffix: of the same source file, or else the only
 * one. */
static uint32_t find_whole(const struct named *named, size_t count,
			   const struct function_name *part)
{
	size_t length = whole_length(part->name), low = 0, high = count;
	uint32_t global = NO_RANGE;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_prefix(named[middle].name->name, part->name, length) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && !compare_prefix(named[low].name->name, part->name, length); low++) {
		if (named[low].name->file == part->file)
			return named[low].range;
		if (!named[low].name->file)
			global = global == NO_RANGE || global == named[low].range ? named[low].range
										  : MANY;
	}
	return global == MANY ? NO_RANGE : global;
}

static int join_by_name(struct clew_functions *functions)
{
	struct range *ranges = ranges_of(functions);
	size_t count = 0;
	struct named *named = calloc(functions->names.count + 1, sizeof(*named));

	if (!named)
		return -ENOMEM;
	for (uint32_t i = 0; i < functions->ranges.count; i++)
		for (uint32_t k = 0; ranges[i].kind == RANGE_NAMED && k < ranges[i].name_count; k++)
			named[count++] = (struct named){
				.name = &names_of(functions)[ranges[i].name + k], .range = i};
	qsort(named, count, sizeof(*named), compare_named);
	for (uint32_t i = 0; i < functions->ranges.count; i++) {
		uint32_t whole = NO_RANGE;

		if (ranges[i].kind == RANGE_COLD && !ranges[i].called)
			whole = find_whole(named, count, &names_of(functions)[ranges[i].name]);
		if (whole != NO_RANGE)
			ranges[i].owner = whole;
	}
	free(named);
	return 0;
}

static void mark_called(struct clew_functions *functions)
{
	struct range *ranges = ranges_of(functions);
	const struct flow *flows = functions->flows.data;

	for (uint32_t i = 0; i < functions->ranges.count; i++)
		for (uint32_t k = 0; k < ranges[i].flow_count; k++) {
			const struct flow *flow = &flows[ranges[i].flow + k];

			if (flow->kind == FLOW_CALL && flow->target != NO_RANGE)
				ranges[flow->target].called = true;
		}
}

/* GCC jumps behind the end of a part where a call does not return: to no instruction of the
 * function's. */
static bool is_behind_part(const struct clew_functions *functions, uint32_t owner,
			   const struct flow *flow)
{
	uint32_t before = flow->to_start && flow->target ? flow->target - 1 : NO_RANGE;
	const struct range *ranges = ranges_of(functions);

	return before != NO_RANGE && ranges[before].owner == owner &&
	       ranges[before].start + ranges[before].size == ranges[flow->target].start;
}

/* One round: who alone jumps to a range. True: something was joined. */
static bool join_by_jumps(struct clew_functions *functions, uint32_t *from)
{
	struct range *ranges = ranges_of(functions);
	const struct flow *flows = functions->flows.data;
	bool joined = false;

	for (uint32_t i = 0; i < functions->ranges.count; i++)
		from[i] = NO_RANGE;
	for (uint32_t i = 0; i < functions->ranges.count; i++)
		for (uint32_t k = 0; k < ranges[i].flow_count; k++) {
			const struct flow *flow = &flows[ranges[i].flow + k];
			uint32_t owner = ranges[i].owner, target = flow->target;

			if ((flow->kind != FLOW_JUMP && flow->kind != FLOW_CONDITIONAL) ||
			    target == NO_RANGE || target == i || ranges[target].owner == owner ||
			    is_behind_part(functions, owner, flow))
				continue;
			from[target] =
				from[target] == NO_RANGE || from[target] == owner ? owner : MANY;
		}
	for (uint32_t i = 0; i < functions->ranges.count; i++) {
		struct range *range = &ranges[i];

		if (range->kind == RANGE_NAMED || range->owner != i || range->called ||
		    range->taken || from[i] >= MANY || ranges[from[i]].owner == i)
			continue;
		/* Two unnamed ranges that jump to each other alone: neither is the whole, unless
		 * others come to one of them. */
		if (ranges[from[i]].owner != from[i] ||
		    (ranges[from[i]].kind != RANGE_NAMED && from[from[i]] == i &&
		     !ranges[from[i]].called && !ranges[from[i]].taken))
			continue;
		range->owner = from[i];
		joined = true;
	}
	return joined;
}

/* An owner is no part itself. */
static void settle_owners(struct clew_functions *functions)
{
	struct range *ranges = ranges_of(functions);

	for (uint32_t i = 0; i < functions->ranges.count; i++) {
		uint32_t owner = ranges[i].owner;

		for (unsigned k = 0; k < ROUNDS_MOST && ranges[owner].owner != owner; k++)
			owner = ranges[owner].owner;
		ranges[i].owner = ranges[owner].owner == owner ? owner : i;
	}
}

static void chain_parts(struct clew_functions *functions)
{
	struct range *ranges = ranges_of(functions);

	for (uint32_t i = 0; i < functions->ranges.count; i++) {
		uint32_t owner = ranges[i].owner;

		if (owner == i)
			continue;
		ranges[i].next_part = ranges[owner].next_part;
		ranges[owner].next_part = i;
	}
}

int functions_join_parts(struct clew_functions *functions)
{
	uint32_t *from = calloc(functions->ranges.count + 1, sizeof(*from));
	int r;

	if (!from)
		return -ENOMEM;
	mark_called(functions);
	r = join_by_name(functions);
	for (unsigned i = 0; r >= 0 && i < ROUNDS_MOST && join_by_jumps(functions, from); i++)
		settle_owners(functions);
	settle_owners(functions);
	chain_parts(functions);
	free(from);
	return r;
}
