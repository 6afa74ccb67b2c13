// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The text of a what-if program. docs/what-if.md has the grammar. An error is at the
 * byte of the text where it goes wrong, also inside of a pattern.
 */
#include <clew/tokens.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "whatif_internal.h"

struct parser {
	struct clew_program *program;
	const char *text;
	size_t size, at;
	bool sweep;
	struct clew_query_error *error;
};

/* What stands between parentheses. */
struct inside {
	size_t open;
	size_t from, size;
};

__attribute__((format(printf, 3, 4))) static int fail(struct parser *p, size_t at, const char *format, ...)
{
	va_list arguments;

	p->error->offset = at;
	va_start(arguments, format);
	vsnprintf(p->error->message, sizeof(p->error->message), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* ---- words ---- */

static int skip(struct parser *p)
{
	while (p->at < p->size) {
		const char *rest = p->text + p->at;
		size_t left = p->size - p->at;

		if (isspace((unsigned char)*rest)) {
			p->at++;
		} else if (*rest == '#' || (left > 1 && rest[0] == '/' && rest[1] == '/')) {
			const char *end = memchr(rest, '\n', left);

			p->at = end ? (size_t)(end - p->text) : p->size;
		} else if (left > 1 && rest[0] == '/' && rest[1] == '*') {
			const char *end = memmem(rest + 2, left - 2, "*/", 2);

			if (!end)
				return fail(p, p->at, "the comment has no end: close it by */");
			p->at = (size_t)(end - p->text) + 2;
		} else {
			break;
		}
	}
	return 0;
}

static bool take(struct parser *p, const char *word)
{
	size_t length = strlen(word);

	if (p->size - p->at < length || strncasecmp(p->text + p->at, word, length) != 0)
		return false;
	if (p->at + length < p->size && isalpha((unsigned char)p->text[p->at + length]))
		return false;
	p->at += length;
	return true;
}

static int want(struct parser *p, const char *word)
{
	int r = skip(p);

	if (r == 0 && !take(p, word))
		r = fail(p, p->at, "something else than '%s': write '%s' here", word, word);
	return r;
}

static int take_inside(struct parser *p, struct inside *ret_inside)
{
	size_t open, depth = 0;
	int r = skip(p);

	if (r < 0)
		return r;
	open = p->at;
	if (p->at == p->size || p->text[p->at] != '(')
		return fail(p, p->at, "no parenthesis: open one here");
	for (; p->at < p->size; p->at++) {
		char c = p->text[p->at];

		if (c == '\\' && p->at + 1 < p->size)
			p->at++;
		else if (c == '(')
			depth++;
		else if (c == ')' && --depth == 0)
			break;
	}
	if (p->at >= p->size)
		return fail(p, open, "the parenthesis is never closed: write a ) behind what it holds");
	*ret_inside = (struct inside){.open = open, .from = open + 1, .size = p->at - open - 1};
	p->at++;
	return 0;
}

/* ---- what stands in parentheses ---- */

static int take_query(struct parser *p, const char *word, bool position, struct clew_query **ret_query, size_t *ret_at)
{
	struct clew_query_error error = {0};
	struct clew_query *query;
	struct inside inside;
	int r = want(p, word);

	if (r == 0)
		r = take_inside(p, &inside);
	if (r < 0)
		return r;
	r = clew_query_compile(p->text + inside.from, inside.size, &query, &error);
	if (r == -EINVAL)
		return fail(p, inside.from + error.offset, "%.150s", error.message);
	if (r < 0)
		return r;
	if (clew_query_is_position(query) != position) {
		clew_query_free(query);
		return fail(p, inside.open,
			    position ? "spans, where a moment is meant: add @ 0%%, @ 100%%, @ (MARK) or @ duration(1.5ms)"
				     : "a moment, where spans are meant: leave out what begins with the @");
	}
	*ret_query = query;
	*ret_at = inside.from;
	return 0;
}

static int take_duration(struct parser *p, bool negative, clew_time *ret_duration)
{
	struct inside inside;
	size_t wrong = 0;
	int r = want(p, "duration");

	if (r == 0)
		r = take_inside(p, &inside);
	if (r < 0)
		return r;
	while (inside.size && isspace((unsigned char)p->text[inside.from])) {
		inside.from++;
		inside.size--;
	}
	while (inside.size && isspace((unsigned char)p->text[inside.from + inside.size - 1]))
		inside.size--;
	if (clew_duration_parse(p->text + inside.from, inside.size, ret_duration, &wrong) < 0)
		return fail(p, inside.from + wrong, "no duration: write numbers with units, as 1.5ms");
	if (*ret_duration < 0 && !negative)
		return fail(p, inside.from, "a duration less than nothing: write a positive one");
	return 0;
}

/* A list of types, left as text until there is a trace to look them up in. */
static int take_types(struct parser *p, const char *word, struct statement *s)
{
	struct inside inside;
	const char *text;
	int r = want(p, word);

	if (r == 0)
		r = take_inside(p, &inside);
	if (r < 0)
		return r;
	while (inside.size && isspace((unsigned char)p->text[inside.from])) {
		inside.from++;
		inside.size--;
	}
	while (inside.size && isspace((unsigned char)p->text[inside.from + inside.size - 1]))
		inside.size--;
	if (!inside.size)
		return fail(p, inside.from, "no type: name some, or write all");
	text = p->text + inside.from;
	s->types_at = inside.from;
	s->types_size = inside.size;
	if ((inside.size == 1 && text[0] == '*') || (inside.size == 2 && !memcmp(text, "**", 2)) ||
	    (inside.size == 3 && !strncasecmp(text, "all", 3)))
		s->types_size = 0;
	return 0;
}

static int take_kinds(struct parser *p, uint64_t *ret_kinds)
{
	struct inside inside;
	int r = skip(p);

	*ret_kinds = UINT64_MAX;
	if (r < 0 || p->at == p->size || p->text[p->at] != '(')
		return r;
	r = take_inside(p, &inside);
	*ret_kinds = 0;
	for (size_t at = inside.from, end = inside.from + inside.size; r == 0 && at <= end;) {
		size_t first, last;
		bool known = false;

		while (at < end && isspace((unsigned char)p->text[at]))
			at++;
		for (first = at; at < end && p->text[at] != ',';)
			at++;
		for (last = at++; last > first && isspace((unsigned char)p->text[last - 1]);)
			last--;
		for (unsigned kind = 0; kind < CLEW_SEGMENT_KIND_COUNT; kind++) {
			const char *name = clew_wait_kind_name(kind);

			if (strlen(name) == last - first && !memcmp(name, p->text + first, last - first)) {
				*ret_kinds |= UINT64_C(1) << kind;
				known = true;
			}
		}
		if (!known)
			r = fail(p, first, "no kind of wait: write one, as sleep or futex");
	}
	return r;
}

static int take_name(struct parser *p, char **ret_name)
{
	struct inside inside;
	size_t length = 0;
	int r = want(p, "name");

	if (r == 0)
		r = take_inside(p, &inside);
	if (r < 0)
		return r;
	*ret_name = malloc(inside.size + 1);
	if (!*ret_name)
		return -ENOMEM;
	for (size_t i = 0; i < inside.size; i++) {
		char c = p->text[inside.from + i];

		if (c == '\\' && i + 1 < inside.size)
			c = p->text[inside.from + ++i];
		if (!c)
			return fail(p, inside.from + i, "a NUL in a name: leave it out");
		(*ret_name)[length++] = c;
	}
	(*ret_name)[length] = '\0';
	return length ? 0 : fail(p, inside.open, "an empty name: write one");
}

static int take_limit(struct parser *p, uint64_t *ret_limit)
{
	struct inside inside;
	uint64_t value = 0;
	int r = want(p, "concurrency");

	if (r == 0)
		r = take_inside(p, &inside);
	if (r < 0)
		return r;
	for (size_t i = 0; i < inside.size; i++) {
		char c = p->text[inside.from + i];

		if (isspace((unsigned char)c))
			continue;
		if (!isdigit((unsigned char)c) || value > UINT32_MAX)
			value = UINT64_MAX;
		else
			value = value * 10 + (uint64_t)(c - '0');
	}
	if (value == 0 || value > UINT32_MAX)
		return fail(p, inside.open, "no number of spans at once: write a whole number from 1 on");
	*ret_limit = value;
	return 0;
}

/* ---- factors ---- */

static bool scale_by_ten(int64_t *value)
{
	return !__builtin_mul_overflow(*value, 10, value) && *value < INT64_MAX / 4;
}

/* A decimal number, exactly; digits that change nothing beyond the 18th are dropped. */
static int take_number(struct parser *p, struct factor *ret_factor)
{
	struct factor f = {.numerator = 0, .denominator = 1};
	size_t begin = p->at;
	bool negative = false, digits = false, point = false;
	long exponent = 0;

	if (p->at < p->size && (p->text[p->at] == '-' || p->text[p->at] == '+'))
		negative = p->text[p->at++] == '-';
	for (; p->at < p->size; p->at++) {
		char c = p->text[p->at];

		if (c == '.' && !point && !(p->at + 1 < p->size && p->text[p->at + 1] == '.')) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)c))
			break;
		digits = true;
		if (f.numerator < INT64_MAX / 100 && f.denominator < INT64_MAX / 100) {
			f.numerator = f.numerator * 10 + (c - '0');
			f.denominator *= point ? 10 : 1;
		} else if (!point) {
			return fail(p, begin, "the factor is too large: write a smaller one");
		}
	}
	if (!digits)
		return fail(p, begin, "no number: write a factor, as .5 or 2");
	if (p->at < p->size && (p->text[p->at] == 'e' || p->text[p->at] == 'E')) {
		bool minus = false;

		digits = false;
		p->at++;
		if (p->at < p->size && (p->text[p->at] == '-' || p->text[p->at] == '+'))
			minus = p->text[p->at++] == '-';
		for (; p->at < p->size && isdigit((unsigned char)p->text[p->at]); p->at++) {
			digits = true;
			exponent = exponent < 1000 ? exponent * 10 + (p->text[p->at] - '0') : exponent;
		}
		if (!digits)
			return fail(p, begin, "no number: write a factor, as .5 or 2");
		exponent = minus ? -exponent : exponent;
	}
	while (f.numerator && f.denominator > 1 && f.numerator % 10 == 0) {
		f.numerator /= 10;
		f.denominator /= 10;
	}
	for (; f.numerator && exponent > 0; exponent--) {
		if (f.denominator > 1)
			f.denominator /= 10;
		else if (!scale_by_ten(&f.numerator))
			return fail(p, begin, "the factor is too large: write a smaller one");
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
	int r = want(p, "by");

	if (r == 0)
		r = skip(p);
	begin = p->at;
	if (r == 0)
		r = take_number(p, &s->factor);
	if (r == 0 && p->sweep && p->size - p->at > 1 && p->text[p->at] == '.' && p->text[p->at + 1] == '.') {
		p->at += 2;
		s->sweeps = true;
		r = take_number(p, &s->factor_to);
	}
	if (r == 0)
		r = skip(p);
	if (r == 0 && p->at < p->size && p->text[p->at] != ';')
		r = fail(p, begin, "no number: write a factor, as .5 or 2, and a semicolon");
	return r;
}

