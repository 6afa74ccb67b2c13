/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the lines of a runtime's description:
 *
 *	object ALIAS GLOB... [with SECTION]
 *	hidden NAME = ALIAS:SYMBOL [code N | callee | jump N]...
 *	layout ALIAS VERSION-GLOB NAME=NUMBER...
 *	field  NAME ALIAS:TYPE.MEMBER
 *	span   NAME [key=KEY] [repeat | coalesce]
 *	[prefer cheap:] VERB PLACE [within|behind ALIAS:SYMBOL] [NAME=EXPRESSION]... [key=KEY]
 *		[if EXPRESSION] [map NUMBER=STATE...]
 *
 * Places that are the same are one point, with the values that all its events need.
 */
#include "relate/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "relate/layer.h"
#include "relate/runtime_read.h"

static const char *const verb_words[CLEW_VERBS] = {
	[CLEW_VERB_SUBMIT] = "submit",	 [CLEW_VERB_START] = "start",	[CLEW_VERB_END] = "end",
	[CLEW_VERB_SUSPEND] = "suspend", [CLEW_VERB_RESUME] = "resume", [CLEW_VERB_READY] = "ready",
	[CLEW_VERB_CANCEL] = "cancel",	 [CLEW_VERB_WAIT] = "wait",	[CLEW_VERB_WAKE] = "wake",
	[CLEW_VERB_NAME] = "name",	 [CLEW_VERB_AFTER] = "after",	[CLEW_VERB_STATE] = "state",
};

const char *clew_event_verb_word(unsigned verb)
{
	return verb < CLEW_VERBS ? verb_words[verb] : "?";
}

const struct clew_runtime_value *clew_event_value(const struct clew_runtime_event *event,
						  const char *name)
{
	for (uint32_t i = 0; i < event->value_count; i++)
		if (!strcmp(event->values[i].name, name))
			return &event->values[i];
	return NULL;
}

const struct clew_runtime_point *clew_runtime_point(const struct clew_layers *layers, size_t number,
						    const struct clew_runtime **ret_runtime)
{
	for (size_t i = 0; i < layers->runtime_count; i++) {
		const struct clew_runtime *runtime = &layers->runtimes[i];

		if (runtime->point_count &&
		    number - runtime->points[0].number < runtime->point_count) {
			if (ret_runtime)
				*ret_runtime = runtime;
			return &runtime->points[number - runtime->points[0].number];
		}
	}
	return NULL;
}

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

/* A further item, zeroed; NULL: no memory. */
static void *add_item(struct vector *vector)
{
	return vector_reserve(vector, vector->count + 1) < 0
		       ? NULL
		       : memset((char *)vector->data + vector->count++ * vector->item, 0,
				vector->item);
}

/* All up to a blank or the line's end. */
static int take_text(struct runtime_reading *reading, const char *what, const char **ret)
{
	struct scanner *scanner = reading->scanner;
	const char *begin = scanner->at;

	while (scanner->at < scanner->end && !scan_is(*scanner->at, SCAN_BLANK | SCAN_END))
		scanner->at++;
	if (scanner->at == begin)
		return scan_fail(scanner, begin, "%s is missing here", what);
	*ret = arena_copy(reading->arena, begin, (size_t)(scanner->at - begin));
	return *ret ? 0 : -ENOMEM;
}

/* ---- objects, hidden names, offsets ---- */

static const struct clew_runtime_object *find_object(const struct runtime_reading *reading,
						     const char *alias)
{
	const struct clew_runtime_object *objects = reading->objects.data;

	for (size_t i = 0; i < reading->objects.count; i++)
		if (!strcmp(objects[i].alias, alias))
			return &objects[i];
	return NULL;
}

