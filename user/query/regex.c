/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Regular expressions, by PCRE2. Compilation refuses all that only a backtracking matcher
 * can do, so that whatever takes PCRE2's fast matcher too many steps can be given to its
 * matcher without backtracking, and every expression has an answer.
 */
#include "query/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8

#include "base/utf8.h"
#include <ctype.h>
#include <errno.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS    20000 /* of the backtracking matcher */
#define FIRST_STATES  1024  /* ints of the other one's workspace */
#define MOST_STATES   (4 << 20)
#define REPLACEMENT   "\xef\xbf\xbd"
#define UTF8_ERROR(r) ((r) <= PCRE2_ERROR_UTF8_ERR1 && (r) >= PCRE2_ERROR_UTF8_ERR21)

struct regex {
	pcre2_code *code;
};

struct regex_scratch {
	pcre2_match_data *match;
	pcre2_match_context *limits;
	int *states;
	size_t state_count;
	char *mended; /* the last text, where it was no UTF-8 */
	struct regex_piece *pieces;
};

/* The expression as PCRE2 is to read it, and where each of its bytes comes from. */
struct translation {
	const char *text;
	size_t size;
	size_t at;
	char *out;
	size_t *origins;
	size_t out_size;
	const char *problem;
};

static void put(struct translation *t, char byte)
{
	t->origins[t->out_size] = t->at;
	t->out[t->out_size++] = byte;
}

static void copy(struct translation *t, size_t count)
{
	for (; count > 0; count--, t->at++)
		put(t, t->text[t->at]);
}

static char ahead(const struct translation *t, size_t distance)
{
	return t->at + distance < t->size ? t->text[t->at + distance] : '\0';
}

