/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds a span of a model by its path. */
#ifndef CLEW_TEST_MODEL_SPAN_H
#define CLEW_TEST_MODEL_SPAN_H

#include <clew/model.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* CLEW_NONE: the model has no span with that path. */
static uint32_t span_of(const struct clew_model *model, const char *path)
{
	for (uint32_t i = 0; i < model->span_count; i++) {
		char *own = clew_model_span_path(model, i);
		bool same = own && !strcmp(own, path);

		free(own);
		if (same)
			return i;
	}
	return CLEW_NONE;
}

#endif
