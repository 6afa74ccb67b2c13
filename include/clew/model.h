/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A causal trace: spans of elementary spans (ES), joined by dependencies,
 * placed in hierarchies of categories.
 *
 * A finished model is read-only and may be read by any number of threads. It
 * consists of arrays; 32-bit indexes refer to their items, CLEW_NONE means
 * none. The ESs of a span are neighbours in the array of ESs, in order of time:
 * successor and predecessor are the next and the previous index of the same
 * span. A gap between neighbours is suspended time, and may have a typed wait.
 *
 * It is made by <clew/model_make.h>, from notation, from a capture, or by a
 * transformation of another one.
 */
#ifndef CLEW_MODEL_H
#define CLEW_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLEW_NONE UINT32_MAX

/* Times are signed: a trace may begin before 0. ns in a capture and by
 * default. */
typedef int64_t clew_time;

/* Dependency types 0 and 1 exist in every model; further types follow in order
 * of first use. */
#define CLEW_DEPENDENCY_CALL   0
#define CLEW_DEPENDENCY_RETURN 1

enum clew_mode { CLEW_MODE_SINGLE, CLEW_MODE_AND, CLEW_MODE_OR };

/* A run of consecutive indexes. */
struct clew_range {
	uint32_t first;
	uint32_t count;
};

/* An elementary span. 40 bytes. */
struct clew_es {
	clew_time start;
	clew_time end;
	uint32_t span;
	uint32_t in;   /* dependency whose destination this is, takes effect at start */
	uint32_t out;  /* dependency whose origin this is, at end */
	uint32_t wait; /* of the gap before this ES, an index of waits; CLEW_NONE: untyped or no gap
			*/
	uint32_t mark; /* the first of its marks; the next ES's first mark (of the last ES:
			  mark_count) ends them */
	union {
		uint32_t reserved; /* 0 in a model */
		/* used by the simulation of changes, in a copy of its own: */
		uint32_t mark_end; /* where its marks end */
		uint32_t waiter;   /* the first span that waits for it, and 1; 0 none */
	};
};

struct clew_span {
	clew_time start;
	clew_time end;
	uint32_t name;	 /* a string */
	uint32_t parent; /* CLEW_NONE: a root span */
	struct clew_range elementary;
	uint32_t first_child;  /* children in the order in which they were made, by next_sibling */
	uint32_t next_sibling; /* of a root span: the next root span */
	uint32_t attributes;   /* index into attribute lists, CLEW_NONE none */
};

/*
 * Endpoints of dependency d: origins.first.. and destinations.first.. are
 * indexes of the arrays of endpoints; origin number 0 is the triggering one.
 */
struct clew_dependency {
	uint32_t type : 24;
	uint32_t mode : 8; /* enum clew_mode */
	uint32_t attributes;
	struct clew_range origins;
	struct clew_range destinations;
};

/* 12 bytes: a capture has one for each run on a CPU. */
struct clew_mark {
	clew_time at;
	uint32_t label; /* a string */
} __attribute__((packed, aligned(4)));

/* The typed wait of a gap. */
struct clew_model_wait {
	uint32_t kind;	     /* enum clew_wait_kind, CLEW_SEGMENT_* but RUNNING included */
	uint32_t attributes; /* object, holder, call ... */
};

struct clew_category {
	uint32_t hierarchy; /* number of the hierarchy, from 0 */
	uint32_t name;
	uint32_t parent; /* CLEW_NONE: a root category */
	uint32_t first_child;
	uint32_t next_sibling;
};

struct clew_attribute {
	uint32_t key; /* a string */
	uint32_t value;
};

