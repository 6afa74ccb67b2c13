/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events of a runtime's description: what happens at a place, and what is read there.
 */
#include "relate/runtime_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int take_outer(struct runtime_reading *reading, struct clew_runtime_event *event)
{
	struct scanner *scanner = reading->scanner;
	struct clew_runtime_point place = {.kind = CLEW_PLACE_ENTER};
	uint16_t left;
	int r;

	if (scan_word_if(scanner, "within", ""))
		event->outer_kind = CLEW_OUTER_WITHIN;
	else if (scan_word_if(scanner, "behind", ""))
		event->outer_kind = CLEW_OUTER_BEHIND;
	else
		return 0;
	scan_blanks(scanner);
	r = runtime_function(reading, &place);
	r = r < 0 ? r : runtime_add_point(reading, &place, &event->outer);
	place.kind = CLEW_PLACE_LEAVE;
	return r >= 0 && event->outer_kind == CLEW_OUTER_WITHIN
		       ? runtime_add_point(reading, &place, &left)
		       : r;
}

/* Gives a value a slot of the point that it is read at. */
static int place_value(struct runtime_reading *reading, struct clew_runtime_event *event,
		       struct clew_runtime_value *value, const char *begin)
{
	struct clew_expression *expression = &value->expression;
	struct clew_runtime_point *point;
	int r = 0;

	value->slot = CLEW_RUNTIME_NONE;
	for (unsigned i = 0; i < CLEW_MOMENT_STEPS; i++)
		if (expression->steps[i].offset &&
		    !runtime_has_offset(reading, expression->steps[i].offset))
			return scan_fail(reading->scanner, begin,
					 "there is no layout or field '%s' above",
					 expression->steps[i].offset);
	if (expression->base == CLEW_BASE_TASK || expression->base == CLEW_BASE_CHILD)
		return 0;
	if (expression->at == CLEW_AT_OUTER && event->outer_kind < CLEW_OUTER_WITHIN)
		return scan_fail(reading->scanner, begin,
				 "'outer.' needs 'within' or 'behind ALIAS:FUNCTION'");
	point = runtime_point_at(reading, event->point);
	if (expression->at == CLEW_AT_ENTRY) {
		struct clew_runtime_point entry = *point;

		if (point->kind != CLEW_PLACE_LEAVE)
			return scan_fail(reading->scanner, begin, "'entry.' is for 'leave' alone");
		if (event->outer_kind >= CLEW_OUTER_WITHIN)
			return scan_fail(reading->scanner, begin,
					 "'entry.' does not go with 'within' and 'behind'");
		event->outer_kind = CLEW_OUTER_ENTRY;
		entry.kind = CLEW_PLACE_ENTER;
		entry.value_count = 0;
		r = runtime_add_point(reading, &entry, &event->outer);
	}
	if (r < 0)
		return r;
	point = runtime_point_at(reading,
				 expression->at == CLEW_AT_POINT ? event->point : event->outer);
	if (expression->base == CLEW_BASE_FIELD && !expression->step_count &&
	    !expression->steps[0].add && !expression->steps[0].offset) {
		value->slot = expression->number;
		point->value_count = CLEW_RING_FIELDS;
		return 0;
	}
	if (point->kind == CLEW_PLACE_RING_SUBMIT || point->kind == CLEW_PLACE_RING_COMPLETE)
		return scan_fail(
			reading->scanner, begin,
			"nothing can be read here but req, user_data, opcode, ctx and tid");
	if (point->kind == CLEW_PLACE_FORK || point->kind == CLEW_PLACE_EXIT)
		return scan_fail(reading->scanner, begin,
				 "nothing can be read here but tid, pid and values of 'outer.'");
	if (expression->base == CLEW_BASE_KEPT && point->kind != CLEW_PLACE_LEAVE)
		return scan_fail(reading->scanner, begin, "'kept' is for 'leave' alone");
	for (value->slot = 0; value->slot < point->value_count; value->slot++)
		if (runtime_same_read(&point->values[value->slot], expression))
			return 0;
	if (point->value_count == CLEW_MOMENT_VALUES)
		return scan_fail(reading->scanner, begin, "more than %d values at one point",
				 CLEW_MOMENT_VALUES);
	point->values[point->value_count++] = *expression;
	return 0;
}

