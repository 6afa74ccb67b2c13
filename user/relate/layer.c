/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads descriptions of layers:
 *
 *	layer NAME ["title"]
 *	object ALIAS GLOB...
 *	call usdt PROVIDER:PROBE [VALUE...] [-> usdt PROVIDER:PROBE [VALUE...]]
 *		[RULE [; RULE]...]
 *	drop usdt PROVIDER:PROBE VALUE
 *	desc NAME from NAME | carry NAME -> NAME
 *
 * A rule on a line of its own belongs to the last call.
 */
#include "relate/layer_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST 16 /* nested parentheses in an expression */

static bool is_word(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
}

/* The length of the name at the scanner; "->" is not a name. */
static size_t word_length(const struct scanner *scanner)
{
	const char *at = scanner->at;

	while (at < scanner->end && is_word(*at) &&
	       !(*at == '-' && at + 1 < scanner->end && at[1] == '>'))
		at++;
	return (size_t)(at - scanner->at);
}

static int take_word(struct reading *reading, const char *what, const char **ret_word)
{
	struct scanner *scanner = &reading->scanner;
	size_t length = word_length(scanner);

	if (length == 0)
		return scan_fail(scanner, scanner->at, "%s is missing here", what);
	*ret_word = arena_copy(&reading->result->arena, scanner->at, length);
	if (!*ret_word)
		return -ENOMEM;
	scanner->at += length;
	return 0;
}

/* A number without a sign, decimal or hexadecimal. */
static int take_number(struct scanner *scanner, uint64_t most, uint64_t *ret_number)
{
	const char *begin = scanner->at;
	unsigned base = 10;

	*ret_number = 0;
	if (scanner->end - begin > 2 && begin[0] == '0' && begin[1] == 'x') {
		base = 16;
		scanner->at += 2;
	}
	for (const char *first = scanner->at;; scanner->at++) {
		char byte = scanner->at < scanner->end ? *scanner->at : '\0';
		unsigned digit = byte >= '0' && byte <= '9'   ? (unsigned)(byte - '0')
				 : byte >= 'a' && byte <= 'f' ? (unsigned)(byte - 'a' + 10)
							      : 16;

		if (digit >= base) {
			if (scanner->at == first)
				return scan_fail(scanner, begin, "a number is missing here");
			return 0;
		}
		*ret_number = *ret_number * base + digit;
		if (*ret_number > most)
			return scan_fail(scanner, begin, "the number is too large: at most %llu",
					 (unsigned long long)most);
	}
}

/*
 * An expression so far: its steps, and the offset to add before the next one.
 */
struct chain {
	struct clew_point_value *value;
	unsigned steps;
	bool ended; /* it is a text: no more steps may follow */
};

static int add_read(struct reading *reading, const char *where, struct chain *chain, unsigned size,
		    bool is_signed)
{
	struct clew_step *step = &chain->value->steps[chain->steps];

	/* The last step is kept for the offset behind the last read. */
	if (chain->steps + 1 >= CLEW_POINT_STEPS)
		return scan_fail(&reading->scanner, where, "more than %d reads in one value",
				 CLEW_POINT_STEPS - 1);
	step->size = (uint8_t)size;
	step->is_signed = is_signed;
	chain->steps++;
	return 0;
}

static int take_sum(struct reading *reading, struct chain *chain, unsigned depth);

