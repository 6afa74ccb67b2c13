/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A what-if program as it was written, and one application of it to a trace: what it
 * selects (bind), who waited in which queue (sections), the trace divided where added
 * dependencies land (split), its times (simulate, with cpus and queues, or plain), and the model of
 * that (result, relink, waits).
 */
#ifndef CLEW_ANALYSE_WHATIF_INTERNAL_H
#define CLEW_ANALYSE_WHATIF_INTERNAL_H

#include "base/vector.h"
#include <clew/what_if.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum statement_kind {
	STATEMENT_SCALE_SPANS,
	STATEMENT_CHANGE_SPANS,
	STATEMENT_CAP_ABOVE,
	STATEMENT_CAP_BELOW,
	STATEMENT_START,
	STATEMENT_WAITS, /* drop is scale by 0 */
	STATEMENT_CONCURRENCY,
	STATEMENT_RENAME_SPANS,
	STATEMENT_RENAME_CATEGORIES,
	STATEMENT_SCALE_DEPENDENCIES,
	STATEMENT_SHRINK,
	STATEMENT_REMOVE,
	STATEMENT_ADD,
	STATEMENT_CPUS,
	STATEMENT_SIMULATE,
};

/* The parts that are not kept as recorded. */
enum { RESOURCE_CPUS = 1, RESOURCE_LOCKS = 2, RESOURCE_DEVICES = 4 };

#define WHATIF_SLICE 1000000 /* ns */

/* Exact; the denominator is positive. */
struct factor {
	int64_t numerator;
	int64_t denominator;
};

struct statement {
	enum statement_kind kind;
	size_t offset, size;	  /* of its text, without the semicolon */
	struct clew_query *spans; /* or where dependencies come from */
	size_t spans_at;
	struct clew_query *to; /* where dependencies go */
	size_t to_at;
	size_t types_at, types_size; /* a list of names in the text; size 0: all */
	uint64_t kinds;		     /* of waits, bit 63: untyped ones */
	struct factor factor, factor_to;
	bool sweeps;
	clew_time duration; /* or the slice of CPUs, 0: not said */
	uint64_t limit;	    /* of concurrency, or how many CPUs */
	uint32_t resources; /* RESOURCE_* to simulate */
	char *name;
};

struct clew_program {
	char *text;
	size_t size;
	struct statement *statements;
	uint32_t count;
};

#define WHATIF_UNTYPED (UINT64_C(1) << 63)

/* The rule by which the ESs of a span change their length. */
enum rule_kind {
	RULE_FACTOR, /* length * factor + length * delta / old */
	RULE_FIXED,  /* length * total / old */
	RULE_EQUAL,  /* total / how many there are */
};

struct span_rule {
	enum rule_kind kind;
	struct factor factor;
	clew_time delta;
	clew_time total;
	clew_time old;
};

/* A statement about edges, waits or slots, bound to a trace. */
struct bound {
	uint32_t statement;
	uint8_t *spans; /* of each span, whether it is selected */
	uint8_t *to;
	uint8_t *types; /* NULL: all */
};

struct gate {
	uint8_t *spans;
	uint64_t limit, active;
	uint32_t *parked; /* ESs, first in first out */
	size_t parked_first, parked_count, parked_capacity;
};

/* An end of an added dependency, or only a cut. */
struct added_end {
	uint32_t span;
	uint32_t dependency; /* number among the added ones; CLEW_NONE: a cut */
	clew_time at;
	bool destination;
};

struct added {
	uint32_t type; /* CLEW_NONE: a new one, the statement's name */
	uint32_t statement;
	clew_time delay;
};

/* The fate of one destination of a dependency. */
enum fate { FATE_KEPT, FATE_REMOVED, FATE_BACKWARD, FATE_CHANGED };

/* Events of one moment come in this order. */
enum event_kind {
	EVENT_END,
	EVENT_START,
	EVENT_GRANT,   /* of what a queue is for; `es` is the queue's number */
	EVENT_YIELD,   /* an ES that was preempted starts */
	EVENT_RELEASE, /* of a CPU, if nothing of its thread went on */
	EVENT_SLICE,   /* somebody has waited long enough for a CPU */
};

struct event {
	clew_time at;
	uint32_t es;
	uint32_t kind;
};

/* An ES was off its CPU. */
struct cut {
	uint32_t es;
	clew_time from, to;
};

struct whatif {
	const struct clew_model *model;
	const struct clew_program *program;
	struct clew_what_if_options options;
	struct clew_query_error *error;

	/* bind */
	uint32_t *rule_of; /* of each span: number + 1 of its rule, 0 none; NULL: none has one */
	struct span_rule *rules;
	uint32_t rule_count;
	uint8_t *early; /* of each span; NULL: none */
	struct bound *waits, *edges;
	uint32_t wait_count, edge_count;
	struct gate *gates;
	uint32_t gate_count;
	struct added *added;
	struct added_end *ends;
	uint32_t added_count, end_count, cut_count;
	clew_time earliest;
	uint32_t resources, cpu_count;
	clew_time slice;
	uint8_t *on_cpus; /* of each span: it is one of those that the CPUs are for; NULL: they are
			     for all */

