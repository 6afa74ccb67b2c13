/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lines of a runtime's description about files: objects, names that no symbol has, and offsets in
 * structures.
 */
#include "relate/runtime_read.h"

#include <errno.h>
#include <string.h>

#include "arch/registers.h"

static const struct clew_runtime_object *find_object(const struct runtime_reading *reading,
						     const char *alias)
{
	const struct clew_runtime_object *objects = reading->objects.data;

	for (size_t i = 0; i < reading->objects.count; i++)
		if (!strcmp(objects[i].alias, alias))
			return &objects[i];
	return NULL;
}

int runtime_take_object(struct runtime_reading *reading)
{
	struct clew_runtime_object *object = runtime_add(&reading->objects);
	struct vector globs = {.item = sizeof(char *)};
	int r = object ? runtime_word(reading, "a short name of the object", &object->alias)
		       : -ENOMEM;

	while (r >= 0 && (!scan_line_is_over(reading->scanner) || !globs.count)) {
		const char *glob = NULL;

		if (globs.count && scan_word_if(reading->scanner, "with", "")) {
			scan_blanks(reading->scanner);
			r = runtime_text(reading, "the name of a section", &object->section);
			break;
		}
		r = runtime_text(reading, "the object's file name, or a pattern of it,", &glob);
		r = r < 0 ? r : vector_reserve(&globs, globs.count + 1);
		if (r >= 0)
			((const char **)globs.data)[globs.count++] = glob;
	}
	if (r >= 0) {
		object->globs = arena_copy(reading->arena, globs.data, globs.count * globs.item);
		object->glob_count = globs.count;
		r = object->globs ? 0 : -ENOMEM;
	}
	vector_done(&globs);
	return r;
}

int runtime_alias(struct runtime_reading *reading, const char **ret)
{
	struct scanner *scanner = reading->scanner;
	const char *begin = scanner->at;
	int r = runtime_word(reading, "ALIAS:NAME", ret);

	if (r >= 0 && !find_object(reading, *ret))
		return scan_fail(scanner, begin, "there is no 'object %s' above", *ret);
	return r < 0 ? r : scan_byte(scanner, ':');
}

static int take_hidden_step(struct runtime_reading *reading, struct clew_runtime_hidden *hidden)
{
	struct scanner *scanner = reading->scanner;
	const char *begin = scanner->at;
	uint64_t number = 0;
	uint8_t kind;
	int r = 0;

	if (hidden->step_count == CLEW_HIDDEN_STEPS)
		return scan_fail(scanner, begin, "more than %d steps", CLEW_HIDDEN_STEPS);
	if (scan_word_if(scanner, "callee", ""))
		kind = CLEW_HIDDEN_CALLEE;
	else if (scan_word_if(scanner, "code", ""))
		kind = CLEW_HIDDEN_CODE;
	else if (scan_word_if(scanner, "jump", ""))
		kind = CLEW_HIDDEN_JUMP;
	else if (scan_word_if(scanner, "call", ""))
		kind = CLEW_HIDDEN_CALL;
	else
		return scan_fail(scanner, begin, "none of 'code N', 'callee', 'jump N', 'call N'");
	if (kind != CLEW_HIDDEN_CALLEE) {
		scan_blanks(scanner);
		r = runtime_number(reading, UINT8_MAX, &number);
	}
	hidden->steps[hidden->step_count].kind = kind;
	hidden->steps[hidden->step_count++].number = (uint8_t)number;
	return r;
}

/* "TEXT" +N */
static int take_table(struct runtime_reading *reading, struct clew_runtime_hidden *hidden)
{
	struct scanner *scanner = reading->scanner;
	uint64_t words;
	int r;

	scan_blanks(scanner);
	if (scanner->at == scanner->end || *scanner->at != '"')
		return scan_fail(scanner, scanner->at, "a text in quotes is missing here");
	r = scan_value(scanner);
	if (r < 0)
		return r;
	hidden->symbol = arena_copy(reading->arena, scanner->word, scanner->word_length);
	if (!hidden->symbol)
		return -ENOMEM;
	scan_blanks(scanner);
	r = scan_byte(scanner, '+');
	r = r < 0 ? r : runtime_number(reading, UINT8_MAX, &words);
	hidden->words = r < 0 ? 0 : (uint8_t)words;
	return r;
}

