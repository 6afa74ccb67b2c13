/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who wrote what a request carries: the same in every answer, and in each that names
 * one file only who wrote to that, the one whose page comes first.
 */
#ifndef CLEW_WORDS_WRITERS_H
#define CLEW_WORDS_WRITERS_H

#include "trace/trace.h"
#include <stdio.h>

#include "words/json.h"

/*
 * The tasks that wrote what request number `request` carries of that file, the first `most` in
 * order of serial, in `tasks`. Returns how many there are, `most` + 1 where there are more.
 */
size_t clew_request_writers(const struct clew_trace *trace, uint64_t request, uint32_t *tasks,
			    size_t most);

/* The fields "reason" and "writers" of the object that is open. */
void clew_json_request_writers(struct clew_json *json, const struct clew_trace *trace,
			       uint64_t request);
/* " by A, B": who wrote it, else who submitted it; nothing where neither is known. */
void clew_print_writers(FILE *out, const struct clew_trace *trace, uint64_t request);
/* ", written by A, B" of those that did not submit it; nothing where there are none. */
void clew_print_other_writers(FILE *out, const struct clew_trace *trace, uint64_t request);

#endif
