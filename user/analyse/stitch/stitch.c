/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One stitching, from its beginning to its end.
 */
#include <clew/model_make.h>
#include <clew/tokens.h>

#include "analyse/stitch/internal.h"

/* By what a dependency was found. */
static int describe(struct stitch *s, struct clew_maker *maker, const struct stitch_added *added,
		    uint32_t *ret_attributes)
{
	const char *pairs[] = {"evidence", added->evidence, "key", NULL, "across", "yes"};

	*ret_attributes = CLEW_NONE;
	if (!added->evidence)
		return 0;
	pairs[3] = strings_get(&s->keys, added->key);
	return clew_maker_attributes(maker, pairs, added->statement == CLEW_NONE ? 3 : 2,
				     ret_attributes);
}

/* Where an end is in the whole. It is known when a message's last byte left, and its first one may
 * have come before that: an origin is no later than its effect. */
static clew_time place_of(const struct stitch *s, const struct stitch_added *added,
			  const struct stitch_end *ends, uint32_t end)
{
	const struct stitch_end *effect = &ends[added->origins];
	clew_time at = stitch_moved(s, ends[end].trace, ends[end].at),
		  latest = stitch_moved(s, effect->trace, effect->at);

	return added->statement == CLEW_NONE && at > latest ? latest : at;
}

/* False: clocks that contradict each other put what a message ended before its sender began. */
static bool is_possible(const struct stitch *s, const struct stitch_added *added,
			const struct stitch_end *ends)
{
	const struct clew_span *span = &s->traces[ends->trace]->spans[ends->span];

	return added->statement != CLEW_NONE ||
	       place_of(s, added, ends, 0) >= stitch_moved(s, ends->trace, span->start);
}

static int add(struct stitch *s, struct clew_maker *maker, const struct stitch_added *added)
{
	const struct stitch_statement *statement =
		added->statement == CLEW_NONE ? NULL : &s->program->statements[added->statement];
	const struct stitch_end *ends = (const struct stitch_end *)s->ends.data + added->first;
	uint32_t type, attributes, dependency;
	int r;

	if (!is_possible(s, added, ends)) {
		s->result->connected.dependencies--;
		return 0;
	}
	r = clew_maker_type(
		maker, statement ? statement->type : clew_edge_type_name(CLEW_EDGE_SOCKET), &type);
	if (r == 0)
		r = describe(s, maker, added, &attributes);
	if (r == 0)
		r = clew_maker_dependency(maker, type,
					  statement ? statement->mode : CLEW_MODE_SINGLE,
					  attributes, &dependency);
	for (uint32_t i = 0; i < added->origins + added->destinations && r == 0; i++) {
		uint32_t span = s->first_span[ends[i].trace] + ends[i].span;
		clew_time at = place_of(s, added, ends, i);

		/* An ES that nothing needed is gone. */
		r = i < added->origins
			    ? clew_maker_origin(maker, dependency, span, at, CLEW_PLACE_SPLIT_GAP)
			    : clew_maker_destination(maker, dependency, span, at, at,
						     CLEW_PLACE_SPLIT_GAP);
	}
	return r;
}

/* The model with what the program adds, instead of the one without. */
static int add_all(struct stitch *s, struct clew_model **model)
{
	struct clew_model *without = *model;
	struct clew_maker *maker;
	int r = clew_maker_from_model(without, &maker);

	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	/* Two of them may not be there at once for long. */
	clew_model_free(without);
	*model = NULL;
	for (size_t i = 0; i < s->added.count && r == 0; i++) {
		const struct stitch_added *added = (const struct stitch_added *)s->added.data + i;

		r = add(s, maker, added);
		if (r == -EINVAL)
			r = stitch_fail(s,
					added->statement == CLEW_NONE
						? 0
						: s->program->statements[added->statement].offset,
					"it cannot be added: %.130s", clew_maker_error(maker));
	}
	if (r == 0)
		r = clew_maker_finish(maker, model);
	clew_maker_free(maker);
	return r;
}

static int run(struct stitch *s, struct clew_model **model)
{
	int r;

	stitch_hosts(s);
	r = stitch_find(s);
	if (r == 0 && s->options->connections)
		r = stitch_connect(s);
	if (r == 0)
		r = stitch_clocks(s);
	if (r == 0)
		r = stitch_copy(s, model);
	if (r == 0 && s->added.count)
		r = add_all(s, model);
	return r;
}

int clew_stitch(const struct clew_model *const *traces, uint32_t count,
		const struct clew_stitching *program, const struct clew_stitch_options *options,
		struct clew_model **ret_model, struct clew_stitch_result *ret_result,
		struct clew_query_error *ret_error)
{
	static const struct clew_stitch_options none;
	struct clew_stitch_result result = *ret_result;
	struct stitch s = {
		.traces = traces,
		.count = count,
		.program = program,
		.options = options ?: &none,
		.result = &result,
		.error = ret_error,
		.ends.item = sizeof(struct stitch_end),
		.added.item = sizeof(struct stitch_added),
		.edges.item = sizeof(struct stitch_edge),
	};
	struct clew_model *model = NULL;
	int r = 0;

	if (count == 0 || count > CLEW_STITCH_MOST_TRACES)
		return stitch_fail(&s, 0, "%u traces: give from 1 to %d", count,
				   CLEW_STITCH_MOST_TRACES);
	if (program) {
		result.counts = calloc((size_t)program->count + 1, sizeof(*result.counts));
		r = result.counts ? 0 : -ENOMEM;
	}
	strings_begin(&s.keys);
	if (r == 0)
		r = run(&s, &model);
	if (r < 0) {
		clew_model_free(model);
	} else {
		if (ret_result->counts && program)
			memcpy(ret_result->counts, result.counts,
			       program->count * sizeof(*result.counts));
		ret_result->backward = result.backward;
		ret_result->connected = result.connected;
		*ret_model = model;
	}
	if (program)
		free(result.counts);
	for (uint32_t i = 0; i < count; i++)
		free(s.joined[i]);
	strings_done(&s.keys);
	vector_done(&s.ends);
	vector_done(&s.added);
	vector_done(&s.edges);
	return r;
}
