/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the probes that a program carries. */
#include "record/functions/carried.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct search {
	const char *glob;
	struct vector *list;
};

static int take_probe(void *context, const struct clew_probe *probe)
{
	struct search *search = context;
	struct vector *list = search->list;
	struct clew_carried *carried;
	char *title;
	int r;

	if (asprintf(&title, "%s:%s", probe->provider, probe->name) < 0)
		return -ENOMEM;
	if (fnmatch(search->glob, title, 0)) {
		free(title);
		return 0;
	}
	r = vector_reserve(list, list->count + 1);
	if (r < 0) {
		free(title);
		return r;
	}
	carried = clew_carried_at(list, list->count++);
	*carried = (struct clew_carried){
		.probe = *probe, .title = title, .text = strdup(probe->arguments)};
	clew_probe_arguments(probe, carried->arguments, CLEW_CARRIED_ARGUMENTS);
	return carried->text ? 0 : -ENOMEM;
}

int clew_carried_read(int descriptor, const char *glob, struct vector *ret_list)
{
	struct search search = {.glob = glob, .list = ret_list};

	*ret_list = (struct vector){.item = sizeof(struct clew_carried)};
	return clew_probes_read(descriptor, take_probe, &search);
}

void clew_carried_done(struct vector *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(clew_carried_at(list, i)->title);
		free(clew_carried_at(list, i)->text);
	}
	vector_done(list);
}

const char *clew_carried_argument(unsigned number)
{
	static const char *const names[CLEW_CARRIED_ARGUMENTS] = {"arg0", "arg1", "arg2",  "arg3",
								  "arg4", "arg5", "arg6",  "arg7",
								  "arg8", "arg9", "arg10", "arg11"};

	return names[number];
}

struct clew_value_type clew_carried_type(const struct clew_operand *operand)
{
	return (struct clew_value_type){.size = (uint8_t)(8 - operand->shift / 8u),
					.is_signed = operand->is_signed};
}

const struct clew_operand *clew_carried_widest(const struct vector *list, size_t first,
					       unsigned argument)
{
	const struct clew_operand *best = NULL;

	for (size_t i = first; i < list->count; i++) {
		const struct clew_operand *operand = &clew_carried_at(list, i)->arguments[argument];

		if (strcmp(clew_carried_at(list, i)->title, clew_carried_at(list, first)->title) !=
			    0 ||
		    operand->kind == CLEW_OPERAND_NONE)
			continue;
		if (!best || operand->shift < best->shift)
			best = operand;
	}
	return best;
}

bool clew_carried_again(const struct vector *list, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (!strcmp(clew_carried_at(list, i)->title, clew_carried_at(list, number)->title))
			return true;
	return false;
}
