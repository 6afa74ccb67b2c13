/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A capture's trace as a causal trace and back: shared by the files of user/convert
 * alone. docs/causal-trace.md lists what the attributes mean.
 */
#ifndef CLEW_CONVERT_INTERNAL_H
#define CLEW_CONVERT_INTERNAL_H

#include "base/map.h"
#include "base/vector.h"
#include "convert/convert.h"
#include "convert/pairs.h"
#include "relate/relate.h"
#include "trace/internal.h"

/* ---- from a trace to a model ---- */

enum event_rank { EVENT_RANK_IN, EVENT_RANK_OUT, EVENT_RANK_LATE_IN };

/* An end of a dependency, in its span. */
struct endpoint {
	uint64_t at;
	uint32_t slot; /* where its ES is written: index of origins, or of destinations */
	uint32_t dependency;
	uint8_t rank;	 /* enum event_rank: what comes first at one moment */
	bool ends_sleep; /* a destination that a sleep of the span ends with */
	bool stays;	 /* a destination at the very start of something */
};

/* A mark before the strings are there: its label is a span's name, or the value of an attribute
 * list. */
#define LABEL_OF_LIST 0x80000000u

/* The origin that a dependency is triggered by: where it went in the end, and the task,
 * CLEW_NO_TASK if a request. */
struct trigger {
	uint64_t at;
	uint32_t task;
};

/* What was made of things that look alike. */
#define SHAPE_SIZE 64
struct shape {
	char bytes[SHAPE_SIZE];
	uint32_t made;
};
struct shape_cache {
	struct vector shapes;
	struct map index; /* hash -> number in `shapes` */
};

/* The shape of these bytes, found or added with `made` CLEW_NONE; NULL: no memory, or too many of
 * one hash. */
struct shape *capture_shape(struct shape_cache *cache, const char bytes[static SHAPE_SIZE]);

/* An ES that is being made. */
struct open_es {
	struct clew_es es;
	uint32_t slot;	  /* of its destination */
	bool fresh;	  /* begun by an origin's split, nothing happened since */
	bool after_sleep; /* only the end of that sleep may be its destination */
};

struct conversion {
	const struct clew_trace *trace;
	const struct clew_sleep *sleeps;
	size_t sleep_count;
	struct clew_maker *maker;
	struct pairs pairs;
	struct arena arena;

	/* Root spans: tasks in order of serial, strangers, then CPUs and devices; children behind
	 * them. */
	struct vector names;  /* const char *, by span: of tasks and strangers */
	struct map strangers; /* serial -> span */
	uint32_t task_count, actor_count, cpu_count, first_device, root_count, span_count;
	uint32_t processes, cpus, devices; /* hierarchies */
	uint64_t end;			   /* latest moment of anything */

	struct vector es, marks, waits, ranges; /* struct clew_range, by span */
	struct vector dependencies, origins, destinations;
	struct vector told_by_mark; /* uint8_t, by dependency: a sleep that it ends has no length */
	struct vector triggers;	    /* struct trigger, by dependency */
	const struct clew_trace_request *requests;
	size_t request_count, submission_count; /* those whose submitter is known */
	struct clew_relations *relations;	/* NULL: nothing was announced */
	struct clew_call_dependency *calls;
	size_t call_count;
	struct endpoint *endpoints;	/* by span, in order of time */
	uint32_t *endpoint_begin;	/* by span, and an end */
	uint32_t *sleep_dependency;	/* by sleep, CLEW_NONE none */
	uint32_t *dependency_edge;	/* the first edge of each dependency */
	struct vector device_extents;	/* by device span */
	struct sort_key *touches;	/* by task, once ordered */
	struct sort_key *announcements; /* likewise */
	struct map wait_index;		/* (attributes, kind) -> wait */
	uint32_t types[32];		/* of edges, own ones included */

	struct shape_cache wait_shapes, edge_shapes;
	uint32_t last_call_id; /* of the thread's last sleep */
	struct open_es open;
	uint32_t span;		/* whose ESs are being made */
	uint32_t next_endpoint; /* of that span */
	uint32_t unknown_wait;
};

/* The root span of a task; of one without identity and time, that of a stranger; CLEW_NONE: no
 * memory. */
