/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the values of attribute lists, and reports errors in them.
 */
#include "convert/to_trace.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int back_fail(struct back *back, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (back->message_size)
		vsnprintf(back->message, back->message_size, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

const struct values *back_values(struct back *back, uint32_t attributes)
{
	const struct clew_model *model = back->model;
	struct values *values = &back->values;

	if (attributes == values->list)
		return values;
	*values = (struct values){.list = attributes};
	if (attributes == CLEW_NONE)
		return values;
	for (uint32_t i = model->attribute_lists[attributes];
	     i < model->attribute_lists[attributes + 1]; i++) {
		unsigned key = back->keys[model->attributes[i].key];

		if (key)
			values->of[key - 1] = clew_model_string(model, model->attributes[i].value);
	}
	return values;
}

uint32_t back_serial(const struct back *back, const char *name)
{
	uint32_t string = clew_model_find_string(back->model, name);

	return string == CLEW_NONE ? CLEW_NO_TASK : back->serial_of[string];
}

int back_word(const char *word, const char *(*name)(unsigned), unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(name(i), word))
			return (int)i;
	return -1;
}

int back_number(struct back *back, const struct values *values, enum attribute_key key,
		uint64_t *number)
{
	const char *at = values->of[key];

	if (at && (!scan_value_number(&at, number) || *at))
		return back_fail(back, "%s=%.40s: this is no number", attribute_table[key].key,
				 values->of[key]);
	return 0;
}

int back_numbers(struct back *back, const struct values *values, const struct back_number *numbers,
		 size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = back_number(back, values, numbers[i].key, numbers[i].number);
	return r;
}

int back_fail_row(struct back *back)
{
	const char *refusal = attribute_table[back->row.key].refusal;

	if (refusal)
		return back_fail(back, "%s=%.40s: %s", back->row.name, back->row.at, refusal);
	return back_fail(back, "%s=%.60s: a row is not as it is written by `clew convert`",
			 back->row.name, back->row.value);
}

int back_row(struct back *back, enum attribute_key key, const struct values *values)
{
	const char *value = values->of[key];
	int r;

	if (!value)
		return 0;
	r = row_start(&back->row, key, attribute_table[key].key, value);
	if (r == 0)
		r = row_next(&back->row);
	if (r != -EINVAL)
		return r;
	back->row.at = value;
	return back_fail_row(back);
}

int back_rows_of(struct back *back, enum attribute_key key, const char *name, const char *value,
		 back_take take, void *context)
{
	int r = row_start(&back->row, key, name, value);

	back->row.context = context;
	while (r == 0) {
		r = row_next(&back->row);
		if (r <= 0)
			return r == -EINVAL ? back_fail_row(back) : r;
		r = take(back, &back->row);
	}
	return r;
}

int back_rows(struct back *back, enum attribute_key key, const struct values *values,
	      back_take take, void *context)
{
	const char *value = values->of[key];

	return value ? back_rows_of(back, key, attribute_table[key].key, value, take, context) : 0;
}
