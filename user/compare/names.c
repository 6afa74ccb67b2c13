/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps the names of classes and causes, each once. Both sides have the same numbers. */
#include <string.h>

#include "base/hash.h"
#include "compare/compare.h"

/* The name after of something that is called `text` on a side. */
static const char *renamed(const struct compare *compare, enum compare_side_name side,
			   const char *text)
{
	const struct compare_options *options = compare->options;

	for (size_t i = 0; i < options->rename_count && side == COMPARE_BEFORE; i++)
		if (!strcmp(options->renames[i].from, text))
			return options->renames[i].to;
	return text;
}

uint32_t compare_name_add(const struct compare *compare, struct compare_names *names,
			  enum compare_side_name side, const struct compare_name *name)
{
	const char *text = renamed(compare, side, name->text);
	uint64_t key = hash_text(HASH_SEED, text);
	const uint64_t *known = map_get(&names->numbers, key, 0);
	struct compare_name *copy;

	if (known)
		return (uint32_t)*known;
	if (vector_reserve(&names->list, names->list.count + 1) < 0)
		return UINT32_MAX;
	copy = (struct compare_name *)names->list.data + names->list.count;
	*copy = *name;
	copy->text = arena_copy(&names->memory, text, strlen(text));
	copy->party = arena_copy(&names->memory, name->party, strlen(name->party));
	if (!copy->text || !copy->party || map_set(&names->numbers, key, 0, names->list.count) < 0)
		return UINT32_MAX;
	return (uint32_t)names->list.count++;
}

void compare_names_done(struct compare_names *names)
{
	vector_done(&names->list);
	map_done(&names->numbers);
	arena_done(&names->memory);
}