/* A key: an expression or some in parentheses. */
static int take_key(struct runtime_reading *reading, struct clew_runtime_event *event)
{
	struct scanner *scanner = reading->scanner;
	bool several = scan_if(scanner, '(');
	int r;

	event->key_count = 0;
	do {
		struct clew_runtime_value *key = &event->keys[event->key_count];
		const char *begin = scanner->at;

		if (event->key_count == CLEW_RUNTIME_KEYS)
			return scan_fail(scanner, begin, "more than %d numbers in a key",
					 CLEW_RUNTIME_KEYS);
		key->name = "key";
		r = runtime_expression(reading, event, &key->expression);
		if (r >= 0 && key->expression.test)
			return scan_fail(scanner, begin, "a test is no key");
		r = r < 0 ? r : place_value(reading, event, key, begin);
		event->key_count++;
	} while (r >= 0 && several && scan_if(scanner, ','));
	return r >= 0 && several ? scan_byte(scanner, ')') : r;
}

/* Reads the span's key with the values of the event. */
static int take_span_key(struct runtime_reading *reading, struct clew_runtime_event *event)
{
	struct scanner *scanner = reading->scanner;
	const struct scanner kept = *scanner;
	int r;

	scanner->at = reading->key;
	scanner->end = reading->key_end;
	r = take_key(reading, event);
	scanner->at = kept.at;
	scanner->end = kept.end;
	return r == -EINVAL ? scan_fail(scanner, kept.at,
					"the span's key has a value that this event does not give")
			    : r;
}

/* keep=EXPRESSION: a number at the entry of a call that its exit may ask for. */
static int keep_value(struct runtime_reading *reading, const struct clew_runtime_event *event,
		      const struct clew_runtime_value *value, const char *begin)
{
	struct clew_runtime_point *point = runtime_point_at(reading, event->point);

	if (point->kind != CLEW_PLACE_ENTER || value->slot == CLEW_RUNTIME_NONE ||
	    value->expression.text_max || value->expression.test ||
	    (point->kept && point->kept != value->slot + 1))
		return scan_fail(reading->scanner, begin,
				 "'keep' is for one number at the entry of a function");
	point->kept = (uint8_t)(value->slot + 1);
	return 0;
}

/* NAME=EXPRESSION */
static int take_value(struct runtime_reading *reading, struct clew_runtime_event *event)
{
	struct scanner *scanner = reading->scanner;
	const char *begin = scanner->at;
	struct clew_runtime_value *value = &event->values[event->value_count];
	int r;

	if (event->value_count == CLEW_RUNTIME_GIVEN)
		return scan_fail(scanner, begin, "more than %d values of one event",
				 CLEW_RUNTIME_GIVEN);
	r = runtime_word(reading, "NAME=EXPRESSION", &value->name);
	r = r < 0 ? r : scan_byte(scanner, '=');
	if (r < 0)
		return r;
	if (!strcmp(value->name, "key"))
		return take_key(reading, event);
	if (clew_event_value(event, value->name))
		return scan_fail(scanner, begin, "the value '%s' is there already", value->name);
	/* The one word is there for people: what is resumed is joined by the thread. */
	if (!strcmp(value->name, "by") && scan_word_if(scanner, "thread", ""))
		return 0;
	r = runtime_expression(reading, event, &value->expression);
	r = r < 0 ? r : place_value(reading, event, value, begin);
	event->value_count += r >= 0;
	return r >= 0 && !strcmp(value->name, "keep") ? keep_value(reading, event, value, begin)
						      : r;
}

static int take_condition(struct runtime_reading *reading, struct clew_runtime_event *event)
{
	struct scanner *scanner = reading->scanner;
	const char *begin;
	int r;

	scan_blanks(scanner);
	begin = scanner->at;
	event->condition.name = "if";
	r = runtime_expression(reading, event, &event->condition.expression);
	if (r >= 0 && !event->condition.expression.test)
		return scan_fail(scanner, begin, "a test with & == != < is missing here");
	event->has_condition = true;
	return r < 0 ? r : place_value(reading, event, &event->condition, begin);
}

/* map NUMBER=STATE... */
static int take_map(struct runtime_reading *reading, struct clew_runtime_event *event)
{
	static const struct {
		const char *word;
		uint8_t verb;
	} states[] = {{"ready", CLEW_VERB_READY},
		      {"run", CLEW_VERB_START},
		      {"suspend", CLEW_VERB_SUSPEND},
		      {"done", CLEW_VERB_END}};
	struct scanner *scanner = reading->scanner;

	while (!scan_line_is_over(scanner)) {
		const char *begin = scanner->at, *word;
		uint64_t number;
		size_t i = 0;
		int r;

		if (event->state_count == CLEW_RUNTIME_STATES)
			return scan_fail(scanner, begin, "more than %d states",
					 CLEW_RUNTIME_STATES);
		r = runtime_number(reading, UINT32_MAX, &number);
		r = r < 0 ? r : scan_byte(scanner, '=');
		r = r < 0 ? r : runtime_word(reading, "a state", &word);
		if (r < 0)
			return r;
		while (i < 4 && strcmp(states[i].word, word) != 0)
			i++;
		if (i == 4)
			return scan_fail(scanner, begin, "none of ready, run, suspend, done");
		event->states[event->state_count].number = (uint32_t)number;
		event->states[event->state_count++].verb = states[i].verb;
	}
	return 0;
}

