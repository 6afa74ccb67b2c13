/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A compiled what-if program, and the factors of its statements.
 */
#include "analyse/whatif/internal.h"

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
