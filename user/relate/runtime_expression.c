/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Expressions of runtimes' descriptions:
 *
 *	SUM [& NUMBER | == NUMBER | != NUMBER | < NUMBER]
 *	SUM: TERM [+ NUMBER | - NUMBER | + @NAME]...
 *	TERM: [entry. | outer.] argN | reg.NAME | ret | sp, thread, tid, pid, NUMBER, NAME,
 *		u8..u64 s8..s64 (SUM), str(SUM[,MOST]), code(SUM), vtable(SUM)
 *
 * An expression is one chain of reads. A name of another value of the event is replaced by that
 * value's chain.
 */
#include "relate/runtime_read.h"

#include <errno.h>
#include <string.h>

#include "arch/registers.h"

#define DEPTH_MOST 16

struct chain {
	struct runtime_reading *reading;
	const struct clew_runtime_event *event;
	struct clew_expression *expression;
	bool ended; /* it is a text: no more may follow */
};

/* The step that the next number is added in. */
static struct clew_runtime_step *open_step(struct chain *chain)
{
	return &chain->expression->steps[chain->expression->step_count];
}

static int add_read(struct chain *chain, const char *where, unsigned size, bool is_signed)
{
	struct clew_runtime_step *step = open_step(chain);

	/* The last step is kept for what is added behind the last read. */
	if (chain->expression->step_count + 1 >= CLEW_MOMENT_STEPS)
		return scan_fail(chain->reading->scanner, where, "more than %d reads in one value",
				 CLEW_MOMENT_STEPS - 1);
	step->size = (uint8_t)size;
	step->is_signed = is_signed;
	chain->expression->step_count++;
	return 0;
}

static int add_number(struct chain *chain, const char *where, int64_t number)
{
	struct clew_runtime_step *step = open_step(chain);

	if (number > INT32_MAX / 2 || number < INT32_MIN / 2 ||
	    __builtin_add_overflow(step->add, (int32_t)number, &step->add))
		return scan_fail(chain->reading->scanner, where, "the sum is too large");
	return 0;
}

static int take_sum(struct chain *chain, unsigned depth);

/* argN, reg.NAME, ret, sp: what is in a register. 1: it is none of these. */
static int take_register(struct chain *chain, const char *begin, size_t length)
{
	struct scanner *scanner = chain->reading->scanner;
	struct clew_expression *expression = chain->expression;

	if (length == 4 && !memcmp(begin, "arg", 3) && begin[3] >= '0' &&
	    begin[3] < '0' + CLEW_SITE_ARGUMENTS) {
		expression->base = CLEW_BASE_ARGUMENT;
		expression->number = (uint8_t)(begin[3] - '0');
	} else if (length == 3 && !memcmp(begin, "ret", 3)) {
		expression->base = CLEW_BASE_RESULT;
	} else if (length == 2 && !memcmp(begin, "sp", 2)) {
		expression->base = CLEW_BASE_STACK;
	} else if (length == 3 && !memcmp(begin, "reg", 3)) {
		char name[8] = "r";
		int number;

		scanner->at = begin + length;
		if (!scan_if(scanner, '.'))
			return scan_fail(scanner, scanner->at, "'.NAME' of a register is missing");
		begin = scanner->at;
		length = runtime_word_length(scanner);
		number = clew_register_find(begin, length);
		if (number < 0 && length == 2) {
			memcpy(name + 1, begin, length);
			number = clew_register_find(name, length + 1);
		}
		if (number < 0)
			return scan_fail(scanner, begin, "'%.*s' is no register of this machine",
					 (int)length, begin);
		expression->base = CLEW_BASE_REGISTER;
		expression->number = (uint8_t)number;
	} else {
		return 1;
	}
	scanner->at = begin + length;
	return 0;
}

/* The bytes of u8..s64; 0: it is no such word. */
static unsigned bytes_of(const char *word, size_t length)
{
	static const struct {
		const char *digits;
		unsigned bytes;
	} sizes[] = {{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}};

	if (length < 2 || (*word != 'u' && *word != 's'))
		return 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (strlen(sizes[i].digits) == length - 1 &&
		    !memcmp(word + 1, sizes[i].digits, length - 1))
			return sizes[i].bytes;
	return 0;
}

