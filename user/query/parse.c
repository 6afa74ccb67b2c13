/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The grammar of patterns and positions (docs/patterns.md), by recursive descent.
 * Each function leaves the reader behind what it took. Lists are built in the order
 * of the text; `tail` is where the next one goes.
 */
#include "query/internal.h"
#include "query/read.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_BYTES (1u << 20)
#define MOST_DEPTH 100

struct parser {
	struct pattern_reader reader;
	struct clew_query *query;
	unsigned depth; /* of parentheses */
};

static void *take_zeroed(struct parser *parser, size_t size)
{
	void *taken = arena_take(&parser->query->arena, size);

	return taken ? memset(taken, 0, size) : NULL;
}

static int deeper(struct parser *parser)
{
	if (++parser->depth > MOST_DEPTH)
		return pattern_fail(&parser->reader, parser->reader.at,
				    "parentheses within parentheses, too many: leave some out");
	return 0;
}

static int compile_regex(struct parser *parser, const struct literal *literal,
			 struct regex **ret_regex)
{
	struct owned_regex *owned = take_zeroed(parser, sizeof(*owned));
	struct clew_query_error *error = parser->reader.error;
	size_t offset = 0;
	int r;

	if (!owned)
		return -ENOMEM;
	r = regex_compile(literal->text, literal->size, &owned->regex, &offset, error->message,
			  sizeof(error->message));
	if (r < 0) {
		if (r == -EINVAL)
			error->offset = literal->origins[offset];
		return r;
	}
	owned->next = parser->query->regexes;
	parser->query->regexes = owned;
	*ret_regex = owned->regex;
	return 0;
}

/* ---- paths ---- */

static int no_regex_end(struct parser *parser, size_t stop)
{
	struct pattern_reader *reader = &parser->reader;

	if (stop < reader->size && reader->text[stop] == ')')
		return pattern_fail(
			reader, stop,
			"an empty regular expression: write * for any name, ('') for any mark");
	return pattern_fail(
		reader, stop,
		"a regular expression ends here: close the parenthesis, or put it in quotes");
}

static int parse_regex_fragment(struct parser *parser, struct fragment *fragment)
{
	struct literal literal;
	size_t stop;
	int r = pattern_parenthesised(&parser->reader, &literal, &stop);

	if (r < 0)
		return r;
	if (r == 0)
		return no_regex_end(parser, stop);
	if (literal.size == 0)
		return pattern_fail(&parser->reader, literal.offset,
				    "an empty regular expression: write * for any name");
	fragment->kind = FRAGMENT_REGEX;
	return compile_regex(parser, &literal, &fragment->regex);
}

/* *ret_wildcard: the word all or any, which may mean every span. */
static int parse_fragment(struct parser *parser, struct fragment *fragment, bool *ret_wildcard)
{
	struct pattern_reader *reader = &parser->reader;
	struct literal literal;
	int r;

	*ret_wildcard = false;
	if (pattern_sees(reader, "("))
		return parse_regex_fragment(parser, fragment);
	if (pattern_sees(reader, "->") || pattern_sees(reader, "=>") ||
	    pattern_sees(reader, "&&") || pattern_sees(reader, "||"))
		return pattern_expected(reader,
					"a name (in quotes, if it begins like an operator)");
	if (pattern_take(reader, "**")) {
		fragment->kind = FRAGMENT_LEVELS;
		return 0;
	}
	if (pattern_take(reader, "*")) {
		fragment->kind = FRAGMENT_ONE;
		return 0;
	}
	/* Without a blank the operator would be read as a part of the name. */
	if (pattern_sees(reader, "all->") || pattern_sees(reader, "any->") ||
	    pattern_sees(reader, "all=>") || pattern_sees(reader, "any=>")) {
		pattern_skip_blanks(reader);
		reader->at += strlen("all");
		*ret_wildcard = true;
		fragment->name = "all";
		return 0;
	}
	r = pattern_literal(reader, &literal);
	if (r < 0)
		return r;
	if (literal.size == 0)
		return pattern_fail(reader, literal.offset, "an empty name: write * for any name");
	fragment->kind = FRAGMENT_NAME;
	fragment->name = literal.text;
	*ret_wildcard = literal.plain && (strcasecmp(literal.text, "all") == 0 ||
					  strcasecmp(literal.text, "any") == 0);
	return 0;
}

