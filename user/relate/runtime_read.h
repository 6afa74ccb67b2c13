/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of reading a runtime, which layer.c begins and ends.
 */
#ifndef CLEW_RELATE_RUNTIME_READ_H
#define CLEW_RELATE_RUNTIME_READ_H

#include "base/scan.h"
#include "base/vector.h"
#include "relate/runtime.h"

struct runtime_reading {
	struct scanner *scanner;
	struct arena *arena;
	const char *name, *title;
	struct vector objects, hidden, offsets, spans, events,
		points; /* as in struct clew_runtime */
	/* The current span's key, as text: each of its events is read with it. */
	const char *key, *key_end;
	const char *key_place; /* for messages */
};

void runtime_begin(struct runtime_reading *reading, struct scanner *scanner, struct arena *arena);
void runtime_done(struct runtime_reading *reading);
/* One line of the runtime. 0, -EINVAL with a message, or -ENOMEM. */
int runtime_line(struct runtime_reading *reading);
/* Completes it; `*points`: number of its first point, and then of the next runtime's. */
int runtime_end(struct runtime_reading *reading, size_t *points, struct clew_runtime *ret_runtime);

/* runtime_word.c: letters, digits and _ that come next. */
size_t runtime_word_length(const struct scanner *scanner);
/* A name of them, or a failure that names what is missing. */
int runtime_word(struct runtime_reading *reading, const char *what, const char **ret_word);
int runtime_number(struct runtime_reading *reading, uint64_t most, uint64_t *ret_number);
/* All up to a blank or the line's end, likewise. */
int runtime_text(struct runtime_reading *reading, const char *what, const char **ret_text);
/* A further item, zeroed; NULL: no memory. */
void *runtime_add(struct vector *vector);

/* runtime_object.c: lines about files. */
int runtime_take_object(struct runtime_reading *reading);
int runtime_take_hidden(struct runtime_reading *reading);
int runtime_take_layout(struct runtime_reading *reading);
int runtime_take_field(struct runtime_reading *reading);
/* ALIAS: of an object that is known. */
int runtime_alias(struct runtime_reading *reading, const char **ret_alias);
bool runtime_has_offset(const struct runtime_reading *reading, const char *name);

/* runtime_point.c: places, and the points that they are. */
struct clew_runtime_point *runtime_point_at(const struct runtime_reading *reading, size_t number);
/* The number of a place, which may be there already. */
int runtime_add_point(struct runtime_reading *reading, const struct clew_runtime_point *place,
		      uint16_t *ret_number);
/* ALIAS:SYMBOL or ALIAS:@HIDDEN */
int runtime_function(struct runtime_reading *reading, struct clew_runtime_point *place);
int runtime_place(struct runtime_reading *reading, struct clew_runtime_point *place);

/* runtime_event.c: a line of an event of the current span. */
int runtime_take_event(struct runtime_reading *reading, bool cheap);

/* runtime_expression.c: an expression. `event`: its values may be named; NULL: none may. */
int runtime_expression(struct runtime_reading *reading, const struct clew_runtime_event *event,
		       struct clew_expression *ret);
/* True if two expressions read the same. */
bool runtime_same_read(const struct clew_expression *a, const struct clew_expression *b);

#endif
