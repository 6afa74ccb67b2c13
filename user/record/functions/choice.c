/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes OBJECT:GLOB(VALUES) and OBJECT:PROVIDER:NAME(VALUES) apart. */
#include "record/functions/choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where the object ends; NULL: there is no colon behind it. */
static const char *find_end(const char *text, struct clew_function_choice *choice)
{
	const char *first = strchr(text, ':');

	if (!first || !memchr(text, '/', (size_t)(first - text)))
		return first;
	for (const char *end = strrchr(text, ':'); end > first; end--) {
		if (*end != ':' || (size_t)(end - text) >= sizeof(choice->object))
			continue;
		snprintf(choice->object, sizeof(choice->object), "%.*s", (int)(end - text), text);
		if (!access(choice->object, F_OK))
			return end;
	}
	return first;
}

int clew_choice_parse(const char *text, struct clew_function_choice *ret,
		      struct clew_message *message)
{
	const char *end = find_end(text, ret);
	size_t length;
	int r;

	if (!end)
		return clew_say(message, -EINVAL,
				"'%s' names no functions: write OBJECT:GLOB, as in "
				"libc.so.6:malloc or './server:handle_*'",
				text);
	if (end == text || (size_t)(end - text) >= sizeof(ret->object))
		return clew_say(message, -EINVAL,
				"'%s' names no file: write a path, a library's name or a process's "
				"number before the ':'",
				text);
	if (!end[1])
		return clew_say(message, -EINVAL,
				"'%s' names no functions: write a name behind the ':', or '*' for "
				"all of them",
				text);
	snprintf(ret->object, sizeof(ret->object), "%.*s", (int)(end - text), text);
	r = clew_wanted_parse(end + 1, &ret->values, &length, message);
	if (r < 0)
		return r;
	ret->has_values = r > 0;
	if (!length || length >= sizeof(ret->glob))
		return clew_say(message, -EINVAL,
				"'%s' names no functions: write a name before the '('", text);
	snprintf(ret->glob, sizeof(ret->glob), "%.*s", (int)length, end + 1);
	return 0;
}

/* The colon before `end`, NULL: there is none from `text` on. */
static const char *colon_before(const char *text, const char *end)
{
	while (end > text)
		if (*--end == ':')
			return end;
	return NULL;
}

int clew_choice_parse_points(const char *text, struct clew_function_choice *ret,
			     struct clew_message *message)
{
	const char *end, *name, *object;
	size_t length;
	int r = clew_wanted_parse(text, &ret->values, &length, message);

	if (r < 0)
		return r;
	ret->has_values = r > 0;
	ret->points = true;
	end = text + length;
	name = colon_before(text, end);
	object = name ? colon_before(text, name) : NULL;
	if (!name || name + 1 == end || name == text || (object && object + 1 == name))
		return clew_say(message, -EINVAL,
				"'%s' names no probes: write PROVIDER:NAME, as in "
				"'postgresql:query__*', or OBJECT:PROVIDER:NAME",
				text);
	if (object == text || (object && (size_t)(object - text) >= sizeof(ret->object)))
		return clew_say(message, -EINVAL,
				"'%s' names no file: write a path, a library's name or a process's "
				"number before the provider",
				text);
	if (!object && memchr(text, '/', (size_t)(name - text)))
		return clew_say(
			message, -EINVAL,
			"'%s' has no provider: write OBJECT:PROVIDER:NAME, as in '%.*s:*:%.*s'",
			text, (int)(name - text), text, (int)(end - name - 1), name + 1);
	if (ret->values.returns)
		return clew_say(message, -EINVAL,
				"'%s' asks for a result: probes have none, leave out '->'", text);
	if (length >= sizeof(ret->glob))
		return clew_say(message, -EINVAL, "'%.40s..' is too long", text);
	snprintf(ret->object, sizeof(ret->object), "%.*s", object ? (int)(object - text) : 0, text);
	snprintf(ret->glob, sizeof(ret->glob), "%.*s", (int)(end - (object ? object + 1 : text)),
		 object ? object + 1 : text);
	return 0;
}
