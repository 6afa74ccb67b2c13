/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps the tasks that had each CPU lately. */
#include "daemon/turns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int make_room(struct turns *turns, unsigned cpu)
{
	if (cpu >= turns->cpu_count) {
		struct turns_cpu **cpus = realloc(turns->cpus, (cpu + 1) * sizeof(*cpus));

		if (!cpus)
			return -ENOMEM;
		memset(cpus + turns->cpu_count, 0, (cpu + 1 - turns->cpu_count) * sizeof(*cpus));
		turns->cpus = cpus;
		turns->cpu_count = cpu + 1;
	}
	if (!turns->cpus[cpu])
		turns->cpus[cpu] = calloc(1, sizeof(*turns->cpus[cpu]));
	return turns->cpus[cpu] ? 0 : -ENOMEM;
}

int turns_add(struct turns *turns, unsigned cpu, struct turn turn)
{
	int r = make_room(turns, cpu);

	if (r == 0)
		turns->cpus[cpu]->turns[turns->cpus[cpu]->count++ % TURNS_MOST] = turn;
	return r;
}

void turns_between(const struct turns *turns, unsigned cpu, uint64_t from, uint64_t to,
		   void (*charge)(void *context, uint32_t group, uint64_t ns), void *context)
{
	const struct turns_cpu *ran = cpu < turns->cpu_count ? turns->cpus[cpu] : NULL;

	for (uint64_t i = 0; ran && i < ran->count && i < TURNS_MOST; i++) {
		const struct turn *turn = &ran->turns[(ran->count - 1 - i) % TURNS_MOST];
		uint64_t begin = turn->start > from ? turn->start : from,
			 end = turn->end < to ? turn->end : to;

		if (turn->end <= from)
			break;
		if (begin < end)
			charge(context, turn->group, end - begin);
	}
}

void turns_done(struct turns *turns)
{
	for (unsigned i = 0; i < turns->cpu_count; i++)
		free(turns->cpus[i]);
	free(turns->cpus);
	*turns = (struct turns){};
}
