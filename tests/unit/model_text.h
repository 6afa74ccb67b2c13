/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A model as one line of text a span, to compare with what is expected:
 *   name: <t1[0,10]{a@3}>t2 | (futex)[20,30]
 * `<` incoming, `>` outgoing, each with the type's name; a typed wait before its ES.
 */
#ifndef CLEW_TEST_MODEL_TEXT_H
#define CLEW_TEST_MODEL_TEXT_H

#include <clew/model.h>
#include <clew/tokens.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct text {
	char *data;
	size_t length, room;
};

static void text_add(struct text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void text_add(struct text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	if (text->room - text->length < 256) {
		text->room = text->room * 2 + 4096;
		text->data = realloc(text->data, text->room);
		if (!text->data)
			abort();
	}
	va_start(arguments, format);
	length = vsnprintf(text->data + text->length, text->room - text->length, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= text->room - text->length)
		abort();
	text->length += (size_t)length;
}

static inline const char *text_type(const struct clew_model *model, uint32_t dependency)
{
	return clew_model_string(model, model->types[model->dependencies[dependency].type]);
}

static inline void text_es(struct text *text, const struct clew_model *model, uint32_t es)
{
	const struct clew_es *e = &model->es[es];
	struct clew_range marks = clew_model_marks(model, es);

	if (e->wait != CLEW_NONE)
		text_add(text, "(%s)", clew_wait_kind_name(model->waits[e->wait].kind));
	if (e->in != CLEW_NONE)
		text_add(text, "<%s", text_type(model, e->in));
	text_add(text, "[%lld,%lld]", (long long)e->start, (long long)e->end);
	for (uint32_t i = 0; i < marks.count; i++)
		text_add(text, "%s%s@%lld%s", i == 0 ? "{" : " ",
			 clew_model_string(model, model->marks[marks.first + i].label),
			 (long long)model->marks[marks.first + i].at,
			 i + 1 == marks.count ? "}" : "");
	if (e->out != CLEW_NONE)
		text_add(text, ">%s", text_type(model, e->out));
}

/* The caller frees it. */
static inline char *text_span(const struct clew_model *model, uint32_t span)
{
	const struct clew_range *range = &model->spans[span].elementary;
	struct text text = {0};

	for (uint32_t i = 0; i < range->count; i++) {
		if (i > 0)
			text_add(&text, " | ");
		text_es(&text, model, range->first + i);
	}
	return text.data;
}

#endif
