/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What-if programs: exact arithmetic, and one application from its beginning to its end.
 */
#include <stdarg.h>
#include <stdio.h>

#include "analyse/whatif/cpus.h"
#include "analyse/whatif/queues.h"

void clew_program_free(struct clew_program *program)
{
	if (!program)
		return;
	for (uint32_t i = 0; i < program->count; i++) {
		clew_query_free(program->statements[i].spans);
		clew_query_free(program->statements[i].to);
		free(program->statements[i].name);
	}
	free(program->statements);
	free(program->text);
	free(program);
}

uint32_t clew_program_count(const struct clew_program *program)
{
	return program->count;
}

void clew_program_statement(const struct clew_program *program, uint32_t statement,
			    size_t *ret_offset, size_t *ret_size)
{
	*ret_offset = program->statements[statement].offset;
	*ret_size = program->statements[statement].size;
}

static const struct statement *sweeping(const struct clew_program *program)
{
	for (uint32_t i = 0; i < program->count; i++)
		if (program->statements[i].sweeps)
			return &program->statements[i];
	return NULL;
}

bool clew_program_sweeps(const struct clew_program *program)
{
	return sweeping(program) != NULL;
}

static double between(const struct statement *s, uint32_t step, uint32_t steps)
{
	double from = (double)s->factor.numerator / (double)s->factor.denominator;
	double to = (double)s->factor_to.numerator / (double)s->factor_to.denominator;

	return steps ? from + (to - from) * step / steps : from;
}

double clew_program_factor(const struct clew_program *program, uint32_t step, uint32_t steps)
{
	const struct statement *s = sweeping(program);

	return s ? between(s, step, steps) : 1;
}

struct factor whatif_factor(const struct whatif *w, const struct statement *statement)
{
	enum { DIGITS = 1000000000 };
	double value;

	if (!statement->sweeps || w->options.step == 0 || w->options.steps == 0)
		return statement->factor;
	if (w->options.step == w->options.steps)
		return statement->factor_to;
	value = between(statement, w->options.step, w->options.steps);
	if (value > 1e9)
		return (struct factor){.numerator = (int64_t)(value < 9e18 ? value : 9e18),
				       .denominator = 1};
	return (struct factor){.numerator = value > 0 ? (int64_t)(value * DIGITS + .5) : 0,
			       .denominator = DIGITS};
}

int whatif_multiply(clew_time x, const struct factor *factor, clew_time *ret_product)
{
	__int128 product;
	int64_t small;

	if (!__builtin_mul_overflow(x, factor->numerator, &small) && small >= 0) {
		*ret_product = small / factor->denominator;
		return 0;
	}
	product = (__int128)x * factor->numerator;
	if (product < 0)
		product -= factor->denominator - 1;
	product /= factor->denominator;
	*ret_product = (clew_time)product;
	return product == *ret_product ? 0 : -EOVERFLOW;
}

int whatif_length(const struct span_rule *rule, clew_time length, uint32_t es_count,
		  clew_time *ret_length)
{
	const struct factor share = {.numerator =
					     rule->kind == RULE_FACTOR ? rule->delta : rule->total,
				     .denominator = rule->old};
	clew_time scaled, delta;
	__uint128_t rest;

	if (rule->kind == RULE_EQUAL) {
		*ret_length = rule->total / es_count;
		return 0;
	}
	if (rule->kind == RULE_FIXED)
		return whatif_multiply(length, &share, ret_length);
	if (whatif_multiply(length, &rule->factor, &scaled) < 0)
		return -EOVERFLOW;
	*ret_length = scaled;
	if (rule->delta == 0)
		return 0;
	if (whatif_multiply(length, &share, &delta) < 0)
		return -EOVERFLOW;
	/* Both were rounded down; what was cut off may be one more together. */
	rest = (__uint128_t)((__int128)length * rule->factor.numerator -
			     (__int128)scaled * rule->factor.denominator) *
		       (uint64_t)rule->old +
	       (__uint128_t)((__int128)length * rule->delta - (__int128)delta * rule->old) *
		       (uint64_t)rule->factor.denominator;
	if (__builtin_add_overflow(scaled, delta, ret_length))
		return -EOVERFLOW;
	*ret_length +=
		rest >= (__uint128_t)(uint64_t)rule->old * (uint64_t)rule->factor.denominator;
	return 0;
}

int whatif_fail(struct whatif *w, int r, size_t offset, const char *format, ...)
{
	va_list arguments;

	w->error->offset = offset;
	va_start(arguments, format);
	vsnprintf(w->error->message, sizeof(w->error->message), format, arguments);
	va_end(arguments);
	return r;
}

void whatif_count(struct whatif *w, uint32_t resource, uint64_t count)
{
	for (uint32_t i = 0; i < w->program->count && w->options.matches; i++)
		if (w->program->statements[i].resources & resource &&
		    !w->program->statements[i].spans)
			w->options.matches[i] += count;
}

static void done(struct whatif *w)
{
	cpus_done(w);
	queues_done(w);
	free(w->on_cpus);
	free(w->moved);
	free(w->cut_before);
	for (uint32_t i = 0; i < w->wait_count; i++)
		free(w->waits[i].spans);
	for (uint32_t i = 0; i < w->edge_count; i++) {
		free(w->edges[i].spans);
		free(w->edges[i].to);
		free(w->edges[i].types);
	}
	for (uint32_t i = 0; i < w->gate_count; i++) {
		free(w->gates[i].spans);
		free(w->gates[i].parked);
	}
	free(w->rule_of);
	free(w->rules);
	free(w->early);
	free(w->waits);
	free(w->edges);
	free(w->gates);
	free(w->added);
	free(w->ends);
	free(w->base_es);
	free(w->base_spans);
	free(w->base_dependencies);
	free(w->base_origins);
	free(w->base_destinations);
	vector_done(&w->es_memory);
	free(w->state);
	free(w->fate);
	free(w->changed);
	free(w->left);
	free(w->latest);
	free(w->heap);
}

int clew_what_if(const struct clew_model *model, const struct clew_program *program,
		 const struct clew_what_if_options *options, struct clew_model **ret_model,
		 struct clew_what_if *ret_result, struct clew_query_error *ret_error)
{
	struct whatif w = {.model = model, .program = program, .error = ret_error};
	int r;

	if (options)
		w.options = *options;
	else
		w.options.hierarchy = model->hierarchy_count ? 0 : CLEW_NONE;
	if (w.options.matches)
		memset(w.options.matches, 0, program->count * sizeof(*w.options.matches));
	r = whatif_bind(&w);
	if (r == 0)
		r = whatif_sections(&w);
	if (r == 0)
		r = whatif_split(&w);
	if (r == 0)
		r = whatif_simulate(&w);
	if (r == 0 && ret_model)
		r = whatif_result(&w, ret_model);
	if (r == 0)
		*ret_result = w.result;
	done(&w);
	return r;
}
