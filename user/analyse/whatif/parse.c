/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The text of a what-if program. docs/what-if.md has the grammar. An error is at the
 * byte of the text where it goes wrong, also inside of a pattern.
 */
#include <clew/tokens.h>
#include <ctype.h>

#include "analyse/program_text.h"
#include "analyse/whatif/internal.h"

struct parser {
	struct program_text t;
	struct clew_program *program;
	bool sweep;
};

/* ---- what stands in parentheses ---- */

static int take_duration(struct parser *p, bool negative, clew_time *ret_duration)
{
	struct program_part inside;
	size_t wrong = 0;
	int r = program_want(&p->t, "duration");

	if (r == 0)
		r = program_trimmed(&p->t, &inside);
	if (r < 0)
		return r;
	if (clew_duration_parse(p->t.text + inside.from, inside.size, ret_duration, &wrong) < 0)
		return program_fail(&p->t, inside.from + wrong,
				    "no duration: write numbers with units, as 1.5ms");
	if (*ret_duration < 0 && !negative)
		return program_fail(&p->t, inside.from,
				    "a duration less than nothing: write a positive one");
	return 0;
}

static int take_kinds(struct parser *p, uint64_t *ret_kinds)
{
	struct program_part inside;
	int r = program_skip(&p->t);

	*ret_kinds = UINT64_MAX;
	if (r < 0 || p->t.at == p->t.size || p->t.text[p->t.at] != '(')
		return r;
	r = program_inside(&p->t, &inside);
	*ret_kinds = 0;
	for (size_t at = inside.from, end = inside.from + inside.size; r == 0 && at <= end;) {
		size_t first, last;
		bool known = false;

		while (at < end && isspace((unsigned char)p->t.text[at]))
			at++;
		for (first = at; at < end && p->t.text[at] != ',';)
			at++;
		for (last = at++; last > first && isspace((unsigned char)p->t.text[last - 1]);)
			last--;
		for (unsigned kind = 0; kind < CLEW_SEGMENT_KIND_COUNT; kind++) {
			const char *name = clew_wait_kind_name(kind);

			if (strlen(name) == last - first &&
			    !memcmp(name, p->t.text + first, last - first)) {
				*ret_kinds |= UINT64_C(1) << kind;
				known = true;
			}
		}
		if (!known)
			r = program_fail(&p->t, first,
					 "no kind of wait: write one, as sleep or futex");
	}
	return r;
}

static int take_limit(struct parser *p, uint64_t *ret_limit)
{
	struct program_part inside;
	uint64_t value = 0;
	int r = program_want(&p->t, "concurrency");

	if (r == 0)
		r = program_inside(&p->t, &inside);
	if (r < 0)
		return r;
	for (size_t i = 0; i < inside.size; i++) {
		char c = p->t.text[inside.from + i];

		if (isspace((unsigned char)c))
			continue;
		if (!isdigit((unsigned char)c) || value > UINT32_MAX)
			value = UINT64_MAX;
		else
			value = value * 10 + (uint64_t)(c - '0');
	}
	if (value == 0 || value > UINT32_MAX)
		return program_fail(&p->t, inside.open,
				    "no number of spans at once: write a whole number from 1 on");
	*ret_limit = value;
	return 0;
}

/* ---- factors ---- */

static bool scale_by_ten(int64_t *value)
{
	return !__builtin_mul_overflow(*value, 10, value) && *value < INT64_MAX / 4;
}

static int fail_too_large(struct parser *p, size_t begin)
{
	return program_fail(&p->t, begin, "the factor is too large: write a smaller one");
}

static int fail_no_number(struct parser *p, size_t begin)
{
	return program_fail(&p->t, begin, "no number: write a factor, as .5 or 2");
}

/* Takes a sign, if one stands here. True: it is a minus. */
static bool take_minus(struct program_text *t)
{
	return t->at < t->size && (t->text[t->at] == '-' || t->text[t->at] == '+') &&
	       t->text[t->at++] == '-';
}

/* Digits, perhaps with a point. Two points belong to a range. Digits behind the point that are
 * beyond what 64 bits hold are dropped. */
