/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a capture's trace to a causal trace: what the files of user/convert
 * share.
 */
#ifndef CLEW_CONVERT_TO_MODEL_H
#define CLEW_CONVERT_TO_MODEL_H

#include "base/map.h"
#include "base/vector.h"
#include "convert/convert.h"
#include "convert/pairs.h"
#include "explain/depend.h"
#include "relate/relate.h"
#include "trace/internal.h"

enum event_rank { EVENT_RANK_IN, EVENT_RANK_OUT, EVENT_RANK_LATE_IN };

/* An end of a dependency, in its span. */
struct endpoint {
	uint64_t at;
	uint32_t slot; /* where the number of its ES goes: index of origins, or of destinations */
	uint32_t dependency;
	uint8_t rank;	 /* enum event_rank: the order of endpoints at one moment */
	bool ends_sleep; /* a destination that a sleep of the span ends with */
	bool stays;	 /* a destination at the very start of something */
};

/*
 * The label of a mark while strings have no numbers yet: the span whose name it
 * is, or with this bit the attribute list whose only value it is.
 */
#define LABEL_OF_LIST 0x80000000u

/* The origin that triggers a dependency: its moment, and its task, CLEW_NO_TASK
 * if a request. */
struct trigger {
	uint64_t at;
	uint32_t task;
};

#define SHAPE_SIZE 64
/* The result that was made for equal bytes. */
struct shape {
	char bytes[SHAPE_SIZE];
	uint32_t made;
};
struct shape_cache {
	struct vector shapes;
	struct map index; /* hash -> number in `shapes` */
};

/* An ES that is being made. */
struct open_es {
	struct clew_es es;
	uint32_t slot;	  /* of its destination */
	bool fresh;	  /* an origin's split began it, and nothing happened since */
	bool after_sleep; /* only the end of that sleep may be its destination */
};

/* Edges in groups, each of which becomes a dependency. */
struct edge_groups {
	const struct clew_edge *edges;
	uint32_t *order, *begin; /* group -> its first one in `order` -> number of the edge */
	size_t count, group_count;
};

/* A frame, or a run of a logical span, that becomes a span. */
struct frame_plan {
	uint64_t start, end;
	uint64_t last_end; /* of the last one within it */
	uint32_t frame;	   /* index among the trace's, CLEW_NONE: it is a run */
	uint32_t job;	   /* of a run */
	uint32_t parent;   /* the plan that it is within, CLEW_NONE: the thread's span */
};

/* Frames of one function that become no spans. `owner`: the plan above them, or 2^32 + the
 * thread's span. */
struct left_out {
	uint64_t owner, count, ns;
	uint32_t function;
};

struct conversion {
	const struct clew_trace *trace;
	const struct clew_sleep *sleeps;
	size_t sleep_count;
	struct clew_maker *maker;
	struct pairs pairs; /* of the attribute list that is being made */
	struct arena arena;

	/* Root spans: tasks in order of serial, strangers, then CPUs and
	 * devices; children come after them. Actors are tasks and strangers. */
	struct vector names;  /* const char *, by span: of actors */
	struct map strangers; /* serial -> span */
	uint32_t task_count, actor_count, cpu_count, first_device, root_count, span_count;
	uint32_t processes, cpus, devices; /* hierarchies */
	uint64_t end;			   /* latest moment of anything */

	struct vector es, marks, waits, ranges; /* struct clew_range, by span */
	struct vector dependencies, origins, destinations;
	struct vector has_marks; /* uint8_t, by dependency: it ends a sleep without length */
	struct vector triggers;	 /* struct trigger, by dependency */
	const struct clew_trace_request *requests;
	size_t request_count, submission_count; /* those whose submitter is known */
	struct clew_relations *relations;	/* NULL: nothing was announced */
	struct clew_call_dependency *calls;
	size_t call_count;
	struct endpoint *endpoints;	/* by span, in order of time */
	uint32_t *endpoint_begin;	/* by span, one more at the end */
	uint32_t *sleep_dependency;	/* by sleep, CLEW_NONE none */
	uint32_t *dependency_edge;	/* the first edge of each dependency */
	struct vector device_extents;	/* by device span */
	struct sort_key *touches;	/* by task; NULL until they are needed */
	struct sort_key *announcements; /* likewise */
	struct sort_key *moments;	/* likewise */
	struct sort_key *end_sleepers, *end_holders;
	struct vector frame_plans; /* struct frame_plan, by task, then start */
	uint32_t *plan_begin;	   /* by task, one more at the end */
	struct vector left_out;	   /* struct left_out, by owner and function */
	struct map wait_index;	   /* (attributes, kind) -> wait */
	uint32_t types[32];	   /* of edges, own ones included */