static bool is_alphanumeric(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9');
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static bool translate_escape(struct translation *t)
{
	char escaped = ahead(t, 1);

	if (t->at + 1 == t->size) {
		t->problem = "a backslash ends the regular expression: put two for one";
		return false;
	}
	if (is_alphanumeric(escaped) && !memchr("0abtfnrvdDsSwWpPBAzxQ", escaped, 21)) {
		t->problem = is_digit(escaped)
				     ? "back-references are not understood: write out what is meant"
				     : "no such escape: see clew-select(1)";
		return false;
	}
	if (escaped == 'v') {
		/* To PCRE2 any vertical space. */
		for (const char *tab = "\\x0b"; *tab; tab++)
			put(t, *tab);
		t->at += 2;
	} else if (escaped == 'Q') {
		const char *end = memmem(t->text + t->at, t->size - t->at, "\\E", 2);

		copy(t, end ? (size_t)(end + 2 - t->text) - t->at : t->size - t->at);
	} else {
		copy(t, 2);
	}
	return true;
}

/* Brackets; where they do not end PCRE2 says so. */
static bool translate_class(struct translation *t)
{
	copy(t, ahead(t, 1) == '^' ? 2 : 1);
	if (ahead(t, 0) == ']')
		copy(t, 1);
	while (t->at < t->size && t->text[t->at] != ']') {
		const char *end = NULL;

		if (t->text[t->at] == '[' && ahead(t, 1) == ':')
			end = memmem(t->text + t->at, t->size - t->at, ":]", 2);
		if (end) {
			copy(t, (size_t)(end + 2 - t->text) - t->at);
		} else if (t->text[t->at] == '\\') {
			if (!translate_escape(t))
				return false;
		} else {
			copy(t, 1);
		}
	}
	if (t->at < t->size)
		copy(t, 1);
	return true;
}

/* Groups of RE2: (..), (?:..), (?P<name>..), (?<name>..), (?flags), (?flags:..). */
static bool translate_group(struct translation *t)
{
	size_t flags = 2;

	if (ahead(t, 1) == '*') {
		t->problem = "nothing stands before the *: write \\\\* for the character";
		return false;
	}
	if (ahead(t, 1) != '?') {
		copy(t, 1);
		return true;
	}
	if (ahead(t, 2) == 'P' && ahead(t, 3) == '<') {
		copy(t, 4);
		return true;
	}
	if (ahead(t, 2) == '<' && ahead(t, 3) != '=' && ahead(t, 3) != '!') {
		copy(t, 3);
		return true;
	}
	while (ahead(t, flags) && strchr("imsU-", ahead(t, flags)))
		flags++;
	if (ahead(t, flags) != ':' && ahead(t, flags) != ')') {
		t->problem = "no such group: there are (..), (?:..), (?P<name>..) and (?i) with "
			     "the flags i m s U";
		return false;
	}
	copy(t, flags + 1);
	return true;
}

/* Bytes of a repetition {n}, {n,} or {n,m}; 0: the brace stands for itself. */
static size_t repetition_length(const struct translation *t)
{
	size_t length = 1;

	if (!is_digit(ahead(t, length)))
		return 0;
	while (is_digit(ahead(t, length)))
		length++;
	if (ahead(t, length) == ',')
		length++;
	while (is_digit(ahead(t, length)))
		length++;
	return ahead(t, length) == '}' ? length + 1 : 0;
}

static bool translate_repetition(struct translation *t, size_t length)
{
	bool star = t->text[t->at] == '*';

	copy(t, length);
	if (ahead(t, 0) == '?' && t->at < t->size)
		copy(t, 1);
	/* x** is x*; anything else on top of a repetition is a possessive one or nonsense. */
	while (star && t->at < t->size && t->text[t->at] == '*')
		t->at++;
	if (t->at < t->size && t->text[t->at] == '+') {
		t->problem = "a repetition of a repetition: put the inner one in parentheses";
		return false;
	}
	return true;
}

static bool translate(struct translation *t)
{
	while (t->at < t->size) {
		char byte = t->text[t->at];
		size_t length = byte == '{' ? repetition_length(t)
					    : byte == '*' || byte == '+' || byte == '?';
		bool good = true;

		if (byte == '\\')
			good = translate_escape(t);
		else if (byte == '[')
			good = translate_class(t);
		else if (byte == '(')
			good = translate_group(t);
		else if (length)
			good = translate_repetition(t, length);
		else
			copy(t, 1);
		if (!good)
			return false;
	}
	return true;
}

static int compile(struct translation *t, struct regex *regex, uint32_t groups, size_t *ret_offset,
		   char *message, size_t message_size)
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	unsigned char text[100] = "";
	size_t offset;
	int error;

	if (!context)
		return -ENOMEM;
	pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	pcre2_set_parens_nest_limit(context, 100);
	regex->code =
		pcre2_compile((PCRE2_SPTR)t->out, t->out_size,
			      PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | groups, &error, &offset, context);
	pcre2_compile_context_free(context);
	if (regex->code) {
		/* Where there is no memory to run code in, the interpreter does it. */
		pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
		return 0;
	}
	if (error == PCRE2_ERROR_HEAP_FAILED || error == PCRE2_ERROR_NOMEMORY)
		return -ENOMEM;
	pcre2_get_error_message(error, text, sizeof(text));
	*ret_offset = offset < t->out_size ? t->origins[offset] : t->size;
	snprintf(message, message_size, "%s: mend the regular expression", (const char *)text);
	return -EINVAL;
}

static int translate_and_compile(const char *text, size_t size, uint32_t groups,
				 struct regex **ret_regex, size_t *ret_offset, char *message,
				 size_t message_size)
{
	/* The longest translation is that of "\v", to twice its length. */
	struct translation t = {.text = text,
				.size = size,
				.out = malloc(2 * size + 1),
				.origins = calloc(2 * size + 1, sizeof(*t.origins))};
	struct regex *regex = calloc(1, sizeof(*regex));
	int r = -ENOMEM;

	if (t.out && t.origins && regex) {
		if (translate(&t)) {
			r = compile(&t, regex, groups, ret_offset, message, message_size);
		} else {
			r = -EINVAL;
			*ret_offset = t.at;
			snprintf(message, message_size, "%s", t.problem);
		}
	}
	free(t.out);
	free(t.origins);
	if (r < 0) {
		free(regex);
		return r;
	}
	*ret_regex = regex;
	return 0;
}