static int end_as_text(struct chain *chain)
{
	struct scanner *scanner = chain->reading->scanner;
	uint64_t most = CLEW_MOMENT_TEXT;
	int r = 0;

	if (scan_if(scanner, ','))
		r = runtime_number(chain->reading, CLEW_MOMENT_TEXT, &most);
	chain->expression->text_max = (uint16_t)(most < 2 ? 2 : most);
	chain->ended = true;
	return r;
}

/* u64(..), str(..), code(..), vtable(..) */
static int take_call(struct chain *chain, const char *begin, size_t length, unsigned depth)
{
	struct scanner *scanner = chain->reading->scanner;
	unsigned bytes = bytes_of(begin, length);
	bool is_text = length == 3 && !memcmp(begin, "str", 3);
	bool is_code = length == 4 && !memcmp(begin, "code", 4);
	bool is_class = length == 6 && !memcmp(begin, "vtable", 6);
	int r;

	if (!bytes && !is_text && !is_code && !is_class)
		return scan_fail(scanner, begin,
				 "none of u8 u16 u32 u64 s8 s16 s32 s64 str code vtable (SUM)");
	scanner->at = begin + length + 1;
	r = take_sum(chain, depth + 1);
	if (r >= 0 && chain->ended)
		return scan_fail(scanner, begin, "a text is no address");
	if (r >= 0 && bytes)
		r = add_read(chain, begin, bytes, *begin == 's');
	/* The word before a table of virtual functions is its type_info, whose second word is the
	 * name. */
	if (r >= 0 && is_class) {
		r = add_number(chain, begin, -8);
		r = r < 0 ? r : add_read(chain, begin, 8, false);
		r = r < 0 ? r : add_number(chain, begin, 8);
		r = r < 0 ? r : add_read(chain, begin, 8, false);
	}
	if (r >= 0 && (is_text || is_class))
		r = end_as_text(chain);
	if (r >= 0 && is_code) {
		chain->expression->is_code = true;
		chain->ended = true;
	}
	return r < 0 ? r : scan_byte(scanner, ')');
}

/* A field of the record that the event is at. */
static bool take_field(struct chain *chain, const char *begin, size_t length)
{
	static const char *const fields[CLEW_RING_FIELDS] = {
		[CLEW_RING_FIELD_REQUEST] = "req",
		[CLEW_RING_FIELD_USER_DATA] = "user_data",
		[CLEW_RING_FIELD_OPERATION] = "opcode",
		[CLEW_RING_FIELD_RING] = "ctx",
	};
	const struct clew_runtime_point *points = chain->reading->points.data;
	const struct clew_runtime_event *event = chain->event;
	unsigned kind = event && event->point != CLEW_RUNTIME_NONE ? points[event->point].kind
								   : CLEW_PLACE_ENTER;

	if (kind != CLEW_PLACE_RING_SUBMIT && kind != CLEW_PLACE_RING_COMPLETE)
		return false;
	for (uint8_t i = 0; i < CLEW_RING_FIELDS; i++)
		if (strlen(fields[i]) == length && !memcmp(fields[i], begin, length)) {
			chain->expression->base = CLEW_BASE_FIELD;
			chain->expression->number = i;
			return true;
		}
	return false;
}

/* thread, tid, pid, or another value of the event. */
static int take_named(struct chain *chain, const char *begin, size_t length)
{
	struct scanner *scanner = chain->reading->scanner;
	const struct clew_runtime_event *event = chain->event;
	struct clew_expression *expression = chain->expression;

	scanner->at = begin + length;
	if (take_field(chain, begin, length))
		return 0;
	if (length == 6 && !memcmp(begin, "thread", 6)) {
		expression->base = CLEW_BASE_THREAD;
		return 0;
	}
	if (length == 4 && !memcmp(begin, "kept", 4)) {
		expression->base = CLEW_BASE_KEPT;
		return 0;
	}
	if (length == 3 && (!memcmp(begin, "tid", 3) || !memcmp(begin, "pid", 3))) {
		const struct clew_runtime_point *points = chain->reading->points.data;
		bool child = *begin == 'p' && event && event->point != CLEW_RUNTIME_NONE &&
			     points[event->point].kind == CLEW_PLACE_FORK;

		expression->base = child ? CLEW_BASE_CHILD : CLEW_BASE_TASK;
		return 0;
	}
	for (uint32_t i = 0; event && i < event->value_count; i++)
		if (strlen(event->values[i].name) == length &&
		    !memcmp(event->values[i].name, begin, length)) {
			*expression = event->values[i].expression;
			return expression->test || expression->text_max
				       ? scan_fail(scanner, begin, "'%.*s' is no address",
						   (int)length, begin)
				       : 0;
		}
	return scan_fail(scanner, begin,
			 "'%.*s' is none of argN reg.NAME ret sp thread tid pid, and no value "
			 "of this event",
			 (int)length, begin);
}

