/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parts of causal traces in JSON.
 */
#ifndef CLEW_ANSWERS_PATH_MODEL_JSON_H
#define CLEW_ANSWERS_PATH_MODEL_JSON_H

#include <clew/model.h>

#include "format/json.h"

/* The path of a span; CLEW_NONE: null. */
void clew_json_span(struct clew_json *json, const char *key, const struct clew_model *model,
		    uint32_t span);

/*
 * A whole trace as members of the open object: "spans", "dependencies",
 * "categories", "types", "unit".
 */
void clew_json_model(struct clew_json *json, const struct clew_model *model);

#endif
