/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Activities are what programs announced. The relations say which activity is for which:
 * by nesting in one thread, else by the call's descriptors. A description says what a task
 * did by descriptors, its own and those of the calls that it worked for.
 *
 * docs/layers.md has the rules.
 */
#ifndef CLEW_RELATE_RELATE_H
#define CLEW_RELATE_RELATE_H

#include "relate/job.h"
#include "trace/trace.h"

struct clew_descriptor {
	const char *type; /* INTERFACE/TYPE; for an attribute its name */
	const char *value;
	uint64_t hash; /* of both */
};

/* The part of a logical span that an activity is. */
enum clew_activity_part {
	CLEW_ACTIVITY_CALL, /* none: it is an announced call */
	CLEW_ACTIVITY_JOB, /* the whole span, from its submit to its end; it has no thread's time */
	CLEW_ACTIVITY_RUN, /* one of its runs, in a thread */
};

/* One announced call, logical span or run of that. Times are ns, CLOCK_MONOTONIC. */
struct clew_activity {
	uint64_t begin;
	uint64_t end; /* CLEW_TIME_OPEN: not in the capture */
	uint64_t token;
	uint32_t task;
	uint32_t parent;   /* the enclosing activity of the same thread, CLEW_NO_NUMBER none */
	uint32_t relation; /* the relation whose lower end it is, CLEW_NO_NUMBER none */
	uint16_t descriptor_count;
	uint16_t attribute_count;
	bool is_async; /* its thread does other things meanwhile, so it is never a `parent` */
	uint8_t part;  /* enum clew_activity_part */
	uint32_t job;  /* number of the logical span, CLEW_NO_NUMBER none */
	uint64_t name; /* hash of the next two */
	const char *interface;
	const char *operation;
	const char *calls; /* interface that it announced to call, NULL none */
	const struct clew_descriptor *descriptors; /* attributes follow them */
};

/*
 * `lower` is for one of `uppers`. There are several only where nothing decides
 * between them.
 */
struct clew_relation {
	const uint32_t *uppers;
	uint64_t at; /* `submitted`: when the upper activity did so; else 0 */
	uint32_t upper_count;
	uint32_t lower;
	uint8_t evidence; /* enum clew_evidence */
	bool nested;	  /* `lower` is nested in the upper activity, in its thread */
	bool submitted;	  /* `lower` is a logical span, or a run of one that the upper activity
			     submitted or resumed: a key joined them */
	bool bridged;	  /* joined by descriptors alone: the layers in between were not recorded */
};

struct clew_relations_options {
	size_t size;
	uint64_t match_window; /* ns: the lower activity may begin that long after the upper one's
				  end */
};

struct clew_relations;

/*
 * Makes the relations of a trace, which has to outlive them. `options` may be
 * NULL. -EINVAL: the capture's description of layers cannot be read; -ENOMEM.
 */
int clew_relations_new(const struct clew_trace *trace, const struct clew_relations_options *options,
		       struct clew_relations **ret_relations);
void clew_relations_free(struct clew_relations *relations);

/* The trace that they were made from. */
const struct clew_trace *clew_relations_trace(const struct clew_relations *relations);

/* The logical spans; NULL: no runtime was recorded. */
const struct clew_jobs *clew_relations_jobs(const struct clew_relations *relations);

/* All activities, in order of begin. */
const struct clew_activity *clew_relations_activities(const struct clew_relations *relations,
						      size_t *ret_count);
/* All relations, in order of the lower activity's begin. */
const struct clew_relation *clew_relations_list(const struct clew_relations *relations,
						size_t *ret_count);

/* The ends of a relation. */
const struct clew_activity *clew_relations_lower(const struct clew_relations *relations,
						 const struct clew_relation *relation);
const struct clew_activity *clew_relations_upper(const struct clew_relations *relations,
						 const struct clew_relation *relation,
						 uint32_t number);

/* The innermost activity of a task at a moment, ns; NULL: none. */
const struct clew_activity *clew_relations_at(const struct clew_relations *relations,
					      uint32_t serial, uint64_t at);

/* The innermost run of a logical span that it is in then; NULL: none. */
const struct clew_activity *clew_relations_run_at(const struct clew_relations *relations,
						  uint32_t serial, uint64_t at);

/* The same from a moment on, of all activities; *ret_until: how long that stays so. */
const struct clew_activity *clew_relations_from(const struct clew_relations *relations,
						uint32_t serial, uint64_t at, uint64_t *ret_until);

/*
 * The relation whose lower call, in another task, is open for the call that
 * `serial` is in at `at`: for the innermost call, of several the one with the
 * best evidence, then the one that ends last. Asynchronous calls do not count.
 * *ret_until: how long that stays so, at most `to`.
 *
 * `over`: only calls that end then or before; CLEW_TIME_OPEN: any. `perhaps`:
 * only relations with several upper ends, none of which is certain; else only
 * the others. NULL: none.
 */
const struct clew_relation *clew_relations_called(const struct clew_relations *relations,
						  uint32_t serial, uint64_t at, uint64_t to,
						  uint64_t over, bool perhaps, uint64_t *ret_until);

#define CLEW_DESCRIPTORS_MOST 64

/* Words: names with values, each name once. */
struct clew_description {
	struct {
		const char *name;
		const char *value;
	} words[CLEW_DESCRIPTORS_MOST];
	size_t count;
	char texts[512]; /* memory of values that are made for the description */
	size_t text_used;
};

/*
 * Adds words for what a task did at a moment, unless `description` (zeroed at
 * first) has them: what it announced, the calls that was for, its program,
 * user, cgroup, service and environment. Texts belong to the trace and the
 * relations.
 */
void clew_relations_describe(const struct clew_relations *relations, uint32_t serial, uint64_t at,
			     struct clew_description *description);
/*
 * Adds one word, unless there is one of that name. `value` NULL or "": adds
 * nothing.
 */
void clew_description_add(struct clew_description *description, const char *name,
			  const char *value);

#endif
