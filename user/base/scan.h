/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words of a line of notation. A scanner stands at `at`; each function takes one
 * thing there and leaves blanks behind it alone, or says in `message` what is wrong
 * and where. A line ends at a line feed that no backslash precedes, or at a comment.
 */
#ifndef CLEW_BASE_SCAN_H
#define CLEW_BASE_SCAN_H

#include "base/vector.h"
#include <stdbool.h>
#include <stdint.h>

struct scanner {
	const char *at;
	const char *begin, *end; /* of the text at hand, which are whole lines */
	size_t lines_before;	 /* lines of texts scanned before it */
	const char *name;	 /* of the file */
	uint32_t unit;		 /* ns */
	char *word; /* the last name or value, without its backslashes, NUL-terminated */
	size_t word_length;
	struct vector words; /* char: holds the words of a line */
	char *message;
	size_t message_size;
};

/* The scanner's classes of bytes. */
enum {
	SCAN_BLANK = 0x01,   /* between words */
	SCAN_END = 0x02,     /* line feed, # */
	SCAN_SPECIAL = 0x04, /* needs a backslash in a name */
	SCAN_DIGIT = 0x08,
	SCAN_QUOTED = 0x10, /* a value with it is written in quotes */
};
extern const uint8_t scan_class[256];

static inline bool scan_is(char byte, unsigned class)
{
	return scan_class[(unsigned char)byte] & class;
}

void scan_begin(struct scanner *scanner);
/* Goes on with other text, and leaves it again: it may go then. */
void scan_text(struct scanner *scanner, const char *text, size_t length);
void scan_text_end(struct scanner *scanner);
void scan_done(struct scanner *scanner);

static inline void scan_blanks(struct scanner *scanner)
{
	while (scanner->at < scanner->end && scan_is(*scanner->at, SCAN_BLANK))
		scanner->at++;
}

/* True if nothing more than blanks and a comment is on the line. Stands at its end then. */
static inline bool scan_line_is_over(struct scanner *scanner)
{
	scan_blanks(scanner);
	return scanner->at == scanner->end || scan_is(*scanner->at, SCAN_END);
}

/* Goes behind the end of a line that is over. */
void scan_next_line(struct scanner *scanner);

/* The words scanned so far may be overwritten. */
static inline void scan_forget_words(struct scanner *scanner)
{
	scanner->words.count = 0;
}

/* Says what is wrong, at `where`. Returns -EINVAL. */
int scan_fail(struct scanner *scanner, const char *where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The byte, or a failure that names what is missing. */
int scan_byte(struct scanner *scanner, char byte);
static inline bool scan_if(struct scanner *scanner, char byte)
{
	if (scanner->at == scanner->end || *scanner->at != byte)
		return false;
	scanner->at++;
	return true;
}

/*
 * A name: up to a byte that a name needs a backslash for, or to an unescaped `stop`
 * (0: none). Not empty, or the failure says that `what` is missing. The word is
 * scanner->word until words are forgotten or another takes its place in memory:
 * see scan_keep().
 */
int scan_name(struct scanner *scanner, char stop, const char *what);
/* A word or a quoted text, as the value of an attribute. */
int scan_value(struct scanner *scanner);
/* Keeps the last word until words are forgotten. Words may move: an offset of `words`. */
size_t scan_keep(struct scanner *scanner);

/* A number in the unit, as ns; digits beyond a ns are cut off. */
int scan_moment(struct scanner *scanner, int64_t *ret_at);

/* True if the next word is exactly this one, ended by a blank, the line's end or one of `enders`;
 * takes it then. */
bool scan_word_if(struct scanner *scanner, const char *word, const char *enders);

#endif