uint32_t capture_span_of(struct conversion *conversion, uint32_t serial);
const char *capture_name_of(struct conversion *conversion, uint32_t serial);
/* "-" for CLEW_NO_TASK. */
const char *capture_name_or_dash(struct conversion *conversion, uint32_t serial);

/* capture_spans.c */
int capture_make_spans(struct conversion *conversion);
/* capture_machine.c: attributes of the capture as a whole, into `pairs` */
void capture_describe(struct conversion *conversion);
int capture_make_cpu_spans(struct conversion *conversion);
int capture_emit_cpus(struct conversion *conversion);
/* capture_requests.c */
int capture_make_device_spans(struct conversion *conversion);
int capture_emit_devices(struct conversion *conversion);
/* What most steps of wakes that were a request's end are, by the requests alone: those of `links`,
 * by number, ended it together. */
struct clew_link capture_request_link(const struct clew_trace_request *requests,
				      const struct clew_link *links, unsigned count,
				      unsigned number);
/* capture_pages.c: into `pairs` */
void capture_describe_pages(struct conversion *conversion,
			    const struct clew_trace_request *request);
int capture_describe_touches(struct conversion *conversion, uint32_t serial);
/* capture_announce.c: into `pairs` */
int capture_describe_announcements(struct conversion *conversion, uint32_t serial);
void capture_describe_environment(struct conversion *conversion, uint32_t serial);
/* Whether a text is told by a process's span. */
bool capture_is_environment(uint64_t hash);
/* capture_calls.c */
int capture_find_calls(struct conversion *conversion);
void capture_calls_done(struct conversion *conversion);
int capture_describe_call(struct conversion *conversion, const struct clew_call_dependency *call,
			  uint32_t *ret_attributes);
/* capture_edges.c */
int capture_make_edges(struct conversion *conversion);
int capture_finish_edges(struct conversion *conversion);
/* Whether the first origin of a dependency of sleeps is a request. */
bool capture_by_request(const struct conversion *conversion, uint32_t dependency);
/* Whether its origins are those requests that the sleep's links are, in their order, and they say
 * all that the links do. */
bool capture_says_links(struct conversion *conversion, uint32_t dependency,
			const struct clew_sleep *sleep);
/* capture_emit.c */
int capture_emit_threads(struct conversion *conversion);
void capture_span_begin(struct conversion *conversion, uint32_t span, uint64_t start);
int capture_gap(struct conversion *conversion, uint64_t start, uint64_t end, uint32_t wait);
/* Ends an ES and begins the next, unless one begins there. */
int capture_cut(struct conversion *conversion, uint64_t at);
int capture_mark(struct conversion *conversion, uint64_t at, uint32_t label);
int capture_span_end(struct conversion *conversion, uint64_t end);
/* capture_waits.c */
int capture_wait_row(struct conversion *conversion, unsigned kind, uint32_t attributes,
		     uint32_t *ret_wait);
/* The wait of a gap from `start` to `end` that shows a sleep. */
int capture_sleep_wait(struct conversion *conversion, const struct clew_sleep *sleep,
		       uint64_t start, uint64_t end, uint32_t *ret_wait);
/* An attribute list with one value that says all of a sleep that has no length. */
int capture_sleep_label(struct conversion *conversion, const struct clew_sleep *sleep, uint64_t at,
			uint32_t *ret_attributes);
/* The path that a file had then, in the trace's memory; NULL: it is none, or was not known. */
const char *capture_path_of(const struct conversion *conversion, const struct clew_object *object,
			    uint64_t at);
/* What an object is, for people (a file's `path`, or NULL), then for reading back (`whole`). */
void capture_object_pairs(struct conversion *conversion, const struct clew_object *object,
			  const char *path, bool whole);

/* A stretch of a task's time; they follow on each other without a hole. */
enum stretch_kind { STRETCH_RUN, STRETCH_SLEEP, STRETCH_READY, STRETCH_UNKNOWN };
struct stretch {
	uint64_t start, end;
	uint32_t index; /* in the array of its kind */
	uint8_t kind;
};
struct stretches {
	const struct clew_trace *trace;
	const struct trace_task *task;
	uint64_t cursor;
	uint32_t next;
	bool pending; /* `then` is next */
	struct stretch then;
};
struct stretches capture_stretches(const struct clew_trace *trace, const struct trace_task *task);
bool capture_stretch(struct stretches *stretches, struct stretch *ret_stretch);

#endif
