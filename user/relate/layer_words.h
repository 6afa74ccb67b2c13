/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of reading a description.
 */
#ifndef CLEW_RELATE_LAYER_WORDS_H
#define CLEW_RELATE_LAYER_WORDS_H

#include "base/scan.h"
#include "base/vector.h"
#include "relate/layer.h"
#include "relate/runtime_read.h"

#define CLEW_LAYER_TEXT_MOST 128 /* bytes of a text value, with its NUL */

/* The result, followed by the memory that it owns. */
struct result {
	struct clew_layers layers; /* has to be first */
	struct arena arena;
};

struct reading {
	struct scanner scanner;
	struct vector layers;		/* struct clew_layer; the current one is behind the last */
	struct vector calls;		/* of the current layer */
	struct vector globs;		/* char *, likewise */
	bool inside;			/* a layer has begun */
	struct vector runtimes;		/* struct clew_runtime */
	struct runtime_reading runtime; /* the current one */
	bool in_runtime;
	size_t runtime_points; /* of all runtimes so far */
	struct result *result;
};

#endif