/* The arrays of a finished model. Read them; never write. */
struct clew_model {
	const struct clew_es *es;
	const struct clew_span *spans; /* roots and children, as they were made */
	const struct clew_dependency
		*dependencies;	      /* as they were made; number 0 is printed as 1 */
	const uint32_t *origins;      /* ESs */
	const uint32_t *destinations; /* ESs */
	const struct clew_mark *marks;
	const struct clew_model_wait *waits;
	const struct clew_category *categories;
	const uint32_t *hierarchies; /* names, as strings, in order of declaration */
	const uint32_t *types; /* names of dependency types, as strings; [0] "call", [1] "return" */
	/* Attribute list a is attributes[attribute_lists[a] ..
	 * attribute_lists[a + 1]). */
	const uint32_t *attribute_lists;
	const struct clew_attribute *attributes;
	uint32_t es_count, span_count, dependency_count, origin_count, destination_count,
		mark_count, wait_count, category_count, hierarchy_count, type_count,
		attribute_list_count, attribute_count;
	uint32_t first_root; /* a span; the next one is its next_sibling */
	uint32_t unit; /* ns a written unit: 1 (ns), 1000 (us), 1000000 (ms), 1000000000 (s) */
	void *inside;  /* memory, strings, placements */
};

/* A string; never NULL. */
const char *clew_model_string(const struct clew_model *model, uint32_t string);
/* The number of a string; CLEW_NONE: the model lacks it. */
uint32_t clew_model_find_string(const struct clew_model *model, const char *text);

/* The category of a root span in a hierarchy, CLEW_NONE none. */
uint32_t clew_model_category_of(const struct clew_model *model, uint32_t root_span,
				uint32_t hierarchy);
/* The root spans placed directly in a category, in order of placement. */
const uint32_t *clew_model_category_spans(const struct clew_model *model, uint32_t category,
					  uint32_t *ret_count);
/* The first root category of a hierarchy; the next one is its next_sibling. */
uint32_t clew_model_root_category(const struct clew_model *model, uint32_t hierarchy);

/* The value of an attribute, or NULL. */
const char *clew_model_attribute(const struct clew_model *model, uint32_t attribute_list,
				 const char *key);

/*
 * Writes a name for notation, with a backslash before white space and any of /
 * @ { } , ( ) [ ] # \, and a NUL. `out` has room for 2 * strlen(name) + 1
 * bytes. Returns the length.
 */
size_t clew_model_escape(const char *name, char *out);

/* A moment in the written unit, with the decimals that it has. Returns
 * `text`. */
const char *clew_model_moment(const struct clew_model *model, clew_time at, char text[static 32]);

/* The path of a span, names from the root joined by '/', each escaped for
 * notation. The caller frees it. NULL: no memory. */
char *clew_model_span_path(const struct clew_model *model, uint32_t span);
/* The same for a category. */
char *clew_model_category_path(const struct clew_model *model, uint32_t category);

/* The marks of an ES are marks[first .. first + count). */
static inline struct clew_range clew_model_marks(const struct clew_model *model, uint32_t es)
{
	uint32_t end = es + 1 < model->es_count ? model->es[es + 1].mark : model->mark_count;

	return (struct clew_range){.first = model->es[es].mark, .count = end - model->es[es].mark};
}

/* The lowest-index ES of a span with end >= at; CLEW_NONE: none. It need not
 * contain `at`. */
uint32_t clew_model_es_at(const struct clew_model *model, uint32_t span, clew_time at);

static inline bool clew_model_is_first(const struct clew_model *model, uint32_t es)
{
	return model->spans[model->es[es].span].elementary.first == es;
}

static inline bool clew_model_is_last(const struct clew_model *model, uint32_t es)
{
	const struct clew_range *range = &model->spans[model->es[es].span].elementary;

	return range->first + range->count - 1 == es;
}

static inline uint32_t clew_model_predecessor(const struct clew_model *model, uint32_t es)
{
	return clew_model_is_first(model, es) ? CLEW_NONE : es - 1;
}

static inline uint32_t clew_model_successor(const struct clew_model *model, uint32_t es)
{
	return clew_model_is_last(model, es) ? CLEW_NONE : es + 1;
}

/* The triggering origin of a dependency, CLEW_NONE none. */
static inline uint32_t clew_model_trigger(const struct clew_model *model, uint32_t dependency)
{
	const struct clew_dependency *d = &model->dependencies[dependency];

	return d->origins.count ? model->origins[d->origins.first] : CLEW_NONE;
}

/* Bytes of memory that a model takes, strings and attributes included. */
size_t clew_model_memory(const struct clew_model *model);
void clew_model_free(struct clew_model *model);

#endif
