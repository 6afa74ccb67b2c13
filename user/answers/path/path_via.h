/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The dependencies that a path follows.
 */
#ifndef CLEW_ANSWERS_PATH_PATH_VIA_H
#define CLEW_ANSWERS_PATH_PATH_VIA_H

#include <clew/path.h>
#include <stdio.h>

#include "format/json.h"

/*
 * The field "via" of the open object: the dependency by which a path reaches
 * its element `number`; nothing where it follows in its span.
 */
void clew_json_via_dependency(struct clew_json *json, const struct clew_model *model,
			      const struct clew_path *path, uint32_t number);
/*
 * Prints ", call kv.get for app.load (exact) [kv/key=17]" for an announced call
 * that the path follows, or returns from; else nothing.
 */
void clew_print_via_call(FILE *out, const struct clew_model *model, const struct clew_path *path,
			 uint32_t number);

#endif
