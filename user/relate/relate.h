/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What programs announced, as activities, and which activity is for which: by nesting
 * in one thread, else by the signature, the descriptors of the call. And what people
 * call a thing that a task did: descriptors, its own and those of whom it did it for.
 *
 * docs/layers.md says what is joined with what.
 */
#ifndef CLEW_RELATE_RELATE_H
#define CLEW_RELATE_RELATE_H

#include "trace/trace.h"

struct clew_descriptor {
	const char *type; /* INTERFACE/TYPE; of an attribute its name */
	const char *value;
	uint64_t hash; /* of both */
};

/* One call that was announced, from its beginning to its end. */
struct clew_activity {
	uint64_t begin;
	uint64_t end; /* CLEW_TIME_OPEN: not in the capture */
	uint64_t token;
	uint32_t task;
	uint32_t parent;   /* the activity of the same thread that it is in, CLEW_NO_NUMBER none */
	uint32_t relation; /* the one whose lower end it is, CLEW_NO_NUMBER none */
	uint16_t descriptor_count;
	uint16_t attribute_count;
	bool is_async; /* its thread does other things meanwhile: it is nobody's `parent` */
	uint64_t name; /* hash of the next two */
	const char *interface;
	const char *operation;
	const char *calls; /* interface that it said it would call, NULL none */
	const struct clew_descriptor *descriptors; /* attributes follow them */
};

/* `lower` is for one of `uppers`, which are several only where nothing decides between them: each
 * may be it. */
struct clew_relation {
	const uint32_t *uppers;
	uint32_t upper_count;
	uint32_t lower;
	uint8_t evidence; /* enum clew_evidence */
	bool nested;	  /* in the upper one's thread, within it */
	bool bridged;	  /* by descriptors alone: what is between the two was not recorded */
};

struct clew_relations_options {
	size_t size;
	uint64_t match_window; /* ns: the lower may begin that long after the upper's end */
};

struct clew_relations;

/* -EINVAL: the capture's own description of layers cannot be read. `options` may be NULL. */
int clew_relations_new(const struct clew_trace *trace, const struct clew_relations_options *options,
		       struct clew_relations **ret_relations);
void clew_relations_free(struct clew_relations *relations);

/* The trace that they were made from. */
const struct clew_trace *clew_relations_trace(const struct clew_relations *relations);

/* In order of begin. */
const struct clew_activity *clew_relations_activities(const struct clew_relations *relations,
						      size_t *ret_count);
/* In order of the lower one's begin. */
const struct clew_relation *clew_relations_list(const struct clew_relations *relations,
						size_t *ret_count);

/* The ends of a relation. */
const struct clew_activity *clew_relations_lower(const struct clew_relations *relations,
						 const struct clew_relation *relation);
const struct clew_activity *clew_relations_upper(const struct clew_relations *relations,
						 const struct clew_relation *relation,
						 uint32_t number);

/* The innermost activity of a task at a moment, or NULL. */
const struct clew_activity *clew_relations_at(const struct clew_relations *relations,
					      uint32_t serial, uint64_t at);

/* The innermost activity of a task from a moment on, or NULL; until *ret_until that stays so. */
const struct clew_activity *clew_relations_from(const struct clew_relations *relations,
						uint32_t serial, uint64_t at, uint64_t *ret_until);

/*
 * Whose call in another task is open while `serial` is in the call that it is for: the
 * one of the innermost call, of several the best proven, then the one that ends last.
 * What is asynchronous is nobody's wait and has no thread's time. Until *ret_until, at
 * most `to`, that stays so. Only of calls that end at `over` (CLEW_TIME_OPEN: ever) or
 * before. `perhaps`: of those that several may have called, none of which is anybody's
 * for certain; else of all others. NULL: none.
 */
const struct clew_relation *clew_relations_called(const struct clew_relations *relations,
						  uint32_t serial, uint64_t at, uint64_t to,
						  uint64_t over, bool perhaps, uint64_t *ret_until);

#define CLEW_DESCRIPTORS_MOST 64

/* Names and what they are, each name once. */
struct clew_description {
	struct {
		const char *name;
		const char *value;
	} words[CLEW_DESCRIPTORS_MOST];
	size_t count;
	char texts[512]; /* of those that are made here */
	size_t text_used;
};

/*
 * Adds what people call what a task did at a moment, as far as `description` (zeroed
 * at first) does not say it yet: what it announced, for whom that was, its program,
 * user, cgroup, service, environment. Texts are the trace's and the relations'.
 */
void clew_relations_describe(const struct clew_relations *relations, uint32_t serial, uint64_t at,
			     struct clew_description *description);
/* Adds one word, unless there is one of that name. `value` NULL or "": nothing to say. */
void clew_description_add(struct clew_description *description, const char *name,
			  const char *value);

#endif