static int take_object(struct runtime_reading *reading)
{
	struct clew_runtime_object *object = add_item(&reading->objects);
	struct vector globs = {.item = sizeof(char *)};
	int r = object ? runtime_word(reading, "a short name of the object", &object->alias)
		       : -ENOMEM;

	while (r >= 0 && (!scan_line_is_over(reading->scanner) || !globs.count)) {
		const char *glob = NULL;

		if (globs.count && scan_word_if(reading->scanner, "with", "")) {
			scan_blanks(reading->scanner);
			r = take_text(reading, "the name of a section", &object->section);
			break;
		}
		r = take_text(reading, "the object's file name, or a pattern of it,", &glob);
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

/* ALIAS: of an object that is known. */
static int take_alias(struct runtime_reading *reading, const char **ret)
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
	else
		return scan_fail(scanner, begin, "none of 'code N', 'callee', 'jump N'");
	if (kind != CLEW_HIDDEN_CALLEE) {
		scan_blanks(scanner);
		r = runtime_number(reading, UINT8_MAX, &number);
	}
	hidden->steps[hidden->step_count].kind = kind;
	hidden->steps[hidden->step_count++].number = (uint8_t)number;
	return r;
}

static int take_hidden(struct runtime_reading *reading)
{
	struct scanner *scanner = reading->scanner;
	struct clew_runtime_hidden *hidden = add_item(&reading->hidden);
	int r = hidden ? runtime_word(reading, "the name", &hidden->name) : -ENOMEM;

	scan_blanks(scanner);
	r = r < 0 ? r : scan_byte(scanner, '=');
	scan_blanks(scanner);
	r = r < 0 ? r : take_alias(reading, &hidden->object);
	r = r < 0 ? r : take_text(reading, "the name of a function", &hidden->symbol);
	while (r >= 0 && !scan_line_is_over(scanner))
		r = take_hidden_step(reading, hidden);
	return r;
}

/* layout ALIAS VERSION-GLOB NAME=NUMBER... */
static int take_layout(struct runtime_reading *reading)
{
	struct scanner *scanner = reading->scanner;
	const char *object, *version, *begin = scanner->at;
	int r = runtime_word(reading, "ALIAS", &object);

	if (r >= 0 && !find_object(reading, object))
		return scan_fail(scanner, begin, "there is no 'object %s' above", object);
	scan_blanks(scanner);
	r = r < 0 ? r : take_text(reading, "the version, or a pattern of it,", &version);
	do {
		struct clew_runtime_offset *offset = r < 0 ? NULL : add_item(&reading->offsets);

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
static int take_field(struct runtime_reading *reading)
{
	struct scanner *scanner = reading->scanner;
	struct clew_runtime_offset *offset = add_item(&reading->offsets);
	int r = offset ? runtime_word(reading, "the name", &offset->name) : -ENOMEM;
	const char *begin, *text, *dot;

	scan_blanks(scanner);
	r = r < 0 ? r : take_alias(reading, &offset->object);
	begin = scanner->at;
	r = r < 0 ? r : take_text(reading, "TYPE.MEMBER", &text);
	if (r < 0)
		return r;
	dot = strrchr(text, '.');
	if (!dot || dot == text || !dot[1])
		return scan_fail(scanner, begin, "'%s' is no TYPE.MEMBER", text);
	offset->type = arena_copy(reading->arena, text, (size_t)(dot - text));
	offset->member = dot + 1;
	return offset->type ? 0 : -ENOMEM;
}

static bool has_offset(const struct runtime_reading *reading, const char *name)
{
	const struct clew_runtime_offset *offsets = reading->offsets.data;

	for (size_t i = 0; i < reading->offsets.count; i++)
		if (!strcmp(offsets[i].name, name))
			return true;
	return false;
}

/* ---- points ---- */

static struct clew_runtime_point *point_at(const struct runtime_reading *reading, size_t number)
{
	return (struct clew_runtime_point *)reading->points.data + number;
}

/* The number of a place, which may be there already. */
static int add_point(struct runtime_reading *reading, const struct clew_runtime_point *place,
		     uint16_t *ret_number)
{
	struct clew_runtime_point *point;

	for (size_t i = 0; i < reading->points.count; i++) {
		point = point_at(reading, i);
		if (point->kind == place->kind && point->hidden == place->hidden &&
		    point->call_count == place->call_count &&
		    !memcmp(point->calls, place->calls, sizeof(place->calls)) &&
		    (!place->object || !strcmp(point->object, place->object)) &&
		    (!place->symbol || !strcmp(point->symbol, place->symbol))) {
			*ret_number = (uint16_t)i;
			return 0;
		}
	}
	*ret_number = (uint16_t)reading->points.count;
	point = add_item(&reading->points);
	if (!point)
		return -ENOMEM;
	*point = *place;
	return 0;
}

/* ALIAS:SYMBOL or ALIAS:@HIDDEN */
static int take_function(struct runtime_reading *reading, struct clew_runtime_point *place)
{
	struct scanner *scanner = reading->scanner;
	const struct clew_runtime_hidden *hidden = reading->hidden.data;
	const char *begin;
	int r = take_alias(reading, &place->object);

	place->hidden = r >= 0 && scan_if(scanner, '@');
	begin = scanner->at;
	r = r < 0 ? r : take_text(reading, "the name of a function", &place->symbol);
	for (size_t i = 0; r >= 0 && place->hidden; i++) {
		if (i == reading->hidden.count)
			return scan_fail(scanner, begin, "there is no 'hidden %s' above",
					 place->symbol);
		if (!strcmp(hidden[i].name, place->symbol))
			break;
	}
	return r;
}

/* icall N,N */
static int take_calls(struct runtime_reading *reading, struct clew_runtime_point *place)
{
	struct scanner *scanner = reading->scanner;
	int r = 0;

	scan_blanks(scanner);
	if (!scan_word_if(scanner, "icall", ""))
		return scan_fail(scanner, scanner->at, "'icall N' is missing here");
	scan_blanks(scanner);
	do {
		uint64_t number;

		if (place->call_count == CLEW_RUNTIME_CALLS)
			return scan_fail(scanner, scanner->at, "more than %d indirect calls",
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
	else
		return scan_fail(scanner, scanner->at,
				 "neither task:task_newtask nor sched:sched_process_exit: others "
				 "would slow down the whole machine");
	return 0;
}

static int take_usdt(struct runtime_reading *reading, struct clew_runtime_point *place)
{
	int r = runtime_word(reading, "PROVIDER:PROBE", &place->object);

	r = r < 0 ? r : scan_byte(reading->scanner, ':');
	return r < 0 ? r : take_text(reading, "the probe's name", &place->symbol);
}

static int take_place(struct runtime_reading *reading, struct clew_runtime_point *place)
{
	static const struct {
		const char *word;
		uint8_t kind;
	} words[] = {{"enter", CLEW_PLACE_ENTER},   {"leave", CLEW_PLACE_LEAVE},
		     {"before", CLEW_PLACE_BEFORE}, {"after", CLEW_PLACE_AFTER},
		     {"usdt", CLEW_PLACE_USDT},	    {"tp", CLEW_PLACE_FORK}};
	struct scanner *scanner = reading->scanner;
	size_t i = 0;
	int r;

	while (i < sizeof(words) / sizeof(words[0]) && !scan_word_if(scanner, words[i].word, ""))
		i++;
	if (i == sizeof(words) / sizeof(words[0]))
		return scan_fail(scanner, scanner->at,
				 "none of enter, leave, before, after, usdt, tp");
	*place = (struct clew_runtime_point){.kind = words[i].kind};
	scan_blanks(scanner);
	switch (place->kind) {
	case CLEW_PLACE_FORK:
		return take_tracepoint(reading, place);
	case CLEW_PLACE_USDT:
		return take_usdt(reading, place);
	case CLEW_PLACE_BEFORE:
	case CLEW_PLACE_AFTER:
		r = take_function(reading, place);
		return r < 0 ? r : take_calls(reading, place);
	default:
		return take_function(reading, place);
	}
}

/* ---- events ---- */

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
	r = take_function(reading, &place);
	r = r < 0 ? r : add_point(reading, &place, &event->outer);
	place.kind = CLEW_PLACE_LEAVE;
	return r >= 0 && event->outer_kind == CLEW_OUTER_WITHIN ? add_point(reading, &place, &left)
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
		    !has_offset(reading, expression->steps[i].offset))
			return scan_fail(reading->scanner, begin,
					 "there is no layout or field '%s' above",
					 expression->steps[i].offset);
	if (expression->base == CLEW_BASE_TASK || expression->base == CLEW_BASE_CHILD)
		return 0;
	if (expression->at == CLEW_AT_OUTER && event->outer_kind < CLEW_OUTER_WITHIN)
		return scan_fail(reading->scanner, begin,
				 "'outer.' needs 'within' or 'behind ALIAS:FUNCTION'");
	point = point_at(reading, event->point);
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
		r = add_point(reading, &entry, &event->outer);
	}
	if (r < 0)
		return r;
	point = point_at(reading, expression->at == CLEW_AT_POINT ? event->point : event->outer);
	if (point->kind == CLEW_PLACE_FORK || point->kind == CLEW_PLACE_EXIT)
		return scan_fail(reading->scanner, begin,
				 "nothing can be read here but tid, pid and values of 'outer.'");
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
	return r;
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
	     event->verb == CLEW_VERB_WAIT || event->verb == CLEW_VERB_STATE))
		return scan_fail(scanner, begin, "'%s' needs key=EXPRESSION",
				 verb_words[event->verb]);
	return 0;
}

