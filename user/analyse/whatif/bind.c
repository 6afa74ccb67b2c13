/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Binds the statements of a program to one trace: which spans, types and moments
 * they select. Two statements that cannot both hold are an error that names both.
 */
#include "analyse/path/internal.h"
#include "analyse/whatif/internal.h"

/* Statements about the length and the start of a span: numbers of statements + 1. */
enum said { SAID_SCALE, SAID_CHANGE, SAID_ABOVE, SAID_BELOW, SAID_START, SAID_COUNT };

struct binding {
	struct whatif *w;
	uint32_t (*said)[SAID_COUNT]; /* of each span; NULL: nothing */
};

static int fail_query(struct whatif *w, const struct statement *s, int r)
{
	return r == -E2BIG ? whatif_fail(w, -EINVAL, s->offset,
					 "a regular expression takes too much to decide: write a "
					 "simpler one")
			   : r;
}

static void count_match(struct whatif *w, const struct statement *s, uint64_t count)
{
	if (w->options.matches)
		w->options.matches[s - w->program->statements] += count;
}

/* Spans as a set. `count`: whether they are what the statement applies to. */
static int select_spans(struct whatif *w, const struct statement *s, const struct clew_query *query,
			bool count, uint8_t **ret_set)
{
	const struct clew_query_options options = {.hierarchy = w->options.hierarchy,
						   .only = w->options.only};
	uint8_t *set = calloc((size_t)w->model->span_count + 1, 1);
	uint32_t *spans = NULL;
	size_t span_count = 0;
	uint64_t distinct = 0;
	int r = set ? clew_query_spans(query, w->model, &options, &spans, &span_count) : -ENOMEM;

	if (r < 0) {
		free(set);
		return fail_query(w, s, r);
	}
	for (size_t i = 0; i < span_count; i++) {
		distinct += !set[spans[i]];
		set[spans[i]] = 1;
	}
	free(spans);
	if (count)
		count_match(w, s, distinct);
	*ret_set = set;
	return 0;
}

static int contradiction(struct whatif *w, uint32_t first, uint32_t second, uint32_t span)
{
	const struct statement *a = &w->program->statements[first],
			       *b = &w->program->statements[second];
	char *path = clew_model_span_path(w->model, span);
	int r = whatif_fail(
		w, -EINVAL, b->offset, "'%.*s' contradicts '%.*s' for %.24s: leave out one",
		(int)(b->size < 46 ? b->size : 46), w->program->text + b->offset,
		(int)(a->size < 46 ? a->size : 46), w->program->text + a->offset, path ?: "a span");

	free(path);
	return r;
}

/* ---- lengths and starts ---- */

static int bind_said(struct binding *b, uint32_t number, enum said said)
{
	struct whatif *w = b->w;
	const struct statement *s = &w->program->statements[number];
	uint8_t *set;
	int r;

	if (!b->said) {
		b->said = calloc((size_t)w->model->span_count + 1, sizeof(*b->said));
		if (!b->said)
			return -ENOMEM;
	}
	r = select_spans(w, s, s->spans, true, &set);
	if (r < 0)
		return r;
	for (uint32_t span = 0; span < w->model->span_count && r == 0; span++) {
		uint32_t *slot = &b->said[span][said];

		if (!set[span])
			continue;
		if (*slot)
			r = contradiction(w, *slot - 1, number, span);
		*slot = number + 1;
	}
	free(set);
	return r;
}

static clew_time running(const struct clew_model *model, const struct clew_span *span)
{
	clew_time sum = 0;

	for (uint32_t i = 0; i < span->elementary.count; i++) {
		const struct clew_es *es = &model->es[span->elementary.first + i];

		sum += es->end - es->start;
	}
	return sum;
}

/* whether a/b < c/d; denominators positive. */
static bool less(__int128 a, int64_t b, __int128 c, int64_t d)
{
	return a * d < c * b;
}

