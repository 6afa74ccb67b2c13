/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files of the export to Perfetto share this: one trace that is being written. The
 * numbers of fields are those of protos/perfetto/trace/ in Perfetto's repository.
 */
#ifndef CLEW_EXPORT_PERFETTO_H
#define CLEW_EXPORT_PERFETTO_H

#include "base/map.h"
#include "base/vector.h"
#include "export/export.h"
#include "export/proto.h"

/* Two packets that have one sequence share interned strings. */
enum perfetto_sequence {
	PERFETTO_PLAIN = 1,
	PERFETTO_FTRACE, /* what the kernel's own tracer would have written */
	PERFETTO_TRACKS, /* track events */
};

/* TracePacket */
#define PACKET_FTRACE	     1
#define PACKET_PROCESS_TREE  2
#define PACKET_CLOCKS	     6
#define PACKET_TIMESTAMP     8
#define PACKET_SEQUENCE	     10
#define PACKET_TRACK_EVENT   11
#define PACKET_INTERNED	     12
#define PACKET_FLAGS	     13
#define PACKET_SYSTEM	     45
#define PACKET_DEFAULTS	     59
#define PACKET_TRACK	     60
#define SEQUENCE_BEGINS	     1
#define SEQUENCE_HAS_STRINGS 2

/* InternedData */
#define INTERNED_CATEGORY 1
#define INTERNED_EVENT	  2
#define INTERNED_KEY	  3 /* name of an annotation */
#define INTERNED_KERNEL	  26
#define INTERNED_VALUE	  29 /* string of an annotation */

#define PERFETTO_CLOCK_BOOT	   6
#define PERFETTO_CLOCK_MONOTONIC   3
#define PERFETTO_CLOCK_WALL	   1
#define PERFETTO_CLOCK_INCREMENTAL 64 /* the track events' own: times since the one before */

/* Numbers of strings of one sequence. */
struct perfetto_strings {
	struct map numbers; /* (hash, size and field) -> number */
	uint64_t count;
};

/* The tracks that stand for no thread; those of threads and disks follow. */
enum perfetto_track { TRACK_WHY = 1, TRACK_DISKS, TRACK_LOST, TRACK_FIRST_FREE };

struct perfetto {
	const struct clew_export *export;
	const struct clew_trace *trace;
	struct proto packet;  /* the one that is being written */
	struct proto strings; /* interned by it */
	struct perfetto_strings ftrace_strings, track_strings;
	struct vector shifts; /* struct perfetto_shift, in order of time */
	struct map threads;   /* serial -> track */
	uint64_t next_track;
	uint64_t last_time; /* of the track events, by Perfetto's clock */
	uint64_t from;	    /* first moment that anything is written of */
	int error;
};

/* From `since` on, the boot clock is `ahead` ns ahead of the monotonic one. */
struct perfetto_shift {
	uint64_t since;
	uint64_t ahead;
};

/* A moment of the trace by the boot clock, which Perfetto's traces use. */
uint64_t perfetto_time(const struct perfetto *it, uint64_t at);

/* Writes `packet` and clears it; `strings` becomes its interned data. */
void perfetto_send(struct perfetto *it, enum perfetto_sequence sequence);

/* The number of a string; one that is new goes to `strings`. */
uint64_t perfetto_string(struct perfetto *it, struct perfetto_strings *strings, unsigned field,
			 const char *text);

/* ---- perfetto_sched.c: processes, who ran where, who woke whom, what they were blocked by ---- */

int perfetto_processes(struct perfetto *it);
int perfetto_sched(struct perfetto *it);

/* ---- perfetto_tracks.c: tracks and what happens on them ---- */

/* Begins the sequence of track events. */
void perfetto_tracks_begin(struct perfetto *it);
/* The track of a task, described when first asked for; 0: it has none. */
uint64_t perfetto_thread_track(struct perfetto *it, uint32_t serial);
struct perfetto_track_options {
	uint64_t parent; /* 0 none */
	const char *name;
	unsigned rank; /* among its siblings */
	bool ordered;  /* its own children have ranks */
	bool alone;    /* siblings of the same name are not merged with it */
};
void perfetto_track(struct perfetto *it, uint64_t track,
		    const struct perfetto_track_options *options);

enum perfetto_event { EVENT_BEGIN = 1, EVENT_END, EVENT_INSTANT };
/* Opens an event in `packet`; events come in order of time. `category` and `name` are NULL for
 * an end. */
size_t perfetto_event_open(struct perfetto *it, enum perfetto_event event, uint64_t track,
			   uint64_t at, const char *category, const char *name);
void perfetto_note(struct perfetto *it, const char *key, const char *value);
void perfetto_note_number(struct perfetto *it, const char *key, uint64_t value);
/* Flows begin at one event and end at the begin of another. */
void perfetto_flow(struct perfetto *it, uint64_t flow);
void perfetto_flow_end(struct perfetto *it, uint64_t flow);
void perfetto_event_close(struct perfetto *it, size_t opened);
/* An end without anything else. */
void perfetto_event_end(struct perfetto *it, uint64_t track, uint64_t at);

/* ---- perfetto_events.c: all events, in order of time ---- */

int perfetto_events(struct perfetto *it);

#endif
