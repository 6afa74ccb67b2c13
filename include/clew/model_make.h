/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Making a causal trace.
 *
 * Operations apply in the order of the calls, by the rules of construction:
 * fission at an endpoint, suspends, the order of endpoints at one instant. An
 * operation that fails changes nothing. Handles (spans, categories,
 * dependencies) are the indexes that the finished model has too.
 *
 * There are two ways: one operation after the other (a maker), or everything at
 * once (clew_maker_bulk), which sorts each span's endpoints once and gives the
 * same result.
 *
 * Errors, unless noted otherwise: -EINVAL: the operation is invalid; -ENOENT:
 * the item does not exist; -EEXIST: it exists already; -E2BIG: more than 2^32 -
 * 2 items; -ENOMEM. After -ENOMEM the maker can only be freed.
 */
#ifndef CLEW_MODEL_MAKE_H
#define CLEW_MODEL_MAKE_H

#include <clew/model.h>

struct clew_maker;

enum clew_place {
	CLEW_PLACE_EARLY = 0x01,       /* as early as possible among the ESs at that instant */
	CLEW_PLACE_LATE = 0x02,	       /* as late as possible; both at once is an error */
	CLEW_PLACE_SPLIT_GAP = 0x04,   /* inside a gap make a zero-length ES */
	CLEW_PLACE_SPLIT_ENDS = 0x08,  /* suspend: across ES boundaries */
	CLEW_PLACE_SPLIT_MARKS = 0x10, /* suspend: across marks */
};

/* At ES number n of those that touch the instant, from 0, which must be free
 * and begin or end there. Excludes the flags above. */
#define CLEW_PLACE_NUMBER(n)   (((unsigned)(n) + 1) << 8)
#define CLEW_PLACE_NUMBER_MOST 0xfffffeu

/* The error message of the last operation, with moments in the written unit;
 * "": it succeeded. Valid until the next one. */
const char *clew_maker_error(const struct clew_maker *maker);

int clew_maker_new(struct clew_maker **ret_maker);
/*
 * A maker that has made a finished model: the same spans, ESs, dependencies,
 * marks, under the same numbers; it can go on from there. -EINVAL: an
 * inconsistent model (ESs that overlap or leave their span, links that do not
 * agree), see clew_model_check().
 */
int clew_maker_from_model(const struct clew_model *model, struct clew_maker **ret_maker);
void clew_maker_free(struct clew_maker *maker);
/* ns of the written unit. It changes how moments are shown, not their
 * values. */
void clew_maker_set_unit(struct clew_maker *maker, uint32_t unit);

/* Names are copied; any bytes but NUL. A hierarchy of that name: -EEXIST. */
int clew_maker_hierarchy(struct clew_maker *maker, const char *name, uint32_t *ret_hierarchy);
/* Finds or makes a category under `parent` (CLEW_NONE: a root category). */
int clew_maker_category(struct clew_maker *maker, uint32_t hierarchy, uint32_t parent,
			const char *name, uint32_t *ret_category);
/* Finds or makes a dependency type. */
int clew_maker_type(struct clew_maker *maker, const char *name, uint32_t *ret_type);
/* A root span, running throughout; start <= end. Two may share a name. */
int clew_maker_root(struct clew_maker *maker, const char *name, clew_time start, clew_time end,
		    uint32_t *ret_span);
/* A child with call and return. The parent must run at `start`; it is suspended
 * until `end`. */
int clew_maker_child(struct clew_maker *maker, uint32_t parent, const char *name, clew_time start,
		     clew_time end, uint32_t *ret_span);
/* A child without call and return, which leaves the parent as it is. */
int clew_maker_child_alone(struct clew_maker *maker, uint32_t parent, const char *name,
			   clew_time start, clew_time end, uint32_t *ret_span);
/* Divides the last ES at an instant, without an endpoint. */
int clew_maker_split(struct clew_maker *maker, uint32_t span, clew_time at);
/* A root span is in at most one category of each hierarchy: else -EEXIST. */
int clew_maker_place(struct clew_maker *maker, uint32_t root_span, uint32_t category);
/* Zero length changes nothing. `kind`: enum clew_wait_kind, or CLEW_NONE for an
 * untyped gap. */
int clew_maker_suspend(struct clew_maker *maker, uint32_t span, clew_time start, clew_time end,
		       unsigned place, uint32_t kind, uint32_t attributes);
/* A dependency without endpoints; those are added later. `attributes`: a list,
 * or CLEW_NONE. */
int clew_maker_dependency(struct clew_maker *maker, uint32_t type, enum clew_mode mode,
			  uint32_t attributes, uint32_t *ret_dependency);
/* The end of an ES at `at`. A second origin needs the mode AND or OR: else
 * -EEXIST. The latest (AND) or earliest (OR) one triggers. */
