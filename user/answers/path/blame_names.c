/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of who kept whom waiting, by name. */
#include "answers/path/blame_names.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A span of some pair. Names that differ only in the number at their end form a
 * group.
 */
struct named {
	char *name;
	char *pool;  /* the name of the threads that it is one of, NULL none */
	size_t stem; /* bytes before that number */
	uint32_t span;
	uint32_t group;
};

struct entry {
	clew_time ns;
	uint32_t victim, antagonist; /* indexes in the array of named spans */
	uint32_t victim_group, antagonist_group;
	uint32_t kind;
	unsigned evidence;
};

static bool is_candidate(const struct entry *entry)
{
	return entry->evidence == CLEW_EVIDENCE_CANDIDATE;
}

static size_t stem_of(const char *name)
{
	size_t size = strlen(name);

	while (size && name[size - 1] >= '0' && name[size - 1] <= '9')
		size--;
	return size;
}

static bool is_numbered(const struct named *named)
{
	return named->name[named->stem] != '\0';
}

static int compare_names(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order;

	if (x->pool && y->pool && strcmp(x->pool, y->pool))
		return strcmp(x->pool, y->pool);
	if (!x->pool != !y->pool)
		return x->pool ? 1 : -1;
	order = memcmp(x->name, y->name, x->stem < y->stem ? x->stem : y->stem);

	if (order)
		return order;
	if (x->stem != y->stem)
		return x->stem < y->stem ? -1 : 1;
	if (is_numbered(x) != is_numbered(y))
		return is_numbered(y) ? -1 : 1;
	return (x->span > y->span) - (x->span < y->span);
}

static bool is_same_group(const struct named *x, const struct named *y)
{
	if (x->pool || y->pool)
		return x->pool && y->pool && !strcmp(x->pool, y->pool);
	return x->stem == y->stem && is_numbered(x) == is_numbered(y) &&
	       !memcmp(x->name, y->name, x->stem);
}

static int compare_groups(const struct entry *x, const struct entry *y)
{
	if (x->victim_group != y->victim_group)
		return x->victim_group < y->victim_group ? -1 : 1;
	if (x->antagonist_group != y->antagonist_group)
		return x->antagonist_group < y->antagonist_group ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return is_candidate(x) - is_candidate(y);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return compare_groups(x, y) ?: (x->victim > y->victim) - (x->victim < y->victim);
}

static int compare_antagonists(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->antagonist > y->antagonist) - (x->antagonist < y->antagonist);
}

static int largest_first(const void *a, const void *b)
{
	const struct clew_blame_share *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(x->victim, y->victim) ?: strcmp(x->antagonist ?: "", y->antagonist ?: "") ?: (x->kind > y->kind) - (x->kind < y->kind) ?: (x->evidence > y->evidence) - (x->evidence < y->evidence);
}

/* ---- pools ---- */

/* A thread whose own name ends in a number, as "worker-3" in the span's name "worker-3-4711". */
struct member {
	const char *pid;
	struct named *named;
	size_t stem; /* bytes of the name before that number */
	size_t size; /* bytes with it */
};

static int compare_stems(const struct member *x, const struct member *y)
{
	int order = strcmp(x->pid, y->pid);

	if (order)
		return order;
	if (x->stem != y->stem)
		return x->stem < y->stem ? -1 : 1;
	return memcmp(x->named->name, y->named->name, x->stem);
}

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = compare_stems(x, y);

	if (order)
		return order;
	return (x->named->span > y->named->span) - (x->named->span < y->named->span);
}

static bool is_member(const struct clew_model *model, struct named *named,
		      struct member *ret_member)
{
	uint32_t attributes = model->spans[named->span].attributes;
	const char *pid = clew_model_attribute(model, attributes, "pid"),
		   *tid = clew_model_attribute(model, attributes, "tid");
	size_t size = named->stem ? named->stem - 1 : 0, stem = size;

	if (!pid || !tid || strcmp(named->name + named->stem, tid) || named->name[size] != '-')
		return false;
	while (stem && named->name[stem - 1] >= '0' && named->name[stem - 1] <= '9')
		stem--;
	*ret_member = (struct member){.pid = pid, .named = named, .stem = stem, .size = size};
	return stem && stem < size;
}

/* Names the pools: threads of one process whose names differ in the number only. 0 or -ENOMEM. */
static int find_pools(const struct clew_model *model, struct named *named, size_t count)
{
	struct member *members = malloc((count + 1) * sizeof(*members));
	size_t found = 0;
	int r = members ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < count; i++)
		found += is_member(model, &named[i], &members[found]);
	if (found)
		qsort(members, found, sizeof(*members), compare_members);
	for (size_t from = 0, to; r == 0 && from < found; from = to) {
		bool differ = false;

		for (to = from + 1; to < found && !compare_stems(&members[from], &members[to]);
		     to++)
			differ |= members[to].size != members[from].size ||
				  memcmp(members[to].named->name, members[from].named->name,
					 members[from].size) != 0;
		for (size_t i = from; differ && r == 0 && i < to; i++)
			if (asprintf(&members[i].named->pool, "%.*sN", (int)members[i].stem,
				     members[i].named->name) < 0) {
				members[i].named->pool = NULL;
				r = -ENOMEM;
			}
	}
	free(members);
	return r;
}

/*
 * The names of all spans that are in a pair, sorted. `ret_places`: by span, its
 * index there. 0 or -ENOMEM.
 */
