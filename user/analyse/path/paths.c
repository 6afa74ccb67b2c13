/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The list of paths that a search finds.
 */
#include "analyse/path/internal.h"

int paths_add(struct clew_paths *paths, const struct clew_model *model, const uint32_t *es,
	      uint32_t count, bool backwards)
{
	struct clew_path *grown = reallocarray(paths->paths, paths->count + 1, sizeof(*grown)),
			 *path;

	if (!grown)
		return -ENOMEM;
	paths->paths = grown;
	path = &paths->paths[paths->count];
	*path = (struct clew_path){.count = count, .es = malloc(sizeof(*path->es) * count)};
	if (!path->es)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		path->es[i] = es[backwards ? count - 1 - i : i];
		path->work += es_length(model, path->es[i]);
	}
	paths->count++;
	return 0;
}

void clew_paths_done(struct clew_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->paths[i].es);
	free(paths->paths);
	*paths = (struct clew_paths){};
}
