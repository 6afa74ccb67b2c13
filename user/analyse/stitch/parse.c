/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The text of a stitching. docs/stitch.md has the grammar.
 */
#include <ctype.h>

#include "analyse/program_text.h"
#include "analyse/stitch/internal.h"

void clew_stitching_free(struct clew_stitching *program)
{
	if (!program)
		return;
	for (uint32_t i = 0; i < program->count; i++) {
		struct stitch_statement *s = &program->statements[i];
		struct stitch_side *sides = s->sides.data;

		for (size_t j = 0; j < s->sides.count; j++) {
			clew_query_free(sides[j].query);
			regex_free(sides[j].regex);
		}
		vector_done(&s->sides);
		free(s->type);
		free(s->key);
	}
	free(program->statements);
	free(program->text);
	free(program);
}

uint32_t clew_stitching_count(const struct clew_stitching *program)
{
	return program->count;
}

void clew_stitching_statement(const struct clew_stitching *program, uint32_t statement,
			      size_t *ret_offset, size_t *ret_size)
{
	*ret_offset = program->statements[statement].offset;
	*ret_size = program->statements[statement].size;
}

static struct stitch_side *new_side(struct stitch_statement *s)
{
	struct stitch_side *side;

	if (vector_reserve(&s->sides, s->sides.count + 1) < 0)
		return NULL;
	side = (struct stitch_side *)s->sides.data + s->sides.count++;
	*side = (struct stitch_side){.trace = CLEW_NONE};
	return side;
}

/* [of N] */
static int parse_of(struct program_text *p, struct stitch_side *side)
{
	uint32_t number = 0;
	int r = program_skip(p);

	if (r < 0 || !program_take(p, "of"))
		return r;
	r = program_skip(p);
	side->trace_at = p->at;
	for (; r == 0 && p->at < p->size && isdigit((unsigned char)p->text[p->at]) &&
	       number <= CLEW_STITCH_MOST_TRACES;
	     p->at++)
		number = number * 10 + (uint32_t)(p->text[p->at] - '0');
	if (r == 0 && (number == 0 || number > CLEW_STITCH_MOST_TRACES))
		r = program_fail(p, side->trace_at, "no number of a trace: write one from 1 on");
	side->trace = number - 1;
	return r;
}

/* position(P) [of N], .. */
static int parse_positions(struct program_text *p, struct stitch_statement *s)
{
	int r;

	for (;;) {
		struct stitch_side *side = new_side(s);
		size_t at;
		bool several;

		if (!side)
			return -ENOMEM;
		r = program_skip(p);
		if (r < 0)
			return r;
		at = p->at;
		several = program_take(p, "positions");
		p->at = at;
		r = program_query(p, several ? "positions" : "position", true, &side->query,
				  &side->at);
		if (r == 0)
			r = parse_of(p, side);
		if (r == 0)
			r = program_skip(p);
		if (r < 0 || p->at == p->size || p->text[p->at] != ',')
			return r;
		p->at++;
	}
}

static int parse_type(struct program_text *p, struct stitch_statement *s)
{
	int r = program_want(p, "dependency");
	struct program_part part;

	if (r == 0)
		r = program_trimmed(p, &part);
	if (r < 0)
		return r;
	if (!part.size || memchr(p->text + part.from, ',', part.size) ||
	    memchr(p->text + part.from, '\0', part.size))
		return program_fail(p, part.from, "not one type: name one");
	s->type = strndup(p->text + part.from, part.size);
	return s->type ? 0 : -ENOMEM;
}

static int parse_add(struct program_text *p, struct stitch_statement *s)
{
	int r = program_skip(p);

	s->kind = STITCH_ADD;
	if (r < 0)
		return r;
	if (program_take(p, "and"))
		s->mode = CLEW_MODE_AND;
	else if (program_take(p, "or"))
		s->mode = CLEW_MODE_OR;
	r = parse_type(p, s);
	if (r == 0)
		r = program_want(p, "from");
	if (r == 0)
		r = parse_positions(p, s);
	s->origin_sides = s->sides.count;
	if (r == 0)
		r = program_want(p, "to");
	return r < 0 ? r : parse_positions(p, s);
}

