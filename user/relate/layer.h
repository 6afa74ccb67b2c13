/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptions of layers: which probes of a program are calls of an interface, what
 * of their arguments means something to people, and how that passes from one handle
 * to the next. docs/layers.md describes the text.
 */
#ifndef CLEW_RELATE_LAYER_H
#define CLEW_RELATE_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/kernel/maps.h>

/* A probe (of SystemTap's format) and what is wanted of its arguments. */
struct clew_layer_point {
	const char *provider; /* NULL: the point is not there */
	const char *probe;
	const char *names[CLEW_POINT_VALUES];
	struct clew_point point;
};

/* DESC: handle `to` is known to people by what value `from` says. CARRY: by what handle `from` is.
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
	struct clew_layer_point end; /* without one the call is a moment */
	struct clew_layer_rule rules[CLEW_LAYER_RULES];
	uint32_t rule_count;
	bool drops; /* ends what is known of the handle that is its only value */
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
	size_t point_count; /* of all layers: points are numbered through, a call's begin before its
			       end */
};

/*
 * Reads descriptions; `name` is what messages call the text. On -EINVAL `message`
 * is NAME:LINE:COLUMN: what is wrong. The caller frees the result; texts in it are
 * its own.
 */
int clew_layers_read(const char *text, size_t length, const char *name,
		     struct clew_layers **ret_layers, char *message, size_t message_size);
void clew_layers_free(struct clew_layers *layers);

/* Point `number` of all; NULL: there is none. What it belongs to goes to ret_*, which may be NULL.
 */
const struct clew_layer_point *clew_layers_point(const struct clew_layers *layers, size_t number,
						 const struct clew_layer **ret_layer,
						 const struct clew_layer_call **ret_call);

/*
 * The words of an ANNOUNCE record (interface, operation, NAME=VALUE .., each with its
 * NUL) from what the kernel side sent for that point: values one after the other,
 * those whose bit is in `unknown` left out. Returns the size, at most `room`.
 */
size_t clew_layers_words(const struct clew_layers *layers, size_t number, const void *values,
			 size_t size, unsigned unknown, char *ret_text, size_t room);

#endif
