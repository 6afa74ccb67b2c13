/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time that threads lost, in sum. */
#include "daemon/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STABLE 600000000000ull /* ns: a pair that grew within that time stays */

static int add_group(struct sums *sums, const char *name)
{
	struct sums_group *group = &sums->groups[sums->group_count];

	group->name = strdup(name);
	if (!group->name)
		return -ENOMEM;
	sums->group_count++;
	return 0;
}

int sums_init(struct sums *sums)
{
	*sums = (struct sums){.groups = calloc(SUMS_GROUPS_MOST, sizeof(*sums->groups))};
	return sums->groups ? add_group(sums, "other") : -ENOMEM;
}

void sums_done(struct sums *sums)
{
	for (size_t i = 0; i < sums->group_count; i++)
		free(sums->groups[i].name);
	free(sums->groups);
	map_done(&sums->ids);
	*sums = (struct sums){};
}

uint32_t sums_group_of(struct sums *sums, uint64_t id, const char *path)
{
	const uint64_t *known = map_get(&sums->ids, id, 0);

	if (known)
		return (uint32_t)*known;
	if (!path || sums->group_count == SUMS_GROUPS_MOST ||
	    map_set(&sums->ids, id, 0, sums->group_count) < 0)
		return SUMS_OTHER;
	/* A group that was made again under its old path goes on with its old sums. */
	for (uint32_t i = 1; i < sums->group_count; i++)
		if (!strcmp(sums->groups[i].name, path)) {
			map_set(&sums->ids, id, 0, i);
			sums->groups[i].id = id;
			return i;
		}
	if (add_group(sums, path) < 0) {
		map_remove(&sums->ids, id, 0);
		return SUMS_OTHER;
	}
	sums->groups[sums->group_count - 1].id = id;
	return (uint32_t)sums->group_count - 1;
}

void sums_add(struct sums *sums, uint32_t group, unsigned kind, uint64_t ns)
{
	sums->groups[group].ns[kind] += ns;
	sums->groups[group].count[kind]++;
}

static struct sums_pair *find_pair(struct sums *sums, uint32_t victim, uint32_t antagonist,
				   unsigned kind)
{
	for (size_t i = 0; i < sums->pair_count; i++) {
		struct sums_pair *pair = &sums->pairs[i];

		if (pair->victim == victim && pair->antagonist == antagonist && pair->kind == kind)
			return pair;
	}
	return NULL;
}

/* The pair of "other" and itself. */
static struct sums_pair *other_pair(struct sums *sums, unsigned kind)
{
	struct sums_pair *pair = find_pair(sums, SUMS_OTHER, SUMS_OTHER, kind);

	if (!pair) {
		pair = &sums->pairs[sums->pair_count++];
		*pair = (struct sums_pair){.kind = kind};
	}
	return pair;
}

/* Room for another pair; NULL: all grew lately. The sums of "other" stay. */
static struct sums_pair *make_room(struct sums *sums, uint64_t now)
{
	struct sums_pair *least = NULL;

	if (sums->pair_count < SUMS_PAIRS_MOST)
		return &sums->pairs[sums->pair_count++];
	for (size_t i = 0; i < sums->pair_count; i++) {
		struct sums_pair *pair = &sums->pairs[i];

		if ((pair->victim != SUMS_OTHER || pair->antagonist != SUMS_OTHER) &&
		    pair->grown + STABLE < now && (!least || pair->ns < least->ns))
			least = pair;
	}
	if (least)
		other_pair(sums, least->kind)->ns += least->ns;
	return least;
}

void sums_blame(struct sums *sums, const struct sums_pair *charge)
{
	struct sums_pair *pair = find_pair(sums, charge->victim, charge->antagonist, charge->kind);

	if (!pair && (charge->victim != SUMS_OTHER || charge->antagonist != SUMS_OTHER)) {
		pair = make_room(sums, charge->grown);
		if (pair)
			*pair = (struct sums_pair){.victim = charge->victim,
						   .antagonist = charge->antagonist,
						   .kind = charge->kind};
	}
	if (!pair)
		pair = other_pair(sums, charge->kind);
	pair->ns += charge->ns;
	pair->grown = charge->grown;
}