/* u8(..), s32(..), str(..[,max]) or argN. */
static int take_term(struct reading *reading, struct chain *chain, unsigned depth)
{
	struct scanner *scanner = &reading->scanner;
	const char *begin = scanner->at;
	size_t length = word_length(scanner);
	unsigned bits = 0;
	uint64_t number;
	int r;

	if (depth > DEPTH_MOST)
		return scan_fail(scanner, begin, "more than %d parentheses in each other",
				 DEPTH_MOST);
	if (length > 3 && length < 6 && !memcmp(begin, "arg", 3)) {
		scanner->at += 3;
		r = take_number(scanner, CLEW_SITE_ARGUMENTS - 1, &number);
		chain->value->argument = (uint8_t)number;
		return r;
	}
	if (length == 3 && !memcmp(begin, "str", 3)) {
		bits = 1;
	} else if (length > 1 && length < 4 && (*begin == 'u' || *begin == 's')) {
		for (const char *at = begin + 1; at < begin + length; at++)
			bits = *at >= '0' && *at <= '9' ? bits * 10 + (unsigned)(*at - '0') : 1000;
		if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
			bits = 0;
	}
	if (!bits)
		return scan_fail(scanner, begin,
				 "none of arg0..arg%d, u8 u16 u32 u64 s8 s16 s32 s64 (ADDRESS), "
				 "str(ADDRESS)",
				 CLEW_SITE_ARGUMENTS - 1);
	scanner->at += length;
	r = scan_byte(scanner, '(');
	r = r < 0 ? r : take_sum(reading, chain, depth + 1);
	if (r < 0)
		return r;
	if (chain->ended)
		return scan_fail(scanner, begin, "a text is no address");
	if (bits > 1) {
		r = add_read(reading, begin, chain, bits / 8, *begin == 's');
		return r < 0 ? r : scan_byte(scanner, ')');
	}
	chain->ended = true;
	chain->value->is_text = 1;
	if (scan_if(scanner, ',')) {
		r = take_number(scanner, CLEW_LAYER_TEXT_MOST, &number);
		if (r < 0)
			return r;
		chain->value->text_max = (uint16_t)(number < 2 ? 2 : number);
	}
	return scan_byte(scanner, ')');
}

static int take_sum(struct reading *reading, struct chain *chain, unsigned depth)
{
	struct scanner *scanner = &reading->scanner;
	int r = take_term(reading, chain, depth);

	while (r >= 0 && scanner->at < scanner->end &&
	       (*scanner->at == '+' || *scanner->at == '-')) {
		const char *begin = scanner->at++;
		struct clew_step *step = &chain->value->steps[chain->steps];
		uint64_t number;

		if (chain->ended)
			return scan_fail(scanner, begin, "a text is no number");
		r = take_number(scanner, 0x3fffffff, &number);
		if (r >= 0 && __builtin_add_overflow(
				      step->add, *begin == '-' ? -(int32_t)number : (int32_t)number,
				      &step->add))
			return scan_fail(scanner, begin, "the sum is too large");
	}
	return r;
}

/* NAME[:str]=EXPRESSION */
static int take_value(struct reading *reading, struct clew_layer_point *point)
{
	struct scanner *scanner = &reading->scanner;
	const char *begin = scanner->at;
	struct chain chain;
	bool text = false;
	int r;

	if (point->point.count == CLEW_POINT_VALUES)
		return scan_fail(scanner, begin, "more than %d values at one point",
				 CLEW_POINT_VALUES);
	chain = (struct chain){.value = &point->point.values[point->point.count]};
	chain.value->text_max = CLEW_LAYER_TEXT_MOST;
	r = take_word(reading, "NAME=EXPRESSION", &point->names[point->point.count]);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < point->point.count; i++)
		if (!strcmp(point->names[i], point->names[point->point.count]))
			return scan_fail(scanner, begin, "the value '%s' is there already",
					 point->names[i]);
	if (scan_if(scanner, ':')) {
		if (!scan_word_if(scanner, "str", "="))
			return scan_fail(scanner, scanner->at, "the only type is str");
		text = true;
	}
	r = scan_byte(scanner, '=');
	r = r < 0 ? r : take_sum(reading, &chain, 0);
	if (r < 0)
		return r;
	if (text)
		chain.value->is_text = 1;
	point->point.count++;
	return 0;
}

static bool at_rule(const struct scanner *scanner)
{
	struct scanner copy = *scanner;

	return scan_word_if(&copy, "desc", "") || scan_word_if(&copy, "carry", "");
}

/* usdt PROVIDER:PROBE [VALUE...] */
static int take_point(struct reading *reading, struct clew_layer_point *point)
{
	struct scanner *scanner = &reading->scanner;
	int r;

	if (!scan_word_if(scanner, "usdt", ""))
		return scan_fail(
			scanner, scanner->at,
			"'usdt PROVIDER:PROBE' is missing here: other points are not recorded");
	scan_blanks(scanner);
	r = take_word(reading, "PROVIDER:PROBE", &point->provider);
	r = r < 0 ? r : scan_byte(scanner, ':');
	r = r < 0 ? r : take_word(reading, "the probe's name", &point->probe);
	while (r >= 0 && !scan_line_is_over(scanner) && *scanner->at != '-' &&
	       *scanner->at != ';' && !at_rule(scanner))
		r = take_value(reading, point);
	if (r >= 0 && ++reading->result->layers.point_count > CLEW_POINTS)
		return scan_fail(scanner, scanner->at, "more than %d points in all descriptions",
				 CLEW_POINTS);
	return r;
}

