/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time for which a rule was met, in JSON. */
#ifndef CLEW_WORDS_SLOW_H
#define CLEW_WORDS_SLOW_H

#include "live/trigger.h"
#include "words/json.h"

/* Its fields, into an object. */
void clew_slow_json(struct clew_json *json, const struct clew_slow *slow);

#endif
