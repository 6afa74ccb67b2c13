/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes that programs carry, in text and in JSON. A name is one row, however many instructions its
 * probes are at.
 */
#include <string.h>

#include "answers/functions/probed.h"
#include "format/style.h"
#include "format/text.h"

/* Instructions of one name. */
struct row {
	const struct vector *list;
	size_t first; /* of them */
	size_t instructions, left_alone;
	unsigned arguments;
};

static unsigned count_words(const char *text)
{
	unsigned count = 0;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		count++;
		text += strcspn(text, " ");
	}
	return count < CLEW_CARRIED_ARGUMENTS ? count : CLEW_CARRIED_ARGUMENTS;
}

static bool is_of(const struct row *row, size_t number)
{
	return !strcmp(clew_carried_at(row->list, number)->title,
		       clew_carried_at(row->list, row->first)->title);
}

/* The next row from *at on, the name's first instruction being there. False: there is none. */
static bool take_row(const struct clew_functions_shown *shown, size_t *at, struct row *ret)
{
	const struct vector *list = &shown->carried;

	for (; *at < list->count; ++*at) {
		if (clew_carried_again(list, *at))
			continue;
		*ret = (struct row){.list = list, .first = *at};
		for (size_t i = *at; i < list->count; i++) {
			unsigned words = count_words(clew_carried_at(list, i)->text);

			if (!is_of(ret, i))
				continue;
			ret->instructions++;
			ret->left_alone += shown->left_alone[i] != NULL;
			if (words > ret->arguments)
				ret->arguments = words;
		}
		++*at;
		return true;
	}
	return false;
}

/* NULL: it cannot be read anywhere. */
static const char *type_word(const struct row *row, unsigned argument)
{
	const struct clew_operand *operand = clew_carried_widest(row->list, row->first, argument);
	struct clew_value_type type;

	if (!operand)
		return NULL;
	type = clew_carried_type(operand);
	return clew_value_type_word(&type);
}

static void print_row(FILE *out, const struct clew_functions_shown *shown, const struct row *row)
{
	const struct clew_carried *carried = clew_carried_at(row->list, row->first);

	fprintf(out, "%9s  ", carried->probe.semaphore ? "yes" : "no");
	clew_print_safe(out, carried->title);
	putc('(', out);
	for (unsigned i = 0; i < row->arguments; i++)
		fprintf(out, "%s%s:%s", i ? ", " : "", clew_carried_argument(i),
			type_word(row, i) ?: "?");
	putc(')', out);
	if (row->instructions > 1)
		fprintf(out, ", at %zu instructions", row->instructions);
	for (size_t i = row->first; row->left_alone && i < row->list->count; i++)
		if (is_of(row, i) && shown->left_alone[i]) {
			fprintf(out, ", %zu left alone for the program's sake (%s)",
				row->left_alone, shown->left_alone[i]);
			break;
		}
	putc('\n', out);
}

void clew_carried_print(FILE *out, const struct clew_functions_shown *shown)
{
	struct row row;
	size_t at = 0;

	if (!shown->carried.count)
		return;
	fprintf(out, "\nProbes that it carries, for record --usdt:\n%s%9s  %s%s\n",
		clew_style_begin(CLEW_STYLE_QUIET), "semaphore", "probe",
		clew_style_end(CLEW_STYLE_QUIET));
	while (take_row(shown, &at, &row))
		print_row(out, shown, &row);
}

/* ---- JSON ---- */

static void write_words(struct clew_json *json, const char *key, const char *text)
{
	char word[256];

	clew_json_array(json, key);
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t length = strcspn(text, " ");

		snprintf(word, sizeof(word), "%.*s", (int)(length < 255 ? length : 255), text);
		clew_json_string(json, NULL, word);
		text += length;
	}
	clew_json_array_end(json);
}

static void write_row(struct clew_json *json, const struct clew_functions_shown *shown,
		      const struct row *row)
{
	const struct clew_carried *carried = clew_carried_at(row->list, row->first);

	clew_json_object(json, NULL);
	clew_json_string(json, "name", carried->title);
	clew_json_array(json, "arguments");
	for (unsigned i = 0; i < row->arguments; i++) {
		clew_json_object(json, NULL);
		clew_json_string(json, "name", clew_carried_argument(i));
		clew_json_string(json, "type", type_word(row, i));
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_known(json, "semaphore", carried->probe.semaphore, 0);
	clew_json_array(json, "instructions");
	for (size_t i = row->first; i < row->list->count; i++) {
		if (!is_of(row, i))
			continue;
		clew_json_object(json, NULL);
		clew_json_unsigned(json, "address", clew_carried_at(row->list, i)->probe.address);
		write_words(json, "arguments", clew_carried_at(row->list, i)->text);
		clew_json_string(json, "refused", shown->left_alone[i]);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_object_end(json);
}

void clew_carried_write(struct clew_json *json, const struct clew_functions_shown *shown)
{
	struct row row;
	size_t at = 0;

	clew_json_array(json, "probes");
	while (take_row(shown, &at, &row))
		write_row(json, shown, &row);
	clew_json_array_end(json);
}