static int take_digits(struct parser *p, size_t begin, struct factor *f)
{
	struct program_text *t = &p->t;
	bool digits = false, point = false;

	for (; t->at < t->size; t->at++) {
		char c = t->text[t->at];

		if (c == '.' && !point && !(t->at + 1 < t->size && t->text[t->at + 1] == '.')) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)c))
			break;
		digits = true;
		if (f->numerator < INT64_MAX / 100 && f->denominator < INT64_MAX / 100) {
			f->numerator = f->numerator * 10 + (c - '0');
			f->denominator *= point ? 10 : 1;
		} else if (!point) {
			return fail_too_large(p, begin);
		}
	}
	return digits ? 0 : fail_no_number(p, begin);
}

static int take_exponent(struct parser *p, size_t begin, long *ret_exponent)
{
	struct program_text *t = &p->t;
	bool digits = false, minus;

	*ret_exponent = 0;
	if (t->at == t->size || (t->text[t->at] != 'e' && t->text[t->at] != 'E'))
		return 0;
	t->at++;
	minus = take_minus(t);
	for (; t->at < t->size && isdigit((unsigned char)t->text[t->at]); t->at++) {
		digits = true;
		if (*ret_exponent < 1000)
			*ret_exponent = *ret_exponent * 10 + (t->text[t->at] - '0');
	}
	if (!digits)
		return fail_no_number(p, begin);
	*ret_exponent = minus ? -*ret_exponent : *ret_exponent;
	return 0;
}

/* A decimal number, exactly as far as 64 bits hold it. */
static int take_number(struct parser *p, struct factor *ret_factor)
{
	struct factor f = {.numerator = 0, .denominator = 1};
	size_t begin = p->t.at;
	bool negative = take_minus(&p->t);
	long exponent = 0;
	int r = take_digits(p, begin, &f);

	if (r == 0)
		r = take_exponent(p, begin, &exponent);
	if (r < 0)
		return r;
	while (f.numerator && f.denominator > 1 && f.numerator % 10 == 0) {
		f.numerator /= 10;
		f.denominator /= 10;
	}
	for (; f.numerator && exponent > 0; exponent--) {
		if (f.denominator > 1)
			f.denominator /= 10;
		else if (!scale_by_ten(&f.numerator))
			return fail_too_large(p, begin);
	}
	for (; f.numerator && exponent < 0; exponent++)
		if (!scale_by_ten(&f.denominator))
			f = (struct factor){.numerator = 0, .denominator = 1};
	f.numerator = negative ? -f.numerator : f.numerator;
	*ret_factor = f;
	return 0;
}

static int take_factor(struct parser *p, struct statement *s)
{
	size_t begin;
	int r = program_want(&p->t, "by");

	if (r == 0)
		r = program_skip(&p->t);
	begin = p->t.at;
	if (r == 0)
		r = take_number(p, &s->factor);
	if (r == 0 && p->sweep && p->t.size - p->t.at > 1 && p->t.text[p->t.at] == '.' &&
	    p->t.text[p->t.at + 1] == '.') {
		p->t.at += 2;
		s->sweeps = true;
		r = take_number(p, &s->factor_to);
	}
	if (r == 0)
		r = program_skip(&p->t);
	if (r == 0 && p->t.at < p->t.size && p->t.text[p->t.at] != ';')
		r = program_fail(&p->t, begin,
				 "no number: write a factor, as .5 or 2, and a semicolon");
	return r;
}

/* ---- statements ---- */

/* [after duration(D)] */
static int take_after(struct parser *p, struct statement *s)
{
	int r = program_skip(&p->t);

	return r == 0 && program_take(&p->t, "after") ? take_duration(p, false, &s->duration) : r;
}

static int take_ends(struct parser *p, struct statement *s)
{
	int r = program_types(&p->t, "dependencies", &s->types_at, &s->types_size);

	if (r == 0)
		r = program_want(&p->t, "from");
	if (r == 0)
		r = program_query(&p->t, "spans", false, &s->spans, &s->spans_at);
	if (r == 0)
		r = program_want(&p->t, "to");
	return r < 0 ? r : program_query(&p->t, "spans", false, &s->to, &s->to_at);
}

static int parse_scale(struct parser *p, struct statement *s)
{
	size_t at;
	int r = program_skip(&p->t);

	if (r < 0)
		return r;
	at = p->t.at;
	if (program_take(&p->t, "dependencies")) {
		p->t.at = at;
		s->kind = STATEMENT_SCALE_DEPENDENCIES;
		r = take_ends(p, s);
	} else if (program_take(&p->t, "waits")) {
		s->kind = STATEMENT_WAITS;
		r = take_kinds(p, &s->kinds);
		r = r < 0 ? r : program_query(&p->t, "spans", false, &s->spans, &s->spans_at);
	} else {
		s->kind = STATEMENT_SCALE_SPANS;
		r = program_query(&p->t, "spans", false, &s->spans, &s->spans_at);
	}
	return r < 0 ? r : take_factor(p, s);
}

