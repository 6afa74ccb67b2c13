/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values of a function as text. */
#include "symbol/code/signature.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Types of C that are told from names of arguments; the first fitting word of a value's type is
 * the one that is written. */
static const struct {
	const char *word;
	struct clew_value_type type;
} types[] = {
	{"str", {.kind = CLEW_VALUE_TEXT, .size = 8}},
	{"ptr", {.kind = CLEW_VALUE_POINTER, .size = 8}},
	{"i8", {.size = 1, .is_signed = true}},
	{"i16", {.size = 2, .is_signed = true}},
	{"i32", {.size = 4, .is_signed = true}},
	{"i64", {.size = 8, .is_signed = true}},
	{"u8", {.size = 1}},
	{"u16", {.size = 2}},
	{"u32", {.size = 4}},
	{"u64", {.size = 8}},
	{"bool", {.size = 1}},
	{"char", {.size = 1, .is_signed = true}},
	{"short", {.size = 2, .is_signed = true}},
	{"int", {.size = 4, .is_signed = true}},
	{"unsigned", {.size = 4}},
	{"uint", {.size = 4}},
	{"long", {.size = 8, .is_signed = true}},
	{"ulong", {.size = 8}},
	{"size_t", {.size = 8}},
	{"ssize_t", {.size = 8, .is_signed = true}},
};

/* Words of C++ that are no name of an argument. */
static const char *const type_words[] = {"void", "float", "double", "signed", "wchar_t"};

const char *clew_value_type_word(const struct clew_value_type *type)
{
	for (size_t i = 0; !type->refused && i < COUNT(types); i++)
		if (types[i].type.kind == type->kind && types[i].type.size == type->size &&
		    types[i].type.is_signed == type->is_signed)
			return types[i].word;
	return NULL;
}

/* ---- parsing ---- */

/* A part of the text, without blanks around it. */
struct piece {
	const char *text;
	size_t length;
};

static struct piece trim(const char *from, const char *to)
{
	while (from < to && isspace((unsigned char)*from))
		from++;
	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	return (struct piece){.text = from, .length = (size_t)(to - from)};
}

static bool is(struct piece piece, const char *word)
{
	return piece.length == strlen(word) && !memcmp(piece.text, word, piece.length);
}

static bool is_name(struct piece piece)
{
	if (!piece.length || isdigit((unsigned char)piece.text[0]))
		return false;
	for (size_t i = 0; i < piece.length; i++)
		if (!isalnum((unsigned char)piece.text[i]) && piece.text[i] != '_')
			return false;
	return true;
}

static const struct clew_value_type *find_type(struct piece word)
{
	for (size_t i = 0; i < COUNT(types); i++)
		if (is(word, types[i].word))
			return &types[i].type;
	return NULL;
}

static bool is_type_word(struct piece piece)
{
	for (size_t i = 0; i < COUNT(type_words); i++)
		if (is(piece, type_words[i]))
			return true;
	return find_type(piece) != NULL;
}

static int say_type(struct piece word, struct clew_message *message)
{
	return clew_say(message, -EINVAL,
			"no type of a value is called '%.*s': take str, ptr, int, long, unsigned, "
			"size_t, bool, char, or i8 to i64 and u8 to u64",
			(int)word.length, word.text);
}

/* NAME or NAME:TYPE. 1, 0 it is neither, -EINVAL. */
static int parse_value(struct piece piece, struct clew_wanted_value *ret,
		       struct clew_message *message)
{
	const char *colon = memchr(piece.text, ':', piece.length), *end = piece.text + piece.length;
	struct piece name = trim(piece.text, colon ?: end), word = {};
	const struct clew_value_type *type = NULL;

	if (!is_name(name) || name.length >= CLEW_WANTED_NAME || (!colon && is_type_word(name)))
		return 0;
	if (colon) {
		word = trim(colon + 1, end);
		/* A '::' is part of a type's name in C++. */
		if (word.length && word.text[0] == ':')
			return 0;
		type = find_type(word);
		if (!type)
			return say_type(word, message);
		ret->type = *type;
		ret->typed = true;
	}
	memcpy(ret->name, name.text, name.length);
	return 1;
}

/* The text between the parentheses. 1, 0 these are no values, -EINVAL. */
static int parse_values(struct piece all, struct clew_wanted *wanted, struct clew_message *message)
{
	const char *end = all.text + all.length, *comma;
	int r = 1;

	for (const char *at = all.text; r > 0 && all.length && at <= end; at = comma + 1) {
		comma = memchr(at, ',', (size_t)(end - at)) ?: end;
		if (is(all, "...")) {
			wanted->all = true;
			break;
		}
		if (wanted->count >= CLEW_WANTED_VALUES)
			return clew_say(message, -EINVAL,
					"at most %d arguments of a function can be recorded: leave "
					"some out",
					CLEW_WANTED_VALUES);
		r = parse_value(trim(at, comma), &wanted->values[wanted->count++], message);
	}
	return r;
}

/* The parenthesis that the one at `end` closes, NULL: there is none. */
static const char *find_open(const char *text, const char *end)
{
	unsigned depth = 0;

	for (const char *at = end; at >= text; at--) {
		depth += *at == ')';
		if (*at == '(' && !--depth)
			return at;
	}
	return NULL;
}

static int parse_result(struct piece word, struct clew_wanted *wanted, struct clew_message *message)
{
	const struct clew_value_type *type = find_type(word);

	wanted->returns = true;
	if (is(word, "auto"))
		return 1;
	if (!type)
		return say_type(word, message);
	wanted->result.type = *type;
	wanted->result.typed = true;
	return 1;
}

int clew_wanted_parse(const char *text, struct clew_wanted *ret, size_t *ret_glob,
		      struct clew_message *message)
{
	const char *close = strrchr(text, ')'), *open, *arrow;
	struct piece rest;
	int r;

	*ret = (struct clew_wanted){};
	*ret_glob = strlen(text);
	open = close ? find_open(text, close) : NULL;
	if (!open)
		return 0;
	rest = trim(close + 1, text + strlen(text));
	arrow = rest.length >= 2 && !memcmp(rest.text, "->", 2) ? rest.text : NULL;
	if (rest.length && !arrow)
		return 0;
	r = parse_values(trim(open + 1, close), ret, message);
	if (r > 0 && arrow)
		r = parse_result(trim(arrow + 2, rest.text + rest.length), ret, message);
	if (!r && arrow)
		return clew_say(
			message, -EINVAL,
			"'%s' has an argument that is neither NAME nor NAME:TYPE: write it as "
			"in open(path:str, flags:int) -> int",
			text);
	if (r > 0 && !ret->count && !ret->all && !ret->returns)
		r = 0;
	if (r > 0)
		*ret_glob = trim(text, open).length;
	return r;
}

void clew_wanted_write(const struct clew_wanted *wanted, char text[CLEW_WANTED_TEXT])
{
	size_t at = (size_t)sprintf(text, "(");

	for (size_t i = 0; i < wanted->count; i++)
		at += (size_t)sprintf(text + at, "%s%s:%s", i ? ", " : "", wanted->values[i].name,
				      clew_value_type_word(&wanted->values[i].type));
	at += (size_t)sprintf(text + at, ")");
	if (wanted->returns)
		sprintf(text + at, " -> %s", clew_value_type_word(&wanted->result.type));
}
