/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions from which a description's steps begin, by their names. */
#include <errno.h>
#include <string.h>

#include "symbol/code/derive.h"
#include "symbol/code/function_internal.h"

/* The function of exactly that name; NAME@VERSION, NAME@@VERSION: of that version of it. */
static int find_exact(const struct clew_functions *functions, const char *name,
		      uint64_t *ret_address)
{
	const struct function_name *names = names_of(functions);
	const char *at = strchr(name, '@'), *version = at ? at + strspn(at, "@") : NULL;
	size_t length = at ? (size_t)(at - name) : strlen(name);
	bool found = false;

	for (size_t i = 0; i < functions->names.count; i++) {
		if (strncmp(names[i].name, name, length) || names[i].name[length] ||
		    (version && (!names[i].version || strcmp(names[i].version, version))))
			continue;
		if (found && names[i].address != *ret_address)
			return -EMLINK;
		*ret_address = names[i].address;
		found = true;
	}
	return found ? 0 : -ENOENT;
}

int clew_derive_find(struct clew_functions *functions, const char *glob, uint64_t *ret_address)
{
	const struct clew_function_symbol *const *found;
	size_t count;
	int r = strpbrk(glob, "*?[") ? -ENOENT : find_exact(functions, glob, ret_address);

	if (r != -ENOENT)
		return r;
	r = clew_functions_find(functions, glob, &found, &count);
	if (r < 0)
		return r;
	if (count != 1)
		return count ? -EMLINK : -ENOENT;
	*ret_address = found[0]->address;
	return 0;
}