static const char *known_name(const struct clew_layer_call *call, const char *name)
{
	for (uint32_t i = 0; i < call->begin.point.count; i++)
		if (!strcmp(call->begin.names[i], name))
			return name;
	for (uint32_t i = 0; i < call->end.point.count; i++)
		if (!strcmp(call->end.names[i], name))
			return name;
	return NULL;
}

/* desc NAME from NAME, carry NAME -> NAME */
static int take_rule(struct reading *reading, struct clew_layer_call *call)
{
	struct scanner *scanner = &reading->scanner;
	struct clew_layer_rule *rule = &call->rules[call->rule_count];
	const char *first, *second, *begin = scanner->at, *second_at;
	bool carries = scan_word_if(scanner, "carry", "");
	int r;

	if (!carries && !scan_word_if(scanner, "desc", ""))
		return scan_fail(scanner, begin,
				 "neither 'desc NAME from NAME' nor 'carry NAME -> NAME'");
	if (call->rule_count == CLEW_LAYER_RULES)
		return scan_fail(scanner, begin, "more than %d rules for one call",
				 CLEW_LAYER_RULES);
	scan_blanks(scanner);
	begin = scanner->at;
	r = take_word(reading, "the name of a value", &first);
	if (r < 0)
		return r;
	scan_blanks(scanner);
	if (!scan_word_if(scanner, carries ? "->" : "from", ""))
		return scan_fail(scanner, scanner->at,
				 carries ? "'->' is missing here" : "'from' is missing here");
	scan_blanks(scanner);
	second_at = scanner->at;
	r = take_word(reading, "the name of a value", &second);
	if (r < 0)
		return r;
	if (!known_name(call, first))
		return scan_fail(scanner, begin, "the call has no value '%s'", first);
	if (!known_name(call, second))
		return scan_fail(scanner, second_at, "the call has no value '%s'", second);
	rule->kind = carries ? CLEW_LAYER_CARRY : CLEW_LAYER_DESC;
	rule->from = carries ? first : second;
	rule->to = carries ? second : first;
	call->rule_count++;
	return 0;
}

static int take_rules(struct reading *reading, struct clew_layer_call *call)
{
	struct scanner *scanner = &reading->scanner;
	int r = 0;

	while (r >= 0 && !scan_line_is_over(scanner)) {
		r = take_rule(reading, call);
		if (r < 0 || scan_line_is_over(scanner))
			break;
		r = scan_byte(scanner, ';');
		scan_blanks(scanner);
	}
	return r;
}

/* A probe named f__begin, f__start or f__entry is operation f. */
static const char *operation_of(struct reading *reading, const char *probe)
{
	static const char *const endings[] = {"begin", "start", "entry"};
	size_t length = strlen(probe);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t ending = strlen(endings[i]), cut = length;

		if (length <= ending || strcmp(probe + length - ending, endings[i]))
			continue;
		for (cut -= ending; cut > 0 && (probe[cut - 1] == '_' || probe[cut - 1] == '-');
		     cut--)
			;
		if (cut > 0 && cut < length - ending)
			return arena_copy(&reading->result->arena, probe, cut);
	}
	return probe;
}

static int take_call(struct reading *reading, bool drops)
{
	struct scanner *scanner = &reading->scanner;
	const char *begin = scanner->at;
	struct clew_layer_call *call;
	int r;

	if (vector_reserve(&reading->calls, reading->calls.count + 1) < 0)
		return -ENOMEM;
	call = (struct clew_layer_call *)reading->calls.data + reading->calls.count;
	*call = (struct clew_layer_call){.drops = drops};
	r = take_point(reading, &call->begin);
	if (r < 0)
		return r;
	call->operation = operation_of(reading, call->begin.probe);
	if (!call->operation)
		return -ENOMEM;
	if (drops && (call->begin.point.count != 1 || !scan_line_is_over(scanner)))
		return scan_fail(scanner, begin, "'drop' has one point with one value: the handle");
	if (scan_word_if(scanner, "->", "")) {
		scan_blanks(scanner);
		r = take_point(reading, &call->end);
	}
	if (r >= 0)
		r = take_rules(reading, call);
	reading->calls.count += r >= 0;
	return r;
}

