/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptions of layers: which probes of a program are calls of an interface,
 * which of their arguments mean something to people, and how that meaning
 * passes from handle to handle. docs/layers.md describes the text.
 */
#ifndef CLEW_RELATE_LAYER_H
#define CLEW_RELATE_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/maps.h>

#include "relate/runtime.h"

/* A probe in SystemTap's format, and the values to read from its arguments. */
struct clew_layer_point {
	const char *provider; /* NULL: there is no such point */
	const char *probe;
	const char *names[CLEW_POINT_VALUES];
	struct clew_point point;
};

/*
 * DESC: handle `to` gets value `from` as a descriptor. CARRY: handle `to` gets
 * the descriptors of handle `from`.
 */
enum clew_layer_rule_kind { CLEW_LAYER_DESC, CLEW_LAYER_CARRY };
struct clew_layer_rule {
	enum clew_layer_rule_kind kind;
	const char *from;
	const char *to;
};

#define CLEW_LAYER_RULES 8

struct clew_layer_call {
	const char *operation;
	struct clew_layer_point begin;
	struct clew_layer_point end; /* without an end the call is a moment */
	struct clew_layer_rule rules[CLEW_LAYER_RULES];
	uint32_t rule_count;
	bool drops; /* the call ends the handle that is its only value */
};

struct clew_layer {
	const char *name;
	const char *title;
	const char **globs; /* objects in which the probes are looked for; none: everywhere */
	size_t glob_count;
	struct clew_layer_call *calls;
	size_t call_count;
};

struct clew_layers {
	struct clew_layer *layers;
	size_t count;
	size_t point_count; /* of all layers; points are numbered across layers, a call's begin
			       before its end */
	struct clew_runtime *runtimes;
	size_t runtime_count;
};

/*
 * Reads descriptions; `name` is the text's name in messages. -EINVAL: `message`
 * is NAME:LINE:COLUMN: what is wrong; -ENOMEM. The result is freed by
 * clew_layers_free(), and owns its texts.
 */
int clew_layers_read(const char *text, size_t length, const char *name,
		     struct clew_layers **ret_layers, char *message, size_t message_size);
void clew_layers_free(struct clew_layers *layers);

/*
 * Point `number`; NULL: there is none. Its layer and call go to ret_*, which
 * may be NULL.
 */
const struct clew_layer_point *clew_layers_point(const struct clew_layers *layers, size_t number,
						 const struct clew_layer **ret_layer,
						 const struct clew_layer_call **ret_call);

/*
 * Makes the text of an ANNOUNCE record (interface, operation, NAME=VALUE ..,
 * each with its NUL) from the values that the kernel side sent for a point.
 * Values whose bit is in `unknown` are left out. Returns the size, at most
 * `room`.
 */
size_t clew_layers_words(const struct clew_layers *layers, size_t number, const void *values,
			 size_t size, unsigned unknown, char *ret_text, size_t room);

#endif