static int take_event(struct runtime_reading *reading, bool cheap)
{
	struct scanner *scanner = reading->scanner;
	const char *begin = scanner->at;
	struct clew_runtime_point place;
	struct clew_runtime_event *event;
	char where[64];
	unsigned verb = 0;
	size_t line = 1 + scanner->lines_before;
	int r;

	while (verb < CLEW_VERBS && !scan_word_if(scanner, verb_words[verb], ""))
		verb++;
	if (verb == CLEW_VERBS)
		return scan_fail(scanner, begin,
				 "none of object, hidden, layout, field, span, submit, start, end, "
				 "suspend, resume, ready, cancel, wait, wake, name, after, "
				 "state");
	if (!reading->spans.count)
		return scan_fail(scanner, begin, "there is no span before this event");
	scan_blanks(scanner);
	r = take_place(reading, &place);
	event = r < 0 ? NULL : add_item(&reading->events);
	if (!event)
		return r < 0 ? r : -ENOMEM;
	event->verb = (uint8_t)verb;
	event->cheap = cheap;
	event->outer = CLEW_RUNTIME_NONE;
	event->span = (uint16_t)(reading->spans.count - 1);
	for (const char *at = scanner->begin; at < begin; at++)
		line += *at == '\n';
	snprintf(where, sizeof(where), "%zu", line);
	event->where = arena_copy(reading->arena, where, strlen(where));
	r = event->where ? add_point(reading, &place, &event->point) : -ENOMEM;
	return r < 0 ? r : take_rest(reading, event);
}