static int take_object(struct reading *reading)
{
	struct scanner *scanner = &reading->scanner;
	const char *alias;
	int r = take_word(reading, "a short name of the object", &alias);
	bool any = false;

	while (r >= 0 && !scan_line_is_over(scanner)) {
		const char *begin = scanner->at;

		while (scanner->at < scanner->end && !scan_is(*scanner->at, SCAN_BLANK | SCAN_END))
			scanner->at++;
		if (vector_reserve(&reading->globs, reading->globs.count + 1) < 0)
			return -ENOMEM;
		((char **)reading->globs.data)[reading->globs.count] =
			arena_copy(&reading->result->arena, begin, (size_t)(scanner->at - begin));
		if (!((char **)reading->globs.data)[reading->globs.count++])
			return -ENOMEM;
		any = true;
	}
	return r < 0 || any
		       ? r
		       : scan_fail(scanner, scanner->at,
				   "the object's file name, or a pattern of it, is missing here");
}

/* Copies a vector's items to memory of the result. */
static int keep_items(struct reading *reading, struct vector *vector, void *ret_items,
		      size_t *ret_count)
{
	void *items = vector->count ? arena_copy(&reading->result->arena, vector->data,
						 vector->count * vector->item)
				    : NULL;

	if (vector->count && !items)
		return -ENOMEM;
	memcpy(ret_items, &items, sizeof(items));
	*ret_count = vector->count;
	vector->count = 0;
	return 0;
}

/* Completes the current layer or runtime. */
static int end_part(struct reading *reading)
{
	struct clew_layer *layer;
	int r;

	if (reading->in_runtime) {
		reading->in_runtime = false;
		r = runtime_end(&reading->runtime, &reading->runtime_points,
				(struct clew_runtime *)reading->runtimes.data +
					reading->runtimes.count);
		runtime_done(&reading->runtime);
		reading->runtimes.count += r >= 0;
		return r;
	}
	if (!reading->inside)
		return 0;
	layer = (struct clew_layer *)reading->layers.data + reading->layers.count;
	r = keep_items(reading, &reading->calls, &layer->calls, &layer->call_count);
	r = r < 0 ? r : keep_items(reading, &reading->globs, &layer->globs, &layer->glob_count);
	reading->layers.count++;
	reading->inside = false;
	return r;
}

/* ["title"] */
static int take_title(struct reading *reading, const char **ret_title)
{
	struct scanner *scanner = &reading->scanner;
	int r;

	*ret_title = "";
	if (scan_line_is_over(scanner))
		return 0;
	if (*scanner->at != '"')
		return scan_fail(scanner, scanner->at, "the title has to be in quotes");
	r = scan_value(scanner);
	if (r < 0)
		return r;
	*ret_title = arena_copy(&reading->result->arena, scanner->word, scanner->word_length);
	return *ret_title ? 0 : -ENOMEM;
}

static int take_runtime(struct reading *reading)
{
	struct scanner *scanner = &reading->scanner;
	const struct clew_runtime *known;
	const char *begin = scanner->at, *name, *title;
	int r = end_part(reading);

	r = r < 0 ? r : vector_reserve(&reading->runtimes, reading->runtimes.count + 1);
	r = r < 0 ? r : take_word(reading, "the runtime's name", &name);
	known = reading->runtimes.data;
	for (size_t i = 0; r >= 0 && i < reading->runtimes.count; i++)
		if (!strcmp(known[i].name, name))
			return scan_fail(scanner, begin, "there is a runtime '%s' already", name);
	r = r < 0 ? r : take_title(reading, &title);
	if (r < 0)
		return r;
	runtime_begin(&reading->runtime, scanner, &reading->result->arena);
	reading->runtime.name = name;
	reading->runtime.title = title;
	reading->in_runtime = true;
	return 0;
}

