/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words about waits that the timeline shows. Waits for one object in one call share one
 * text; there are at most TEXTS_MOST, and the words of further ones tell the kind alone.
 */
#ifndef CLEW_PAGE_TEXTS_H
#define CLEW_PAGE_TEXTS_H

#include "base/map.h"
#include "base/vector.h"
#include "trace/trace.h"

#define TEXTS_MOST 65535

struct texts {
	struct vector texts; /* char *; number 0 is "" */
	struct map of_wait;  /* by a hash of what the words depend on */
	struct map of_kind;
};

int texts_begin(struct texts *texts);
void texts_done(struct texts *texts);

/* The number of the words about a wait. 0 or -ENOMEM. */
int texts_of_wait(struct texts *texts, const struct clew_trace *trace,
		  const struct clew_sleep *sleep, uint16_t *ret_number);
const char *texts_at(const struct texts *texts, size_t number);

#endif