	struct shape_cache wait_shapes, edge_shapes;
	uint32_t last_call_id; /* of the thread's last sleep */
	struct open_es open;
	uint32_t span;		/* whose ESs are being made */
	uint32_t next_endpoint; /* of that span */
	uint32_t unknown_wait;	/* of gaps of which nothing is known */
};

/* names.c */
/* The root span of a task, or of a stranger; CLEW_NONE: it has none. */
uint32_t capture_span_of(struct conversion *conversion, uint32_t serial);
const char *capture_name_of(struct conversion *conversion, uint32_t serial);
/* "-" for CLEW_NO_TASK. */
const char *capture_name_or_dash(struct conversion *conversion, uint32_t serial);

/* shapes.c */
/* The shape of these bytes, found or added with `made` CLEW_NONE; NULL: no
 * memory, or another shape has the same hash. */
struct shape *capture_shape(struct shape_cache *cache, const char bytes[static SHAPE_SIZE]);

/* by_task.c */
/* Makes *keys, unless it is made: the indices of `count` things in order of
 * their task. */
int capture_order_by_task(struct sort_key **keys, size_t count,
			  uint32_t (*task_of)(const void *things, size_t index),
			  const void *things);
/* The first of a task's things in `keys`, or where it would be. */
size_t capture_first_of_task(const struct sort_key *keys, size_t count, uint32_t serial);

/* tasks.c */
int capture_make_spans(struct conversion *conversion);

/* cpus.c */
int capture_make_cpu_spans(struct conversion *conversion);
int capture_emit_cpus(struct conversion *conversion);

/* The following four add attributes to `pairs`. */
/* capture.c */
void capture_describe(struct conversion *conversion);
/* identities.c */
void capture_describe_identities(struct conversion *conversion);
/* pages.c */
void capture_describe_pages(struct conversion *conversion,
			    const struct clew_trace_request *request);
int capture_describe_touches(struct conversion *conversion, uint32_t serial);

/* announce.c: these two as well */
int capture_describe_announcements(struct conversion *conversion, uint32_t serial);
/* moments.c */
int capture_describe_moments(struct conversion *conversion, uint32_t serial);
/* frames.c: the frames of a thread, and all functions */
void capture_describe_frames(struct conversion *conversion, uint32_t serial);
void capture_describe_functions(struct conversion *conversion);
/* frames_plan.c: chooses the frames that become spans, `most` at most */
int capture_plan_frames(struct conversion *conversion, size_t most);
/* Adds the sums of those that become none, of this `owner`, to `pairs`. */
void capture_describe_left_out(struct conversion *conversion, uint64_t owner);
/* frames_nest.c: once all ESs and dependencies are made */
int capture_nest_frames(struct conversion *conversion);
/* ends.c */
int capture_describe_ends(struct conversion *conversion, uint32_t serial);
void capture_describe_environment(struct conversion *conversion, uint32_t serial);
/* True if a text is an environment variable, which the span of its process
 * has. */
bool capture_is_environment(uint64_t hash);

/* requests.c */
int capture_make_device_spans(struct conversion *conversion);
int capture_emit_devices(struct conversion *conversion);

/* origins.c */
/* The span of the request that a link is, and when it was completed; CLEW_NONE:
 * it is no request, or not one with an end. */
uint32_t capture_request_span(const struct conversion *conversion, const struct clew_link *link,
			      uint64_t *ret_at);
/* Origin number i of an edge: its span and moment, and its task, CLEW_NO_TASK
 * if a request. False: there is no such one. The span of a request that cannot
 * be shown is CLEW_NONE. */
bool capture_origin(struct conversion *conversion, const struct clew_edge *edge, unsigned i,
		    uint32_t *ret_span, uint64_t *ret_at, uint32_t *ret_task);