/* REGISTER */
static int take_thunk(struct runtime_reading *reading, struct clew_runtime_hidden *hidden)
{
	struct scanner *scanner = reading->scanner;
	const char *begin;
	int r;

	scan_blanks(scanner);
	begin = scanner->at;
	r = runtime_word(reading, "a register", &hidden->symbol);
	if (r < 0)
		return r;
	return clew_register_find(hidden->symbol, strlen(hidden->symbol)) < 0
		       ? scan_fail(scanner, begin, "'%s' is no register of this machine",
				   hidden->symbol)
		       : 0;
}

int runtime_take_hidden(struct runtime_reading *reading)
{
	struct scanner *scanner = reading->scanner;
	struct clew_runtime_hidden *hidden = runtime_add(&reading->hidden);
	int r = hidden ? runtime_word(reading, "the name", &hidden->name) : -ENOMEM;

	scan_blanks(scanner);
	r = r < 0 ? r : scan_byte(scanner, '=');
	scan_blanks(scanner);
	r = r < 0 ? r : runtime_alias(reading, &hidden->object);
	hidden->table = r >= 0 && scan_word_if(scanner, "table", "");
	hidden->thunk = r >= 0 && !hidden->table && scan_word_if(scanner, "thunk", "");
	if (hidden->thunk)
		return take_thunk(reading, hidden);
	if (hidden->table)
		r = take_table(reading, hidden);
	else
		r = r < 0 ? r : runtime_text(reading, "the name of a function", &hidden->symbol);
	while (r >= 0 && !scan_line_is_over(scanner))
		r = take_hidden_step(reading, hidden);
	return r;
}

/* layout ALIAS VERSION-GLOB NAME=NUMBER... */
int runtime_take_layout(struct runtime_reading *reading)
{
	struct scanner *scanner = reading->scanner;
	const char *object, *version, *begin = scanner->at;
	int r = runtime_word(reading, "ALIAS", &object);

	if (r >= 0 && !find_object(reading, object))
		return scan_fail(scanner, begin, "there is no 'object %s' above", object);
	scan_blanks(scanner);
	r = r < 0 ? r : runtime_text(reading, "the version, or a pattern of it,", &version);
	do {
		struct clew_runtime_offset *offset = r < 0 ? NULL : runtime_add(&reading->offsets);

		if (!offset)
			return r < 0 ? r : -ENOMEM;
		offset->object = object;
		offset->version = version;
		scan_blanks(scanner);
		r = runtime_word(reading, "NAME=NUMBER", &offset->name);
		r = r < 0 ? r : scan_byte(scanner, '=');
		r = r < 0 ? r : runtime_number(reading, INT32_MAX / 2, &offset->value);
	} while (r >= 0 && !scan_line_is_over(scanner));
	return r;
}

/* field NAME ALIAS:TYPE.MEMBER; the type's own name may have dots. */
int runtime_take_field(struct runtime_reading *reading)
{
	struct scanner *scanner = reading->scanner;
	struct clew_runtime_offset *offset = runtime_add(&reading->offsets);
	int r = offset ? runtime_word(reading, "the name", &offset->name) : -ENOMEM;
	const char *begin, *text, *dot;

	scan_blanks(scanner);
	r = r < 0 ? r : runtime_alias(reading, &offset->object);
	begin = scanner->at;
	r = r < 0 ? r : runtime_text(reading, "TYPE.MEMBER", &text);
	if (r < 0)
		return r;
	dot = strrchr(text, '.');
	if (!dot || dot == text || !dot[1])
		return scan_fail(scanner, begin, "'%s' is no TYPE.MEMBER", text);
	offset->type = arena_copy(reading->arena, text, (size_t)(dot - text));
	offset->member = dot + 1;
	return offset->type ? 0 : -ENOMEM;
}

bool runtime_has_offset(const struct runtime_reading *reading, const char *name)
{
	const struct clew_runtime_offset *offsets = reading->offsets.data;

	for (size_t i = 0; i < reading->offsets.count; i++)
		if (!strcmp(offsets[i].name, name))
			return true;
	return false;
}
