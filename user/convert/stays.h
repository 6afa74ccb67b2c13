/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls that the threads of a causal trace ran in, for answers that are made from a model
 * alone. */
#ifndef CLEW_CONVERT_STAYS_H
#define CLEW_CONVERT_STAYS_H

#include <clew/model.h>

#include "convert/rows.h"
#include "trace/trace.h"

/*
 * A trace that has the stays, ticks and tallies of the model's threads and nothing else. The serial
 * of a thread there is clew_stays_serial() of its root span. Rows that are malformed are left out.
 * The caller frees it with clew_trace_free(). 0 or -ENOMEM.
 */
int clew_stays_of_model(const struct clew_model *model, struct clew_trace **ret_trace);

static inline uint32_t clew_stays_serial(uint32_t root)
{
	return root + 1;
}

/* A row of ATTRIBUTE_STAYS or ATTRIBUTE_TALLIES. False: no capture has such a one. */
bool row_stay(const struct row *row, uint32_t task, struct clew_stay *ret_stay);
bool row_tally(const struct row *row, uint32_t task, struct clew_tally *ret_tally);

#endif
