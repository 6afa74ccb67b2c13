/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Classes of operations in words and in JSON. */
#ifndef CLEW_ANSWERS_CLASSES_H
#define CLEW_ANSWERS_CLASSES_H

#include "explain/classes.h"
#include "format/json.h"
#include <stdio.h>

/* As clew_print_class_of(), of the longest operation of a class. */
void clew_print_class(FILE *out, const struct clew_trace *trace,
		      const struct clew_operation_classes *found, size_t class, bool one);

/* ", usually 1.10 ms (p50 of 412)"; nothing if one of the class is compared with none. */
void clew_print_usual(FILE *out, const struct clew_operation_class *class);

/* Says which of the class is asked about, and which other classes there are. */
void clew_print_classes(FILE *out, const struct clew_trace *trace,
			const struct clew_operation_classes *found, size_t class, size_t width);

/* Says which operation is explained of several threads that did something in an interval, and which
 * others did. */
void clew_print_one_of_several(FILE *out, const struct clew_trace *trace,
			       const struct clew_operation_classes *found,
			       const struct clew_kind_operation *one, size_t width);

/* The fields of a class in the open object. */
void clew_json_class(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_operation_classes *found, size_t class);

#endif
