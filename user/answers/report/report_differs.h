/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Says what is different in a slow operation from what is usual in its class. */
#ifndef CLEW_ANSWERS_REPORT_REPORT_DIFFERS_H
#define CLEW_ANSWERS_REPORT_REPORT_DIFFERS_H

#include <stdio.h>

#include "explain/classes.h"
#include "format/json.h"

/* `place`: of the operation in its class, 0 the slowest. Prints nothing if nothing is known. */
void clew_print_differs(FILE *out, const struct clew_trace *trace,
			const struct clew_operation_classes *found, size_t class, size_t place,
			size_t width);
/* The field "different" of the open object. */
void clew_json_differs(struct clew_json *json, const struct clew_trace *trace,
		       const struct clew_operation_classes *found, size_t class, size_t place);

#endif