/* ---- statements ---- */

/* [after duration(D)] */
static int take_after(struct parser *p, struct statement *s)
{
	int r = skip(p);

	return r == 0 && take(p, "after") ? take_duration(p, false, &s->duration) : r;
}

static int take_ends(struct parser *p, struct statement *s)
{
	int r = take_types(p, "dependencies", s);

	if (r == 0)
		r = want(p, "from");
	if (r == 0)
		r = take_query(p, "spans", false, &s->spans, &s->spans_at);
	if (r == 0)
		r = want(p, "to");
	return r < 0 ? r : take_query(p, "spans", false, &s->to, &s->to_at);
}

static int parse_scale(struct parser *p, struct statement *s)
{
	size_t at;
	int r = skip(p);

	if (r < 0)
		return r;
	at = p->at;
	if (take(p, "dependencies")) {
		p->at = at;
		s->kind = STATEMENT_SCALE_DEPENDENCIES;
		r = take_ends(p, s);
	} else if (take(p, "waits")) {
		s->kind = STATEMENT_WAITS;
		r = take_kinds(p, &s->kinds);
		r = r < 0 ? r : take_query(p, "spans", false, &s->spans, &s->spans_at);
	} else {
		s->kind = STATEMENT_SCALE_SPANS;
		r = take_query(p, "spans", false, &s->spans, &s->spans_at);
	}
	return r < 0 ? r : take_factor(p, s);
}

