/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew doctor`. */
#ifndef CLEW_ANSWERS_DOCTOR_DOCTOR_H
#define CLEW_ANSWERS_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "record/features.h"

void clew_print_features(FILE *out, const char *kernel, bool privileged,
			 const struct clew_feature *features, size_t count);
void clew_json_features(FILE *out, const char *kernel, bool privileged,
			const struct clew_feature *features, size_t count);

#endif
