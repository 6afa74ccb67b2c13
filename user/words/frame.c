/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Activations of functions in words. */
#include "words/frame.h"

#include <clew/kernel/maps.h>
#include <clew/tokens.h>
#include <inttypes.h>
#include <string.h>

#include "format/text.h"
#include "symbol/code/signature.h"
#include "words/functions.h"

const char *clew_frame_closed_text(unsigned closed)
{
	static const char *const texts[CLEW_FRAME_CLOSED_COUNT] = {
		[CLEW_FRAME_RETURNED] = "returned",
		[CLEW_FRAME_TAIL_CALL] = "left by a tail call",
		[CLEW_FRAME_LONGJMP] = "left by longjmp",
		[CLEW_FRAME_EXCEPTION] = "left by an exception",
		[CLEW_FRAME_EXIT] = "ended with the thread",
		[CLEW_FRAME_CANCELED] = "ended with a canceled thread",
		[CLEW_FRAME_CRASH] = "ended by a signal",
		[CLEW_FRAME_EXEC] = "ended by exec",
		[CLEW_FRAME_UNWOUND] = "left unseen",
		[CLEW_FRAME_LOST] = "lost from sight with lost records",
		[CLEW_FRAME_OPEN] = "not over",
		[CLEW_FRAME_POINT] = "a probe of the program",
	};

	return closed < CLEW_FRAME_CLOSED_COUNT ? texts[closed] : "?";
}

/* ---- values ---- */

/* Values in their order, as far as the bytes reach. */
struct reading {
	const uint8_t *at, *end;
	const uint8_t *again; /* the next text that was read at the return */
	unsigned unread;      /* bits of values */
	unsigned at_return;   /* the same */
};

/* A value; both NULL and 0: it could not be read. */
struct value {
	const char *text; /* ends with NUL */
	const uint8_t *number;
};

static struct value take(struct reading *reading, unsigned bit, const struct clew_value_type *type)
{
	const uint8_t **from = reading->at_return >> bit & 1 ? &reading->again : &reading->at;
	size_t left = (size_t)(reading->end - *from);
	const uint8_t *at = *from, *end;

	if (reading->unread >> bit & 1)
		return (struct value){};
	if (type->kind == CLEW_VALUE_TEXT) {
		end = left ? memchr(at, '\0', left) : NULL;
		*from = end ? end + 1 : reading->end;
		return (struct value){.text = end ? (const char *)at : NULL};
	}
	if (left < sizeof(uint64_t))
		return (struct value){};
	reading->at += sizeof(uint64_t);
	return (struct value){.number = at};
}

/* False: nothing was asked for. */
static bool read_signature(const struct clew_trace *trace, uint32_t number, struct clew_wanted *ret)
{
	const struct clew_trace_function *function = clew_trace_function(trace, number);
	struct clew_message ignored;
	size_t glob;

	return function && function->arguments[0] &&
	       clew_wanted_parse(function->arguments, ret, &glob, &ignored) > 0;
}

static struct reading entry_of(const struct clew_frame_detail *detail,
			       const struct clew_wanted *wanted)
{
	struct reading reading = {
		.at = detail->values,
		.end = detail->values + detail->values_size,
		.unread = detail->unread & CLEW_FRAME_UNREAD & ~CLEW_FRAME_UNREAD_RESULT,
		.at_return = (detail->unread & CLEW_FRAME_AGAIN) >> CLEW_FRAME_AGAIN_SHIFT,
	};
	struct reading entry = reading;

	/* Texts that were read at the return are behind the values of the entry. */
	entry.unread |= reading.at_return;
	entry.at_return = 0;
	for (unsigned i = 0; reading.at_return && i < wanted->count; i++)
		take(&entry, i, &wanted->values[i].type);
	reading.again = entry.at;
	return reading;
}

static struct reading result_of(const struct clew_frame_detail *detail)
{
	const uint8_t *at = detail->values + detail->values_size;

	return (struct reading){
		.at = at, .end = at + detail->returned_size, .unread = detail->unread >> 15};
}

