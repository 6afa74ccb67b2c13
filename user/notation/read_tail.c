/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the ends of lines: option words and attributes. Attributes that ended
 * an earlier line are found by their text.
 */
#include "notation/read.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int read_pair(struct reader *reader)
{
	struct scanner *scanner = &reader->scanner;
	size_t key = scan_keep(scanner), *pairs;
	int r = scan_value(scanner);

	if (r < 0)
		return r;
	if (vector_reserve(&reader->pairs, reader->pairs.count + 2) < 0)
		return -ENOMEM;
	pairs = (size_t *)reader->pairs.data + reader->pairs.count;
	pairs[0] = key;
	pairs[1] = scan_keep(scanner);
	reader->pairs.count += 2;
	return 0;
}

/* True if the line has the last key already. */
static bool is_double(const struct reader *reader, const char *key)
{
	const size_t *pairs = reader->pairs.data;
	const char *words = reader->scanner.words.data;

	for (size_t i = 0; i < reader->pairs.count; i += 2)
		if (!strcmp(words + pairs[i], key))
			return true;
	return false;
}

static int fail_word(struct reader *reader, const char *where, const struct read_word *words,
		     bool with_attributes)
{
	char list[120] = "";
	size_t used = 0;

	for (; words->word; words++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
					 words->word);
	if (with_attributes)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%skey=value",
					 used ? ", " : "");
	return scan_fail(&reader->scanner, where, "'%s' cannot stand here: %s%s",
			 reader->scanner.word, used ? "there may be " : "the line ends before it",
			 list);
}

/* The cache slot of the rest of the line; NULL: it is not short and plain. */
static struct read_known_tail *find_tail(struct reader *reader, size_t *ret_length)
{
	const struct scanner *scanner = &reader->scanner;
	size_t room = (size_t)(scanner->end - scanner->at), length;
	const char *feed = memchr(scanner->at, '\n', room < READ_SHORT ? room : READ_SHORT);
	uint32_t hash = 0;

	if (!feed || memchr(scanner->at, '\\', (size_t)(feed - scanner->at)))
		return NULL;
	length = (size_t)(feed - scanner->at);
	for (const char *at = scanner->at; at < feed; at++)
		hash = (hash ^ (unsigned char)*at) * 0x01000193u;
	*ret_length = length;
	return &reader->tails[(hash ^ hash >> 15) % READ_TAILS];
}

static bool is_tail(const struct reader *reader, const struct read_known_tail *tail,
		    const char *text, size_t length)
{
	return tail && tail->length == length && tail->of_wait == reader->is_wait &&
	       !memcmp(tail->text, text, length);
}

/* Words and pairs one after the other. */
static int read_words(struct reader *reader, const struct read_word *words, unsigned *flags,
		      bool with_attributes)
{
	struct scanner *scanner = &reader->scanner;

	while (!scan_line_is_over(scanner)) {
		const struct read_word *word = words;
		const char *where = scanner->at;
		int r = scan_name(scanner, '=', "a word");

		if (r < 0)
			return r;
		if (with_attributes && scan_if(scanner, '=')) {
			if (is_double(reader, scanner->word) ||
			    (reader->is_wait && !strcmp(scanner->word, "kind")))
				return scan_fail(scanner, where, "'%s' has a value already",
						 scanner->word);
			r = read_pair(reader);
			if (r < 0)
				return r;
			continue;
		}
		while (word->word && strcmp(word->word, scanner->word))
			word++;
		if (!word->word)
			return fail_word(reader, where, words, with_attributes);
		*flags |= word->bit;
	}
	return 0;
}

static int make_attributes(struct reader *reader, uint32_t *ret_attributes)
{
	const char **texts;

	*ret_attributes = CLEW_NONE;
	if (!reader->pairs.count)
		return 0;
	if (vector_reserve(&reader->texts_of_pairs, reader->pairs.count) < 0)
		return -ENOMEM;
	texts = reader->texts_of_pairs.data;
	for (size_t i = 0; i < reader->pairs.count; i++)
		texts[i] = (const char *)reader->scanner.words.data +
			   ((const size_t *)reader->pairs.data)[i];
	return read_result(reader, reader->scanner.at,
			   clew_maker_attributes(reader->maker, texts, reader->pairs.count / 2,
						 ret_attributes));
}

int read_tail(struct reader *reader, const struct read_word *words, unsigned *flags,
	      bool with_attributes, uint32_t *ret_attributes)
{
	struct scanner *scanner = &reader->scanner;
	struct read_known_tail *tail = NULL;
	unsigned read_flags = 0;
	const char *begin;
	size_t length = 0;
	int r;

	*ret_attributes = CLEW_NONE;
	if (scan_line_is_over(scanner))
		return 0;
	begin = scanner->at;
	if (with_attributes)
		tail = find_tail(reader, &length);
	if (is_tail(reader, tail, begin, length)) {
		*ret_attributes = tail->attributes;
		scanner->at += length;
		return 0;
	}
	reader->pairs.count = 0;
	r = read_words(reader, words, &read_flags, with_attributes);
	if (r == 0)
		r = make_attributes(reader, ret_attributes);
	if (r < 0)
		return r;
	*flags |= read_flags;
	/* The meaning of option words depends on the line, so they are not
	 * cached. */
	if (tail && reader->pairs.count && !read_flags) {
		tail->attributes = *ret_attributes;
		tail->of_wait = reader->is_wait;
		tail->length = (uint8_t)length;
		memcpy(tail->text, begin, length);
	}
	return 0;
}

const struct read_word read_no_words[] = {{NULL, 0}};

int read_end(struct reader *reader)
{
	unsigned flags = 0;
	uint32_t attributes;

	return read_tail(reader, read_no_words, &flags, false, &attributes);
}