static int parse_add(struct parser *p, struct statement *s)
{
	int r = take_types(p, "dependency", s);

	s->kind = STATEMENT_ADD;
	if (r == 0 && memchr(p->text + s->types_at, ',', s->types_size))
		r = fail(p, s->types_at, "several types: name one");
	if (r == 0)
		r = want(p, "from");
	if (r == 0)
		r = take_query(p, "position", true, &s->spans, &s->spans_at);
	if (r == 0)
		r = want(p, "to");
	if (r == 0)
		r = take_query(p, "positions", true, &s->to, &s->to_at);
	return r < 0 ? r : take_after(p, s);
}

static int parse_shrink(struct parser *p, struct statement *s)
{
	int r = want(p, "nonblocking");

	s->kind = STATEMENT_SHRINK;
	if (r == 0)
		r = take_types(p, "dependencies", s);
	if (r == 0)
		r = want(p, "to");
	if (r == 0)
		r = take_query(p, "spans", false, &s->to, &s->to_at);
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
		r = want(p, "to");
	return r < 0 ? r : take_query(p, "spans", false, &s->spans, &s->spans_at);
}

static int parse_start(struct parser *p, struct statement *s)
{
	static const char *const words[] = {"as", "early", "as", "possible"};
	int r = take_query(p, "spans", false, &s->spans, &s->spans_at);

	s->kind = STATEMENT_START;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && r == 0; i++)
		r = want(p, words[i]);
	return r;
}

