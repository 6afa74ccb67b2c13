/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The writers of a request's pages. An answer that names one file of the
 * request, the one whose page comes first, names the writers of that file only.
 */
#ifndef CLEW_WORDS_WRITERS_H
#define CLEW_WORDS_WRITERS_H

#include "trace/trace.h"
#include <stdio.h>

#include "format/json.h"

/*
 * The tasks that wrote what a request carries of its file: the first `most` in
 * order of serial go to `tasks`. Returns how many there are, `most` + 1 if
 * there are more.
 */
size_t clew_request_writers(const struct clew_trace *trace, uint64_t request, uint32_t *tasks,
			    size_t most);

/* The fields "reason" and "writers" of the open object. */
void clew_json_request_writers(struct clew_json *json, const struct clew_trace *trace,
			       uint64_t request);
/*
 * Prints " by A, B": the writers, else the submitter; nothing if neither is
 * known.
 */
void clew_print_writers(FILE *out, const struct clew_trace *trace, uint64_t request);
/*
 * Prints ", written by A, B": the writers other than the submitter; nothing if
 * there are none.
 */
void clew_print_other_writers(FILE *out, const struct clew_trace *trace, uint64_t request);

#endif
