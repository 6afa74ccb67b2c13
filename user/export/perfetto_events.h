/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The track events of an export to Perfetto before they are written: a key each, sorted by
 * time. At equal times ends come first, and an outer slice begins before what lies in it.
 */
#ifndef CLEW_EXPORT_PERFETTO_EVENTS_H
#define CLEW_EXPORT_PERFETTO_EVENTS_H

#include "base/sort.h"
#include "export/perfetto.h"

/* Kinds of events, in the order that they have at equal times. */
enum event_kind {
	END_READY,
	END_WAIT,
	END_PART,
	END_REQUEST,
	END_SLICE,
	END_SEGMENT,
	BEGIN_SLICE,
	CAUSE,
	SUBMIT,
	BEGIN_WAIT,
	BEGIN_READY,
	BEGIN_REQUEST,
	BEGIN_PART,
	BEGIN_SEGMENT,
	EFFECT,
	LOSS,
	EVENT_KIND_COUNT
};

/* Groups of dependencies that one act of one task caused. */
struct event_groups {
	const struct clew_edge *edges;
	size_t edge_count;
	uint32_t *order, *begin;
	size_t count;
};

/* One origin of a group: its own, or a further one. */
struct event_cause {
	uint32_t group;
	uint32_t further;
};

/* A segment of an operation that is explained. */
struct event_segment {
	const struct clew_segment *segment;
	uint32_t operation;
};

struct events {
	struct perfetto *it;
	struct vector keys[EVENT_KIND_COUNT]; /* struct sort_key */
	const struct clew_sleep *sleeps;
	struct event_groups groups;
	struct vector causes; /* struct event_cause */
	const struct clew_trace_request *requests;
	uint64_t *request_tracks; /* by index */
	struct vector slices;	  /* struct export_slice */
	struct vector arrows;	  /* struct export_arrow */
	struct map beside;	  /* index of a slice -> the track of its own */
	struct clew_why *whys;
	struct vector segments; /* struct event_segment */
	uint64_t why_track;	/* of the first operation; the others follow */
};

/* Adds an event. 0 or -ENOMEM. */
int event_add(struct events *events, enum event_kind kind, uint64_t at, size_t index);

/* ---- perfetto_edges.c: what made whom go on ---- */

int edges_add(struct events *events);
void edges_put_cause(struct events *events, size_t cause);
void edges_put_effect(struct events *events, size_t edge);
/* In an open event: ends the flows of the dependencies that ended a sleep. */
void edges_end_flows(struct events *events, const struct clew_sleep *sleep);

/* ---- perfetto_requests.c: requests, by disk ---- */

int requests_add(struct events *events);
void requests_put(struct events *events, enum event_kind kind, size_t index, uint64_t at);

/* ---- perfetto_slices.c: announced calls and functions ---- */

int slices_add(struct events *events);
void slices_put(struct events *events, enum event_kind kind, size_t index, uint64_t at);
void slices_done(struct events *events);

/* ---- perfetto_why.c: the explained operations ---- */

int why_add(struct events *events);
void why_put(struct events *events, enum event_kind kind, size_t index, uint64_t at);
void why_done(struct events *events);

#endif