static int parse_add(struct parser *p, struct statement *s)
{
	int r = program_types(&p->t, "dependency", &s->types_at, &s->types_size);

	s->kind = STATEMENT_ADD;
	if (r == 0 && memchr(p->t.text + s->types_at, ',', s->types_size))
		r = program_fail(&p->t, s->types_at, "several types: name one");
	if (r == 0)
		r = program_want(&p->t, "from");
	if (r == 0)
		r = program_query(&p->t, "position", true, &s->spans, &s->spans_at);
	if (r == 0)
		r = program_want(&p->t, "to");
	if (r == 0)
		r = program_query(&p->t, "positions", true, &s->to, &s->to_at);
	return r < 0 ? r : take_after(p, s);
}

static int parse_shrink(struct parser *p, struct statement *s)
{
	int r = program_want(&p->t, "nonblocking");

	s->kind = STATEMENT_SHRINK;
	if (r == 0)
		r = program_types(&p->t, "dependencies", &s->types_at, &s->types_size);
	if (r == 0)
		r = program_want(&p->t, "to");
	if (r == 0)
		r = program_query(&p->t, "spans", false, &s->to, &s->to_at);
	return r < 0 ? r : take_after(p, s);
}

static int parse_remove(struct parser *p, struct statement *s)
{
	s->kind = STATEMENT_REMOVE;
	return take_ends(p, s);
}

static int parse_apply(struct parser *p, struct statement *s)
{
	int r = take_limit(p, &s->limit);

	s->kind = STATEMENT_CONCURRENCY;
	if (r == 0)
		r = program_want(&p->t, "to");
	return r < 0 ? r : program_query(&p->t, "spans", false, &s->spans, &s->spans_at);
}

static int parse_start(struct parser *p, struct statement *s)
{
	static const char *const words[] = {"as", "early", "as", "possible"};
	int r = program_query(&p->t, "spans", false, &s->spans, &s->spans_at);

	s->kind = STATEMENT_START;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && r == 0; i++)
		r = program_want(&p->t, words[i]);
	return r;
}

static int parse_change(struct parser *p, struct statement *s)
{
	int r = program_query(&p->t, "spans", false, &s->spans, &s->spans_at);

	s->kind = STATEMENT_CHANGE_SPANS;
	if (r == 0)
		r = program_want(&p->t, "by");
	return r < 0 ? r : take_duration(p, true, &s->duration);
}

static int parse_cap(struct parser *p, struct statement *s)
{
	int r = program_query(&p->t, "spans", false, &s->spans, &s->spans_at);

	if (r == 0)
		r = program_skip(&p->t);
	if (r < 0)
		return r;
	if (program_take(&p->t, "above"))
		s->kind = STATEMENT_CAP_ABOVE;
	else if (program_take(&p->t, "below"))
		s->kind = STATEMENT_CAP_BELOW;
	else
		return program_fail(&p->t, p->t.at,
				    "neither 'above' nor 'below': write one of them");
	return take_duration(p, false, &s->duration);
}

static int parse_drop(struct parser *p, struct statement *s)
{
	int r = program_want(&p->t, "waits");

	s->kind = STATEMENT_WAITS;
	s->factor = (struct factor){.numerator = 0, .denominator = 1};
	if (r == 0)
		r = take_kinds(p, &s->kinds);
	return r < 0 ? r : program_query(&p->t, "spans", false, &s->spans, &s->spans_at);
}

static int parse_rename(struct parser *p, struct statement *s)
{
	size_t at;
	int r = program_skip(&p->t);

	if (r < 0)
		return r;
	at = p->t.at;
	s->kind = program_take(&p->t, "categories") ? STATEMENT_RENAME_CATEGORIES
						    : STATEMENT_RENAME_SPANS;
	p->t.at = at;
	r = program_query(&p->t, s->kind == STATEMENT_RENAME_SPANS ? "spans" : "categories", false,
			  &s->spans, &s->spans_at);
	if (r == 0)
		r = program_want(&p->t, "to");
	return r < 0 ? r : program_name(&p->t, "name", &s->name);
}

