/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The place of an operation in its application's own trace: the traceparent, as the W3C's Trace
 * Context defines it, that the application announced with a call.
 */
#include "export/otlp.h"

#include <string.h>

#define PARENT_LENGTH 55 /* of version 00 */
#define CALLS_DEEP    64

static int digit(char letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* Reads `size` bytes in lower-case hexadecimal; false: these are none, or all are zero. */
static bool read_bytes(const char *text, uint8_t *bytes, size_t size)
{
	uint8_t any = 0;

	for (size_t i = 0; i < size; i++) {
		int high = digit(text[2 * i]), low = high < 0 ? -1 : digit(text[2 * i + 1]);

		if (low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
		any |= bytes[i];
	}
	return any;
}

bool otlp_read_parent(const char *text, uint8_t ret_trace[OTLP_TRACE_SIZE], uint64_t *ret_span)
{
	uint8_t span[8], version, trace[OTLP_TRACE_SIZE];
	size_t length = strlen(text);

	/* Later versions may be longer. */
	if (length < PARENT_LENGTH || text[2] != '-' || text[35] != '-' || text[52] != '-' ||
	    (length > PARENT_LENGTH && text[PARENT_LENGTH] != '-'))
		return false;
	if (strncmp(text, "00", 2) != 0 && (!read_bytes(text, &version, 1) || version == 0xff))
		return false;
	if (!strncmp(text, "00", 2) && length != PARENT_LENGTH)
		return false;
	if (digit(text[53]) < 0 || digit(text[54]) < 0 ||
	    !read_bytes(text + 3, trace, sizeof(trace)) ||
	    !read_bytes(text + 36, span, sizeof(span)))
		return false;
	memcpy(ret_trace, trace, sizeof(trace));
	*ret_span = 0;
	for (size_t i = 0; i < sizeof(span); i++)
		*ret_span = *ret_span << 8 | span[i];
	return true;
}

static const char *announced_by(const struct clew_activity *activity)
{
	for (unsigned i = 0; i < activity->descriptor_count + activity->attribute_count; i++) {
		const struct clew_descriptor *descriptor = &activity->descriptors[i];
		const char *name = strrchr(descriptor->type, '/');
		uint8_t trace[OTLP_TRACE_SIZE];
		uint64_t span;

		if (!strcmp(name ? name + 1 : descriptor->type, "traceparent") &&
		    otlp_read_parent(descriptor->value, trace, &span))
			return descriptor->value;
	}
	return NULL;
}

/* The call around this one, in its thread, or the one that it is for; NULL: none is certain. */
static const struct clew_activity *above(const struct clew_relations *relations,
					 const struct clew_activity *activity)
{
	size_t count;

	if (activity->parent != CLEW_NO_NUMBER)
		return &clew_relations_activities(relations, &count)[activity->parent];
	if (activity->relation != CLEW_NO_NUMBER) {
		const struct clew_relation *relation =
			&clew_relations_list(relations, &count)[activity->relation];

		if (relation->upper_count == 1)
			return clew_relations_upper(relations, relation, 0);
	}
	return NULL;
}

static const char *parent_from(const struct clew_relations *relations,
			       const struct clew_activity *activity)
{
	const char *found = NULL;

	/* The nearest one is that of the span that this call is in. */
	for (unsigned i = 0; activity && !found && i < CALLS_DEEP; i++) {
		found = announced_by(activity);
		activity = above(relations, activity);
	}
	return found;
}

const char *otlp_parent_of(const struct clew_export *export, const struct clew_operation *operation)
{
	const struct clew_activity *all, *around;
	const char *found = NULL;
	size_t count;

	if (!export->relations)
		return NULL;
	around = operation->activity
			 ?: clew_relations_at(export->relations, operation->task, operation->from);
	if (around)
		found = parent_from(export->relations, around);
	/* Most operations begin before the call that they are about. */
	all = clew_relations_activities(export->relations, &count);
	for (size_t i = 0; !found && i < count && all[i].begin < operation->to; i++)
		if (all[i].task == operation->task && all[i].begin >= operation->from)
			found = parent_from(export->relations, &all[i]);
	return found;
}
