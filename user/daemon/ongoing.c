/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts the waits that go on. */
#include "daemon/ongoing.h"

bool ongoing_begin(struct ongoing *ongoing, uint64_t now)
{
	if (ongoing->at && now < ongoing->at + ONGOING_PERIOD)
		return false;
	ongoing->at = now;
	for (unsigned kind = 0; kind < ONGOING_KINDS; kind++)
		ongoing->kinds[kind] = (struct ongoing_kind){.seen = ongoing->kinds[kind].seen};
	return true;
}

void ongoing_add(struct ongoing *ongoing, unsigned kind, uint64_t start)
{
	struct ongoing_kind *of = &ongoing->kinds[kind];
	const uint64_t age = start < ongoing->at ? ongoing->at - start : 0;

	of->seen = true;
	of->count++;
	if (age > of->longest)
		of->longest = age;
}
