/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attempts in vain, in words and in JSON. */
#ifndef CLEW_WORDS_TRIED_H
#define CLEW_WORDS_TRIED_H

#include <stdio.h>

#include "format/json.h"
#include "trace/tried.h"

/* "retried fcntl on /srv/app.db 14 times", "retried connect to 127.0.0.1:5432 14 times" */
void clew_print_tried(FILE *out, const struct clew_trace *trace, const struct clew_tried *tried);
/* The words between that and the one who kept the thread from it, and behind that one. */
const char *clew_tried_before(const struct clew_tried *tried);
const char *clew_tried_after(const struct clew_tried *tried);
/* The words between the one who kept the thread from it, and the thread. */
const char *clew_tried_relation(const struct clew_tried *tried);
/* The words behind it if nobody is known who did. */
const char *clew_tried_alone(const struct clew_tried *tried);

/* The field "tried" of the open object, if a sleep is between such attempts. */
void clew_json_tried(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_sleep *sleep);

#endif