static int take_term(struct chain *chain, unsigned depth)
{
	struct scanner *scanner = chain->reading->scanner;
	const char *begin = scanner->at;
	size_t length = runtime_word_length(scanner);
	int r;

	if (depth > DEPTH_MOST)
		return scan_fail(scanner, begin, "more than %d parentheses in each other",
				 DEPTH_MOST);
	if (length && *begin >= '0' && *begin <= '9') {
		chain->expression->base = CLEW_BASE_NUMBER;
		return runtime_number(chain->reading, UINT64_MAX, &chain->expression->constant);
	}
	if (!length)
		return scan_fail(scanner, begin, "a value is missing here");
	if (length == 5 && begin + length < scanner->end && begin[length] == '.' &&
	    (!memcmp(begin, "entry", 5) || !memcmp(begin, "outer", 5))) {
		chain->expression->at = *begin == 'e' ? CLEW_AT_ENTRY : CLEW_AT_OUTER;
		scanner->at += length + 1;
		begin = scanner->at;
		r = take_register(chain, begin, runtime_word_length(scanner));
		return r > 0 ? scan_fail(scanner, begin, "none of argN, reg.NAME, sp") : r;
	}
	if (begin + length < scanner->end && begin[length] == '(')
		return take_call(chain, begin, length, depth);
	r = take_register(chain, begin, length);
	return r > 0 ? take_named(chain, begin, length) : r;
}

static int take_addend(struct chain *chain)
{
	struct runtime_reading *reading = chain->reading;
	struct scanner *scanner = reading->scanner;
	const char *begin = scanner->at++;
	uint64_t number;
	int r;

	if (chain->ended)
		return scan_fail(scanner, begin, "a text is no number");
	if (scan_if(scanner, '@')) {
		if (*begin == '-' || open_step(chain)->offset)
			return scan_fail(scanner, begin, "one '+ @NAME' can stand before a read");
		return runtime_word(reading, "the name of an offset", &open_step(chain)->offset);
	}
	r = runtime_number(reading, INT32_MAX / 2, &number);
	return r < 0 ? r
		     : add_number(chain, begin, *begin == '-' ? -(int64_t)number : (int64_t)number);
}

static int take_sum(struct chain *chain, unsigned depth)
{
	struct scanner *scanner = chain->reading->scanner;
	int r = take_term(chain, depth);

	while (r >= 0 && scanner->at < scanner->end && (*scanner->at == '+' || *scanner->at == '-'))
		r = take_addend(chain);
	return r;
}

/* The test behind a sum, if there is one. */
static int take_test(struct chain *chain)
{
	struct scanner *scanner = chain->reading->scanner;
	const char *begin = scanner->at;

	if (begin == scanner->end || !strchr("&=!<", *begin))
		return 0;
	if (chain->ended)
		return scan_fail(scanner, begin, "a text is no number");
	chain->expression->test = *begin;
	scanner->at++;
	if ((*begin == '=' || *begin == '!') && !scan_if(scanner, '='))
		return scan_fail(scanner, begin, "none of & == != <");
	return runtime_number(chain->reading, UINT64_MAX, &chain->expression->operand);
}

int runtime_expression(struct runtime_reading *reading, const struct clew_runtime_event *event,
		       struct clew_expression *ret)
{
	struct chain chain = {.reading = reading, .event = event, .expression = ret};
	int r;

	*ret = (struct clew_expression){};
	r = take_sum(&chain, 0);
	return r < 0 ? r : take_test(&chain);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool runtime_same_read(const struct clew_expression *a, const struct clew_expression *b)
{
	if (a->base != b->base || a->number != b->number || a->constant != b->constant ||
	    a->text_max != b->text_max || a->is_code != b->is_code)
		return false;
	for (unsigned i = 0; i < CLEW_MOMENT_STEPS; i++)
		if (a->steps[i].add != b->steps[i].add || a->steps[i].size != b->steps[i].size ||
		    a->steps[i].is_signed != b->steps[i].is_signed ||
		    !same_text(a->steps[i].offset, b->steps[i].offset))
			return false;
	return true;
}
