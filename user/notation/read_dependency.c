/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A dependency's line: dep TYPE [and|or] ORIGINS -> DESTINATIONS WORDS
 * ATTRIBUTES. Endpoints are made when the whole line is known, in the order
 * written.
 */
#include "notation/read.h"
#include <errno.h>

static const struct read_word words[] = {
	{"early", CLEW_PLACE_EARLY},
	{"late", CLEW_PLACE_LATE},
	{"split-gap", CLEW_PLACE_SPLIT_GAP},
	{NULL, 0},
};

/* The moment of a destination with its wait: (FROM~AT). */
static int read_waited_moment(struct reader *reader, struct read_endpoint *endpoint)
{
	struct scanner *scanner = &reader->scanner;
	int r;

	scan_blanks(scanner);
	r = scan_moment(scanner, &endpoint->from);
	if (r < 0)
		return r;
	scan_blanks(scanner);
	r = scan_byte(scanner, '~');
	if (r < 0)
		return r;
	scan_blanks(scanner);
	r = scan_moment(scanner, &endpoint->at);
	if (r < 0)
		return r;
	scan_blanks(scanner);
	return scan_byte(scanner, ')');
}

/* Words for one endpoint alone, each after a colon. */
static int read_own_words(struct reader *reader, struct read_endpoint *endpoint)
{
	struct scanner *scanner = &reader->scanner;

	while (scan_if(scanner, ':')) {
		const struct read_word *word = words;

		if (scanner->at < scanner->end && scan_is(*scanner->at, SCAN_DIGIT)) {
			int r = read_number(reader, &endpoint->place);

			if (r < 0)
				return r;
			continue;
		}
		while (word->word && !scan_word_if(scanner, word->word, ":,}"))
			word++;
		if (!word->word)
			return scan_fail(scanner, scanner->at,
					 "no such place: early, late, split-gap or a number");
		endpoint->place |= word->bit;
	}
	return 0;
}

static int read_endpoint(struct reader *reader, bool destination)
{
	struct scanner *scanner = &reader->scanner;
	struct read_endpoint *endpoint;
	int r;

	if (vector_reserve(&reader->endpoints, reader->endpoints.count + 1) < 0)
		return -ENOMEM;
	endpoint = (struct read_endpoint *)reader->endpoints.data + reader->endpoints.count;
	*endpoint = (struct read_endpoint){.where = scanner->at};
	r = read_span(reader, &endpoint->span);
	if (r < 0)
		return r;
	r = scan_byte(scanner, '@');
	if (r < 0)
		return r;
	if (scanner->at < scanner->end && *scanner->at == '(') {
		if (!destination)
			return scan_fail(scanner, scanner->at,
					 "an origin has no wait: write its moment alone");
		scanner->at++;
		r = read_waited_moment(reader, endpoint);
	} else {
		r = scan_moment(scanner, &endpoint->at);
		endpoint->from = endpoint->at;
	}
	if (r < 0)
		return r;
	reader->endpoints.count++;
	return read_own_words(reader, endpoint);
}

/* "-", an endpoint, or several in braces. */
static int read_side(struct reader *reader, bool destination)
{
	struct scanner *scanner = &reader->scanner;
	int r;

	scan_blanks(scanner);
	if (scan_word_if(scanner, "-", ""))
		return 0;
	if (!scan_if(scanner, '{'))
		return read_endpoint(reader, destination);
	do {
		scan_blanks(scanner);
		r = read_endpoint(reader, destination);
		if (r < 0)
			return r;
		scan_blanks(scanner);
	} while (scan_if(scanner, ','));
	return scan_byte(scanner, '}');
}

static int read_arrow(struct reader *reader)
{
	struct scanner *scanner = &reader->scanner;

	scan_blanks(scanner);
	if (scanner->end - scanner->at < 2 || scanner->at[0] != '-' || scanner->at[1] != '>')
		return scan_fail(scanner, scanner->at, "the arrow -> is missing here");
	scanner->at += 2;
	return 0;
}

static int make_endpoint_at(struct reader *reader, uint32_t dependency, size_t index,
			    bool destination, unsigned place)
{
	const struct read_endpoint *endpoint =
		(const struct read_endpoint *)reader->endpoints.data + index;
	int r;

	place |= endpoint->place;
	if (destination)
		r = clew_maker_destination(reader->maker, dependency, endpoint->span,
					   endpoint->from, endpoint->at, place);
	else
		r = clew_maker_origin(reader->maker, dependency, endpoint->span, endpoint->at,
				      place);
	return read_result(reader, endpoint->where, r);
}

int read_dependency(struct reader *reader)
{
	struct scanner *scanner = &reader->scanner;
	enum clew_mode mode = CLEW_MODE_SINGLE;
	uint32_t type, attributes, dependency;
	const char *where;
	unsigned place = 0;
	size_t origins;
	int r;

	scan_blanks(scanner);
	where = scanner->at;
	r = scan_name(scanner, 0, "the type of the dependency");
	if (r < 0)
		return r;
	r = read_type(reader, where, &type);
	if (r < 0)
		return r;
	scan_blanks(scanner);
	if (scan_word_if(scanner, "and", "{"))
		mode = CLEW_MODE_AND;
	else if (scan_word_if(scanner, "or", "{"))
		mode = CLEW_MODE_OR;
	reader->endpoints.count = 0;
	scan_blanks(scanner);
	where = scanner->at;
	r = read_side(reader, false);
	if (r < 0)
		return r;
	origins = reader->endpoints.count;
	if (origins > 1 && mode == CLEW_MODE_SINGLE)
		return scan_fail(scanner, where,
				 "several origins: write `and` or `or` before them");
	r = read_arrow(reader);
	if (r < 0)
		return r;
	r = read_side(reader, true);
	if (r < 0)
		return r;
	r = read_tail(reader, words, &place, true, &attributes);
	if (r < 0)
		return r;
	r = read_result(reader, where,
			clew_maker_dependency(reader->maker, type, mode, attributes, &dependency));
	for (size_t i = 0; i < reader->endpoints.count && r == 0; i++)
		r = make_endpoint_at(reader, dependency, i, i >= origins, place);
	return r;
}