static void give(struct reading *reading, unsigned bit, const struct clew_wanted_value *wanted,
		 const char *name,
		 void (*take_value)(void *context, const struct clew_frame_value *value),
		 void *context)
{
	struct value read = take(reading, bit, &wanted->type);
	struct clew_frame_value value = {.name = name,
					 .text = read.text,
					 .has_number = read.number,
					 .is_address = wanted->type.kind == CLEW_VALUE_POINTER,
					 .is_signed = wanted->type.is_signed};

	if (read.number)
		memcpy(&value.number, read.number, sizeof(value.number));
	take_value(context, &value);
}

/* Gives the arguments of a call. False: none were asked for. */
static bool give_arguments(const struct clew_trace *trace, uint32_t function,
			   const struct clew_frame_detail *detail, struct clew_wanted *ret_wanted,
			   void (*take_value)(void *context, const struct clew_frame_value *value),
			   void *context)
{
	struct reading reading;

	if (!detail || !read_signature(trace, function, ret_wanted))
		return false;
	reading = entry_of(detail, ret_wanted);
	for (unsigned i = 0; i < ret_wanted->count; i++)
		give(&reading, i, &ret_wanted->values[i], ret_wanted->values[i].name, take_value,
		     context);
	return true;
}

void clew_frame_values(const struct clew_trace *trace, const struct clew_trace_frame *frame,
		       void (*take_value)(void *context, const struct clew_frame_value *value),
		       void *context)
{
	const struct clew_frame_detail *detail = clew_trace_frame_detail(trace, frame);
	struct clew_wanted wanted;
	struct reading reading;

	if (!give_arguments(trace, frame->function, detail, &wanted, take_value, context))
		return;
	reading = result_of(detail);
	/* A call that has not returned has none. */
	if (wanted.returns && (detail->returned_size || reading.unread))
		give(&reading, 0, &wanted.result, NULL, take_value, context);
}

#define NUMBER_SIZE 24

/* `text` has NUMBER_SIZE bytes; returns it. */
static const char *format_number(const struct clew_frame_value *value, char *text)
{
	snprintf(text, NUMBER_SIZE,
		 value->is_address  ? "0x%" PRIx64
		 : value->is_signed ? "%" PRId64
				    : "%" PRIu64,
		 value->number);
	return text;
}

/* An argument that is looked for. */
struct argument {
	const char *name;
	char *text;
	size_t size;
	bool found;
};

static void take_argument(void *context, const struct clew_frame_value *value)
{
	struct argument *argument = context;
	char number[NUMBER_SIZE];

	if (argument->found || !value->name || strcmp(value->name, argument->name) != 0)
		return;
	argument->found = true;
	snprintf(argument->text, argument->size, "%s",
		 value->has_number ? format_number(value, number) : value->text ?: "?");
}

bool clew_frame_argument(const struct clew_trace *trace, uint32_t function,
			 const struct clew_frame_detail *detail, const char *name, char *ret_text,
			 size_t size)
{
	struct argument argument = {.name = name, .text = ret_text, .size = size};
	struct clew_wanted wanted;

	give_arguments(trace, function, detail, &wanted, take_argument, &argument);
	return argument.found;
}

bool clew_functions_have_argument(const struct clew_trace *trace, const char *name)
{
	struct clew_wanted wanted;
	uint32_t count = clew_trace_function_count(trace);

	for (uint32_t i = 0; i < count; i++)
		for (unsigned k = 0; read_signature(trace, i, &wanted) && k < wanted.count; k++)
			if (!strcmp(wanted.values[k].name, name))
				return true;
	return false;
}

static void json_value(struct clew_json *json, const char *key,
		       const struct clew_frame_value *value)
{
	char text[NUMBER_SIZE];

	if (!value->has_number) {
		clew_json_string(json, key, value->text);
	} else if (value->is_address) {
		clew_json_string(json, key, format_number(value, text));
	} else if (value->is_signed) {
		clew_json_signed(json, key, (int64_t)value->number);
	} else {
		clew_json_unsigned(json, key, value->number);
	}
}

