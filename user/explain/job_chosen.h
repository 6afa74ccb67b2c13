/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Logical spans of chosen threads. */
#ifndef CLEW_EXPLAIN_JOB_CHOSEN_H
#define CLEW_EXPLAIN_JOB_CHOSEN_H

#include "explain/chosen.h"
#include "relate/job.h"

/* True if a span overlaps from..to, and a chosen thread submitted it or ran it. */
bool clew_job_is_chosen(const struct clew_chosen *chosen, const struct clew_jobs *jobs,
			const struct clew_job *job, uint64_t from, uint64_t to);

#endif