int regex_compile(const char *text, size_t size, struct regex **ret_regex, size_t *ret_offset,
		  char *message, size_t message_size)
{
	return translate_and_compile(text, size, PCRE2_NO_AUTO_CAPTURE, ret_regex, ret_offset,
				     message, message_size);
}

int regex_compile_groups(const char *text, size_t size, struct regex **ret_regex,
			 size_t *ret_offset, char *message, size_t message_size)
{
	return translate_and_compile(text, size, 0, ret_regex, ret_offset, message, message_size);
}

unsigned regex_group_named(const struct regex *regex, const char *name)
{
	int number = pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR)name);

	return number > 0 ? (unsigned)number : 0;
}

unsigned regex_group_count(const struct regex *regex)
{
	uint32_t count = 0;

	pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &count);
	return count;
}

void regex_free(struct regex *regex)
{
	if (regex)
		pcre2_code_free(regex->code);
	free(regex);
}

int regex_scratch_new(struct regex_scratch **ret_scratch)
{
	struct regex_scratch *scratch = calloc(1, sizeof(*scratch));

	if (!scratch)
		return -ENOMEM;
	scratch->match = pcre2_match_data_create(1, NULL);
	scratch->limits = pcre2_match_context_create(NULL);
	if (!scratch->match || !scratch->limits) {
		regex_scratch_free(scratch);
		return -ENOMEM;
	}
	pcre2_set_match_limit(scratch->limits, MOST_STEPS);
	*ret_scratch = scratch;
	return 0;
}

void regex_scratch_free(struct regex_scratch *scratch)
{
	if (!scratch)
		return;
	pcre2_match_data_free(scratch->match);
	pcre2_match_context_free(scratch->limits);
	free(scratch->states);
	free(scratch->mended);
	free(scratch->pieces);
	free(scratch);
}

/* A state is entered once a character: no expression makes it go round and round. */
static int match_by_states(const struct regex *regex, struct regex_scratch *scratch,
			   const char *text, size_t size)
{
	for (size_t wanted = FIRST_STATES; wanted <= MOST_STATES; wanted *= 4) {
		int r;

		if (scratch->state_count < wanted) {
			int *states = realloc(scratch->states, wanted * sizeof(*states));

			if (!states)
				return PCRE2_ERROR_NOMEMORY;
			scratch->states = states;
			scratch->state_count = wanted;
		}
		r = pcre2_dfa_match(regex->code, (PCRE2_SPTR)text, size, 0, PCRE2_DFA_SHORTEST,
				    scratch->match, NULL, scratch->states, scratch->state_count);
		if (r != PCRE2_ERROR_DFA_WSSIZE)
			return r;
	}
	return PCRE2_ERROR_DFA_WSSIZE;
}

static int match(const struct regex *regex, struct regex_scratch *scratch, const char *text,
		 size_t size)
{
	int r = pcre2_match(regex->code, (PCRE2_SPTR)text, size, 0, 0, scratch->match,
			    scratch->limits);

	if (r == PCRE2_ERROR_MATCHLIMIT || r == PCRE2_ERROR_DEPTHLIMIT ||
	    r == PCRE2_ERROR_HEAPLIMIT || r == PCRE2_ERROR_JIT_STACKLIMIT)
		r = match_by_states(regex, scratch, text, size);
	return r;
}