/* set cpus to N [for spans(P)] [slice duration(D)] */
static int parse_set(struct parser *p, struct statement *s)
{
	struct program_text *t = &p->t;
	size_t begin;
	int r = program_want(t, "cpus");

	if (r == 0)
		r = program_want(t, "to");
	if (r == 0)
		r = program_skip(t);
	if (r < 0)
		return r;
	s->kind = STATEMENT_CPUS;
	s->resources = RESOURCE_CPUS;
	for (begin = t->at; t->at < t->size && isdigit((unsigned char)t->text[t->at]); t->at++)
		s->limit = s->limit <= UINT32_MAX ? s->limit * 10 + (uint64_t)(t->text[t->at] - '0')
						  : s->limit;
	if (s->limit == 0 || s->limit >= CLEW_NONE)
		return program_fail(t, begin, "no number of CPUs: write a whole number from 1 on");
	r = program_skip(t);
	if (r == 0 && program_take(t, "for")) {
		r = program_query(t, "spans", false, &s->spans, &s->spans_at);
		if (r == 0)
			r = program_skip(t);
	}
	if (r < 0 || !program_take(t, "slice"))
		return r;
	begin = t->at;
	r = take_duration(p, false, &s->duration);
	return r < 0 || s->duration
		       ? r
		       : program_fail(t, begin, "a slice of nothing: write a duration, as 1ms");
}

/* simulate cpus, locks, devices */
static int parse_simulate(struct parser *p, struct statement *s)
{
	static const struct {
		const char *word;
		uint32_t resource;
	} words[] = {
		{"cpus", RESOURCE_CPUS}, {"locks", RESOURCE_LOCKS}, {"devices", RESOURCE_DEVICES}};
	struct program_text *t = &p->t;
	int r;

	s->kind = STATEMENT_SIMULATE;
	do {
		uint32_t resource = 0;

		r = program_skip(t);
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && r == 0 && !resource; i++)
			if (program_take(t, words[i].word))
				resource = words[i].resource;
		if (r == 0 && !resource)
			r = program_fail(t, t->at, "no resource: write cpus, locks or devices");
		s->resources |= resource;
		if (r == 0)
			r = program_skip(t);
	} while (r == 0 && t->at < t->size && t->text[t->at] == ',' && t->at++);
	return r;
}

static const struct {
	const char *word;
	int (*parse)(struct parser *p, struct statement *s);
} statements[] = {
	{"scale", parse_scale},	  {"change", parse_change}, {"cap", parse_cap},
	{"start", parse_start},	  {"apply", parse_apply},   {"drop", parse_drop},
	{"rename", parse_rename}, {"shrink", parse_shrink}, {"add", parse_add},
	{"remove", parse_remove}, {"set", parse_set},	    {"simulate", parse_simulate},
};

static int parse_statement(struct parser *p)
{
	struct clew_program *program = p->program;
	struct statement *s = reallocarray(program->statements, program->count + 1, sizeof(*s));
	int r = -ENOENT;

	if (!s)
		return -ENOMEM;
	program->statements = s;
	s += program->count++;
	*s = (struct statement){.offset = p->t.at, .factor = {.denominator = 1}};
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && r == -ENOENT; i++)
		if (program_take(&p->t, statements[i].word))
			r = statements[i].parse(p, s);
	if (r == -ENOENT)
		return program_fail(&p->t, p->t.at,
				    "no statement: begin with scale, change, cap, start, apply, "
				    "drop, rename, shrink, add, remove, set or simulate");
	s->size = p->t.at - s->offset;
	return r < 0 ? r : program_end_statement(&p->t);
}

int clew_program_compile(const char *text, size_t size, bool sweep,
			 struct clew_program **ret_program, struct clew_query_error *ret_error)
{
	struct clew_program *program = calloc(1, sizeof(*program));
	struct parser parser = {.t = {.text = text, .size = size, .error = ret_error},
				.program = program,
				.sweep = sweep};
	int r;

	if (!program)
		return -ENOMEM;
	program->text = malloc(size + 1);
	if (!program->text) {
		clew_program_free(program);
		return -ENOMEM;
	}
	if (size)
		memcpy(program->text, text, size);
	program->text[size] = '\0';
	program->size = size;
	for (r = program_skip(&parser.t); r == 0 && parser.t.at < size;)
		r = parse_statement(&parser);
	if (r < 0) {
		clew_program_free(program);
		return r;
	}
	*ret_program = program;
	return 0;
}
