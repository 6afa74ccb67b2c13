/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logical spans, added up by runtime and name, and one by one. */
#ifndef CLEW_ANSWERS_SPANS_LOGICAL_H
#define CLEW_ANSWERS_SPANS_LOGICAL_H

#include <stdbool.h>
#include <stdio.h>

#include "explain/chosen.h"
#include "format/json.h"
#include "relate/job.h"

struct clew_logical {
	const struct clew_jobs *jobs;
	struct clew_chosen chosen; /* threads: of the submitter, or of any in which it ran */
	const char *name;	   /* glob, NULL all */
	uint64_t from, to;
	bool each;
};

/* True if a span is chosen. */
bool clew_logical_wants(const struct clew_logical *logical, const struct clew_job *job);
bool clew_logical_wants_wait(const struct clew_logical *logical, const struct clew_job_wait *wait);
/* 0 or -ENOMEM. *ret_count: spans that are chosen. */
int clew_print_logical(FILE *out, const struct clew_logical *logical, size_t *ret_count);
/* The field "logical" of the open object. */
int clew_json_logical(struct clew_json *json, const struct clew_logical *logical);

#endif