/* *ret_wildcard: it is nothing but the word all or any. */
static int parse_path(struct parser *parser, struct path *path, bool *ret_wildcard)
{
	struct fragment **tail = &path->first;
	enum fragment_kind last = FRAGMENT_NAME;

	*ret_wildcard = false;
	do {
		struct fragment *fragment = take_zeroed(parser, sizeof(*fragment));
		bool wildcard;
		int r;

		if (!fragment)
			return -ENOMEM;
		r = parse_fragment(parser, fragment, &wildcard);
		if (r < 0)
			return r;
		*ret_wildcard = wildcard && path->count == 0;
		/* Any number of levels twice is any number of levels. */
		if (path->count > 0 && fragment->kind == FRAGMENT_LEVELS && last == FRAGMENT_LEVELS)
			continue;
		last = fragment->kind;
		*tail = fragment;
		tail = &fragment->next;
		path->count++;
	} while (pattern_take(&parser->reader, "/"));
	return 0;
}

static int parse_spec(struct parser *parser, struct spec *spec)
{
	bool wildcard;
	int r = parse_path(parser, &spec->spans, &wildcard);

	if (r < 0)
		return r;
	if (pattern_sees(&parser->reader, ">=") || !pattern_take(&parser->reader, ">")) {
		if (wildcard)
			spec->spans.first->kind = FRAGMENT_LEVELS;
		return 0;
	}
	spec->category = spec->spans;
	spec->spans = (struct path){};
	parser->query->has_categories = true;
	return parse_path(parser, &spec->spans, &wildcard);
}

static int parse_specs(struct parser *parser, struct stage *stage)
{
	struct spec **tail = &stage->specs;

	do {
		struct spec *spec = take_zeroed(parser, sizeof(*spec));
		int r;

		if (!spec)
			return -ENOMEM;
		r = parse_spec(parser, spec);
		if (r < 0)
			return r;
		*tail = spec;
		tail = &spec->next;
	} while (pattern_take(&parser->reader, ","));
	return 0;
}

/* ---- conditions ---- */

static int parse_duration(struct parser *parser, clew_time *ret_duration)
{
	struct pattern_reader *reader = &parser->reader;
	struct literal literal;
	size_t offset = 0;
	int r;

	if (!pattern_take(reader, "("))
		return pattern_expected(reader, "a duration in parentheses, as in duration(5ms)");
	r = pattern_literal(reader, &literal);
	if (r < 0)
		return r;
	r = clew_duration_parse(literal.text, literal.size, ret_duration, &offset);
	if (r == -ERANGE)
		return pattern_fail(reader, literal.origins[offset],
				    "a duration beyond 292 years: give a shorter one");
	if (r < 0)
		return pattern_fail(
			reader, literal.origins[offset],
			"this is no duration: give a number with a unit, as in 1.5ms or 1m30s");
	if (!pattern_take(reader, ")"))
		return pattern_expected(reader, "a closing parenthesis");
	return 0;
}

static int parse_comparison(struct parser *parser, struct condition *condition)
{
	static const struct {
		const char *word;
		enum metric metric;
	} metrics[] = {
		{"total_duration", METRIC_TOTAL},
		{"suspended_duration", METRIC_SUSPENDED},
		{"self_unsuspended_duration", METRIC_SELF},
		{"total_unsuspended_duration", METRIC_TOTAL_UNSUSPENDED},
	};
	static const struct {
		const char *operator;
		enum comparison comparison;
	} comparisons[] = {
		{"==", COMPARE_EQUAL},	{"!=", COMPARE_UNEQUAL}, {">=", COMPARE_AT_LEAST},
		{">", COMPARE_GREATER}, {"<=", COMPARE_AT_MOST}, {"<", COMPARE_LESS},
	};
	struct pattern_reader *reader = &parser->reader;
	size_t metric = 0, comparison = 0;

	while (metric < 4 && !pattern_take_word(reader, metrics[metric].word))
		metric++;
	if (metric == 4)
		return pattern_expected(reader,
					"total_duration, suspended_duration, "
					"self_unsuspended_duration or total_unsuspended_duration");
	while (comparison < 6 && !pattern_take(reader, comparisons[comparison].operator))
		comparison++;
	if (comparison == 6)
		return pattern_expected(reader, "== != > >= < or <=");
	if (!pattern_take_word(reader, "duration"))
		return pattern_expected(reader, "a duration, as in duration(5ms)");
	condition->metric = metrics[metric].metric;
	condition->comparison = comparisons[comparison].comparison;
	return parse_duration(parser, &condition->duration);
}