static int make_rule(struct binding *b, uint32_t span, struct span_rule *rule)
{
	struct whatif *w = b->w;
	const struct statement *statements = w->program->statements;
	const uint32_t *said = b->said[span];
	struct factor f = said[SAID_SCALE] ? whatif_factor(w, &statements[said[SAID_SCALE] - 1])
					   : (struct factor){1, 1};
	clew_time above = said[SAID_ABOVE] ? statements[said[SAID_ABOVE] - 1].duration : INT64_MAX;
	clew_time below = said[SAID_BELOW] ? statements[said[SAID_BELOW] - 1].duration : 0;
	clew_time scaled;

	if (above < below)
		return contradiction(w,
				     said[SAID_ABOVE] < said[SAID_BELOW] ? said[SAID_ABOVE] - 1
									 : said[SAID_BELOW] - 1,
				     said[SAID_ABOVE] < said[SAID_BELOW] ? said[SAID_BELOW] - 1
									 : said[SAID_ABOVE] - 1,
				     span);
	if (f.numerator < 0)
		f.numerator = 0;
	*rule = (struct span_rule){
		.kind = RULE_FACTOR, .factor = f, .old = running(w->model, &w->model->spans[span])};
	if (said[SAID_CHANGE])
		rule->delta = statements[said[SAID_CHANGE] - 1].duration;
	if (whatif_multiply(rule->old, &f, &scaled) < 0)
		return -EOVERFLOW;
	/* old * factor + delta against the bounds, exactly: old * numerator and these fit into 127
	 * bits. */
	__int128 exact = (__int128)rule->old * f.numerator;
	__int128 low = (__int128)below - rule->delta, high = (__int128)above - rule->delta;

	if (low > 0 && low <= INT64_MAX && less(exact, f.denominator, low, 1)) {
		rule->kind = RULE_FIXED;
		rule->total = below;
	} else if (low > INT64_MAX) {
		rule->kind = RULE_FIXED;
		rule->total = below;
	} else if (above != INT64_MAX &&
		   (high < 0 || (high <= INT64_MAX && less(high, 1, exact, f.denominator)))) {
		rule->kind = RULE_FIXED;
		rule->total = above;
	}
	if (rule->old == 0) {
		rule->total = rule->kind == RULE_FIXED ? rule->total : rule->delta;
		rule->kind = RULE_EQUAL;
	}
	return 0;
}