/* marks(EXPRESSION) [of N] */
static int parse_marks(struct program_text *p, struct stitch_statement *s,
		       struct program_part *ret_part)
{
	struct stitch_side *side = new_side(s);
	char message[120];
	size_t wrong = 0;
	int r = side ? program_want(p, "marks") : -ENOMEM;

	if (r == 0)
		r = program_inside(p, ret_part);
	if (r < 0)
		return r;
	side->at = ret_part->from;
	r = regex_compile_groups(p->text + ret_part->from, ret_part->size, &side->regex, &wrong,
				 message, sizeof(message));
	if (r == -EINVAL)
		return program_fail(p, ret_part->from + wrong, "%s", message);
	if (r < 0)
		return r;
	side->group = regex_group_named(side->regex, "key");
	if (!side->group && regex_group_count(side->regex))
		side->group = 1;
	return parse_of(p, side);
}

static int parse_match(struct program_text *p, struct stitch_statement *s)
{
	struct program_part from, to;
	int r = parse_type(p, s);

	s->kind = STITCH_MATCH;
	if (r == 0)
		r = program_want(p, "from");
	if (r == 0)
		r = parse_marks(p, s, &from);
	s->origin_sides = 1;
	if (r == 0)
		r = program_want(p, "to");
	if (r == 0)
		r = parse_marks(p, s, &to);
	if (r == 0)
		s->one_expression = from.size == to.size &&
				    !memcmp(p->text + from.from, p->text + to.from, from.size);
	return r;
}

static int parse_join(struct program_text *p, struct stitch_statement *s)
{
	int r = program_types(p, "dependencies", &s->types_at, &s->types_size);

	s->kind = STITCH_JOIN;
	if (r == 0)
		r = program_want(p, "by");
	return r < 0 ? r : program_name(p, "key", &s->key);
}

static int parse_statement(struct program_text *p, struct clew_stitching *program)
{
	static const struct {
		const char *word;
		int (*parse)(struct program_text *p, struct stitch_statement *s);
	} kinds[] = {{"add", parse_add}, {"match", parse_match}, {"join", parse_join}};
	struct stitch_statement *s =
		reallocarray(program->statements, program->count + 1, sizeof(*s));
	int r = -ENOENT;

	if (!s)
		return -ENOMEM;
	program->statements = s;
	s += program->count++;
	*s = (struct stitch_statement){.offset = p->at, .sides.item = sizeof(struct stitch_side)};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && r == -ENOENT; i++)
		if (program_take(p, kinds[i].word))
			r = kinds[i].parse(p, s);
	if (r == -ENOENT)
		return program_fail(p, p->at, "no statement: begin with add, match or join");
	s->size = p->at - s->offset;
	return r < 0 ? r : program_end_statement(p);
}

int clew_stitching_compile(const char *text, size_t size, struct clew_stitching **ret_program,
			   struct clew_query_error *ret_error)
{
	struct clew_stitching *program = calloc(1, sizeof(*program));
	struct program_text p = {.size = size, .error = ret_error};
	int r;

	if (!program)
		return -ENOMEM;
	program->text = malloc(size + 1);
	if (!program->text) {
		clew_stitching_free(program);
		return -ENOMEM;
	}
	if (size)
		memcpy(program->text, text, size);
	program->text[size] = '\0';
	program->size = size;
	p.text = program->text;
	for (r = program_skip(&p); r == 0 && p.at < size;)
		r = parse_statement(&p, program);
	if (r < 0) {
		clew_stitching_free(program);
		return r;
	}
	*ret_program = program;
	return 0;
}
