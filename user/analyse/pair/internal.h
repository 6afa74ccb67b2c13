/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A collection of events: entries by key, and all events in one array in order of
 * addition, each with its entry's number.
 */
#ifndef CLEW_ANALYSE_PAIR_INTERNAL_H
#define CLEW_ANALYSE_PAIR_INTERNAL_H

#include "base/vector.h"
#include "model/strings.h"
#include <clew/pair.h>
#include <errno.h>

struct pair_entry {
	uint32_t type;
	uint32_t id;	  /* string, CLEW_NONE none */
	uint32_t options; /* of the pairing's */
	uint32_t next;	  /* of the same id and another type; CLEW_NONE */
};

struct pair_options {
	bool reuse, keep_without_origin, keep_without_destination;
	enum clew_mode mode;
	uint32_t key_attribute; /* string, CLEW_NONE none */
};

struct pair_event {
	clew_time at, wait_from;
	uint64_t sequence;
	uint32_t entry, span;
	unsigned place;
	bool is_destination;
};

struct clew_pairing {
	struct strings strings;
	struct vector first;   /* uint32_t: of each string, its first entry; CLEW_NONE */
	struct vector entries; /* pair_entry */
	struct vector options; /* pair_options: few */
	struct vector events;  /* pair_event */
	struct vector metrics; /* clew_pair_metrics, by type */
	bool sequenced;	       /* a sequence number is not 0 */
	bool waits;	       /* a destination is waited for */
};

static inline const struct pair_entry *pair_entry(const struct clew_pairing *pairing,
						  uint32_t entry)
{
	return (const struct pair_entry *)pairing->entries.data + entry;
}

static inline const struct pair_event *pair_event(const struct clew_pairing *pairing,
						  uint32_t event)
{
	return (const struct pair_event *)pairing->events.data + event;
}

static inline const struct pair_options *pair_options(const struct clew_pairing *pairing,
						      uint32_t entry)
{
	return (const struct pair_options *)pairing->options.data +
	       pair_entry(pairing, entry)->options;
}

/* Forgets entries and events; metrics stay. */
void pair_forget(struct clew_pairing *pairing);

#endif