/* Takes all that stands behind the place. */
static int take_rest(struct runtime_reading *reading, struct clew_runtime_event *event)
{
	struct scanner *scanner = reading->scanner;
	const char *begin = scanner->at;
	int r;

	scan_blanks(scanner);
	r = take_outer(reading, event);
	while (r >= 0 && !scan_line_is_over(scanner)) {
		if (scan_word_if(scanner, "if", ""))
			r = take_condition(reading, event);
		else if (scan_word_if(scanner, "map", ""))
			r = scan_line_is_over(scanner) ? 0 : take_map(reading, event);
		else
			r = take_value(reading, event);
	}
	if (r >= 0 && !event->key_count && event->value_count && reading->key)
		r = take_span_key(reading, event);
	if (r < 0)
		return r;
	if (event->verb == CLEW_VERB_STATE &&
	    (!clew_event_value(event, "to") || !event->state_count))
		return scan_fail(scanner, begin, "'state' needs to=EXPRESSION and a map");
	if (!event->key_count &&
	    (event->verb == CLEW_VERB_SUBMIT || event->verb == CLEW_VERB_START ||
	     event->verb == CLEW_VERB_WAIT || event->verb == CLEW_VERB_WAITED ||
	     event->verb == CLEW_VERB_STATE || event->verb == CLEW_VERB_WANT))
		return scan_fail(scanner, begin, "'%s' needs key=EXPRESSION",
				 clew_event_verb_word(event->verb));
	return 0;
}

/* The events that a span has. */
static void note_verb(struct clew_runtime_span *span, unsigned verb)
{
	span->submits |= verb == CLEW_VERB_SUBMIT;
	span->resumes |=
		verb == CLEW_VERB_RESUME || verb == CLEW_VERB_READY || verb == CLEW_VERB_STATE;
	span->waited |= verb == CLEW_VERB_WAITED;
	span->wants |= verb == CLEW_VERB_WANT;
}

static bool is_of_lock(unsigned verb)
{
	return verb == CLEW_VERB_WANT || verb == CLEW_VERB_WAIT || verb == CLEW_VERB_WAITED ||
	       verb == CLEW_VERB_WAKE;
}

int runtime_take_event(struct runtime_reading *reading, bool cheap)
{
	struct scanner *scanner = reading->scanner;
	const char *begin = scanner->at;
	struct clew_runtime_point place;
	struct clew_runtime_event *event;
	struct clew_runtime_span *span;
	char where[64];
	unsigned verb = 0;
	size_t line = 1 + scanner->lines_before;
	int r;

	while (verb < CLEW_VERBS && !scan_word_if(scanner, clew_event_verb_word(verb), ""))
		verb++;
	if (verb == CLEW_VERBS)
		return scan_fail(scanner, begin,
				 "none of object, hidden, layout, field, span, submit, start, end, "
				 "suspend, resume, ready, cancel, wait, waited, wake, name, after, "
				 "state, want");
	if (!reading->spans.count)
		return scan_fail(scanner, begin, "there is no span before this event");
	scan_blanks(scanner);
	r = runtime_place(reading, &place);
	event = r < 0 ? NULL : runtime_add(&reading->events);
	if (!event)
		return r < 0 ? r : -ENOMEM;
	event->verb = (uint8_t)verb;
	event->cheap = cheap;
	event->outer = CLEW_RUNTIME_NONE;
	event->span = (uint16_t)(reading->spans.count - 1);
	span = (struct clew_runtime_span *)reading->spans.data + event->span;
	note_verb(span, verb);
	if (span->lock ? !is_of_lock(verb) : verb == CLEW_VERB_WANT)
		return scan_fail(scanner, begin,
				 "want, wait, waited and wake are the events of a lock, and 'want' "
				 "is of nothing else");
	for (const char *at = scanner->begin; at < begin; at++)
		line += *at == '\n';
	snprintf(where, sizeof(where), "%zu", line);
	event->where = arena_copy(reading->arena, where, strlen(where));
	r = event->where ? runtime_add_point(reading, &place, &event->point) : -ENOMEM;
	if (r >= 0)
		r = take_rest(reading, event);
	span->groups |= verb == CLEW_VERB_SUBMIT && clew_event_value(event, "group");
	span->ends_by_thread |= verb == CLEW_VERB_END && !event->key_count;
	return r;
}
