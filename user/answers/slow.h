/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time for which a rule was met, in JSON and in words. */
#ifndef CLEW_ANSWERS_SLOW_H
#define CLEW_ANSWERS_SLOW_H

#include "format/json.h"
#include "live/trigger.h"

/* Its fields, into an object. */
void clew_slow_json(struct clew_json *json, const struct clew_slow *slow);

/* "write of 4096 bytes at sector 2048 of vda". `disk`: NULL or "" unknown, then it is its number.
 */
void clew_print_slow_request(FILE *out, const struct clew_slow_request *request, const char *disk);

#endif
