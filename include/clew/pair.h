/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Dependencies from events that each side recorded by itself: "sent message 17"
 * here, "received message 17" there, in any order, and perhaps only one of
 * them. Events are collected by key, which is a dependency type and an id. The
 * trace is not touched until all are known; then they are paired and become
 * dependencies.
 *
 * Without reuse, an id means one dependency, from its origin to all its
 * destinations, at whatever times. With reuse (for an id that comes again, as a
 * lock's address), events are visited in order of time: a destination belongs
 * to the latest origin that is not after it. Events of one moment are in order
 * of their sequence numbers; where these are equal too, origins come before
 * destinations.
 *
 * A dependency of mode AND or OR takes several origins: without reuse all of
 * its id, with reuse all those between two destinations. In mode SINGLE it has one.
 */
#ifndef CLEW_PAIR_H
#define CLEW_PAIR_H

#include <clew/model.h>
#include <clew/model_make.h>
#include <clew/query.h>

struct clew_pairing;

struct clew_pair_options {
	bool reuse;
	bool keep_without_origin; /* also make dependencies of destinations without an origin */
	bool keep_without_destination; /* also make dependencies of origins without a destination */
	enum clew_mode mode;
	const char *key_attribute; /* the attribute that gets the id; NULL: none */
};

struct clew_pair_event {
	uint32_t span;
	unsigned place; /* CLEW_PLACE_* */
	clew_time at;
	clew_time wait_from; /* of a destination: the span is suspended from then on; equal to `at`:
				there is no wait */
	uint64_t sequence;   /* order among events of one moment */
};

/* Counts for one dependency type, since the pairing was made. */
struct clew_pair_metrics {
	uint64_t origins, destinations; /* events */
	uint64_t created;		/* dependencies */
	uint64_t paired;		/* dependencies with both sides */
	uint64_t unpaired_origins;	/* events without the other side, in no dependency */
	uint64_t unpaired_destinations;
	uint64_t dropped;  /* groups of such events */
	uint64_t backward; /* destinations before their triggering origin: effect before cause */
};

struct clew_pair_problem {
	uint32_t type;
	const char *id; /* NULL: none; valid while the pairing is */
	uint32_t event; /* its number in order of addition since the last close, CLEW_NONE none */
	char message[240];
};

int clew_pairing_new(struct clew_pairing **ret_pairing);
void clew_pairing_free(struct clew_pairing *pairing);

/*
 * Finds or makes the entry of a key; with `id` NULL always a new one. The id is
 * copied. `options` NULL: all zero. -EEXIST: the key was opened with other
 * options; -E2BIG: more than 2^32 - 2 entries; -ENOMEM.
 */
int clew_pairing_entry(struct clew_pairing *pairing, uint32_t type, const char *id,
		       const struct clew_pair_options *options, uint32_t *ret_entry);
/*
 * Add an event to an entry. -ENOENT: no such entry; -EINVAL: a wait that begins
 * after its end; -E2BIG: more than 2^32 - 2 events; -ENOMEM.
 */
int clew_pairing_origin(struct clew_pairing *pairing, uint32_t entry,
			const struct clew_pair_event *event);
int clew_pairing_destination(struct clew_pairing *pairing, uint32_t entry,
			     const struct clew_pair_event *event);

/*
 * Makes the dependencies, in order of the entries, those of one entry in order
 * of time, and forgets all entries and events. Types are numbers of the maker.
 *
 * -EINVAL: an event that cannot be where it is said to be, or an id with
 * several origins and neither reuse nor a mode for that: *ret_problem (may be
 * NULL) says which, and nothing is changed. Only a wait that contradicts
 * another event of the same close is found later; then what was made before
 * stays in the maker. -ENOENT: no such type; -E2BIG, -ENOMEM as for the maker.
 */
int clew_pairing_close(struct clew_pairing *pairing, struct clew_maker *maker,
		       struct clew_pair_problem *ret_problem);

/* The counts for a type. */
void clew_pairing_metrics(const struct clew_pairing *pairing, uint32_t type,
			  struct clew_pair_metrics *ret_metrics);

/* ---- a trace whose marks, or spans, are the events ---- */

/*
 * The labels that are events. Groups of an expression, (?<NAME>..): `key` is the
 * id, else the first group is; `type` is the dependency type, else the rule's;
 * `sequence` is a number, else 0.
 */
struct clew_pair_rule {
	const char
		*origins; /* regular expressions (docs/patterns.md), matched anywhere in a label */
	const char *destinations;
	const char *type;
	bool spans; /* names of spans are labels, too: an origin at the span's end, a destination at
		       its start */
	/* Only in these spans; NULL: in all. */
	const uint32_t *from, *to;
	size_t from_count, to_count;
	struct clew_pair_options options;
};

struct clew_pair_error {
	enum { CLEW_PAIR_ERROR_ORIGINS, CLEW_PAIR_ERROR_DESTINATIONS, CLEW_PAIR_ERROR_TRACE } where;
	size_t offset; /* a byte of the expression; SIZE_MAX: none */
	char message[400];
};

struct clew_paired {
	struct clew_model
		*model; /* the trace with the new dependencies; all but ESs keep their indexes */
	struct clew_pair_metrics *metrics; /* by type of the model */
};

/*
 * Pairs the events of a trace. Free the result with clew_paired_done(), which
 * also takes a zeroed structure. -EINVAL: an invalid expression, or events that
 * cannot be paired: *ret_error says which; -EBADMSG: an inconsistent trace, see
 * clew_model_check(); -E2BIG: more than 2^32 - 2 of something, or an expression
 * takes too much to decide; -ENOMEM.
 */
int clew_pair_labels(const struct clew_model *model, const struct clew_pair_rule *rule,
		     struct clew_paired *ret_paired, struct clew_pair_error *ret_error);
void clew_paired_done(struct clew_paired *paired);

#endif
