/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names the class of an operation: its kind, program and endpoint. */
#ifndef CLEW_WORDS_CLASS_H
#define CLEW_WORDS_CLASS_H

#include <stdio.h>

#include "explain/classes.h"

/* "requests of wget to 127.0.0.1:80", "commands of dd"; `one`: "request". Safe to print. */
void clew_print_class_of(FILE *out, const struct clew_trace *trace,
			 const struct clew_kind_operation *operation, bool one);

#endif