	/* split: the trace with the added dependencies, at its recorded times */
	struct clew_model base;
	struct clew_es *base_es; /* owned, NULL: those of the trace */
	struct clew_span *base_spans;
	struct clew_dependency *base_dependencies;
	uint32_t *base_origins, *base_destinations;
	uint32_t *moved; /* of each ES of the trace, and behind the last: where its first part is
			    now; NULL: all are as they were */
	uint8_t *cut_before; /* of each ES: it begins with a cut; NULL: there are none */

	/* simulate */
	struct whatif_cpus *cpus;     /* NULL: as recorded */
	struct whatif_queues *queues; /* NULL: locks and devices are as recorded */
	struct vector es_memory;
	struct clew_es *es; /* in it */
	uint8_t *state;	    /* of each ES, STATE_* */
	uint8_t *fate;	    /* of each destination; NULL: nothing is changed there */
	uint32_t *changed;  /* by which edge statement, where the fate is so */
	uint32_t *left;	    /* origins that a dependency of several still waits for */
	clew_time *latest;  /* and the latest of those that came */
	struct event *heap;
	size_t heap_count, heap_capacity;
	struct event held;
	bool holds;
	bool ordered; /* what happens first makes a difference */
	bool several; /* there are dependencies of several origins */
	uint32_t unstarted;
	clew_time now;
	struct clew_what_if result;
};

/* The factor of a statement at the step of a sweep. */
struct factor whatif_factor(const struct whatif *w, const struct statement *statement);
/* x * factor, rounded down. -EOVERFLOW. */
int whatif_multiply(clew_time x, const struct factor *factor, clew_time *ret_product);
/* The new length of an ES of a span with a rule. -EOVERFLOW. */
int whatif_length(const struct span_rule *rule, clew_time length, uint32_t es_count,
		  clew_time *ret_length);

/* An ES, as it waits in the simulation. */
enum {
	STATE_PREDECESSOR = 1,
	STATE_ARRIVAL = 2,
	STATE_TOUCHED = 4,
	STATE_BY_EDGE = 8, /* a recorded dependency ends the gap before it */
	STATE_STARTED = 16,
	STATE_ADMITTED = 32, /* its span has its slots */
	STATE_PAUSED = 64,   /* it is off its CPU */
};

/* The rest of a gap before an ES that no dependency ends, by the statements about waits.
 * -EOVERFLOW. */
int whatif_scale_gap(const struct whatif *w, uint32_t es, clew_time gap, clew_time *ret_gap);
static inline int whatif_gap(const struct whatif *w, uint32_t es, clew_time gap, clew_time *ret_gap)
{
	*ret_gap = gap;
	return w->wait_count ? whatif_scale_gap(w, es, gap, ret_gap) : 0;
}

/* The length of an ES in the run. -EOVERFLOW. */
static inline int whatif_length_of(const struct whatif *w, uint32_t es, clew_time *ret_length)
{
	const struct clew_es *old = &w->base.es[es];
	uint32_t rule = w->rule_of ? w->rule_of[old->span] : 0;

	*ret_length = old->end - old->start;
	return rule ? whatif_length(&w->rules[rule - 1], *ret_length,
				    w->base.spans[old->span].elementary.count, ret_length)
		    : 0;
}

/* An ES that has all that it needs starts now, and ends when its length is over. -EOVERFLOW. */
static inline int whatif_start(struct whatif *w, uint32_t es, clew_time at)
{
	struct clew_es *new = &w->es[es];
	clew_time length, end;

	if (whatif_length_of(w, es, &length) < 0 || __builtin_add_overflow(at, length, &end))
		return -EOVERFLOW;
	*new = w->base.es[es];
	new->start = at;
	new->end = end;
	w->state[es] |= STATE_STARTED;
	w->unstarted--;
	return 0;
}

int whatif_bind(struct whatif *w);
/* Adds the cuts that its sections need; nothing where neither locks nor devices are simulated. */
int whatif_sections(struct whatif *w);
int whatif_split(struct whatif *w);
int whatif_simulate(struct whatif *w);
/* The times, where nobody competes and all dependencies are as they were. 0 or an error. */
int whatif_plain(struct whatif *w);
int whatif_result(struct whatif *w, struct clew_model **ret_model);

/* So many waits, requests or threads are what statements about a resource apply to. */
void whatif_count(struct whatif *w, uint32_t resource, uint64_t count);

/* Sets the error, returns `r`. */
int whatif_fail(struct whatif *w, int r, size_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Where the trace is the one that was recorded, base and model have the same destinations; added
 * dependencies follow. */
static inline bool whatif_is_added(const struct whatif *w, uint32_t dependency)
{
	return dependency >= w->model->dependency_count;
}

static inline enum fate whatif_fate(const struct whatif *w, uint32_t destination)
{
	return w->fate ? w->fate[destination] : FATE_KEPT;
}

/*
 * A call that was announced, or its return, on which nothing waited: its effect may not
 * be before its cause, and that is all. The time between the two is in other entries.
 */
static inline bool whatif_is_free(const struct whatif *w, const struct clew_dependency *d,
				  uint32_t es)
{
	return d->type <= CLEW_DEPENDENCY_RETURN &&
	       w->base.spans[w->base.es[es].span].elementary.first != es &&
	       w->base.es[es - 1].end == w->base.es[es].start &&
	       clew_model_attribute(&w->base, d->attributes, "called");
}

#endif