struct json_values {
	struct clew_json *json;
	bool has_result;
};

static void take_json(void *context, const struct clew_frame_value *value)
{
	struct json_values *values = context;

	if (!value->name) {
		clew_json_object_end(values->json);
		values->has_result = true;
	}
	json_value(values->json, value->name ?: "ret", value);
}

void clew_json_frame_values(struct clew_json *json, const struct clew_trace *trace,
			    const struct clew_trace_frame *frame)
{
	struct json_values values = {.json = json};

	clew_json_object(json, "args");
	clew_frame_values(trace, frame, take_json, &values);
	if (values.has_result)
		return;
	clew_json_object_end(json);
	clew_json_null(json, "ret");
}

struct printing {
	FILE *out;
	const char *before; /* the next one */
	bool has_result;
};

static void take_print(void *context, const struct clew_frame_value *value)
{
	struct printing *printing = context;
	char number[NUMBER_SIZE];

	if (value->name) {
		fprintf(printing->out, "%s%s=", printing->before, value->name);
		printing->before = ", ";
	} else {
		printing->has_result = true;
		fputs(") = ", printing->out);
	}
	if (value->text) {
		putc('"', printing->out);
		clew_print_safe(printing->out, value->text);
		fputs(strlen(value->text) + 1 < CLEW_FUNCTION_TEXT ? "\"" : "\"..", printing->out);
	} else {
		fputs(value->has_number ? format_number(value, number) : "?", printing->out);
	}
}

bool clew_print_frame_values(FILE *out, const struct clew_trace *trace,
			     const struct clew_trace_frame *frame)
{
	struct printing printing = {.out = out, .before = ""};
	struct clew_wanted wanted;

	if (!clew_trace_frame_detail(trace, frame) ||
	    !read_signature(trace, frame->function, &wanted))
		return false;
	putc('(', out);
	clew_frame_values(trace, frame, take_print, &printing);
	if (!printing.has_result)
		putc(')', out);
	return true;
}

void clew_print_frame(FILE *out, const struct clew_trace *trace,
		      const struct clew_trace_frame *frame)
{
	clew_print_function_title(out, trace, frame->function);
	if (!clew_print_frame_values(out, trace, frame))
		fputs("()", out);
}

void clew_json_frame_fields(struct clew_json *json, const struct clew_trace *trace,
			    const struct clew_trace_task *task,
			    const struct clew_trace_frame *frame)
{
	const struct clew_trace_function *function = clew_trace_function(trace, frame->function);
	const struct clew_frame_detail *detail = clew_trace_frame_detail(trace, frame);
	const struct clew_trace_frame *parent = clew_trace_frame_parent(trace, frame);
	const struct clew_trace_task *end = NULL;

	if (detail && detail->end_task != CLEW_NO_TASK)
		end = clew_trace_task(trace, detail->end_task);
	clew_json_string(json, "name", function ? function->name : NULL);
	clew_json_unsigned(json, "pid", task->pid);
	clew_json_unsigned(json, "start_tid", task->tid);
	clew_json_unsigned(json, "end_tid", end ? end->tid : task->tid);
	clew_json_unsigned(json, "start", frame->start);
	clew_json_known(json, "end", frame->end, CLEW_TIME_OPEN);
	clew_json_string(json, "closed", clew_frame_closed_name(frame->closed));
	if (parent)
		clew_json_unsigned(json, "parent", parent->start);
	else
		clew_json_null(json, "parent");
	clew_json_unsigned(json, "depth", frame->depth);
	clew_json_unsigned(json, "self_ns", frame->self);
	clew_json_unsigned(json, "probe_ns", frame->probe);
	clew_json_frame_values(json, trace, frame);
	clew_json_bool(json, "inherited", frame->flags & CLEW_FRAME_INHERITED);
	clew_json_bool(json, "inclusive", frame->flags & CLEW_FRAME_INCLUSIVE);
	clew_json_bool(json, "inferred", frame->flags & CLEW_FRAME_INFERRED);
	clew_json_bool(json, "replaced", frame->flags & CLEW_FRAME_REPLACED);
}
