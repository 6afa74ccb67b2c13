/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of relations share. */
#ifndef CLEW_RELATE_INTERNAL_H
#define CLEW_RELATE_INTERNAL_H

#include "base/map.h"
#include "base/vector.h"
#include "relate/layer.h"
#include "relate/relate.h"
#include <string.h>

#define RELATE_WORDS_MOST 64 /* descriptors and attributes of one activity */
#define RELATE_DEPTH                                                                               \
	64 /* calls in each other, and relations behind each other, that are looked at */
#define RELATE_BUDGET 512 /* activities above one that are looked at */

/* What a layer's handle is known by. */
struct handle {
	const struct clew_descriptor *descriptors;
	uint32_t count;
};

struct clew_relations {
	const struct clew_trace *trace;
	struct clew_layers *layers; /* NULL none */
	uint64_t match_window;
	struct vector activities; /* struct clew_activity */
	struct vector list;	  /* struct clew_relation */
	struct vector handles;	  /* struct handle */
	struct map handle_places; /* process, layer, name, value -> place in handles */
	struct map open;	  /* token, process -> place of the activity + 1 */
	struct map
		last; /* serial -> place of its innermost open activity + 1, while they are made */
	struct arena arena;
	uint32_t *by_task; /* places of activities in order of task, then begin; without those that
			      are async */
	size_t by_task_count;
	struct call *calls; /* in order of who is above, then of begin */
	uint32_t *calls_of; /* by activity, where its calls begin; and an end */
};

/* A relation between two tasks, seen from one that is above. */
struct call {
	uint32_t relation; /* number in the list */
	uint32_t longer;   /* place of that one's nearest call before this one that ends later,
			      CLEW_NO_NUMBER none */
};

/* FNV-1a over a text and what separates it from the next; `seed`: of what came before. */
#define RELATE_SEED 14695981039346656037ULL
static inline uint64_t relate_hash_part(uint64_t seed, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		seed = (seed ^ (unsigned char)text[i]) * 1099511628211ULL;
	return (seed ^ 0xff) * 1099511628211ULL;
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

/* relate_activities.c: from the trace's announcements. 0 or -errno. */
int relate_make_activities(struct clew_relations *relations);

/* relate_called.c: when all are joined. 0 or -ENOMEM. */
int relate_order_calls(struct clew_relations *relations);

/* relate_handles.c: what descriptions of layers say of handles. */
const struct clew_layer_call *relate_layer_call(const struct clew_relations *relations,
						const char *interface, const char *operation,
						const struct clew_layer **ret_layer);
/* Whether a layer's value of that name is a handle: a number that only the process knows the
 * meaning of. */
bool relate_is_handle(const struct clew_layer *layer, const char *name);
/* What a handle is known by; NULL nothing. */
const struct handle *relate_find_handle(const struct clew_relations *relations, uint32_t process,
					const char *layer, const char *name, const char *value);
/* A value that a call's point gave, kept until the call is over. */
struct relate_value {
	const char *name;
	const char *value;
};
/* Applies the rules of a call whose values are all known. 0 or -errno. */
int relate_apply_rules(struct clew_relations *relations, uint32_t process,
		       const struct clew_layer *layer, const struct clew_layer_call *call,
		       const struct relate_value *values, size_t count);

#endif
