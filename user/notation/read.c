/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads notation: each line is an operation, done as it is read. The first
 * invalid line ends the reading, and there is no trace then.
 */
#include "notation/read.h"
#include <clew/tokens.h>
#include <errno.h>
#include <stdio.h>

static int read_interval(struct reader *reader, clew_time *ret_start, clew_time *ret_end)
{
	struct scanner *scanner = &reader->scanner;
	int r;

	scan_blanks(scanner);
	r = scan_byte(scanner, '[');
	if (r < 0)
		return r;
	scan_blanks(scanner);
	r = scan_moment(scanner, ret_start);
	if (r < 0)
		return r;
	scan_blanks(scanner);
	r = scan_byte(scanner, ',');
	if (r < 0)
		return r;
	scan_blanks(scanner);
	r = scan_moment(scanner, ret_end);
	if (r < 0)
		return r;
	scan_blanks(scanner);
	return scan_byte(scanner, ']');
}

static int read_span_line(struct reader *reader)
{
	struct scanner *scanner = &reader->scanner;
	uint32_t parent, span, number, attributes;
	const char *where, *name;
	clew_time start, end;
	unsigned flags = 0;
	size_t kept, length;
	bool alone;
	int r;

	scan_blanks(scanner);
	where = scanner->at;
	r = read_new_span(reader, &parent);
	if (r < 0)
		return r;
	length = scanner->word_length;
	kept = scan_keep(scanner);
	r = read_interval(reader, &start, &end);
	if (r < 0)
		return r;
	scan_blanks(scanner);
	alone = scan_word_if(scanner, "no-call", "");
	name = (const char *)scanner->words.data + kept;
	if (parent == CLEW_NONE)
		r = clew_maker_root(reader->maker, name, start, end, &span);
	else if (alone)
		r = clew_maker_child_alone(reader->maker, parent, name, start, end, &span);
	else
		r = clew_maker_child(reader->maker, parent, name, start, end, &span);
	r = read_result(reader, where, r);
	if (r < 0)
		return r;
	name = (const char *)scanner->words.data + kept;
	r = names_add(&reader->names, parent, name, length, span, &number);
	if (r < 0)
		return r;
	scan_blanks(scanner);
	where = scanner->at;
	if (scan_word_if(scanner, "in", "")) {
		if (parent != CLEW_NONE)
			return scan_fail(
				scanner, where,
				"only a root span is in categories: its children are where it is");
		r = read_placements(reader, span);
		if (r < 0)
			return r;
	}
	r = read_tail(reader, read_no_words, &flags, true, &attributes);
	if (r < 0 || attributes == CLEW_NONE)
		return r;
	return read_result(reader, where,
			   clew_maker_set_span_attributes(reader->maker, span, attributes));
}

static int read_wait_kind(struct reader *reader, uint32_t *ret_kind)
{
	struct scanner *scanner = &reader->scanner;
	const char *where;
	int r, kind;

	scan_blanks(scanner);
	where = scanner->at;
	r = scan_name(scanner, '=', "the kind of the wait");
	if (r < 0)
		return r;
	kind = clew_wait_kind_from_name(scanner->word);
	if (kind < 0 || kind == CLEW_SEGMENT_RUNNING)
		return scan_fail(
			scanner, where,
			"there is no kind of wait '%s': see section Words of docs/answers.md",
			scanner->word);
	*ret_kind = (uint32_t)kind;
	return 0;
}

static int read_suspend(struct reader *reader, bool typed)
{
	static const struct read_word words[] = {{"split-ends", CLEW_PLACE_SPLIT_ENDS},
						 {"split-marks", CLEW_PLACE_SPLIT_MARKS},
						 {NULL, 0}};
	struct scanner *scanner = &reader->scanner;
	uint32_t span, kind = CLEW_NONE, attributes;
	const char *where, *moment;
	clew_time start, end;
	unsigned place = 0;
	int r;

	reader->is_wait = typed;
	scan_blanks(scanner);
	where = scanner->at;
	r = read_span(reader, &span);
	if (r < 0)
		return r;
	scan_blanks(scanner);
	moment = scanner->at;
	r = scan_moment(scanner, &start);
	if (r < 0)
		return r;
	if (scanner->end - scanner->at < 2 || scanner->at[0] != '.' || scanner->at[1] != '.')
		return scan_fail(scanner, scanner->at,
				 "the end of the interval is missing here, as ..END");
	scanner->at += 2;
	r = scan_moment(scanner, &end);
	if (r < 0)
		return r;
	if (start > end)
		return scan_fail(scanner, moment, "it ends before it begins");
	if (typed) {
		r = read_wait_kind(reader, &kind);
		if (r < 0)
			return r;
	}
	r = read_tail(reader, words, &place, typed, &attributes);
	if (r < 0)
		return r;
	return read_result(
		reader, where,
		clew_maker_suspend(reader->maker, span, start, end, place, kind, attributes));
}

/* Boundaries without an endpoint. */
static int read_split(struct reader *reader)
{
	struct scanner *scanner = &reader->scanner;
	uint32_t span;
	int r = read_span(reader, &span);

	if (r < 0)
		return r;
	scan_blanks(scanner);
	do {
		const char *where = scanner->at;
		clew_time at;

		r = scan_moment(scanner, &at);
		if (r == 0)
			r = read_result(reader, where, clew_maker_split(reader->maker, span, at));
		if (r < 0)
			return r;
	} while (!scan_line_is_over(scanner));
	return 0;
}