int clew_maker_origin(struct clew_maker *maker, uint32_t dependency, uint32_t span, clew_time at,
		      unsigned place);
/* `wait_from` == at: no wait; else the span is suspended from then to `at`
 * first. */
int clew_maker_destination(struct clew_maker *maker, uint32_t dependency, uint32_t span,
			   clew_time wait_from, clew_time at, unsigned place);
/* In the first ES that contains `at`, before other marks of that moment. */
int clew_maker_mark(struct clew_maker *maker, uint32_t span, const char *label, clew_time at,
		    unsigned place);
/* Merges and drops ESs that no dependency and no mark needs, nor a typed
 * wait. */
int clew_maker_simplify(struct clew_maker *maker);
/* Finds or makes an attribute list; pairs as key, value, key, value. No pairs:
 * CLEW_NONE. */
int clew_maker_attributes(struct clew_maker *maker, const char *const *pairs, size_t pair_count,
			  uint32_t *ret_attributes);
/* Replaces the attributes of a span; `attributes`: a list, or CLEW_NONE. */
int clew_maker_set_span_attributes(struct clew_maker *maker, uint32_t span, uint32_t attributes);

/*
 * A span by its path of names, the first one where siblings share a name;
 * CLEW_NONE: none. *ret_ambiguous: siblings shared one of the names.
 */
uint32_t clew_maker_find_span(const struct clew_maker *maker, const char *const *names,
			      size_t count, bool *ret_ambiguous);

/* The finished model. Afterwards the maker can only be freed. */
int clew_maker_finish(struct clew_maker *maker, struct clew_model **ret_model);

/*
 * Bulk. The rows of each table may come in any order of time. The result is
 * that of these operations of a maker: the spans in order, with their calls and
 * returns; the suspends in order, then the dependencies, the endpoints, the
 * marks; simplify. Dependency i of `dependencies` is dependency 2 * (spans with
 * a parent) + i of the model. One invalid row makes the call fail; the maker
 * can only be freed then. The rows are not changed.
 */
struct clew_bulk_span {
	const char *name;
	clew_time start, end;
	uint32_t parent; /* an earlier one of `spans`, CLEW_NONE a root */
	uint32_t attributes;
};
struct clew_bulk_suspend {
	uint32_t span, kind, attributes;
	clew_time start, end;
};
struct clew_bulk_dependency {
	uint32_t type, attributes;
	uint8_t mode;
};
struct clew_bulk_endpoint {
	uint32_t dependency, span;
	clew_time at;
	uint8_t destination; /* else an origin */
	uint8_t place;	     /* CLEW_PLACE_* */
};
struct clew_bulk_mark {
	uint32_t span;
	const char *label;
	clew_time at;
};
struct clew_bulk {
	const struct clew_bulk_span *spans;
	const struct clew_bulk_suspend *suspends;
	const struct clew_bulk_dependency *dependencies;
	const struct clew_bulk_endpoint *endpoints;
	const struct clew_bulk_mark *marks;
	size_t span_count, suspend_count, dependency_count, endpoint_count, mark_count;
	bool simplify;
};
/* The maker must have no spans and dependencies. Afterwards it takes only
 * categories, placements, attributes and the finish. */
int clew_maker_bulk(struct clew_maker *maker, const struct clew_bulk *bulk);

/*
 * Makes a model of ready ESs, for transformations and stitching; no rule of
 * construction applies. Everything in `arrays` is copied. Strings come from
 * `like`; so do waits, types, attributes (with attribute_lists), and categories
 * (with hierarchies and placements, so root spans must keep their indexes)
 * where the pointer is NULL. If categories are given there are no placements.
 * first_root, first_child and next_sibling are made here, from `parent`, in
 * order of index. -EINVAL: an index, a range or a mark that does not fit its
 * array; parents must come before their children.
 */
int clew_model_from_arrays(const struct clew_model *like, const struct clew_model *arrays,
			   struct clew_model **ret_model);

/* ---- the consistency check ---- */

struct clew_problem {
	/* order overlap negative-length cycle unreachable no-origin
	 * no-destination symmetry trigger negative-edge owner */
	char kind[24];
	bool warning;	   /* else an error */
	uint32_t span, es; /* es: index within its span; either may be CLEW_NONE */
	char message[160];
};
/*
 * Every problem, in order of checks and then of index; a cycle is one problem.
 * The caller frees the array. `negative_edges_warn`: negative edges are but
 * warnings, as in a capture, where clocks cause them. 0 or -ENOMEM.
 */
int clew_model_check(const struct clew_model *model, bool negative_edges_warn,
		     struct clew_problem **ret_problems, size_t *ret_count);

#endif