static int parse_condition(struct parser *parser, enum condition_kind kind,
			   struct condition **ret_condition);

static int parse_operand(struct parser *parser, struct condition **ret_condition)
{
	int r;

	if (!pattern_take(&parser->reader, "(")) {
		*ret_condition = take_zeroed(parser, sizeof(**ret_condition));
		return *ret_condition ? parse_comparison(parser, *ret_condition) : -ENOMEM;
	}
	r = deeper(parser);
	if (r < 0)
		return r;
	r = parse_condition(parser, CONDITION_OR, ret_condition);
	if (r < 0)
		return r;
	parser->depth--;
	return pattern_take(&parser->reader, ")")
		       ? 0
		       : pattern_expected(&parser->reader, "and, or, or a closing parenthesis");
}

/* An or of ands, or an and of comparisons and parentheses; one alone is itself. */
static int parse_condition(struct parser *parser, enum condition_kind kind,
			   struct condition **ret_condition)
{
	const char *word = kind == CONDITION_OR ? "or" : "and",
		   *sign = kind == CONDITION_OR ? "||" : "&&";
	struct condition *first = NULL, **tail = &first, *whole;

	do {
		struct condition *one;
		int r = kind == CONDITION_OR ? parse_condition(parser, CONDITION_AND, &one)
					     : parse_operand(parser, &one);

		if (r < 0)
			return r;
		*tail = one;
		tail = &one->next;
	} while (pattern_take_word(&parser->reader, word) || pattern_take(&parser->reader, sign));
	if (!first->next) {
		*ret_condition = first;
		return 0;
	}
	whole = take_zeroed(parser, sizeof(*whole));
	if (!whole)
		return -ENOMEM;
	whole->kind = kind;
	whole->first = first;
	*ret_condition = whole;
	return 0;
}

/* ---- positions ---- */

static int parse_percent(struct parser *parser)
{
	struct pattern_reader *reader = &parser->reader;
	struct clew_query *query = parser->query;
	struct literal literal;
	size_t digits, end;
	int r = pattern_literal(reader, &literal);

	if (r < 0)
		return r;
	digits = strspn(literal.text, "0123456789");
	end = digits;
	if (literal.text[end] == '.')
		end += 1 + strspn(literal.text + end + 1, "0123456789");
	if (literal.text[0] == '-')
		return pattern_fail(reader, literal.offset,
				    "a moment before the span: give 0%% to 100%%");
	if (literal.text[end] || end <= (digits < end))
		return pattern_fail(reader, literal.origins[end],
				    "this is no percentage: give a number like 50%% or 99.9%%");
	if (!pattern_take(reader, "%"))
		return pattern_expected(reader, "a % (or a mark in parentheses, or duration(..))");
	for (size_t i = 0; i < digits && query->percent <= 100; i++)
		query->percent = query->percent * 10 + (uint32_t)(literal.text[i] - '0');
	query->decimals = digits < end ? literal.text + digits + 1 : "";
	query->place = PLACE_PERCENT;
	return 0;
}

static int parse_mark(struct parser *parser)
{
	struct pattern_reader *reader = &parser->reader;
	struct literal literal;
	size_t stop;
	int r = pattern_parenthesised(reader, &literal, &stop);

	if (r < 0)
		return r;
	if (r == 0)
		return no_regex_end(parser, stop);
	parser->query->place = PLACE_MARK;
	return compile_regex(parser, &literal, &parser->query->mark);
}