static int take_span(struct runtime_reading *reading)
{
	struct scanner *scanner = reading->scanner;
	struct clew_runtime_span *span = add_item(&reading->spans);
	int r = span ? runtime_word(reading, "the span's name", &span->name) : -ENOMEM;

	reading->key = NULL;
	while (r >= 0 && !scan_line_is_over(scanner)) {
		if (scan_word_if(scanner, "repeat", "")) {
			span->repeat = true;
		} else if (scan_word_if(scanner, "coalesce", "")) {
			span->coalesce = true;
		} else if (scanner->end - scanner->at > 4 && !memcmp(scanner->at, "key=", 4)) {
			reading->key = scanner->at += 4;
			while (scanner->at < scanner->end &&
			       !scan_is(*scanner->at, SCAN_BLANK | SCAN_END))
				scanner->at++;
			reading->key_end = scanner->at;
		} else {
			r = scan_fail(scanner, scanner->at, "none of key=KEY, repeat, coalesce");
		}
	}
	return r;
}

int runtime_line(struct runtime_reading *reading)
{
	static const struct {
		const char *word;
		int (*take)(struct runtime_reading *reading);
	} lines[] = {{"object", take_object},
		     {"hidden", take_hidden},
		     {"layout", take_layout},
		     {"field", take_field},
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
	return take_event(reading, cheap);
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
		point_at(reading, i)->number = (uint16_t)(*points)++;
	if (*points > CLEW_RUNTIME_NONE)
		return scan_fail(reading->scanner, reading->scanner->at,
				 "more than %d points in all descriptions", CLEW_RUNTIME_NONE);
	r = keep(reading, &reading->objects, &ret->objects, &ret->object_count);
	r = r < 0 ? r : keep(reading, &reading->hidden, &ret->hidden, &ret->hidden_count);
	r = r < 0 ? r : keep(reading, &reading->offsets, &ret->offsets, &ret->offset_count);
	r = r < 0 ? r : keep(reading, &reading->spans, &ret->spans, &ret->span_count);
	r = r < 0 ? r : keep(reading, &reading->events, &ret->events, &ret->event_count);
	r = r < 0 ? r : keep(reading, &reading->points, &ret->points, &ret->point_count);
	return r;
}