static int take_layer(struct reading *reading)
{
	struct scanner *scanner = &reading->scanner;
	struct clew_layer *layer;
	const char *begin = scanner->at;
	int r = end_part(reading);

	if (r >= 0)
		r = vector_reserve(&reading->layers, reading->layers.count + 1);
	if (r < 0)
		return r;
	layer = (struct clew_layer *)reading->layers.data + reading->layers.count;
	*layer = (struct clew_layer){.title = ""};
	r = take_word(reading, "the layer's name", &layer->name);
	for (size_t i = 0; r >= 0 && i < reading->layers.count; i++)
		if (!strcmp(((struct clew_layer *)reading->layers.data)[i].name, layer->name))
			return scan_fail(scanner, begin, "there is a layer '%s' already",
					 layer->name);
	reading->inside = r >= 0;
	return r < 0 ? r : take_title(reading, &layer->title);
}

static int take_line(struct reading *reading)
{
	struct scanner *scanner = &reading->scanner;
	const char *begin = scanner->at;
	int r;

	if (scan_word_if(scanner, "layer", "")) {
		scan_blanks(scanner);
		r = take_layer(reading);
	} else if (scan_word_if(scanner, "runtime", "")) {
		scan_blanks(scanner);
		r = take_runtime(reading);
	} else if (reading->in_runtime) {
		r = runtime_line(&reading->runtime);
	} else if (!reading->inside) {
		return scan_fail(scanner, begin,
				 "a description begins with 'layer NAME' or 'runtime NAME'");
	} else if (scan_word_if(scanner, "object", "")) {
		scan_blanks(scanner);
		r = take_object(reading);
	} else if (scan_word_if(scanner, "call", "") || scan_word_if(scanner, "drop", "")) {
		scan_blanks(scanner);
		r = take_call(reading, *begin == 'd');
	} else if (!at_rule(scanner)) {
		return scan_fail(scanner, begin, "none of layer, object, call, drop, desc, carry");
	} else if (reading->calls.count == 0) {
		return scan_fail(scanner, begin, "there is no call before this rule");
	} else {
		r = take_rules(reading, (struct clew_layer_call *)reading->calls.data +
						reading->calls.count - 1);
	}
	if (r >= 0 && !scan_line_is_over(scanner))
		return scan_fail(scanner, scanner->at, "nothing more can stand here");
	return r;
}

int clew_layers_read(const char *text, size_t length, const char *name,
		     struct clew_layers **ret_layers, char *message, size_t message_size)
{
	struct reading reading = {
		.scanner = {.name = name, .message = message, .message_size = message_size},
		.layers = {.item = sizeof(struct clew_layer)},
		.calls = {.item = sizeof(struct clew_layer_call)},
		.globs = {.item = sizeof(char *)},
		.runtimes = {.item = sizeof(struct clew_runtime)},
		.result = calloc(1, sizeof(*reading.result)),
	};
	int r = 0;

	if (message_size)
		message[0] = '\0';
	if (!reading.result)
		return -ENOMEM;
	scan_begin(&reading.scanner);
	scan_text(&reading.scanner, text, length);
	while (r >= 0 && reading.scanner.at < reading.scanner.end) {
		if (!scan_line_is_over(&reading.scanner))
			r = take_line(&reading);
		if (r >= 0)
			scan_next_line(&reading.scanner);
	}
	r = r < 0 ? r : end_part(&reading);
	if (reading.in_runtime)
		runtime_done(&reading.runtime);
	if (r >= 0)
		r = keep_items(&reading, &reading.runtimes, &reading.result->layers.runtimes,
			       &reading.result->layers.runtime_count);
	if (r >= 0)
		r = keep_items(&reading, &reading.layers, &reading.result->layers.layers,
			       &reading.result->layers.count);
	scan_done(&reading.scanner);
	vector_done(&reading.layers);
	vector_done(&reading.calls);
	vector_done(&reading.globs);
	vector_done(&reading.runtimes);
	if (r < 0) {
		clew_layers_free(&reading.result->layers);
		return r;
	}
	*ret_layers = &reading.result->layers;
	return 0;
}

void clew_layers_free(struct clew_layers *layers)
{
	struct result *result = (struct result *)layers;

	if (!result)
		return;
	arena_done(&result->arena);
	free(result);
}
