/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Places of a runtime's description. Places that are the same are one point, with the values that
 * all its events need.
 */
#include "relate/runtime_read.h"

#include <errno.h>
#include <string.h>

struct clew_runtime_point *runtime_point_at(const struct runtime_reading *reading, size_t number)
{
	return (struct clew_runtime_point *)reading->points.data + number;
}

int runtime_add_point(struct runtime_reading *reading, const struct clew_runtime_point *place,
		      uint16_t *ret_number)
{
	struct clew_runtime_point *point;

	for (size_t i = 0; i < reading->points.count; i++) {
		point = runtime_point_at(reading, i);
		if (point->kind == place->kind && point->hidden == place->hidden &&
		    point->direct == place->direct && point->call_count == place->call_count &&
		    !memcmp(point->calls, place->calls, sizeof(place->calls)) &&
		    (!place->object || !strcmp(point->object, place->object)) &&
		    (!place->symbol || !strcmp(point->symbol, place->symbol))) {
			*ret_number = (uint16_t)i;
			return 0;
		}
	}
	*ret_number = (uint16_t)reading->points.count;
	point = runtime_add(&reading->points);
	if (!point)
		return -ENOMEM;
	*point = *place;
	return 0;
}

int runtime_function(struct runtime_reading *reading, struct clew_runtime_point *place)
{
	struct scanner *scanner = reading->scanner;
	const struct clew_runtime_hidden *hidden = reading->hidden.data;
	const char *begin;
	int r = runtime_alias(reading, &place->object);

	place->hidden = r >= 0 && scan_if(scanner, '@');
	begin = scanner->at;
	r = r < 0 ? r : runtime_text(reading, "the name of a function", &place->symbol);
	for (size_t i = 0; r >= 0 && place->hidden; i++) {
		if (i == reading->hidden.count)
			return scan_fail(scanner, begin, "there is no 'hidden %s' above",
					 place->symbol);
		if (!strcmp(hidden[i].name, place->symbol))
			break;
	}
	return r;
}

/* icall N,N or call N,N */
static int take_calls(struct runtime_reading *reading, struct clew_runtime_point *place)
{
	struct scanner *scanner = reading->scanner;
	int r = 0;

	scan_blanks(scanner);
	place->direct = scan_word_if(scanner, "call", "");
	if (!place->direct && !scan_word_if(scanner, "icall", ""))
		return scan_fail(scanner, scanner->at, "'icall N' or 'call N' is missing here");
	scan_blanks(scanner);
	do {
		uint64_t number;

		if (place->call_count == CLEW_RUNTIME_CALLS)
			return scan_fail(scanner, scanner->at, "more than %d calls",
					 CLEW_RUNTIME_CALLS);
		r = runtime_number(reading, UINT8_MAX, &number);
		if (r >= 0)
			place->calls[place->call_count++] = (uint8_t)number;
	} while (r >= 0 && scan_if(scanner, ','));
	return r;
}

/* Tracepoints of which other records have the events; a program at another one would run for
 * the whole machine. */
static int take_tracepoint(struct runtime_reading *reading, struct clew_runtime_point *place)
{
	struct scanner *scanner = reading->scanner;

	if (scan_word_if(scanner, "task:task_newtask", ""))
		place->kind = CLEW_PLACE_FORK;
	else if (scan_word_if(scanner, "sched:sched_process_exit", ""))
		place->kind = CLEW_PLACE_EXIT;
	else if (scan_word_if(scanner, "io_uring:io_uring_submit_req", ""))
		place->kind = CLEW_PLACE_RING_SUBMIT;
	else if (scan_word_if(scanner, "io_uring:io_uring_complete", ""))
		place->kind = CLEW_PLACE_RING_COMPLETE;
	else
		return scan_fail(scanner, scanner->at,
				 "none of task:task_newtask, sched:sched_process_exit, "
				 "io_uring:io_uring_submit_req, io_uring:io_uring_complete: others "
				 "would slow down the whole machine");
	return 0;
}

static int take_usdt(struct runtime_reading *reading, struct clew_runtime_point *place)
{
	int r = runtime_word(reading, "PROVIDER:PROBE", &place->object);

	r = r < 0 ? r : scan_byte(reading->scanner, ':');
	return r < 0 ? r : runtime_text(reading, "the probe's name", &place->symbol);
}

int runtime_place(struct runtime_reading *reading, struct clew_runtime_point *place)
{
	static const struct {
		const char *word;
		uint8_t kind;
	} words[] = {{"enter", CLEW_PLACE_ENTER},
		     {"leave", CLEW_PLACE_LEAVE},
		     {"before", CLEW_PLACE_BEFORE},
		     {"after", CLEW_PLACE_AFTER},
		     {"before-calls", CLEW_PLACE_BEFORE_CALLS},
		     {"after-calls", CLEW_PLACE_AFTER_CALLS},
		     {"usdt", CLEW_PLACE_USDT},
		     {"tp", CLEW_PLACE_FORK}};
	struct scanner *scanner = reading->scanner;
	size_t i = 0;
	int r;

	while (i < sizeof(words) / sizeof(words[0]) && !scan_word_if(scanner, words[i].word, ""))
		i++;
	if (i == sizeof(words) / sizeof(words[0]))
		return scan_fail(scanner, scanner->at,
				 "none of enter, leave, before, after, before-calls, after-calls, "
				 "usdt, tp");
	*place = (struct clew_runtime_point){.kind = words[i].kind};
	scan_blanks(scanner);
	switch (place->kind) {
	case CLEW_PLACE_FORK:
		return take_tracepoint(reading, place);
	case CLEW_PLACE_USDT:
		return take_usdt(reading, place);
	case CLEW_PLACE_BEFORE:
	case CLEW_PLACE_AFTER:
		r = runtime_function(reading, place);
		return r < 0 ? r : take_calls(reading, place);
	default:
		return runtime_function(reading, place);
	}
}