/* The first of the latest origins: of several that must all happen, it
 * triggers. */
unsigned capture_latest_origin(struct conversion *conversion, const struct clew_edge *edge);
/* The link that the end of request links[number] was in most wakes, by what is
 * known of the requests alone; `links` ended the sleep together. */
struct clew_link capture_request_link(const struct clew_trace_request *requests,
				      const struct clew_link *links, unsigned count,
				      unsigned number);
/* True if the first origin of an edge's dependency is a request. */
bool capture_by_request(const struct conversion *conversion, uint32_t dependency);
/* True if its origins are the requests of the sleep's links, in their order,
 * and imply all that the links have. */
bool capture_implies_links(struct conversion *conversion, uint32_t dependency,
			   const struct clew_sleep *sleep);
bool capture_has_submitter(const struct clew_trace_request *request);

/* endpoints.c */
/* True if a sleep is a gap in its task's time; else it is a mark. */
bool capture_ends_a_gap(const struct conversion *conversion, uint32_t sleep);
/* The endpoints of all dependencies to their spans, in order, and the
 * triggers. */
int capture_make_endpoints(struct conversion *conversion, const struct edge_groups *groups);

/* edges.c */
int capture_make_edges(struct conversion *conversion);
/* The attributes, once every endpoint has its ES. */
int capture_finish_edges(struct conversion *conversion);

/* calls.c */
int capture_find_calls(struct conversion *conversion);
void capture_calls_done(struct conversion *conversion);
int capture_describe_call(struct conversion *conversion, const struct clew_call_dependency *call,
			  uint32_t *ret_attributes);

/* emit.c */
int capture_wait_row(struct conversion *conversion, unsigned kind, uint32_t attributes,
		     uint32_t *ret_wait);
void capture_span_begin(struct conversion *conversion, uint32_t span, uint64_t start);
int capture_gap(struct conversion *conversion, uint64_t start, uint64_t end, uint32_t wait);
/* Ends an ES and begins the next, unless one begins there. */
int capture_cut(struct conversion *conversion, uint64_t at);
int capture_mark(struct conversion *conversion, uint64_t at, uint32_t label);
int capture_span_end(struct conversion *conversion, uint64_t end);

/* times.c */
int capture_emit_threads(struct conversion *conversion);

/* sleeps.c */
/* The wait of a gap from `start` to `end` that shows a sleep. */
int capture_sleep_wait(struct conversion *conversion, const struct clew_sleep *sleep,
		       uint64_t start, uint64_t end, uint32_t *ret_wait);
/* An attribute list whose only value is all of a sleep that has no length. */
int capture_sleep_label(struct conversion *conversion, const struct clew_sleep *sleep, uint64_t at,
			uint32_t *ret_attributes);

/* links.c: into `pairs` */
void capture_describe_holders(struct conversion *conversion, const struct clew_sleep *sleep);
void capture_describe_links(struct conversion *conversion, const struct clew_sleep *sleep);

/* objects.c */
/* The path of a file, or the name of a kernel lock, that it had then, in the
 * trace's memory; NULL: it is neither, or was not known. */
const char *capture_path_of(const struct conversion *conversion, const struct clew_object *object,
			    uint64_t at);
/* An object, into `pairs`: for people (a file or a lock by its
 * `path`, unless that is NULL), and if `whole` for reading back as well. */
void capture_object_pairs(struct conversion *conversion, const struct clew_object *object,
			  const char *path, bool whole);

/* intervals.c */
/* A part of a task's time; one follows the other without a hole. */
enum interval_kind { INTERVAL_RUN, INTERVAL_SLEEP, INTERVAL_READY, INTERVAL_UNKNOWN };
struct interval {
	uint64_t start, end;
	uint32_t index; /* in the trace's array of its kind */
	uint8_t kind;
};
struct intervals {
	const struct clew_trace *trace;
	const struct trace_task *task;
	uint64_t cursor;
	uint32_t next;
	bool pending; /* `then` is next */
	struct interval then;
};
struct intervals capture_intervals(const struct clew_trace *trace, const struct trace_task *task);
bool capture_interval_next(struct intervals *intervals, struct interval *ret_interval);

#endif
