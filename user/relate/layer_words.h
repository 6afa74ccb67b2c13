/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What reading a description has in hand. */
#ifndef CLEW_RELATE_LAYER_WORDS_H
#define CLEW_RELATE_LAYER_WORDS_H

#include "base/scan.h"
#include "base/vector.h"
#include "relate/layer.h"

#define CLEW_LAYER_TEXT_MOST 128 /* bytes of a text at a point, with its NUL */

/* What the caller gets, and the memory of all in it. */
struct result {
	struct clew_layers layers; /* first */
	struct arena arena;
};

struct reading {
	struct scanner scanner;
	struct vector layers; /* struct clew_layer; the one at hand is behind the last */
	struct vector calls;  /* of the layer at hand */
	struct vector globs;  /* char *, likewise */
	bool inside;	      /* a layer has begun */
	struct result *result;
};

#endif