static int read_mark(struct reader *reader)
{
	static const struct read_word words[] = {{"split-gap", CLEW_PLACE_SPLIT_GAP}, {NULL, 0}};
	struct scanner *scanner = &reader->scanner;
	uint32_t span, attributes;
	unsigned place = 0, number = 0;
	const char *where;
	clew_time at;
	size_t label;
	int r;

	scan_blanks(scanner);
	where = scanner->at;
	r = read_span(reader, &span);
	if (r < 0)
		return r;
	scan_blanks(scanner);
	r = scan_name(scanner, 0, "the label of the mark");
	if (r < 0)
		return r;
	label = scan_keep(scanner);
	r = scan_byte(scanner, '@');
	if (r < 0)
		return r;
	r = scan_moment(scanner, &at);
	if (r == 0 && scan_if(scanner, ':'))
		r = read_number(reader, &number);
	if (r < 0)
		return r;
	r = read_tail(reader, words, &place, false, &attributes);
	if (r < 0)
		return r;
	place |= number;
	return read_result(reader, where,
			   clew_maker_mark(reader->maker, span,
					   (const char *)scanner->words.data + label, at, place));
}

/* Categories of a root span, if their order is not that of the spans. */
static int read_place(struct reader *reader)
{
	struct scanner *scanner = &reader->scanner;
	uint32_t span;
	int r = read_span(reader, &span);

	if (r < 0)
		return r;
	scan_blanks(scanner);
	if (!scan_word_if(scanner, "in", ""))
		return scan_fail(scanner, scanner->at, "the word `in` is missing here");
	r = read_placements(reader, span);
	return r < 0 ? r : read_end(reader);
}

static int read_line(struct reader *reader)
{
	struct scanner *scanner = &reader->scanner;
	const char *where = scanner->at;
	int r;

	reader->is_wait = false;
	/* The most frequent ones first. */
	if (scan_word_if(scanner, "dep", ""))
		return read_dependency(reader);
	if (scan_word_if(scanner, "wait", ""))
		return read_suspend(reader, true);
	if (scan_word_if(scanner, "suspend", ""))
		return read_suspend(reader, false);
	if (scan_word_if(scanner, "span", ""))
		return read_span_line(reader);
	if (scan_word_if(scanner, "mark", ""))
		return read_mark(reader);
	if (scan_word_if(scanner, "split", ""))
		return read_split(reader);
	if (scan_word_if(scanner, "place", ""))
		return read_place(reader);
	if (scan_word_if(scanner, "category", ""))
		return read_category(reader);
	if (scan_word_if(scanner, "hierarchy", ""))
		return read_hierarchies(reader);
	if (scan_word_if(scanner, "type", ""))
		return read_types(reader);
	if (scan_word_if(scanner, "unit", ""))
		return read_unit(reader);
	if (scan_word_if(scanner, "simplify", "")) {
		r = read_end(reader);
		return r < 0 ? r : read_result(reader, where, clew_maker_simplify(reader->maker));
	}
	return scan_fail(scanner, where,
			 "no line begins so: unit, hierarchy, category, type, span, place, "
			 "suspend, wait, split, dep, mark or simplify");
}

static int read_lines(struct reader *reader)
{
	struct scanner *scanner = &reader->scanner;

	while (scanner->at < scanner->end) {
		if (!scan_line_is_over(scanner)) {
			int r = read_line(reader);

			if (r < 0)
				return r;
			scan_forget_words(scanner);
		}
		scan_next_line(scanner);
	}
	return 0;
}

int reader_begin(struct reader *reader, const char *name, char *message, size_t message_size)
{
	reader->scanner.name = name;
	reader->scanner.message = message;
	reader->scanner.message_size = message_size;
	reader->hierarchies.item = sizeof(char *);
	reader->endpoints.item = sizeof(struct read_endpoint);
	reader->pairs.item = sizeof(size_t);
	reader->texts_of_pairs.item = sizeof(char *);
	scan_begin(&reader->scanner);
	names_begin(&reader->names);
	return clew_maker_new(&reader->maker);
}

int reader_take(struct reader *reader, const char *text, size_t length)
{
	int r;

	scan_text(&reader->scanner, text, length);
	r = read_lines(reader);
	scan_text_end(&reader->scanner);
	return r;
}

int reader_finish(struct reader *reader, struct clew_model **ret_model)
{
	int r = clew_maker_finish(reader->maker, ret_model);

	if (r >= 0 || r == -ENOMEM)
		return r;
	snprintf(reader->scanner.message, reader->scanner.message_size, "%s: %s",
		 reader->scanner.name, clew_maker_error(reader->maker));
	return -EINVAL;
}

void reader_done(struct reader *reader)
{
	clew_maker_free(reader->maker);
	scan_done(&reader->scanner);
	names_done(&reader->names);
	arena_done(&reader->texts);
	vector_done(&reader->hierarchies);
	vector_done(&reader->endpoints);
	vector_done(&reader->pairs);
	vector_done(&reader->texts_of_pairs);
}
