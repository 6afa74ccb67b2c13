/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reader of notation: what its files share. Functions return 0 or -errno;
 * after -EINVAL the scanner's message is set.
 */
#ifndef CLEW_NOTATION_READ_H
#define CLEW_NOTATION_READ_H

#include "base/scan.h"
#include "notation/names.h"
#include <clew/model_make.h>

#define READ_TAILS 256u
#define READ_TYPES 16u
#define READ_SHORT 64u

/* A cache of attributes by their text: lines often end alike. */
struct read_known_tail {
	uint32_t attributes;
	bool of_wait;
	uint8_t length;
	char text[READ_SHORT];
};

struct read_known_type {
	uint32_t type;
	uint8_t length;
	char name[READ_SHORT];
};

struct reader {
	struct scanner scanner;
	struct clew_maker *maker;
	struct names names;
	struct vector hierarchies; /* const char *, in `texts` */
	struct arena texts;
	struct vector endpoints; /* of the line, of read_dependency.c */
	struct vector pairs;	 /* size_t: offsets of keys and values, of the line */
	struct vector texts_of_pairs;
	bool is_wait; /* the line is one of a wait */
	uint32_t type_count;
	struct read_known_type types[READ_TYPES];
	struct read_known_tail tails[READ_TAILS];
};

/* `reader` is zeroed memory. The caller ends with reader_done(), even after an
 * error. */
int reader_begin(struct reader *reader, const char *name, char *message, size_t message_size);
/* Reads the next lines. Only the last text may end within a line. */
int reader_take(struct reader *reader, const char *text, size_t length);
int reader_finish(struct reader *reader, struct clew_model **ret_model);
void reader_done(struct reader *reader);

/* An endpoint of a dependency's line. */
struct read_endpoint {
	const char *where;
	clew_time from, at; /* the same: no wait */
	uint32_t span;
	unsigned place;
};

/* An option word of a line and the bit it sets. */
struct read_word {
	const char *word;
	unsigned bit;
};

/* Reports the maker's error `r` about the operation at `where`, if it is
 * one. */
int read_result(struct reader *reader, const char *where, int r);

/* "PATH": an existing span. Blanks before it are skipped. */
int read_span(struct reader *reader, uint32_t *ret_span);
/* "PATH" of a span to be made: *ret_parent, and the scanner's word is its
 * name. */
int read_new_span(struct reader *reader, uint32_t *ret_parent);
/* Option words in any order and key=value pairs, to the end of the line.
 * `with_attributes` false: pairs are an error. */
int read_tail(struct reader *reader, const struct read_word *words, unsigned *flags,
	      bool with_attributes, uint32_t *ret_attributes);

/* No option words. */
extern const struct read_word read_no_words[];

/* Fails unless the line ends here. */
int read_end(struct reader *reader);
/* The number of an ES among those that touch a moment, as a place. */
int read_number(struct reader *reader, unsigned *place);

/* A dependency's type by the scanner's last word, which is at `where`. */
int read_type(struct reader *reader, const char *where, uint32_t *ret_type);

/* Lines, after their keyword. */
int read_unit(struct reader *reader);
int read_hierarchies(struct reader *reader);
int read_types(struct reader *reader);
int read_category(struct reader *reader);
/* HIERARCHY:PATH, one or more: the categories of a root span. */
int read_placements(struct reader *reader, uint32_t span);
/* The line of a dependency, after its keyword. */
int read_dependency(struct reader *reader);

#endif