static int parse_place(struct parser *parser)
{
	struct pattern_reader *reader = &parser->reader, before = *reader;
	int r;

	if (pattern_sees(reader, "(")) {
		r = parse_mark(parser);
	} else if (pattern_take_word(reader, "duration") && pattern_sees(reader, "(")) {
		parser->query->place = PLACE_MOMENT;
		r = parse_duration(parser, &parser->query->moment);
	} else {
		reader->at = before.at;
		r = parse_percent(parser);
	}
	if (r < 0)
		return r;
	if (pattern_take_word(reader, "earliest"))
		parser->query->policy = POLICY_EARLIEST;
	else if (pattern_take_word(reader, "latest"))
		parser->query->policy = POLICY_LATEST;
	return 0;
}

/* ---- the whole ---- */

static int parse_stages(struct parser *parser)
{
	struct stage **tail = &parser->query->stages;
	enum spawning spawning = SPAWNING_NONE;

	do {
		struct stage *stage = take_zeroed(parser, sizeof(*stage));
		int r;

		if (!stage)
			return -ENOMEM;
		stage->spawning = spawning;
		r = parse_specs(parser, stage);
		if (r < 0)
			return r;
		*tail = stage;
		tail = &stage->next;
		if (pattern_take(&parser->reader, "->"))
			spawning = SPAWNING_DIRECT;
		else if (pattern_take(&parser->reader, "=>"))
			spawning = SPAWNING_ANY_DEPTH;
		else
			return 0;
	} while (true);
}

static int parse_start(struct parser *parser)
{
	struct pattern_reader *reader = &parser->reader, ahead = *reader;
	struct literal literal;
	size_t stop;
	int r;

	/* A parenthesis is around a regular expression, or around all of it. */
	if (pattern_sees(reader, "(")) {
		r = pattern_parenthesised(&ahead, &literal, &stop);
		if (r < 0)
			return r;
		if (r == 0) {
			r = deeper(parser);
			if (r < 0)
				return r;
			pattern_take(reader, "(");
			r = parse_start(parser);
			if (r < 0)
				return r;
			return pattern_take(reader, ")")
				       ? 0
				       : pattern_expected(reader, "a closing parenthesis");
		}
	}
	r = parse_stages(parser);
	if (r == 0 && pattern_take_word(reader, "where"))
		r = parse_condition(parser, CONDITION_OR, &parser->query->condition);
	if (r == 0 && (pattern_take(reader, "@") || pattern_take_word(reader, "at")))
		r = parse_place(parser);
	return r;
}

static int parse(struct parser *parser)
{
	struct pattern_reader *reader = &parser->reader;
	const char *nul = memchr(reader->text, '\0', reader->size);
	int r;

	if (nul)
		return pattern_fail(reader, (size_t)(nul - reader->text),
				    "a NUL byte: no name has one, leave it out");
	r = parse_start(parser);
	if (r < 0)
		return r;
	pattern_skip_blanks(reader);
	if (reader->at < reader->size)
		return pattern_expected(
			reader, parser->query->place ? "nothing behind the position"
				: parser->query->condition
					? "and, or, or @ with a position"
					: "one of / > , -> => where @ (or the name in quotes)");
	return 0;
}

int clew_query_compile(const char *text, size_t size, struct clew_query **ret_query,
		       struct clew_query_error *ret_error)
{
	struct parser parser = {};
	int r;

	*ret_error = (struct clew_query_error){};
	if (size > MOST_BYTES) {
		*ret_error = (struct clew_query_error){MOST_BYTES,
						       "the pattern is too long: say it in a MiB"};
		return -EINVAL;
	}
	parser.query = calloc(1, sizeof(*parser.query));
	if (!parser.query)
		return -ENOMEM;
	r = pattern_begin(&parser.reader, text, size, &parser.query->arena, ret_error);
	if (r == 0)
		r = parse(&parser);
	if (r < 0) {
		clew_query_free(parser.query);
		return r;
	}
	*ret_query = parser.query;
	return 0;
}

void clew_query_free(struct clew_query *query)
{
	if (!query)
		return;
	for (struct owned_regex *owned = query->regexes; owned; owned = owned->next)
		regex_free(owned->regex);
	arena_done(&query->arena);
	free(query);
}

bool clew_query_is_position(const struct clew_query *query)
{
	return query->place != PLACE_NONE;
}

bool clew_query_is_by_name(const struct clew_query *query)
{
	return query->place == PLACE_NONE && !query->condition && !query->stages->next;
}

bool clew_query_has_categories(const struct clew_query *query)
{
	return query->has_categories;
}