static int parse_change(struct parser *p, struct statement *s)
{
	int r = take_query(p, "spans", false, &s->spans, &s->spans_at);

	s->kind = STATEMENT_CHANGE_SPANS;
	if (r == 0)
		r = want(p, "by");
	return r < 0 ? r : take_duration(p, true, &s->duration);
}

static int parse_cap(struct parser *p, struct statement *s)
{
	int r = take_query(p, "spans", false, &s->spans, &s->spans_at);

	if (r == 0)
		r = skip(p);
	if (r < 0)
		return r;
	if (take(p, "above"))
		s->kind = STATEMENT_CAP_ABOVE;
	else if (take(p, "below"))
		s->kind = STATEMENT_CAP_BELOW;
	else
		return fail(p, p->at, "neither 'above' nor 'below': write one of them");
	return take_duration(p, false, &s->duration);
}

static int parse_drop(struct parser *p, struct statement *s)
{
	int r = want(p, "waits");

	s->kind = STATEMENT_WAITS;
	s->factor = (struct factor){.numerator = 0, .denominator = 1};
	if (r == 0)
		r = take_kinds(p, &s->kinds);
	return r < 0 ? r : take_query(p, "spans", false, &s->spans, &s->spans_at);
}

static int parse_rename(struct parser *p, struct statement *s)
{
	size_t at;
	int r = skip(p);

	if (r < 0)
		return r;
	at = p->at;
	s->kind = take(p, "categories") ? STATEMENT_RENAME_CATEGORIES : STATEMENT_RENAME_SPANS;
	p->at = at;
	r = take_query(p, s->kind == STATEMENT_RENAME_SPANS ? "spans" : "categories", false, &s->spans, &s->spans_at);
	if (r == 0)
		r = want(p, "to");
	return r < 0 ? r : take_name(p, &s->name);
}

static const struct {
	const char *word;
	int (*parse)(struct parser *p, struct statement *s);
} statements[] = {
	{"scale", parse_scale}, {"change", parse_change}, {"cap", parse_cap},	    {"start", parse_start}, {"apply", parse_apply},
	{"drop", parse_drop},	{"rename", parse_rename}, {"shrink", parse_shrink}, {"add", parse_add},	    {"remove", parse_remove},
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
	*s = (struct statement){.offset = p->at, .factor = {.denominator = 1}};
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && r == -ENOENT; i++)
		if (take(p, statements[i].word))
			r = statements[i].parse(p, s);
	if (r == -ENOENT)
		return fail(p, p->at, "no statement: begin with scale, change, cap, start, apply, drop, rename, shrink, add or remove");
	s->size = p->at - s->offset;
	if (r == 0)
		r = skip(p);
	if (r == 0 && (p->at == p->size || p->text[p->at] != ';'))
		r = fail(p, p->at, "no semicolon: end the statement by one");
	p->at++;
	return r;
}

int clew_program_compile(const char *text, size_t size, bool sweep, struct clew_program **ret_program, struct clew_query_error *ret_error)
{
	struct clew_program *program = calloc(1, sizeof(*program));
	struct parser parser = {.program = program, .text = text, .size = size, .sweep = sweep, .error = ret_error};
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
	for (r = skip(&parser); r == 0 && parser.at < size;) {
		r = parse_statement(&parser);
		if (r == 0)
			r = skip(&parser);
	}
	if (r < 0) {
		clew_program_free(program);
		return r;
	}
	*ret_program = program;
	return 0;
}
