/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the lines of a runtime's description:
 *
 *	object ALIAS GLOB... [with SECTION]
 *	hidden NAME = ALIAS:thunk REGISTER
 *	hidden NAME = ALIAS:SYMBOL [code N | callee | jump N | call N]...
 *	layout ALIAS VERSION-GLOB NAME=NUMBER...
 *	field  NAME ALIAS:TYPE.MEMBER
 *	span   NAME [key=KEY] [repeat | coalesce | several | lock] [of SPAN]
 *	[prefer cheap:] VERB PLACE [within|behind ALIAS:SYMBOL] [NAME=EXPRESSION]... [key=KEY]
 *		[if EXPRESSION] [map NUMBER=STATE...]
 */
#include "relate/runtime_read.h"

#include <errno.h>
#include <string.h>

#include "trace/trace.h"

void runtime_begin(struct runtime_reading *reading, struct scanner *scanner, struct arena *arena)
{
	*reading = (struct runtime_reading){
		.scanner = scanner,
		.arena = arena,
		.objects.item = sizeof(struct clew_runtime_object),
		.hidden.item = sizeof(struct clew_runtime_hidden),
		.offsets.item = sizeof(struct clew_runtime_offset),
		.spans.item = sizeof(struct clew_runtime_span),
		.events.item = sizeof(struct clew_runtime_event),
		.points.item = sizeof(struct clew_runtime_point),
	};
}

void runtime_done(struct runtime_reading *reading)
{
	vector_done(&reading->objects);
	vector_done(&reading->hidden);
	vector_done(&reading->offsets);
	vector_done(&reading->spans);
	vector_done(&reading->events);
	vector_done(&reading->points);
}

/* of SPAN */
static int take_owner(struct runtime_reading *reading, struct clew_runtime_span *span)
{
	const struct clew_runtime_span *spans = reading->spans.data;
	struct scanner *scanner = reading->scanner;
	const char *begin, *name;
	int r;

	scan_blanks(scanner);
	begin = scanner->at;
	r = runtime_word(reading, "the name of a span", &name);
	if (r < 0)
		return r;
	for (size_t i = 0; i + 1 < reading->spans.count; i++)
		if (!strcmp(spans[i].name, name)) {
			span->of = (uint16_t)i;
			return 0;
		}
	return scan_fail(scanner, begin, "there is no 'span %s' above", name);
}

static int take_span(struct runtime_reading *reading)
{
	struct scanner *scanner = reading->scanner;
	struct clew_runtime_span *span = runtime_add(&reading->spans);
	int r = span ? runtime_word(reading, "the span's name", &span->name) : -ENOMEM;

	if (span)
		span->of = CLEW_RUNTIME_NONE;
	reading->key = NULL;
	while (r >= 0 && !scan_line_is_over(scanner)) {
		if (scan_word_if(scanner, "repeat", "")) {
			span->repeat = true;
		} else if (scan_word_if(scanner, "coalesce", "")) {
			span->coalesce = true;
		} else if (scan_word_if(scanner, "lock", "")) {
			span->lock = true;
		} else if (scan_word_if(scanner, "several", "")) {
			span->several = true;
		} else if (scan_word_if(scanner, "of", "")) {
			r = take_owner(reading, span);
		} else if (scanner->end - scanner->at > 4 && !memcmp(scanner->at, "key=", 4)) {
			reading->key = scanner->at += 4;
			while (scanner->at < scanner->end &&
			       !scan_is(*scanner->at, SCAN_BLANK | SCAN_END))
				scanner->at++;
			reading->key_end = scanner->at;
		} else {
			r = scan_fail(scanner, scanner->at,
				      "none of key=KEY, repeat, coalesce, several, lock, of SPAN");
		}
	}
	return r;
}

int runtime_line(struct runtime_reading *reading)
{
	static const struct {
		const char *word;
		int (*take)(struct runtime_reading *reading);
	} lines[] = {{"object", runtime_take_object},
		     {"hidden", runtime_take_hidden},
		     {"layout", runtime_take_layout},
		     {"field", runtime_take_field},
		     {"span", take_span}};
	struct scanner *scanner = reading->scanner;
	bool cheap;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (scan_word_if(scanner, lines[i].word, "")) {
			scan_blanks(scanner);
			return lines[i].take(reading);
		}
	cheap = scan_word_if(scanner, "prefer", "");
	if (cheap) {
		scan_blanks(scanner);
		if (!scan_word_if(scanner, "cheap:", ""))
			return scan_fail(scanner, scanner->at, "'cheap:' is missing here");
		scan_blanks(scanner);
	}
	return runtime_take_event(reading, cheap);
}

/* Moves a vector's items to memory of the result. */
static int keep(struct runtime_reading *reading, struct vector *vector, void *ret_items,
		size_t *ret_count)
{
	void *items = vector->count ? arena_copy(reading->arena, vector->data,
						 vector->count * vector->item)
				    : NULL;

	memcpy(ret_items, &items, sizeof(items));
	*ret_count = vector->count;
	return vector->count && !items ? -ENOMEM : 0;
}

int runtime_end(struct runtime_reading *reading, size_t *points, struct clew_runtime *ret)
{
	int r;

	*ret = (struct clew_runtime){.name = reading->name, .title = reading->title};
	for (size_t i = 0; i < reading->points.count; i++)
		runtime_point_at(reading, i)->number = (uint16_t)(*points)++;
	if (*points > CLEW_MOMENT_RING)
		return scan_fail(reading->scanner, reading->scanner->at,
				 "more than %d points in all descriptions", CLEW_MOMENT_RING);
	r = keep(reading, &reading->objects, &ret->objects, &ret->object_count);
	r = r < 0 ? r : keep(reading, &reading->hidden, &ret->hidden, &ret->hidden_count);
	r = r < 0 ? r : keep(reading, &reading->offsets, &ret->offsets, &ret->offset_count);
	r = r < 0 ? r : keep(reading, &reading->spans, &ret->spans, &ret->span_count);
	r = r < 0 ? r : keep(reading, &reading->events, &ret->events, &ret->event_count);
	r = r < 0 ? r : keep(reading, &reading->points, &ret->points, &ret->point_count);
	return r;
}