static int bind_rules(struct binding *b)
{
	struct whatif *w = b->w;
	uint32_t capacity = 0;
	int r = 0;

	if (!b->said)
		return 0;
	w->rule_of = calloc((size_t)w->model->span_count + 1, sizeof(*w->rule_of));
	w->early = calloc((size_t)w->model->span_count + 1, 1);
	if (!w->rule_of || !w->early)
		return -ENOMEM;
	for (uint32_t span = 0; span < w->model->span_count && r == 0; span++) {
		const uint32_t *said = b->said[span];

		w->early[span] = said[SAID_START] != 0;
		if (!said[SAID_SCALE] && !said[SAID_CHANGE] && !said[SAID_ABOVE] &&
		    !said[SAID_BELOW])
			continue;
		if (w->rule_count == capacity) {
			struct span_rule *grown;

			capacity = capacity ? 2 * capacity : 16;
			grown = reallocarray(w->rules, capacity, sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			w->rules = grown;
		}
		r = make_rule(b, span, &w->rules[w->rule_count]);
		w->rule_of[span] = ++w->rule_count;
	}
	return r;
}

/* ---- edges, waits, gates ---- */

static int bind_types(struct whatif *w, const struct statement *s, uint8_t **ret_types)
{
	const char *text = w->program->text + s->types_at, *end = text + s->types_size;

	*ret_types = NULL;
	if (!s->types_size)
		return 0;
	*ret_types = calloc((size_t)w->model->type_count + 1, 1);
	if (!*ret_types)
		return -ENOMEM;
	for (const char *at = text; at <= end; at++) {
		const char *comma = memchr(at, ',', (size_t)(end - at)), *last = comma ?: end;
		bool known = false;

		at += strspn(at, " \t\r\n");
		while (last > at && strchr(" \t\r\n", last[-1]))
			last--;
		for (uint32_t type = 0; type < w->model->type_count; type++) {
			const char *name = clew_model_string(w->model, w->model->types[type]);

			if (last >= at && strlen(name) == (size_t)(last - at) &&
			    !memcmp(name, at, strlen(name)))
				(*ret_types)[type] = known = true;
		}
		if (!known)
			return whatif_fail(w, -EINVAL, (size_t)(at - w->program->text),
					   "the trace has no dependencies of such a type: see its "
					   "types with `clew dump`");
		at = comma ?: end;
	}
	return 0;
}

static int bind_edges(struct whatif *w, uint32_t number)
{
	const struct statement *s = &w->program->statements[number];
	struct bound *bound = reallocarray(w->edges, w->edge_count + 1, sizeof(*bound));
	int r;

	if (!bound)
		return -ENOMEM;
	w->edges = bound;
	bound += w->edge_count++;
	*bound = (struct bound){.statement = number};
	r = bind_types(w, s, &bound->types);
	if (r == 0 && s->spans)
		r = select_spans(w, s, s->spans, false, &bound->spans);
	return r < 0 ? r : select_spans(w, s, s->to, false, &bound->to);
}

static int bind_waits(struct whatif *w, uint32_t number)
{
	const struct statement *s = &w->program->statements[number];
	struct bound *bound = reallocarray(w->waits, w->wait_count + 1, sizeof(*bound));
	int r;

	if (!bound)
		return -ENOMEM;
	w->waits = bound;
	bound += w->wait_count++;
	*bound = (struct bound){.statement = number};
	r = select_spans(w, s, s->spans, true, &bound->spans);
	for (const struct bound *other = w->waits; r == 0 && other < bound; other++)
		for (uint32_t span = 0; span < w->model->span_count && r == 0; span++)
			if (other->spans[span] && bound->spans[span] &&
			    (w->program->statements[other->statement].kinds & s->kinds))
				r = contradiction(w, other->statement, number, span);
	return r;
}

static int bind_gate(struct whatif *w, uint32_t number)
{
	const struct statement *s = &w->program->statements[number];
	struct gate *gate = reallocarray(w->gates, w->gate_count + 1, sizeof(*gate));

	if (!gate)
		return -ENOMEM;
	w->gates = gate;
	gate += w->gate_count++;
	*gate = (struct gate){.limit = s->limit};
	return select_spans(w, s, s->spans, true, &gate->spans);
}

/* ---- added dependencies ---- */

static int add_end(struct whatif *w, const struct clew_position *position, bool destination)
{
	struct added_end *end;

	if (w->end_count == UINT32_MAX - 1)
		return -E2BIG;
	if (!(w->end_count & (w->end_count - 1))) {
		end = reallocarray(w->ends, w->end_count ? 2 * (size_t)w->end_count : 1,
				   sizeof(*end));
		if (!end)
			return -ENOMEM;
		w->ends = end;
	}
	w->ends[w->end_count++] = (struct added_end){
		.span = w->model->es[position->es].span,
		.dependency = w->added_count - 1,
		.at = position->at,
		.destination = destination,
	};
	return 0;
}

/* The first position of each span; only those of the first span, and no other, for an origin. */
static int bind_positions(struct whatif *w, const struct statement *s, bool destination)
{
	const struct clew_query_options options = {.hierarchy = w->options.hierarchy,
						   .only = w->options.only};
	struct clew_positions found = {};
	uint32_t spans = 0, before = CLEW_NONE;
	size_t at = destination ? s->to_at : s->spans_at;
	int r = clew_query_positions(destination ? s->to : s->spans, w->model, &options, &found);

	if (r < 0)
		return fail_query(w, s, r);
	for (size_t i = 0; i < found.count && r == 0; i++) {
		uint32_t span = w->model->es[found.items[i].es].span;

		if (span == before)
			continue;
		before = span;
		if (++spans > 1 && !destination)
			r = whatif_fail(w, -EINVAL, at,
					"the dependency would come from several spans: choose one");
		else
			r = add_end(w, &found.items[i], destination);
	}
	if (r == 0 && spans == 0)
		r = whatif_fail(
			w, -EINVAL, at,
			"the trace has no such moment: see what there is with `clew select`");
	if (destination)
		count_match(w, s, spans);
	clew_positions_done(&found);
	return r;
}

static int bind_added(struct whatif *w, uint32_t number)
{
	const struct statement *s = &w->program->statements[number];
	struct added *added = reallocarray(w->added, w->added_count + 1, sizeof(*added));
	int r;

	if (!added)
		return -ENOMEM;
	w->added = added;
	added += w->added_count++;
	*added = (struct added){.type = s->types_size ? CLEW_NONE : CLEW_DEPENDENCY_CALL,
				.statement = number,
				.delay = s->duration};
	for (uint32_t type = 0; type < w->model->type_count && s->types_size; type++) {
		const char *name = clew_model_string(w->model, w->model->types[type]);

		if (strlen(name) == s->types_size &&
		    !memcmp(name, w->program->text + s->types_at, s->types_size))
			added->type = type;
	}
	r = bind_positions(w, s, false);
	return r < 0 ? r : bind_positions(w, s, true);
}

/* ---- resources ---- */

static int disagree(struct whatif *w, const struct statement *a, const struct statement *b)
{
	return whatif_fail(w, -EINVAL, b->offset, "'%.*s' contradicts '%.*s': leave out one",
			   (int)(b->size < 46 ? b->size : 46), w->program->text + b->offset,
			   (int)(a->size < 46 ? a->size : 46), w->program->text + a->offset);
}

static int bind_resources(struct whatif *w, uint32_t number)
{
	const struct statement *s = &w->program->statements[number];

	for (uint32_t i = 0; i < number && s->kind == STATEMENT_CPUS; i++)
		if (w->program->statements[i].kind == STATEMENT_CPUS)
			return disagree(w, &w->program->statements[i], s);
	w->resources |= s->resources;
	if (s->kind == STATEMENT_CPUS) {
		w->cpu_count = (uint32_t)s->limit;
		w->slice = s->duration ? s->duration : WHATIF_SLICE;
	}
	return s->spans ? select_spans(w, s, s->spans, true, &w->on_cpus) : 0;
}

/* As many CPUs as the trace has, where nothing else is said. */
static int count_cpus(struct whatif *w)
{
	uint32_t cpus = hierarchy_named(w->model, "cpus");

	if (!(w->resources & RESOURCE_CPUS) || w->cpu_count)
		return 0;
	w->slice = WHATIF_SLICE;
	for (uint32_t root = w->model->first_root; root != CLEW_NONE && cpus != CLEW_NONE;
	     root = w->model->spans[root].next_sibling)
		w->cpu_count += clew_model_category_of(w->model, root, cpus) != CLEW_NONE;
	for (uint32_t i = 0; i < w->program->count && !w->cpu_count; i++) {
		const struct statement *s = &w->program->statements[i];

		if (s->resources & RESOURCE_CPUS)
			return whatif_fail(w, -EINVAL, s->offset,
					   "the trace has no CPUs: say how many, as set cpus to 4");
	}
	return 0;
}

int whatif_bind(struct whatif *w)
{
	struct binding binding = {.w = w};
	int r = 0;

	w->earliest = INT64_MAX;
	for (uint32_t span = 0; span < w->model->span_count; span++)
		if (w->model->spans[span].start < w->earliest)
			w->earliest = w->model->spans[span].start;
	for (uint32_t i = 0; i < w->program->count && r == 0; i++) {
		switch (w->program->statements[i].kind) {
		case STATEMENT_SCALE_SPANS:
			r = bind_said(&binding, i, SAID_SCALE);
			break;
		case STATEMENT_CHANGE_SPANS:
			r = bind_said(&binding, i, SAID_CHANGE);
			break;
		case STATEMENT_CAP_ABOVE:
			r = bind_said(&binding, i, SAID_ABOVE);
			break;
		case STATEMENT_CAP_BELOW:
			r = bind_said(&binding, i, SAID_BELOW);
			break;
		case STATEMENT_START:
			r = bind_said(&binding, i, SAID_START);
			break;
		case STATEMENT_WAITS:
			r = bind_waits(w, i);
			break;
		case STATEMENT_CONCURRENCY:
			r = bind_gate(w, i);
			break;
		case STATEMENT_SCALE_DEPENDENCIES:
		case STATEMENT_SHRINK:
		case STATEMENT_REMOVE:
			r = bind_edges(w, i);
			break;
		case STATEMENT_ADD:
			r = bind_added(w, i);
			break;
		case STATEMENT_CPUS:
		case STATEMENT_SIMULATE:
			r = bind_resources(w, i);
			break;
		case STATEMENT_RENAME_SPANS:
		case STATEMENT_RENAME_CATEGORIES:
			break;
		}
	}
	if (r == 0)
		r = count_cpus(w);
	if (r == 0)
		r = bind_rules(&binding);
	free(binding.said);
	return r;
}
