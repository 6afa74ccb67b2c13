/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A probe costs where nobody calls: in each process that maps the file the kernel puts a
 * breakpoint into the code, and for that copies each page that has one.
 */
#include "record/functions/function_cost.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE	      4096
#define PROBE_EXEC_NS 750  /* of an exec, a probe: measured with 2,000 and with 20,000 */
#define PAGE_EXEC_NS  1500 /* and a page that has probes */
#define KB_PER_PAGE   4

uint64_t clew_function_call_cost(const struct clew_function_symbol *symbol,
				 const struct clew_probe_cost *cost)
{
	uint64_t total, exit = 0;

	if (symbol->refused)
		return 0;
	total = clew_probe_cost_of(cost, symbol->entry.class);
	if (symbol->returns == CLEW_RETURN_TRAMPOLINE)
		return total + cost->trampoline;
	if (symbol->returns == CLEW_RETURN_NONE)
		return total;
	for (size_t i = 0; i < symbol->exit_count; i++) {
		uint64_t one = clew_probe_cost_of(cost, symbol->exits[i].class);

		/* One probe is both. */
		if (symbol->exits[i].offset != symbol->entry.offset && one > exit)
			exit = one;
	}
	return total + exit;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

int clew_function_cost(const struct clew_function_symbol *const *list, size_t count,
		       struct clew_function_cost *ret)
{
	size_t room = 1, used = 0;
	uint64_t *places, pages = 0;

	*ret = (struct clew_function_cost){0};
	for (size_t i = 0; i < count; i++)
		room += 1 + list[i]->exit_count;
	places = calloc(room, sizeof(*places));
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (list[i]->refused)
			continue;
		places[used++] = list[i]->entry.offset;
		for (size_t k = 0; list[i]->returns == CLEW_RETURN_EXITS && k < list[i]->exit_count;
		     k++)
			places[used++] = list[i]->exits[k].offset;
	}
	qsort(places, used, sizeof(*places), compare);
	for (size_t i = 0; i < used; i++) {
		ret->probes += !i || places[i] != places[i - 1];
		pages += !i || places[i] / PAGE != places[i - 1] / PAGE;
	}
	free(places);
	ret->exec_us = (ret->probes * PROBE_EXEC_NS + pages * PAGE_EXEC_NS + 999) / 1000;
	ret->process_kb = pages * KB_PER_PAGE;
	return 0;
}