static int name_spans(const struct clew_model *model, const struct clew_blame_pair *pairs,
		      size_t count, struct named **ret_named, size_t *ret_count,
		      uint32_t *ret_places)
{
	struct named *named;
	size_t found = 0;

	memset(ret_places, 0, model->span_count * sizeof(*ret_places));
	for (size_t i = 0; i < count; i++) {
		ret_places[pairs[i].victim] = 1;
		if (pairs[i].antagonist != CLEW_NONE)
			ret_places[pairs[i].antagonist] = 1;
	}
	for (uint32_t span = 0; span < model->span_count; span++)
		found += ret_places[span];
	named = calloc(found + 1, sizeof(*named));
	if (!named)
		return -ENOMEM;
	*ret_named = named;
	*ret_count = 0;
	for (uint32_t span = 0; span < model->span_count; span++) {
		char *name = ret_places[span] ? clew_model_span_path(model, span) : NULL;

		if (!ret_places[span])
			continue;
		if (!name)
			return -ENOMEM;
		named[(*ret_count)++] =
			(struct named){.name = name, .stem = stem_of(name), .span = span};
	}
	if (find_pools(model, named, found) < 0)
		return -ENOMEM;
	qsort(named, found, sizeof(*named), compare_names);
	for (size_t i = 0; i < found; i++) {
		ret_places[named[i].span] = i;
		if (i)
			named[i].group =
				named[i - 1].group + !is_same_group(&named[i], &named[i - 1]);
	}
	return 0;
}

/* The name of a share in which `count` spans of this one's group are. */
static char *name_of(const struct named *named, size_t count)
{
	size_t size = count > 1 && is_numbered(named) ? named->stem : strlen(named->name);
	char *name;

	if (count > 1 && named->pool)
		return strdup(named->pool);
	name = malloc(size + sizeof("*"));
	if (!name)
		return NULL;
	memcpy(name, named->name, size);
	strcpy(name + size, named->name[size] ? "*" : "");
	return name;
}

/*
 * Adds up the entries of one share, which are in order of their victims; sorts
 * them by their antagonists. 0 or -ENOMEM.
 */
static int add_share(struct clew_blame_shares *shares, const struct named *named,
		     struct entry *entries, size_t count)
{
	struct clew_blame_share *share = &shares->shares[shares->count++];

	*share = (struct clew_blame_share){.kind = entries[0].kind};
	for (size_t i = 0; i < count; i++) {
		share->ns += entries[i].ns;
		if (entries[i].evidence > share->evidence)
			share->evidence = entries[i].evidence;
		share->victims += !i || entries[i].victim != entries[i - 1].victim;
	}
	qsort(entries, count, sizeof(*entries), compare_antagonists);
	for (size_t i = 0; i < count; i++)
		share->antagonists += !i || entries[i].antagonist != entries[i - 1].antagonist;
	share->victim = name_of(&named[entries[0].victim], share->victims);
	share->victim_pool = share->victims > 1 && named[entries[0].victim].pool;
	if (entries[0].antagonist == CLEW_NONE) {
		share->antagonists = 0;
		return share->victim ? 0 : -ENOMEM;
	}
	share->antagonist = name_of(&named[entries[0].antagonist], share->antagonists);
	share->antagonist_pool = share->antagonists > 1 && named[entries[0].antagonist].pool;
	return share->victim && share->antagonist ? 0 : -ENOMEM;
}

static int add_shares(struct clew_blame_shares *shares, const struct named *named,
		      struct entry *entries, size_t count)
{
	size_t groups = 0;

	qsort(entries, count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < count; i++)
		groups += !i || compare_groups(&entries[i], &entries[i - 1]);
	shares->shares = calloc(groups + 1, sizeof(*shares->shares));
	if (!shares->shares)
		return -ENOMEM;
	for (size_t from = 0, to; from < count; from = to) {
		int r;

		for (to = from + 1; to < count && !compare_groups(&entries[from], &entries[to]);)
			to++;
		r = add_share(shares, named, entries + from, to - from);
		if (r < 0)
			return r;
	}
	qsort(shares->shares, shares->count, sizeof(*shares->shares), largest_first);
	return 0;
}

int clew_blame_by_name(const struct clew_model *model, const struct clew_blame_pair *pairs,
		       size_t count, struct clew_blame_shares *ret_shares)
{
	uint32_t *places = malloc(model->span_count * sizeof(*places) + 1);
	struct entry *entries = calloc(count + 1, sizeof(*entries));
	struct named *named = NULL;
	size_t named_count = 0;
	int r = places && entries ? 0 : -ENOMEM;

	*ret_shares = (struct clew_blame_shares){0};
	if (r == 0)
		r = name_spans(model, pairs, count, &named, &named_count, places);
	for (size_t i = 0; r == 0 && i < count; i++) {
		bool limit = pairs[i].antagonist == CLEW_NONE;
		uint32_t victim = places[pairs[i].victim],
			 antagonist = limit ? CLEW_NONE : places[pairs[i].antagonist];

		entries[i] = (struct entry){
			.ns = pairs[i].ns,
			.victim = victim,
			.antagonist = antagonist,
			.victim_group = named[victim].group,
			.antagonist_group = limit ? UINT32_MAX : named[antagonist].group,
			.kind = pairs[i].kind,
			.evidence = pairs[i].evidence,
		};
	}
	if (r == 0)
		r = add_shares(ret_shares, named, entries, count);
	for (size_t i = 0; i < named_count; i++) {
		free(named[i].name);
		free(named[i].pool);
	}
	free(named);
	free(entries);
	free(places);
	return r;
}

void clew_blame_shares_done(struct clew_blame_shares *shares)
{
	for (size_t i = 0; i < shares->count; i++) {
		free(shares->shares[i].victim);
		free(shares->shares[i].antagonist);
	}
	free(shares->shares);
}
