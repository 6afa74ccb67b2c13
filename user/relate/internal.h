/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Declarations that the files of relate/ share.
 */
#ifndef CLEW_RELATE_INTERNAL_H
#define CLEW_RELATE_INTERNAL_H

#include "base/hash.h"
#include "base/map.h"
#include "base/vector.h"
#include "relate/layer.h"
#include "relate/relate.h"
#include <string.h>

#define RELATE_WORDS_MOST 64  /* descriptors and attributes of one activity */
#define RELATE_DEPTH	  64  /* limit of nested calls, and of relations in a row */
#define RELATE_BUDGET	  512 /* limit of activities searched above one */

/* The descriptors of a layer's handle. */
struct handle {
	const struct clew_descriptor *descriptors;
	uint32_t count;
};

struct clew_relations {
	const struct clew_trace *trace;
	struct clew_layers *layers;   /* NULL none */
	const struct clew_jobs *jobs; /* the trace's, or else own_jobs; NULL none */
	struct clew_jobs *own_jobs;
	uint32_t *job_activities; /* by logical span: its activity */
	uint32_t *run_activities; /* by piece: of a run, its activity */
	uint64_t match_window;
	struct vector activities; /* struct clew_activity */
	struct vector list;	  /* struct clew_relation */
	struct vector handles;	  /* struct handle */
	struct map handle_places; /* process, layer, name, value -> index in handles */
	struct map open;	  /* token, process -> index of the activity + 1 */
	struct map last; /* serial -> index of its innermost open activity + 1, while activities are
			    made */
	struct arena arena;
	uint32_t *by_task; /* indexes of the activities that are not async, in order of task, then
			      begin */
	size_t by_task_count;
	struct call *calls; /* in order of the upper activity, then of begin */
	uint32_t *calls_of; /* by activity, the index of its first call; one more marks the end */
};

/* A relation between two tasks, listed at one of its upper activities. */
struct call {
	uint32_t relation; /* index in the list */
	uint32_t longer;   /* index of the nearest earlier call of the same upper activity that ends
			      later, CLEW_NO_NUMBER none */
};

/* A text and a separator; `seed`: the hash of what comes before. */
static inline uint64_t relate_hash_part(uint64_t seed, const char *text, size_t length)
{
	return hash_bytes(hash_bytes(seed, text, length), "\xff", 1);
}

static inline uint64_t relate_hash(uint64_t seed, const char *text)
{
	return relate_hash_part(seed, text, strlen(text));
}

static inline struct clew_activity *relate_activity(const struct clew_relations *relations,
						    size_t place)
{
	return (struct clew_activity *)relations->activities.data + place;
}

/*
 * activities.c: makes the activities of the trace's announcements. 0 or -errno.
 */
int relate_make_activities(struct clew_relations *relations);

/* called.c: orders the calls, once all relations are known. 0 or -ENOMEM. */
int relate_order_calls(struct clew_relations *relations);

/* handles.c: what descriptions of layers say of handles. */
const struct clew_layer_call *relate_layer_call(const struct clew_relations *relations,
						const char *interface, const char *operation,
						const struct clew_layer **ret_layer);
/* True if a layer's value of that name is a handle. */
bool relate_is_handle(const struct clew_layer *layer, const char *name);
/* The descriptors of a handle; NULL: none are known. */
const struct handle *relate_find_handle(const struct clew_relations *relations, uint32_t process,
					const char *layer, const char *name, const char *value);
/* A value of a call's probe, kept until the call is over. */
struct relate_value {
	const char *name;
	const char *value;
};
/* Applies the rules of a call whose values are all known. 0 or -errno. */
int relate_apply_rules(struct clew_relations *relations, uint32_t process,
		       const struct clew_layer *layer, const struct clew_layer_call *call,
		       const struct relate_value *values, size_t count);

#endif