/* The text with U+FFFD for what is no UTF-8, to the scratch. 0 or PCRE2_ERROR_NOMEMORY. */
static int mend(struct regex_scratch *scratch, const char *text, size_t *size)
{
	char *mended = malloc(3 * *size + 1), *end = mended;

	if (!mended)
		return PCRE2_ERROR_NOMEMORY;
	while (*text) {
		uint32_t character;
		size_t length = clew_utf8_length(text, &character);

		end = length ? mempcpy(end, text, length) : mempcpy(end, REPLACEMENT, 3);
		text += length ? length : 1;
	}
	*end = '\0';
	free(scratch->mended);
	scratch->mended = mended;
	*size = (size_t)(end - mended);
	return 0;
}

static int result_of(int r)
{
	/* 0: it matches, but its groups have no room, which nobody wants anyway. */
	if (r >= 0)
		return 1;
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	return r == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -E2BIG;
}

int regex_matches(const struct regex *regex, struct regex_scratch *scratch, const char *text)
{
	size_t size = strlen(text);
	int r = match(regex, scratch, text, size);

	if (UTF8_ERROR(r)) {
		r = mend(scratch, text, &size);
		if (r == 0)
			r = match(regex, scratch, scratch->mended, size);
	}
	return result_of(r);
}

/* Room for all groups of an expression, and the whole of the match. */
static int room_for_groups(struct regex_scratch *scratch, unsigned count)
{
	pcre2_match_data *match;
	struct regex_piece *pieces;

	if (scratch->pieces && pcre2_get_ovector_count(scratch->match) > count)
		return 0;
	match = pcre2_match_data_create(count + 1, NULL);
	pieces = realloc(scratch->pieces, (count + 1) * sizeof(*pieces));
	if (pieces)
		scratch->pieces = pieces;
	if (!match || !pieces) {
		pcre2_match_data_free(match);
		return -ENOMEM;
	}
	pcre2_match_data_free(scratch->match);
	scratch->match = match;
	return 0;
}

/* Where in a text is what is at `offset` of the mended one. */
static const char *unmend(const char *text, size_t offset)
{
	for (size_t at = 0; at < offset;) {
		uint32_t character;
		size_t length = clew_utf8_length(text, &character);

		at += length ?: strlen(REPLACEMENT);
		text += length ?: 1;
	}
	return text;
}

int regex_find(const struct regex *regex, struct regex_scratch *scratch, const char *text,
	       const struct regex_piece **ret_pieces)
{
	unsigned count = regex_group_count(regex);
	size_t size = strlen(text);
	const PCRE2_SIZE *ends;
	bool is_mended = false;
	int r = room_for_groups(scratch, count);

	if (r < 0)
		return r;
	/* The matcher without backtracking knows no groups. */
	r = pcre2_match(regex->code, (PCRE2_SPTR)text, size, 0, 0, scratch->match, scratch->limits);
	if (UTF8_ERROR(r)) {
		is_mended = true;
		r = mend(scratch, text, &size);
		if (r == 0)
			r = pcre2_match(regex->code, (PCRE2_SPTR)scratch->mended, size, 0, 0,
					scratch->match, scratch->limits);
	}
	if (r <= 0)
		return result_of(r);
	ends = pcre2_get_ovector_pointer(scratch->match) + 2;
	for (unsigned i = 0; i < count; i++, ends += 2) {
		const char *begin, *end;

		scratch->pieces[i] = (struct regex_piece){};
		if ((int)i + 1 >= r || ends[0] == PCRE2_UNSET)
			continue;
		begin = is_mended ? unmend(text, ends[0]) : text + ends[0];
		end = is_mended ? unmend(text, ends[1]) : text + ends[1];
		scratch->pieces[i] =
			(struct regex_piece){.begin = begin, .size = (size_t)(end - begin)};
	}
	*ret_pieces = scratch->pieces;
	return 1;
}

size_t regex_write_exact(char *expression, const char *text)
{
	size_t size = 0;

	expression[size++] = '^';
	for (; *text; text++) {
		if (!isalnum((unsigned char)*text))
			expression[size++] = '\\';
		expression[size++] = *text;
	}
	expression[size++] = '$';
	return size;
}
